"""The probe of a private radius: rows of one norm, enough of them, and levels that are those of the noise."""

import math

import numpy as np
import pytest
from scipy import stats

from hushrank.estimators.second_moment import learning
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.radius_probe import radius_probe
from support import FALSE_ALARM, assert_plausible

pytestmark = pytest.mark.law

D = 3
KINDS = {
    "covariance": lambda **terms: PrivateCovariance(row_norm=1.0, **terms),
    "pca": lambda **terms: PrivatePCA(2, row_norm=1.0, **terms),
    "low rank": lambda **terms: PrivateLowRank(2, row_norm=1.0, **terms),
}


def probe_of(model, d=D):
    plan = model._plan(model._check_parameters(), {"n_features": d})
    return radius_probe(model._task(plan))


def levels_of(model, probe, fits):
    found = {}
    for _ in range(fits):
        model.fit(probe.data)
        for name, level in probe.levels(model).items():
            found.setdefault(name, []).append(level)
    return found


def sum_p_value(levels):
    """Two-sided p-value of levels that are claimed to be uniform, by Fisher's sums of logarithms on both sides."""
    levels = np.clip(levels, 1e-300, 1 - 1e-16)
    tails = [stats.chi2.sf(-2 * np.log(side).sum(), 2 * len(levels)) for side in (levels, 1 - levels)]
    return min(1.0, 2 * min(tails))


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("center", [None, "private", [0.5, -1.0, 2.0]], ids=["none", "private", "public"])
def test_rows_have_one_norm_around_the_public_center_and_a_mean_of_zero(delta, neighbors, center):
    model = PrivateCovariance(row_norm=1.0, epsilon=10.0, delta=delta, neighbors=neighbors, center=center)
    probe = probe_of(model)
    public = np.array(center) if isinstance(center, list) else np.zeros(D)
    assert np.linalg.norm(probe.data - public, axis=1) == pytest.approx(np.ones(len(probe.data)))
    assert probe.data.mean(axis=0) == pytest.approx(public, abs=1e-12)
    assert probe.n_fits >= 256
    model.fit(probe.data)
    # The radius is the point of the grid above the norm: the search is far from astray.
    assert 1.0 - 1e-9 <= model.radius_ <= 2.0 ** (1 / 8) * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("delta", "neighbors"), [(0.0, "add_remove"), (1e-6, "replace")])
def test_levels_are_uniform(kind, delta, neighbors):
    model = KINDS[kind](epsilon=10.0, delta=delta, neighbors=neighbors)
    probe = probe_of(model)
    found = levels_of(model, probe, 60)
    assert "second moment" in found
    for levels in found.values():
        assert min(levels) >= 0 and max(levels) <= 1
        assert_plausible(sum_p_value(np.array(levels)))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_levels_notice_halved_noise(monkeypatch, delta):
    """Noise of half the scale, as a bug would have it."""
    exact = learning.release_gram

    def halved(total, lattice, noise):
        truth = np.asarray(total, float) * (lattice.unit / 2.0 ** getattr(lattice, "shift", 0))
        return truth + 0.5 * (exact(total, lattice, noise) - truth)

    monkeypatch.setattr(learning, "release_gram", halved)
    model = PrivateCovariance(row_norm=1.0, epsilon=10.0, delta=delta)
    probe = probe_of(model, 12)
    levels = np.array(levels_of(model, probe, 60)["second moment"])
    # Sums of squares that are too small are all near one end; Fisher's sum on that side is far out.
    assert sum_p_value(levels) < FALSE_ALARM


def test_fits_in_other_units_have_no_probe():
    for terms in ({"column_bounds": (0, 1)}, {"standardize": "private"}):
        assert probe_of(PrivateCovariance(row_norm=1.0, epsilon=10.0, **terms)) is None
    assert probe_of(PrivatePCA(1, row_norm=1.0, epsilon=10.0, select_columns="private")) is None
    model = PrivateCovariance(row_norm=1.0, epsilon=10.0, standardize="after")
    assert model._noise_probe(model._plan(model._check_parameters(), {"n_features": D}), {"n_features": D}) is None


def test_draws_have_a_probe_as_well():
    model = PrivatePCA(1, row_norm=1.0, epsilon=10.0, mechanism="exponential")
    probe = probe_of(model)
    levels = levels_of(model, probe, 20)
    assert levels and all(0 <= level <= 1 for many in levels.values() for level in many)
    assert math.isfinite(model.radius_)
