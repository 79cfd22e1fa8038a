"""Ids to codes: exact whatever the hashes, in the order of appearance, for every block size."""

import pickle
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data import identifiers
from hushrank.data.identifiers import IdTable, code_everybody, places_of
from hushrank.exceptions import InvalidParameter


def canonical(id_):
    """The canonical form of an id, None if it is none."""
    if not isinstance(id_, str | bytes):
        return id_
    text = id_.encode() if isinstance(id_, str) else id_
    text = text.strip(b" \t\n\v\f\r")
    if re.fullmatch(rb"[+-]?[0-9]+(\.0*)?", text):
        return str(int(text.split(b".")[0])).encode()
    return text or None


def codes_of(ids):
    """Codes by a dictionary."""
    known = {}
    return [-1 if i is None else known.setdefault(i, len(known)) for i in map(canonical, ids)], known


integers = st.none() | st.integers(-3, 30) | st.integers(-(2**63), 2**63 - 1)
numerals = st.text("007.+- \t", max_size=5)
words = st.none() | st.text("aä\0", max_size=3) | st.text(max_size=20) | numerals
binary = st.none() | st.binary(max_size=3) | numerals.map(str.encode)
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
    assert table.find(pa.array(asked, dtype)).tolist() == [known.get(canonical(i), -1) for i in asked]
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
    starts, data, _ = IdTable()._to_bytes(pa.array(ids))
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
    starts, data, _ = table._to_bytes(pa.array(["tea"]))
    identifiers._look_ahead(starts, data, *known, tags)
    slot = identifiers._slot_of(data, 0, 3, tags[0], *known)
    data = np.frombuffer(other.encode() + b"a", np.uint8)
    assert identifiers._slot_of(data, 0, len(other), tags[0], *known) != slot


def test_no_ids():
    table = IdTable()
    assert table.add(pa.array([], pa.int64())).tolist() == [] and len(table) == 0
    assert table.find(pa.array([3])).tolist() == [-1] and table.add(pa.nulls(2)).tolist() == [-1, -1]
    assert IdTable().add(pa.array(["", None, " "])).tolist() == [-1, -1, -1]


def test_kinds_of_ids_are_not_mixed():
    """2^64 - 1 and -1 have the same bits, and so may an integer and a text."""
    ids = {"signed": pa.array([-1]), "unsigned": pa.array([2**64 - 1], pa.uint64()), "text": pa.array(["1"])}
    for first in ids:
        for other in ids.keys() - {first}:
            table = IdTable()
            table.add(ids[first])
            for use in (table.add, table.find):
                with pytest.raises(TypeError, match=f"of one kind; got {other} after {first}"):
                    use(ids[other])


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


def test_everybody_has_a_code_or_all_are_refused():
    codes, users = code_everybody(pa.array(["b", "a", "b", "c"]), "a table", "X", "A")
    assert codes.tolist() == [0, 1, 0, 2] and users.to_pylist() == ["b", "a", "c"]
    assert code_everybody(pa.array([], pa.int64()), "a table", "X", "A")[1].to_pylist() == []
    for ids in (["a", None], ["a", ""]):
        with pytest.raises(
            InvalidParameter, match=r"^X of A must be a table with a user in every row; got 'a row with"
        ):
            code_everybody(pa.array(ids), "a table", "X", "A")
    with pytest.raises(InvalidParameter, match=r"^X of A must be rows with one spelling of every user \(7, 07 and 7.0"):
        code_everybody(pa.array(["7", "07"]), "rows", "X", "A")


# Places.


@pytest.mark.parametrize("form", FORMS)
@given(st.data(), st.integers(1, 60))
@settings(deadline=None, max_examples=60)
def test_a_place_depends_on_the_canonical_id_alone(form, data, n_places):
    values, dtype = FORMS[form]
    ids = data.draw(st.lists(values, max_size=40))
    places = places_of(pa.array(ids, dtype), n_places)
    assert places.dtype == np.int32 and len(places) == len(ids)
    known = {}
    for id_, place in zip(map(canonical, ids), places.tolist(), strict=True):
        assert (place == -1) if id_ is None else (0 <= place < n_places)
        assert known.setdefault(id_, place) == place
    alone = [places_of(pa.array([id_], dtype), n_places)[0] for id_ in ids]  # nor on others
    assert alone == places.tolist()


def test_places_of_slices_types_and_nobody():
    ids = pa.array([None, "7", "x", " 07. "], pa.large_string())
    expected = places_of(ids, 1000)
    assert expected[1] == expected[3] and expected[0] == -1
    assert np.array_equal(places_of(ids[1:], 1000), expected[1:])
    for dtype in (pa.string(), pa.binary(), pa.large_binary()):
        assert np.array_equal(places_of(ids.cast(dtype), 1000), expected)
    wide = places_of(pa.array([3, 2**31 - 1]), 1000)
    for dtype in (pa.int32(), pa.uint32()):
        assert np.array_equal(places_of(pa.array([3, 2**31 - 1], dtype), 1000), wide)
    assert places_of(pa.nulls(2), 9).tolist() == [-1, -1] and places_of(pa.array([], pa.int64()), 9).tolist() == []


@pytest.mark.parametrize("ids", [pa.array(range(10**5)), pa.array([f"u{i}" for i in range(10**5)])], ids=["int", "str"])
@pytest.mark.parametrize("n_places", [2, 7, 64])
def test_people_are_spread_evenly_and_tables_at_a_place_as_well(ids, n_places):
    places = places_of(ids, n_places)
    counts = np.bincount(places, minlength=n_places)
    assert abs(counts * n_places / 10**5 - 1).max() < 6 * np.sqrt(n_places / 10**5)
    at_one = ids.filter(pa.array(places == 0))
    starts, data, _ = IdTable()._to_bytes(at_one)
    tags = np.empty(len(at_one), np.uint64)
    identifiers._look_ahead(starts, data, np.zeros(2, np.uint64), np.zeros(1, np.int64), np.zeros(1, np.uint8), tags)
    slots = np.bincount((tags & np.uint64(63)).astype(int), minlength=64)  # of a table with 64 of them
    assert abs(slots * 64 / len(at_one) - 1).max() < 6 * np.sqrt(64 / len(at_one))


def test_places_are_the_same_for_everybody():
    """Whoever reads a piece finds them alone: nothing random, and nothing of a process, is in them."""
    assert places_of(pa.array(["ann", "bob", "7"]), 10**6).tolist() == [944723, 620768, 278871]
    assert places_of(pa.array([7, -1]), 10**6).tolist() == [761869, 60462]
