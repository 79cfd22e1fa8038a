"""A stand-in for a cluster: pieces are read, packed, moved and joined in this process, and arrive in any order."""

import itertools
import pickle
import random
from functools import partial, reduce
from operator import add

import pyarrow as pa
import pyarrow.parquet as pq

from hushrank.data.id_arrays import bytes_as_text
from hushrank.data.parcels import PACKED_ROWS, pack, unpack
from hushrank.data.regrouping import source_of
from hushrank.data.source import Piece

LONG = b"x" * 10**5
# Ids of texts by the user that they mean; None is nobody.
SPELLINGS = {
    b"7": [b"7", b" 7.0 ", b"07", b"+7", b"\t7.\t"],
    b"-7": [b"-7", b"-007.00"],
    b"0": [b"0", b"-0", b"+00.0"],
    b"line\nbreak": [b"line\nbreak"],
    b"line\r\nbreak": [b"line\r\nbreak", b"line\r\nbreak\n"],
    b'a "quote", ,': [b'a "quote", ,'],
    b"\xff\xfe": [b"\xff\xfe"],
    b"\xff\xfd": [b"\xff\xfd"],
    b"\xed\xa0\x80": [b"\xed\xa0\x80"],
    "Ärzte 7".encode(): ["Ärzte 7".encode()],
    LONG: [LONG, LONG + b" "],
    LONG[1:] + b"y": [LONG[1:] + b"y"],
    b"1" + b"0" * 40: [b"1" + b"0" * 40, b"01" + b"0" * 40 + b".0"],
    b"-1" + b"0" * 40: [b"-1" + b"0" * 40],
    str(2**64 - 1).encode(): [str(2**64 - 1).encode()],
    None: [None, b"", b"  "],
}
TEXTS = [text for spellings in SPELLINGS.values() for text in spellings]
# Columns of ids by their type, with ids that other types would confuse, and with nobody.
IDS = {
    "int64": pa.array([7, -7, 0, None, 2**63 - 1, -(2**63), -1, 2**53, 2**53 + 1], pa.int64()),
    "int16": pa.array([7, -7, 0, None, 2**15 - 1, -(2**15)], pa.int16()),
    "uint64": pa.array([7, 0, None, 2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1], pa.uint64()),
    "str": bytes_as_text(TEXTS),
    "null": pa.nulls(3),
}


def travel(thing):
    """As another process gets it."""
    return pickle.loads(pickle.dumps(thing))


class Places:
    """`Groups` of this process.

    Parameters
    ----------
    grouping : Grouping
    pieces : list of Piece
        Whose `read` gives origins.
    n_places, most : as of `pack`
    seed : int or None
        Of the order in which parcels of pieces are joined; None for that of the pieces.
    """

    def __init__(self, grouping, pieces, n_places=3, most=PACKED_ROWS, seed=0):
        self._grouping, self._pieces, self._n_places, self._most = grouping, pieces, n_places, most
        self._seed, self._parts, self.n_makings = seed, None, 0

    def n_people(self):
        return sum(part.n_people for part in self._settle())

    def notes(self):
        return reduce(add, (part.notes() for part in self._settle()))

    def parts(self):
        return iter(self._settle())

    def pieces(self):
        return [Piece(partial(source_of, part), (), part.n_people) for part in self._settle() if part.n_people]

    def forget(self):
        self._parts = None

    def _settle(self):
        if self._parts is None:
            self._parts, self.n_makings = self._make(), self.n_makings + 1
        return self._parts

    def _make(self):
        sent = [self._pack(piece) for piece in self._pieces]
        if self._seed is not None:
            random.Random(self._seed).shuffle(sent)
        grouping, n_left_out = travel(self._grouping), sum(n for _, n in sent)
        return [
            travel(grouping.join(rows_of(parcels[place] for parcels, _ in sent), 0 if place else n_left_out))
            for place in range(self._n_places)
        ]

    def _pack(self, piece):
        values = piece.needs
        if values:
            import dask

            values = dask.compute(*values)
        origin = travel(piece.read)(*travel(values))
        return pack(travel(self._grouping).rows(origin), self._n_places, self._most)


def rows_of(parcels):
    """Rows of one parcel after the other."""
    return (rows for parcel in parcels for rows in unpack(parcel))


def group_at(n_places, most=PACKED_ROWS, seed=0):
    """What a source of people takes to bring them together at so many places."""
    return partial(Places, n_places=n_places, most=most, seed=seed)


# Files.


def write_files(folder, table, kind, n_files=3):
    """A table in so many files and one without rows, of small row groups; texts may be any bytes."""
    folder.mkdir()
    edges = [len(table) * k // n_files for k in range(n_files + 1)]
    parts = [table[start:stop] for start, stop in itertools.pairwise(edges)]
    for number, part in enumerate([*parts, table[:0]]):
        if kind == "parquet":
            pq.write_table(part, folder / f"{number}.parquet", row_group_size=5)
        else:
            (folder / f"{number}.csv").write_bytes(_csv_of(part))
    return folder


def _csv_of(table):
    columns = [_cells_of(column.combine_chunks()) for column in table.columns]
    lines = [b",".join(name.encode() for name in table.column_names)]
    lines += [b",".join(cells) for cells in zip(*columns, strict=True)]
    return b"\n".join(lines) + b"\n"


def _cells_of(column):
    if pa.types.is_large_string(column.type):
        cells = column.cast(pa.large_binary()).to_pylist()
        return [b"" if cell is None else b'"' + cell.replace(b'"', b'""') + b'"' for cell in cells]
    return [b"" if cell is None else repr(cell).encode() for cell in column.to_pylist()]
