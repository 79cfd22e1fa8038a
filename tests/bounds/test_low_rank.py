"""The bounds on the error of rank-k approximation, against simulated eigenvalues with exact means of the draw."""

import math

import numpy as np
import pytest
from scipy import integrate

from hushrank.bounds.low_rank import expected_frobenius_error, frobenius_error_quantile
from hushrank.exceptions import InvalidParameter
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import mean_diagonal

RNG = np.random.default_rng(20240522)


def frobenius_simulation(gamma, k, epsilons, n):
    """Exact E of the squared error given each of n noisy sets of eigenvalues (add_remove, row_norm 1)."""
    errors = []
    for _ in range(n):
        levels = np.sort(np.maximum(gamma[:k] + RNG.laplace(scale=1 / epsilons[0], size=k), 0.0))[::-1]
        levels = levels[levels > 0]
        if not levels.size:
            errors.append(gamma @ gamma)
            continue
        law = OrbitLaw(gamma * epsilons[1] / levels[0], levels, is_complex=True)
        errors.append(gamma @ gamma + levels @ levels - 2 * gamma @ mean_diagonal(law))
    return np.array(errors)


def test_frobenius_error_of_rank_k_approximation():
    plan = {"row_norm": 1.0, "neighbors": "add_remove"}
    gamma, epsilons = np.array([900.0, 500.0, 30.0, 2.0, 1.0]), (2.0, 1.0)
    errors = frobenius_simulation(gamma, 2, epsilons, 300)
    bound = expected_frobenius_error(gamma, 2, epsilons, **plan)
    assert 0.95 * bound < errors.mean() <= bound
    assert errors.mean() > bound / 2
    # With a precise draw, only the noise of the eigenvalues is left: 2 b^2 each.
    precise = expected_frobenius_error(gamma, 3, (2.0, 1e9), **plan)
    assert precise == pytest.approx(5.0 + 3 * 2 * 0.5**2, rel=1e-4)
    # With eigenvalues near 0, the top level is the largest of three positive parts of the noise.
    largest = integrate.quad(lambda x: 1 - (1 - math.exp(-x) / 2) ** 3, 0, 60)[0]
    assert expected_frobenius_error(np.zeros(5), 3, (1.0, 1.0), **plan) == pytest.approx(6 + 2 * 9 * largest)
    weak = np.array([3.0, 1.0, 0.5])  # noise of the size of the eigenvalues: clipped and reordered
    errors = frobenius_simulation(weak, 3, (0.5, 0.5), 300)
    assert errors.mean() <= expected_frobenius_error(weak, 3, (0.5, 0.5), **plan)


def test_frobenius_quantiles_hold_in_a_simulation():
    # Rank one and concentrated: rate loss is Gamma(d - 1) up to exp(-100).
    gamma, n, b = np.array([400.0, 0.0, 0.0]), 100_000, 1 / 2.0
    level = gamma[0] + RNG.laplace(scale=b, size=n)
    errors = (gamma[0] - level) ** 2 + 2 * RNG.gamma(2.0, size=n) * level / 0.5
    for probability in (0.5, 0.9, 0.99):
        bound = frobenius_error_quantile(gamma, 1, (2.0, 0.5), probability, row_norm=1.0, neighbors="add_remove")
        assert (errors <= bound).mean() > probability
        assert (errors <= bound / 2).mean() < probability


def test_replacement_costs_twice_and_units_cancel():
    gamma, row_norm = np.array([9.0, 4.0, 1.0]), 7.0
    for bound in (expected_frobenius_error, lambda *a, **b: frobenius_error_quantile(*a, 0.9, **b)):
        small = bound(gamma, 2, (1.0, 2.0), row_norm=1.0, neighbors="replace")
        large = bound(gamma * row_norm**2, 2, (1.0, 2.0), row_norm=row_norm, neighbors="replace")
        assert large == pytest.approx(small * row_norm**4)
        assert bound(gamma, 2, (0.5, 1.0), row_norm=1.0, neighbors="add_remove") == pytest.approx(small)


def test_no_eigenvalues_leave_the_noise():
    assert expected_frobenius_error([0.0], 1, (1.0, 1.0), row_norm=1.0, neighbors="add_remove") == 2.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: expected_frobenius_error([-1.0], 1, (1.0, 1.0), row_norm=1.0, neighbors="replace"), "eigenvalues"),
        (lambda: expected_frobenius_error([1.0], 1, (1.0, 0.0), row_norm=1.0, neighbors="replace"), "epsilons"),
        (lambda: expected_frobenius_error([1.0], 2, (1.0, 1.0), row_norm=1.0, neighbors="replace"), "rank"),
        (lambda: expected_frobenius_error([1.0], 1, (1.0, 1.0), row_norm=0.0, neighbors="replace"), "row_norm"),
        (lambda: expected_frobenius_error([1.0], 1, (1.0, 1.0), row_norm=1.0, neighbors="swap"), "neighbors"),
        (lambda: frobenius_error_quantile([1.0], 1, (1.0, 1.0), 1.0, row_norm=1.0, neighbors="replace"), "probability"),
    ],
)
def test_parameters_are_checked(call, name):
    with pytest.raises(InvalidParameter, match=name):
        call()
