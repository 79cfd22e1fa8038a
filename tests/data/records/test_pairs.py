"""Pairs: two vectors or two indices for each record, from arrays, tables and npy files."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from hushrank.data.records.pairs import read_pair
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.standard_normal((6, 2)), RNG.standard_normal((6, 3))
TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "Arrow": pa.table}


def columns(names, numbers):
    return {name: numbers[:, j] for j, name in enumerate(names)}


def joined(pair):
    blocks = list(pair.blocks(4, pair.dtype))
    assert all(block.flags.c_contiguous for block in blocks)
    return np.concatenate([np.empty((0, *pair.shape), pair.dtype), *blocks])


def forms(path):
    np.save(path / "x.npy", FIRST)
    np.save(path / "z.npy", SECOND)
    return {
        "arrays": (FIRST, SECOND),
        "lists": (FIRST.tolist(), SECOND.tolist()),
        "other layouts": (np.asfortranarray(FIRST), SECOND.astype(">f8")),
        "npy files": (path / "x.npy", str(path / "z.npy")),
        **{kind: (make(columns("ab", FIRST)), make(columns("abc", SECOND))) for kind, make in TABLES.items()},
    }


@pytest.mark.parametrize("kind", [*TABLES, "arrays", "lists", "other layouts", "npy files"])
def test_every_form_of_two_vectors(tmp_path, kind):
    pair, names = read_pair(forms(tmp_path)[kind], 2, "A")
    assert pair.parts == (2, 3) and joined(pair).tobytes() == np.hstack([FIRST, SECOND]).tobytes()
    assert names == ((("a", "b"), ("a", "b", "c")) if kind in TABLES else None)
    assert pair.columns == (("a", "b", "a", "b", "c") if kind in TABLES else None)


def test_arrays_are_not_looked_at_before_they_are_read():
    first, second = np.zeros((2, 1)), np.zeros((2, 1))
    pair, _ = read_pair((first, second), 2, "A")
    first[:], second[:] = 1.0, 2.0
    assert joined(pair).tolist() == [[1, 2], [1, 2]]


INDICES = {
    "lists": ([0, 5, -1], [2**40, 0, 1]),
    "arrays": (np.array([0, 5, -1]), np.array([2**40, 0, 1], np.uint64)),
    "floats": (np.array([0.0, 5, -1]), [float(2**40), 0, 1]),
    "columns": (pl.Series([0, 5, -1]), pd.Series([2**40, 0, 1])),
    "Arrow": (pa.array([0, 5, -1]), pa.chunked_array([[2**40], [0, 1]])),
}


@pytest.mark.parametrize("kind", INDICES)
def test_every_form_of_two_indices(kind):
    pair, names = read_pair(INDICES[kind], 1, "A")
    assert pair.parts == (1, 1) and names is None and joined(pair).tolist() == [[0, 2**40], [5, 0], [-1, 1]]


def test_missing_indices_are_none():
    pair, _ = read_pair((pa.array([0, None]), [None, 3]), 1, "A")
    assert np.array_equal(joined(pair), [[0, np.nan], [np.nan, 3]], equal_nan=True)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_chosen_columns_of_both_tables(make):
    x, z = make(columns(["b", "user", "a"], SECOND)), make(columns(["c", "a", "target"], SECOND))
    pair, names = read_pair((x, z), 2, "A", (("a", "b"), ("target", "c")))
    assert names == (("a", "b"), ("target", "c"))
    assert np.array_equal(joined(pair), SECOND[:, [2, 0, 2, 0]])
    with pytest.raises(InvalidParameter, match=r"^X of A must be records of one person each, .* \"a column 'user'\""):
        read_pair((x, z), 2, "A")
    pair, names = read_pair((z, z), 2, "A")
    assert names == (("c", "a"), ("c", "a"))  # answers are no part of X


VECTORS = "X of A must be a tuple (x, z) of two arrays or two tables with a row for each record"
TWO = "X of A must be a tuple (rows, columns) of two vectors of one length"
SHAPE = "of shape (n, d) or (n, d1, d2), a vector or matrix for each record (Reshape your data)"
TABLE = pl.DataFrame({"a": [7.25]})
REFUSED = {
    "one": ((FIRST,), 2, f"{VECTORS}; got 'a tuple of 1'."),
    "three": ((FIRST, FIRST, FIRST), 2, f"{VECTORS}; got 'a tuple of 3'."),
    "no indices": ((), 1, f"{TWO}; got 'a tuple of 0'."),
    "other lengths": ((FIRST, SECOND[:5]), 2, f"{VECTORS}; got 'shape (6, 2) and shape (5, 3)'."),
    "matrices": ((FIRST, SECOND[:, None]), 2, f"{VECTORS}; got 'shape (6, 2) and shape (6, 1, 3)'."),
    "vectors of one": ((FIRST[:, 0], SECOND), 2, f"X of A must be {SHAPE}; got 'shape (6,)'."),
    "a table and an array": ((TABLE, [[7.25]]), 2, f"{VECTORS}; got 'a table and list'."),
    "tables of indices": ((TABLE, TABLE), 1, f"{TWO}; got 'a table and a table'."),
    "indices of other lengths": (([0, 1], [0]), 1, f"{TWO}; got 'shape (2, 1) and shape (1, 1)'."),
    "matrices of indices": (
        (FIRST, [0] * 6),
        1,
        "X of A must be a vector, one number for each record; got 'shape (6, 2)'.",
    ),
    "texts": ((["7.25"], [0]), 1, "X of A must be real numbers of at most double precision; got '<U4'."),
    "text vectors": (
        (np.array([["7.25"]]), SECOND),
        2,
        "X of A must be real numbers of at most double precision; got '<U4'.",
    ),
    "sparse": (
        (FIRST, sp.csr_array(SECOND)),
        2,
        "X of A must be an array or a table (toarray() makes one); got 'csr_array'.",
    ),
    "a missing file": (("x.npy", "z.npy"), 2, "X of A must be an existing npy file; got 'x.npy'."),
    "other files": (("x.csv", "z.csv"), 2, "X of A must be an existing npy file; got 'x.csv'."),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_show_no_values(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a\n7.25\n")
    data, n_axes, message = REFUSED[kind]
    with pytest.raises(InvalidParameter) as refusal:
        read_pair(data, n_axes, "A")
    assert str(refusal.value) == message
