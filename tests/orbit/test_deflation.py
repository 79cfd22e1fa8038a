"""Directions one after the other: orthonormal, each with its own exact law given the earlier ones."""

import numpy as np
import pytest
from scipy import stats

from hushrank.orbit import deflation
from hushrank.orbit.deflation import draw_directions
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import haar_bases
from support import FALSE_ALARM, assert_plausible


def matrix(d, is_complex, seed=0, values=None):
    E = haar_bases(1, d, is_complex, np.random.default_rng(seed))[0]
    spectrum = 20.0 / np.arange(1, d + 1) if values is None else np.asarray(values)
    return (E * spectrum) @ E.conj().T


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("rank", [1, 3, 6])
def test_directions_are_orthonormal(is_complex, rank):
    rows = draw_directions(matrix(6, is_complex), rank, 0.8, Keystream(), is_complex=is_complex)
    assert rows.shape == (rank, 6) and np.iscomplexobj(rows) == is_complex
    assert rows @ rows.conj().T == pytest.approx(np.eye(rank), abs=1e-12)
    largest = rows[np.arange(rank), np.abs(rows).argmax(axis=1)]
    assert (largest.real > 0).all() and (largest.imag == 0).all()


def test_the_next_compression_does_not_see_the_phase_of_a_direction():
    x = haar_bases(1, 5, True, np.random.default_rng(3))[0][:, 0]
    A = matrix(5, True)
    expected = deflation._compress(A, deflation._reflector(x))
    for phase in (-1.0, 1j, np.exp(0.3j)):
        assert deflation._compress(A, deflation._reflector(phase * x)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("is_complex", [False, True])
def test_a_large_rate_gives_the_eigenvectors_in_order(is_complex):
    M = matrix(5, is_complex)
    rows = draw_directions(M, 5, 1e12, Keystream(), is_complex=is_complex)
    found = np.einsum("ij,jk,ik->i", rows.conj(), M, rows).real
    assert found == pytest.approx(20.0 / np.arange(1, 6), rel=1e-6)


def test_real_matrices_may_have_complex_directions():
    rows = draw_directions(matrix(4, False), 2, 0.5, Keystream(), is_complex=True)
    assert np.abs(rows.imag).max() > 1e-3


def second_overlaps(rank_two, n=1500):
    """|<v_2, e>|^2 for the eigenvector e of eigenvalue 3 of diag(3000, 3, 0, 0), v_1 nearly fixed by the large gap."""
    M = np.diag([3000.0, 3.0, 0.0, 0.0])
    return np.array([np.abs(rank_two(M)[1, 1]) ** 2 for _ in range(n)])


def test_the_second_direction_has_its_law_in_the_complement_and_a_wrong_rate_is_noticed():
    stream = Keystream()
    sample = second_overlaps(lambda M: draw_directions(M, 2, 0.7, stream, is_complex=False))
    t = (np.arange(200_000) + 0.5) / 200_000
    grid = t**2  # fine where the density is infinite
    for rate, expected in ((0.7, True), (1.4, False)):
        density = np.exp(rate * 3.0 * (grid - 1))  # in 3 dimensions, times dw / sqrt(w) = 2 dt
        cdf = np.cumsum(density) / density.sum()
        p_value = stats.kstest(sample, lambda w, cdf=cdf: np.interp(w, grid, cdf)).pvalue
        assert p_value >= FALSE_ALARM if expected else p_value < FALSE_ALARM


def test_without_compression_the_second_direction_would_be_the_first(monkeypatch):
    """A planted bug: the next draw from the same matrix, in too large a space."""
    monkeypatch.setattr(deflation, "_compress", lambda A, w: A[1:, 1:])
    M = matrix(6, False, values=[50.0, 30.0, 1.0, 0.0, 0.0, 0.0])
    rows = draw_directions(M, 2, 1e9, Keystream(), is_complex=False)
    assert abs(rows[1] @ M @ rows[1] - 30.0) > 1e-3


def test_ties_and_zero_matrices_are_uniform():
    stream = Keystream()
    first = np.array([draw_directions(np.zeros((3, 3)), 2, 1.0, stream, is_complex=False)[1] for _ in range(1000)])
    assert_plausible(stats.kstest(np.abs(first[:, 0]), "uniform").pvalue)  # Archimedes: a coordinate is uniform


def test_one_column():
    assert draw_directions(np.array([[4.0]]), 1, 1.0, Keystream(), is_complex=False).tolist() == [[1.0]]
