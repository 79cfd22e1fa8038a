"""Shrunk eigenvalues: promises for every spectrum, the formula, and how near they are to matrices without noise.

Generators have fixed seeds. With other seeds, all statistical assertions of this file together would fail by chance
with probability below 1e-6.
"""

import dataclasses
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.linalg import shrinkage
from hushrank.linalg.noise_spectra import NoiseLaw, spectral_edge
from hushrank.linalg.shrinkage import shrink_eigenvalues

falling = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12).map(lambda v: np.sort(v)[::-1])
laws = st.builds(
    NoiseLaw, st.sampled_from(["gaussian", "wishart"]), st.sampled_from([0.0, 1e-150, 1e-3, 1.0, 1e4, 1e150]),
    st.integers(1, 20), st.booleans(),
)  # fmt: skip


def draw_noise(law, d, rng):
    """A real matrix with the law, from its definition."""
    if law.kind == "gaussian":
        G = rng.standard_normal((d, d))
        return law.scale * (G + G.T) / math.sqrt(2)
    plus, minus = rng.standard_normal((2, d, law.degrees))
    return law.scale * (plus @ plus.T - minus @ minus.T)


def make_law(kind, d, scale=1.0):
    return NoiseLaw(kind, scale, d + 1)


# Promises for every spectrum


@given(falling, laws, st.sampled_from([1e-150, 1e-20, 1.0, 1e100]))
def test_the_result_falls_is_not_negative_and_keeps_to_the_trace(values, law, unit):
    shrunk, trace = shrink_eigenvalues(unit * values, law), float(np.sum(unit * values))
    assert np.isfinite(shrunk).all() and shrunk.shape == values.shape
    assert (shrunk >= 0).all() and (np.diff(shrunk) <= 0).all()
    assert shrunk.sum() <= max(trace, 0.0) * (1 + 1e-12)


@given(falling, laws)
def test_without_noise_only_the_negative_part_is_removed(values, law):
    shrunk = shrink_eigenvalues(values, dataclasses.replace(law, scale=0.0))
    if values[-1] >= 0:
        assert np.array_equal(shrunk, values)
    elif values.sum() > 0:  # the nearest with this trace: one level is taken from all that stay
        kept = shrunk > 0
        assert shrunk.sum() == pytest.approx(values.sum())
        assert np.ptp((values - shrunk)[kept]) <= 1e-9 * values[0]


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
@pytest.mark.parametrize("exponent", [-400, -3, 5, 400])
def test_units_do_not_matter(kind, exponent):
    values, law = np.array([90.0, 40.0, 11.0, 10.0, 2.0, -3.0, -8.0]), make_law(kind, 7)
    unit = 2.0**exponent
    scaled = shrink_eigenvalues(unit * values, dataclasses.replace(law, scale=unit))
    assert scaled == pytest.approx(unit * shrink_eigenvalues(values, law), rel=1e-12)


def test_a_single_value_and_equal_values():
    law = NoiseLaw("gaussian", 1.0)
    assert shrink_eigenvalues(np.array([3.0]), law).tolist() == [3.0]
    assert shrink_eigenvalues(np.array([-3.0]), law).tolist() == [0.0]
    assert shrink_eigenvalues(np.full(3, 50.0), law) == pytest.approx(np.full(3, 50.0))


def test_values_must_fall():
    with pytest.raises(ValueError, match="values of shrink_eigenvalues must be finite eigenvalues in falling order"):
        shrink_eigenvalues(np.array([1.0, 2.0]), NoiseLaw("gaussian", 1.0))


# The formula


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
def test_the_formula_is_that_of_the_note(kind):
    d, C = 9, 0.7
    values, law = np.sort(np.random.default_rng(1).uniform(0, 40, d))[::-1], make_law(kind, d, C)
    z = values - 1j * (C if kind == "gaussian" else C * math.sqrt(d))
    H = np.sum(1 / (z[:, np.newaxis] - values), axis=1)
    rho = C**2 * H if kind == "gaussian" else 2 * (d + 1) * C**2 * H / (1 - C**2 * H**2)
    expected = np.imag((z - rho) * H) / H.imag
    assert shrinkage._shrink_invariantly(values, law) == pytest.approx(expected, rel=1e-10)


