"""Unit vectors of rank 1: the envelope holds, the acceptance is the predicted one, and the law is right."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import hyp1f1, ive

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit import sphere
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import log_partition, mean_diagonal
from hushrank.orbit.sphere import draw, draw_vector, draw_within, propose, sphere_envelope
from hushrank.privacy.noise.continuous import exponentials
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import diagonal, haar_moments, hotelling_p_value, moments_p_value, power_law
from support import FALSE_ALARM, assert_plausible, chi2_p_value, count_p_value

N_PROPOSALS = 125_000  # in each of eight spectra: one million
N_DRAWS = 1500


def flat(d, cost):
    return np.append(0.0, np.full(d - 1, cost))


def complex_log_partition(costs):
    """log E exp(-x^* diag(costs) x) over the complex sphere."""
    return log_partition(OrbitLaw(-np.asarray(costs), [1.0], is_complex=True))


def log_determinant(envelope):
    """log |Omega|."""
    return -2.0 * np.log(envelope.scales).sum()


def log_acceptance(envelope, log_z):
    """Log of the share of accepted proposals, from log_z = log E exp(-x^* diag(costs) x), x uniform."""
    return log_z + envelope.beta / 2.0 * log_determinant(envelope) - envelope.log_constant


SPECTRA = {
    # E exp(-a x_2^2) on the circle, with x_1^2 + x_2^2 uniform in dimension 4, and with Beta(1/2, (d-1)/2) squares.
    "circle": (np.array([0.0, 7.0]), False, math.log(ive(0, 3.5))),
    "pairs": (np.array([0.0, 0.0, 9.0, 9.0]), False, math.log(-math.expm1(-9.0) / 9.0)),
    "flat": (flat(8, 5.0), False, math.log(hyp1f1(3.5, 4.0, -5.0))),
    "steep": (flat(5, 400.0), False, math.log(hyp1f1(2.0, 2.5, -400.0))),
    "complex power": (power_law(6, 30.0, [1.0]).costs, True, None),
    "complex pairs": (np.array([0.0, 0.0, 9.0, 9.0]), True, None),
    "complex flat": (flat(8, 5.0), True, None),
    "complex steep": (flat(5, 400.0), True, None),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_the_ratio_is_bounded_and_the_acceptance_is_the_predicted_one(name):
    costs, is_complex, log_z = SPECTRA[name]
    log_z = complex_log_partition(costs) if log_z is None else log_z
    best = sphere_envelope(costs, is_complex)
    for envelope, n in (best, N_PROPOSALS), (sphere_envelope(costs, is_complex, b=0.3 * best.b), 20_000):
        stream = Keystream()
        log_ratios = propose(envelope, n, stream)[1]
        assert log_ratios.max() <= 1e-9
        accepted = np.count_nonzero(sphere.is_accepted(log_ratios, stream))
        assert_plausible(count_p_value(accepted, n, math.exp(log_acceptance(envelope, log_z))))


def test_the_bound_is_attained():
    envelope = sphere_envelope([0.0, 3.0, 8.0, 20.0], is_complex=False)
    at_maximum = np.array([(4 - envelope.b) / 2])
    assert envelope.log_ratio(at_maximum)[0] == pytest.approx(0.0, abs=1e-14)


def test_a_constant_from_another_parameter_breaks_the_bound_or_the_acceptance():
    costs, is_complex, log_z = SPECTRA["flat"]
    right = sphere_envelope(costs, is_complex)
    for b in (0.5 * right.b, 2 * right.b):
        planted = dataclasses.replace(right, log_constant=sphere_envelope(costs, is_complex, b=b).log_constant)
        log_ratios = propose(planted, N_PROPOSALS, Keystream())[1]
        accepted = np.count_nonzero(sphere.is_accepted(log_ratios, Keystream()))
        p_value = count_p_value(accepted, N_PROPOSALS, math.exp(log_acceptance(right, log_z)))
        assert log_ratios.max() > 1e-9 or p_value < FALSE_ALARM


# --- the law


LAW = power_law(5, 12.0, [2.0])


def diagonals(law, n, stream):
    return [diagonal(draw(law, stream).factor) for _ in range(n)]


@pytest.mark.parametrize(
    "law", [LAW, OrbitLaw([3.0, 3.0, 1.0, 1.0], [1.0], is_complex=True), power_law(30, 300.0, [1.0])]
)
def test_means_are_derivatives_of_the_normalizing_constant(law):
    assert_plausible(hotelling_p_value(diagonals(law, N_DRAWS, Keystream()), mean_diagonal(law)))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("tilts", [[4.0, 2.0, 0.0], [5.0, 3.0, 1.0, 0.0]])
def test_moments_agree_with_uniform_draws_that_are_reweighted(tilts, is_complex):
    law, stream = OrbitLaw(tilts, [1.5], is_complex), Keystream()
    means, errors = haar_moments(law, 40_000, np.random.default_rng())
    assert_plausible(moments_p_value([draw(law, stream).factor for _ in range(N_DRAWS)], means, errors))


def first_entry_probabilities(tilts, edges):
    """Cell probabilities of w = |x_1|^2, of density exp(t_1 w) times a divided difference of exp((1 - w) .)."""
    first, rest = tilts[0], np.asarray(tilts[1:])
    gaps = rest[:, np.newaxis] - rest + np.eye(len(rest))
    weights = np.exp(rest) / gaps.prod(axis=1) / (first - rest)
    mass = [weights @ np.expm1((first - rest) * w) for w in edges]
    return np.diff(mass) / (mass[-1] - mass[0])


def test_the_first_entry_has_its_law():
    tilts, edges = [8.0, 5.0, 3.0, 1.0, 0.0], np.linspace(0.0, 1.0, 13)
    envelope, stream = sphere_envelope(8.0 - np.array(tilts), is_complex=True), Keystream()
    squares = [abs(draw_within(envelope, stream)[0][0]) ** 2 for _ in range(2 * N_DRAWS)]
    assert_plausible(chi2_p_value(np.histogram(squares, edges)[0], first_entry_probabilities(tilts, edges)))


def test_the_number_of_tries_is_geometric():
    costs, is_complex, log_z = SPECTRA["pairs"]
    envelope, stream = sphere_envelope(costs, is_complex), Keystream()
    tries = sum(draw_within(envelope, stream)[1] for _ in range(N_DRAWS))
    # Of all proposals that were looked at, the last of each draw is the accepted one.
    assert_plausible(count_p_value(N_DRAWS, tries, math.exp(log_acceptance(envelope, log_z))))


def test_an_inverted_accept_test_is_noticed(monkeypatch):
    monkeypatch.setattr(sphere, "is_accepted", lambda ratios, stream: exponentials(ratios.shape, stream) < -ratios)
    assert hotelling_p_value(diagonals(LAW, N_DRAWS, Keystream()), mean_diagonal(LAW)) < FALSE_ALARM


def test_taking_the_best_of_a_batch_is_noticed(monkeypatch):
    def best_only(ratios, stream):
        return np.arange(len(ratios)) == np.argmax(ratios)

    monkeypatch.setattr(sphere, "is_accepted", best_only)
    assert hotelling_p_value(diagonals(LAW, N_DRAWS, Keystream()), mean_diagonal(LAW)) < FALSE_ALARM


@pytest.mark.parametrize("factor", [0.4, 3.0])
def test_proposals_from_another_parameter_are_noticed(factor):
    right, stream = sphere_envelope(LAW.costs, is_complex=True), Keystream()
    scales = sphere_envelope(LAW.costs, is_complex=True, b=factor * right.b).scales
    planted = dataclasses.replace(right, scales=scales)
    sample = [2.0 * np.abs(draw_within(planted, stream)[0]) ** 2 for _ in range(2 * N_DRAWS)]
    assert hotelling_p_value(sample, mean_diagonal(LAW)) < FALSE_ALARM


# --- structure and extremes


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(
    "costs",
    [[0.0], [7.0], [0.0] * 6, [0.0, 1e12], [0.0, 0.0, 1e300, 1e300], [0.0, 1e-300, 5e-324], [0.0, 1.0, 1e300]],
    ids=str,
)
def test_extreme_costs(costs, is_complex):
    envelope = sphere_envelope(costs, is_complex)
    assert 1.0 <= envelope.b <= len(costs)
    x, tries = draw_vector(costs, is_complex, Keystream())
    assert np.linalg.norm(x) == pytest.approx(1.0, abs=1e-12)
    assert 1 <= tries <= 1000 and np.iscomplexobj(x) == is_complex
    assert (np.abs(x[np.asarray(costs) >= 1e12]) < 1e-4).all()


def test_only_differences_of_costs_count():
    one, other = (sphere_envelope(costs, is_complex=False) for costs in ([3.0, 1.0, 9.0], [2.0, 0.0, 8.0]))
    assert one.b == other.b and np.array_equal(one.scales, other.scales)


@pytest.mark.parametrize("is_complex", [False, True])
def test_zero_costs_accept_everything(is_complex):
    envelope = sphere_envelope(np.zeros(4), is_complex)
    assert (envelope.b, envelope.log_constant, log_determinant(envelope)) == (4.0, 0.0, 0.0)
    assert draw_within(envelope, Keystream())[1] == 1


@pytest.mark.parametrize("is_complex", [False, True])
def test_a_thousand_dimensions_take_few_proposals(is_complex):
    law, stream = power_law(1000, 1e5, [1.0], is_complex), Keystream()
    tries = [draw(law, stream).tries for _ in range(20)]
    assert np.mean(tries) < 200  # about 35 are expected, with a standard error of 8


def test_the_level_scales_the_factor():
    factor = draw(OrbitLaw([2.0, 1.0, 0.0], [9.0], is_complex=False), Keystream()).factor
    assert factor.shape == (3, 1) and factor.dtype == np.float64
    assert np.linalg.norm(factor) == pytest.approx(3.0, rel=1e-12)


def test_a_spent_limit_is_an_error_and_never_exceeded(monkeypatch):
    sizes = []

    def reject_all(ratios, stream):
        sizes.append(len(ratios))
        return np.zeros(len(ratios), bool)

    monkeypatch.setattr(sphere, "is_accepted", reject_all)
    with pytest.raises(SamplingFailed, match="none of 100 proposals"):
        draw_vector([0.0, 1.0], True, Keystream(), limit=100)
    assert sum(sizes) == 100


def test_no_limit_goes_on():
    assert draw_vector(flat(50, 1e4), False, Keystream(), limit=None)[1] >= 1


@pytest.mark.parametrize("costs", [[], [[0.0]], [0.0, np.inf], [0.0, np.nan], [0.0, 1e301]])
def test_refused_costs(costs):
    with pytest.raises(InvalidParameter, match="costs of sphere_envelope"):
        sphere_envelope(costs, is_complex=False)


def test_other_ranks_are_refused():
    with pytest.raises(InvalidParameter, match="of rank 1; got 'rank 2'"):
        draw(OrbitLaw([1.0, 0.0], [1.0, 1.0], is_complex=False), Keystream())
