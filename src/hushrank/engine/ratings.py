"""One entry for ratings of all kinds: matrices, tables and files become `Ratings`, read as blocks of whole users.

What may be refused (types, columns, the catalogue, the range of ratings) is checked when `Ratings` are made, before
the data are charged for. Values are never refused: a rating outside its range is clipped, one that is not finite or
of an unknown item is ignored, and the numbers of these go to the log, which is for the data holder.
"""

import logging
import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hushrank.engine.catalogue import Catalogue
from hushrank.engine.grouping import Tally, UserBlock, UserStore, group_ratings, scale_ratings
from hushrank.engine.rows import (
    MAX_BLOCK_BYTES,
    MAX_BLOCK_ROWS,
    ArrayRows,
    Rows,
    check_matrix,
    check_real_rows,
    read_array,
)
from hushrank.exceptions import InvalidParameter

__all__ = ["Ratings", "UserBlock", "read_ratings"]

log = logging.getLogger("hushrank")

MAX_BLOCK_RATINGS = MAX_BLOCK_BYTES // 8

Range = tuple[float, float]
# Any value inside becomes 1 there: how implicit feedback is stored.
_IMPLICIT_RANGE = (-1.0, 1.0)


class Source(Protocol):
    """Where ratings come from."""

    n_users: int | None

    def read(self, tally: Tally) -> UserBlock:
        """All users in one block; adds to the counts of `tally`."""
        ...


class Ratings(Rows):
    """Ratings of users, read and grouped once, when the first block or the number of users is asked for.

    Parameters
    ----------
    source : Source
        Where they come from; let go of after reading.
    n_items : int
        Length of the catalogue.
    n_users : int, optional
        The public number of users.
    is_implicit : bool, default False
        Whether repeated ratings are nothing to warn of.
    """

    def __init__(self, source: Source, n_items: int, n_users: int | None = None, is_implicit: bool = False) -> None:
        super().__init__(n_items, source.n_users)
        self._source: Source | None = source
        self._block: UserBlock | None = None
        self._public_users, self._is_implicit = n_users, is_implicit

    @property
    def n_users(self) -> int:
        """The public number of users if it was given, else those of the data, with or without usable ratings."""
        return len(self._read()) if self._public_users is None else self._public_users

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """Blocks (`UserBlock`) of at most `max_rows` and 8192 users and, unless of one user, 2^22 ratings."""
        all_users = self._read()
        indptr, n_users, start = all_users.indptr, len(all_users), 0
        while start < n_users:
            fits = int(np.searchsorted(indptr, indptr[start] + MAX_BLOCK_RATINGS, "right")) - 1
            stop = max(start + 1, min(fits, start + max_rows, start + MAX_BLOCK_ROWS, n_users))
            ratings = slice(indptr[start], indptr[stop])
            yield UserBlock(
                indptr[start : stop + 1] - indptr[start], all_users.items[ratings], all_users.values[ratings]
            )
            start = stop

    def empty_block(self) -> UserBlock:
        """A block without users."""
        return UserBlock(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))

    def _read(self) -> UserBlock:
        """All users; reads them at the first call."""
        if self._block is None:
            assert self._source is not None
            tally = Tally()
            self._block = self._source.read(tally)
            self._source, self.n_samples = None, len(self._block)
            self._log(tally)
        assert self._block is not None
        return self._block

    def _log(self, tally: Tally) -> None:
        """Tell the data holder what was left out or changed."""
        touched = tally.n_without_user + tally.n_unknown + tally.n_not_finite + tally.n_clipped
        is_odd = touched + (0 if self._is_implicit else tally.n_repeated) > 0
        log.log(
            logging.WARNING if is_odd else logging.INFO,
            "%d ratings read: %d ignored as not finite, %d of unknown items, %d without a user or malformed, "
            "%d clipped to the range, %d repeated and replaced by their mean.",
            tally.n_read,
            tally.n_not_finite,
            tally.n_unknown,
            tally.n_without_user,
            tally.n_clipped,
            tally.n_repeated,
        )
        if self._public_users is not None and self.n_samples is not None and self.n_samples > self._public_users:
            log.warning("%d users found, more than n_users = %d; all were kept.", self.n_samples, self._public_users)


