"""Sums over rows: kernels that map a block to lattice integers, one for every release of a second moment.

Each row is bounded and rounded alone, before the sum; totals are exact. Kernels return integer arrays, the last of
which is the tally of rows: all, not finite, shortened.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from hushrank.estimator import called
from hushrank.linalg.framed_sums import framed_moments, framed_sum
from hushrank.linalg.histogram import integer_histogram
from hushrank.linalg.integer_sums import (
    hermitian_parts,
    integer_gram,
    integer_gram_complex,
    integer_sum,
    integer_sum_l1,
)
from hushrank.linalg.quantize import FloatArray, new_tally
from hushrank.linalg.row_frames import Frame, row_norms
from hushrank.linalg.spectral import Matrix
from hushrank.privacy.mechanisms.exponential import ScoreLattice
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import GramLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice, VectorLattice

_LOW_BITS = 24
_LOW_MASK = (1 << _LOW_BITS) - 1


@called("center")
def sum_rows(block: Any, lattice: VectorLattice) -> tuple[Any, Any]:
    """Sum of the rows."""
    tally = new_tally()
    if isinstance(lattice, GaussianLattice):
        return integer_sum(block, lattice, tally=tally), tally
    return integer_sum_l1(block, lattice.norm_bound, lattice.l1_bound, tally=tally), tally


@called("center")
def sum_complex_rows(block: Any, lattice: VectorLattice) -> tuple[Any, Any]:
    """Sum of complex rows as real ones of twice the length, real parts before imaginary parts."""
    return sum_rows(np.hstack([np.real(block), np.imag(block)]), lattice)


@called("second moment")
def sum_products(block: Any, state: tuple[Any, GramLattice | ScoreLattice]) -> tuple[Any, ...]:
    """Gram matrix of the centered rows; for the complex field its real part and its imaginary part."""
    center, lattice = state
    tally = new_tally()
    if center is not None:
        with np.errstate(all="ignore"):  # values are never an error: what overflows becomes a row of zeros
            block = np.subtract(block, center, dtype=np.result_type(block, center, np.float64))
    if lattice.field is Field.REAL:
        return integer_gram(block, lattice.row_norm, lattice.squared_bound, tally=tally), tally
    return *integer_gram_complex(block, lattice.row_norm, lattice.squared_bound, tally=tally), tally


@called("second moment")
def sum_wide_products(block: Any, state: tuple[Any, ScoreLattice]) -> tuple[Any, ...]:
    """The same in two words for every entry: high words, then low words.

    A total of one word wraps modulo 2^64, which additive noise allows and a score does not. Two words hold 2^51 rows.
    """
    *parts, tally = sum_products(block, state)
    return (*_split_words(parts), tally)


def _split_words(parts: Iterable[Any]) -> tuple[Any, ...]:
    """High words of all parts, then low words."""
    held = tuple(parts)
    return (*(part >> _LOW_BITS for part in held), *(part & _LOW_MASK for part in held))


def join_words(words: tuple[Any, ...], lattice: ScoreLattice) -> Matrix:
    """The matrix in the squared units of the data, from the totals of `sum_wide_products` without the tally."""
    half = len(words) // 2
    parts = []
    for high, low in zip(words[:half], words[half:], strict=True):
        carried = high + (low >> _LOW_BITS)  # the same pair for any split of the rows into blocks
        parts.append((carried * 2.0**_LOW_BITS + (low & _LOW_MASK)) * lattice.unit)
    joined: Matrix = parts[0] if half == 1 else parts[0] + 1j * parts[1]
    return joined


def shorten(vector: Matrix, bound: float) -> Matrix:
    """The vector, or the multiple of it that has norm `bound` if it is longer."""
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        return vector
    norm = float(np.linalg.norm(vector / largest))  # times largest; the product may overflow, this does not
    return vector * min(1.0, bound / largest / norm)


@called("radius")
def count_norms(block: Any, state: tuple[Frame, tuple[int, ...], tuple[FloatArray, ...]]) -> tuple[Any, ...]:
    """Rows in the cells of a grid of norms, for each power and its grid; rows that are not finite have norm 0."""
    frame, powers, grids = state
    norms = row_norms(block, frame, powers)
    return tuple(integer_histogram(values, grid) for values, grid in zip(norms, grids, strict=True))


@called("sums of columns")
def sum_entries(block: Any, state: tuple[Frame, VectorLattice, str]) -> tuple[Any, Any]:
    """Sum of rows in a frame, or of the magnitudes of their entries, and the tally."""
    frame, lattice, entries = state
    tally = new_tally()
    if isinstance(lattice, GaussianLattice):
        terms = (lattice.norm_bound, lattice.squared_bound, 2)
    else:
        terms = (lattice.norm_bound, lattice.l1_bound, 1)
    return framed_sum(block, frame, *terms, tally, entries), tally


@called("center")
def sum_within(block: Any, state: tuple[Frame, float, int]) -> tuple[Any, Any]:
    """Sum of rows in a frame, shortened to a radius that is sqrt(bound) integer units, and the tally."""
    frame, radius, bound = state
    tally = new_tally()
    return framed_sum(block, frame, radius, bound, 2, tally), tally


@called("scales of columns")
def sum_squares(block: Any, state: tuple[Frame, float, int]) -> tuple[Any, Any]:
    """Sum of the squared entries of rows in a frame, shortened to a radius that is sqrt(bound) integer units."""
    frame, radius, bound = state
    tally = new_tally()
    return framed_sum(block, frame, radius, bound, 2, tally, "squares"), tally


@called("second moment")
def sum_moments(block: Any, state: tuple[Frame, float, int, Field]) -> tuple[Any, ...]:
    """Gram matrix (complex: its real and its imaginary part) and sum of rows in a frame, and the tally."""
    frame, radius, squared_bound, field = state
    tally = new_tally()
    gram, total = framed_moments(block, frame, radius, squared_bound, tally)
    if field is Field.REAL:
        return gram, total, tally
    return *hermitian_parts(gram), total, tally


@called("second moment")
def sum_wide_moments(block: Any, state: tuple[Frame, float, int, Field]) -> tuple[Any, ...]:
    """The Gram matrix in two words for every entry, as `sum_wide_products`."""
    *parts, _, tally = sum_moments(block, state)
    return (*_split_words(parts), tally)


def augment(parts: tuple[Any, ...], total: Any, tally: Any, offset: int) -> tuple[Any, ...]:
    """Totals of rows (y, offset) from those of rows y: one more row and column of each part of the Gram matrix.

    Rows that are not finite are zero in the last entry too.
    """
    d = len(parts[0])
    augmented = tuple(np.zeros((d + 1, d + 1), np.int64) for _ in parts)
    for i, (gram, wider) in enumerate(zip(parts, augmented, strict=True)):
        wider[:d, :d] = gram
        wider[:d, d] = offset * total[i * d : (i + 1) * d]
        wider[d, :d] = wider[:d, d] * (-1 if i else 1)  # the imaginary part is antisymmetric
    augmented[0][d, d] = offset**2 * (tally[0] - tally[1])
    return augmented
