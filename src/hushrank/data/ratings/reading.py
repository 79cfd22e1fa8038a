"""One entry for ratings of all kinds: matrices, tables and files become `Ratings`, read as blocks of whole users.

What may be refused (types, columns, the catalogue, the range of ratings) is checked when `Ratings` are made, before
the data are charged for. Values are never refused: a rating outside its range is clipped, one that is not finite or
of an unknown item is ignored, and the numbers of these go to the log, which is for the data holder.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from os import PathLike
from typing import Any, Protocol, cast

import scipy.sparse

from hushrank.data.frames import check_no_columns, is_table
from hushrank.data.lazy_blocks import LazyBlocks, is_lazy_collection
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.column_names import check_names, needed_columns
from hushrank.data.ratings.foreign_ratings import ForeignRatings, proper_block
from hushrank.data.ratings.grouping import Tally, UserBlock, cut_users, no_users
from hushrank.data.ratings.rating_blocks import RatingBlocks
from hushrank.data.ratings.rating_columns import RatingTable, read_rating_file
from hushrank.data.ratings.rating_matrices import read_dense, read_stored
from hushrank.data.ratings.rating_range import Range, check_rating_range
from hushrank.data.ratings.regrouping import RatingGrouping
from hushrank.data.regrouping import Group, Groups
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Piece, Source
from hushrank.exceptions import InvalidParameter

__all__ = ["Ratings", "UserBlock", "read_ratings"]

log = logging.getLogger("hushrank")

_CATALOGUE = "the public catalogue of items (ids or a count): which items exist must not be read off the data"


class Origin(Protocol):
    """Where ratings come from: a matrix, a table or files."""

    n_users: int | None

    def read(self, tally: Tally) -> UserBlock:
        """All users in one block; adds to the counts of `tally`."""
        ...

    def pieces(self, enough: int) -> list[Piece] | None:
        """Pieces of rows that others can read, see `Source`; None where they cannot, or where users are whole."""
        ...


class Ratings(Source):
    """Ratings of users, read and grouped once, when the first block or the number of users is asked for.

    Parameters
    ----------
    origin : Origin
        Where they come from; let go of after reading.
    n_items : int
        Length of the catalogue.
    n_users : int, optional
        The public number of users.
    rating_range : pair of floats or None
        What became -1 and 1; None for implicit feedback.
    catalogue : Catalogue, optional
        The ids of the items.
    """

    def __init__(
        self,
        origin: Origin,
        n_items: int,
        n_users: int | None = None,
        rating_range: Range | None = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        super().__init__(origin.n_users)
        self.n_items, self.rating_range, self.catalogue = n_items, rating_range, catalogue
        self._origin: Origin | None = origin
        self._block: UserBlock | None = None
        self._public_users = None if n_users is None else int(n_users)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The length of the catalogue."""
        return {"n_items": self.n_items}

    @property
    def n_users(self) -> int:
        """The public number of users if it was given, else those of the data, with or without usable ratings."""
        return len(self._read()) if self._public_users is None else self._public_users

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """Blocks (`UserBlock`) of at most `max_rows` and 8192 users and, unless of one user, 2^22 ratings."""
        yield from cut_users(self._read(), max_rows)

    def empty_block(self) -> UserBlock:
        """A block without users."""
        return no_users()

    def regrouped(self, group: Group, enough: int = PIECE_ROWS) -> "Ratings":
        """Ratings of a table or of files whose users are grouped elsewhere."""
        pieces = None if self._origin is None else self._origin.pieces(enough)
        if pieces is None:
            return self
        return DistantRatings(self, group(RatingGrouping(self.n_items, self.rating_range), pieces))

    def _read(self) -> UserBlock:
        """All users; reads them at the first call."""
        if self._block is None:
            assert self._origin is not None
            tally = Tally()
            self._block = proper_block(self._origin.read(tally), self.n_items, "Ratings")
            self._origin, self.n_samples = None, len(self._block)
            self._log(tally)
        assert self._block is not None
        return self._block

    def _log(self, tally: Tally) -> None:
        """Tell the data holder what was left out or changed; nothing of it is shown unless the log is asked for."""
        log.info("%s", tally)
        if self._public_users is not None and self.n_samples is not None and self.n_samples > self._public_users:
            message = "Not private: %d users found, more than n_users = %d; all were kept."
            log.info(message, self.n_samples, self._public_users)


