"""The Dask engine: totals of one machine's bits from every kind of data, and errors that cost and show nothing."""

import copy
import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="needs the extra dask")

import hushrank as hr
from cluster_support import SharedGram, fail, sum_and_count, sum_rows, tell_process, write_parts
from hushrank.data.rows.reading import read_rows
from hushrank.engine import dask, dask_bundles, dask_clusters, dask_tasks
from hushrank.engine.dask import DaskEngine
from hushrank.engine.local import LocalEngine
from hushrank.engine.protocol import Engine, FoldingEngine, PlacingEngine
from hushrank.exceptions import HushrankError, InvalidParameter, StateMisuse

X = np.random.default_rng(3).integers(-(2**50), 2**50, (1000, 2))  # float64 holds them


@pytest.fixture
def engine(cluster, monkeypatch):
    """Pieces, blocks and places so small that everything is cut many times."""
    monkeypatch.setattr(dask_bundles, "HELD_BYTES", 1)
    return DaskEngine(cluster, piece_rows=70, place_rows=40, block_rows=90)


def rows_of(data):
    return read_rows(data, owner="test")


@pytest.fixture
def sources(tmp_path):
    """The same rows in memory, in files of two kinds, and as collections of Dask."""
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    (tmp_path / "texts").mkdir()
    for number in range(3):
        frame = table.slice(number * 400, 400).to_pandas()
        frame.to_csv(tmp_path / "texts" / f"{number}.csv", index=False)
    return {
        "array": X,
        "table": table,
        "Parquet": write_parts(tmp_path / "parts", table),
        "CSV": str(tmp_path / "texts"),
        "stream": lambda: iter(np.array_split(X, 5)),
        "dask array": da.from_array(X, chunks=(170, 1)),
        "dask frame": dd.from_pandas(pd.DataFrame({"a": X[:, 0], "b": X[:, 1]}), npartitions=4),
    }


# Totals.


def test_totals_of_every_kind_of_data_have_the_bits_of_one_machine(engine, sources):
    for name, data in sources.items():
        expected = LocalEngine(1).total(rows_of(data), sum_rows, 5)
        assert np.array_equal(engine.total(rows_of(data), sum_rows, 5), expected), name
    assert np.array_equal(LocalEngine(1).total(rows_of(X), sum_rows, 5), (5 * X).sum(axis=0))


def test_a_tuple_of_totals_comes_back_as_one(engine, sources):
    total, count = engine.total(rows_of(sources["Parquet"]), sum_and_count, 3)
    assert np.array_equal(total, (3 * X).sum(axis=0)) and count == len(X)


def test_without_rows_an_empty_block_tells_the_shapes(engine):
    total, count = engine.total(rows_of(np.empty((0, 2))), sum_and_count, 3)
    assert total.tolist() == [0, 0] and count == 0


def test_workers_and_not_the_caller_read_files(engine, tmp_path, sources):
    (tmp_path / "who").mkdir()
    assert engine.total(rows_of(sources["Parquet"]), tell_process, str(tmp_path / "who")) == len(X)
    assert len(list((tmp_path / "who").iterdir())) == 2
    assert not (tmp_path / "who" / f"{os.getpid()}.log").exists()


def test_shared_totals_are_made_once_on_every_worker(cluster, tmp_path, sources):
    engine = DaskEngine(cluster, piece_rows=10)
    (tmp_path / "who").mkdir()
    [total] = engine.total(rows_of(sources["Parquet"]), SharedGram(), str(tmp_path / "who"))
    assert np.array_equal(total, X.T @ X)
    made = [path.read_text() for path in (tmp_path / "who").glob("*.totals")]
    assert made == ["made\n"] * 2


def test_data_of_the_caller_are_sent_once(engine, monkeypatch):
    sent = []
    send = dask_clusters.Cluster.send
    monkeypatch.setattr(dask_clusters.Cluster, "send", lambda self, held: sent.append(held) or send(self, held))
    source = rows_of(X)
    for factor in (1, 2, 3):
        assert np.array_equal(engine.total(source, sum_rows, factor), (factor * X).sum(axis=0))
    assert len(sent) == 12 and repr(sent[0]) == "1 blocks"


