"""Measurements on the command line: which columns they are, their order, and what is refused before a value is read."""

import click
import numpy as np
import pandas as pd
import pytest

from hushrank.cli.measurements import CHOOSE, MEASUREMENTS, OPTIONS_OF, USERS
from hushrank.data.records import columns
from hushrank.data.records.forms import DESIGNS
from hushrank.data.records.record_files import CsvOrigin, ParquetOrigin
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.exceptions import InvalidParameter

N, NAMES = 20, ["a", "b", "c", "d", "e", "f"]
X = np.random.default_rng(0).standard_normal((N, len(NAMES)))
Y = X @ np.arange(6.0)
CELLS = np.random.default_rng(1).integers(0, 3, (N, 2))
WRITE = {"csv": lambda frame, path: frame.to_csv(path, index=False), "parquet": pd.DataFrame.to_parquet}


def make(design, shape=None):
    return PrivateTraceRegression(1, epsilon=1.0, delta=1e-6, design=design, shape=shape)


def read(model, source, **names):
    given = dict.fromkeys(("target", "x", "z", "row", "column", "features"))
    return MEASUREMENTS.read(model, source, **{**given, **names})


def content(source):
    blocks = list(source.blocks())
    return np.concatenate([block.X for block in blocks]), np.concatenate([block.y for block in blocks])


@pytest.fixture(params=WRITE)
def form(request):
    return request.param


@pytest.fixture
def folder(tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(X, columns=NAMES).assign(target=Y)
    table.insert(2, "days", -Y)
    WRITE[form](table, f"rows.{form}")
    WRITE[form](table.drop(columns="days"), f"plain.{form}")
    cells = pd.DataFrame(CELLS, columns=["row", "column"]).assign(target=Y, comment="text", other=CELLS[:, 0] + 1)
    WRITE[form](cells[["other", "target", "column", "comment", "row"]], f"cells.{form}")
    for name in USERS:
        WRITE[form](cells.assign(**{name: "ann"}), f"{name}.{form}")
    WRITE[form](pd.DataFrame(X, columns=NAMES).assign(target=Y, user=1), f"named.{form}")
    np.save("matrices.npy", X.reshape(N, 2, 3))
    np.save("cells.npy", CELLS)
    np.save("answers.npy", Y)
    return tmp_path


def test_every_design_has_its_options():
    assert set(OPTIONS_OF) == set(CHOOSE) == set(DESIGNS)
    assert set(USERS) == {columns.DEFAULT_USER, f"{columns.DEFAULT_USER}s"}


def test_dense_columns_are_entries_row_after_row(folder, form):
    found = read(make("dense", (2, 3)), f"plain.{form}")
    np.testing.assert_allclose(content(found)[0], X.reshape(N, 2, 3), rtol=1e-15)
    assert found.columns == tuple(NAMES)
    found = read(make("dense", (2, 2)), f"rows.{form}", features="d, a,f,b", target="days")
    np.testing.assert_allclose(content(found)[0], X[:, [3, 0, 5, 1]].reshape(N, 2, 2), rtol=1e-15)
    np.testing.assert_allclose(content(found)[1], -Y, rtol=1e-15)


@pytest.mark.parametrize("shape", [None, (2, 3), [2, 3]])
def test_names_of_two_vectors_tell_the_size_of_the_matrix(folder, form, shape):
    model = make("rank_one", shape)
    found = read(model, f"rows.{form}", x="f,b", z="a,c,e")
    assert {name: found.sizes[name] for name in ("n_rows", "n_columns")} == {"n_rows": 2, "n_columns": 3}
    np.testing.assert_allclose(content(found)[0], X[:, [5, 1, 0, 2, 4]], rtol=1e-15)
    assert found.columns == ("f", "b", "a", "c", "e") and model.shape == shape


def test_two_vectors_without_names_need_a_size(folder, form):
    found = read(make("rank_one", (4, 2)), f"plain.{form}")
    np.testing.assert_allclose(content(found)[0], X, rtol=1e-15)
    assert found.sizes["n_rows"] == 4
    with pytest.raises(InvalidParameter, match="shape of PrivateTraceRegression"):
        read(make("rank_one"), f"plain.{form}")


def test_entries_have_names_by_default(folder, form):
    found = read(make("entry", (3, 3)), f"cells.{form}")
    assert np.array_equal(content(found)[0], CELLS) and found.columns == ("row", "column")
    found = read(make("entry", (3, 4)), f"cells.{form}", column="other")
    assert np.array_equal(content(found)[0], np.column_stack([CELLS[:, 0], CELLS[:, 0] + 1]))
    found = read(make("entry", (3, 3)), f"cells.{form}", row="column", column="row")
    assert np.array_equal(content(found)[0], CELLS[:, ::-1])


def test_a_folder_is_read_by_names_in_every_file(folder, form):
    def write(table, name):
        path = folder / "parts" / f"{name}.{form}"
        table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path)

    (folder / "parts").mkdir()
    cells = pd.DataFrame(CELLS, columns=["row", "column"]).assign(target=Y)
    write(cells[:7], "1")
    write(cells[7:][["target", "column", "row"]], "2")
    assert np.array_equal(content(read(make("entry", (3, 3)), "parts"))[0], CELLS)
    write(cells[7:].assign(users=1), "2")
    with pytest.raises(click.UsageError, match="parts has a column 'users'"):
        read(make("entry", (3, 3)), "parts")


