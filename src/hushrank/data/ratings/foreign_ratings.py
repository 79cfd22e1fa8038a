"""Ratings that somebody else's class hands out: brought into the form that sensitivities rest on, a block at a time."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.numbers import convert
from hushrank.data.ratings.grouping import RATING, UserBlock, group_ratings
from hushrank.data.source import MAX_BLOCK_ROWS, Source
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.quantize import compiled

_DTYPES = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float32))
_RATINGS = "ratings: a table, a matrix or the path of a file"
_FORM = "blocks of users: indptr from 0 on to the number of ratings, never falling, and as many items as values"


class ForeignRatings(Source):
    """Blocks of another source of ratings, each with rising items, none twice, of the catalogue, and values in [-1, 1].

    A block that is not so is grouped anew, as ratings of any other kind are: repeated items count as their mean,
    values are clipped, unknown items and values that are not finite are ignored. That is what bounds a user's
    contribution; a value never raises.

    Parameters
    ----------
    source : Source
        With blocks like `UserBlock`, a size n_items and an attribute `n_users`.
    owner : str
        Who asks, for error messages.
    """

    def __init__(self, source: Any, owner: str) -> None:
        # Looked up in the class: the number of users itself is not asked for before it is paid for.
        if not hasattr(type(source), "n_users") or "n_items" not in source.sizes:
            raise InvalidParameter(owner, "X", _RATINGS, type(source).__name__)
        super().__init__(source.n_samples)
        self._source, self._owner = source, owner
        self.n_items, self.can_repeat = int(source.sizes["n_items"]), source.can_repeat

    @property
    def sizes(self) -> Mapping[str, int]:
        """The length of the catalogue."""
        return {"n_items": self.n_items}

    @property
    def n_users(self) -> int:
        """As the source says."""
        return int(self._source.n_users)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """The blocks of the source in their proper form."""
        return (proper_block(block, self.n_items, self._owner) for block in self._source.blocks(max_rows))

    def empty_block(self) -> UserBlock:
        """A block without users."""
        return UserBlock(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))


def proper_block(block: Any, n_items: int, owner: str) -> UserBlock:
    """The block itself if it is as `UserBlock` says, else one made of it; contradicting arrays are refused."""
    indptr, items, values = (np.asarray(getattr(block, name, None)) for name in ("indptr", "items", "values"))
    _check_arrays(indptr, items, values, owner, type(block).__name__)
    if (indptr.dtype, items.dtype, values.dtype) == _DTYPES and _is_proper(indptr, items, values, n_items):
        return UserBlock(indptr, items, values)
    ratings, numbers = np.empty(len(items), RATING), convert(values, np.float64)
    ratings["user"] = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    ratings["item"] = np.where((items >= 0) & (items < n_items) & np.isfinite(numbers), items, -1)
    ratings["value"] = np.clip(np.nan_to_num(numbers), -1.0, 1.0)
    return group_ratings(ratings, len(indptr) - 1, n_items)[0]


def _check_arrays(indptr: Any, items: Any, values: Any, owner: str, got: str) -> None:
    has_kinds = indptr.dtype.kind == items.dtype.kind == "i" and values.dtype.kind in "biuf"
    if has_kinds and indptr.ndim == items.ndim == values.ndim == 1 and len(indptr):
        rises = (indptr[1:] >= indptr[:-1]).all()  # compared, not subtracted: a difference of integers wraps around
        if indptr[0] == 0 and rises and indptr[-1] == len(items) == len(values):
            return
    raise InvalidParameter(owner, "X", _FORM, got)


@compiled
def _is_proper(indptr: NDArray[np.int64], items: NDArray[np.int32], values: NDArray[np.float32], n_items: int) -> bool:
    """Whether items rise within every user and are of the catalogue, and values lie in [-1, 1]."""
    for user in range(len(indptr) - 1):
        before = -1
        for k in range(indptr[user], indptr[user + 1]):
            if not before < items[k] < n_items or not -1.0 <= values[k] <= 1.0:
                return False
            before = items[k]
    return True
