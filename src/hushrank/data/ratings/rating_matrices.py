"""Ratings in matrices of users and items: dense ones with NaN for no rating, sparse ones that store the ratings."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.numbers import check_matrix, convert, to_number
from hushrank.data.ratings.grouping import MAX_BLOCK_RATINGS, Tally, UserBlock, group_ratings, scale_ratings, user_spans
from hushrank.data.ratings.out_of_core import Grouper, UserStore
from hushrank.data.ratings.rating_range import Range
from hushrank.data.rows.arrays import ArrayRows, check_real_rows, read_array
from hushrank.data.sparse import check_sparse
from hushrank.exceptions import InvalidParameter

# Formats that store entries one by one; others cannot tell a rating of zero from none.
_FORMATS = ("csr", "csc", "coo", "lil", "dok")
_LARGEST_SIZE = 2**31 - 1


class DenseRatings:
    """A matrix of users and items with NaN where there is no rating; zero as well for implicit feedback."""

    def __init__(self, rows: ArrayRows, rating_range: Range | None) -> None:
        self._rows, self._range = rows, rating_range
        self.n_users, self.n_items = rows.n_samples, rows.n_features

    def read(self, tally: Tally) -> UserBlock:
        """All rows of the matrix."""
        max_rows = max(1, MAX_BLOCK_RATINGS // self.n_items)
        n_ratings = sum(int(np.count_nonzero(self._is_rated(block))) for block in self._rows.blocks(max_rows))
        with UserStore(self.n_users or 0, n_ratings) as store:
            for block in self._rows.blocks(max_rows):
                rated = self._is_rated(block)
                users, items = np.nonzero(rated)
                ratings = convert(block[rated], np.float64)
                records = scale_ratings(users.astype(np.int32), items, ratings, self._range, tally)
                store.append(group_ratings(records, len(block), self.n_items)[0])
            return store.finish()

    def pieces(self, enough: int) -> None:
        """A matrix is in the memory of this process."""
        return None

    def _is_rated(self, block: NDArray[Any]) -> NDArray[np.bool_]:
        rated: NDArray[np.bool_] = ~np.isnan(block)
        return rated & (block != 0) if self._range is None else rated


class SparseRatings:
    """A sparse matrix of users and items whose stored entries are the ratings; no zeros for implicit feedback.

    Several stored entries of one place count as their mean, so nothing here may add them up as SciPy does.
    """

    def __init__(self, X: Any, rating_range: Range | None) -> None:
        self._X, self._range = X, rating_range
        self.n_users: int | None = X.shape[0]
        self.n_items: int = X.shape[1]

    def read(self, tally: Tally) -> UserBlock:
        """All stored entries."""
        return self._read_rows(tally) if self._X.format == "csr" else self._read_entries(tally)

    def pieces(self, enough: int) -> None:
        """A matrix is in the memory of this process."""
        return None

    def _read_rows(self, tally: Tally) -> UserBlock:
        """Entries of CSR, some rows at a time: they are grouped already."""
        X, indptr, (n_users, n_items) = self._X, self._X.indptr.astype(np.int64), self._X.shape
        with UserStore(n_users, int(indptr[-1])) as store:
            for start, stop in user_spans(indptr, n_users):
                users = np.repeat(np.arange(stop - start, dtype=np.int32), np.diff(indptr[start : stop + 1]))
                part = slice(indptr[start], indptr[stop])
                records = self._records(users, X.indices[part], X.data[part], tally)
                block, n_repeated = group_ratings(records, stop - start, n_items)
                tally.n_repeated += n_repeated
                store.append(block)
            return store.finish()

    def _read_entries(self, tally: Tally) -> UserBlock:
        """Entries of other formats, in their order."""
        n_users, n_items = self._X.shape
        if self._X.format == "csc":  # SciPy would refuse indices outside the matrix
            columns = np.repeat(np.arange(n_items, dtype=np.int32), np.diff(self._X.indptr))
            rows, data = self._X.indices, self._X.data
        elif self._X.format == "lil":  # here as well
            rows = np.repeat(np.arange(n_users), [len(own) for own in self._X.rows])
            columns = _to_indices([*itertools.chain.from_iterable(self._X.rows)])
            data = _to_values([*itertools.chain.from_iterable(self._X.data)], self._X.dtype)
        elif self._X.format == "dok":
            keys = list(self._X.keys())
            rows, columns = (_to_indices([key[axis] for key in keys]) for axis in (0, 1))
            data = _to_values(list(self._X.values()), self._X.dtype)
        else:
            entries = self._X.tocoo(copy=False)
            columns, rows, data = entries.col, entries.row, entries.data
        with Grouper(n_items, tally) as grouper:
            for start in range(0, len(columns), MAX_BLOCK_RATINGS):
                part = slice(start, min(start + MAX_BLOCK_RATINGS, len(columns)))
                users = _inside(rows[part], n_users).astype(np.int32)
                grouper.add(self._records(users, columns[part], data[part], tally))
            return grouper.finish(n_users)

    def _records(self, users: NDArray[np.int32], items: Any, ratings: Any, tally: Tally) -> NDArray[np.void]:
        """Records for `group_ratings`."""
        if self._range is None:
            stored = ratings != 0
            users, items, ratings = users[stored], items[stored], ratings[stored]
        items = _inside(items, self.n_items)
        return scale_ratings(users, items, convert(ratings, np.float64), self._range, tally)


def read_dense(data: Any, rating_range: Range | None, owner: str) -> DenseRatings:
    """The source for an array of real numbers or nested sequences of them."""
    rows = read_array(data, owner)
    check_real_rows(rows, owner)
    return DenseRatings(rows, rating_range)


def read_stored(X: Any, rating_range: Range | None, owner: str) -> SparseRatings:
    """The source for a SciPy sparse matrix or array of real numbers."""
    check_matrix(X.dtype, X.shape, owner)
    if X.dtype.kind == "c":
        raise InvalidParameter(owner, "X", "a matrix of real numbers", str(X.dtype))
    if X.format not in _FORMATS:
        requirement = f"a sparse matrix that stores single entries ({', '.join(_FORMATS)})"
        raise InvalidParameter(owner, "X", requirement, X.format)
    if max(X.shape) > _LARGEST_SIZE:
        raise InvalidParameter(owner, "X", f"a matrix of at most {_LARGEST_SIZE} users and items", f"shape {X.shape}")
    check_sparse(X, owner)
    return SparseRatings(X, rating_range)


def _inside(indices: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Indices with -1 for those outside an axis: index arrays of sparse matrices may hold anything."""
    return np.where((indices >= 0) & (indices < size), indices, -1).astype(np.int64)


def _to_indices(indices: list[Any]) -> NDArray[np.int64]:
    """Indices out of lists, which may hold anything; -1 for what is no index."""
    array = np.array(indices) if indices else np.empty(0, np.int64)
    if array.dtype.kind == "i" and array.ndim == 1:
        return array.astype(np.int64)
    is_index = (isinstance(i, int | np.integer) and 0 <= i <= _LARGEST_SIZE for i in indices)
    return np.array([i if fits else -1 for i, fits in zip(indices, is_index, strict=True)], np.int64)


def _to_values(values: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Stored values out of lists; NaN for what is no number."""
    try:
        return np.array(values, dtype)
    except Exception:  # a value may be anything, and say anything
        return np.array([to_number(value) for value in values])
