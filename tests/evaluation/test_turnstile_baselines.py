"""What factorizations are compared with: the best error, the error of any, and the paper's algorithm without noise."""

import numpy as np
import pytest
import scipy.sparse

from hushrank.evaluation.turnstile_baselines import (
    best_rank_error,
    factorization_error,
    optimal_space_factorization_without_privacy,
)
from hushrank.evaluation.turnstile_matrices import planted_matrix
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(20261118)


def sparse(m, n, density=0.1):
    return scipy.sparse.csr_array(RNG.random((m, n)) * (RNG.random((m, n)) < density))


# The best error


@pytest.mark.parametrize("shape", [(30, 20), (20, 30), (450, 420)])
@pytest.mark.parametrize("rank", [0, 1, 5])
def test_the_best_error_is_that_of_the_decomposition(shape, rank):
    A = sparse(*shape)
    expected = np.sqrt(np.sum(np.linalg.svd(A.toarray(), compute_uv=False)[rank:] ** 2))
    assert best_rank_error(A.toarray(), rank) == pytest.approx(expected, rel=1e-9)
    assert best_rank_error(A, rank) == pytest.approx(expected, rel=1e-9)
    assert best_rank_error(A.tocoo(), rank) == pytest.approx(expected, rel=1e-9)


def test_a_matrix_of_the_rank_has_no_error():
    A = planted_matrix(40, 30, rank=2, noise=0.0, seed=0)
    assert best_rank_error(A, 2) < 1e-10 * np.linalg.norm(A)
    assert best_rank_error(A, 30) == best_rank_error(A, 31) == 0.0
    assert best_rank_error(np.zeros((5, 4)), 1) == best_rank_error(sparse(5, 4, 0.0), 1) == 0.0
    assert best_rank_error(np.eye(6, dtype=np.int64), 2) == pytest.approx(2.0)
    with pytest.raises(InvalidParameter, match="rank of best_rank_error must be an integer >= 0"):
        best_rank_error(A, -1)


# The error of a factorization


@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_the_error_is_that_of_the_product(shape):
    A = sparse(*shape)
    U, Vt = np.linalg.qr(RNG.standard_normal((shape[0], 3)))[0], np.linalg.qr(RNG.standard_normal((shape[1], 3)))[0].T
    s = np.array([3.0, 2.0, 0.0])
    expected = np.linalg.norm(A.toarray() - (U * s) @ Vt)
    for given in (A, A.tocsc(), A.tocoo(), A.toarray()):
        assert factorization_error(given, U, s, Vt) == pytest.approx(expected)


def test_duplicates_of_a_sparse_matrix_are_one_entry():
    places = (np.array([1, 1, 0]), np.array([2, 2, 0]))
    doubled = scipy.sparse.coo_array((np.array([3.0, 1.0, 2.0]), places), shape=(3, 4))
    compressed = scipy.sparse.csr_array(
        (np.array([2.0, 3.0, 1.0]), np.array([0, 2, 2]), np.array([0, 1, 3, 3])), (3, 4)
    )
    for A in (doubled, compressed):
        assert factorization_error(A, np.eye(3, 1), np.zeros(1), np.eye(1, 4)) == pytest.approx(np.sqrt(20.0))
    assert compressed.nnz == 3  # the caller's matrix is not tidied


def test_a_sparse_matrix_stays_sparse():
    n = 200_000  # 320 GB as an array
    A = scipy.sparse.csr_array((np.array([3.0, 4.0]), (np.array([0, 7]), np.array([5, 9]))), shape=(n, n))
    unit = np.zeros((n, 1))
    unit[7] = 1.0
    right = np.zeros((1, n))
    right[0, 9] = 1.0
    assert factorization_error(A, unit, np.array([4.0]), right) == pytest.approx(3.0)


# Figure 1 without noise


def test_the_factorization_without_privacy_is_exact_for_matrices_of_the_rank():
    A = planted_matrix(60, 50, rank=3, noise=0.0, seed=1)
    found = optimal_space_factorization_without_privacy(A, 3, (6, 12))
    assert factorization_error(A, *found) < 1e-6 * np.linalg.norm(A)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_wider_sketches_come_near_the_best_error(is_sparse):
    A = planted_matrix(200, 150, rank=4, noise=0.3, seed=2)
    best, given = best_rank_error(A, 4), scipy.sparse.csr_array(A) if is_sparse else A
    ratios = [
        np.mean(
            [
                factorization_error(A, *optimal_space_factorization_without_privacy(given, 4, widths, seed)) / best
                for seed in range(3)
            ]
        )
        for widths in ((8, 16), (16, 64), (60, 240))
    ]
    assert ratios == sorted(ratios, reverse=True)
    assert 1.0 < ratios[-1] < 1.2 < ratios[0] < 3.0


def test_a_seed_says_all():
    A = planted_matrix(30, 20, rank=2, noise=0.3, seed=3)
    one, same, other = (optimal_space_factorization_without_privacy(A, 2, (5, 9), seed) for seed in (4, 4, 5))
    assert all(np.array_equal(*pair) for pair in zip(one, same, strict=True))
    assert not np.array_equal(one.U, other.U)
