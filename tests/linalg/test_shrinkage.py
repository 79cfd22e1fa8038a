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
        assert shrunk == pytest.approx(values, rel=1e-14, abs=0.0)  # a mean of equal values may be rounded
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
    flat = shrink_eigenvalues(np.full(d, 4 * deviation / d), law)
    assert flat.sum() == pytest.approx(4 * deviation * (1 - (1 - 2 / d) / 16))
    assert not shrink_eigenvalues(np.full(d, 2.99 * deviation / d), law).any()
    spiked = shrink_eigenvalues(np.r_[20.0, np.linspace(0.0, -2.0, d - 1)], law)  # a trace of 13, three deviations
    assert spiked.sum() == pytest.approx(13.0)


# How near the result is to A


def measure(law, believed, spectrum, draws, rng):
    """For each draw, over the length of A: errors of shrunk, projected and best matrix with the same eigenvectors."""
    A, rows = np.diag(spectrum), []
    for _ in range(draws):
        values, vectors = np.linalg.eigh(A + draw_noise(law, len(A), rng))
        values, vectors = values[::-1], vectors[:, ::-1]
        best = np.diagonal(vectors.T @ A @ vectors)
        choices = (shrink_eigenvalues(values, believed), np.maximum(values, 0.0), best)
        rows.append([np.linalg.norm((vectors * chosen) @ vectors.T - A) for chosen in choices])
    return np.array(rows).T / np.linalg.norm(A)


def make_measured_law(kind, spectrum, strength):
    """A law whose edge is the length of A over `strength`."""
    d = len(spectrum)
    edge = spectral_edge(make_law(kind, d), np.ones(d)).position
    return make_law(kind, d, np.linalg.norm(spectrum) / strength / edge)


SPECTRA = {
    "flat": lambda d: np.ones(d),
    "falling": lambda d: 1 / np.arange(1, d + 1),
    "spiked": lambda d: np.r_[np.ones(2), np.full(d - 2, 0.05)],
}


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
@pytest.mark.parametrize("shape", SPECTRA)
@pytest.mark.parametrize(("strength", "most"), [(0.3, 0.5), (1.0, 0.8), (3.0, 0.9), (30.0, 1.02)])
def test_the_result_is_nearer_than_the_projection(kind, shape, strength, most):
    draws, spectrum = 60, SPECTRA[shape](20)
    law = make_measured_law(kind, spectrum, strength)
    shrunk, projected, _ = measure(law, law, spectrum, draws, np.random.default_rng(2))
    excess = shrunk - most * projected
    assert np.mean(excess) <= 6 * np.std(excess) / math.sqrt(draws)


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
def test_the_result_is_hardly_farther_than_nothing_is(kind):
    draws, spectrum = 200, np.ones(20)
    law = make_measured_law(kind, spectrum, 0.2)
    shrunk, projected, _ = measure(law, law, spectrum, draws, np.random.default_rng(3))
    assert np.mean(shrunk) <= 1.4 + 6 * np.std(shrunk) / math.sqrt(draws) and np.mean(projected) > 5


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
@pytest.mark.parametrize(("wrong", "is_near"), [(1.0, True), (0.5, False), (2.0, False)])
def test_the_result_is_nearly_the_best_and_not_with_a_wrong_scale(kind, wrong, is_near):
    spectrum = SPECTRA["falling"](40)  # measured: at most 1.09 of the best on average, 1.35 with a wrong scale
    law = make_measured_law(kind, spectrum, 3.0)
    believed = dataclasses.replace(law, scale=wrong * law.scale)
    shrunk, _, best = measure(law, believed, spectrum, 80, np.random.default_rng(4))
    assert (np.mean(shrunk / best) <= 1.2) == is_near
