"""Eigenpairs and projections against definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from hushrank.linalg.spectral import project_psd, top_eigenpairs


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
