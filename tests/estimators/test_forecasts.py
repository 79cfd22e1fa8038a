"""Forecasts are what large noise matrices do, and what draws do."""

import numpy as np
import pytest

from hushrank.estimators.forecasts import draw_threshold, noise_edge, signal_threshold
from hushrank.orbit.sphere import draw_vector
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.mechanisms.gram import gram_lattice, release_gram
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.source import NoiseSource


def noise_matrix(lattice, d):
    zero = np.zeros((d, d), np.int64)
    return release_gram(zero if lattice.field == "real" else (zero, zero), lattice, NoiseSource())


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize("event", [Gaussian(1.0), Pure(1.0)])
def test_the_forecast_is_the_spectral_norm_of_the_noise(event, field):
    d = 120
    lattice = gram_lattice(1.0, event, field=field)
    norms = [np.linalg.norm(noise_matrix(lattice, d), 2) for _ in range(6)]
    # The limit is approached from below at the rate d^(-2/3), with fluctuations of the same order.
    assert 0.88 < np.mean(norms) / noise_edge(lattice, d) < 1.08


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize("event", [Gaussian(1.0), Pure(1.0)])
def test_directions_show_above_the_threshold_and_not_below(event, field):
    d = 200
    lattice = gram_lattice(1.0, event, field=field)
    threshold = signal_threshold(lattice, d)

    def overlap(strength):
        spike = noise_matrix(lattice, d)
        spike[0, 0] += strength * threshold
        return np.abs(np.linalg.eigh(spike)[1][0, -1]) ** 2

    assert overlap(2.5) > 0.6  # GOE: 1 - 1/2.5^2 = 0.84
    assert np.mean([overlap(0.5) for _ in range(5)]) < 0.25


def test_the_threshold_follows_from_the_law_of_the_noise():
    """The inverse K(z) = 1/z + 2z/(1 - z^2) of the Cauchy transform is least, and the edge, at z = 1 / threshold."""
    lattice, d = gram_lattice(1.0, Pure(1.0)), 10
    z = lattice.scale * d / signal_threshold(lattice, d)
    K = lambda z: 1 / z + 2 * z / (1 - z**2)  # noqa: E731
    assert K(z) * lattice.scale * d == pytest.approx(noise_edge(lattice, d))
    assert K(z) < min(K(0.99 * z), K(1.01 * z))


@pytest.mark.parametrize("is_complex", [False, True])
def test_draws_show_a_direction_above_their_threshold_and_not_below(is_complex):
    """Theory for large d: 1 - 1/r of the direction is captured at r times the threshold, nothing below it."""
    d, rate = 400, 0.7
    threshold = draw_threshold(rate, d, is_complex=is_complex)

    def overlap(strength):
        costs = rate * strength * threshold * np.append(0.0, np.ones(d - 1))
        return np.mean([np.abs(draw_vector(costs, is_complex, Keystream())[0][0]) ** 2 for _ in range(20)])

    assert overlap(4.0) == pytest.approx(0.75, abs=0.1)  # a draw varies by 0.03
    assert overlap(0.5) < 0.1
