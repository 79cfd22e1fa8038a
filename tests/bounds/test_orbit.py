"""The bounds on the loss of orbit draws, against exact means and laws, and where they are attained."""

import math

import numpy as np
import pytest
from scipy import special, stats

from hushrank.bounds.orbit import (
    covering_loss_bound,
    covering_number_log,
    expected_pca_loss,
    expected_score_loss,
    orbit_dimension,
    score_loss_quantile,
)
from hushrank.exceptions import InvalidParameter
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import log_partition, mean_diagonal
from orbit_support import haar_bases
from support import assert_plausible

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
RNG = np.random.default_rng(20240521)
REAL_SIZES = [(2, 1), (5, 1), (4, 2), (5, 2), (6, 4)]


def scaled_loss(law):
    """E[rate loss] of a complex law, exactly."""
    return float(law.tilts[: law.rank] @ law.levels - law.tilts @ mean_diagonal(law))


def random_law(rng):
    d = int(rng.integers(2, 8))
    k = int(rng.integers(1, d + 1))
    levels = rng.choice([0.3, 0.5, 1.0, 2.0], k) if rng.random() < 0.5 else rng.uniform(0.01, 2.0, k)
    tilts = rng.exponential(size=d) * 10.0 ** rng.uniform(-1, 3)
    return OrbitLaw(np.sort(tilts)[::-1], np.sort(levels)[::-1], is_complex=True)


def real_sphere(d, cost):
    """E[rate loss] and log Z of the real rank-one law whose cost is the same in all directions but the best one."""
    angle = (NODES + 1) * np.pi / 4
    off, log_weights = np.cos(angle) ** 2, np.log(WEIGHTS) + (d - 2) * np.log(np.cos(angle))
    log_z = special.logsumexp(log_weights - cost * off) - special.logsumexp(log_weights)
    law = special.softmax(log_weights - cost * off)
    return cost * float(law @ off), float(log_z)


def test_the_dimension_counts_pairs_of_different_eigenvalues():
    assert orbit_dimension(7, [1.0] * 3, is_complex=True) == 2 * 3 * 4
    assert orbit_dimension(7, [1.0] * 3, is_complex=False) == 3 * 4
    assert orbit_dimension(4, [1.0, 4.0, 3.0, 2.0], is_complex=False) == 6  # the whole orthogonal group
    assert orbit_dimension(4, [2.0] * 4, is_complex=True) == 0  # a multiple of the identity
    assert orbit_dimension(5, [3.0, 1.0, 1.0], is_complex=True) == 2 * (2 + 2 + 4)


def test_no_complex_law_loses_more_on_average():
    for _ in range(150):
        law = random_law(RNG)
        bound = expected_score_loss(law.dimension, law.levels, 1.0, is_complex=True)
        capped = expected_score_loss(law.dimension, law.levels, 1.0, is_complex=True, trace=float(law.tilts.sum()))
        rounding = 1e-12 * law.tilts[0] * law.dimension * law.levels.sum()
        assert scaled_loss(law) <= bound + rounding
        assert scaled_loss(law) <= capped + rounding <= bound + rounding


@pytest.mark.parametrize("levels", [[1.0, 1.0, 1.0], [3.0, 2.0, 1.0], [2.0, 1.0, 1.0], [1.0]])
def test_concentrated_laws_attain_the_bound(levels):
    law = OrbitLaw(500.0 * np.arange(8, 0, -1.0), levels, is_complex=True)
    bound = expected_score_loss(8, levels, 1.0, is_complex=True)
    assert 0.99 * bound < scaled_loss(law) <= bound * (1 + 1e-9)
    assert scaled_loss(law) > bound / 2  # so half of the bound would be wrong


def test_diffuse_laws_attain_the_cap():
    law = OrbitLaw([1e-3, 0.0, 0.0, 0.0], [1.0, 0.5], is_complex=True)
    cap = expected_score_loss(4, law.levels, 1.0, is_complex=True, trace=1e-3)
    assert cap == pytest.approx(1e-3 * (1.0 - 1.5 / 4))
    assert 0.99 * cap < scaled_loss(law) <= cap