def test_what_was_sent_goes_with_the_source(engine, cluster):
    source = rows_of(X)
    engine.total(source, sum_rows, 1)
    assert len(engine._ready) == 1
    del source
    gc.collect()
    assert len(engine._ready) == 0


def test_what_the_caller_changed_since_is_sent_again(engine):
    changing = X.copy()
    source = rows_of(changing)
    for factor in (1, 2):
        changing[:] = factor * X
        assert np.array_equal(engine.total(engine.place(source), sum_rows, 1), factor * X.sum(axis=0))


def test_an_iterator_is_read_once(engine):
    assert np.array_equal(engine.total(rows_of(iter([X])), sum_rows, 1), X.sum(axis=0))


def test_progress_counts_all_rows(engine, sources, monkeypatch):
    from contextlib import contextmanager

    told = []

    @contextmanager
    def show(n_samples, label, verbose):
        yield told.append

    monkeypatch.setattr(dask, "show_progress", show)
    engine.total(rows_of(sources["Parquet"]), sum_rows, 1, verbose=1)
    for _ in range(500):  # callbacks come from another thread
        if sum(told) == len(X):
            break
        __import__("time").sleep(0.01)
    assert sum(told) == len(X)


# The engine as a parameter.


def test_it_is_an_engine(engine):
    assert isinstance(engine, Engine) and isinstance(engine, PlacingEngine) and isinstance(engine, FoldingEngine)
    assert not isinstance(LocalEngine(), PlacingEngine)


def test_copies_are_the_engine_and_pickles_connect_anew(engine, cluster):
    assert copy.copy(engine) is engine and copy.deepcopy(engine) is engine
    model = clone(hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0, engine=engine))
    assert model.engine is engine
    again = pickle.loads(pickle.dumps(engine))
    assert repr(again) == repr(engine) == f"DaskEngine({cluster.scheduler.address!r})"
    assert np.array_equal(again.total(rows_of(X), sum_rows, 1), X.sum(axis=0))


def test_dask_in_words_is_the_current_client(cluster):
    with cluster.as_current():
        model = hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0, engine="dask", random_state=1).fit(X / 2**50)
    expected = hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0, random_state=1).fit(X / 2**50)
    assert np.array_equal(model.components_, expected.components_)


def test_threads_of_its_own_end_with_the_engine():
    engine = DaskEngine("threads")
    assert np.array_equal(engine.total(rows_of(X), sum_rows, 1), X.sum(axis=0))
    client = engine._connected.client
    del engine
    gc.collect()
    assert client.status == "closed"


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"cluster": 3}, "cluster of DaskEngine must be None, 'processes', 'threads', the address of a scheduler"),
        ({"cluster": "fibers"}, "cluster of DaskEngine must be None"),
        ({"piece_rows": 0}, "piece_rows of DaskEngine must be an integer >= 1; got 0."),
        ({"place_rows": 1.5}, "place_rows of DaskEngine must be an integer >= 1; got 1.5."),
        ({"block_rows": 8193}, "block_rows of DaskEngine must be an integer >= 1 and <= 8192; got 8193."),
    ],
)
def test_what_is_no_cluster_is_refused(terms, message):
    with pytest.raises(InvalidParameter) as caught:
        DaskEngine(**terms)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("word", ["spark", 3])
def test_estimators_refuse_other_engines(word):
    with pytest.raises(InvalidParameter, match="engine of PrivatePCA must be an engine such as LocalEngine"):
        hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0, engine=word).fit(X)


