"""Blocked float64 matrix products, and the start-up check that the installed BLAS keeps their error bound."""

import functools

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import UnsuitableArithmetic
from hushrank.privacy.noise.keystream import Keystream

Floats = NDArray[np.float64]

BLOCK_COLUMNS = 128  # the error bound grows with this and with the number of blocks, not with the number of columns


def product(A: Floats, B: Floats) -> tuple[Floats, int]:
    """Return A B^T, and the r such that each entry is within r 2^-53 |a_i| |b_j| (1 + 2^-40) of the real one."""
    n = A.shape[1]
    P = A[:, :BLOCK_COLUMNS] @ B[:, :BLOCK_COLUMNS].T
    blocks = 1
    for k in range(BLOCK_COLUMNS, n, BLOCK_COLUMNS):
        P += A[:, k : k + BLOCK_COLUMNS] @ B[:, k : k + BLOCK_COLUMNS].T
        blocks += 1
    return P, min(n, BLOCK_COLUMNS) + blocks


@functools.cache
def check_products() -> None:
    """Raise UnsuitableArithmetic unless `product` keeps its bound on entries computed with integers.

    The rows differ in size by factors up to 2^40: a Strassen-like or reduced-precision product, whose error follows
    the largest rows instead of its own, fails at once.
    """
    words = Keystream.from_key(bytes(32)).words(2 * 96 * 300)
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    A, B = uniform.reshape(2, 96, 300)
    A *= np.ldexp(1.0, -(np.arange(96) % 41))[:, None]
    P, roundings = product(A, B)
    unit = 2.0**-92  # all entries of A and B are integers in these units
    integers = [[[int(x / unit) for x in row] for row in X.tolist()] for X in (A, B)]
    for i, j in ((i, (5 * i + shift) % 96) for i in range(96) for shift in (0, 40)):
        a, b = integers[0][i], integers[1][j]
        error = int(float(P[i, j]) / unit**2) - sum(x * y for x, y in zip(a, b, strict=True))
        squares = sum(x * x for x in a) * sum(y * y for y in b)
        if (error << 53) ** 2 > roundings**2 * squares:
            raise UnsuitableArithmetic(
                "the installed BLAS breaks the float64 error bound of exact rounding (a fast or reduced-precision "
                "mode?); nothing was released. Use a standard build such as OpenBLAS."
            )