def test_exponential_moments_of_complex_laws():
    for _ in range(60):
        law = random_law(RNG)
        half = orbit_dimension(law.dimension, law.levels, is_complex=True) / 2
        best = law.tilts[: law.rank] @ law.levels
        for t in (0.1, 0.5, 0.9):
            milder = OrbitLaw((1 - t) * law.tilts, law.levels, is_complex=True)
            log_moment = t * best + log_partition(milder) - log_partition(law)
            assert log_moment <= -half * math.log1p(-t) + 1e-12 * best


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.95, 0.999])
def test_complex_quantiles_are_those_of_a_gamma_law(probability):
    # With one cost in all other directions, rate loss is a Gamma(d - 1) variable cut off at the cost.
    d, bound = 6, score_loss_quantile(6, [1.0], 1.0, probability, is_complex=True)
    assert stats.gamma.cdf(bound, d - 1) == pytest.approx(probability)
    for cost in (0.1, 3.0, 10.0, 40.0):
        assert stats.gamma.cdf(min(bound, cost), d - 1) / stats.gamma.cdf(cost, d - 1) >= probability
    assert stats.gamma.cdf(bound / 2, d - 1) / stats.gamma.cdf(40.0, d - 1) < probability


@pytest.mark.parametrize("d", [2, 3, 10, 50, 400])
def test_no_real_rank_one_law_loses_more(d):
    half, bound = (d - 1) / 2, expected_score_loss(d, [1.0], 1.0, is_complex=False)
    log_a = math.log(math.pi) / 2 + math.lgamma((d + 1) / 2) - math.lgamma(d / 2)
    losses = []
    for cost in np.geomspace(0.1, 20 * d, 60):
        loss, log_z = real_sphere(d, cost)
        losses.append(loss)
        assert loss <= expected_score_loss(d, [1.0], 1.0, is_complex=False, trace=cost) * (1 + 1e-12)
        for t in (0.2, 0.8):
            assert real_sphere(d, (1 - t) * cost)[1] - log_z <= log_a - half * math.log1p(-t)
    assert half < max(losses) <= bound  # half the dimension, the complex answer, is no bound for real draws
    if d == 400:
        assert max(losses) > 0.8 * bound
        assert max(losses) > bound / 2


@pytest.mark.parametrize(("d", "k"), REAL_SIZES)
def test_the_constant_of_real_projections_is_a_mean_determinant(d, k):
    # A = 1 / E|det X_1| over Haar frames X with top block X_1; the bound is the root of x - N - N log(x/N) = log A.
    half, x = k * (d - k) / 2, expected_score_loss(d, np.ones(k), 1.0, is_complex=False)
    constant = math.exp(x - half - half * math.log(x / half))
    determinants = np.abs(np.linalg.det(haar_bases(40_000, d, False, RNG)[:, :k, :k]))
    z = (determinants.mean() - 1 / constant) / (determinants.std() / math.sqrt(len(determinants)))
    assert_plausible(2 * stats.norm.sf(abs(z)))


@pytest.mark.parametrize(("d", "k"), REAL_SIZES)
def test_real_projections_stay_below_their_bounds(d, k):
    squares = (haar_bases(40_000, d, False, RNG)[:, :, :k] ** 2).sum(axis=2)
    for concentration in (1.0, 5.0, 15.0):
        tilts = concentration / np.arange(1, d + 1)
        losses = tilts[:k].sum() - squares @ tilts
        weights = special.softmax(-losses)
        assert weights @ losses <= expected_score_loss(d, np.ones(k), 1.0, is_complex=False)
        for probability in (0.5, 0.9):
            above = losses > score_loss_quantile(d, np.ones(k), 1.0, probability, is_complex=False)
            assert weights @ above <= 1 - probability


def test_a_projection_loses_what_its_complement_does():
    for is_complex in (False, True):
        both = [expected_score_loss(9, np.ones(k), 2.0, is_complex=is_complex) for k in (3, 6)]
        assert both[0] == pytest.approx(both[1])
        assert expected_score_loss(3, np.ones(3), 2.0, is_complex=is_complex) == 0.0
        assert score_loss_quantile(3, np.ones(3), 2.0, 0.9, is_complex=is_complex) == 0.0


def test_covering_numbers():
    for radius in (0.9, 0.3, 0.01):  # projections on lines of the plane: a circle of length pi, distance |sin|
        needed = math.ceil(math.pi / (2 * math.asin(radius)))
        assert math.log(needed) <= covering_number_log(2, 1, 1.0, radius, is_complex=False)
    log = covering_number_log(3, 2, 1.0, 0.5, is_complex=True)
    assert log == pytest.approx(12 * math.log(9))
    assert log == 2 * covering_number_log(3, 2, 1.0, 0.5, is_complex=False)
    assert log == pytest.approx(covering_number_log(3, 2, 7.0, 3.5, is_complex=True))


