"""Ratings held out for an evaluation: which of a user's ratings these are depends on this user's ratings alone.

So one person who is replaced, added or removed changes neither the history nor the held-out ratings of anybody else,
and neighboring tables stay neighbors when they are split.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.grouping import Tally, UserBlock
from hushrank.data.ratings.rating_range import Range
from hushrank.data.ratings.reading import Ratings
from hushrank.linalg.quantize import compiled


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """A rule that holds some of everybody's ratings out.

    A user with n ratings has round(share n) of them held out, at least 1 and at most `most`; the only rating of a user
    is never held out. Which ones is decided by a hash of the seed and of the items that this user has rated.

    Attributes
    ----------
    share : float
        Between 0 and 1, both excluded.
    most : int
        Ratings of one user that are held out at most.
    seed : int
        Another one holds out others; public.

    Examples
    --------
    >>> block = UserBlock(np.array([0, 1, 6]), np.array([3, 0, 1, 2, 5, 9], np.int32), np.ones(6, np.float32))
    >>> history, held_out = LeaveOut(share=0.4, most=5, seed=0).split(block)
    >>> history.indptr.tolist(), held_out.indptr.tolist()
    ([0, 1, 4], [0, 0, 2])
    """

    share: float
    most: int
    seed: int

    def split(self, block: UserBlock) -> tuple[UserBlock, UserBlock]:
        """What is known about each user of a block, and what is held out, both in the order of the block."""
        is_held = np.zeros(len(block.items), np.bool_)
        _hold_out(block.indptr, block.items, self.share, self.most, np.uint64(self.seed), is_held)
        return _part(block, ~is_held), _part(block, is_held)


def history_of(ratings: Any, rule: LeaveOut, rating_range: Range | None, catalogue: Catalogue | None) -> Ratings:
    """What is left of ratings when the rule has held out its part; read when it is asked for.

    Parameters
    ----------
    ratings : Ratings or another source of users
    rule : LeaveOut
    rating_range : pair of floats or None
        What the ratings were read with; None for implicit feedback.
    catalogue : Catalogue or None
        The ids of the items, where there are any.
    """
    return Ratings(_History(ratings, rule), ratings.n_items, None, rating_range, catalogue)


class _History:
    """The origin of a part of other ratings."""

    n_users: int | None = None

    def __init__(self, ratings: Any, rule: LeaveOut) -> None:
        self._ratings, self._rule = ratings, rule

    def read(self, tally: Tally) -> UserBlock:
        """All users, those of whom nothing is left among them."""
        parts = [self._rule.split(block)[0] for block in self._ratings.blocks()]
        parts = parts or [self._ratings.empty_block()]
        numbers = np.concatenate([np.diff(part.indptr) for part in parts])
        items, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("items", "values"))
        tally.n_read += len(items)
        return UserBlock(np.append(0, np.cumsum(numbers)).astype(np.int64), items, values)

    def pieces(self, enough: int) -> None:
        """The rule is applied here."""
        return None


def _part(block: UserBlock, kept: NDArray[np.bool_]) -> UserBlock:
    indptr = np.append(0, np.cumsum(kept))[block.indptr]
    return UserBlock(indptr.astype(np.int64), block.items[kept], block.values[kept])


@compiled
def _hold_out(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    share: float,
    most: int,
    seed: np.uint64,
    is_held: NDArray[np.bool_],
) -> None:
    """Mark the ratings with the smallest keys of every user."""
    for user in range(len(indptr) - 1):
        start, n = indptr[user], indptr[user + 1] - indptr[user]
        if n < 2:
            continue
        state = _mixed(seed)
        for k in range(start, start + n):
            state = _mixed(state ^ np.uint64(items[k]))
        keys = np.empty(n, np.uint64)
        for k in range(n):  # all different: mixing has an inverse
            keys[k] = _mixed(state ^ np.uint64(k + 1))
        n_held = min(max(int(share * n + 0.5), 1), most, n - 1)
        for k in np.argsort(keys)[:n_held]:
            is_held[start + k] = True


@compiled
def _mixed(state: np.uint64) -> np.uint64:
    """One step of SplitMix64."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
