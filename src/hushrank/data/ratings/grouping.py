"""Ratings grouped by user: the users of a block one after the other, each with rising items and no item twice.

Several ratings of one item by one user count as their mean, taken in rising order of the values. The bits of a user's
ratings thus depend on nothing but these ratings: neither on the order of the rows nor on other users. Data that exceed
a share of the memory are first parted by user, see `hushrank.data.ratings.out_of_core`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.rating_range import Range
from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS, spans_of_people
from hushrank.linalg.quantize import compiled

MAX_BLOCK_RATINGS = MAX_BLOCK_BYTES // 8

# One rating: code of the user, position of the item (-1: the user has no rating in this row), value in [-1, 1].
RATING = np.dtype([("user", np.int32), ("item", np.int32), ("value", np.float64)], align=True)


@dataclass(frozen=True, slots=True, eq=False)
class UserBlock:
    """Ratings of consecutive users.

    Attributes
    ----------
    indptr : ndarray of shape (n_users + 1,)
        Where the ratings of each user start and end, int64; the first is 0.
    items : ndarray of shape (n_ratings,)
        Positions in the catalogue, int32, strictly rising within a user.
    values : ndarray of shape (n_ratings,)
        Ratings in [-1, 1], float32; 1 for implicit feedback.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        """Number of users, those without ratings among them."""
        return len(self.indptr) - 1


def no_users() -> UserBlock:
    """A block without users."""
    return UserBlock(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))


def cut_users(users: UserBlock, max_rows: int) -> Iterator[UserBlock]:
    """Blocks of consecutive users, views: at most `max_rows` and 8192 and, unless of one user, 2^22 ratings."""
    for start, stop in user_spans(users.indptr, min(max_rows, MAX_BLOCK_ROWS)):
        part = slice(users.indptr[start], users.indptr[stop])
        yield UserBlock(users.indptr[start : stop + 1] - users.indptr[start], users.items[part], users.values[part])


def group_ratings(ratings: NDArray[np.void], n_users: int, n_items: int) -> tuple[UserBlock, int]:
    """Group ratings by user.

    Parameters
    ----------
    ratings : ndarray of shape (n_ratings,)
        Records of the dtype `RATING` in any order. Users are between 0 and n_users - 1, items between -1 and
        n_items - 1, values finite.
    n_users, n_items : int
        Users of the block and items of the catalogue.

    Returns
    -------
    block : UserBlock
        The users in the order of their codes.
    n_repeated : int
        Ratings that were merged into another of the same user and item.
    """
    indptr, items = np.zeros(n_users + 1, np.int64), np.empty(len(ratings), np.int32)
    values = np.empty(len(ratings), np.float32)
    if not _is_grouped(ratings):
        # Two stable counting sorts: by item, then by user.
        by_item = np.empty_like(ratings)
        _sort_stably(ratings, "item", n_items, by_item)
        ratings = np.empty_like(by_item)
        _sort_stably(by_item, "user", n_users, ratings)
        del by_item
    n_kept, n_repeated = _merge_repeats(ratings, indptr, items, values)
    return UserBlock(indptr, items[:n_kept], values[:n_kept]), n_repeated


def _sort_stably(ratings: NDArray[np.void], field: str, size: int, out: NDArray[np.void]) -> None:
    """Write the records to `out` in rising order of a field with values between -1 and size - 1."""
    keys = np.ascontiguousarray(ratings[field])
    _place(ratings, keys, np.zeros(size + 2, np.int64), out)


@compiled
def _is_grouped(ratings: NDArray[np.void]) -> bool:
    """Whether users, and within a user items, come in rising order."""
    for i in range(1, len(ratings)):
        if ratings[i].user < ratings[i - 1].user:
            return False
        if ratings[i].user == ratings[i - 1].user and ratings[i].item < ratings[i - 1].item:
            return False
    return True


@compiled
def _place(
    ratings: NDArray[np.void], keys: NDArray[np.int32], starts: NDArray[np.int64], out: NDArray[np.void]
) -> None:
    """Stable counting sort; `starts` is zero and two longer than the number of keys from 0 on."""
    for key in keys:
        starts[key + 2] += 1
    for key in range(1, len(starts)):
        starts[key] += starts[key - 1]
    for i in range(len(ratings)):
        place = starts[keys[i] + 1]
        out[place] = ratings[i]
        starts[keys[i] + 1] += 1