def test_the_current_client_may_change():
    from distributed import Client, LocalCluster

    engine = DaskEngine()
    for _ in range(2):
        terms = {"n_workers": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
        with LocalCluster(**terms) as local, Client(local):
            assert np.array_equal(engine.total(rows_of(X), sum_rows, 1), X.sum(axis=0))


def test_a_child_does_not_use_the_client_of_its_parent(engine):
    engine._process += 1  # as it looks to a child
    with pytest.raises(StateMisuse, match="a DaskEngine was used after a fork"):
        engine.total(rows_of(X), sum_rows, 1)


def test_dask_knows_how_large_the_data_of_people_are(cluster, tmp_path):
    from dask.sizeof import sizeof

    from hushrank.data.ratings.reading import read_ratings

    table = {"user": np.arange(3000) % 700, "item": np.arange(3000) // 700, "rating": np.ones(3000)}
    folder = write_parts(tmp_path / "ratings", table)
    placed = DaskEngine(cluster).place(read_ratings(folder, owner="test", items=7, rating_range=(0, 5)))
    parts = list(placed._groups.parts())
    assert sum(part.n_bytes for part in parts) >= 8 * 3000
    assert all(part.n_bytes <= sizeof(part) <= part.n_bytes + 64 for part in parts)


# Failures.


def impatient():
    """Nobody waits half a minute for a scheduler that is not there."""
    from dask import config

    return config.set({"distributed.comm.timeouts.connect": "0.2s"})


def test_nothing_is_charged_where_the_cluster_is_out_of_reach(tmp_path):
    ledger = hr.Ledger(tmp_path / "budget.db")
    account = ledger.create("people", epsilon=2.0)
    engine = DaskEngine("tcp://127.0.0.1:9")
    message = "engine of PrivatePCA must be a Dask scheduler that answers"
    with impatient(), pytest.raises(InvalidParameter, match=message):
        hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0, engine=engine, ledger=account).fit(X)
    assert len(account.history()) == 1


def test_workers_of_other_versions_are_refused_before_the_charge(engine, tmp_path, monkeypatch):
    account = hr.Ledger(tmp_path / "budget.db").create("people", epsilon=2.0)
    monkeypatch.setattr(dask_tasks, "version", lambda name: "99")  # of this process
    with pytest.raises(InvalidParameter, match="must be a cluster whose scheduler and workers have hushrank 99"):
        hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0, engine=engine, ledger=account).fit(X)
    assert len(account.history()) == 1


def test_workers_that_come_later_with_other_versions_refuse_to_compute(engine, monkeypatch):
    monkeypatch.setattr(dask, "kernel_job", lambda *terms: dask.Job(print, terms, False, ("hushrank 99", "a", "b")))
    with pytest.raises(HushrankError, match=r"a worker of the cluster has hushrank .* instead of hushrank 99"):
        engine.total(rows_of(X), sum_rows, 1)


def test_an_error_of_a_kernel_is_raised_as_it_is(engine, sources):
    for name in ("array", "Parquet", "dask frame"):
        with pytest.raises(ZeroDivisionError, match="told"):
            engine.total(rows_of(sources[name]), fail, "told")


def test_a_damaged_file_is_told_in_one_line(engine, sources):
    path = Path(sources["Parquet"], "1.parquet")
    content = path.read_bytes()
    source = rows_of(sources["Parquet"])
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    with pytest.raises(InvalidParameter, match=r"X of test must be a readable Parquet file; got '1.parquet: damaged"):
        engine.total(source, sum_rows, 1)


SECRETIVE = """
import sys
import numpy as np
from cluster_support import fail, processes
from hushrank.data.rows.reading import read_rows
from hushrank.engine.dask import DaskEngine

if __name__ == "__main__":
    with processes(1) as client:
        source = read_rows(np.full((5, 2), 123454321.0), owner="test")
        try:
            DaskEngine(client).total(source, fail, "secret 98789")
        except ZeroDivisionError:
            print("raised")
"""


def test_workers_write_no_data_and_no_error_to_their_logs(tmp_path):
    script = tmp_path / "secretive.py"
    script.write_text(SECRETIVE)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["raised"]
    assert "12345" not in done.stderr and "98789" not in done.stderr and "Compute Failed" not in done.stderr
