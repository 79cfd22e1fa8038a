"""Bounds, rates and forecasts of factorized streams: against exact accounting, simulation, and the paper's formulas."""

import math

import numpy as np
import pytest

from hushrank.bounds.turnstile import (
    ErrorBound,
    delta_of_printed_noise,
    delta_of_printed_sketches,
    figure2_error_rate,
    optimal_widths_rate,
    predicted_error,
    printed_identity_scale,
    printed_noise_multiplier,
    printed_two_sketch_error_rate,
    smallest_recoverable,
    three_sketch_words,
    two_sketch_error_bound,
    two_sketch_words,
)
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Gaussian, Repeated

# What the printed noise gives


@pytest.mark.parametrize(("epsilon", "shown"), [(1.0, 1.06e-5), (4.0, 1.7e-4)])
def test_the_printed_noise_is_too_small(epsilon, shown):
    found = delta_of_printed_noise(epsilon, 1e-6)
    assert found == pytest.approx(shown, rel=0.01)
    event = Gaussian(printed_noise_multiplier(epsilon, 1e-6))
    assert found == pytest.approx(accountant.delta(event, epsilon=epsilon), rel=1e-6)


def test_two_printed_sketches_are_two_releases():
    found = delta_of_printed_sketches(1.0, 1e-6, 0.25)
    event = Repeated(Gaussian(math.sqrt(1.25) * printed_noise_multiplier(1.0, 1e-6)), 2)
    assert found == pytest.approx(accountant.delta(event, epsilon=1.0), rel=1e-6)
    assert found == pytest.approx(2.6e-4, rel=0.02)
    longer = Repeated(Gaussian(printed_noise_multiplier(1.0, 1e-6)), 2)  # norms grown by 1 + alpha, as is allowed
    assert accountant.delta(longer, epsilon=1.0) == pytest.approx(8.3e-4, rel=0.02)


def test_the_printed_identity():
    log = math.log(1e6)
    assert printed_identity_scale(2.0, 1e-6, 0.0, 1) == pytest.approx(8 * log**1.5)
    assert printed_identity_scale(2.0, 1e-6, 0.0, 4) == pytest.approx(16 * log**1.5)
    assert printed_identity_scale(2.0, 1e-6, 0.6, 1) == pytest.approx(16 * log**1.5)
    assert printed_identity_scale(1.0, 1e-6, 0.25, 38) > 200 * 4.225 * 4  # far above the noise of an exact calibration


# Space


def test_words():
    assert two_sketch_words(2000, 1500, 32, 64) == 160_000
    assert three_sketch_words(2000, 1500, 38, 164) == 159_896
    assert two_sketch_words(5, 7, 2, 3) == np.zeros((5, 2)).size + np.zeros((3, 7)).size


def test_widths_grow_as_the_theorem_says():
    t, v = optimal_widths_rate(20, 0.1)
    assert (t, v) == pytest.approx((20 * math.log(20) / 0.1, 20 * math.log(20) / 0.01))
    assert optimal_widths_rate(1, 0.5) == (2.0, 4.0)  # log 1 = 0 is no width


# Errors


def test_a_bound_at_a_residual():
    assert ErrorBound(1.5, 3.0).at(2.0) == 6.0


def test_rates_are_as_printed():
    rate = figure2_error_rate(30, 70, 4, 9, alpha=0.5, identity=2.0, noise=3.0)
    assert rate == pytest.approx((1.5, 2.0 * 10 + 3.0 * (9 + 20 / 0.5)))
    rate = printed_two_sketch_error_rate(16, 9, 4, alpha=0.5, noise_multiplier=2.0)
    assert rate == pytest.approx((1.5, 2.0 * (1.5 * 8 + math.sqrt(9 * 1.5 / 0.125 * 6))))


def printed_decoder(Y, W, S, k):
    U = np.linalg.qr(Y)[0]
    Q, R = np.linalg.qr(S @ U)
    a, s, b = np.linalg.svd(Q.T @ W, full_matrices=False)
    return U @ np.linalg.solve(R, (a[:, :k] * s[:k]) @ b[:k])


