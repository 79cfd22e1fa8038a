"""Ids to codes: exact whatever the hashes, in the order of appearance, for every block size."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.engine import identifiers
from hushrank.engine.identifiers import IdTable


def codes_of(ids):
    """Codes by a dictionary."""
    known = {}
    return [-1 if i is None else known.setdefault(i, len(known)) for i in ids], known


integers = st.none() | st.integers(-3, 30) | st.integers(-(2**63), 2**63 - 1)
words = st.none() | st.text("aä\0", max_size=3) | st.text(max_size=20)
binary = st.none() | st.binary(max_size=3)
FORMS = {
    "int64": (integers, pa.int64()),
    "string": (words, pa.string()),
    "large": (words, pa.large_string()),
    "binary": (binary, pa.binary()),
}


@pytest.mark.parametrize("form", FORMS)
@given(st.data(), st.integers(1, 9))
@settings(deadline=None, max_examples=60)
def test_codes_are_those_of_a_dictionary(form, data, block):
    values, dtype = FORMS[form]
    ids, asked = data.draw(st.lists(values, max_size=60)), data.draw(st.lists(values, max_size=20))
    expected, known = codes_of(ids)
    table, array = IdTable(), pa.array(ids, dtype)
    found = [table.add(array[start : start + block]) for start in range(0, len(ids), block)]
    assert np.concatenate([np.empty(0, np.int32), *found]).tolist() == expected and len(table) == len(known)
    assert table.find(pa.array(asked, dtype)).tolist() == [known.get(i, -1) for i in asked]
    assert len(table) == len(known)  # looking up adds nothing


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32"])
def test_narrow_integers_are_the_same_ids(dtype):
    table = IdTable()
    table.add(pa.array([7, 5], pa.int64()))
    assert table.find(pa.array(np.array([5, 6, 7], dtype))).tolist() == [1, -1, 0]


def test_tables_grow_over_many_blocks():
    ids = np.random.default_rng(1).integers(0, 30_000, 40_000) * 2**40
    for array in (pa.array(ids), pa.array(ids.astype(str).tolist())):
        table = IdTable()
        found = [table.add(array[start : start + 7000]) for start in range(0, len(ids), 7000)]
        assert np.concatenate(found).tolist() == codes_of(ids.tolist())[0]
        assert np.array_equal(table.find(array), np.concatenate(found))


def test_ids_of_one_hash_stay_apart():
    """Among many ids some have the same hash as far as it is kept; only their bytes tell them apart."""
    ids, tags = np.arange(300_000), np.empty(300_000, np.uint64)
    starts, data, _ = identifiers._to_bytes(pa.array(ids))
    nothing = np.zeros(2, np.uint64), np.zeros(1, np.int64), np.zeros(1, np.uint8)
    identifiers._look_ahead(starts, data, *nothing, tags)
    order = np.argsort(tags)
    same = np.flatnonzero(np.diff(tags[order]) == 0)
    assert len(same) > 0  # of random hashes about 10 pairs
    pair = pa.array(ids[order[same[0] : same[0] + 2]])
    table = IdTable()
    assert table.add(pair).tolist() == [0, 1] and table.find(pair.take(pa.array([1, 0]))).tolist() == [1, 0]


@pytest.mark.parametrize("other", ["t", "teas", "tee", ""])
def test_ids_of_different_length_stay_apart(other):
    """Ids of one hash and different length are too rare to be found: the hash of one is claimed for the other."""
    table, tags = IdTable(), np.empty(1, np.uint64)
    table.add(pa.array(["tea", "jam"]))
    known = table._slots, table._starts, table._bytes
    starts, data, _ = identifiers._to_bytes(pa.array(["tea"]))
    identifiers._look_ahead(starts, data, *known, tags)
    slot = identifiers._slot_of(data, 0, 3, tags[0], *known)
    data = np.frombuffer(other.encode() + b"a", np.uint8)
    assert identifiers._slot_of(data, 0, len(other), tags[0], *known) != slot


def test_no_ids():
    table = IdTable()
    assert table.add(pa.array([], pa.int64())).tolist() == [] and len(table) == 0
    assert table.find(pa.array([3])).tolist() == [-1]
    assert table.add(pa.array(["", None, ""])).tolist() == [0, -1, 0] and table.find(pa.array([""])).tolist() == [0]


def test_tables_can_be_copied():
    table = IdTable()
    table.add(pa.array(["tea", "jam"]))
    copy = pickle.loads(pickle.dumps(table))
    assert copy.find(pa.array(["jam", "oil"])).tolist() == [1, -1]


def test_a_table_never_overflows_its_codes(monkeypatch):
    monkeypatch.setattr(identifiers, "_MOST_IDS", 3)
    table = IdTable()
    table.add(pa.array([1, 2, 3]))
    with pytest.raises(MemoryError, match="more than 3 ids"):
        table.add(pa.array([4]))
