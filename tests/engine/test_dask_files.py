"""Workers read the files that the caller has looked at, from wherever both were started; else nothing is charged."""

import os

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

import hushrank as hr
from cluster_support import sum_rows, write_parts
from hushrank.data.rows.reading import read_rows
from hushrank.engine.dask import DaskEngine
from hushrank.engine.dask_files import sizes_of
from hushrank.exceptions import InvalidParameter

X = np.arange(600.0).reshape(300, 2)
RATINGS = {"user": np.arange(300) % 40, "item": np.arange(300) % 7, "rating": 1.0 + np.arange(300) % 5}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that the tests are in, and no worker is."""
    write_parts(tmp_path / "rows", pa.table({"a": X[:, 0], "b": X[:, 1]}))
    write_parts(tmp_path / "ratings", pa.table(RATINGS))
    (tmp_path / "texts").mkdir()
    np.savetxt(tmp_path / "texts" / "0.csv", X, delimiter=",", header="a,b", comments="")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", ["rows", "rows/1.parquet", "texts", "texts/0.csv"])
def test_paths_may_be_relative_to_where_the_caller_is(cluster, folder, path, monkeypatch):
    engine, source = DaskEngine(cluster, piece_rows=50), read_rows(path, owner="test")
    expected = X[100:200] if "1.parquet" in path else X
    for place in (folder, folder.parent):  # also where the caller goes elsewhere
        monkeypatch.chdir(place)
        assert np.array_equal(engine.total(source, sum_rows, 1), expected.sum(axis=0))


@pytest.mark.parametrize("path", ["rows", "texts", "ratings"])
def test_files_that_workers_do_not_see_are_refused_before_the_charge(cluster, folder, path):
    account = hr.Ledger(folder / "budget.db").create("people", epsilon=2.0)
    terms = {"epsilon": 1.0, "delta": 1e-6, "engine": DaskEngine(cluster), "ledger": account}
    model = hr.PrivatePCA(1, row_norm=1.0, **terms)
    if path == "ratings":
        model = hr.PrivateCompletion(1, rating_range=(1, 5), items=7, **terms)
    with pytest.raises(InvalidParameter) as refused:
        model.fit(f"/proc/self/cwd/{path}")  # every process has its own
    requirement = f"X of {type(model).__name__} must be files that every worker sees under the same path"
    assert str(refused.value).startswith(f"{requirement}; got '/proc/self/cwd/{path}")
    assert len(account.history()) == 1


def test_updates_that_workers_do_not_see_are_refused(cluster, folder):
    write_parts(folder / "updates", {"row": [0], "column": [1], "delta": [1.0], "user": ["a"]}, 1)
    sketch = hr.TurnstileSketch((3, 3), 1, unit="user", epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameter, match="files that every worker sees"):
        sketch.update("/proc/self/cwd/updates", engine=DaskEngine(cluster))


def test_sizes_tell_files_apart(folder):
    assert sizes_of(["rows/0.parquet", "rows", "none"]) == [os.stat("rows/0.parquet").st_size, -1, -1]


def test_pieces_of_files_have_their_paths(folder):
    for path in ("rows", "texts", "ratings"):
        pieces = read_rows(path, owner="test").pieces(50)
        assert {piece.path.parent for piece in pieces} == {folder / path}