def test_npy_files_have_their_answers_beside_them(folder):
    found = read(make("dense"), "matrices.npy", target="answers.npy")
    assert np.array_equal(content(found)[0], X.reshape(N, 2, 3)) and np.array_equal(content(found)[1], Y)
    found = read(make("entry", (3, 3)), "cells.npy", target="answers.npy")
    assert np.array_equal(content(found)[0], CELLS)


@pytest.mark.parametrize("name", USERS)
def test_users_are_refused_unless_columns_were_chosen(folder, form, name):
    """Whoever names users may believe that all records of a user are hidden."""
    with pytest.raises(click.UsageError) as error:
        read(make("entry", (3, 3)), f"{name}.{form}")
    reason = f"{name}.{form} has a column '{name}', and the records of a user are not protected together"
    assert error.value.message == f"{reason}: leave users out, or choose columns with --row and --column."
    assert len(content(read(make("entry", (3, 3)), f"{name}.{form}", row="row", column="column"))[1]) == N


def test_users_are_refused_in_every_design(folder, form):
    for design, words in (("dense", "--features"), ("rank_one", "--x and --z")):
        with pytest.raises(click.UsageError, match=f"a column 'user', .* choose columns with {words}\\.$"):
            read(make(design, (2, 3)), f"named.{form}")
    assert read(make("dense", (2, 3)), f"named.{form}", features="a,b,c,d,e,f").columns == tuple(NAMES)
    assert read(make("rank_one"), f"named.{form}", x="a,b", z="c").columns == ("a", "b", "c")
    pd.DataFrame(X, columns=NAMES).assign(users=Y).to_csv("answers.csv", index=False)
    assert read(make("dense", (2, 3)), "answers.csv", target="users").columns == tuple(NAMES)


@pytest.mark.parametrize(
    ("design", "shape", "source", "names", "message"),
    [
        ("dense", (2, 3), "rows", {"x": "a"}, "--x is for --design rank_one, and the design is dense."),
        ("dense", (2, 3), "rows", {"column": "a"}, "--column is for --design entry, and the design is dense."),
        ("rank_one", None, "rows", {"features": "a"}, "--features is for --design dense, and the design is rank_one."),
        ("entry", (3, 3), "cells", {"z": "a"}, "--z is for --design rank_one, and the design is entry."),
        ("rank_one", None, "rows", {"x": "a,b"}, "--x and --z go together."),
        ("rank_one", (1, 2), "rows", {"z": "a,b"}, "--x and --z go together."),
        (
            "rank_one", (3, 2), "rows", {"x": "a,b", "z": "c,d,e"},
            "--x and --z name 2 and 3 columns, and --shape 3 2 is another size of the matrix.",
        ),
        ("dense", None, "matrices.npy", {}, "An .npy file holds no answers: give their own, --target FILE."),
        (
            "entry", (3, 3), "cells.npy", {"row": "a", "target": "answers.npy"},
            "--row names columns, and those of an .npy file have no names.",
        ),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_each_other(folder, form, design, shape, source, names, message):
    path = source if source.endswith(".npy") else f"{source}.{form}"
    with pytest.raises(click.UsageError) as error:
        read(make(design, shape), path, **names)
    assert error.value.message == message


@pytest.mark.parametrize(
    ("design", "shape", "source", "names", "message"),
    [
        ("dense", (2, 3), "none.csv", {}, "X of PrivateTraceRegression must be an existing file"),
        ("dense", (2, 3), "none.parquet", {}, "X of PrivateTraceRegression must be an existing file"),
        ("dense", (2, 3), "rows.txt", {}, "a folder of Parquet or CSV files or a file ending in"),
        ("dense", (2, 3), "rows.csv", {"target": "y"}, "no column 'y'"),
        ("dense", (2, 3), "rows.csv", {}, "6 numbers, for each record and the shape (2, 3); got '7 numbers'"),
        ("dense", None, "rows.csv", {}, "shape of PrivateTraceRegression must be (n_rows, n_columns)"),
        ("dense", (3, 2), "matrices.npy", {"target": "answers.npy"}, "must be measurements of the shape (3, 2)"),
        (
            "dense",
            None,
            "matrices.npy",
            {"target": "answers.csv"},
            "must be an existing npy file",
        ),
        ("rank_one", None, "rows.csv", {"x": "a", "z": "q"}, "a table with the column 'q'"),
        ("rank_one", None, "rows.csv", {"x": "a,b", "z": "b"}, "a list of different names of columns"),
        ("rank_one", None, "rows.csv", {"x": "a", "z": "target"}, "a list of different names of columns"),
        ("entry", None, "cells.csv", {}, "shape of PrivateTraceRegression must be (n_rows, n_columns)"),
        ("entry", (3, 3), "rows.csv", {}, "'row', or with the columns that --row and --column name; got \"no column"),
        ("entry", (3, 3), "cells.csv", {"row": "place"}, "a table with the column 'place'"),
        ("entry", (3, 3), "bad.parquet", {}, "bad.parquet"),
    ],
)
@pytest.mark.parametrize("form", ["csv"], indirect=True)
def test_data_that_do_not_fit(folder, design, shape, source, names, message):
    (folder / "bad.parquet").write_text("no such thing")
    with pytest.raises(InvalidParameter) as error:
        read(make(design, shape), source, **names)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_no_value_is_read(folder, form, monkeypatch):
    def stop(*_):
        raise AssertionError("a value was read")

    monkeypatch.setattr(CsvOrigin, "batches", stop)
    monkeypatch.setattr(ParquetOrigin, "batches", stop)
    found = read(make("entry", (3, 3)), f"cells.{form}")
    with pytest.raises(AssertionError, match="a value was read"):
        content(found)
