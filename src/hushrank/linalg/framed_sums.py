"""Exact sums over people of rows in a frame: Gram matrix and sum of rows together, sums of magnitudes and of squares.

As in `integer_sums`, every contribution is rounded to integers and bounded alone, and totals have the same bits for any
order of the rows, any size of the blocks and any number of threads.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.integer_sums import (
    EXACT_IN_FLOAT,
    IntegerArray,
    add_integers,
    check_integer_products,
    multiply_integers,
)
from hushrank.linalg.moved_rows import quantize_moved_block
from hushrank.linalg.quantize import (
    FloatArray,
    compiled,
    quantize_block,
    row_blocks,
    row_width,
)
from hushrank.linalg.row_frames import Frame

BLOCK_ROWS = 1024  # rows in the frame and their integers stay in the cache together


def framed_moments(
    X: NDArray[Any], frame: Frame, norm_bound: float, squared_bound: int, tally: IntegerArray
) -> tuple[IntegerArray, IntegerArray]:
    """Sum of y y^T and sum of y over the rows of X in a frame, as integer rows y with |y|^2 <= squared_bound.

    Parameters
    ----------
    X : ndarray of shape (n_samples, any)
        Real or complex rows.
    frame : Frame
    norm_bound : float
        Euclidean norm that becomes sqrt(`squared_bound`) integer units; longer rows are shortened to it.
    squared_bound : int
        Between 1 and 2^48.
    tally : ndarray of shape (3,)
        From `new_tally`: the numbers of rows, of rows that are not finite and of shortened rows are added to it.
    """
    check_integer_products()
    width = frame.n_columns
    rows = min(BLOCK_ROWS, EXACT_IN_FLOAT // squared_bound, max(len(X), 1))
    quantized, ones, total = np.empty((rows, width)), np.ones(rows), np.zeros(width, np.int64)
    gram: IntegerArray | None = None
    for Y in _quantized_blocks(X, frame, norm_bound, squared_bound, 2, quantized, tally):
        product = np.empty((width, width))
        multiply_integers(Y, product)
        total += sum_integers(Y, ones)
        if gram is None:  # in the same memory: a matrix of many columns is large
            gram = product.view(np.int64)
            _to_integers(product, gram)
        else:
            add_integers(product, gram)
    return np.zeros((width, width), np.int64) if gram is None else gram, total


def framed_sum(
    X: NDArray[Any], frame: Frame, norm_bound: float, bound: int, power: int, tally: IntegerArray, entries: str = "all"
) -> IntegerArray:
    """Sum of rows in a frame, as integer rows with sum |y_j|^power <= bound.

    Parameters
    ----------
    X, frame, tally : as for `framed_moments`
    norm_bound : float
        Norm of that power which becomes `bound` integer units (of power 2: its square root).
    bound : int
    power : 1 or 2
    entries : "all", "magnitudes" or "squares"
        What of each entry of the bounded row is summed: itself, its absolute value, or its square.
    """
    rows = max(1, min(BLOCK_ROWS, EXACT_IN_FLOAT // bound, len(X)))
    quantized, ones, total = np.empty((rows, frame.n_columns)), np.ones(rows), np.zeros(frame.n_columns, np.int64)
    for Y in _quantized_blocks(X, frame, norm_bound, bound, power, quantized, tally):
        if entries == "magnitudes":
            np.abs(Y, out=Y)
        elif entries == "squares":
            np.multiply(Y, Y, out=Y)
        total += sum_integers(Y, ones)
    return total


def _quantized_blocks(
    X: NDArray[Any], frame: Frame, norm_bound: float, bound: int, power: int, quantized: FloatArray, tally: IntegerArray
) -> Iterator[FloatArray]:
    """Rows in the frame as integers, some at a time in the memory of `quantized`."""
    if frame.is_move and frame.shift is not None and row_width(X) == frame.width:
        for _, block in row_blocks(X, len(quantized)):
            Y = quantized[: len(block)]
            quantize_moved_block(block, frame.shift, norm_bound, float(bound), power, Y, tally)
            yield Y
        return
    for block in frame.blocks(X, len(quantized)):
        Y = quantized[: len(block)]
        quantize_block(block, norm_bound, float(bound), power, Y, tally)
        yield Y


@compiled
def _to_integers(product: FloatArray, integers: IntegerArray) -> None:
    """Write a matrix of integers held as float64 as int64, entry by entry, so that both may be in one place."""
    for i in range(product.shape[0]):
        for j in range(product.shape[1]):
            integers[i, j] = np.int64(product[i, j])


def sum_integers(Y: FloatArray, ones: FloatArray) -> IntegerArray:
    """Sum of so few rows of integers that every partial sum is below 2^53, hence exact in any order."""
    return np.asarray(ones[: len(Y)] @ Y).astype(np.int64)
