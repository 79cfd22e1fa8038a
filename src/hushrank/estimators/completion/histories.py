"""Own ratings, as people hand them over when they ask for predictions: a dict, two sequences, a table or a matrix.

Nothing here is private learning: a user's own ratings meet the released model, and stay with that user. Users keep
their order, that of the rows of a matrix or of the first appearance of their ids in a table, and none is left out.
"""

import logging
import warnings
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import scipy.sparse
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray

from hushrank.data.frames import check_no_columns, is_table, to_block
from hushrank.data.id_arrays import array_of, to_array, to_ids
from hushrank.data.identifiers import code_everybody
from hushrank.data.object_cells import is_of_objects, object_ids
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.column_names import check_names, name_columns, warn_of_users
from hushrank.data.ratings.grouping import Tally, UserBlock, group_ratings, scale_ratings
from hushrank.data.ratings.rating_columns import to_arrow
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.text_values import to_integers
from hushrank.exceptions import InvalidParameter

log = logging.getLogger("hushrank")

Range = tuple[float, float]
FORMS = "a dict of ratings by item, a tuple (items, ratings), a table with columns item and rating, or a matrix"


@dataclass(frozen=True, slots=True)
class Histories:
    """Ratings of one user or of several.

    Attributes
    ----------
    block : UserBlock
    is_single : bool
        Whether they are of one person, who expects one answer and not a list of one.
    ids : Arrow array or None
        Ids in the order of the block, where a table names them.
    """

    block: UserBlock
    is_single: bool
    ids: pa.Array | None = None

    @property
    def users(self) -> NDArray[Any] | None:
        """Ids in the order of the block as integers or strings, numbers of rows for a matrix, None for one person."""
        if self.is_single:
            return None
        return np.arange(len(self.block)) if self.ids is None else to_array(self.ids)


def read_histories(
    own: Any, catalogue: Catalogue, rating_range: Range | None, owner: str, columns: Any = None
) -> Histories:
    """Own ratings in any of the accepted forms; ratings of unknown items are ignored.

    `rating_range` is None for implicit feedback, where ratings may be left out: every item listed counts. `columns`
    says what user, item and rating are called in a table, where they have other names.
    """
    if columns is not None and not is_table(own):
        check_no_columns(columns, owner)
    if scipy.sparse.issparse(own) or (isinstance(own, np.ndarray) and own.ndim == 2):
        rows = read_ratings(
            own, owner=owner, items=catalogue, rating_range=rating_range, is_implicit=rating_range is None
        )
        return Histories(join_blocks(list(rows.blocks())), is_single=False)
    if is_table(own):
        return _read_table(own, catalogue, rating_range, owner, columns)
    items, ratings = _split(own, rating_range is None, owner)
    return Histories(_group(_to_arrow(items, owner), ratings, None, catalogue, rating_range, owner), is_single=True)


def read_pairs(pairs: Any, owner: str, columns: Any = None) -> tuple[pa.Array, pa.Array]:
    """Columns user and item of a table."""
    frame = _frame(pairs, owner, "pairs", ("user", "item"), columns)
    return _to_arrow(frame["user"], owner, "pairs"), _to_arrow(frame["item"], owner, "pairs")


def _read_table(
    own: Any, catalogue: Catalogue, rating_range: Range | None, owner: str, columns: Any = None
) -> Histories:
    needed = ("item",) if rating_range is None else ("item", "rating")
    if columns is not None and "user" in columns:
        needed = ("user", *needed)
    frame = _frame(own, owner, "own_ratings", needed, columns)
    ratings = _to_numbers(frame["rating"], owner) if rating_range is not None else np.ones(len(frame))
    items = _to_items(frame["item"], catalogue, owner)
    if "user" not in frame.columns:
        warn_of_users(frame_names(own), columns)
        return Histories(_group(items, ratings, None, catalogue, rating_range, owner), is_single=True)
    codes, users = code_everybody(_to_arrow(frame["user"], owner), "a table", "own_ratings", owner)
    block = _group(items, ratings, (codes, len(users)), catalogue, rating_range, owner)
    return Histories(block, is_single=False, ids=users)


def frame_names(table: Any) -> list[Any]:
    """Names of the columns of a table."""
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)


def _to_items(column: nw.Series[Any], catalogue: Catalogue, owner: str) -> pa.Array:
    """Ids of items; those among Python objects are read as in a fit."""
    if not is_of_objects(column):
        return _to_arrow(column, owner)
    texts = object_ids(column.to_list())
    return to_integers(texts, catalogue.ids.type) if catalogue.kind == "int" else texts


