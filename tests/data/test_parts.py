"""Parts of people: every entry comes back once, with its range of people, wherever it was kept."""

import os

import numpy as np
import pytest

from hushrank.data.parts import BUCKET_BITS, Chunks, bucket_shift, sort_by_bucket

ENTRY = np.dtype([("person", np.int32), ("number", np.float64)])


def entries_of(codes):
    entries = np.empty(len(codes), ENTRY)
    entries["person"], entries["number"] = codes, np.arange(len(codes)) + np.asarray(codes) / 7
    return entries


def parted(codes, step, in_memory, enough, n_people):
    chunks, entries = Chunks(ENTRY, in_memory), entries_of(codes)
    for start in range(0, len(codes), step):
        chunk = entries[start : start + step]
        order, starts, shift = sort_by_bucket(np.ascontiguousarray(chunk["person"]))
        chunks.append(chunk[order], starts, shift)
    assert chunks.n_entries == len(codes)
    parts = list(chunks.parts(n_people, enough))
    chunks.close()
    return parts


@pytest.mark.parametrize("in_memory", [0, 300, 10**6])
@pytest.mark.parametrize("n_people", [1, 5, 1024, 1025, 70_000])
@pytest.mark.parametrize("enough", [1, 100, 10**6])
def test_every_entry_comes_back_with_its_people(in_memory, n_people, enough):
    rng = np.random.default_rng(n_people)
    codes = np.minimum(rng.integers(0, n_people, 1000), np.arange(1000) * n_people // 500)  # they come up by and by
    parts = parted(codes.astype(np.int32), 170, in_memory, enough, n_people)
    edges = [0, *(stop for _, stop, _ in parts)]
    assert [first for first, _, _ in parts] == edges[:-1] and edges[-1] == n_people
    for first, stop, part in parts:
        assert ((first <= part["person"]) & (part["person"] < stop)).all()
    found = np.sort(np.concatenate([part for _, _, part in parts]), order="number")
    assert found.tobytes() == np.sort(entries_of(codes), order="number").tobytes()
    assert len(parts) == 1 or enough < 10**6


def test_parts_have_enough_and_not_much_more():
    codes = np.repeat(np.arange(1024, dtype=np.int32), 10)
    sizes = [len(part) for _, _, part in parted(codes, 999, 0, 95, 1024)]
    assert set(sizes[:-1]) == {100} and sum(sizes) == 10_240
    assert [len(part) for _, _, part in parted(codes, 999, 0, 10, 1024)] == [10] * 1024


def test_buckets_are_few():
    assert [bucket_shift(n) for n in (1, 2, 1024, 1025, 2048, 2049, 2**31 - 1)] == [0, 0, 0, 1, 1, 2, 21]
    for largest in (0, 5, 1023, 1024, 2**31 - 2):
        order, starts, shift = sort_by_bucket(np.array([largest, 0, largest], np.int32))
        assert (largest >> shift) < 1 << BUCKET_BITS and starts[0] == 0 and starts[-1] == 3
        assert order.tolist() == ([1, 0, 2] if largest else [0, 1, 2])
    assert sort_by_bucket(np.empty(0, np.int32))[1].tolist() == [0] * 1025


def test_a_file_that_lost_its_end_is_noticed():
    chunks = Chunks(np.dtype(np.int64), 0)
    order, starts, shift = sort_by_bucket(np.arange(9, dtype=np.int32))
    chunks.append(order, starts, shift)
    chunks._file.truncate(16)
    with pytest.raises(OSError, match="a temporary file is shorter than what was written to it"):
        list(chunks.parts(9, 4))
    chunks.close()


def test_no_file_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    parted(np.arange(100, dtype=np.int32), 9, 0, 5, 100)
    assert os.listdir(tmp_path) == []
