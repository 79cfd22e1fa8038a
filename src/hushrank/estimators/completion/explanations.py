"""Why an item is recommended: what of it a user likes, by the user's own slopes on public features.

The user's own computation, like the recommendations.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.feature_texts import SQUARE, WORD
from hushrank.data.ratings.item_features import ItemFeatures

FloatArray = NDArray[np.float64]
Reasons = tuple[str, ...]

MOST_REASONS = 2
_LEAST_PART = 1 / 3  # of the largest contribution, from which on another one is told


def reasons_for(
    features: ItemFeatures, slopes: FloatArray, positions: Sequence[int] | NDArray[np.int64]
) -> list[Reasons]:
    """What speaks for each of some items, the most important first.

    Parameters
    ----------
    features : ItemFeatures
    slopes : ndarray of shape (n_columns,)
        Of one user, on the features as they were given.
    positions : sequence of int
        Items.

    Returns
    -------
    list of tuples
        Names of at most two features: words that the item has, "high", "low" or "typical" before a number. Empty where
        nothing about the item speaks for it.
    """
    names = np.array([*features.names, None], object)[:-1]
    is_word = np.array([column.kind == WORD for column in features.columns])
    squares = np.array([j for j, column in enumerate(features.columns) if column.kind == SQUARE], np.int64)
    found = []
    for position in positions:
        deviation = features.values[position] - features.typical
        parts = np.where(is_word & (deviation <= 0.0), 0.0, slopes * deviation)  # what an item is not is no reason
        is_typical = np.zeros(len(parts), np.bool_)
        is_typical[squares - 1] = (deviation[squares] < 0.0) & (parts[squares] > parts[squares - 1])
        parts[squares - 1] += parts[squares]  # a number and its square are one fact
        parts[squares] = 0.0
        best = np.argsort(-parts, kind="stable")[:MOST_REASONS]
        told = [j for j in best if parts[j] > 0.0 and parts[j] >= _LEAST_PART * parts[best[0]]]
        sides = np.where(is_typical, "typical", np.where(deviation > 0.0, "high", "low"))
        found.append(tuple(names[j] if is_word[j] else f"{sides[j]} {_named(names[j])}" for j in told))
    return found


def _named(name: str) -> str:
    return f"feature {name}" if name.isdecimal() else name  # a column of an array has a number alone