class DistantRatings(Ratings):
    """Ratings that were grouped elsewhere and stay there; their blocks are brought here if somebody asks for them.

    Parameters
    ----------
    ratings : Ratings
        What is public about them.
    groups : Groups
        Where they are.
    """

    def __init__(self, ratings: Ratings, groups: Groups) -> None:
        Source.__init__(self, ratings.n_samples)
        self.n_items, self.rating_range, self.catalogue = ratings.n_items, ratings.rating_range, ratings.catalogue
        self._public_users, self._groups, self._is_logged = ratings._public_users, groups, False

    @property
    def n_users(self) -> int:
        """The public number of users if it was given, else those of the data."""
        return self._settled().n_people() if self._public_users is None else self._public_users

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """Blocks of the users of one place after the other."""
        for part in self._settled().parts():
            yield from part.source().blocks(max_rows)

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """The users of each place, where they are."""
        return self._settled().pieces()

    def regrouped(self, group: Group, enough: int = PIECE_ROWS) -> "Ratings":
        """They are where they are."""
        return self

    def forget(self) -> None:
        """Group them again when they are next asked for."""
        self._groups.forget()

    def _settled(self) -> Groups:
        """The groups, after the data holder was told once about all of them."""
        if not self._is_logged:
            self.n_samples, self._is_logged = self._groups.n_people(), True
            self._log(self._groups.notes())
        return self._groups


def read_ratings(
    data: Any,
    *,
    owner: str,
    items: Any = None,
    rating_range: Any = None,
    n_users: int | None = None,
    is_implicit: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Ratings:
    """Prepare ratings for reading in blocks of users; checks types, columns and parameters, and reads no values.

    Parameters
    ----------
    data : sparse matrix, array-like, table, path or Source
        A SciPy sparse matrix of users and items, whose stored entries are the ratings, or an array of them with NaN
        for no rating; a pandas, polars, pyarrow or other eager table, or a dask
        DataFrame, with the columns user, item and rating; the path
        of a Parquet, CSV or TSV file or of a folder of them, or its address elsewhere (s3://...), with
        these columns. `Ratings` are returned as they
        are, and blocks of another `Source` of users are brought into their proper form.
    owner : str
        Who asks, for error messages.
    items : int, sequence of ids or Catalogue
        The public catalogue; a count stands for the ids 0 to count - 1. Optional for matrices, one id a column.
    rating_range : pair of floats
        Lowest and highest rating, public; required unless `is_implicit`.
    n_users : int, optional
        The public number of users; by default the rows of a matrix or the different ids of a table.
    is_implicit : bool, default False
        Whether to read only which items a user has met. Entries of a matrix that are zero are then no ratings, and
        the column rating of a table is not read.
    columns : dict, optional
        What the columns user, item and rating of a table or file are called where they have other names, such as
        {"user": "userId", "item": "movieId"}.

    Returns
    -------
    ratings : Ratings
        `ratings.blocks(max_rows)` yields blocks of users (`UserBlock`), `ratings.n_users` is their number.

    Raises
    ------
    InvalidParameter
        If data or parameters are of another kind, type or shape. The message shows no values.

    Examples
    --------
    >>> import numpy as np
    >>> ratings = read_ratings([[1, np.nan, 5], [np.nan, 2, 3]], owner="example", rating_range=(1, 5))
    >>> [block] = ratings.blocks()
    >>> block.indptr.tolist(), block.items.tolist(), block.values.tolist()
    ([0, 2, 4], [0, 2, 1, 2], [-1.0, 1.0, -0.5, 0.0])
    """
    if columns is not None and not (isinstance(data, str | PathLike) or is_table(data)):
        check_no_columns(list(columns), owner)
    if isinstance(data, Source):
        is_own = type(data) in (Ratings, DistantRatings)
        return cast(Ratings, data if is_own else ForeignRatings(data, owner))
    bounds = None if is_implicit else check_rating_range(rating_range, owner)
    if n_users is not None and (isinstance(n_users, bool) or not isinstance(n_users, Integral) or n_users < 1):
        raise InvalidParameter(owner, "n_users", "an integer >= 1 or None", n_users)
    catalogue = None if items is None else _to_catalogue(items, owner)
    if isinstance(data, str | PathLike) or is_table(data) or is_lazy_collection(data):
        if catalogue is None:
            if hasattr(type(data), "columns"):  # a matrix in a table gets the better reason
                names = [str(name) for name in getattr(data, "column_names", data.columns)]
                check_names(names, needed_columns(columns, True, owner), owner)
            raise InvalidParameter(owner, "items", _CATALOGUE, None)
        read: Callable[..., Origin] = RatingTable if is_table(data) else read_rating_file
        if is_lazy_collection(data):
            data, read = LazyBlocks(data, owner=owner), RatingBlocks
        origin = read(data, catalogue, bounds, owner, columns)
        return Ratings(origin, len(catalogue), n_users, bounds, catalogue)
    matrix = read_stored(data, bounds, owner) if scipy.sparse.issparse(data) else read_dense(data, bounds, owner)
    if catalogue is not None and len(catalogue) != matrix.n_items:
        requirement = f"None or {matrix.n_items} ids, one for each column"
        raise InvalidParameter(owner, "items", requirement, f"{len(catalogue)} ids")
    return Ratings(matrix, matrix.n_items, n_users, bounds, catalogue)


def _to_catalogue(items: Any, owner: str) -> Catalogue:
    if isinstance(items, Catalogue):
        return items
    try:
        return Catalogue(items)
    except InvalidParameter as error:
        raise InvalidParameter(owner, "items", error.requirement, error.got) from error
