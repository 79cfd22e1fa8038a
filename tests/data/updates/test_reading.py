"""Updates from whatever holds them: the same from every kind, refusals in one line without values."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from hushrank.data.rows.reading import read_rows
from hushrank.data.updates.reading import Updates, read_updates
from hushrank.exceptions import InvalidParameter

NAN = math.nan
SHAPE = (3, 4)
ROWS, COLUMNS, DELTAS = [0, 2, 0, 2], [1, 3, 0, 3], [0.5, 1.0, -2.0, 1.0]
TRIPLES = list(zip(ROWS, COLUMNS, DELTAS, strict=True))


def read(*data, shape=SHAPE, **options):
    return read_updates(*data, shape=shape, owner="A", **options)


def triples(source):
    return [
        update
        for block in source.blocks()
        for update in zip(block.rows.tolist(), block.columns.tolist(), block.deltas.tolist(), strict=True)
    ]


def refusal_of(*data, **options):
    with pytest.raises(InvalidParameter) as refusal:
        read(*data, **options)
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


FORMS = {
    "lists": (list, list),
    "tuples": (tuple, tuple),
    "arrays": (np.array, np.array),
    "unsigned": (lambda indices: np.array(indices, np.uint64), np.array),
    "pandas": (pd.Series, pd.Series),
    "pandas nullable": (lambda indices: pd.Series(indices, dtype="UInt8"), pd.Series),
    "polars": (pl.Series, pl.Series),
    "Arrow": (pa.array, pa.array),
    "Arrow chunks": (lambda indices: pa.chunked_array([indices[:1], indices[1:]]), pa.array),
}


@pytest.mark.parametrize("form", FORMS)
def test_vectors_of_every_form(form):
    indices, numbers = FORMS[form]
    updates = read(indices(ROWS), indices(COLUMNS), numbers(DELTAS))
    assert type(updates) is Updates and updates.n_samples == 4
    assert updates.sizes == {"n_rows": 3, "n_columns": 4} and triples(updates) == TRIPLES


def test_missing_and_huge_indices_and_deltas_are_left_out_one_by_one():
    """A null must not become an index inside: 255 is the largest of eight bits, and inside a large matrix."""
    shape = (2**63 - 1, 2**63 - 1)
    for dtype in (pa.int8(), pa.uint8(), pa.uint64()):
        rows = pa.array([1, None, 2, 3], dtype)
        updates = read(rows, pa.array([5, 6, None, 8], dtype), pa.array([1.0, 1.0, 1.0, None]), shape=shape)
        assert triples(updates) == [(1, 5, 1.0)] and updates.n_samples == 4
    assert triples(read(pa.nulls(2), [0, 0], [1, 1])) == []
    for odd in (2**63, 2**64, -(2**63) - 1, 10**5000, None, np.uint64(2**64 - 1), -1):
        assert triples(read([0, odd, 1], [3, 0, 2], [7, 8, 10**400])) == [(0, 3, 7.0)]
        assert triples(read((0, 1), (3, odd), (None, 1.0))) == []
    assert triples(read(np.array([2**64 - 1, 1], np.uint64), [0, 2], [7, 8])) == [(1, 2, 8.0)]


def test_no_updates():
    empty = (np.empty(0, np.int8), np.empty(0, np.uint64), np.empty(0))
    for data in (([], [], []), empty, (sp.coo_array(SHAPE),)):
        assert read(*data).n_samples == 0 and triples(read(*data)) == []


REFUSED = {
    "no columns": ((ROWS,), "columns of A must be a vector of integers of at most 64 bits; got None."),
    "no deltas": ((ROWS, COLUMNS), "deltas of A must be a vector of real numbers, one for each update; got None."),
    "nothing": ((None,), "rows of A must be a vector of integers of at most 64 bits; got None."),
    "float indices": (
        (np.full(4, 7.25), COLUMNS, DELTAS),
        "rows of A must be a vector of integers of at most 64 bits; got 'float64 of shape (4,)'.",
    ),
    "no float indices, but an array of them": (
        (np.empty(0), [], []),
        "rows of A must be a vector of integers of at most 64 bits; got 'float64 of shape (0,)'.",
    ),
    "truths": (
        (ROWS, [True] * 4, DELTAS),
        "columns of A must be a vector of integers of at most 64 bits; got 'bool of shape (4,)'.",
    ),
    "one float": (
        ([0, 7.25, 0, 0], COLUMNS, DELTAS),
        "rows of A must be a vector of integers of at most 64 bits; got 'float64 of shape (4,)'.",
    ),
    "objects": (
        (np.array(ROWS, object), COLUMNS, DELTAS),
        "rows of A must be a vector of integers of at most 64 bits; got 'object of shape (4,)'.",
    ),
    "matrix of indices": (
        (ROWS, [COLUMNS], DELTAS),
        "columns of A must be a vector of integers of at most 64 bits; got 'int64 of shape (1, 4)'.",
    ),
    "mask": (
        (np.ma.masked_array(ROWS), COLUMNS, DELTAS),
        "rows of A must be an array without a mask (rows.filled(numpy.nan)); got 'MaskedArray'.",
    ),
    "column of floats": (
        (pa.array([7.25]), [0], [1]),
        "rows of A must be a vector of integers of at most 64 bits; got 'a column of type double'.",
    ),
    "column of objects": (
        (pd.Series([1], dtype=object), [0], [1]),
        "rows of A must be a vector of integers of at most 64 bits; got 'a column of objects'.",
    ),
    "column of texts": (
        (pl.Series(["7.25"]), [0], [1]),
        "rows of A must be a vector of integers of at most 64 bits; got 'a column of type large_string'.",
    ),
    "text deltas": (
        (ROWS, COLUMNS, ["7.25"] * 4),
        "deltas of A must be real numbers of at most double precision; got '<U4'.",
    ),
    "fewer columns": (
        (ROWS, COLUMNS[:3], DELTAS),
        "columns of A must be a vector of 4 numbers, as many as rows; got '3 numbers'.",
    ),
    "fewer deltas": (
        (ROWS, COLUMNS, DELTAS[:3]),
        "deltas of A must be a vector of 4 numbers, as many as rows; got '3 numbers'.",
    ),
    "rows of numbers": (
        (read_rows([[7.25]], owner="A"),),
        "rows of A must be updates: vectors, a sparse matrix, a table, a path or a stream of blocks; got 'ArrayRows'.",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_are_one_line_without_values(kind):
    data, message = REFUSED[kind]
    assert refusal_of(*data) == message


@pytest.mark.parametrize(
    "shape", [None, 3, (3,), (3, 4, 5), (0, 4), (3, -1), (3.0, 4), (True, 4), "34", (3, 2**63), {3, 4}]
)
def test_unsuitable_shapes_are_refused(shape):
    message = f"shape of A must be a pair of integers >= 1, rows and columns; got {shape!r}."
    assert refusal_of(ROWS, COLUMNS, DELTAS, shape=shape) == message


def test_shapes_may_be_any_pair_of_integers():
    for shape in ((3, 4), [3, 4], (np.int64(3), np.uint8(4))):
        updates = read(ROWS, COLUMNS, DELTAS, shape=shape)
        assert updates.shape == SHAPE and all(type(size) is int for size in updates.shape)


def test_updates_are_passed_through():
    updates = read(ROWS, COLUMNS, DELTAS)
    assert read(updates) is updates
    assert refusal_of(updates, shape=(4, 4)) == (
        "rows of A must be updates of a matrix of shape (4, 4); got 'shape (3, 4)'."
    )
    assert refusal_of(updates, needs_users=True) == "rows of A must be updates with users; got 'updates without'."
    with_users = read(ROWS, COLUMNS, DELTAS, USERS, needs_users=True)
    assert read(with_users, needs_users=True) is with_users and read(with_users) is with_users


# Every kind of data.


USERS = ["ann", "7", None, ""]
TABLE = pa.table({"delta": DELTAS, "note": [None] * 4, "column": COLUMNS, "user": USERS, "row": ROWS})


def kinds_of_data(folder, needs_users=False):
    """The same updates by kind; tuples have users where they are needed."""
    pq.write_table(TABLE, folder / "x.parquet")
    TABLE.to_pandas().to_csv(folder / "x.csv", index=False)
    (folder / "parts").mkdir()
    for k in range(2):
        pq.write_table(TABLE[2 * k : 2 * k + 2], folder / "parts" / f"{k}.pq")
    columns = [TABLE[name] for name in ("row", "column", "delta", "user")][: 3 + needs_users]
    blocks = [TABLE[:1], tuple(column[1:3] for column in columns), TABLE.to_batches()[0][3:]]
    return {
        "table": TABLE,
        "batch": TABLE.to_batches()[0],
        "pandas": TABLE.to_pandas().astype({"user": "string"}),
        "polars": pl.from_arrow(TABLE),
        "csv": folder / "x.csv",
        "text of a path": str(folder / "x.csv"),
        "parquet": folder / "x.parquet",
        "folder": folder / "parts",
        "iterator": iter(blocks),
        "generator": (block for block in blocks),
        "function": lambda: blocks,
        "matrix": sp.coo_array((DELTAS, (ROWS, COLUMNS)), SHAPE),
    }


def test_the_same_updates_from_every_kind_of_data(tmp_path):
    for needs_users in (False, True):
        folder = tmp_path / str(needs_users)
        folder.mkdir()
        for kind, data in kinds_of_data(folder, needs_users).items():
            if needs_users and kind == "matrix":
                continue
            source = read(data, needs_users=needs_users)
            assert source.has_users == needs_users and type(source) is Updates
            assert source.can_repeat == (kind not in ("iterator", "generator"))
            is_counted = kind not in ("csv", "text of a path", "iterator", "generator", "function")
            assert source.n_samples == (4 if is_counted else None)
            found = everything(source)
            assert found[0] == TRIPLES
            assert [user or None for user in found[1]] == (["ann", "7", None, None] if needs_users else [])


def everything(source, most=3):
    """All updates of all chunks, and their users."""
    chunks = list(source.chunks(most))
    assert all(0 < len(chunk) <= most for chunk in chunks)
    updates = [
        update
        for chunk in chunks
        for update in zip(chunk.rows.tolist(), chunk.columns.tolist(), chunk.deltas.tolist(), strict=True)
    ]
    return updates, [user for chunk in chunks if chunk.users is not None for user in chunk.users.to_pylist()]


@pytest.mark.parametrize("name", ["columns", "deltas", "users"])
def test_nothing_may_lie_beside_data_that_hold_everything(tmp_path, name):
    kinds = {"iterator": "stream", "function": "stream", "csv": "path", "table": "table", "matrix": "matrix"}
    data = kinds_of_data(tmp_path) | {"source": read(ROWS, COLUMNS, DELTAS)}
    for kind, word in (kinds | {"source": "source"}).items():
        message = f"{name} of A must be None beside a {word}; got 'list'."
        assert refusal_of(data[kind], **{name: [7.25] * 4}) == message


def test_users_are_given_if_and_only_if_they_are_needed():
    assert (
        refusal_of(ROWS, COLUMNS, DELTAS, needs_users=True) == "users of A must be ids, one for each update; got None."
    )
    message = "users of A must be None where an update needs no user; got 'ids'."
    assert refusal_of(ROWS, COLUMNS, DELTAS, USERS) == message


def test_streams_are_read_once_and_functions_again():
    blocks = [(ROWS, COLUMNS, DELTAS), (ROWS, COLUMNS, DELTAS)]
    source = read(iter(blocks))
    assert len(list(source.chunks())) == 2
    with pytest.raises(InvalidParameter, match="X of A must be data that can be read again"):
        source.chunks()
    source = read(lambda: iter(blocks))
    assert [len(list(source.chunks())) for _ in range(2)] == [2, 2]
