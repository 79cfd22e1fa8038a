"""How sums are added up: everything once, in shares, and without a change to what others have returned."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

import dask
from dask import delayed

from cluster_support import sums_of_my_port
from hushrank.engine.dask_clusters import Cluster, kept_at
from hushrank.engine.dask_sums import TornSums, add_sums, add_up, joined, share_of, shared_sums, whole_sums
from hushrank.engine.dask_tasks import Failure, from_sums, to_sums


def sums_of(seed):
    rng = np.random.default_rng(seed)
    return to_sums(tuple(rng.integers(-(2**62), 2**62, shape) for shape in [(5, 7), (), (0, 3), (2,)]))


def port_of(address):
    return int(address.rsplit(":", 1)[1])


def assert_same(found, expected):
    for mine, theirs in zip(found[1:], expected[1:], strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_array_equal(mine, theirs)
    assert found[0] == expected[0]


def test_sums_of_others_are_not_changed():
    first, second = (to_sums((np.full(2, value, np.int64), np.ones(1, np.int64))) for value in (2**63 - 1, 5))
    total = add_sums(first, second, second)
    assert [array.tolist() for array in from_sums(total)] == [[-(2**63) + 9] * 2, [3]]
    assert first[1].tolist() == [2**63 - 1] * 2 and second[1].tolist() == [5, 5]


@pytest.mark.parametrize("fan_in", [2, 8])
@pytest.mark.parametrize("n_sums", [1, 2, 8, 9, 70])
def test_a_tree_adds_up_everything_once(n_sums, fan_in):
    sums = [delayed(to_sums(np.array([number]))) for number in range(n_sums)]
    total = add_up(sums, fan_in).compute(scheduler="synchronous")
    assert total[1].tolist() == [sum(range(n_sums))]


@pytest.mark.parametrize("n_shares", [1, 2, 16, 50])
@pytest.mark.parametrize("n_sums", [1, 2, 9])
def test_shares_add_up_to_the_sums_of_whole_arrays(n_sums, n_shares):
    sums = [sums_of(seed) for seed in range(n_sums)]
    shares = [add_sums(*(share_of(one, number, n_shares) for one in sums)) for number in range(n_shares)]
    assert_same(joined(iter(shares)), add_sums(*sums))


@pytest.mark.parametrize("n_sums", [1, 2, 9])
def test_sums_are_added_up_on_a_cluster_in_one_graph(cluster, n_sums, monkeypatch):
    graphs, compute = [], Cluster.compute
    monkeypatch.setattr(Cluster, "compute", lambda self, tasks: graphs.append(tasks) or compute(self, tasks))
    sums, seen, workers = list(map(sums_of, range(n_sums))), [], (sorted(cluster.nthreads()) * 9)[:n_sums]
    for found in (
        shared_sums(Cluster(cluster), list(map(delayed, sums)), workers, seen.extend),
        whole_sums(Cluster(cluster), list(map(delayed, sums)), seen.extend),
        shared_sums(Cluster(cluster), list(map(delayed, sums)), workers, None),
    ):
        assert_same(found, add_sums(*sums))
    assert len(seen) == 2 * n_sums and len(graphs) == 3


def test_sums_are_made_where_their_data_are(cluster):
    workers = sorted(cluster.nthreads()) * 3
    leaves, made = [], []
    for worker in workers:
        with kept_at(worker):
            leaves.append(delayed(sums_of_my_port, pure=False)())
    shared_sums(Cluster(cluster), leaves, workers, made.extend)
    assert [future.result()[1].tolist() for future in made] == [[port_of(worker)] for worker in workers]


def test_workers_that_are_gone_are_not_waited_for(cluster):
    gone = "tcp://127.0.0.1:9"
    with kept_at(gone):
        leaves = [delayed(sums_of_my_port, pure=False)() for _ in range(2)]
    [_, total] = shared_sums(Cluster(cluster), leaves, [gone] * 2, None)
    ports = list(map(port_of, cluster.nthreads()))
    assert total.tolist() in [[one + other] for one in ports for other in ports]


def test_settings_of_the_caller_stay(cluster):
    before = dask.config.get("scheduler", None)
    seen = []
    leaves = [delayed(sums_of(0))]
    watch = lambda _: seen.append(dask.config.get("scheduler", None))  # noqa: E731
    shared_sums(Cluster(cluster), leaves, sorted(cluster.nthreads())[:1], watch)
    assert seen == [before] and dask.config.get("scheduler", None) == before


def test_shares_of_two_runs_are_no_sums():
    """A worker was lost, and its task run again: the data may be other ones by then."""
    first, again = to_sums(np.zeros(4, np.int64)), to_sums(np.ones(4, np.int64))
    shares = [share_of(first, 0, 2), share_of(again, 1, 2)]
    with pytest.raises(TornSums):
        joined(shares)
    with pytest.raises(TornSums):
        joined([add_sums(share_of(first, 0, 2), share_of(again, 0, 2)), share_of(first, 1, 2)])
    assert joined([share_of(first, number, 2) for number in range(2)])[1].tolist() == [0] * 4


def test_one_array_comes_back_as_one_array():
    array = np.arange(12).reshape(3, 4)
    sums = to_sums(array)
    np.testing.assert_array_equal(from_sums(joined(share_of(sums, number, 5) for number in range(5))), array)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_share_is_no_copy_and_of_even_size(order):
    sums = to_sums(np.zeros((8, 100), np.int64, order))
    shares = [share_of(sums, number, 16)[1] for number in range(16)]
    assert all(np.shares_memory(share, sums[1]) and share.size == 50 for share in shares)


def test_other_numbers_are_refused():
    assert isinstance(share_of(to_sums(np.zeros(4)), 0, 2).error, TypeError)


def test_a_failure_is_handed_on():
    failure, sums = Failure(ValueError("told")), to_sums(np.zeros(4, np.int64))
    assert add_sums(sums, failure) is failure
    assert share_of(failure, 0, 2) is failure
    assert joined([failure, share_of(sums, 1, 2)]) is failure
    assert joined([share_of(sums, 0, 2), failure]) is failure
