"""Clusters: what is none is refused, and what a cluster lost is asked for again."""

import sys

import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

from cluster_support import processes
from hushrank.engine import dask_clusters
from hushrank.engine.dask_clusters import ATTEMPTS, Cluster, check_cluster, connect
from hushrank.engine.dask_tasks import Failure
from hushrank.exceptions import HushrankError, InvalidParameter


class Keeper:
    pass


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
    assert Cluster(None).again(lossy.act, lossy.forget) == "result"
    assert lossy.n_calls == ATTEMPTS and lossy.n_forgotten == ATTEMPTS - 1


def test_a_cluster_that_always_fails_is_told_in_one_line():
    lossy = Lossy(ATTEMPTS)
    with pytest.raises(
        HushrankError, match=f"the Dask cluster failed {ATTEMPTS} times, at last with RuntimeError"
    ) as e:
        Cluster(None).again(lossy.act, lossy.forget)
    assert "12345" not in str(e.value) and lossy.n_forgotten == ATTEMPTS


def test_a_task_that_kills_its_workers_is_not_tried_again():
    class KilledWorker(Exception):
        pass

    def act():
        raise KilledWorker

    with pytest.raises(
        HushrankError, match="the Dask cluster failed once, at last with KilledWorker: workers may need"
    ):
        Cluster(None).again(act, lambda: None)


def test_a_cluster_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr(dask_clusters, "PATIENCE", 0.1)
    with processes(0) as client, pytest.raises(InvalidParameter, match="engine of test must be a cluster with workers"):
        Cluster(client).check("test")


@pytest.mark.parametrize("error", [InvalidParameter("a", "b", "c", "d"), KeyboardInterrupt()])
def test_refusals_and_interruptions_are_not_tried_again(error):
    calls = []

    def act():
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        Cluster(None).again(act, lambda: calls.append("forgotten"))
    assert calls == [1]


def test_an_error_of_a_task_is_raised_and_not_tried_again():
    calls = []
    with pytest.raises(ZeroDivisionError):
        Cluster(None).again(lambda: calls.append(1) or Failure(ZeroDivisionError()), lambda: calls.append("forgotten"))
    assert calls == [1]


def test_workers_are_counted(cluster):
    found = Cluster(cluster)
    assert (found.n_workers(), found.n_threads()) == (2, 2)
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
    assert connect(cluster.scheduler.address, keeper, "test").n_workers() == 2
    with cluster.as_current():
        assert connect(None, Keeper(), "test").client is cluster


def test_an_asynchronous_client_is_refused():
    class Client:
        scatter = compute = None
        asynchronous = True

    with pytest.raises(InvalidParameter, match="that is not asynchronous"):
        check_cluster(Client(), "test")


def test_without_the_package_its_name_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        InvalidParameter, match=r"engine of test must be available where Dask is: pip install 'hushrank"
    ):
        connect(None, Keeper(), "test")


def test_a_cluster_of_many_threads_has_them_all():
    with processes(1, threads=3) as client:
        assert (Cluster(client).n_workers(), Cluster(client).n_threads()) == (1, 3)
