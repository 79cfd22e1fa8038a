"""Clusters: what is none is refused, and what a cluster lost is asked for again."""

import logging
import multiprocessing
import pickle
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

from cluster_support import processes
from hushrank.engine import dask_clusters
from hushrank.engine.dask import DaskEngine
from hushrank.engine.dask_clusters import ATTEMPTS, Cluster, check_cluster, connect
from hushrank.engine.dask_tasks import Failure
from hushrank.exceptions import HushrankError, InvalidParameter


class Keeper:
    pass


class Standing:
    """A client that stands in for one of a cluster with a worker, and maybe without hushrank somewhere."""

    scatter = compute = None

    def __init__(self, status="running", missing="", lost=None):
        self.status, self.missing, self.lost = status, missing, lost

    def nthreads(self):
        return {"tcp://a:1": 1}

    def run(self, function, package, on_error):
        assert pickle.loads(pickle.dumps(function)) is version  # which every Python has
        there = PackageNotFoundError(package) if self.missing == "worker" else version(package)
        return {"tcp://a:1": self.lost or there}

    def run_on_scheduler(self, function, package):
        return function("no-such-package" if self.missing == "scheduler" else package)


class Lossy:
    """An action that fails so many times."""

    def __init__(self, n_failures):
        self.n_failures, self.n_forgotten, self.n_calls = n_failures, 0, 0

    def act(self):
        self.n_calls += 1
        if self.n_calls <= self.n_failures:
            raise RuntimeError("secret 12345")
        return "result"

    def forget(self):
        self.n_forgotten += 1


def test_an_action_is_begun_anew_where_the_cluster_lost_something():
    lossy = Lossy(ATTEMPTS - 1)
    assert Cluster(Standing()).again(lossy.act, lossy.forget) == "result"
    assert lossy.n_calls == ATTEMPTS and lossy.n_forgotten == ATTEMPTS - 1


def test_a_cluster_that_always_fails_is_told_in_one_line():
    lossy = Lossy(ATTEMPTS)
    with pytest.raises(
        HushrankError, match=f"the Dask cluster failed {ATTEMPTS} times, at last with RuntimeError"
    ) as e:
        Cluster(Standing()).again(lossy.act, lossy.forget)
    assert "12345" not in str(e.value) and lossy.n_forgotten == ATTEMPTS


def test_a_task_that_kills_its_workers_is_not_tried_again():
    from distributed import KilledWorker

    def act():
        raise KilledWorker("task", None, 3)

    with pytest.raises(
        HushrankError, match="the Dask cluster failed once, at last with KilledWorker: workers may need"
    ):
        Cluster(Standing()).again(act, lambda: None)


def test_a_cluster_without_workers_is_refused(monkeypatch, caplog):
    monkeypatch.setattr(dask_clusters, "PATIENCE", 0.1)
    caplog.set_level(logging.INFO, "hushrank")
    with processes(0) as client:
        with pytest.raises(InvalidParameter, match="engine of test must be a cluster with workers"):
            Cluster(client).check("test")
        assert f"waiting for workers of {client.scheduler.address}" in caplog.messages


@pytest.mark.parametrize("missing", ["scheduler", "worker"])
def test_a_cluster_without_hushrank_is_refused(missing):
    Cluster(Standing()).check("test")
    message = r"engine of test must be a cluster whose scheduler and workers have hushrank .*; got 'no hushrank'"
    with pytest.raises(InvalidParameter, match=message):
        Cluster(Standing(missing=missing)).check("test")


def test_what_dask_raises_when_it_is_asked_is_one_line():
    Cluster(Standing(lost=OSError("a worker was lost"))).check("test")
    with pytest.raises(InvalidParameter, match=r"scheduler and workers have .*; got 'TypeError when asked'"):
        Cluster(Standing(lost=TypeError("secret"))).check("test")
    with pytest.raises(InvalidParameter, match=r"a Dask scheduler that answers; got 'TypeError when asked'"):
        Cluster(Standing("closed", lost=TypeError("secret"))).check("test")


@pytest.mark.parametrize("error", [InvalidParameter("a", "b", "c", "d"), KeyboardInterrupt()])
def test_refusals_and_interruptions_are_not_tried_again(error):
    calls = []

    def act():
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        Cluster(Standing()).again(act, lambda: calls.append("forgotten"))
    assert calls == [1]


def test_an_error_of_a_task_is_raised_and_not_tried_again():
    calls = []
    with pytest.raises(ZeroDivisionError):
        Cluster(Standing()).again(
            lambda: calls.append(1) or Failure(ZeroDivisionError()), lambda: calls.append("forgotten")
        )
    assert calls == [1]


@pytest.mark.parametrize("error", [ValueError, KeyError, pickle.PicklingError, RecursionError, FileNotFoundError])
def test_an_error_of_what_the_caller_gave_is_told_and_not_tried_again(error):
    calls = []

    def act():
        calls.append(1)
        raise error("secret 12345")

    with pytest.raises(HushrankError, match=f"own Dask graph, or the function .* raised {error.__name__}") as caught:
        Cluster(Standing()).again(act, lambda: calls.append("forgotten"))
    assert "12345" not in str(caught.value) and calls == [1]