class DenseSource:
    """A matrix of users and items with NaN where there is no rating; zero as well for implicit feedback."""

    def __init__(self, rows: ArrayRows, rating_range: Range, is_implicit: bool) -> None:
        assert rows.n_samples is not None
        self._rows, self._range, self._is_implicit = rows, rating_range, is_implicit
        self.n_users = rows.n_samples

    def read(self, tally: Tally) -> UserBlock:
        """All rows of the matrix."""
        n_items = self._rows.n_features
        max_rows = max(1, MAX_BLOCK_RATINGS // n_items)
        n_ratings = sum(int(self._is_rated(block).sum()) for block in self._rows.blocks(max_rows))
        store = UserStore(self.n_users, n_ratings)
        for block in self._rows.blocks(max_rows):
            rated = self._is_rated(block)
            users, items = np.nonzero(rated)
            ratings = _to_ratings(block[rated], self._is_implicit)
            records = scale_ratings(users.astype(np.int32), items, ratings, self._range, tally)
            store.append(group_ratings(records, len(block), n_items)[0])
        return store.finish()

    def _is_rated(self, block: NDArray[Any]) -> NDArray[np.bool_]:
        rated: NDArray[np.bool_] = ~np.isnan(block)
        return rated & (block != 0) if self._is_implicit else rated


class SparseSource:
    """A sparse matrix of users and items whose stored entries are the ratings; no zeros for implicit feedback."""

    def __init__(self, X: Any, rating_range: Range, is_implicit: bool) -> None:
        self._X, self._range, self._is_implicit = X, rating_range, is_implicit
        self.n_users = X.shape[0]

    def read(self, tally: Tally) -> UserBlock:
        """All stored entries; several of one place count as their mean."""
        X, n_items = self._X.tocsr(), self._X.shape[1]
        users = np.repeat(np.arange(self.n_users, dtype=np.int32), np.diff(X.indptr))
        ratings = _to_ratings(X.data, self._is_implicit)
        records = scale_ratings(users, X.indices.astype(np.int64), ratings, self._range, tally)
        block, n_repeated = group_ratings(records, self.n_users, n_items)
        tally.n_repeated += n_repeated
        return block


def read_ratings(
    data: Any,
    *,
    owner: str,
    items: Any = None,
    rating_range: Any = None,
    n_users: int | None = None,
    is_implicit: bool = False,
) -> Ratings | Rows:
    """Prepare ratings for reading in blocks of users."""
    if isinstance(data, Rows):
        return data
    bounds = _IMPLICIT_RANGE if is_implicit else _check_range(rating_range, owner)
    _check_n_users(n_users, owner)
    catalogue = None if items is None else _to_catalogue(items, owner)
    source: Source
    if scipy.sparse.issparse(data):
        check_matrix(data.dtype, data.shape, owner)
        n_items = data.shape[1]
        source = SparseSource(data, bounds, is_implicit)
    else:
        rows = read_array(data, owner)
        check_real_rows(rows, owner)
        n_items = rows.n_features
        source = DenseSource(rows, bounds, is_implicit)
    if catalogue is not None and len(catalogue) != n_items:
        raise InvalidParameter(owner, "items", f"None or {n_items} ids, one for each column", f"{len(catalogue)} ids")
    return Ratings(source, n_items, n_users, is_implicit)


def _to_ratings(values: NDArray[Any], is_implicit: bool) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        ratings = values.astype(np.float64)
    if is_implicit:
        ratings[np.isfinite(ratings)] = 1.0
    return ratings


def _to_catalogue(items: Any, owner: str) -> Catalogue:
    if isinstance(items, Catalogue):
        return items
    try:
        return Catalogue(items)
    except InvalidParameter as error:
        raise InvalidParameter(owner, "items", error.requirement, error.got) from error


def _check_range(rating_range: Any, owner: str) -> Range:
    requirement = "a pair (lowest, highest) of finite numbers, lowest < highest"
    if not isinstance(rating_range, tuple | list | np.ndarray) or len(rating_range) != 2:
        raise InvalidParameter(owner, "rating_range", requirement, rating_range)
    for bound in rating_range:
        if isinstance(bound, bool) or not isinstance(bound, Real) or not math.isfinite(bound):
            raise InvalidParameter(owner, "rating_range", requirement, rating_range)
    low, high = map(float, rating_range)
    if not high / 2 - low / 2 > 0:
        raise InvalidParameter(owner, "rating_range", requirement, rating_range)
    return low, high


def _check_n_users(n_users: int | None, owner: str) -> None:
    if n_users is not None and (isinstance(n_users, bool) or not isinstance(n_users, Integral) or n_users < 1):
        raise InvalidParameter(owner, "n_users", "an integer >= 1 or None", n_users)
