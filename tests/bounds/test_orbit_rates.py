"""The paper's rates: examples by hand, units, and their place below the proved upper bounds."""

import math

import numpy as np
import pytest

from hushrank.bounds.low_rank import expected_frobenius_error
from hushrank.bounds.orbit_rates import frobenius_lower_rate, packing_number_log_rate
from hushrank.exceptions import InvalidParameter


def test_lower_rate_by_hand():
    # d = 4: i = 1 gives (8 - 0)^2 = 64, i = 2 gives 2 (6 - 1)^2 = 50; the factor is 4 / max(64 epsilon, 4).
    assert frobenius_lower_rate([8.0, 6.0, 1.0, 0.0], 4, 1.0) == pytest.approx(4 / 64 * 64)
    assert frobenius_lower_rate([8.0, 6.0, 1.0, 0.0], 2, 1.0) == pytest.approx(1 + 4 / 64 * 64)
    assert frobenius_lower_rate([8.0, 6.0, 1.0, 0.0], 4, 1e-3) == pytest.approx(64)  # no more than the orbit allows
    assert frobenius_lower_rate([3.0], 1, 1.0) == 0.0
    assert frobenius_lower_rate([2.0, 2.0, 2.0], 1, 1.0) == pytest.approx(8.0)  # nothing but the rank to lose


def test_lower_rate_stays_below_the_upper_bound():
    # Input of rank k <= d/2 and top eigenvalue >= 1, where the comparison in the paper applies.
    rng = np.random.default_rng(7)
    for _ in range(100):
        d = int(rng.integers(2, 30))
        k = int(rng.integers(1, d // 2 + 1))
        gamma = np.zeros(d)
        gamma[:k] = np.sort(1 + rng.exponential(size=k) * 10.0 ** rng.uniform(0, 3))[::-1]
        epsilon = 10.0 ** rng.uniform(-2, 0)
        halves = (epsilon / 2, epsilon / 2)
        upper = expected_frobenius_error(gamma, k, halves, row_norm=1.0, neighbors="replace")
        assert frobenius_lower_rate(gamma, k, epsilon) <= upper


def test_packing_rate_by_hand():
    d, k, constant, separation = 7, 2, 0.5, 0.01
    projection = [1.0] * k + [0.0] * (d - k)
    grassmann = 2 * k * (d - k) * math.log(constant * math.sqrt(k) / separation)
    assert packing_number_log_rate(projection, separation, constant) == pytest.approx(grassmann)
    near = 2 * k * (d - k) * math.log(0.1 / (2 * 3.0 * separation))
    assert packing_number_log_rate(projection, separation, 3.0, radius=0.1) == pytest.approx(near)
    # Exponent and gap of (i, j): 4 and 2 for (1, 2), 2 and 3 for (1, 3), 4 and 1 for (2, 3).
    assert packing_number_log_rate([3.0, 1.0, 0.0], 0.1, 1.0) == pytest.approx(4 * math.log(20))


def test_packing_rate_in_a_large_ball_is_that_of_the_orbit():
    values = [5.0, 3.0, 3.0, 1.0, 0.0]
    whole = packing_number_log_rate(values, 1e-3, 1 / (2 * 4.0))
    assert packing_number_log_rate(values, 1e-3, 4.0, radius=1e6) == pytest.approx(whole)
    assert packing_number_log_rate(np.multiply(values, 9.0), 9e-3, 1 / 8) == pytest.approx(whole)


def test_one_point_is_always_a_packing():
    assert packing_number_log_rate([1.0, 0.0], 100.0, 1.0) == 0.0
    assert packing_number_log_rate([2.0, 2.0], 0.1, 1.0) == 0.0
    assert packing_number_log_rate([0.0, 0.0], 0.1, 1.0, radius=1.0) == 0.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: frobenius_lower_rate([1.0], 2, 1.0), "rank"),
        (lambda: frobenius_lower_rate([], 1, 1.0), "eigenvalues"),
        (lambda: frobenius_lower_rate([1.0], 1, 0.0), "epsilon"),
        (lambda: packing_number_log_rate([1.0], 0.0, 1.0), "separation"),
        (lambda: packing_number_log_rate([1.0], 1.0, 0.0), "constant"),
        (lambda: packing_number_log_rate([1.0], 1.0, 1.0, radius=0.0), "radius"),
    ],
)
def test_parameters_are_checked(call, name):
    with pytest.raises(InvalidParameter, match=name):
        call()
