"""Copies of estimators know nothing; copies of sources show nothing."""

import numpy as np
import pytest

from hushrank.checks.subjects import fresh, unreadable
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.rows.reading import read_rows
from hushrank.estimators.second_moment.pca import PrivatePCA

X = np.eye(4)


def test_a_fresh_estimator_has_the_parameters_and_nothing_learned():
    center = [0.0] * 4
    model = PrivatePCA(2, row_norm=1.0, epsilon=1.0, center=center).fit(X)
    copy = fresh(model, epsilon=2.0)
    assert (copy.n_components, copy.epsilon) == (2, 2.0) and copy.center is center
    assert not hasattr(copy, "privacy_") and model.epsilon == 1.0


def test_unreadable_sources_keep_their_schema():
    for source in (read_rows(X, owner="A"), read_ratings(X, owner="A", rating_range=(0, 1))):
        copy = unreadable(source)
        assert isinstance(copy, type(source))
        assert (copy.sizes, copy.n_samples, copy.columns) == (source.sizes, source.n_samples, source.columns)
        with pytest.raises(AssertionError, match="the data were read"):
            copy.blocks()
        assert sum(len(block) for block in source.blocks()) == 4
    with pytest.raises(AssertionError, match="the users were counted"):
        _ = copy.n_users
