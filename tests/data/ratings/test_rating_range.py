"""The public range of ratings."""

import math

import numpy as np
import pytest

from hushrank.data.ratings.rating_range import check_rating_range
from hushrank.exceptions import InvalidParameter

NO_PAIRS = [None, (1,), (1, 2, 3), (True, 5), "15", (1, "5"), 5, np.ones((2, 2))]
NO_RANGES = [(5, 1), (1, 1), (1, math.inf), (math.nan, 1), (0, 5e-324), (1, 10**400)]


@pytest.mark.parametrize("rating_range", [*NO_PAIRS, *NO_RANGES])
def test_unsuitable_ranges_are_refused(rating_range):
    message = "rating_range of A must be a pair \\(lowest, highest\\) of finite numbers, lowest < highest;"
    with pytest.raises(InvalidParameter, match=message):
        check_rating_range(rating_range, "A")


def test_ranges_may_be_any_pair_of_numbers():
    assert check_rating_range([1, 5], "A") == check_rating_range(np.array([1.0, 5.0]), "A") == (1.0, 5.0)
    assert check_rating_range((np.float32(-0.5), 10**300), "A") == (-0.5, 1e300)
