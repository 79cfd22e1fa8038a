"""A bad parameter gets one line that names it, says what it must be and what it was."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.parameters import check_integer, check_real


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 10**400, "1", None, True, 1 + 0j])
def test_check_real_refuses(value):
    with pytest.raises(InvalidParameter, match=r"^epsilon of plan must be a finite float > 0; got .*\.$"):
        check_real(value, "epsilon", "plan", above=0)


def test_check_real_accepts_any_real_type_and_names_all_limits():
    assert check_real(np.float32(0.5), "delta", "plan", minimum=0, below=1) == 0.5
    assert check_real(0, "delta", "plan", minimum=0, below=1) == 0.0
    with pytest.raises(InvalidParameter, match=r"a finite float >= 0 and < 1; got 1\."):
        check_real(1, "delta", "plan", minimum=0, below=1)


@pytest.mark.parametrize("value", [0, 2.0, "2", True, None, 9])
def test_check_integer_refuses(value):
    with pytest.raises(InvalidParameter, match=r"^count of Repeated must be an integer >= 1 and <= 8; got"):
        check_integer(value, "count", "Repeated", minimum=1, maximum=8)


def test_check_integer_accepts_numpy_integers():
    assert check_integer(np.int64(3), "count", "Repeated", minimum=1) == 3