@pytest.mark.parametrize(
    ("error", "n_calls"),
    [
        (Exception("AssertionError(<TaskState 'Held-9efad3a6' processing>)"), 2),  # as the oldest Dask sends it
        (AssertionError("<TaskState 'Held-9efad3a6' processing>"), 2),
        (Exception("something else"), 1),
        (AssertionError("something else"), 1),
        (ValueError("<TaskState 'x' processing>"), 1),
    ],
)
def test_a_scheduler_that_fails_on_its_own_tasks_has_lost_them(error, n_calls):
    calls, forgotten = [], []

    def act():
        calls.append(1)
        if len(calls) == 1:
            raise error
        return "found"

    if n_calls == 1:
        with pytest.raises(HushrankError, match="own Dask graph, or the function"):
            Cluster(Standing()).again(act, lambda: forgotten.append(1))
    else:
        assert Cluster(Standing()).again(act, lambda: forgotten.append(1)) == "found"
    assert len(calls) == n_calls and len(forgotten) == n_calls - 1


@pytest.mark.parametrize(("status", "n_calls"), [("closed", 1), ("connecting", ATTEMPTS)])
def test_a_scheduler_that_is_gone_is_told(status, n_calls):
    lossy = Lossy(ATTEMPTS)
    with pytest.raises(HushrankError, match=r"^the scheduler of the Dask cluster is gone"):
        Cluster(Standing(status)).again(lossy.act, lossy.forget)
    assert lossy.n_calls == n_calls


def test_workers_are_counted(cluster):
    found = Cluster(cluster)
    assert (len(found.workers()), found.n_threads()) == (2, 2)
    found.check("test")


def test_what_is_broadcast_reaches_every_worker_whole(cluster):
    public = [1, (2, 3), {"a": [4]}]  # Dask would take lists and tuples apart
    future = Cluster(cluster).broadcast(public)
    workers = list(cluster.nthreads())
    assert (
        cluster.gather([cluster.submit(repr, future, workers=[one], pure=False) for one in workers])
        == [repr(public)] * 2
    )


def test_large_public_states_are_sent_without_a_warning(cluster):
    future = Cluster(cluster).broadcast(bytes(2**24))
    assert cluster.submit(len, future, pure=False).result() == 2**24


def test_clients_and_addresses_are_clusters(cluster):
    for given in (None, "threads", "processes", "tcp://127.0.0.1:1", cluster):
        check_cluster(given, "test")
    assert connect(cluster, Keeper(), "test").client is cluster
    keeper = Keeper()
    assert connect(cluster.scheduler.address, keeper, "test").workers() == sorted(cluster.nthreads())
    with cluster.as_current():
        assert connect(None, Keeper(), "test").client is cluster


def test_an_asynchronous_client_is_refused():
    class Client:
        scatter = compute = None
        asynchronous = True

    with pytest.raises(InvalidParameter, match="that is not asynchronous"):
        check_cluster(Client(), "test")


def test_a_current_client_that_is_asynchronous_is_refused(monkeypatch):
    standing = Standing()
    standing.asynchronous = True
    monkeypatch.setattr("distributed.default_client", lambda: standing)
    with pytest.raises(InvalidParameter, match=r"engine of test must be None, .* that is not asynchronous"):
        connect(None, Keeper(), "test")


def test_an_engine_outlives_its_client(scheduler):
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        engine = DaskEngine(client)
    assert repr(engine) == repr(pickle.loads(pickle.dumps(engine))) == f"DaskEngine({scheduler!r})"
    with pytest.raises(
        InvalidParameter, match="engine of test must be a client or cluster that is open; got 'a closed"
    ):
        engine.check("test")
    with pytest.raises(InvalidParameter, match="cluster of DaskEngine must be a client or cluster that is open"):
        DaskEngine(client)


def test_a_cluster_object_is_a_cluster():
    from distributed import LocalCluster, default_client

    with LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as local:
        engine = DaskEngine(local)
        engine.check("test")
        assert repr(engine) == f"DaskEngine({local.scheduler_address!r})"
        with pytest.raises(ValueError, match="No client"):
            default_client()
        engine._connected.client.close()
    with pytest.raises(InvalidParameter, match="that is open"):
        engine.check("test")


def test_an_address_needs_its_scheme():
    with pytest.raises(InvalidParameter, match=r"such as 'tcp://host:8786', or .*; got 'localhost:8786'"):
        check_cluster("localhost:8786", "test")


def test_processes_that_import_an_unguarded_script_are_told_in_one_line(monkeypatch):
    monkeypatch.setattr(sys, "tracebacklimit", 1000, raising=False)
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(InvalidParameter, match=r"engine of test must be started under `if __name__ == .__main__.:`"):
        connect("processes", Keeper(), "test")


def test_processes_that_do_not_start_are_told_in_one_line(monkeypatch):
    def fail(**terms):
        assert logging.getLogger("distributed.nanny").level == logging.CRITICAL
        raise RuntimeError("Nanny failed to start.")

    level = logging.getLogger("distributed.nanny").level
    monkeypatch.setattr("distributed.LocalCluster", fail)
    with pytest.raises(InvalidParameter, match="engine of test must be started under"):
        connect("processes", Keeper(), "test")
    assert logging.getLogger("distributed.nanny").level == level


def test_without_the_package_its_name_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = r"engine of test must be one whose packages are installed: pip install .*; got 'no package distributed'"
    with pytest.raises(InvalidParameter, match=message):
        connect(None, Keeper(), "test")


def test_a_cluster_of_many_threads_has_them_all():
    with processes(1, threads=3) as client:
        assert (len(Cluster(client).workers()), Cluster(client).n_threads()) == (1, 3)
