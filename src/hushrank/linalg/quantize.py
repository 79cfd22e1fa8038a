"""Rows as integer vectors whose norm bound is checked in integers.

A row x of norm at most `norm_bound` becomes y = rint(x / step), the step chosen so that `norm_bound` is the
integer bound; longer rows are first shortened to `norm_bound`. If rounding pushes y over the integer bound,
x / step is truncated toward zero instead. Each row is mapped alone, by a kernel whose order of operations is
fixed, so a row has the same bits in every block, on every thread and in every memory layout.
"""

import math
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])

LARGEST_BOUND = 2**48
ROWS_PER_BLOCK = 2048

# A smaller sum of squares has lost digits to underflow; such rows are rescaled first.
SMALLEST_SUM = 2.0**-900


class SumLattice(Protocol):
    """What a sum of vectors takes from the plan of its release, as `vector_lattice` of hushrank.privacy makes it.

    Longer vectors are shortened to the Euclidean norm `norm_bound`, which is sqrt(`squared_bound`) in integer units;
    with `nonnegative`, negative entries become zero. The plan is the only place where that is said: noise for
    nonnegative vectors is too little for others.
    """

    @property
    def norm_bound(self) -> float: ...

    @property
    def squared_bound(self) -> int: ...

    @property
    def nonnegative(self) -> bool: ...


def compiled(function: Kernel) -> Kernel:
    """Compile without fastmath, so that every float operation happens as written; runs without the GIL."""
    return cast(Kernel, njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function))


def quantize_rows(X: ArrayLike, norm_bound: float, squared_bound: int) -> FloatArray:
    """Round rows to integer vectors of squared Euclidean norm at most `squared_bound`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Real or complex rows. A row with an entry that is not finite becomes zero.
    norm_bound : float
        Euclidean norm that becomes sqrt(`squared_bound`) integer units; longer rows are shortened to it.
    squared_bound : int
        Largest squared norm of an integer row, between 1 and 2^48.

    Returns
    -------
    Y : ndarray of shape (n_samples, width)
        Integers as float64, in units of `norm_bound` / sqrt(`squared_bound`). The width is n_features for
        real rows and 2 n_features for complex ones, real parts before imaginary parts.

    Examples
    --------
    >>> quantize_rows([[0.6, 0.8], [3.0, -4.0], [0.0, float("nan")]], norm_bound=1.0, squared_bound=25)
    array([[ 3.,  4.],
           [ 3., -4.],
           [ 0.,  0.]])
    """
    owner = "quantize_rows"
    rows = check_rows(X, "X", owner)
    norm_bound = check_norm_bound(norm_bound, owner)
    squared_bound = check_integer(squared_bound, "squared_bound", owner, LARGEST_BOUND)
    Y = np.empty((rows.shape[0], row_width(rows)))
    for start, block in row_blocks(rows, ROWS_PER_BLOCK):
        quantize_block(block, norm_bound, float(squared_bound), 2, Y[start : start + len(block)], new_tally())
    return Y


def quantize_rows_l1(X: ArrayLike, norm_bound: float, l1_bound: int) -> FloatArray:
    """Round rows to integer vectors whose absolute values sum to at most `l1_bound`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Real rows. A row with an entry that is not finite becomes zero.
    norm_bound : float
        Sum of absolute values that corresponds to `l1_bound`; rows of a larger sum are shortened to it.
    l1_bound : int
        Largest sum of absolute values of an integer row, between 1 and 2^48.

    Returns
    -------
    Y : ndarray of shape (n_samples, n_features)
        Integers as float64, in units of `norm_bound` / `l1_bound`.

    Examples
    --------
    >>> quantize_rows_l1([[0.25, -0.75], [2.0, 6.0]], norm_bound=1.0, l1_bound=4)
    array([[ 1., -3.],
           [ 1.,  3.]])
    """
    owner = "quantize_rows_l1"
    rows = check_rows(X, "X", owner, kinds="biuf")
    norm_bound = check_norm_bound(norm_bound, owner)
    l1_bound = check_integer(l1_bound, "l1_bound", owner, LARGEST_BOUND)
    Y = np.empty(rows.shape)
    for start, block in row_blocks(rows, ROWS_PER_BLOCK):
        quantize_block(block, norm_bound, float(l1_bound), 1, Y[start : start + len(block)], new_tally())
    return Y


