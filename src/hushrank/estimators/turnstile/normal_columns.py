"""Dense Gaussian sketches in integers: the matrix is drawn from the key and kept, rounded so that sums are exact.

Operator   S of shape (width, n_inputs), entries rint(gain N / sqrt(width)) with N exactly normal; a column has norm
           `gain` in expectation. What rounding adds to the norm of a sketch is paid for: docs/privacy/turnstile.md.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.turnstile.sparse_signs import Integers, State, add_integer
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.noise.sketch_draws import normal_matrix

_APPLIED_AT_ONCE = 2**16


class NormalColumns:
    """A Gaussian operator of integers.

    Parameters
    ----------
    key : bytes
        Of the whole sketch.
    label : str
        Of this operator in it.
    n_inputs, width : int
    gain : int
        Norm of a column in integer units, in expectation.
    """

    def __init__(self, key: bytes, label: str, n_inputs: int, width: int, gain: int) -> None:
        self.n_inputs, self.width = n_inputs, width
        self._gain = gain
        self._columns = normal_matrix(key, label, n_inputs, width, gain / math.sqrt(width))

    def add(self, state: State, where: Integers, which: Integers, deltas: Integers) -> bool:
        """state[where[e]] += deltas[e] S[:, which[e]] for every e, all inside; whether a sum wrapped around."""
        return _add(state, where, which, deltas, self._columns)

    def column(self, j: int) -> Integers:
        """S[:, j]."""
        column: Integers = self._columns[j].astype(np.int64)
        return column

    def apply(self, M: FloatArray) -> FloatArray:
        """S M / gain, of shape (width, n_columns)."""
        out = np.zeros((self.width, M.shape[1]))
        with one_blas_thread():
            for start in range(0, self.n_inputs, _APPLIED_AT_ONCE):
                part = slice(start, start + _APPLIED_AT_ONCE)
                out += self._columns[part].T.astype(np.float64) @ M[part]
        return out / self._gain


@compiled
def _add(state: State, where: Integers, which: Integers, deltas: Integers, columns: NDArray[np.int32]) -> bool:
    width, wrapped = columns.shape[1], np.int64(0)
    for e in range(len(where)):
        i, j, d = where[e], which[e], deltas[e]
        for k in range(width):
            wrapped |= add_integer(state, i, k, d * columns[j, k])
    return bool(wrapped != 0)
