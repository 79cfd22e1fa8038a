"""Which task reads which pieces."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

from hushrank.data.source import Piece
from hushrank.engine import dask_bundles
from hushrank.engine.dask_bundles import Held, bundle, gathered, read_held


class Future:
    """What a piece in the memory of a worker looks like."""

    status = "finished"

    def __init__(self, key):
        self.key = key


def cluster_of(holders):
    client = SimpleNamespace(who_has=lambda needs: holders)
    return SimpleNamespace(client=client, workers=lambda: ["a", "b"], n_threads=lambda: 3)


def files(n_pieces):
    return [Piece(len) for _ in range(n_pieces)]


def held(n_pieces, n_bytes=1):
    return [Piece(len, (Future(f"k{number}"),), 1, n_bytes) for number in range(n_pieces)]


@pytest.mark.parametrize("n_pieces", [1, 5, 24, 25, 1000])
def test_files_are_read_in_few_tasks_of_about_equal_size(n_pieces):
    bundles = bundle(cluster_of({}), files(n_pieces), is_shared=False)
    lists = [numbers for numbers, holder in bundles if holder is None]
    assert [number for numbers in lists for number in numbers] == list(range(n_pieces))
    assert len(lists) == len(bundles) == min(n_pieces, 24)
    assert max(map(len, lists)) - min(map(len, lists)) <= 1


def test_files_of_a_shared_sum_are_read_once_by_each_worker():
    bundles = bundle(cluster_of({}), files(9), is_shared=True)
    assert bundles == [([0, 1, 2, 3], "a"), ([4, 5, 6, 7, 8], "b")]
    assert bundle(cluster_of({}), files(1), is_shared=True) == [([0], "a")]
    nobody = SimpleNamespace(workers=lambda: [])
    assert bundle(nobody, files(3), is_shared=True) == [([0, 1, 2], None)]


def test_what_lies_in_memory_is_a_task_of_its_own():
    assert bundle(cluster_of({}), held(3), is_shared=False) == [([0], None), ([1], None), ([2], None)]


def test_a_shared_sum_takes_all_that_a_worker_holds():
    holders = {"k0": ("a",), "k1": ("b",), "k2": ("a",), "k3": ()}
    assert bundle(cluster_of(holders), held(4), is_shared=True) == [([0, 2, 3], "a"), ([1], "b")]


def test_a_shared_sum_takes_no_more_than_fits_into_memory(monkeypatch):
    monkeypatch.setattr(dask_bundles, "TOGETHER_BYTES", 5)
    holders = {f"k{number}": ("a",) for number in range(7)}
    pieces = [*held(6, 2), Piece(len, (Future("k6"),), 1, 9)]
    bundles = bundle(cluster_of(holders), pieces, is_shared=True)
    assert bundles == [([0, 1], "a"), ([2, 3], "a"), ([4, 5], "a"), ([6], "a")]


def test_what_is_not_computed_yet_is_not_held_together():
    from dask import delayed

    pieces = [Piece(len, (delayed(len)([]),)) for _ in range(3)]
    assert bundle(cluster_of({}), pieces, is_shared=True) == [([0], None), ([1], None), ([2], None)]


def test_small_blocks_go_together(monkeypatch):
    monkeypatch.setattr(dask_bundles, "HELD_BYTES", 100)
    record = SimpleNamespace(indptr=np.zeros(5), values=np.zeros(10))
    blocks = [np.zeros(10), np.zeros(10), record, np.zeros(1)]
    assert [len(one) for one in gathered(iter(blocks))] == [2, 1, 1]
    assert list(gathered(iter([]))) == []


def test_held_blocks_are_read_and_not_printed():
    source = read_held(np.zeros((0, 1)), Held([np.ones((2, 1))]))
    assert source.n_samples == 2 and repr(Held([12345])) == "1 blocks"