def new_tally() -> NDArray[np.int64]:
    """Zero counts of rows, of rows that are not finite, and of rows that were shortened to the bound."""
    return np.zeros(3, np.int64)


def row_width(X: NDArray[Any]) -> int:
    """Length of a row of `X` as real numbers."""
    return int(X.shape[1]) * (2 if X.dtype.kind == "c" else 1)


def row_blocks(X: NDArray[Any], rows_per_block: int, nonnegative: bool = False) -> Iterator[tuple[int, FloatArray]]:
    """Yield (first row, rows as C-contiguous float64), complex rows as real parts, then imaginary parts.

    With `nonnegative`, negative finite entries are replaced by zero.

    Blocks of an array that has this form already are views; others share one buffer, overwritten each time.
    """
    n_samples, n_features = X.shape
    starts = range(0, n_samples, rows_per_block)
    if X.dtype == np.float64 and X.flags.carray and not nonnegative:
        yield from ((start, X[start : start + rows_per_block]) for start in starts)
        return
    buffer = np.empty((min(rows_per_block, n_samples), row_width(X)))
    for start in starts:
        part = X[start : start + rows_per_block]
        block = buffer[: len(part)]
        with np.errstate(all="ignore"):  # signaling NaNs: entries may be anything
            block[:, :n_features] = part.real
            if X.dtype.kind == "c":
                block[:, n_features:] = part.imag
            if nonnegative:
                block[(block < 0) & (block > -math.inf)] = 0.0  # -inf stays: its row becomes zero
        yield start, block


def check_rows(X: ArrayLike, name: str, owner: str, kinds: str = "biufc") -> NDArray[Any]:
    """`X` as a two-dimensional array of one of the dtype `kinds`, at most double precision."""
    array = np.asarray(X)
    if array.dtype.kind not in kinds or array.dtype.itemsize > (16 if array.dtype.kind == "c" else 8):
        wanted = {"biuf": "real numbers", "c": "complex numbers", "biufc": "real or complex numbers"}[kinds]
        raise TypeError(f"{name} of {owner} must hold {wanted}, at most 64-bit; got {array.dtype}.")
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} of {owner} must have two dimensions and a column; got shape {array.shape}.")
    return array


def check_norm_bound(norm_bound: float, owner: str) -> float:
    """`norm_bound` as a float, if it is positive and finite."""
    try:
        value = float(norm_bound) if isinstance(norm_bound, Real) else math.nan
    except OverflowError:
        value = math.inf
    if isinstance(norm_bound, bool) or not 0 < value < math.inf:
        raise ValueError(f"norm_bound of {owner} must be a positive finite number; got {norm_bound!r}.")
    return value


