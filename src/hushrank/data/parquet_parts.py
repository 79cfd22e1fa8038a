"""Row groups of Parquet files: what a footer tells, and batches that are streamed from some of them.

Memory depends on the pages of a file, not on its row groups.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from hushrank.data.files import refuse_damaged
from hushrank.data.remote_files import Place, RemotePath, settled

# Without a buffer size a whole column chunk of a row group is read at once; 64 kB was as fast as 1 MB and smaller.
_BUFFER_BYTES = 2**16

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """Consecutive row groups of a file.

    Attributes
    ----------
    path : Path or RemotePath
    group_rows : tuple of int
        Rows of each of them.
    first : int or None
        Which row group of the file is the first of them; None if they are all.
    """

    path: Place
    group_rows: tuple[int, ...]
    first: int | None = None

    @property
    def n_rows(self) -> int:
        """Rows of all of them."""
        return sum(self.group_rows)

    def cut(self, enough: int) -> list["ParquetPart"]:
        """Parts of at least `enough` rows, but for the last; none where there are no rows.

        Examples
        --------
        >>> [part.group_rows for part in ParquetPart(Path("x.parquet"), (3, 1, 2, 5, 1)).cut(3)]
        [(3,), (1, 2), (5,), (1,)]
        """
        found, start, n_rows = [], 0, 0
        for stop, rows in enumerate(self.group_rows, 1):
            n_rows += rows
            if n_rows >= max(enough, 1) or (stop == len(self.group_rows) and n_rows):
                found.append(ParquetPart(self.path, self.group_rows[start:stop], (self.first or 0) + start))
                start, n_rows = stop, 0
        return found if len(found) > 1 else [self][: len(found)]

    def batches(
        self, names: Sequence[str], most: int, make: Callable[[pa.RecordBatch], Made], owner: str
    ) -> Iterator[Made]:
        """What `make` makes of each batch of at most `most` rows, which has the columns `names` in this order."""
        with _open_columns(self.path, names, owner) as file:
            for groups in self._runs(file.num_row_groups):
                for batch in file.iter_batches(most, row_groups=groups, columns=list(names)):
                    if batch.num_rows:
                        # By name: batches keep the order of the file, and a file that has lost a column is refused.
                        yield make(batch.select(list(names)))

    def _runs(self, n_groups: int) -> list[list[int]]:
        """The row groups that are read at a time: one of a file elsewhere, which is read ahead as a whole."""
        start = self.first or 0
        groups = range(n_groups) if self.first is None else range(start, start + len(self.group_rows))
        return [[group] for group in groups] if isinstance(self.path, RemotePath) else [list(groups)]


@contextmanager
def _open_columns(path: Place, names: Sequence[str], owner: str) -> Iterator[pq.ParquetFile]:
    """A file of which these columns are read.

    Words that are numbered by other integers than int32 are read with these: Arrow would check every word as it makes
    the others, and one that is not UTF-8 must not stop a fit.
    """
    with open_parquet(path, owner, **_reading(path)) as file:
        words = [name for name in names if _is_renumbered(file.schema_arrow.field(name).type)]
        if not words:
            yield file
            return
    with open_parquet(path, owner, **_reading(path), read_dictionary=words) as file:
        yield file


def _is_renumbered(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) and kind.index_type != pa.int32())


def _reading(path: Place) -> dict[str, Any]:
    """How a file is read: here in small bites, elsewhere in few large ones, for each takes its time."""
    return {"pre_buffer": True} if isinstance(path, RemotePath) else {"buffer_size": _BUFFER_BYTES, "pre_buffer": False}


@dataclass(frozen=True, slots=True)
class Footer:
    """What a file says of itself.

    Attributes
    ----------
    schema : Arrow schema
    index : list
        The columns that are a stored index of pandas.
    part : ParquetPart
        All of its row groups.
    """

    schema: pa.Schema
    index: list[Any]
    part: ParquetPart


def read_footer(path: Place, owner: str) -> Footer:
    """The footer of a file, which is opened once."""
    with open_parquet(path, owner) as file:
        schema, metadata = file.schema_arrow, file.metadata
        rows = tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
        return Footer(schema, (schema.pandas_metadata or {}).get("index_columns", []), ParquetPart(settled(path), rows))


@contextmanager
def open_parquet(path: Place, owner: str, **options: Any) -> Iterator[pq.ParquetFile]:
    """An open Parquet file; whatever is wrong with it is said in one line."""
    with refuse_damaged(path, "Parquet", owner), ExitStack() as stack:
        # Columns lie far apart: what fsspec would read ahead of one of them is of no use to the next.
        file = path if isinstance(path, Path) else stack.enter_context(path.open(cache_type="none"))
        yield stack.enter_context(pq.ParquetFile(file, **options))


def cut_parts(parts: Iterable[ParquetPart], enough: int) -> list[ParquetPart]:
    """The parts of some files, in their order, see `ParquetPart.cut`."""
    return [part for whole in parts for part in whole.cut(enough)]
