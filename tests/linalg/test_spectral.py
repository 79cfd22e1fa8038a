"""Eigenpairs and projections against definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from hushrank.linalg.spectral import eigenbasis, gram_of_columns, project_psd, top_eigenpairs


def symmetric(d, seed):
    A = np.random.default_rng(seed).standard_normal((d, d))
    return A + A.T


@given(st.integers(1, 12), st.integers(0, 10**6), st.data())
def test_pairs_are_the_largest_orthonormal_and_signed(d, seed, data):
    A, k = symmetric(d, seed), data.draw(st.integers(1, d))
    values, vectors = top_eigenpairs(A, k)
    assert np.allclose(A @ vectors.T, vectors.T * values, atol=1e-9)
    assert np.allclose(vectors @ vectors.T, np.eye(k), atol=1e-9)
    assert np.allclose(values, np.linalg.eigvalsh(A)[::-1][:k], atol=1e-9)
    assert (vectors[np.arange(k), np.abs(vectors).argmax(axis=1)] > 0).all()


def test_few_and_many_components_agree():
    A = symmetric(40, 1)
    few, many = top_eigenpairs(A, 10), top_eigenpairs(A, 11)
    assert np.allclose(few[0], many[0][:10]) and np.allclose(few[1], many[1][:10], atol=1e-9)


@pytest.mark.parametrize("n_components", [5, 300])
def test_bits_do_not_depend_on_the_number_of_blas_threads(n_components):
    A, results = symmetric(300, 2), []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            results.append((*top_eigenpairs(A, n_components), *project_psd(A, n_components)))
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


@given(st.integers(1, 10), st.integers(0, 10**6), st.data())
def test_projection_is_the_nearest(d, seed, data):
    A = symmetric(d, seed)
    rank = data.draw(st.one_of(st.none(), st.integers(1, d)))
    P, values = project_psd(A, rank)
    assert np.array_equal(P, P.T)
    assert np.allclose(np.linalg.eigvalsh(P)[::-1][: len(values)], values, atol=1e-9)
    assert np.linalg.eigvalsh(P)[0] >= -1e-9
    # By Eckart and Young the squared distance is the sum of the squared eigenvalues that are not kept.
    kept = np.sort(np.maximum(np.linalg.eigvalsh(A), 0))[::-1][:rank]
    missing = (A**2).sum() - (kept**2).sum()
    assert ((A - P) ** 2).sum() == pytest.approx(missing, abs=1e-8)


@pytest.mark.parametrize("n_components", [0, 4, -1])
def test_impossible_numbers_are_refused(n_components):
    with pytest.raises(ValueError, match=rf"n_components .* between 1 and 3; got {n_components}"):
        top_eigenpairs(np.eye(3), n_components)


def hermitian(d, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d)) + 1j * rng.standard_normal((d, d))
    return A + A.conj().T


@pytest.mark.parametrize("k", [2, 8])
def test_hermitian_matrices_have_eigenvectors_as_columns_of_the_transpose(k):
    A = hermitian(12, 3)
    values, vectors = top_eigenpairs(A, k)
    assert np.allclose(A @ vectors.T, vectors.T * values, atol=1e-9)
    assert np.allclose(vectors @ vectors.conj().T, np.eye(k), atol=1e-12)
    largest = vectors[np.arange(k), np.abs(vectors).argmax(axis=1)]
    assert (largest.imag == 0).all() and (largest.real > 0).all()


def test_the_projection_of_a_hermitian_matrix_is_hermitian_and_nearest():
    A = hermitian(9, 4)
    projection, values = project_psd(A, 3)
    assert np.array_equal(projection, projection.conj().T)
    assert np.linalg.eigvalsh(projection)[::-1] == pytest.approx([*values, *[0.0] * 6], abs=1e-12)
    rest = np.delete(np.linalg.eigvalsh(A), [6, 7, 8])
    assert np.linalg.norm(A - projection) == pytest.approx(np.linalg.norm(rest))


@pytest.mark.parametrize("make", [symmetric, hermitian])
def test_the_eigenbasis_diagonalizes_in_falling_order(make):
    A = make(7, 5)
    values, vectors = eigenbasis(A)
    assert (np.diff(values) <= 0).all()
    assert np.allclose((vectors * values) @ vectors.conj().T, A, atol=1e-12)


def test_a_gram_matrix_of_complex_columns_is_exactly_hermitian():
    F = hermitian(6, 6)[:, :2]
    product = gram_of_columns(F)
    assert np.array_equal(product, product.conj().T) and np.allclose(product, F @ F.conj().T)
