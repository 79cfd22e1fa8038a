"""How sums are added up: everything once, in shares, and without a change to what others have returned."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

from dask import delayed

from cluster_support import sums_of_my_port
from hushrank.engine.dask_clusters import Cluster
from hushrank.engine.dask_sums import add_sums, add_up, joined, large_sums, share_of
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
    assert found[0] is expected[0]


def test_sums_of_others_are_not_changed():
    first, second = ([True, np.full(2, value, np.int64), np.ones(1, np.int64)] for value in (2**63 - 1, 5))
    total = add_sums(first, second, second)
    assert [array.tolist() for array in from_sums(total)] == [[-(2**63) + 9] * 2, [3]]
    assert first[1].tolist() == [2**63 - 1] * 2 and second[1].tolist() == [5, 5]


@pytest.mark.parametrize("n_sums", [1, 2, 8, 9, 70])
def test_a_tree_adds_up_everything_once(n_sums):
    sums = [delayed([False, np.array([number])]) for number in range(n_sums)]
    total = add_up(sums).compute(scheduler="synchronous")
    assert total[1].tolist() == [sum(range(n_sums))]


@pytest.mark.parametrize("n_shares", [1, 2, 16, 50])
@pytest.mark.parametrize("n_sums", [1, 2, 9])
def test_shares_add_up_to_the_sums_of_whole_arrays(n_sums, n_shares):
    sums = [sums_of(seed) for seed in range(n_sums)]
    shares = [add_sums(*(share_of(one, number, n_shares) for one in sums)) for number in range(n_shares)]
    assert_same(joined(iter(shares)), add_sums(*sums))


@pytest.mark.parametrize("n_sums", [1, 2, 9])
def test_large_sums_are_added_up_on_a_cluster(cluster, n_sums):
    counted = []
    leaves = [delayed(sums_of(seed)) for seed in range(n_sums)]
    found = large_sums(Cluster(cluster), leaves, [None] * n_sums, counted.extend)
    assert_same(found, add_sums(*map(sums_of, range(n_sums))))
    assert len(counted) == n_sums


def test_large_sums_are_made_where_their_data_are_and_cut_there(cluster):
    workers = sorted(cluster.nthreads())
    leaves = [delayed(sums_of_my_port, pure=False)() for _ in range(6)]
    holders = [workers[number % 2] for number in range(6)]
    made_at = []
    large_sums(Cluster(cluster), leaves, holders, lambda futures: made_at.extend(futures))
    assert [future.result()[1].tolist() for future in made_at] == [[port_of(holder)] for holder in holders]


def test_workers_that_are_gone_are_not_waited_for(cluster):
    leaves = [delayed(sums_of(seed)) for seed in range(2)]
    found = large_sums(Cluster(cluster), leaves, ["tcp://127.0.0.1:9"] * 2, None)
    assert_same(found, add_sums(sums_of(0), sums_of(1)))


def test_one_array_comes_back_as_one_array():
    array = np.arange(12).reshape(3, 4)
    shares = [share_of(to_sums(array), number, 5) for number in range(5)]
    np.testing.assert_array_equal(from_sums(joined(shares)), array)


def test_a_share_is_no_copy_and_of_even_size():
    array = np.zeros((8, 100), np.int64)
    shares = [share_of(to_sums(array), number, 16)[1] for number in range(16)]
    assert all(np.shares_memory(share, array) and share.size == 50 for share in shares)


def test_a_failure_is_handed_on():
    failure, sums = Failure(ValueError("told")), to_sums(np.zeros(4, np.int64))
    assert add_sums(sums, failure) is failure
    assert share_of(failure, 0, 2) is failure
    assert joined([failure, share_of(sums, 1, 2)]) is failure
    assert joined([share_of(sums, 0, 2), failure]) is failure
