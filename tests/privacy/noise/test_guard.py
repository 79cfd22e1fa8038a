"""The start-up guard accepts the installed BLAS and refuses products that break the bound."""

import numpy as np
import pytest

from hushrank.exceptions import UnsuitableArithmetic
from hushrank.privacy.noise import guard

ROUNDINGS = guard.product(np.zeros((1, 300)), np.zeros((1, 300)))[1]


def strassen(A, B):
    """One Strassen step: fewer multiplications, but the error of a small row follows the largest row."""
    m, k = A.shape[0] // 2, A.shape[1] // 2
    X, Y = A, B.T
    X11, X12, X21, X22 = X[:m, :k], X[:m, k:], X[m:, :k], X[m:, k:]
    n = Y.shape[1] // 2
    Y11, Y12, Y21, Y22 = Y[:k, :n], Y[:k, n:], Y[k:, :n], Y[k:, n:]
    p1, p2, p3 = (X11 + X22) @ (Y11 + Y22), (X21 + X22) @ Y11, X11 @ (Y12 - Y22)
    p4, p5, p6, p7 = X22 @ (Y21 - Y11), (X11 + X12) @ Y22, (X21 - X11) @ (Y11 + Y12), (X12 - X22) @ (Y21 + Y22)
    return np.block([[p1 + p4 - p5 + p7, p3 + p5], [p2 + p4, p1 - p2 + p3 + p6]]), ROUNDINGS


def single_precision(A, B):
    return (A.astype(np.float32) @ B.astype(np.float32).T).astype(np.float64), ROUNDINGS


@pytest.fixture
def uncached():
    guard.check_products.cache_clear()
    yield
    guard.check_products.cache_clear()


def test_the_installed_blas_passes(uncached):
    guard.check_products()


@pytest.mark.parametrize("product", [strassen, single_precision])
def test_a_faster_and_looser_product_is_refused(product, uncached, monkeypatch):
    monkeypatch.setattr(guard, "product", product)
    with pytest.raises(UnsuitableArithmetic, match="BLAS breaks"):
        guard.check_products()


def test_blocks_cover_all_columns():
    rng = np.random.default_rng(0)
    for n in (1, 127, 128, 129, 400):
        A, B = rng.integers(-9, 9, (2, 5, n)).astype(float)
        P, roundings = guard.product(A, B)
        assert np.array_equal(P, A @ B.T)
        assert roundings == min(n, 128) + -(-n // 128)
