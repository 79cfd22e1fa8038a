"""Missing noise is noticed, whichever release it is missing from; so is noise of another scale than the planned."""

from dataclasses import replace
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats

from hushrank.checks import noise
from hushrank.checks.noise import check_noise_has_its_planned_scale, check_one_person_is_hidden
from hushrank.checks.samples import RatingSample, RowSample
from hushrank.engine import local
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.second_moment import estimator as second_moment
from hushrank.estimators.second_moment import learning, orbit_draw, releases
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.evaluation.audit import delta_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import adaptive
from hushrank.privacy.probes import NoiseProbe

pytestmark = pytest.mark.law

X = np.random.default_rng(1).standard_normal((37, 5))
PURE, APPROXIMATE = {"row_norm": 1.0, "epsilon": 1.0}, {"row_norm": 1.0, "epsilon": 1.0, "delta": 1e-6}
PUBLIC, PUBLIC_APPROXIMATE = {**PURE, "radius": "public"}, {**APPROXIMATE, "radius": "public"}
RATINGS = {"rating_range": (-3, 3), "epsilon": 1.0, "delta": 1e-6}
ROWS = RowSample(X)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Threads of thousands of small fits take more time than they save; the suite has a check of other numbers."""
    monkeypatch.setattr(local, "available_cores", lambda: 1)


def sample_for(estimator):
    return RatingSample(X) if isinstance(estimator, PrivateCompletion) else ROWS


# Releases with a factor in their noise: the truth, plus so much of what an honest release adds to it.


def scale_gram(release, factor):
    def scaled(total, lattice, noise):
        integers = total[0] + 1j * total[1] if isinstance(total, tuple) else total
        truth = integers * (lattice.row_norm**2 / lattice.squared_bound)
        return truth + factor * (release(total, lattice, noise) - truth)

    return scaled


def scale_vector(release, factor):
    def scaled(total, lattice, noise):
        truth = total * lattice.unit
        return truth + factor * (release(total, lattice, noise) - truth)

    return scaled


def scale_counts(release, factor):
    def scaled(counts, event, noise, neighbors):
        return np.rint(counts + factor * (release(counts, event, noise, neighbors) - counts)).astype(np.int64)

    return scaled


def scale_eigenvalues(release, factor):
    def scaled(values, lattice, noise):
        return values + factor * (release(values, lattice, noise) - values)

    return scaled


def scale_draw(choose, factor):
    def scaled(sampler, levels, lattice, noise):
        return choose(lambda rate, stream: sampler(rate / factor, stream), levels, lattice, noise)

    return scaled


RELEASES = {
    "second moment": (second_moment, "release_gram", scale_gram),
    "number of rows": (second_moment, "release_counts", scale_counts),
    "center": (second_moment, "release_vector", scale_vector),
    "eigenvalues": (orbit_draw, "release_eigenvalues", scale_eigenvalues),
    "directions": (orbit_draw, "choose", scale_draw),
    "sums over users": (adaptive, "release_vector", scale_vector),
    "second moment in a private radius": (learning, "release_gram", scale_gram),
    "number of rows for a private radius": (releases, "release_counts", scale_counts),
}
NAMES = {
    "sums over users": "counts of items|mean square of ratings",
    "second moment in a private radius": "second moment",
    "number of rows for a private radius": "number of rows",
}


def with_noise(estimator, release, factor, n_fits=None):
    """The estimator, with `factor` times the noise in one of its releases, and perhaps fewer fits for its probe."""
    module, name, scale = RELEASES[release]

    class Planted(type(estimator)):
        def _fit(self, *arguments):
            with patch.object(module, name, scale(getattr(module, name), factor)):
                return super()._fit(*arguments)

        def _noise_probe(self, *arguments):
            probe = super()._noise_probe(*arguments)
            return probe if n_fits is None else replace(probe, n_fits=n_fits)

    return Planted(**estimator.get_params())


# One person. All that is needed is that the release shows in the model.

CENTERED = PrivatePCA(2, **PUBLIC_APPROXIMATE, neighbors="add_remove", center="private", center_norm=3.0)
DRAWN = PrivateLowRank(2, **PUBLIC, mechanism="exponential", neighbors="add_remove", share=0.25, center="private")
SEARCHING = PrivateCovariance(**PURE, neighbors="add_remove")
IMPLICIT = PrivateCompletion(2, **RATINGS, feedback="implicit")


@pytest.mark.parametrize(
    ("estimator", "release"),
    [
        (PrivatePCA(2, **PUBLIC), "second moment"),
        (PrivateCovariance(**PUBLIC, neighbors="add_remove", center="private"), "second moment"),
        (PrivateLowRank(**PUBLIC, eigenvalues=[1.0, 2.0], field="complex"), "second moment"),
        (CENTERED, "number of rows"),
        (CENTERED, "center"),
        (CENTERED, "second moment"),
        (PrivatePCA(1, **PUBLIC, mechanism="exponential"), "directions"),
        (DRAWN, "center"),
        (DRAWN, "eigenvalues"),
        (DRAWN, "directions"),
        (SEARCHING, "number of rows for a private radius"),
        (SEARCHING, "second moment in a private radius"),
        (IMPLICIT, "sums over users"),
        (PrivateCompletion(2, **RATINGS), "sums over users"),
    ],
)
def test_a_millionth_of_the_noise_hides_nobody(estimator, release):
    with pytest.raises(AssertionError, match=r"one person shows in 4\d of 48 models"):
        check_one_person_is_hidden(with_noise(estimator, release, 1e-6), sample_for(estimator))


class AddsAMillionthOfTheSums(PrivatePCA):
    to: ClassVar[str]

    def _fit(self, source, releases, noise, total):
        learned = super()._fit(source, releases, noise, total)
        sums = sum(np.nan_to_num(np.clip(block, -1.0, 1.0)).sum(axis=0) for block in source.blocks())
        return {**learned, self.to: learned[self.to] + 1e-6 * sums}


class AddsToAConstant(AddsAMillionthOfTheSums):
    to = "center_"


class AddsToANoisyNumber(AddsAMillionthOfTheSums):
    to = "components_"


def test_a_millionth_of_an_exact_sum_shows_beside_noise_but_not_under_it():
    """Under noise it is as good as private, but for digits below the noise that no single number singles out."""
    with pytest.raises(AssertionError, match="one person shows"):
        check_one_person_is_hidden(AddsToAConstant(2, **PURE), ROWS)
    check_one_person_is_hidden(AddsToANoisyNumber(2, **PURE), ROWS)


def test_the_budget_is_small_where_the_estimator_allows_it():
    class NeedsMuch(PrivatePCA):
        def _plan(self, budget, sizes):
            if budget.epsilon < 1.0:
                raise InvalidParameter("NeedsMuch", "epsilon", "at least 1", budget.epsilon)
            return super()._plan(budget, sizes)

    assert noise._with_small_epsilon(PrivatePCA(2, **PURE), ROWS).epsilon == 0.2
    assert noise._with_small_epsilon(PrivatePCA(2, row_norm=1.0, epsilon=0.1), ROWS).epsilon == 0.1
    assert noise._with_small_epsilon(NeedsMuch(2, **PURE), ROWS).epsilon == 1.0
    check_one_person_is_hidden(NeedsMuch(2, **PURE), ROWS)


def test_what_always_tells_refutes_a_budget_of_half():
    """The arithmetic: with 48 fits a side, bounds that fail with 5e-10 each prove epsilon >= 0.57."""
    low = 5e-10 ** (1 / noise._TEST)
    assert np.log(low / (1 - low)) == pytest.approx(0.5757, abs=1e-4)
    everybody, nobody = noise._TEST, 0
    for epsilon, is_refuted in ((0.2, True), (0.57, True), (0.58, False)):
        counts = (everybody, noise._TEST, nobody, noise._TEST)
        assert (delta_lower_bound(*counts, epsilon, confidence=1 - 1e-9) > 0) == is_refuted


@pytest.mark.parametrize("shift", [0.0, 1e-9, -1.0, 5.0])
@pytest.mark.parametrize("spread", [0.0, 1e-12])
def test_the_number_that_tells_is_found_among_others(shift, spread):
    rng = np.random.default_rng(3)
    fits = rng.standard_normal((2, 64, 20))
    fits[:, :, 7] = 2.0 + spread * fits[:, :, 7]
    fits[0, :, 7] += shift
    tells = noise._learn_to_tell(fits[0, :16], fits[1, :16])
    hits, others = tells(fits[0, 16:]).sum(), tells(fits[1, 16:]).sum()
    assert (hits, others) == (48, 0) if shift else 10 < hits < 48


# The scale of the plan.

HALF, TWICE, MILLIONTH = 0.5, 2.0, 1e-6
# Releases of which a fit shows five numbers or four: half and twice their noise move the normal score of a fit by 1.3
# or more, with deviations of 0.8 and 1.3, and are missed in 96 fits with probability below 1e-9. Other releases, and
# factors next to 1, need the fits of the probe. The score of a millionth is -2.5 or less, whatever the release.
SHOWN_WELL = ("second moment", "center", "second moment in a private radius")


def fits_enough(release, factor):
    if factor == MILLIONTH:
        return 32
    return 96 if release in SHOWN_WELL and factor in (HALF, TWICE) else None


@pytest.mark.parametrize(
    ("estimator", "release", "factors"),
    [
        (PrivatePCA(2, **PUBLIC), "second moment", (MILLIONTH, HALF, TWICE)),
        (PrivateCovariance(**PUBLIC_APPROXIMATE), "second moment", (0.7, 1.3)),
        (PrivateCovariance(**PUBLIC, neighbors="add_remove"), "number of rows", (MILLIONTH, HALF, TWICE)),
        (PrivatePCA(2, **PUBLIC, center="private"), "center", (HALF, TWICE)),
        (PrivateLowRank(2, **PUBLIC, mechanism="exponential"), "eigenvalues", (HALF, TWICE)),
        (PrivatePCA(1, **PUBLIC, mechanism="exponential"), "directions", (MILLIONTH, HALF, TWICE)),
        (PrivatePCA(2, **PURE), "second moment in a private radius", (MILLIONTH, HALF, TWICE)),
        (PrivateCovariance(**APPROXIMATE), "second moment in a private radius", (0.7, 1.3)),
        (SEARCHING, "number of rows for a private radius", (HALF, TWICE)),
        (PrivatePCA(1, **PURE, mechanism="exponential"), "directions", (HALF, TWICE)),
        (IMPLICIT, "sums over users", (0.7, 1.3)),
        (PrivateCompletion(2, **{**RATINGS, "epsilon": 20.0}, offsets=False), "sums over users", (HALF, TWICE)),
    ],
)
def test_noise_of_another_scale_is_noticed(estimator, release, factors):
    name = NAMES.get(release, release)
    for factor in factors:
        size = "less" if factor < 1 else "more"
        with pytest.raises(AssertionError, match=f"^({name}): {size} noise than planned"):
            check_noise_has_its_planned_scale(
                with_noise(estimator, release, factor, fits_enough(release, factor)), sample_for(estimator)
            )


def test_an_estimator_that_says_nothing_about_its_noise_is_reported():
    class SaysNothing(PrivatePCA):
        def _noise_probe(self, releases, sizes):
            return None

    with pytest.warns(UserWarning, match="SaysNothing has no _noise_probe: the scale of its noise was not checked"):
        check_noise_has_its_planned_scale(SaysNothing(2, **PURE), ROWS)


class Told(PrivatePCA):
    """Has the levels that it is told."""

    told: ClassVar[Any] = ()

    def _noise_probe(self, releases, sizes):
        levels = iter(self.told)
        return NoiseProbe(X, lambda model: {"a release": next(levels), "another": 0.5}, len(self.told))


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (stats.norm.cdf(np.full(16, 1.65)), None),  # 6.6 deviations
        (stats.norm.cdf(np.full(16, 1.75)), "more noise than planned, by 7.0"),
        (stats.norm.cdf(np.full(16, -1.75)), "less noise than planned, by 7.0"),
        ([0.5, np.nan], "a release"),
        ([0.0], "less noise than planned, by 7.9"),
        ([1.0], "more noise than planned, by 7.9"),
    ],
)
def test_limits_stand_where_the_false_alarm_puts_them(monkeypatch, levels, message):
    """Two releases share 1e-9, half of it on either side: 6.22 standard deviations, and half a one for the probe."""
    assert stats.norm.isf(1e-9 / 2 / 2) + 0.5 == pytest.approx(6.72, abs=0.01)
    monkeypatch.setattr(Told, "told", levels)
    if message is None:
        return check_noise_has_its_planned_scale(Told(2, **PURE), ROWS)
    with pytest.raises(AssertionError, match=message):
        check_noise_has_its_planned_scale(Told(2, **PURE), ROWS)
