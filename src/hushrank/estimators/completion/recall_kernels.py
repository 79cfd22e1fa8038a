"""How many of a user's own items models find from the user's others, for all users of a block.

A user's items, in the order of the catalogue, fall into two halves, every second item. Each half in turn is known: the
user's coefficients are computed from it (as in `fold_in`), all listed items but the known ones are scored, and the best
ones make a list. The recall is the share of the hidden half that is on the list, of as many as fit on it.

Recall jumps where two scores change places, so not even the last bit of a score may depend on anything but this user's
items and public numbers: operations have a fixed order, equal scores that of the catalogue.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimators.completion.rating_kernels import RatingArrays
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, gram_of_rows, solve_factorized
from hushrank.linalg.scatter import Bound, IntegerArray, Positions, add_contribution
from hushrank.privacy.mechanisms.vector import GaussianLattice

_UNSEEN, _KNOWN, _HIDDEN = 0, 1, 2
_LANES = 4  # columns that are added to the scores at a time, one after the other


class RankedModels(NamedTuple):
    """Models whose lists are compared, and for whom; public.

    Model v scores an item by base + sum_a z_a U_a over some of the columns of U, with coefficients z of the user that
    solve (U_o^T U_o + penalty + ridge I) z = U_o^T (1 - base_o) for these columns and the known items o.

    Attributes
    ----------
    base : ndarray of shape (n_items,)
    U : ndarray of shape (n_items, k)
        Columns of all models.
    penalty : ndarray of shape (k, k)
        U^T U times the weight of all items.
    ridge : float
    firsts, stops : ndarray of shape (n_models,)
        The columns of a model are those from its first to the one before its stop.
    listed : ndarray of shape (n_listed,)
        Items that can be on a list, rising.
    places : ndarray of shape (n_items,)
        Place of an item among the listed ones, or -1.
    columns : ndarray of shape (k, n_listed)
        U at the listed items, transposed.
    length : int
        Of a list.
    one_in : int
        Of so many users one is asked, by a hash of the own items.
    """

    base: FloatArray
    U: FloatArray
    penalty: FloatArray
    ridge: float
    firsts: IntegerArray
    stops: IntegerArray
    listed: Positions
    places: Positions
    columns: FloatArray
    length: int
    one_in: int


class Scratch(NamedTuple):
    """Memory of one user's lists, written before it is read."""

    A: FloatArray
    S: FloatArray
    L: FloatArray
    z: FloatArray
    scores: FloatArray
    marks: NDArray[np.int8]
    best: FloatArray
    found: IntegerArray


def sum_recall_gains(block: UserBlock, state: tuple[RankedModels, GaussianLattice]) -> IntegerArray:
    """Sum over users of the recall of all models but the first, less that of the first."""
    models, lattice = state
    total = np.zeros((1, len(models.firsts) - 1), np.int64)
    bound = Bound(lattice.norm_bound, float(lattice.squared_bound), lattice.lowest)
    add_recall_gains(RatingArrays(block.indptr, block.items, block.values), models, bound, total)
    return np.asarray(total[0])


@compiled
def add_recall_gains(ratings: RatingArrays, models: RankedModels, bound: Bound, total: IntegerArray) -> None:
    """Add every user's recall of each model from the second on, less that of the first; total is (1, n_models - 1).

    A user with fewer than two items, or who is not asked, adds nothing. Values of ratings are not read.
    """
    n_models, k, n_listed = len(models.firsts), models.U.shape[1], len(models.listed)
    A, S, L, z = np.empty((k, k)), np.empty((k, k)), np.empty((k, k)), np.empty(k)
    scores, marks = np.empty(n_listed), np.empty(n_listed, np.int8)
    best, found = np.empty(models.length), np.empty(models.length, np.int64)
    scratch = Scratch(A, S, L, z, scores, marks, best, found)
    recalls, G, row = np.empty(n_models), np.empty((1, n_models - 1)), np.zeros(1, np.int32)
    for i in range(len(ratings.indptr) - 1):
        own = ratings.items[ratings.indptr[i] : ratings.indptr[i + 1]]
        if len(own) < 2 or not is_asked(own, models.one_in):
            continue
        find_recalls(own, models, scratch, recalls)
        for v in range(1, n_models):
            G[0, v - 1] = recalls[v] - recalls[0]
        add_contribution(G, 1, row, bound, total)


