"""What is published depends on H alone, not on the factor that a sampler happened to return."""

import numpy as np
import pytest

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


def test_a_factor_of_full_rank_has_a_top_as_well():
    values, vectors = top_of_real_part(np.eye(3, dtype=complex), 3)
    assert values == pytest.approx([1.0, 1.0, 1.0]) and vectors.shape == (3, 3)
