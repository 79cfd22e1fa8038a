"""Folders of files of one table, and pieces as another process reads them: what the tests of files share."""

import pickle

import pyarrow.csv as csv
import pyarrow.parquet as pq

ENOUGH = (1, 2, 3, 10**9)  # rows of a piece


def write_folder(folder, table, kind="parquet"):
    """A table in four files: one without rows, some with several row groups, and columns in two orders."""
    folder.mkdir(parents=True, exist_ok=True)
    third = len(table) // 3
    for i, part in enumerate((table[:third], table[:0], table[third : 2 * third], table[2 * third :])):
        part = part.select(part.column_names[:: (-1) ** i])
        if kind == "parquet":
            pq.write_table(part, folder / f"{i}.parquet", row_group_size=2)
        else:
            csv.write_csv(part, folder / f"{i}.csv")
    return folder


def sent(pieces):
    """The sources or origins of pieces, after a journey through a pickle."""
    assert all(piece.needs == () for piece in pieces)
    return [pickle.loads(pickle.dumps(piece.read))() for piece in pieces]