@compiled
def is_asked(own: Positions, one_in: int) -> bool:
    """Whether a user with these items is among those that are asked, one in so many of all sets of items."""
    state = np.uint64(0x9E3779B97F4A7C15)
    for j in own:
        state = (state ^ np.uint64(j)) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(32)
    return bool(state % np.uint64(one_in) == np.uint64(0))


@compiled
def find_recalls(own: Positions, models: RankedModels, scratch: Scratch, recalls: FloatArray) -> None:
    """Fill in the recall of every model for one user with at least two items, the mean of both halves."""
    recalls[:] = 0.0
    for half in range(2):
        known = own[half::2]
        n_hidden = min(len(own) - len(known), models.length)
        mark_items(own, half, models.places, scratch.marks)
        gram_of_rows(models.U, known, scratch.A)
        for v in range(len(recalls)):
            fold_in_half(known, models, v, scratch)
            score_items(models, v, scratch.z, scratch.scores)
            recalls[v] += 0.5 * count_found(scratch) / n_hidden


@compiled
def mark_items(own: Positions, half: int, places: Positions, marks: NDArray[np.int8]) -> None:
    """Mark the listed items as known, hidden or neither."""
    marks[:] = _UNSEEN
    for t in range(len(own)):
        place = places[own[t]]
        if place >= 0:
            marks[place] = _KNOWN if t % 2 == half else _HIDDEN


@compiled
def fold_in_half(known: Positions, models: RankedModels, v: int, scratch: Scratch) -> None:
    """Fill z with a user's coefficients for the columns of model v; zeros where they cannot be solved for.

    A is the Gram matrix of all columns at the known items.
    """
    first, stop = models.firsts[v], models.stops[v]
    width = stop - first
    S, L, z = scratch.S[:width, :width], scratch.L[:width, :width], scratch.z[:width]
    for a in range(width):
        z[a] = 0.0
        for b in range(width):
            S[a, b] = scratch.A[first + a, first + b] + models.penalty[first + a, first + b]
    if not factorize(S, models.ridge, L):
        return
    for j in known:
        r = 1.0 - models.base[j]
        for a in range(width):
            z[a] += models.U[j, first + a] * r
    solve_factorized(L, z)


@compiled
def score_items(models: RankedModels, v: int, z: FloatArray, scores: FloatArray) -> None:
    """Fill in the scores of the listed items: the base, and the columns of model v one after the other."""
    columns, first, stop = models.columns, models.firsts[v], models.stops[v]
    for t in range(len(scores)):
        scores[t] = models.base[models.listed[t]]
    whole = first + (stop - first) // _LANES * _LANES
    for a in range(first, whole, _LANES):
        z0, z1, z2, z3 = z[a - first], z[a - first + 1], z[a - first + 2], z[a - first + 3]
        c0, c1, c2, c3 = columns[a], columns[a + 1], columns[a + 2], columns[a + 3]
        for t in range(len(scores)):
            scores[t] = (((scores[t] + z0 * c0[t]) + z1 * c1[t]) + z2 * c2[t]) + z3 * c3[t]
    for a in range(whole, stop):
        last, column = z[a - first], columns[a]
        for t in range(len(scores)):
            scores[t] += last * column[t]


@compiled
def count_found(scratch: Scratch) -> int:
    """Hidden items among the best that are not known; of equal ones the first in the catalogue are better."""
    scores, marks, best, found = scratch.scores, scratch.marks, scratch.best, scratch.found
    length, n, least = len(best), 0, -math.inf
    for t in range(len(scores)):
        if marks[t] == _KNOWN or not (n < length or scores[t] > least):
            continue
        place = n if n < length else length - 1
        while place > 0 and best[place - 1] < scores[t]:
            best[place], found[place] = best[place - 1], found[place - 1]
            place -= 1
        best[place], found[place] = scores[t], t
        n = min(n + 1, length)
        least = best[n - 1]
    hits = 0
    for place in range(n):
        hits += marks[found[place]] == _HIDDEN
    return hits
