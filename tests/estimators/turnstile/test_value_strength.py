"""Strengths of released singular values: what was seen before the shrinkage, over the level of the noise."""

import numpy as np
import pytest

import hushrank
from hushrank.estimators.turnstile.shrinkage import shrink_values
from hushrank.estimators.turnstile.value_strength import value_strength
from hushrank.linalg.noise_levels import rectangular_level

SHAPE = (40, 30)


def test_the_shrinkage_of_a_whole_matrix_is_undone():
    seen = np.array([300.0, 90.0, 50.0, 20.0])
    shrunk = shrink_values(seen, 2.0, SHAPE)
    expected = np.where(shrunk > 0, seen / rectangular_level(2.0, SHAPE), 0.0)
    assert (shrunk > 0).tolist() == [True, True, True, False]
    assert value_strength(shrunk, 2.0, 9.0, SHAPE, is_full=True) == pytest.approx(expected)


def test_numbers_of_any_size_have_a_strength():
    for size in (1e-150, 1.0, 1e150):
        found = value_strength(size * np.array([3.0, 0.0]), size * 0.01, size * 0.1, SHAPE, is_full=True)
        assert found[0] > 20.0 and found[1] == 0.0
    assert np.isfinite(value_strength(np.array([1e300]), 1e-300, 1e300, SHAPE, is_full=False)).all()


def test_a_sketch_shows_what_the_spectrum_of_signal_plus_noise_has():
    """Of planted values, with the mean square that they and the noise make, in one draw."""
    rng, (n_rows, width), planted = np.random.default_rng(4), (3000, 40), np.array([120.0, 60.0])
    left, right = (np.linalg.qr(rng.standard_normal((size, 2)))[0] for size in (n_rows, width))
    seen = (left * planted) @ right.T + rng.standard_normal((n_rows, width))
    expected = np.linalg.svd(seen, compute_uv=False)[:2] / rectangular_level(1.0, (n_rows, width))
    level = float(np.sqrt(np.mean(seen**2)))
    assert value_strength(planted, 1.0, level, (n_rows, width), is_full=False) == pytest.approx(expected, rel=0.05)


def test_the_rest_of_the_matrix_counts_as_noise_in_a_sketch_whatever_the_privacy_noise_is():
    shape, values = (7115, 25), np.array([40.0, 5.0])
    rest = 400_000 / (7115 * 25)
    found = [value_strength(values, noise, np.sqrt(noise**2 + rest), shape, is_full=False) for noise in (0.01, 0.1, 3)]
    assert all(1.0 < strengths[0] < 1.3 for strengths in found[:2]) and found[2][0] < 0.7
    assert all(0.0 < strengths[1] < 0.25 for strengths in found)
    alone = value_strength(values, 0.01, 0.01, shape, is_full=False)  # no rest
    assert alone.min() > 5.0


def test_random_signs_in_a_narrow_sketch_are_no_finding():
    """Collisions lift them above the privacy noise, and the decoder keeps them."""
    rng = np.random.default_rng(0)
    places, signs = rng.integers(0, 1000, (2, 60_000)), rng.choice([-1.0, 1.0], 60_000)
    sketch = hushrank.TurnstileSketch((1000, 1000), rank=5, epsilon=8.0, random_state=1)
    found = sketch.update(*places, signs).factorize()
    assert found.n_above_noise >= 4 and found.n_significant_ == 0 and found.strength_.max() < 0.7


@pytest.mark.parametrize("kind", ["full", "two_sketch"])
def test_one_clear_component_and_no_others(kind):
    rows, columns = np.indices(SHAPE)
    sketch = hushrank.TurnstileSketch(SHAPE, rank=3, epsilon=8.0, delta=1e-6, kind=kind, random_state=1)
    found = sketch.update(rows.ravel(), columns.ravel(), np.full(rows.size, 1.0)).factorize()
    assert found.n_significant_ == 1 and found.strength_[0] > 1.5 and not found.strength_[1:].any()


@pytest.mark.parametrize("kind", ["full", "two_sketch"])
def test_nothing_stands_above_the_noise_of_nothing(kind):
    n_above = 0
    for seed in range(20):
        sketch = hushrank.TurnstileSketch(SHAPE, rank=3, epsilon=2.0, delta=1e-6, kind=kind, random_state=seed)
        n_above += sketch.update([0], [0], [0.0]).factorize().n_significant_ > 0
    assert n_above <= 2
