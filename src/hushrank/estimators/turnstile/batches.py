"""Batches of updates: checked, bounded and rounded one by one, and sorted by place so that the state stays in cache."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.turnstile.sparse_signs import Integers
from hushrank.linalg.quantize import FloatArray, compiled

# Bytes of the state that a bucket of sorted updates touches: about a core's own cache.
BUCKET_BYTES = 2**17
MOST_BUCKETS = 2**13
_GRACE = 1.0 + 2.0**-40  # a whole number of units stays one, though two roundings came before


class Rounding(NamedTuple):
    """How deltas become integers.

    Attributes
    ----------
    per_unit : float
        Lattice units in a unit of the data.
    largest : int
        Integers are clipped to this magnitude.
    toward_zero : bool
        Whether no update becomes larger by its rounding, so that sums of magnitudes do not; else to the nearest.
    """

    per_unit: float
    largest: int
    toward_zero: bool = False


@compiled
def bound_updates(
    rows: Integers, columns: Integers, deltas: FloatArray, n_rows: int, n_columns: int, rounding: Rounding,
    integers: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Each delta in lattice units, clipped and rounded alone; 0 where an update is outside or not finite.

    Returns how many are outside of the matrix, and how many others are not finite.
    """
    n_outside = n_not_finite = 0
    per_unit, largest, toward_zero = rounding.per_unit, float(rounding.largest), rounding.toward_zero
    for e in range(len(rows)):
        integers[e] = 0
        if rows[e] < 0 or rows[e] >= n_rows or columns[e] < 0 or columns[e] >= n_columns:
            n_outside += 1
        elif not np.isfinite(deltas[e]):
            n_not_finite += 1
        else:  # both are odd: what an update adds, its opposite takes away
            number = deltas[e] * per_unit
            number = np.trunc(number * _GRACE) if toward_zero else np.rint(number)
            integers[e] = np.int64(min(max(number, -largest), largest))
    return n_outside, n_not_finite


def bucket_shift(n_places: int, place_bytes: int) -> int:
    """Places i >> shift are one bucket."""
    shift = max((BUCKET_BYTES // max(place_bytes, 1)).bit_length() - 1, 0)
    while n_places >> shift > MOST_BUCKETS:
        shift += 1
    return shift


def sort_by_place(
    where: Integers, which: Integers, integers: Integers, n_places: int, shift: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The same updates, those of one bucket of places together: a counting sort."""
    out = np.empty_like(where), np.empty_like(which), np.empty_like(integers)
    _sort(where, which, integers, np.zeros((n_places >> shift) + 2, np.int64), shift, *out)
    return out


@compiled
def _sort(
    where: Integers, which: Integers, integers: Integers, ends: Integers, shift: int,
    where_out: Integers, which_out: Integers, integers_out: Integers,
) -> None:  # fmt: skip
    for e in range(len(where)):
        ends[(where[e] >> shift) + 1] += 1
    for b in range(len(ends) - 1):
        ends[b + 1] += ends[b]
    for e in range(len(where)):
        b = where[e] >> shift
        at = ends[b]
        ends[b] += 1
        where_out[at], which_out[at], integers_out[at] = where[e], which[e], integers[e]