def test_the_covering_bound_is_the_best_of_its_family():
    d, k, rate, trace, probability = 6, 2, 3.0, 50.0, 0.9
    radii = np.geomspace(1e-6, 1e3, 20_001)
    counts = [covering_number_log(d, k, 1.0, r / trace, is_complex=True) for r in radii]
    best = (rate * radii + counts + math.log(10)).min() / rate
    bound = covering_loss_bound(d, k, 1.0, rate, trace, probability, is_complex=True)
    assert bound == pytest.approx(best, rel=1e-6)
    assert covering_loss_bound(d, k, 1.0, rate, 0.1, probability, is_complex=True) == pytest.approx(0.1)


def test_the_covering_bound_is_the_weakest():
    for _ in range(300):
        d = int(RNG.integers(1, 40))
        k = int(RNG.integers(1, d + 1))
        rate, trace = 10.0 ** RNG.uniform(-3, 3), 10.0 ** RNG.uniform(-3, 5)
        probability, is_complex = RNG.uniform(0.001, 0.9999), bool(RNG.integers(2))
        sharp = score_loss_quantile(d, np.ones(k), rate, probability, is_complex=is_complex, trace=trace)
        assert sharp <= covering_loss_bound(d, k, 1.0, rate, trace, probability, is_complex=is_complex) * (1 + 1e-12)


def test_replacement_costs_twice_and_units_cancel():
    plan = {"is_complex": True}
    one = expected_pca_loss(10, 3, 500, 1.0, neighbors="add_remove", **plan)
    assert expected_pca_loss(10, 3, 500, 1.0, neighbors="replace", **plan) == pytest.approx(2 * one)
    assert expected_pca_loss(10, 3, 1, 0.01, neighbors="replace", **plan) == pytest.approx(0.7)
    row_norm = 7.0
    direct = expected_score_loss(10, np.ones(3), 1.0 / row_norm**2, trace=500 * row_norm**2, **plan)
    assert direct / (500 * row_norm**2) == pytest.approx(one)
    # A level only sets units: exp(c <M, aP>) is exp(ca <M, P>), and its loss a times as large.
    for is_complex in (False, True):
        tall = expected_score_loss(6, [5.0, 5.0], 1.0, is_complex=is_complex)
        assert tall == pytest.approx(5.0 * expected_score_loss(6, [1.0, 1.0], 5.0, is_complex=is_complex))


def test_extremes_stay_finite_and_in_order():
    for is_complex in (False, True):
        losses = [
            score_loss_quantile(3000, np.ones(40), 1.0, p, is_complex=is_complex) for p in (1e-12, 0.5, 1 - 1e-12)
        ]
        assert 0 < losses[0] < losses[1] < losses[2] < 4 * 40 * 2960
        assert score_loss_quantile(2, [1e-300], 1e-300, 0.5, is_complex=is_complex) > 1e299
        assert expected_score_loss(2, [1.0], 1e-300, is_complex=is_complex, trace=0.0) == 0.0
    assert covering_loss_bound(2, 1, 1e-100, 1e100, 1e100, 0.0, is_complex=True) < 1.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: expected_score_loss(2, [1.0] * 3, 1.0, is_complex=True), "levels"),
        (lambda: expected_score_loss(2, [], 1.0, is_complex=True), "levels"),
        (lambda: expected_score_loss(2, [0.0], 1.0, is_complex=True), "levels"),
        (lambda: expected_score_loss(2, [1.0], 0.0, is_complex=True), "rate"),
        (lambda: expected_score_loss(2, [1.0], 1.0, is_complex=True, trace=-1.0), "trace"),
        (lambda: score_loss_quantile(2, [1.0], 1.0, 1.0, is_complex=True), "probability"),
        (lambda: covering_loss_bound(2, 3, 1.0, 1.0, 1.0, 0.5, is_complex=True), "rank"),
        (lambda: covering_number_log(2, 1, 1.0, math.inf, is_complex=True), "radius"),
        (lambda: expected_pca_loss(3, 4, 10, 1.0, neighbors="replace", is_complex=True), "n_components"),
    ],
)
def test_parameters_are_checked(call, name):
    with pytest.raises(InvalidParameter, match=name):
        call()


def test_real_orbits_with_unequal_levels_have_the_covering_bound_only():
    with pytest.raises(ValueError, match="covering_loss_bound"):
        expected_score_loss(3, [2.0, 1.0], 1.0, is_complex=False)
    tilts, levels = np.array([6.0, 3.0, 0.0]), np.array([2.0, 1.0])
    frames = haar_bases(40_000, 3, False, RNG)[:, :, :2]
    losses = tilts[:2] @ levels - ((frames**2) @ levels) @ tilts
    weights = special.softmax(-losses)
    assert weights @ losses <= covering_loss_bound(3, 2, 2.0, 1.0, 9.0, 0.0, is_complex=False)
