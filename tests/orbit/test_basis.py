"""What is published depends on H alone, not on the factor that a sampler happened to return."""

import numpy as np
import pytest

from hushrank.orbit import basis
from hushrank.orbit.basis import canonical_vectors, real_part_factor, top_of_real_part
from orbit_support import haar_bases

LEVELS = np.array([5.0, 2.0, 2.0, 2.0, 0.5, 0.5])


def random_factor(rng, d, levels, is_complex):
    return haar_bases(1, d, is_complex, rng)[0][:, : len(levels)] * np.sqrt(levels)


def turn_inside_ties(factor, levels, is_complex, rng):
    """Another factor of the same H: a rotation among the columns of equal levels."""
    turned = factor.copy()
    for level in np.unique(levels):
        block = levels == level
        turned[:, block] = factor[:, block] @ haar_bases(1, block.sum(), is_complex, rng)[0]
    return turned


@pytest.mark.parametrize("is_complex", [False, True])
def test_vectors_are_the_same_for_every_factor(is_complex):
    rng = np.random.default_rng(0)
    factor = random_factor(rng, 9, LEVELS, is_complex)
    expected = canonical_vectors(factor, LEVELS)
    for _ in range(5):
        other = turn_inside_ties(factor, LEVELS, is_complex, rng)
        assert np.abs(other - factor).max() > 0.1
        assert canonical_vectors(other, LEVELS) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("is_complex", [False, True])
def test_vectors_are_eigenvectors_with_a_sign_rule(is_complex):
    factor = random_factor(np.random.default_rng(1), 7, LEVELS, is_complex)
    vectors = canonical_vectors(factor, LEVELS)
    H = factor @ factor.conj().T
    assert vectors @ vectors.conj().T == pytest.approx(np.eye(6), abs=1e-12)
    assert pytest.approx(vectors.T * LEVELS, abs=1e-12) == H @ vectors.T
    largest = vectors[np.arange(6), np.abs(vectors).argmax(axis=1)]
    assert (largest.real > 0).all() and (largest.imag == 0).all()


def test_the_real_part_has_a_real_factor_and_its_top():
    factor = random_factor(np.random.default_rng(2), 8, LEVELS, True)
    real = (factor @ factor.conj().T).real
    R = real_part_factor(factor)
    assert pytest.approx(real, abs=1e-12) == R @ R.T
    values, vectors = top_of_real_part(factor, 3)
    assert values == pytest.approx(np.linalg.eigvalsh(real)[::-1][:3])
    assert pytest.approx(vectors.T * values, abs=1e-12) == real @ vectors.T


@pytest.mark.parametrize(
    ("d", "levels"), [(5, [1.0] * 4), (10, [1.0] * 7), (5, [1.0] * 5), (6, [3.0, 1.0, 1.0, 1.0, 1.0]), (6, [2.0, 1.0])]
)
def test_the_top_of_the_real_part_is_the_same_for_every_factor_and_steady_under_rounding(d, levels, monkeypatch):
    """The real part of a projection of rank k > d / 2 has the eigenvalue 1 at least 2 k - d times: a plain SVD returns
    any basis of such a tie, and rounding decides which."""
    rng, levels = np.random.default_rng(d), np.array(levels)
    factor = random_factor(rng, d, levels, True)
    others = [turn_inside_ties(factor, levels, True, rng) * (1 + 1e-15 * rng.standard_normal((d, 1))) for _ in range(4)]

    def largest_change():
        values, vectors = top_of_real_part(factor, len(levels))
        tops = [top_of_real_part(other, len(levels)) for other in others]
        assert all(top[0] == pytest.approx(values, abs=1e-12) for top in tops)
        return max(np.abs(top[1] - vectors).max() for top in tops)

    assert largest_change() < 1e-10
    if np.unique(levels, return_counts=True)[1].max() > d / 2 + 0.5:
        monkeypatch.setattr(basis, "_TIED", 0.0)  # the planted bug: no value counts as tied
        monkeypatch.setattr(basis, "_canonical", lambda columns, cuts: columns.T)
        assert largest_change() > 0.1


@pytest.mark.parametrize(("d", "k"), [(5, 4), (6, 4), (3, 3)])
def test_ties_of_the_real_part_have_orthonormal_eigenvectors(d, k):
    factor = random_factor(np.random.default_rng(d), d, np.ones(k), True)
    values, vectors = top_of_real_part(factor, k)
    assert values[: 2 * k - d] == pytest.approx(np.ones(2 * k - d)) and (values <= 1 + 1e-12).all()
    assert vectors @ vectors.T == pytest.approx(np.eye(k), abs=1e-12)
    real = (factor @ factor.conj().T).real
    assert pytest.approx(vectors.T * values, abs=1e-10) == real @ vectors.T


@pytest.mark.parametrize("is_complex", [False, True])
def test_the_whole_space_has_the_unit_vectors_without_a_trace_of_rounding(is_complex):
    factor = random_factor(np.random.default_rng(3), 4, np.full(4, 2.0), is_complex)
    assert np.array_equal(canonical_vectors(factor, np.full(4, 2.0)), np.eye(4))
    assert np.array_equal(top_of_real_part(factor, 4)[1], np.eye(4))
