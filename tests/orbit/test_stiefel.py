"""Projections by matrix angular central Gaussian proposals: bound, acceptance, law, and rounding."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import hyp1f1

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit import sphere, stiefel
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import log_partition, mean_diagonal
from hushrank.orbit.stiefel import draw, propose, stiefel_envelope
from hushrank.privacy.noise.continuous import exponentials
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import diagonal, haar_bases, haar_moments, hotelling_p_value, moments_p_value, power_law
from support import FALSE_ALARM, assert_plausible, count_p_value

N_PROPOSALS = 200_000  # in each of five spectra: one million
N_DRAWS = 800


def normalized_log_partition(costs, k):
    """log E exp(-<diag(costs), P>) over complex projections."""
    return log_partition(OrbitLaw(-np.asarray(costs), np.ones(k), is_complex=True))


def log_acceptance(envelope, log_z):
    """Log of the share of accepted proposals, from log_z = log E exp(-<diag(costs), P>), P uniform."""
    k, log_scales = envelope.rank, np.log(envelope.scales)
    base = envelope.beta * len(envelope.costs) * log_scales[:k].sum() + envelope.costs[:k].sum()
    return log_z + base - envelope.beta * k * log_scales.sum() - envelope.log_constant


SPECTRA = {
    # In rank 1 and d - 1 one squared entry of a unit vector decides, with law Beta(1/2, (d-1)/2).
    "real line": ([0.0, 4.0, 4.0, 4.0], 1, False, math.log(hyp1f1(1.5, 2.0, -4.0))),
    "real plane": ([0.0, 0.0, 6.0], 2, False, math.log(hyp1f1(1.0, 1.5, -6.0))),
    "complex": ([0.0, 1.0, 2.0, 4.0], 2, True, None),
    "complex ties": ([0.0, 0.0, 3.0, 3.0], 2, True, None),
    "complex plane": ([0.0, 2.0, 6.0], 2, True, None),
}


def accepted_count(envelope, n):
    stream = Keystream()
    log_ratios = propose(envelope, n, stream)[1]
    assert log_ratios.max() <= 1e-9
    return np.count_nonzero(sphere.is_accepted(log_ratios, stream))


@pytest.mark.parametrize("name", SPECTRA)
def test_the_ratio_is_bounded_and_the_acceptance_is_the_predicted_one(name):
    costs, k, is_complex, log_z = SPECTRA[name]
    envelope = stiefel_envelope(costs, k, is_complex)
    log_z = normalized_log_partition(costs, k) if log_z is None else log_z
    accepted = accepted_count(envelope, N_PROPOSALS)
    assert_plausible(count_p_value(accepted, N_PROPOSALS, math.exp(log_acceptance(envelope, log_z))))


def test_the_real_acceptance_agrees_with_uniform_draws():
    costs, n = np.array([0.0, 1.0, 2.0, 5.0]), 50_000
    U = haar_bases(n, 4, False, np.random.default_rng())[:, :, :2]
    weights = np.exp(-(np.abs(U) ** 2).sum(axis=2) @ costs)
    log_z, log_error = math.log(weights.mean()), weights.std() / weights.mean() / math.sqrt(n)
    for b in (None, 0.8, 9.0):
        envelope = stiefel_envelope(costs, 2, False, b=b)
        rate = accepted_count(envelope, n) / n
        difference = math.log(rate) - log_acceptance(envelope, log_z)
        assert_plausible(2 * stats.norm.sf(abs(difference) / math.hypot(log_error, math.sqrt((1 - rate) / rate / n))))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_ratios_are_those_of_the_definition(k, is_complex):
    costs = np.array([0.0, 0.5, 0.5, 3.0, 7.0])
    envelope = stiefel_envelope(costs, k, is_complex)
    transposed, log_ratios = propose(envelope, 200, Keystream())
    X = np.linalg.qr(np.concatenate([np.tile(np.eye(k), (200, 1, 1)), np.swapaxes(transposed, 1, 2)], axis=1)).Q
    s = np.linalg.eigvalsh(np.conj(np.swapaxes(X, 1, 2)) @ (costs[:, np.newaxis] * X))
    beta, b = 2 if is_complex else 1, envelope.b

    def phi(u):
        return -u + beta * 5 / 2 * np.log1p(2 * u / (beta * b))

    log_c = phi(np.clip(beta * (5 - b) / 2, costs[:k], costs[5 - k :])).sum()
    # X itself is known to a relative precision of about 1e-16 times the size of T.
    error = np.abs(log_ratios - phi(s).sum(axis=1) + log_c)
    assert (error <= 1e-12 * (1 + np.abs(transposed).max(axis=(1, 2)))).all()


def test_the_parameter_is_nearly_the_best():
    costs, log_z = [0.0, 1.0, 2.0, 4.0], normalized_log_partition([0.0, 1.0, 2.0, 4.0], 2)
    grid = np.geomspace(0.05, 500, 400)
    best = max(log_acceptance(stiefel_envelope(costs, 2, True, b=b), log_z) for b in grid)
    assert log_acceptance(stiefel_envelope(costs, 2, True), log_z) >= best - 1e-6


def test_large_spread_costs_lose_no_digits():
    costs = np.array([0.0, 1e12, 3e12])
    envelope = stiefel_envelope(costs, 2, is_complex=False)
    transposed, log_ratios = propose(envelope, 1000, Keystream())
    t = transposed[:, :, 0]  # the kernel of P is spanned by (-t, 1)
    w = t * envelope.scales[:2] / envelope.scales[2]
    excess = (t**2 @ (costs[2] - costs[:2])) / (1 + (t**2).sum(axis=1))
    growth = np.log1p((w**2).sum(axis=1)) - np.log1p((t**2).sum(axis=1))
    expected = envelope.log_ratio(excess, growth)
    assert np.allclose(log_ratios, expected, rtol=1e-9, atol=1e-9)


# --- the law


LAW = OrbitLaw([12.0, 11.0, 1.0, 0.0, 0.0], [1.0, 1.0], is_complex=True)


def diagonals(law, n):
    stream = Keystream()
    return [diagonal(draw(law, stream).factor) for _ in range(n)]


@pytest.mark.parametrize("law", [LAW, OrbitLaw([3.0, 2.0, 1.0, 0.0], [2.0] * 3, is_complex=True)])
def test_means_are_derivatives_of_the_normalizing_constant(law):
    assert_plausible(hotelling_p_value(diagonals(law, N_DRAWS), mean_diagonal(law)))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(
    ("tilts", "levels"),
    [([3.0, 1.5, 0.0, 0.0], [1.5, 1.5]), ([3.0, 2.0, 0.0, 0.0], [1.0] * 3), ([3.0, 1.0, 0.0], [2.0])],
)
def test_moments_agree_with_uniform_draws_that_are_reweighted(tilts, levels, is_complex):
    law, stream = OrbitLaw(tilts, levels, is_complex), Keystream()
    means, errors = haar_moments(law, 40_000, np.random.default_rng())
    assert_plausible(moments_p_value([draw(law, stream).factor for _ in range(N_DRAWS)], means, errors))


def test_an_inverted_accept_test_is_noticed(monkeypatch):
    monkeypatch.setattr(sphere, "is_accepted", lambda ratios, stream: exponentials(ratios.shape, stream) < -ratios)
    assert hotelling_p_value(diagonals(LAW, N_DRAWS), mean_diagonal(LAW)) < FALSE_ALARM


def test_too_small_a_constant_is_noticed(monkeypatch):
    right = stiefel_envelope(LAW.costs, 2, is_complex=True)
    planted = dataclasses.replace(right, log_constant=right.log_constant - 3.0)
    monkeypatch.setattr(stiefel, "stiefel_envelope", lambda *_: planted)
    assert hotelling_p_value(diagonals(LAW, N_DRAWS), mean_diagonal(LAW)) < FALSE_ALARM


def test_proposals_from_another_parameter_are_noticed(monkeypatch):
    right = stiefel_envelope(LAW.costs, 2, is_complex=True)
    scales = stiefel_envelope(LAW.costs, 2, is_complex=True, b=0.2 * right.b).scales
    monkeypatch.setattr(stiefel, "stiefel_envelope", lambda *_: dataclasses.replace(right, scales=scales))
    assert hotelling_p_value(diagonals(LAW, N_DRAWS), mean_diagonal(LAW)) < FALSE_ALARM


def test_a_constant_from_another_parameter_breaks_the_bound_or_the_acceptance():
    right = stiefel_envelope(LAW.costs, 2, is_complex=True)
    predicted = log_acceptance(right, normalized_log_partition(LAW.costs, 2))
    for b in (0.3 * right.b, 4 * right.b):
        wrong = stiefel_envelope(LAW.costs, 2, is_complex=True, b=b).log_constant
        log_ratios = propose(dataclasses.replace(right, log_constant=wrong), 50_000, Keystream())[1]
        accepted = np.count_nonzero(sphere.is_accepted(log_ratios, Keystream()))
        assert log_ratios.max() > 1e-9 or count_p_value(accepted, 50_000, math.exp(predicted)) < FALSE_ALARM


# --- structure and extremes


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(
    ("tilts", "k"),
    [
        ([0.0] * 5, 2),
        ([1e12, 1e12, 0.0, 0.0], 2),
        ([1e299, 1e299, 0.0, 0.0, 0.0], 2),
        ([1.0, 1.0, 0.0, 0.0, -1e299], 2),
        ([2.0, 1.0], 1),
        ([9.0], 1),
        ([3.0, 2.0, 1.0], 3),
        ([1e12, 1e6, 0.0], 2),
        ([40.0, 30.0, 20.0, 10.0, 5.0, 0.0], 5),
    ],
    ids=str,
)
def test_factors_are_orthonormal_up_to_the_level(tilts, k, is_complex):
    law = OrbitLaw(tilts, [3.0] * k, is_complex)
    X = draw(law, Keystream()).factor
    assert X.shape == (len(tilts), k) and np.iscomplexobj(X) == is_complex
    assert np.allclose(X.conj().T @ X, law.levels[0] * np.eye(k), rtol=0, atol=1e-12)
    if tilts[k - 1] >= 1e12:
        assert diagonal(X)[-1] < 1e-9


def test_the_full_rank_has_one_projection():
    drawn = draw(OrbitLaw([3.0, 2.0], [4.0, 4.0], is_complex=True), Keystream())
    assert np.array_equal(drawn.factor, 2 * np.eye(2)) and drawn.tries == 0


def test_zero_costs_accept_everything():
    assert draw(OrbitLaw(np.zeros(6), [1.0, 1.0], is_complex=False), Keystream()).tries == 1


def test_a_concentrated_real_law_fails_within_the_limit():
    law = power_law(20, 600.0, [1.0] * 3, is_complex=False)
    with pytest.raises(SamplingFailed, match=r"none of 20000 proposals .* two-sided Wishart noise or a complex law"):
        draw(law, Keystream(), limit=20_000)


@pytest.mark.parametrize(
    ("costs", "rank", "name"), [([1.0, 0.0], 1, "costs"), ([0.0, np.inf], 1, "costs"), ([0.0, 1.0], 2, "rank")]
)
def test_refused_envelopes(costs, rank, name):
    with pytest.raises(InvalidParameter) as caught:
        stiefel_envelope(costs, rank, is_complex=True)
    assert caught.value.name == name


def test_levels_that_differ_are_refused():
    with pytest.raises(InvalidParameter, match="equal levels"):
        draw(OrbitLaw([1.0, 0.0], [2.0, 1.0], is_complex=True), Keystream())