def test_blocks_do_not_matter_and_bound_the_memory(monkeypatch):
    d = 2000
    values, law = np.linspace(300, 1, d), make_law("wishart", d, 1e-3)
    tracemalloc.start()
    try:
        shrunk = shrink_eigenvalues(values, law)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * d * d
    monkeypatch.setattr(shrinkage, "_BLOCK", 10 * d + 1)
    assert np.array_equal(shrunk, shrink_eigenvalues(values, law))


def test_the_trace_is_doubted_where_nothing_else_speaks():
    law, d = NoiseLaw("gaussian", 1.0), 8
    deviation = math.sqrt(2 * d)  # of the trace
    flat = shrink_eigenvalues(np.full(d, 2 * deviation / d), law)
    assert flat.sum() == pytest.approx(2 * deviation * (1 - (1 - 2 / d) / 4))
    assert not shrink_eigenvalues(np.full(d, 0.8 * deviation / d), law).any()
    spiked = shrink_eigenvalues(np.r_[20.0, np.linspace(0.0, -2.0, d - 1)], law)  # a trace of 13, three deviations
    assert spiked.sum() == pytest.approx(13.0)


# How near the result is to A: lengths of errors, and the first value against u^T A u


def measure(law, believed, spectrum, draws, rng):
    """For each draw, over the length of A: errors of shrunk matrix and projection, and of the first value uncut."""
    A, rows = np.diag(spectrum), []
    for _ in range(draws):
        values, vectors = np.linalg.eigh(A + draw_noise(law, len(A), rng))
        values, vectors = values[::-1], vectors[:, ::-1]
        shrunk = shrink_eigenvalues(values, believed)
        errors = [(vectors * kept) @ vectors.T - A for kept in (shrunk, np.maximum(values, 0.0))]
        first = shrinkage._shrink_invariantly(values, believed)[0] - vectors[:, 0] @ A @ vectors[:, 0]
        rows.append([*map(np.linalg.norm, errors), first])
    return np.array(rows).T / np.linalg.norm(A)


SPECTRA = {
    "flat": lambda d: np.ones(d),
    "falling": lambda d: 1 / np.arange(1, d + 1),
    "spiked": lambda d: np.r_[np.ones(2), np.full(d - 2, 0.05)],
}


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
@pytest.mark.parametrize("shape", SPECTRA)
@pytest.mark.parametrize(("strength", "most"), [(0.3, 0.5), (1.0, 0.8), (3.0, 0.9), (30.0, 1.02)])
def test_the_result_is_nearer_than_the_projection(kind, shape, strength, most):
    d, draws = 20, 60
    spectrum = SPECTRA[shape](d)
    scale = np.linalg.norm(spectrum) / strength / spectral_edge(make_law(kind, d), np.ones(d)).position
    law = make_law(kind, d, scale)
    near, projected, _ = measure(law, law, spectrum, draws, np.random.default_rng(2))
    excess = near - most * projected
    assert np.mean(excess) <= 6 * np.std(excess) / math.sqrt(draws)


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
def test_the_result_is_hardly_farther_than_nothing_is(kind):
    d, draws = 20, 200
    scale = 1 / 0.2 / spectral_edge(make_law(kind, d), np.ones(d)).position  # A is a fifth of the noise
    law = make_law(kind, d, scale)
    near, projected, _ = measure(law, law, np.full(d, d**-0.5), draws, np.random.default_rng(3))
    assert np.mean(near) <= 1.3 + 6 * np.std(near) / math.sqrt(draws) and np.mean(projected) > 5


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
@pytest.mark.parametrize(("wrong", "is_right"), [(1.0, True), (0.5, False), (2.0, False)])
def test_the_first_value_is_that_of_a_along_its_vector(kind, wrong, is_right):
    d, draws = 30, 150
    spectrum = np.r_[2.0, np.linspace(0.3, 0.0, d - 1)]
    law = make_law(kind, d, 1 / spectral_edge(make_law(kind, d), np.ones(d)).position)
    believed = dataclasses.replace(law, scale=wrong * law.scale)
    *_, first = measure(law, believed, spectrum, draws, np.random.default_rng(4))
    limit = 6 * np.std(first) / math.sqrt(draws) + 0.3 * law.diagonal_deviation / np.linalg.norm(spectrum)
    assert (abs(np.mean(first)) <= limit) == is_right
