"""Release of many second-moment matrices at once, to which every person contributes within one joint bound.

Statistic  S_j = sum over people of y_j y_j^T for j = 1..n, integer rows with sum_j |y_j|_2^4 <= T^2 for every person.
Release    every S_j + noise, independent on and below the diagonals: round(2^k N) off them, round(2^k (N1 + N2)) on
           them; one event for the whole stack.
Privacy    docs/privacy/als.md, Lemma 1 (sensitivity) and Theorem 2: the lattice of one second-moment matrix, whose rows
           satisfy |y|_2^2 <= T, has the right numbers for the stack.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.symmetric import (
    SymmetricLattice,
    check_symmetric_lattice,
    second_moment_frobenius_sensitivity,
)
from hushrank.privacy.mechanisms.totals import check_total
from hushrank.privacy.noise.deviates import Integers, add_normals
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import normal_law
from hushrank.privacy.noise.linear import round_linear
from hushrank.privacy.noise.source import NoiseSource

_ENTRIES_AT_A_TIME = 1 << 18


def stack_frobenius_sensitivity(quartic_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of the stack where (sum_j |y_j|^4)^(1/4) <= quartic_norm for every person (Lemma 1).

    The same as for one matrix and rows of this norm, which is a stack of one.
    """
    return second_moment_frobenius_sensitivity(quartic_norm, neighbors)


def release_symmetric_stack(total: Integers, lattice: SymmetricLattice, noise: NoiseSource) -> NDArray[np.float64]:
    """Release a stack of symmetric integer matrices in the squared units of the data.

    Parameters
    ----------
    total : int64 array of shape (n_matrices, size * (size + 1) / 2)
        Lower triangles, row after row, diagonals included: the order of `numpy.tril_indices`.
    lattice : SymmetricLattice
        Of real rows; its `row_norm` bounds the fourth root of sum_j |y_j|^4 of a person, its `squared_bound` the square
        root of that sum in integers.
    noise : NoiseSource

    Returns
    -------
    released : ndarray of the same shape
    """
    owner = "release_symmetric_stack"
    check_symmetric_lattice(lattice, Field.REAL, owner)
    secret = check_total(total, owner, ndim=2)
    diagonal = _diagonal_positions(secret.shape[1], owner)
    stream = noise.begin(lattice.event, lattice.neighbors)
    released = np.empty(secret.shape)
    step = max(_ENTRIES_AT_A_TIME // secret.shape[1], 1)
    for start in range(0, len(secret), step):  # a few matrices at a time: a second stack may not fit
        part = secret[start : start + step]
        drawn = _draw_noise(part.shape, diagonal, lattice.exponent, stream)
        drawn += part  # integers: the same as rounding total + noise once
        np.multiply(drawn, lattice.unit, out=released[start : start + step])
    return released


def _diagonal_positions(n_entries: int, owner: str) -> NDArray[np.intp]:
    """Where the diagonal lies among the `n_entries` of a triangle."""
    size = (math.isqrt(8 * n_entries + 1) - 1) // 2
    if n_entries < 1 or size * (size + 1) != 2 * n_entries:
        raise InvalidParameter(owner, "total", "triangles of square matrices, one a row", f"{n_entries} columns")
    row = np.arange(size)
    return row * (row + 3) // 2


def _draw_noise(
    shape: tuple[int, ...], diagonal: NDArray[np.intp], exponent: int, stream: Keystream
) -> NDArray[np.int64]:
    """Independent integers: round(2^k N), and round(2^k (N1 + N2)) in the columns of the diagonal."""
    drawn = np.zeros(shape, np.int64)
    add_normals(drawn, exponent, stream)
    n_pairs = shape[0] * len(diagonal)
    pairs = ExtensibleDeviates(normal_law(), n_pairs, 2, stream)
    sums = round_linear(np.full((1, 2), 2.0**exponent), pairs, np.zeros((1, n_pairs), np.int64))
    drawn[:, diagonal] = sums.reshape(shape[0], len(diagonal))
    return drawn