@compiled
def _merge_repeats(
    ratings: NDArray[np.void], indptr: NDArray[np.int64], items: NDArray[np.int32], values: NDArray[np.float32]
) -> tuple[int, int]:
    """Fill a block from sorted ratings; how many it has, and how many were merged into others."""
    n_kept = n_repeated = start = 0
    while start < len(ratings):
        user, item = ratings[start].user, ratings[start].item
        stop = start + 1
        while stop < len(ratings) and ratings[stop].user == user and ratings[stop].item == item:
            stop += 1
        if item >= 0:
            total = ratings[start].value
            if stop > start + 1:
                total = 0.0
                for value in np.sort(ratings["value"][start:stop].copy()):
                    total += value
                n_repeated += stop - start - 1
            items[n_kept], values[n_kept] = item, total / (stop - start)
            n_kept += 1
            indptr[user + 1] += 1
        start = stop
    for user in range(1, len(indptr)):
        indptr[user] += indptr[user - 1]
    return n_kept, n_repeated


@dataclass
class Tally:
    """How many ratings were touched while they were read; for the data holder only."""

    n_read: int = 0
    n_without_user: int = 0
    n_unknown: int = 0
    n_not_finite: int = 0
    n_clipped: int = 0
    n_repeated: int = 0

    def see(self, items: NDArray[np.int64], ratings: NDArray[np.float64]) -> None:
        """Nothing more: a check of the data looks at values, a fit does not."""

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Tally)))

    def __str__(self) -> str:
        return (
            f"Not private: {self.n_read:,} ratings read; {self.n_not_finite:,} not finite, {self.n_unknown:,} of "
            f"unknown items and {self.n_without_user:,} without a user or unreadable were ignored, {self.n_clipped:,} "
            f"clipped to the range; {self.n_repeated:,} were repeated and count with others as one mean."
        )


def scale_ratings(
    users: NDArray[np.int32],
    items: NDArray[np.int64],
    ratings: NDArray[np.float64],
    rating_range: Range | None,
    tally: Tally,
) -> NDArray[np.void]:
    """Records of ratings clipped to their public range and mapped to [-1, 1].

    Parameters
    ----------
    users : ndarray of shape (n_ratings,)
        Codes of users; rows without one, -1, are left out.
    items : ndarray of shape (n_ratings,)
        Positions of items, -1 for unknown ones.
    ratings : ndarray of shape (n_ratings,)
        Anything. One that is not finite, or of an unknown item, leaves a record that only says that its user exists.
    rating_range : pair of floats or None
        Lowest and highest rating; they become -1 and 1. None for implicit feedback: every finite rating becomes 1.
    tally : Tally
        Counts to which those of these ratings are added.

    Returns
    -------
    records : ndarray of shape (n_records,)
        For `group_ratings`.
    """
    if not len(users) == len(items) == len(ratings):  # the compiled loop would read past the end
        raise ValueError(f"as many items and ratings as users; got {len(users)}, {len(items)}, {len(ratings)}.")
    low, high = (-1.0, 1.0) if rating_range is None else rating_range
    records, counts = np.empty(len(users), RATING), np.zeros(4, np.int64)
    n_records = _scale(users, items, ratings, low, high, rating_range is None, records, counts)
    tally.see(items, ratings)
    tally.n_read += len(users)
    tally.n_without_user += int(counts[0])
    tally.n_unknown += int(counts[1])
    tally.n_not_finite += int(counts[2])
    tally.n_clipped += int(counts[3])
    return records[:n_records]


@compiled
def _scale(
    users: NDArray[np.int32],
    items: NDArray[np.int64],
    ratings: NDArray[np.float64],
    low: float,
    high: float,
    is_implicit: bool,
    records: NDArray[np.void],
    counts: NDArray[np.int64],
) -> int:
    """Fill records and counts (without a user, of unknown items, not finite, clipped); the number of records."""
    # Halved first: the difference of two finite numbers may be infinite.
    middle, half, n_records = low / 2 + high / 2, high / 2 - low / 2, 0
    for i in range(len(users)):
        if users[i] < 0:
            counts[0] += 1
            continue
        item, value = items[i], 0.0
        if item < 0:
            counts[1] += 1
        elif not np.isfinite(ratings[i]):
            counts[2] += 1
            item = -1
        elif is_implicit:
            value = 1.0
        else:
            clipped = min(max(ratings[i], low), high)
            counts[3] += clipped != ratings[i]
            value = min(max((clipped - middle) / half, -1.0), 1.0)
        record = records[n_records]
        record.user, record.item, record.value = users[i], item, value
        n_records += 1
    return n_records


def user_spans(indptr: NDArray[np.int64], max_rows: int) -> Iterator[tuple[int, int]]:
    """Consecutive users, at most so many and, unless it is one, of no more than 2^22 ratings together."""
    return spans_of_people(indptr, max_rows, MAX_BLOCK_RATINGS)