def _frame(table: Any, owner: str, name: str, needed: tuple[str, ...], columns: Any = None) -> nw.DataFrame[Any]:
    """The columns user, item and rating of a table under these names, as far as it has them."""
    if not is_table(table):
        raise InvalidParameter(owner, name, f"a table with the columns {', '.join(needed)}", type(table).__name__)
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not is_into_dataframe(table):
        raise InvalidParameter(owner, name, "a table in memory: collect() the lazy frame", type(table).__name__)
    called, names = name_columns(columns, owner), frame_names(table)
    check_names(names, {role: called[role] for role in needed}, owner, name)  # before narwhals uses words of its own
    frame: nw.DataFrame[Any] = nw.from_native(table, eager_only=True)
    return frame.select([nw.col(given).alias(role) for role, given in called.items() if given in names])


def _split(own: Any, is_implicit: bool, owner: str) -> tuple[Any, NDArray[np.float64]]:
    """Items and ratings of one person."""
    items: Any
    ratings: Any
    if isinstance(own, Mapping):
        items, ratings = list(own), list(own.values())
    elif isinstance(own, tuple) and len(own) == 2 and all(_is_list(part) for part in own):
        items, ratings = own
    elif is_implicit and isinstance(own, list | tuple | np.ndarray | pa.Array):
        items, ratings = own, np.ones(len(own))
    else:
        raise InvalidParameter(owner, "own_ratings", FORMS, type(own).__name__)
    try:
        numbers = np.asarray(ratings, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidParameter(owner, "own_ratings", "ratings that are numbers", type(ratings).__name__) from error
    if numbers.shape != (len(items),):
        raise InvalidParameter(owner, "own_ratings", "as many ratings as items", f"{numbers.shape}, {len(items)}")
    return items, numbers


def _is_list(part: Any) -> bool:
    return isinstance(part, Sized) and not isinstance(part, str | bytes)


def _to_arrow(ids: Any, owner: str, name: str = "own_ratings") -> pa.Array:
    """Ids as an int64, uint64 or large_string array."""
    try:
        if isinstance(ids, nw.Series):
            ids = to_arrow(ids)
        return to_ids(ids if isinstance(ids, pa.Array | pa.ChunkedArray) else array_of(ids))
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError, InvalidParameter) as error:
        got = error.got if isinstance(error, InvalidParameter) else type(ids).__name__
        raise InvalidParameter(owner, name, "ids of one type, int or str", got) from error


def _to_numbers(column: nw.Series[Any], owner: str) -> NDArray[np.float64]:
    """Ratings of a table, nulls as NaN."""
    try:
        numbers = column.to_arrow()
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):  # objects of several types
        numbers = pa.array([], pa.binary())
    kind = numbers.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or kind == pa.null()):
        requirement = "a table with real numbers in the column 'rating'"
        raise InvalidParameter(owner, "own_ratings", requirement, str(column.dtype))
    return to_block([numbers], len(column))[:, 0].copy()


def find_items(ids: Any, catalogue: Catalogue, owner: str, name: str) -> NDArray[np.int64]:
    """Positions in the catalogue, -1 for unknown items; ids of another type are refused."""
    try:
        return catalogue.positions(ids)
    except InvalidParameter as error:
        raise InvalidParameter(owner, name, error.requirement, error.got) from error


def _group(
    items: pa.Array,
    ratings: NDArray[Any],
    users: tuple[NDArray[np.int32], int] | None,
    catalogue: Catalogue,
    rating_range: Range | None,
    owner: str,
) -> UserBlock:
    codes, n_users = (np.zeros(len(items), np.int32), 1) if users is None else users
    positions = find_items(items, catalogue, owner, "own_ratings")
    unknown = int((positions < 0).sum())
    if unknown and users is None:  # the person who asks is the one whom it concerns
        warnings.warn(f"ratings of items outside the catalogue of {owner} are ignored.", stacklevel=5)
    elif unknown:
        log.info("Not private: %d ratings of items outside the catalogue of %s are ignored.", unknown, owner)
    known = codes >= 0
    numbers = np.asarray(ratings, np.float64) if rating_range is not None else np.ones(len(items))
    records = scale_ratings(codes[known], positions[known], numbers[known], rating_range, Tally())
    return group_ratings(records, n_users, len(catalogue))[0]


def join_blocks(blocks: list[UserBlock]) -> UserBlock:
    """Blocks of users one after the other."""
    if not blocks:
        return UserBlock(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    starts = np.cumsum([0, *(len(block.items) for block in blocks)])
    pointers = [block.indptr[1:] + start for block, start in zip(blocks, starts[:-1], strict=True)]
    indptr = np.concatenate([[0], *pointers]).astype(np.int64)
    return UserBlock(
        indptr, np.concatenate([block.items for block in blocks]), np.concatenate([block.values for block in blocks])
    )
