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
    assert value_strength(shrunk, 2.0, SHAPE, is_full=True) == pytest.approx(expected)


def test_numbers_of_any_size_have_a_strength():
    for size in (1e-150, 1.0, 1e150):
        found = value_strength(size * np.array([3.0, 0.0]), size * 0.01, SHAPE, is_full=True)
        assert found[0] > 20.0 and found[1] == 0.0
    assert np.isfinite(value_strength(np.array([1e300]), 1e-300, SHAPE, is_full=False)).all()


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