@pytest.mark.parametrize("noise", [0.0, 0.05, 1.0])
def test_the_bound_holds_for_sketches_that_embed(noise):
    rng, m, n, k, t, v = np.random.default_rng(1), 40, 30, 2, 60, 900  # so wide that alpha is well below 1
    values = np.array([9.0, 6.0, 1.0, 0.8, 0.5])
    left, right = (np.linalg.qr(rng.standard_normal((size, 5)))[0] for size in (m, n))
    A = (left * values) @ right.T
    Phi, S = rng.standard_normal((n, t)) / math.sqrt(t), rng.standard_normal((v, m)) / math.sqrt(v)
    best, residual = (left[:, :k] * values[:k]) @ right[:, :k].T, float(np.linalg.norm(values[k:]))
    # The three premises of alpha, measured; the first for all matrices at once.
    embedding = abs(np.linalg.svd(S, compute_uv=False) ** 2 - 1).max()
    regression = np.linalg.norm(A @ Phi @ np.linalg.pinv(best @ Phi) @ best - A) / residual - 1
    stretch = 1 - np.linalg.svd(right[:, :k].T @ Phi, compute_uv=False)[-1] ** 2
    alpha = max(embedding, regression, stretch, 0.0)
    assert alpha < 0.6
    errors = []
    for _ in range(30):
        Y, W = A @ Phi + noise * rng.standard_normal((m, t)), S @ A + noise * rng.standard_normal((v, n))
        errors.append(np.linalg.norm(printed_decoder(Y, W, S, k) - A))
    bound = two_sketch_error_bound(m, n, k, v, alpha=alpha, noise=noise)
    assert residual * (1 - 1e-9) <= np.mean(errors) <= bound.at(residual)
    if noise == 1.0:
        assert np.mean(errors) > bound.multiplicative * residual  # noise is not for nothing


def test_the_bound_in_its_limits():
    assert two_sketch_error_bound(10, 10, 1, 5, alpha=0.0, noise=0.0) == (1.0, 0.0)
    bounds = [two_sketch_error_bound(10, 10, 1, 5, alpha=alpha, noise=1.0) for alpha in (0.0, 0.1, 0.5, 0.9)]
    assert bounds == sorted(bounds) and bounds[0].additive == pytest.approx(math.sqrt(10) + 2 * math.sqrt(50))


# The forecast

MEASURED = [  # multiple of the matrix, noise, widths, measured error over that of the best matrix (residual 344.4)
    (1, 6.186, (64, 64), 3.541),
    (2, 6.186, (64, 64), 2.176),
    (5, 6.280, (32, 64), 1.558),
    (5, 6.138, (64, 128), 1.328),
    (5, 3.319, (46, 46), 1.347),
    (20, 6.116, (100, 100), 1.127),
    (5, 1.720, (160, 160), 1.088),
]


@pytest.mark.parametrize(("multiple", "noise", "widths", "shown"), MEASURED)
def test_the_forecast_is_within_seven_percent(multiple, noise, widths, shown):
    residual = 344.4 * multiple
    assert predicted_error(residual, noise, 2000, 1500, 10, widths) / residual == pytest.approx(shown, rel=0.07)


def test_the_forecast_in_its_limits():
    assert predicted_error(3.0, 0.0, 50, 40, 2, (10**9, 10**9)) == pytest.approx(3.0)
    assert predicted_error(0.0, 2.0, 50, 50, 4, (6, 7)) == pytest.approx(40.0)
    assert predicted_error(1.0, 0.0, 50, 40, 2, (3, 90)) == predicted_error(1.0, 0.0, 50, 40, 2, (90, 3)) == math.inf
    assert smallest_recoverable(0.5, 4, 100) == smallest_recoverable(0.5, 100, 4) == 10.0


# Refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: printed_noise_multiplier(0.0, 1e-6), "epsilon of printed_noise_multiplier must be"),
        (lambda: delta_of_printed_noise(1.0, 1.0), "delta of printed_noise_multiplier must be"),
        (lambda: delta_of_printed_sketches(1.0, 0.1, 1.0), "alpha of delta_of_printed_sketches must be"),
        (lambda: two_sketch_words(0, 1, 1, 1), "n_rows of two_sketch_words must be"),
        (lambda: three_sketch_words(1, 1, 1, 1.5), "v of three_sketch_words must be"),
        (lambda: optimal_widths_rate(0, 0.1), "rank of optimal_widths_rate must be"),
        (lambda: printed_identity_scale(1.0, 0.1, 0.1, 0), "t of printed_identity_scale must be"),
        (lambda: figure2_error_rate(1, 1, 1, 1, alpha=0.1, identity=-1.0, noise=1.0), "identity of figure2_error"),
        (lambda: printed_two_sketch_error_rate(1, 1, 1, alpha=0.0, noise_multiplier=1.0), "alpha of printed_two"),
        (lambda: two_sketch_error_bound(1, 1, 1, 1, alpha=0.0, noise=-1.0), "noise of two_sketch_error_bound must"),
        (lambda: predicted_error(-1.0, 0.0, 1, 1, 1, (1, 1)), "residual of predicted_error must be"),
        (lambda: predicted_error(1.0, 0.0, 1, 1, 1, (0, 1)), "t of predicted_error must be"),
        (lambda: smallest_recoverable(1.0, 1, 0), "n_columns of smallest_recoverable must be"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()
