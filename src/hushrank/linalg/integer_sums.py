"""Exact sums over people: integer Gram matrices and totals.

Every contribution is an integer (`hushrank.linalg.quantize`), so a sum has the same bits for any order of the
rows, any size of the blocks, any number of threads and any split into parts that are added later. Matrix products
come from the float64 BLAS: a block holds so few rows that every partial sum is an integer of magnitude at most
2^53, which float64 represents, whatever the order of summation. Blocks are added in int64, modulo 2^64.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushrank.linalg.quantize import (
    LARGEST_BOUND,
    ROWS_PER_BLOCK,
    FloatArray,
    SumLattice,
    check_integer,
    check_norm_bound,
    check_rows,
    compiled,
    new_tally,
    quantize_block,
    row_blocks,
    row_width,
)

IntegerArray = NDArray[np.int64]

EXACT_IN_FLOAT = 2**53


def integer_gram(
    X: ArrayLike,
    norm_bound: float,
    squared_bound: int,
    rows_per_block: int = ROWS_PER_BLOCK,
    *,
    tally: IntegerArray | None = None,
) -> IntegerArray:
    """Sum of y y^T over the rows y of `quantize_rows(X, norm_bound, squared_bound)`, exactly.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Real rows in any memory layout; read block by block, never copied as a whole.
    norm_bound : float
        Euclidean norm to which longer rows are shortened.
    squared_bound : int
        Largest squared norm of an integer row, between 1 and 2^48.
    rows_per_block : int
        Most rows quantized and multiplied at a time; it changes time and memory, never the result.
    tally : ndarray of shape (3,), optional
        From `new_tally`: the numbers of rows, of rows that are not finite (they count as zero) and of rows that
        were shortened are added to it.

    Returns
    -------
    total : ndarray of shape (n_features, n_features)
        Symmetric int64 matrix in units of `norm_bound`^2 / `squared_bound`. Sums beyond int64 wrap modulo 2^64;
        there are none up to 2^63 / `squared_bound` rows.

    Examples
    --------
    >>> integer_gram([[0.6, 0.8], [-0.8, 0.6]], norm_bound=1.0, squared_bound=25)
    array([[25,  0],
           [ 0, 25]])
    """
    rows = check_rows(X, "X", "integer_gram", kinds="biuf")
    return _sum_products(rows, norm_bound, squared_bound, rows_per_block, "integer_gram", tally, rows.shape[1])


def integer_gram_complex(
    X: ArrayLike,
    norm_bound: float,
    squared_bound: int,
    rows_per_block: int = ROWS_PER_BLOCK,
    *,
    tally: IntegerArray | None = None,
) -> tuple[IntegerArray, IntegerArray]:
    """Sum of y y^* over complex quantized rows: entry (j, k) is the sum of y_j conj(y_k).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Complex rows, or real ones: a row has the same bits as one with imaginary parts of zero.
    norm_bound : float
        Euclidean norm to which longer rows are shortened.
    squared_bound : int
        Largest squared norm of an integer row, between 1 and 2^48.
    rows_per_block : int
        Most rows quantized and multiplied at a time.
    tally : ndarray of shape (3,), optional
        As for `integer_gram`.

    Returns
    -------
    real, imaginary : ndarrays of shape (n_features, n_features)
        Symmetric and antisymmetric int64 matrices in units of `norm_bound`^2 / `squared_bound`.

    Examples
    --------
    >>> integer_gram_complex([[0.6, 0.8j]], norm_bound=1.0, squared_bound=25)
    (array([[ 9,  0],
           [ 0, 16]]), array([[  0, -12],
           [ 12,   0]]))
    """
    rows = check_rows(X, "X", "integer_gram_complex")
    d = rows.shape[1]
    joint = _sum_products(rows, norm_bound, squared_bound, rows_per_block, "integer_gram_complex", tally, 2 * d)
    return hermitian_parts(joint)


def hermitian_parts(joint: IntegerArray) -> tuple[IntegerArray, IntegerArray]:
    """Real and imaginary part of sum y y^* from the Gram matrix of the rows (a, b) of y = a + ib."""
    d = len(joint) // 2
    # Re y y^* = a a^T + b b^T, Im y y^* = b a^T - a b^T.
    return joint[:d, :d] + joint[d:, d:], joint[d:, :d] - joint[:d, d:]


def integer_sum(X: ArrayLike, lattice: SumLattice, *, tally: IntegerArray | None = None) -> IntegerArray:
    """Sum of the rows, as `quantize_rows` rounds them, exactly.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Real rows in any memory layout; read block by block, never copied as a whole.
    lattice : SumLattice
        The plan of the release, as `vector_lattice` makes it for a Gaussian event: norm bound, its square in integer
        units, and whether negative entries are replaced by zero first.
    tally : ndarray of shape (3,), optional
        As for `integer_gram`.

    Returns
    -------
    total : ndarray of shape (n_features,)
        Column sums in int64, modulo 2^64, in units of `norm_bound` / sqrt(`squared_bound`).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> X, plan = [[0.6, -0.8], [3.0, 4.0]], SimpleNamespace(norm_bound=1.0, squared_bound=25, nonnegative=False)
    >>> integer_sum(X, plan)
    array([6, 0])
    >>> plan.nonnegative = True
    >>> integer_sum(X, plan)
    array([6, 4])
    """
    owner = "integer_sum"
    rows = check_rows(X, "X", owner, kinds="biuf")
    try:
        norm_bound, squared_bound, nonnegative = lattice.norm_bound, lattice.squared_bound, lattice.nonnegative
    except AttributeError:
        wanted = "the plan of a Gaussian sum, with norm_bound, squared_bound and nonnegative"
        raise TypeError(f"lattice of {owner} must be {wanted}; got {type(lattice).__name__}.") from None
    bound = check_integer(squared_bound, "squared_bound", owner, LARGEST_BOUND)
    return _sum_rows(rows, check_norm_bound(norm_bound, owner), bound, 2, nonnegative, tally)


def integer_sum_l1(
    X: ArrayLike, norm_bound: float, l1_bound: int, *, tally: IntegerArray | None = None
) -> IntegerArray:
    """Sum of the rows of `quantize_rows_l1(X, norm_bound, l1_bound)`, exactly.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Real rows in any memory layout; read block by block, never copied as a whole.
    norm_bound : float
        Sum of absolute values to which rows of a larger sum are shortened.
    l1_bound : int
        Largest sum of absolute values of an integer row, between 1 and 2^48.
    tally : ndarray of shape (3,), optional
        As for `integer_gram`.

    Returns
    -------
    total : ndarray of shape (n_features,)
        Column sums in int64, modulo 2^64, in units of `norm_bound` / `l1_bound`.

    Examples
    --------
    >>> integer_sum_l1([[0.25, -0.75], [2.0, 6.0]], norm_bound=1.0, l1_bound=4)
    array([2, 0])
    """
    owner = "integer_sum_l1"
    rows = check_rows(X, "X", owner, kinds="biuf")
    l1_bound = check_integer(l1_bound, "l1_bound", owner, LARGEST_BOUND)
    return _sum_rows(rows, check_norm_bound(norm_bound, owner), l1_bound, 1, False, tally)


@cache
def check_integer_products() -> None:
    """Raise RuntimeError unless the BLAS multiplies integer matrices exactly up to totals of 2^53.

    Reduced-precision or Strassen-like products would not; the Gram functions check once, before the first product.
    """
    for n_rows, n_columns in ((32, 1), (1, 7), (17, 33), (1027, 37), (515, 130)):
        top = math.isqrt(EXACT_IN_FLOAT // n_rows)
        i, j = np.ogrid[:n_rows, :n_columns]
        magnitudes = top - (7919 * i + 104729 * j + i * j) % 1000
        integers = np.where((i + j * j) % 3 == 0, -magnitudes, magnitudes).astype(np.int64)
        product = np.empty((n_columns, n_columns))
        multiply_integers(integers.astype(np.float64), product)
        if not np.array_equal(product, integers.T @ integers):  # int64 products never go through the BLAS
            raise RuntimeError("the installed BLAS does not multiply integer float64 matrices exactly.")


def _sum_products(
    X: NDArray[Any],
    norm_bound: float,
    squared_bound: int,
    rows_per_block: int,
    owner: str,
    tally: IntegerArray | None,
    width: int,
) -> IntegerArray:
    """Sum of y y^T over quantized rows y of `width` numbers, complex rows as (real parts, imaginary parts)."""
    norm_bound = check_norm_bound(norm_bound, owner)
    squared_bound = check_integer(squared_bound, "squared_bound", owner, LARGEST_BOUND)
    rows_per_block = check_integer(rows_per_block, "rows_per_block", owner, LARGEST_BOUND)
    check_integer_products()
    # |sum of y_j y_k| <= rows * squared_bound <= 2^53 for every partial sum of a product.
    rows = min(rows_per_block, EXACT_IN_FLOAT // squared_bound, max(X.shape[0], 1))
    quantized, product = np.empty((rows, width)), np.empty((width, width))
    total, counts = np.zeros((width, width), np.int64), new_tally() if tally is None else tally
    for block in _wide_blocks(X, rows, width):
        Y = quantized[: len(block)]
        quantize_block(block, norm_bound, float(squared_bound), 2, Y, counts)
        multiply_integers(Y, product)
        add_integers(product, total)
    return total


def _wide_blocks(X: NDArray[Any], rows_per_block: int, width: int) -> Iterator[FloatArray]:
    """Blocks of rows of `width` numbers: shorter ones, real among complex rows, are continued with zeros.

    The quantizer must see the zeros: the length of a row decides in which order its squares are added. Whether the
    rows of other people are stored as real or as complex numbers must not change the bits of a row.
    """
    if row_width(X) == width:
        yield from (block for _, block in row_blocks(X, rows_per_block))
        return
    buffer = np.zeros((min(rows_per_block, len(X)), width))
    for _, block in row_blocks(X, rows_per_block):
        buffer[: len(block), : block.shape[1]] = block
        yield buffer[: len(block)]


def multiply_integers(Y: FloatArray, product: FloatArray) -> None:
    """Fill `product` with Y^T Y; NumPy recognizes the shared operand and computes one triangle."""
    np.matmul(Y.T, Y, out=product)


@compiled
def add_integers(product: FloatArray, total: IntegerArray) -> None:
    """Add a matrix of integers held as float64 to an int64 matrix."""
    for i in range(product.shape[0]):
        for j in range(product.shape[1]):
            total[i, j] += np.int64(product[i, j])


def _sum_rows(
    X: NDArray[Any], norm_bound: float, bound: int, power: int, nonnegative: bool, tally: IntegerArray | None
) -> IntegerArray:
    """Sum of quantized rows, block by block."""
    quantized = np.empty((min(ROWS_PER_BLOCK, len(X)), X.shape[1]))
    total, counts = np.zeros(X.shape[1], np.int64), new_tally() if tally is None else tally
    for _, block in row_blocks(X, ROWS_PER_BLOCK, nonnegative):
        Y = quantized[: len(block)]
        quantize_block(block, norm_bound, float(bound), power, Y, counts)
        _add_rows(Y, total)
    return total


@compiled
def _add_rows(Y: FloatArray, total: IntegerArray) -> None:
    """Add rows of integers held as float64 to an int64 vector."""
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            total[j] += np.int64(Y[i, j])
