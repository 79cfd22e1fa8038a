"""Complex projections by the matrix-ball chart: the law, by derivatives, by reweighting and against other samplers."""

import math

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit import ball, sphere, stiefel
from hushrank.orbit.ball import draw, log_gaussian_partition
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import log_partition, mean_diagonal
from hushrank.privacy.noise.continuous import exponentials, normals
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import diagonal, haar_moments, hotelling_p_value, ks_p_value, moments_p_value, power_law
from support import FALSE_ALARM, assert_plausible, count_p_value

N_DRAWS = 800


def projection(tilts, k):
    return OrbitLaw(tilts, np.ones(k), is_complex=True)


WIDE = projection([5.0, 4.5, 2.0, 1.0, 0.0], 2)  # every column by the sphere
MIXED = projection([30.0, 8.0, 6.0, 2.0, 0.0], 2)  # the first column narrow, the second wide
NARROW = projection([60.0, 40.0, 30.0, 3.0, 1.0, 0.0], 3)  # every column normal


def diagonals(law, n, sampler=draw):
    stream = Keystream()
    return np.array([diagonal(sampler(law, stream).factor) for _ in range(n)])


def test_the_three_laws_take_the_paths_that_they_are_meant_for():
    counts = [len(ball._Columns(ball._rates(law.costs, law.rank)).envelopes) for law in (WIDE, MIXED, NARROW)]
    assert counts == [2, 1, 0]


@pytest.mark.parametrize("law", [WIDE, MIXED, NARROW, power_law(20, 60.0, [0.5])], ids=["wide", "mixed", "narrow", "1"])
def test_means_are_derivatives_of_the_normalizing_constant(law):
    assert_plausible(hotelling_p_value(diagonals(law, N_DRAWS), mean_diagonal(law)))


@pytest.mark.parametrize(
    ("tilts", "k"), [([3.0, 1.0, 0.0], 1), ([3.0, 1.5, 0.0, 0.0], 2), ([3.0, 2.0, 0.0, 0.0], 3), ([8.0, 7.0, 0.0], 2)]
)
def test_moments_agree_with_uniform_draws_that_are_reweighted(tilts, k):
    law, stream = OrbitLaw(tilts, [1.5] * k, is_complex=True), Keystream()
    means, errors = haar_moments(law, 40_000, np.random.default_rng())
    assert_plausible(moments_p_value([draw(law, stream).factor for _ in range(N_DRAWS)], means, errors))


@pytest.mark.parametrize(
    ("law", "sampler"),
    [
        (power_law(8, 20.0, [1.0]), sphere.draw),
        (projection([3.0, 2.0, 1.0, 0.0, 0.0], 2), stiefel.draw),
        (projection([6.0, 6.0, 5.0, 0.0, 0.0, 0.0], 3), stiefel.draw),
    ],
    ids=["sphere", "stiefel 2", "stiefel 3"],
)
def test_independent_samplers_agree(law, sampler):
    ours, theirs = diagonals(law, N_DRAWS), diagonals(law, N_DRAWS, sampler)
    assert_plausible(ks_p_value(ours @ law.tilts, theirs @ law.tilts))
    for i in range(law.dimension):
        assert_plausible(ks_p_value(ours[:, i], theirs[:, i]))


def test_normal_columns_and_sphere_columns_have_one_law(monkeypatch):
    by_sphere = diagonals(WIDE, N_DRAWS)
    monkeypatch.setattr(ball, "_NARROW", 1e9)
    by_rejection = diagonals(WIDE, N_DRAWS)
    for i in range(5):
        assert_plausible(ks_p_value(by_sphere[:, i], by_rejection[:, i]))


# --- planted bugs


def test_a_wrong_scale_of_the_columns_is_noticed(monkeypatch):
    for scale in (0.8, 1.25):
        monkeypatch.setattr(ball, "normals", lambda shape, stream, scale=scale: scale * normals(shape, stream))
        assert hotelling_p_value(diagonals(NARROW, N_DRAWS), mean_diagonal(NARROW)) < FALSE_ALARM


