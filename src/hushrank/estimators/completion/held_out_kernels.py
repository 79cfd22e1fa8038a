"""How well each user's held-out ratings are predicted and found, from public parameters and this user's other ratings.

Recall jumps where two scores change places, so not even the last bit of a score may depend on anything but this user's
ratings and public numbers: operations have a fixed order, equal scores that of the catalogue.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.rating_kernels import RatingArrays
from hushrank.estimators.completion.recall_kernels import Scratch, count_found
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Positions

_UNSEEN, _KNOWN, _HIDDEN = 0, 1, 2  # as `count_found` has them


class Scorer(NamedTuple):
    """What predicts ratings and orders items; public.

    Attributes
    ----------
    expected : ndarray of shape (n_items,)
        Predicted ratings, in units where ratings lie in [-1, 1], of a user without coefficients.
    order : ndarray of shape (n_items,)
        By which items are listed for such a user.
    columns : ndarray of shape (k, n_items)
        What a user's k coefficients add to both.
    """

    expected: FloatArray
    order: FloatArray
    columns: FloatArray


@compiled
def measure_users(
    history: RatingArrays,
    held_out: RatingArrays,
    scorer: Scorer,
    Z: FloatArray,
    length: int,
    errors: FloatArray,
    recalls: FloatArray,
) -> None:
    """Fill in every user's sum of squared errors and recall.

    An error counts in widths of the range of ratings, so that it is between 0 and 1. Recall is about the held-out items
    that the user liked, those rated above the middle of the range: the share of them on a list of the best `length`
    items outside the history, of as many as fit on it. Both are 0 for a user of whom nothing is held out.

    Parameters
    ----------
    history, held_out : RatingArrays
        Of the same users; rising items, none in both.
    scorer : Scorer
    Z : ndarray of shape (n_users, k)
        Coefficients of the users.
    length : int
        At most the number of items.
    errors, recalls : ndarray of shape (n_users,)
    """
    n_items = len(scorer.order)
    scores, marks = np.empty(n_items), np.empty(n_items, np.int8)
    nothing = np.empty((0, 0))
    best, found = np.empty(length), np.empty(length, np.int64)
    scratch = Scratch(nothing, nothing, nothing, np.empty(0), scores, marks, best, found)
    for i in range(len(errors)):
        known = history.items[history.indptr[i] : history.indptr[i + 1]]
        wanted = held_out.items[held_out.indptr[i] : held_out.indptr[i + 1]]
        values = held_out.values[held_out.indptr[i] : held_out.indptr[i + 1]]
        errors[i] = sum_errors(wanted, values, scorer, Z[i])
        n_liked = count_liked(values)
        recalls[i] = 0.0
        if n_liked > 0:
            score_all(scorer, Z[i], scores)
            mark_known_and_liked(known, wanted, values, marks)
            recalls[i] = count_found(scratch) / min(n_liked, length)


@compiled
def sum_errors(wanted: Positions, values: NDArray[np.float32], scorer: Scorer, z: FloatArray) -> float:
    """Sum of squared errors; predictions are clipped to the range of ratings."""
    total = 0.0
    for t in range(len(wanted)):
        predicted = scorer.expected[wanted[t]]
        for a in range(len(z)):
            predicted += z[a] * scorer.columns[a, wanted[t]]
        if not -1.0 <= predicted <= 1.0:
            predicted = 1.0 if predicted > 1.0 else (-1.0 if predicted < -1.0 else 0.0)
        half = 0.5 * (values[t] - predicted)
        total += half * half
    return total


@compiled
def count_liked(values: NDArray[np.float32]) -> int:
    """Ratings above the middle of the range."""
    n_liked = 0
    for value in values:
        n_liked += value > 0.0
    return n_liked


@compiled
def count_liked_of_users(held_out: RatingArrays, numbers: FloatArray) -> None:
    """Fill in how many held-out items every user liked."""
    for i in range(len(numbers)):
        numbers[i] = count_liked(held_out.values[held_out.indptr[i] : held_out.indptr[i + 1]])


@compiled
def score_all(scorer: Scorer, z: FloatArray, scores: FloatArray) -> None:
    """Scores of all items, one column after the other."""
    scores[:] = scorer.order
    for a in range(len(z)):
        coefficient, column = z[a], scorer.columns[a]
        for j in range(len(scores)):
            scores[j] += coefficient * column[j]


@compiled
def mark_known_and_liked(
    known: Positions, wanted: Positions, values: NDArray[np.float32], marks: NDArray[np.int8]
) -> None:
    """Mark items of the history, which are not listed, and those that should be found."""
    marks[:] = _UNSEEN
    for j in known:
        marks[j] = _KNOWN
    for t in range(len(wanted)):
        if values[t] > 0.0:
            marks[wanted[t]] = _HIDDEN
