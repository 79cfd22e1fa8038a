"""Public facts about the items of a catalogue as numbers: what a recommender may know about an item for free.

A column of numbers stays one column and, if there are few of them, has its squares beside it: tastes for a year are
seldom lines. A column of text becomes one of zeros and ones for each of its words. An item without a value gets the
mean of those that have one. Everything follows from the public input alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.feature_columns import (
    NAME,
    Column,
    Numbers,
    Words,
    check_form,
    check_size,
    joined_otherwise,
    read_columns,
)
from hushrank.data.ratings.feature_texts import (
    MOST_WORDS,
    NUMBER,
    SQUARE,
    WORD,
    FeatureColumn,
    check_numbers,
    names_of,
    to_columns,
    to_text,
)
from hushrank.exceptions import InvalidParameter

__all__ = ["FeatureColumn", "ItemFeatures", "check_item_features", "read_item_features"]

Matrix = NDArray[np.float64]

_MOST_SQUARES = 8  # columns of numbers: more are an embedding
_MOST_SQUARED = 1e40
_ALIKE = 0.99  # correlation
_FEWEST_TITLES = 8
_FEW_WORDS = 32  # so many categories may have one item each


@dataclass(frozen=True, slots=True, eq=False)
class ItemFeatures:
    """Features of all items of a catalogue, and how they were made.

    Attributes
    ----------
    columns : tuple of FeatureColumn
        In the order of the table, the words of each of its columns sorted.
    values : ndarray of shape (n_items, n_columns)
        Finite, in C order.
    typical : ndarray of shape (n_columns,)
        What an item without a value has: the mean over the items that have one, 0 if none has.
    left_out : tuple of str
        Columns of the table that are not used: titles, of which nearly every item has its own.
    joined : tuple of pairs of str
        Columns whose words seem to be joined by something else than "|", and by what.
    """

    columns: tuple[FeatureColumn, ...]
    values: Matrix
    typical: Matrix
    left_out: tuple[str, ...] = ()
    joined: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> list[str]:
        """Readable names, all different: a word alone where it is the only one of its name, else after its source."""
        return names_of(self.columns)

    def encode(self, features: Any, catalogue: Catalogue, owner: str) -> Matrix:
        """Features of other items, encoded like those of the fit.

        Parameters
        ----------
        features : array, sparse matrix, table or ItemFeatures
            With the columns of the fit; further columns of a table and words that the fit did not meet are ignored.
        catalogue : Catalogue
            Ids of the other items.
        owner : str
            Who asks, for error messages.

        Returns
        -------
        values : ndarray of shape (len(catalogue), n_columns)
            `typical` where an item has no value; no number beyond the largest and smallest of the fit.
        """
        if isinstance(features, ItemFeatures):
            if features.columns != self.columns:
                raise InvalidParameter(owner, NAME, "features with the columns of the fit", "other columns")
            return self._within(read_item_features(features, catalogue, owner).values)
        check_size(len(catalogue), len(self.columns), None, owner)
        kinds = {column.source: column.kind for column in self.columns if column.kind != SQUARE}
        found = {column.source: column for column in read_columns(features, catalogue, owner, list(kinds))}
        for source, kind in kinds.items():
            if not _is_of_kind(found[source], kind):
                requirement = f"a table with {kind}s in the column {source!r:.40}, as in the fit"
                raise InvalidParameter(owner, NAME, requirement, f"{_kind_of(found[source])}s")
        values = self._within(_encode(self.columns, found, len(catalogue), self.typical))
        np.copyto(values, self.typical, where=np.isnan(values))
        return values

    def _within(self, values: Matrix) -> Matrix:
        """Numbers no further out than those of the fit: nothing was learned there, slips must not rule."""
        kinds = [column.kind for column in self.columns]
        is_number = np.array([kind == NUMBER for kind in kinds])
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        within = np.clip(values, np.where(is_number, low, -np.inf), np.where(is_number, high, np.inf))
        for j in [j for j, kind in enumerate(kinds) if kind == SQUARE]:
            is_out = within[:, j - 1] != values[:, j - 1]
            within[is_out, j] = _square(within[is_out, j - 1], float(self.typical[j - 1]))
        return within

    def to_texts(self) -> list[str]:
        """One text for each column, all different, from which `from_texts` makes the columns again."""
        return [to_text(column) for column in self.columns]

    @classmethod
    def from_texts(cls, texts: Sequence[str], values: Matrix, typical: Matrix) -> "ItemFeatures":
        """Features out of a model file.

        Raises
        ------
        ValueError
            If no features have such texts or numbers.
        """
        columns = to_columns(texts)
        check_numbers(columns, values, typical)
        return cls(columns, np.ascontiguousarray(values), np.ascontiguousarray(typical))


def check_item_features(features: Any, owner: str) -> None:
    """Refuse what `read_item_features` would not look at, by its type, dtype and number of dimensions alone."""
    if not isinstance(features, ItemFeatures):
        check_form(features, owner)


def read_item_features(features: Any, catalogue: Catalogue, owner: str) -> ItemFeatures:
    """Public features of the items of a catalogue.

    Parameters
    ----------
    features : array, sparse matrix, table or ItemFeatures
        An array or SciPy matrix of numbers or booleans with a row for each item, in the order of the catalogue; NaN
        stands for no value. Or a pandas, polars, pyarrow or other eager table with the ids in a column item and with
        columns of numbers, booleans, categories, texts (several words are joined by "|") or lists of texts; nulls and
        empty texts are no values, rows of other items are ignored, and an item without a row has no values. A column of
        texts that items hardly share, such as titles, is left out.
        `ItemFeatures` are returned as they are.
    catalogue : Catalogue
        The items.
    owner : str
        Who asks, for error messages.

    Raises
    ------
    InvalidParameter
        If the features are of another kind, or larger than the limits.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"item": [1, 0], "genre": ["Comedy|Drama", "Drama"], "year": [1995, None]})
    >>> features = read_item_features(table, Catalogue(2), "example")
    >>> features.names, features.values.tolist()
    (['Comedy', 'Drama', 'year'], [[0.0, 1.0, 1995.0], [1.0, 1.0, 1995.0]])
    """
    if isinstance(features, ItemFeatures):
        if len(features.values) != len(catalogue):
            requirement = f"features of the {len(catalogue)} items of the catalogue"
            raise InvalidParameter(owner, NAME, requirement, f"features of {len(features.values)} items")
        return features
    read = read_columns(features, catalogue, owner)
    left_out, joined = tuple(column.source for column in read if _is_title(column)), tuple(joined_otherwise(read))
    found = [column for column in read if column.source not in left_out]
    if not found:
        raise InvalidParameter(owner, NAME, "a table with a column that items share words of", f"{left_out[0]!r:.40}")
    columns = _columns_of(found, len(catalogue), owner)
    values = _encode(columns, {column.source: column for column in found}, len(catalogue))
    typical = _means_of_known(values)
    np.copyto(values, typical, where=np.isnan(values))
    return ItemFeatures(columns, values, typical, left_out, joined)


def _is_title(column: Column) -> bool:
    """Whether items hardly share words of this column: none of them, or few where there are many."""
    if not isinstance(column, Words) or len(column.words) < _FEWEST_TITLES:
        return False
    shared = len(column.items) - len(column.words)
    return shared == 0 or (len(column.words) > _FEW_WORDS and shared < len(column.words))


def _columns_of(found: Sequence[Column], n_items: int, owner: str) -> tuple[FeatureColumn, ...]:
    """The columns that these become, unless they are too many."""
    sizes = [(1 if isinstance(column, Numbers) else len(column.words), column.source) for column in found]
    n_words, source = max(sizes, key=lambda size: size[0])
    if n_words > MOST_WORDS:
        requirement = f"a table with at most {MOST_WORDS} different words in a column (titles and descriptions are no "
        got = f"column {source!r:.40} with {n_words}"
        raise InvalidParameter(owner, NAME, f"{requirement}categories: leave them out)", got)
    check_size(n_items, sum(size for size, _ in sizes), (n_words, source), owner)
    columns: list[FeatureColumn] = []
    squared = _worth_squares([column for column in found if isinstance(column, Numbers)])
    for column in found:
        if isinstance(column, Numbers):
            columns += [
                FeatureColumn(column.source, kind, "") for kind in (NUMBER, SQUARE)[: 1 + squared[column.source]]
            ]
        else:
            columns += [FeatureColumn(column.source, WORD, word) for word in column.words]
    check_size(n_items, len(columns), (n_words, source), owner)  # with squares
    if not columns:
        raise InvalidParameter(owner, NAME, "a table with a value", "columns without any")
    return tuple(columns)


def _worth_squares(found: Sequence[Numbers]) -> dict[str, bool]:
    """Which columns of numbers have their squares beside them: the only few of several values, if no other is alike."""
    values = {column.source: column.values[~np.isnan(column.values)] for column in found}
    several = [source for source, numbers in values.items() if _has_several(numbers)]
    if len(several) > _MOST_SQUARES:
        several = []
    filled = [np.where(np.isnan(column.values), _mean(values[column.source]), column.values) for column in found]
    return {
        column.source: column.source in several and not any(_are_alike(_square(own), other) for other in filled)
        for column, own in zip(found, filled, strict=True)
    }


def _has_several(numbers: Matrix) -> bool:
    """Whether there are more than two values, none of them so large that squares are beyond all bounds."""
    return len(np.unique(numbers)) > 2 and bool(np.abs(numbers).max() < _MOST_SQUARED)


def _mean(numbers: Matrix) -> float:
    return float(numbers.mean()) if len(numbers) else 0.0


def _square(numbers: Matrix, center: float | None = None) -> Matrix:
    return np.asarray((numbers - (numbers.mean() if center is None else center)) ** 2)


def _are_alike(a: Matrix, b: Matrix) -> bool:
    """Whether one is a line in the other, nearly."""
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt(a @ a) * np.sqrt(b @ b)
    return bool(np.abs(a @ b) > _ALIKE * size)


def _kind_of(column: Column) -> str:
    return NUMBER if isinstance(column, Numbers) else WORD


def _is_of_kind(column: Column, kind: str) -> bool:
    """Whether it is of this kind, or has no value: then its type says nothing."""
    return _kind_of(column) == kind or (
        bool(np.isnan(column.values).all()) if isinstance(column, Numbers) else not column.words
    )


def _encode(
    columns: Sequence[FeatureColumn], found: Mapping[str, Column], n_items: int, typical: Matrix | None = None
) -> Matrix:
    """The numbers of these columns, NaN where an item has no value; squares are about typical values, or the means."""
    values = np.full((n_items, len(columns)), np.nan)
    for source, group in groupby(enumerate(columns), key=lambda pair: pair[1].source):
        places = {column.word: j for j, column in group if column.kind != SQUARE}  # neighbors
        column = found[source]
        if isinstance(column, Words):
            values[column.is_known, min(places.values()) : max(places.values()) + 1] = 0.0
            target = np.array([places.get(word, -1) for word in column.words], np.int64)[column.codes]
            values[column.items[target >= 0], target[target >= 0]] = 1.0
        elif "" in places:
            values[:, places[""]] = column.values
    centers = _means_of_known(values) if typical is None else typical  # as typical values are: to the last bit
    with np.errstate(over="ignore"):
        for j in [j for j, column in enumerate(columns) if column.kind == SQUARE]:
            values[:, j] = _square(values[:, j - 1], float(centers[j - 1]))
    return values


def _means_of_known(values: Matrix) -> Matrix:
    """Means of the columns without their NaN, 0 where there is nothing else."""
    is_known = ~np.isnan(values)
    n_known = is_known.sum(axis=0)
    means = np.sum(values, axis=0, where=is_known) / np.maximum(n_known, 1)
    low = np.min(values, axis=0, where=is_known, initial=np.inf)
    high = np.max(values, axis=0, where=is_known, initial=-np.inf)
    return np.where(n_known > 0, np.clip(means, low, high), 0.0)  # rounding could put them outside
