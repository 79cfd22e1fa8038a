"""Public facts about items, a column at a time: numbers and words out of tables, arrays and sparse matrices.

Every column is brought into the order of the catalogue; the order of the rows of a table does not matter. These are
public inputs, so that values may be refused here, which those of people never are.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import scipy.sparse
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray

from hushrank.data.frames import is_table, to_block
from hushrank.data.id_arrays import id_kind, to_array
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.column_names import MissingColumn, as_word, guess_column
from hushrank.data.ratings.feature_cells import cells_to_arrow
from hushrank.data.ratings.feature_texts import ITEM, LARGEST, MOST_COLUMNS, MOST_NUMBERS, is_unicode
from hushrank.data.ratings.feature_words import guess_separator, is_text, split_column
from hushrank.data.sparse import check_indices
from hushrank.data.vectors import to_float64
from hushrank.exceptions import InvalidParameter

Integers = NDArray[np.int64]

NAME = "item_features"
FORMS = "a 2-D array or sparse matrix of real numbers, a table with a column 'item', or None"

_NAMELESS_INDEX = "__index_level_"  # how Arrow names an index of pandas that has no name
_COLUMN_TYPES = "a table of numbers, booleans, texts and lists of texts beside the column 'item'"
_NUMBER_TYPES = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, pa.types.is_decimal)


class Numbers(NamedTuple):
    """A number for each item, NaN where there is none."""

    source: str
    values: NDArray[np.float64]


class Words(NamedTuple):
    """Words of items: the item at the position `items[k]` has the word `words[codes[k]]`.

    Words are sorted; `is_known` says which items have any.
    """

    source: str
    words: tuple[str, ...]
    items: Integers
    codes: Integers
    is_known: NDArray[np.bool_]


Column = Numbers | Words


def check_form(features: Any, owner: str) -> None:
    """Refuse what can be no features by its type, dtype and number of dimensions alone."""
    is_matrix = isinstance(features, np.ndarray) or scipy.sparse.issparse(features)
    if is_matrix and not isinstance(features, np.ma.MaskedArray):
        if features.ndim == 2 and features.dtype.kind in "biuf" and features.dtype.itemsize <= 8:
            return
    elif not is_matrix and not isinstance(features, type) and is_table(features):
        if isinstance(features, pa.RecordBatch) or is_into_dataframe(features):
            return
        raise InvalidParameter(owner, NAME, "a table in memory: collect() the lazy frame", type(features).__name__)
    hint = " (filled(numpy.nan) drops a mask)" if isinstance(features, np.ma.MaskedArray) else ""
    kind = type(features).__name__
    got = f"{kind} of {features.dtype} and shape {features.shape}" if is_matrix else kind
    raise InvalidParameter(owner, NAME, FORMS + hint, got)


def read_columns(features: Any, catalogue: Catalogue, owner: str, sources: Sequence[str] | None = None) -> list[Column]:
    """Columns of public features in the order of the catalogue.

    Parameters
    ----------
    features : array, sparse matrix or table
        An array or SciPy matrix has a row for each item of the catalogue; NaN stands for no value. A table has a column
        item, and rows of other items are ignored.
    catalogue : Catalogue
    owner : str
        Who asks, for error messages.
    sources : sequence of str, optional
        Names of the columns that are needed, all of them in an array; others of a table are ignored. By default all.

    Raises
    ------
    InvalidParameter
        Whatever the features are.
    """
    with refuse_odd(FORMS, type(features).__name__, owner):
        check_form(features, owner)
        if is_table(features):
            return list(_read_table(features, catalogue, owner, sources))
        return _read_matrix(features, catalogue, owner, sources)


def joined_otherwise(columns: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """Names of columns whose words seem to be joined by something else than "|", and by what."""
    for column in columns:
        if isinstance(column, Words) and len(column.items) == column.is_known.sum():  # one word for each item
            separator = guess_separator(column.words, column.codes)
            if separator is not None:
                yield column.source, separator


@contextmanager
def refuse_odd(requirement: str, got: str, owner: str) -> Iterator[None]:
    """Turn what libraries say about odd input, errors of every kind, into one line."""
    try:
        yield
    except InvalidParameter as error:
        if error.name == NAME:
            raise
        raise InvalidParameter(owner, NAME, error.requirement, error.got) from error
    except MemoryError:
        raise
    except Exception as error:
        raise InvalidParameter(owner, NAME, requirement, got) from error


def check_size(n_items: int, n_columns: int, most_words: tuple[int, str] | None, owner: str) -> None:
    """Refuse more columns or numbers than the limits; `most_words` are those of the column that has most."""
    hint = ""
    if most_words is not None and most_words[0] > 1:
        hint = f" (column {most_words[1]!r:.40} has {most_words[0]} different words: leave it out if it is no category)"
    if n_columns > MOST_COLUMNS:
        requirement = f"at most {MOST_COLUMNS} columns, of which every word is one{hint}"
        raise InvalidParameter(owner, NAME, requirement, f"{n_columns} columns")
    if n_items * n_columns > MOST_NUMBERS:
        requirement = f"at most {MOST_NUMBERS} numbers, items times columns{hint}"
        raise InvalidParameter(owner, NAME, requirement, f"{n_items} items and {n_columns} columns")


def _read_matrix(X: Any, catalogue: Catalogue, owner: str, sources: Sequence[str] | None) -> list[Column]:
    n_items, n_columns = X.shape
    if n_items != len(catalogue) or n_columns == 0:
        requirement = f"a matrix with a column, and a row for each of {len(catalogue)} items"
        raise InvalidParameter(owner, NAME, requirement, f"shape {tuple(X.shape)}")
    check_size(n_items, n_columns, None, owner)
    names = [str(j) for j in range(n_columns)]
    if sources is not None and list(sources) != names:
        is_matrix = list(sources) == [str(j) for j in range(len(sources))]
        known = f"a matrix with {len(sources)} columns" if is_matrix else _with_columns(sources)
        raise InvalidParameter(owner, NAME, f"{known}, as in the fit", f"a matrix with {n_columns} columns")
    if scipy.sparse.issparse(X):
        check_indices(X, owner)
        X = X.astype(np.float64).toarray()
    values = to_float64(np.asarray(X))
    _check_finite(values, names, owner)
    return [Numbers(name, column) for name, column in zip(names, values.T, strict=True)]


def _with_columns(names: Sequence[str]) -> str:
    return f"a table with the columns {', '.join(map(repr, (ITEM, *names)))[:120]}"


def _check_finite(values: NDArray[np.float64], names: Sequence[str], owner: str) -> None:
    """Refuse infinite and huge numbers of the columns with these names; NaN is none."""
    with np.errstate(invalid="ignore"):  # signaling NaNs
        sizes = np.fmax(np.fmax.reduce(values, axis=0), -np.fmin.reduce(values, axis=0))
        wrong = np.flatnonzero(sizes > LARGEST)
    if len(wrong):
        got = f"others in column {names[wrong[0]]!r:.40}"
        raise InvalidParameter(owner, NAME, f"finite numbers of size <= {LARGEST:g}", got)


def _read_table(table: Any, catalogue: Catalogue, owner: str, sources: Sequence[str] | None) -> Iterator[Column]:
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    names = _check_names(table.column_names if isinstance(table, pa.Table) else list(table.columns), owner)
    # Arrow keeps its own: narwhals would join dictionaries, which Arrow cannot always do.
    frame = table if isinstance(table, pa.Table) else nw.from_native(table, eager_only=True)
    others = [name for name in names if name != ITEM and not name.startswith(_NAMELESS_INDEX)]
    wanted = others if sources is None else list(sources)
    if not wanted or not set(wanted) <= set(others):
        requirement = _with_columns(wanted) if wanted else f"a table with other columns beside {ITEM!r}"
        raise InvalidParameter(owner, NAME, requirement, f"columns {', '.join(names)}")
    check_size(len(catalogue), len(wanted), None, owner)  # before anything is made for each item
    rows, items = _find_rows(_to_arrow(frame, names.index(ITEM), ITEM, owner), catalogue, owner)
    for name in wanted:
        column = _to_arrow(frame, names.index(name), name, owner)
        with refuse_odd(_COLUMN_TYPES, f"column {name!r:.40} that cannot be read", owner):
            yield _read_column(column, name, rows, items, len(catalogue), owner)


def _check_names(columns: Sequence[Hashable], owner: str) -> list[str]:
    """Names as text, all different and with `item` among them."""
    names = [str(name) for name in columns]
    if ITEM not in columns:
        got = f"columns {', '.join(names)}" if names else "no column"
        meant = guess_column(columns, ITEM, ITEM)
        hint = (
            ""
            if meant is None
            else f"Did you mean {meant!r}? Rename it, or on the command line --item-col {as_word(meant)}."
        )
        raise MissingColumn(owner, NAME, f"a table with the ids in a column {ITEM!r}", f"{got!r:.80}", hint)
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InvalidParameter(owner, NAME, "a table whose column names differ", f"two columns {repeated!r:.40}")
    if not all(name.strip() and is_unicode(name) for name in names):
        requirement = "a table whose columns have names of Unicode text (to_csv(index=False) writes no index)"
        raise InvalidParameter(owner, NAME, requirement, "a column without one")
    return names


def _to_arrow(frame: Any, position: int, name: str, owner: str) -> pa.Array | pa.ChunkedArray:
    """A column as valid Arrow data of whatever type."""
    with refuse_odd(_COLUMN_TYPES, f"column {name!r:.40} of other or of several types", owner):
        if isinstance(frame, pa.Table):
            column = frame.column(position)
        else:
            series = frame[:, position]
            if series.dtype == nw.Object or str(getattr(series.to_native(), "dtype", "")) == "object":
                is_null = series.is_null().to_list()
                cells = zip(series.to_list(), is_null, strict=True)
                column = cells_to_arrow([None if null else cell for cell, null in cells])
            else:
                column = series.to_arrow()
    with refuse_odd("a table of Unicode text and other valid columns", f"column {name!r:.40}", owner):
        column.validate(full=True)
    return column


def _find_rows(ids: pa.Array | pa.ChunkedArray, catalogue: Catalogue, owner: str) -> tuple[Integers, Integers]:
    """Rows of items of the catalogue, and their positions there."""
    try:
        positions = catalogue.positions(ids)
    except InvalidParameter as error:
        requirement = f"a table with {catalogue.kind} ids in its column {ITEM!r}, as in the catalogue"
        kind = id_kind(ids.type)
        got = f"{kind} ids" if kind else f"ids of type {str(ids.type)[:30]}"
        raise InvalidParameter(owner, NAME, requirement, got) from error
    rows = np.flatnonzero(positions >= 0)
    items = positions[rows]
    counts = np.bincount(items, minlength=1)
    if len(rows) == 0:
        requirement = "a table with rows of items of the catalogue"
        raise InvalidParameter(owner, NAME, requirement, f"{len(positions)} rows, none of such an item")
    if counts.max() > 1:
        [item] = to_array(catalogue.ids.slice(int(counts.argmax()), 1)).tolist()
        requirement = "a table with one row for each item (7, 07 and 7.0 are one)"
        raise InvalidParameter(owner, NAME, requirement, f"{counts.max()} rows of item {item!r:.40}")
    return rows, items


def _read_column(
    column: pa.Array | pa.ChunkedArray, name: str, rows: Integers, items: Integers, n_items: int, owner: str
) -> Column:
    """The column in the order of the catalogue: its given `rows` are those of `items`."""
    if any(is_number(column.type) for is_number in _NUMBER_TYPES):
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        values = np.full(n_items, np.nan)
        values[items] = to_block([column], len(column))[rows, 0]
        _check_finite(values[:, np.newaxis], [name], owner)
        return Numbers(name, values)
    if not is_text(column.type):
        raise InvalidParameter(owner, NAME, _COLUMN_TYPES, f"column {name!r:.40} of type {str(column.type)[:30]}")
    where = np.full(len(column), -1)
    where[rows] = items
    found = split_column(column, where >= 0)
    is_known = np.zeros(n_items, np.bool_)
    is_known[where[found.rows]] = True
    return Words(name, found.words, where[found.rows], found.codes, is_known)
