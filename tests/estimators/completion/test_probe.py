"""Ratings on which the counts of items, or the mean square of ratings, are known but for their noise."""

import numpy as np
import pytest
from scipy import stats

from hushrank.estimator import clone
from hushrank.estimators.completion.estimator import PrivateCompletion

pytestmark = pytest.mark.law

TERMS = {"epsilon": 10.0, "delta": 1e-6, "rating_range": (1, 5)}
N_ITEMS = 4


def probe_of(estimator):
    return estimator._noise_probe(
        estimator._plan(estimator._check_parameters(), {"n_items": N_ITEMS}), {"n_items": N_ITEMS}
    )


def fits(estimator, n_fits):
    probe = probe_of(estimator)
    models = [clone(estimator).set_params(random_state=seed).fit(probe.data) for seed in range(n_fits)]
    return models, [probe.levels(model) for model in models]


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"feedback": "implicit"},
        {"feedback": "implicit", "neighbors": "add_remove"},
        {"feedback": "implicit", "method": "als"},
        {"method": "als", "neighbors": "add_remove"},
    ],
)
def test_counts_show_their_noise(terms):
    models, levels = fits(PrivateCompletion(2, **TERMS, **terms), 40)
    assert stats.kstest([level["counts of items"] for level in levels], "uniform").pvalue > 1e-3
    n_users = probe_of(PrivateCompletion(2, **TERMS, **terms)).data.shape[0]
    assert np.mean([model.item_counts_ for model in models]) == pytest.approx(n_users / N_ITEMS, rel=0.1)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_without_counts_the_mean_square_shows_its_noise(neighbors):
    models, levels = fits(PrivateCompletion(2, **TERMS, offsets=False, neighbors=neighbors), 60)
    assert stats.kstest([level["mean square of ratings"] for level in levels], "uniform").pvalue > 1e-3
    assert {model.n_factors_ for model in models} == {0}


def test_data_are_as_the_readings_need_them():
    ones = probe_of(PrivateCompletion(2, **TERMS)).data
    assert np.array_equal(np.diff(ones.indptr), np.ones(ones.shape[0])) and np.ptp(np.bincount(ones.indices)) == 0
    pairs = probe_of(PrivateCompletion(2, **TERMS, offsets=False)).data
    assert np.array_equal(np.diff(pairs.indptr), np.full(pairs.shape[0], 2))
    scaled = pairs.copy()
    scaled.data = (scaled.data - 3.0) / 2.0
    products = (scaled.T @ scaled).toarray()
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-9
    for data in (ones, pairs):
        assert 1.0 <= data.data.min() and data.data.max() <= 5.0


@pytest.mark.parametrize("terms", [{"method": "als"}, {"method": "factored_gradient"}, {"n_users": 50}])
def test_other_methods_without_counts_show_nothing(terms):
    assert probe_of(PrivateCompletion(2, **TERMS, offsets=False, **terms)) is None