def check_integer(value: int, name: str, owner: str, largest: int) -> int:
    """`value` as an int, if it is an integer between 1 and `largest`, a power of two."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= value <= largest:
        top = f"2^{largest.bit_length() - 1}"
        raise ValueError(f"{name} of {owner} must be an integer between 1 and {top}; got {value!r}.")
    return int(value)


@compiled
def power_sum(X: FloatArray, i: int, power: int) -> float:
    """Sum of |X[i, j]|^power for power 1 or 2, in a fixed order that four lanes can share."""
    s0 = s1 = s2 = s3 = 0.0
    n_features = X.shape[1]
    whole = n_features - n_features % 4
    if power == 2:
        for j in range(0, whole, 4):
            s0 += X[i, j] * X[i, j]
            s1 += X[i, j + 1] * X[i, j + 1]
            s2 += X[i, j + 2] * X[i, j + 2]
            s3 += X[i, j + 3] * X[i, j + 3]
        for j in range(whole, n_features):
            s0 += X[i, j] * X[i, j]
    else:
        for j in range(0, whole, 4):
            s0 += abs(X[i, j])
            s1 += abs(X[i, j + 1])
            s2 += abs(X[i, j + 2])
            s3 += abs(X[i, j + 3])
        for j in range(whole, n_features):
            s0 += abs(X[i, j])
    return (s0 + s2) + (s1 + s3)


@compiled
def _largest_magnitude(X: FloatArray, i: int) -> float:
    """Largest |X[i, j]|, or -1 if an entry of the row is not finite."""
    largest = 0.0
    for j in range(X.shape[1]):
        magnitude = abs(X[i, j])
        if not magnitude < math.inf:
            return -1.0
        largest = max(largest, magnitude)
    return largest


@compiled
def _norm(total: float, power: int) -> float:
    return math.sqrt(total) if power == 2 else total


@compiled
def round_row(
    X: FloatArray, i: int, total: float, norm_bound: float, limit: float, power: int, Y: FloatArray, k: int
) -> bool:
    """Write row i of X, whose power sum is `total`, to row k of Y as integers; whether it was longer than the bound.

    A float sum of squared (or absolute) integers is at most limit <= 2^48 only if the exact sum is: float
    addition is monotone, so the sum is exact or has passed 2^53. The comparisons thus decide in integers.

    Finite rows never reach the last branch. With slack = (n_features + 16) 2^-52 the computed norm is right
    to a factor 1 +- slack/2, hence the norm of factor * x is at most (1 + 2 slack) times that of a longest
    integer row; the second factor makes it smaller than that norm by slack/2, more than the remaining
    roundings add, and truncation shortens every entry.
    """
    n_features = X.shape[1]
    slack = (n_features + 16) * 2.0**-52
    norm = _norm(total, power)
    # A row too long by no more than rounding error keeps its scale: integers in, the same integers out.
    is_long = norm > norm_bound * (1 + slack)
    factor = _norm(limit, power) / (norm if is_long else norm_bound)
    for j in range(n_features):
        Y[k, j] = np.rint(X[i, j] * factor)
    integer_total = power_sum(Y, k, power)
    if integer_total > limit:
        factor *= 1 - 3 * slack
        for j in range(n_features):
            Y[k, j] = np.trunc(X[i, j] * factor)
        integer_total = power_sum(Y, k, power)
    if not integer_total <= limit:
        Y[k, :] = 0.0
    return bool(is_long)


@compiled
def round_odd_row(
    X: FloatArray, i: int, norm_bound: float, limit: float, power: int, Y: FloatArray, k: int, scratch: FloatArray
) -> tuple[bool, bool]:
    """The same for a row of zeros, tiny, huge or not finite numbers; whether it is lost, and whether it was longer."""
    largest = _largest_magnitude(X, i)
    if largest <= 0.0:
        Y[k, :] = 0.0
        return largest < 0.0, False
    # In units of the largest entry the bound may become 0 or infinite; comparisons with it stay right.
    for j in range(X.shape[1]):
        scratch[0, j] = X[i, j] / largest
    total = power_sum(scratch, 0, power)
    return False, round_row(scratch, 0, total, norm_bound / largest, limit, power, Y, k)


@compiled
def quantize_block(
    X: FloatArray, norm_bound: float, limit: float, power: int, Y: FloatArray, tally: NDArray[np.int64]
) -> None:
    """Fill Y with the rows of X as integers, sum |y_j|^power <= limit; both C-contiguous, power 1 or 2.

    The numbers of rows, of rows that are not finite and of rows that were shortened are added to `tally`.
    """
    scratch = np.empty((1, X.shape[1]))
    lost = shortened = 0
    for i in range(X.shape[0]):
        total = power_sum(X, i, power)
        if SMALLEST_SUM < total < math.inf:
            shortened += round_row(X, i, total, norm_bound, limit, power, Y, i)
            continue
        is_lost, is_long = round_odd_row(X, i, norm_bound, limit, power, Y, i, scratch)
        lost += is_lost
        shortened += is_long
    tally[0] += X.shape[0]
    tally[1] += lost
    tally[2] += shortened
