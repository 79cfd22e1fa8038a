"""The arrays of a sketch, all integers: updates are added, other states are added, in any order with the same bits."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.turnstile.batches import bucket_shift, sort_by_place
from hushrank.estimators.turnstile.hadamard import Hadamard
from hushrank.estimators.turnstile.layout import Array, Layout, Operator
from hushrank.estimators.turnstile.normal_columns import NormalColumns
from hushrank.estimators.turnstile.sparse_signs import Integers, SparseSigns, State, add_integer
from hushrank.linalg.quantize import FloatArray, compiled

AnyOperator = SparseSigns | Hadamard | NormalColumns

# Above this an array does not stay in cache, and a batch is sorted by the places it goes to.
CACHED_BYTES = 2**21
_LEAST_SORTED = 2**12
_LARGEST = 2.0**62


class SketchState:
    """What a sketch holds, in integers.

    Parameters
    ----------
    layout : Layout
    key : bytes
        Of all operators.
    integers : dtype
        int32 or int64.
    cached_bytes : int
        Arrays above this are updated in sorted batches.
    """

    def __init__(self, layout: Layout, key: bytes, integers: Any, *, cached_bytes: int = CACHED_BYTES) -> None:
        self.layout, self._cached_bytes = layout, cached_bytes
        self.arrays: list[State] = [np.zeros(array.shape, integers) for array in layout.arrays]
        self._operators = {
            one.label: _make_operator(layout, key, one) for array in layout.arrays for one in array.operators
        }

    def apply(self, label: str) -> Callable[[FloatArray], FloatArray]:
        """The operator of this label, with columns of norm 1, as a function of a matrix of its inputs."""
        return self._operators[label].apply

    def add(self, rows: Integers, columns: Integers, deltas: Integers, *, wraps: bool = False) -> bool:
        """Add updates, all of them inside of the matrix; False, and the state as before, if an integer overflows.

        With `wraps` sums are those of integers modulo 2^b, and nothing is refused.
        """
        if not self._add(rows, columns, deltas) or wraps:
            return True
        self._add(rows, columns, -deltas)  # sums that wrapped around wrap back: integers modulo 2^b are a group
        return False

    def add_wrapping(self, rows: Integers, columns: Integers, deltas: Integers) -> bool:
        """Add updates, integers modulo 2^b; whether a sum wrapped around."""
        return self._add(rows, columns, deltas)

    def merge(self, others: list[State], *, wraps: bool = False) -> bool:
        """Add the arrays of another state; False, and this one as before, if an integer overflows and must not wrap."""
        wrapped = [
            _add_arrays(mine.reshape(-1), own.reshape(-1)) for mine, own in zip(self.arrays, others, strict=True)
        ]
        if any(wrapped) and not wraps:
            for mine, own in zip(self.arrays, others, strict=True):
                mine -= own
        return wraps or not any(wrapped)

    def _add(self, rows: Integers, columns: Integers, deltas: Integers) -> bool:
        wrapped = False
        for array, state in zip(self.layout.arrays, self.arrays, strict=True):
            wrapped |= self._add_to(array, state, rows, columns, deltas)
        return wrapped

    def _add_to(self, array: Array, state: State, rows: Integers, columns: Integers, deltas: Integers) -> bool:
        where, which = (columns, rows) if array.name == "rows" else (rows, columns)
        if state.nbytes > self._cached_bytes and array.name != "core" and len(where) >= _LEAST_SORTED:
            shift = bucket_shift(len(state), state.strides[0])
            where, which, deltas = sort_by_place(where, which, deltas, len(state), shift)
        if array.name == "matrix":
            return _add_entries(state, where, which, deltas)
        operators = [self._operators[one.label] for one in array.operators]
        if array.name != "core":
            return operators[0].add(state, where, which, deltas)
        left, right = operators
        if isinstance(left, SparseSigns) and isinstance(right, SparseSigns):
            return left.add_core(state, right, rows, columns, deltas)
        return _add_dense_core(state, left, right, rows, columns, deltas)


def _make_operator(layout: Layout, key: bytes, operator: Operator) -> AnyOperator:
    terms: Mapping[str, Any] = {"n_inputs": operator.n_inputs, "width": operator.width}
    if layout.operator == "sparse_sign":
        return SparseSigns(key, operator.label, **terms, per_column=layout.per_column)
    if layout.operator == "srht":
        return Hadamard(key, operator.label, **terms)
    return NormalColumns(key, operator.label, **terms, gain=operator.gain)


def _add_dense_core(core: State, left: Any, right: Any, rows: Integers, columns: Integers, deltas: Integers) -> bool:
    """core += S A T^T for the matrix A of a batch, a row of A at a time: its sketch by T, then one product."""
    order = np.argsort(rows, kind="stable")
    rows, columns, deltas = rows[order], columns[order], deltas[order]
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    stops = np.append(starts, len(rows))[1:]
    wrapped, here = False, np.zeros(len(rows), np.int64)
    for start, stop in zip(starts, stops, strict=True):
        line = np.zeros((1, right.width), np.int64)
        wrapped |= right.add(line, here[start:stop], columns[start:stop], deltas[start:stop])
        wrapped |= _add_product(core, left.column(int(rows[start])), line[0])
    return wrapped


@compiled
def _add_product(core: State, left: Integers, right: Integers) -> bool:
    wrapped = np.int64(0)
    largest = 0.0
    for a in range(len(left)):
        for b in range(len(right)):
            largest = max(largest, abs(float(left[a]) * float(right[b])))
            wrapped |= add_integer(core, a, b, left[a] * right[b])
    return bool(wrapped != 0 or largest > _LARGEST)


@compiled
def _add_entries(state: State, rows: Integers, columns: Integers, deltas: Integers) -> bool:
    wrapped = np.int64(0)
    for e in range(len(rows)):
        wrapped |= add_integer(state, rows[e], columns[e], deltas[e])
    return bool(wrapped != 0)


@compiled
def _add_arrays(mine: NDArray[Any], own: NDArray[Any]) -> bool:
    state, wrapped = mine.reshape(1, -1), np.int64(0)
    for j in range(len(own)):
        wrapped |= add_integer(state, 0, j, np.int64(own[j]))
    return bool(wrapped != 0)
