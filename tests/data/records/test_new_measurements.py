"""New measurements: every form gives the array that the blocks of a fit have, in order and with nobody left out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data.records.measurements import read_measurements
from hushrank.data.records.new_measurements import read_new_measurements
from hushrank.exceptions import InvalidParameter
from piece_support import write_folder

RNG = np.random.default_rng(1)
N, SIZE = 9, (2, 3)
LEFT, RIGHT = RNG.standard_normal((N, 2)), RNG.standard_normal((N, 3))
DESIGNS = {
    "dense": RNG.standard_normal((N, *SIZE)),
    "rank_one": np.hstack([LEFT, RIGHT]),
    "entry": RNG.integers(-1, 4, (N, 2)).astype(np.float64),
}


def read(X, design, columns=None, shape=SIZE):
    return read_new_measurements(X, design=design, shape=shape, columns=columns, owner="A")


def names_of(design):
    return tuple(f"c{j}" for j in range(DESIGNS[design][0].size))


def table_of(design, **more):
    return pa.table({**more, **dict(zip(names_of(design), DESIGNS[design].reshape(N, -1).T, strict=True))})


def files(table, path):
    """A table in every form with names, some of them with other columns first."""
    pq.write_table(table, path / "x.parquet")
    table.to_pandas().to_csv(path / "x.csv", index=False)
    (path / "folder").mkdir()
    pq.write_table(table[:4], path / "folder" / "0.parquet")
    pq.write_table(table[4:].select(table.column_names[::-1]), path / "folder" / "1.pq")
    frames = [table, table.to_pandas(), pl.from_arrow(table), table.combine_chunks().to_batches()[0]]
    return [*frames, path / "x.parquet", str(path / "x.csv"), path / "folder"]


@pytest.mark.parametrize("design", DESIGNS)
def test_every_form_without_names(tmp_path, design):
    whole = DESIGNS[design]
    np.save(tmp_path / "x.npy", whole)
    np.save(tmp_path / "flat.npy", whole.reshape(N, -1))
    pairs = {"rank_one": [(LEFT, RIGHT), (LEFT.tolist(), RIGHT)], "entry": [tuple(whole.T), tuple(whole.T.tolist())]}
    data = [whole, whole.reshape(N, -1), whole.tolist(), np.asfortranarray(whole), tmp_path / "x.npy",
            str(tmp_path / "flat.npy"), *pairs.get(design, [])]  # fmt: skip
    for columns in (None, names_of(design)):
        for X in data:
            found = read(X, design, columns)
            assert found.shape == whole.shape and found.tobytes() == whole.tobytes() and found.flags.c_contiguous
    [block] = read_measurements(whole, np.zeros(N), design=design, shape=SIZE, owner="A").blocks()
    assert block.X.tobytes() == found.tobytes()


@pytest.mark.parametrize("design", DESIGNS)
def test_every_form_with_names(tmp_path, design):
    for X in files(table_of(design), tmp_path):
        for columns in (None, names_of(design)):
            assert read(X, design, columns).tobytes() == DESIGNS[design].tobytes()


def test_tables_may_have_other_columns_in_any_order(tmp_path):
    table = table_of("rank_one", user=["7.25"] * N, target=["7.25"] * N)
    table = table.select(table.column_names[::-1])
    for X in files(table, tmp_path):
        assert read(X, "rank_one", names_of("rank_one")).tobytes() == DESIGNS["rank_one"].tobytes()
        with pytest.raises(InvalidParameter, match=r"^X of A must be records of one person each, "):
            read(X, "rank_one")
    named = np.array(names_of("rank_one"), object)  # as a model has them
    assert read(table, "rank_one", named).tobytes() == DESIGNS["rank_one"].tobytes()


def test_answers_are_no_part_of_x_by_default(tmp_path):
    for X in files(table_of("entry", target=[7.25] * N), tmp_path):
        assert read(X, "entry").tobytes() == DESIGNS["entry"].tobytes()


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_pairs_of_tables_have_the_names_of_both(make):
    x, z = make({"b": LEFT[:, 1], "a": LEFT[:, 0]}), make({"a": RIGHT[:, 0], "c": RIGHT[:, 2], "b": RIGHT[:, 1]})
    found = read((x, z), "rank_one", ("a", "b", "a", "b", "c"))
    assert found.tobytes() == DESIGNS["rank_one"].tobytes()
    assert np.array_equal(read((x, z), "rank_one"), np.hstack([LEFT[:, ::-1], RIGHT[:, [0, 2, 1]]]))
    with pytest.raises(InvalidParameter, match=r"^X of A must be a tuple of two tables, as in the fit; got 'a table'"):
        read(z, "rank_one", ("a", "b", "a", "b", "c"))


def test_single_precision_stays_single(tmp_path):
    single = DESIGNS["dense"].astype(np.float32)
    np.save(tmp_path / "x.npy", single)
    for X in (single, tmp_path / "x.npy", pa.table(list(single.reshape(N, -1).T), names=list("abcdef"))):
        found = read(X, "dense")
        assert found.dtype == np.float32 and found.tobytes() == single.tobytes()
    assert read(DESIGNS["entry"].astype(np.int8), "entry").dtype == np.float64


def test_more_than_a_block(monkeypatch):
    X = RNG.standard_normal((20_000, 2))
    assert read(X, "entry").tobytes() == X.tobytes() == read(tuple(X.T), "entry").tobytes()


def test_any_values_keep_their_place(tmp_path):
    (tmp_path / "x.csv").write_text('a,b,note\n1,x,"two\nlines"\n\n,1e400,-\nnan,-0,-\n')
    expected = [[1, np.nan], [np.nan, np.inf], [np.nan, -0.0]]
    assert np.array_equal(read(tmp_path / "x.csv", "entry", ["a", "b"]), expected, equal_nan=True)
    assert np.array_equal(read(([1, None, np.nan], [None, np.inf, 0]), "entry"), expected, equal_nan=True)


def test_nobody_is_somebody():
    assert read(np.empty((0, 2)), "entry").shape == (0, 2) and read(np.empty((0, 6)), "dense").shape == (0, 2, 3)


def test_a_csv_file_with_a_broken_record_is_refused_not_shortened(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4,5\n6,7\n")
    with pytest.raises(InvalidParameter) as refusal:
        read(tmp_path / "x.csv", "entry")
    assert "a CSV file whose records have 2 fields, as its header; got 'x.csv: another record'" in str(refusal.value)


SIX = "X of A must be the n_rows * n_columns entries of a matrix, 6 numbers, for each record and the shape (2, 3)"
REFUSED = {
    "a stream": (iter([LEFT]), "dense", None, "an array, a tuple, a table or a path; got 'list_iterator'."),
    "a function": (lambda: [LEFT], "dense", None, "an array, a tuple, a table or a path; got 'function'."),
    "a source": (
        read_measurements(DESIGNS["dense"], np.zeros(N), design="dense", owner="A"),
        "dense",
        None,
        "an array, a tuple, a table or a path; got 'Measurements'.",
    ),
    "fewer columns": (LEFT, "dense", None, f"{SIX}; got '2 numbers'."),
    "another size": (np.ones((1, 3, 2)), "dense", None, "measurements of the shape (2, 3); got 'those of (3, 2)'."),
    "a turned pair": ((RIGHT, LEFT), "rank_one", None, "measurements of the shape (2, 3); got 'those of (3, 2)'."),
    "no such column": (table_of("entry"), "entry", ["c0", "z"], "got \"no column 'z', but 'c0', 'c1'\"."),
    "other names": ("x.csv", "entry", ["c0", "z"], "got \"no column 'z', but '', 'c0', 'c1'\"."),
    "an index": ("x.csv", "entry", None, "a CSV file with a name for every column; got 'a column without a name'."),
    "no file": ("y.csv", "entry", None, "X of A must be an existing file; got 'y.csv'."),
    "no Parquet file": ("y.parquet", "entry", None, "X of A must be an existing file; got 'y.parquet'."),
    "another file": (
        "y.npz",
        "entry",
        None,
        "or a file ending in .parquet, .pq, .csv, .tsv, .csv.gz, .tsv.gz, .csv.zst, .tsv.zst, .npy; got 'y.npz'.",
    ),
    "texts": (pl.DataFrame({"a": ["7.25"]}), "entry", None, "got \"column 'a' of type String\"."),
    "lazy": (pl.LazyFrame({"a": [7.25]}), "entry", None, "got 'LazyFrame'."),
    "a design": (LEFT, "full", None, "design of A must be one of 'dense', 'rank_one', 'entry'; got 'full'."),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_show_no_values(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text(",c0,c1\n0,7.25,1\n")
    X, design, columns, message = REFUSED[kind]
    with pytest.raises(InvalidParameter) as refusal:
        read(X, design, columns)
    assert str(refusal.value).endswith(message) and "7.25" not in str(refusal.value)


def test_a_folder_of_csv_files_loses_nobody(tmp_path):
    folder = write_folder(tmp_path / "x", table_of("rank_one"), "csv")
    for columns in (None, names_of("rank_one")):
        assert read(folder, "rank_one", columns).tobytes() == DESIGNS["rank_one"].tobytes()
    (folder / "4.csv").write_text(",".join(names_of("rank_one")) + ",more\n")
    with pytest.raises(InvalidParameter, match=r"folder of CSV files with the same columns; got .*'more' not in all"):
        read(folder, "rank_one")
    (folder / "4.csv").write_text(",".join(names_of("rank_one")) + "\n1,2\n")
    with pytest.raises(InvalidParameter, match=r"4.csv: another record"):
        read(folder, "rank_one")
