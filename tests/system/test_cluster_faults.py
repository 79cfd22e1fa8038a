"""Workers that die, as processes do: nothing changes but the time it takes, and nobody is counted twice."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

import hushrank as hr
from cluster_support import SharedGram, processes, sum_rows, wait_at, write_parts
from hushrank.data.rows.reading import read_rows
from hushrank.engine import dask_sums
from hushrank.engine.dask import DaskEngine
from hushrank.engine.dask_clusters import Cluster
from hushrank.exceptions import HushrankError

TERMS = {"rank": 2, "epsilon": 8.0, "delta": 1e-6, "rating_range": (1, 5), "items": 50, "random_state": 1}


@pytest.fixture
def workers():
    """A client of two processes, of which a test kills one; Dask may start another in its place, sooner or later."""
    with processes(2) as client:
        yield client


@pytest.fixture
def many_workers():
    with processes(4) as client:
        yield client


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(2)
    users, items, given = rng.integers(0, 900, 60_000), rng.integers(0, 50, 60_000), rng.integers(1, 6, 60_000)
    table = pa.table({"user": users, "item": items, "rating": given.astype(np.float32)})
    return write_parts(tmp_path_factory.mktemp("data") / "ratings", table, 6, 5000)


@pytest.fixture(scope="module")
def expected(folder):
    return hr.PrivateCompletion(**TERMS).fit(folder)


def kill(client, addresses):
    """End workers as the system would, at once and without a word, and wait until the cluster has noticed."""
    for address, process in client.run(os.getpid, workers=list(addresses)).items():
        os.kill(process, signal.SIGKILL)
        wait_for(lambda address=address: address not in client.nthreads())


@contextmanager
def killed_at(client, moment, monkeypatch):
    """Kill a worker when the client has begun so many things on the cluster."""
    begun, compute = [], type(client).compute
    address, process = next(iter(client.run(os.getpid).items()))

    def counted(self, *arguments, **options):
        futures = compute(self, *arguments, **options)
        begun.append(1)
        if len(begun) == moment:
            os.kill(process, signal.SIGKILL)
        return futures

    monkeypatch.setattr(type(client), "compute", counted)
    yield begun
    monkeypatch.undo()
    wait_for(lambda: address not in client.nthreads())


@pytest.mark.parametrize("moment", [1, 6])
def test_a_worker_killed_in_the_middle_of_a_fit_changes_nothing(workers, folder, expected, moment, monkeypatch):
    engine = DaskEngine(workers, piece_rows=4000, place_rows=4000)
    with killed_at(workers, moment, monkeypatch) as begun:
        model = hr.PrivateCompletion(**TERMS, engine=engine).fit(folder)
    assert len(begun) > moment  # the worker was killed, and the fit went on
    assert np.array_equal(model.item_factors_, expected.item_factors_)
    assert np.array_equal(model.item_means_, expected.item_means_) and model.privacy_ == expected.privacy_


@pytest.mark.parametrize("is_sent", [False, True], ids=["files", "sent"])
def test_a_worker_killed_while_large_sums_are_added_changes_nothing(workers, tmp_path, is_sent, monkeypatch):
    X = np.arange(2000.0).reshape(1000, 2)
    rows = X if is_sent else write_parts(tmp_path / "rows", {"a": X[:, 0], "b": X[:, 1]}, 4, 100)
    engine, source = DaskEngine(workers, piece_rows=100), read_rows(rows, owner="test")
    (tmp_path / "who").mkdir()
    with killed_at(workers, 1, monkeypatch) as begun:
        [total] = engine.total(source, SharedGram(), str(tmp_path / "who"))
    assert begun and np.array_equal(total, X.T @ X)


def test_large_sums_of_two_runs_are_made_anew(cluster, tmp_path, monkeypatch):
    """What the first shares are sums of is lost, and the others are of data that changed meanwhile."""
    (tmp_path / "who").mkdir()
    folder = write_parts(tmp_path / "rows", {"a": [1.0, 2.0], "b": [3.0, 4.0]}, 1)
    tries, join = [], dask_sums.joined

    def torn_once(shares):
        tries.append(list(shares))
        if len(tries) == 1:
            (form, run), *arrays = tries[0][-1]
            tries[0][-1] = [(form, run + 1), *(array + 1 for array in arrays)]
        return join(tries[-1])

    monkeypatch.setattr(dask_sums, "joined", torn_once)
    [total] = DaskEngine(cluster).total(read_rows(folder, owner="test"), SharedGram(), str(tmp_path / "who"))
    assert len(tries) == 2 and total.tolist() == [[5, 11], [11, 25]]


def test_what_is_returned_twice_is_counted_once(tmp_path):
    """One piece is summed up; its worker dies before the sums are added, and it is summed up again."""
    numbers = [1.0] * 3 + [99.0] * 4
    folder = write_parts(tmp_path / "all", {"a": numbers, "b": numbers}, 1, row_group_size=3)
    trace, found = tmp_path / "trace", []
    trace.mkdir()

    def sum_up(client):
        source = read_rows(folder, owner="test")
        found.append(DaskEngine(client, piece_rows=1).total(source, wait_at, str(trace)))

    with processes(2, threads=2) as client:  # both pieces are begun, wherever Dask puts them
        thread = threading.Thread(target=sum_up, args=(client,))
        thread.start()
        wait_for(lambda: lines_of(trace / "piece-1.log") and lines_of(trace / "piece-99.log"))
        wait_for(lambda: any("sum_pieces" in str(key) for keys in client.has_what().values() for key in keys))
        os.kill(int(lines_of(trace / "piece-1.log")[0]), signal.SIGKILL)
        wait_for(lambda: len(lines_of(trace / "piece-1.log")) == 2)
        (trace / "go").touch()
        thread.join(60)
    assert found[0].tolist() == [7, 6 + 8 * 99]
    assert len(lines_of(trace / "piece-1.log")) == 2


def lines_of(path):
    return path.read_text().split() if path.exists() else []


def wait_for(is_so):
    """Until something is so; a minute at most."""
    for _ in range(3000):
        if is_so():
            return
        time.sleep(0.02)
    raise AssertionError("it never was so")


def test_data_that_were_sent_are_sent_again(many_workers):
    X = np.arange(2000.0).reshape(1000, 2)
    engine, source = DaskEngine(many_workers), read_rows(X, owner="test")
    for factor in (1, 2, 3):
        assert np.array_equal(engine.total(source, sum_rows, factor), factor * X.sum(axis=0).astype(np.int64))
        [piece] = engine._pieces(source)
        kill(many_workers, many_workers.who_has(piece.needs)[piece.needs[0].key])
    assert np.array_equal(engine.total(source, sum_rows, 4), 4 * X.sum(axis=0).astype(np.int64))


def test_data_that_can_be_read_only_once_are_lost_with_their_worker(workers):
    engine, source = DaskEngine(workers), read_rows(iter([np.ones((5, 2))]), owner="test")
    engine.total(source, sum_rows, 1)
    [piece] = engine._pieces(source)
    kill(workers, workers.who_has(piece.needs)[piece.needs[0].key])
    with pytest.raises(HushrankError, match="data that can be read only once"):
        engine.total(source, sum_rows, 1)


def test_a_charge_is_not_repeated_when_a_worker_dies(workers, tmp_path, monkeypatch):
    account = hr.Ledger(tmp_path / "budget.db").create("people", epsilon=2.0)
    rows = write_parts(tmp_path / "rows", {"a": np.arange(3000.0), "b": np.ones(3000)}, 2, 100)
    model = hr.PrivatePCA(1, row_norm=9.0, epsilon=1.0, ledger=account, engine=DaskEngine(workers, piece_rows=100))
    with killed_at(workers, 1, monkeypatch):
        model.fit(rows)
    assert [charge.event for charge in account.history()[1:]] == [model.privacy_.event]


def test_what_every_worker_had_is_computed_again(many_workers):
    future = Cluster(many_workers).broadcast({"a": 1})
    assert many_workers.submit(len, future, pure=False).result() == 1
    kill(many_workers, many_workers.who_has([future])[future.key])
    assert many_workers.submit(len, future, pure=False).result() == 1