def test_columns_clipped_to_the_ball_are_noticed(monkeypatch):
    def shrink(columns, stream):
        Y = honest(columns, stream)
        return Y / max(1.0, np.linalg.norm(Y, 2))  # instead of a new matrix

    honest = ball._Columns.draw
    monkeypatch.setattr(ball._Columns, "draw", shrink)
    assert hotelling_p_value(diagonals(WIDE, 2 * N_DRAWS), mean_diagonal(WIDE)) < FALSE_ALARM


def test_an_inverted_accept_test_is_noticed(monkeypatch):
    monkeypatch.setattr(sphere, "is_accepted", lambda ratios, stream: exponentials(ratios.shape, stream) < -ratios)
    assert hotelling_p_value(diagonals(WIDE, N_DRAWS), mean_diagonal(WIDE)) < FALSE_ALARM


# --- the normalizing constant


@pytest.mark.parametrize("law", [WIDE, MIXED, NARROW, projection([9.0, 4.0, 1.0], 1)])
def test_the_normal_constant_is_exact_up_to_the_mass_of_the_ball(law):
    n, rng, k = 20_000, np.random.default_rng(), law.rank
    rates = law.costs[k:, np.newaxis] - law.costs[:k]
    parts = rng.standard_normal((2, n, *rates.shape)) / np.sqrt(2 * rates)
    inside = np.count_nonzero(np.linalg.norm(parts[0] + 1j * parts[1], 2, axis=(1, 2)) <= 1)
    exact = log_partition(law) - k * law.tilts[0]
    assert_plausible(count_p_value(inside, n, math.exp(exact - log_gaussian_partition(law.costs, k))))


def test_the_constant_knows_shifts_ties_and_the_full_rank():
    costs = np.array([0.0, 1.0, 4.0, 9.0])
    assert log_gaussian_partition(costs + 2, 3) == pytest.approx(log_gaussian_partition(costs, 3) - 6)
    assert log_gaussian_partition([0.0, 1.0, 1.0], 2) == math.inf
    assert log_gaussian_partition([1.0, 2.0, 3.0], 3) == -6.0
    for refused in ([1.0, 0.0], [0.0]):
        with pytest.raises(InvalidParameter, match="at least 2 numbers in rising order"):
            log_gaussian_partition(refused, 2)


# --- structure and extremes


@pytest.mark.parametrize(
    ("tilts", "k"),
    [
        ([0.0] * 4, 2),
        ([1.0, 1.0, 1.0, 0.0], 2),
        ([1e12, 1e12, 0.0, 0.0], 2),
        ([1e299, 5.0, 5.0, 0.0, 0.0], 2),
        ([1e12, 1e11, 1e10, 0.0], 3),
        ([5e-324, 0.0], 1),
        ([9.0], 1),
        ([3.0, 2.0, 1.0], 3),
        (5e6 / np.arange(1, 301), 20),
    ],
    ids=str,
)
def test_factors_are_orthonormal_up_to_the_level(tilts, k):
    law = OrbitLaw(tilts, [2.0] * k, is_complex=True)
    X = draw(law, Keystream()).factor
    assert X.shape == (law.dimension, k) and X.dtype == np.complex128
    assert np.allclose(X.conj().T @ X, 2 * np.eye(k), rtol=0, atol=1e-12)


def test_concentrated_laws_accept_at_once():
    stream = Keystream()
    assert all(draw(power_law(100, 1e6, [1.0] * 5), stream).tries == 1 for _ in range(20))


def test_a_spread_law_fails_within_the_limit():
    law = projection(np.r_[np.full(10, 15.0), np.zeros(20)], 10)
    with pytest.raises(SamplingFailed, match=r"20 matrices .* use rows or coupling"):
        draw(law, Keystream(), limit=20)


def test_no_limit_goes_on():
    assert draw(WIDE, Keystream(), limit=None).tries >= 1


@pytest.mark.parametrize(
    "law", [OrbitLaw([1.0, 0.0], [1.0], is_complex=False), OrbitLaw([1.0, 0.0], [2.0, 1.0], is_complex=True)]
)
def test_other_laws_are_refused(law):
    with pytest.raises(InvalidParameter, match="complex with equal levels"):
        draw(law, Keystream())
