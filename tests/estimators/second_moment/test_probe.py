"""Data whose second moment is known, and noise that is read off models as it was released."""

import numpy as np
import pytest
from scipy import stats

from hushrank.estimator import clone
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA

pytestmark = pytest.mark.law

D = 4
PURE = {"row_norm": 2.0, "epsilon": 1.0, "radius": "public"}  # a private one: test_radius_probe.py
APPROXIMATE = {**PURE, "delta": 1e-6}


def probe_of(estimator):
    return estimator._noise_probe(estimator._plan(estimator._check_parameters(), {"n_features": D}), {"n_features": D})


def levels(estimator, seeds):
    probe = probe_of(estimator)
    fits = [probe.levels(clone(estimator).set_params(random_state=seed).fit(probe.data)) for seed in seeds]
    return {name: np.array([fit[name] for fit in fits]) for name in fits[0]}


ESTIMATORS = {
    "second moment": PrivatePCA(2, **PURE),
    "second moment, Gaussian": PrivateLowRank(1, **APPROXIMATE, field="complex"),
    "public center": PrivateCovariance(**APPROXIMATE, center=[1.0, 0.0, -1.0, 3.0]),
    "private center": PrivatePCA(2, **APPROXIMATE, center="private", center_norm=3.0, neighbors="add_remove"),
    "equal levels": PrivatePCA(2, **PURE, mechanism="exponential"),
    "public levels": PrivateLowRank(eigenvalues=[3.0, 3.0, 1.0, 0.0], **PURE, mechanism="exponential"),
    "private levels": PrivateCovariance(rank=2, **PURE, mechanism="exponential", center="private"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_second_moment_of_the_data_is_diagonal_and_nothing_is_shortened(name):
    estimator = ESTIMATORS[name]
    X = probe_of(estimator).data - (0.0 if estimator.center is None or name != "public center" else estimator.center)
    A = X.T @ X
    assert np.array_equal(A, np.diag(np.diag(A))) and np.all(np.diff(np.diag(A)) <= 0) and A[0, 0] > 0
    assert np.abs(X.sum(axis=0)).max() == 0.0
    most = 1.0 if estimator.center == "private" else 2.0  # room for a noisy center
    assert np.linalg.norm(X, axis=1).max() == pytest.approx(most)


def test_signals_follow_the_levels_of_a_draw():
    equal, public, private = (
        np.diag(probe_of(ESTIMATORS[name]).data.T @ probe_of(ESTIMATORS[name]).data)
        for name in ("equal levels", "public levels", "private levels")
    )
    assert equal[0] == equal[1] > 0 == equal[2]
    assert public[0] == public[1] == pytest.approx(2 * public[2], rel=1e-3) and public[2] > 0 == public[3]
    assert private[0] > 25 * private[1] > 0 == private[2]


@pytest.mark.parametrize("terms", [PURE, APPROXIMATE], ids=["pure", "approximate"])
@pytest.mark.parametrize("field", ["real", "complex"])
def test_eigenvectors_show_the_noise_of_the_matrix(terms, field):
    """With one key all three release the same matrix: the covariance shows its noise exactly, the others about."""
    whole = levels(PrivateCovariance(**terms, field=field), range(40))["second moment"]
    for estimator in (PrivatePCA(1, **terms, field=field), PrivateLowRank(2, **terms, field=field)):
        assert levels(estimator, range(40))["second moment"] == pytest.approx(whole, abs=0.05)
    assert whole.min() < 0.2 and whole.max() > 0.8


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (ESTIMATORS["private center"], {"number of rows", "center", "second moment"}),
        (PrivateCovariance(**PURE, neighbors="add_remove"), {"number of rows", "second moment"}),
        (PrivatePCA(1, **PURE, mechanism="exponential"), {"directions"}),
        (PrivatePCA(2, **PURE, mechanism="exponential", strategy="sequential", field="complex"), {"directions"}),
        (ESTIMATORS["equal levels"], {"directions"}),
        (ESTIMATORS["public levels"], {"directions"}),
        (ESTIMATORS["private levels"], {"center", "eigenvalues", "directions"}),
        (PrivateLowRank(1, **PURE, mechanism="exponential"), {"eigenvalues", "directions"}),
        (PrivateLowRank(eigenvalues=[2.0, 1.0], **APPROXIMATE), {"second moment"}),
    ],
)
def test_levels_are_uniform(estimator, names):
    found = levels(estimator, range(120))
    assert set(found) == names
    for name in names:
        assert stats.kstest(found[name], "uniform").pvalue > 1e-3, name


def test_a_single_column_shows_what_it_can():
    for estimator, names in (
        (PrivateCovariance(**APPROXIMATE), {"second moment"}),
        (PrivateCovariance(**PURE), set()),
        (PrivatePCA(1, **PURE, mechanism="exponential"), set()),
        (PrivateLowRank(1, **PURE, mechanism="exponential"), {"eigenvalues"}),
    ):
        probe = estimator._noise_probe(
            estimator._plan(estimator._check_parameters(), {"n_features": 1}), {"n_features": 1}
        )
        assert set(probe.levels(clone(estimator).fit(probe.data))) == names
