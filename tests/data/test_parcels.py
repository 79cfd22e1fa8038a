"""Parcels: every row at the one place of its person, with its bits and in its order, whatever is read at a time."""

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.id_arrays import bytes_as_text
from hushrank.data.identifiers import IdTable, places_of
from hushrank.data.parcels import narrow, pack, unpack
from regrouping_support import IDS, LONG, SPELLINGS, TEXTS

TYPES = {"int64": pa.int64(), "uint64": pa.uint64(), "str": pa.large_string(), "binary": pa.large_binary()}
VALUES = {
    "int64": st.none() | st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    "uint64": st.none() | st.integers(0, 3) | st.integers(0, 2**64 - 1),
    "str": st.none() | st.sampled_from(["7", "07", " 7.0 ", "", "a\nb"]) | st.text(max_size=4),
    "binary": st.none() | st.binary(max_size=4),
}


def test_wide_rows_are_packed_by_their_bytes():
    batches = [(pa.array([number % 5]), [np.full((1, 100), number)]) for number in range(20)]
    by_rows, by_bytes = (pack(batches, 3, **most) for most in ({}, {"most_bytes": 1600}))
    assert by_rows[1] == by_bytes[1] == 0
    for one, other in zip(by_rows[0], by_bytes[0], strict=True):
        assert opened(one) == opened(other)
    assert sum(map(len, by_bytes[0])) > sum(map(len, by_rows[0]))  # more often, with a head each time


def cut(ids, numbers, edges):
    """Batches of consecutive rows."""
    edges = sorted({0, len(ids), *(edge for edge in edges if edge <= len(ids))})
    return [(ids[a:b], [one[a:b] for one in numbers]) for a, b in itertools.pairwise(edges)]


def opened(parcel):
    """Id and row of each entry of a parcel, numbers as bytes."""
    return [
        (id_, tuple(bits(array[i]) for array in arrays))
        for ids, arrays in unpack(parcel)
        for i, id_ in enumerate(list_of(ids))
    ]


def bits(numbers):
    return np.asarray(numbers).tobytes()


def list_of(ids):
    return (ids.cast(pa.large_binary()) if pa.types.is_large_string(ids.type) else ids).to_pylist()


# Rows.


@pytest.mark.parametrize("kind", TYPES)
@given(st.data(), st.sampled_from([1, 2, 7, 50]), st.sampled_from([1, 3, 10**6]), st.lists(st.integers(0, 30)))
@settings(deadline=None, max_examples=40)
def test_every_row_is_at_the_place_of_its_id_and_in_its_order(kind, data, n_places, most, edges):
    values = data.draw(st.lists(VALUES[kind], max_size=30))
    ids = pa.array(values, TYPES[kind])
    order, X = np.arange(len(ids)), np.random.default_rng(0).integers(0, 2**63, (len(ids), 3)).view(np.float64)
    parcels, n_left_out = pack(cut(ids, [order, X], edges), n_places, most)
    places = places_of(ids, n_places)
    assert len(parcels) == n_places and n_left_out == np.sum(places < 0)
    for place, parcel in enumerate(parcels):
        own = np.flatnonzero(places == place)
        assert opened(parcel) == [(list_of(ids)[i], (bits(order[i]), bits(X[i]))) for i in own]
        assert bool(parcel) == bool(len(own))


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("n_places", [1, 3, 50, 2**15])
def test_one_user_in_all_spellings_is_at_one_place(kind, n_places):
    ids = IDS[kind]
    if kind == "int16":
        ids = ids.cast(pa.int64())
    parcels, n_left_out = pack([(ids, [np.arange(len(ids))])] * 2, n_places)
    users, seen = IdTable(), Counter()
    for parcel in parcels:
        seen.update({user for ids_of_batch, _ in unpack(parcel) for user in users.add(ids_of_batch)})
    assert set(seen.values()) <= {1}  # nobody is at two places
    nobody = IdTable().add(ids) < 0
    assert n_left_out == 2 * nobody.sum() and len(seen) == len(users) == len(set(IdTable().add(ids)) - {-1})


def test_texts_keep_their_bytes():
    parcels, n_left_out = pack([(bytes_as_text(TEXTS), [np.arange(len(TEXTS))])], 5)
    found = {np.frombuffer(row[0], np.int64)[0]: id_ for parcel in parcels for id_, row in opened(parcel)}
    expected = {i: text for i, text in enumerate(TEXTS) if text not in SPELLINGS[None]}
    assert found == expected and n_left_out == len(SPELLINGS[None]) and LONG in found.values()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(200,), (200, 1), (200, 4)])
def test_numbers_keep_their_types_and_bits(dtype, shape):
    patterns = np.random.default_rng(1).bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    numbers = np.frombuffer(patterns, dtype).reshape(shape).copy()
    if numbers.dtype.kind == "f":  # payloads and signaling NaNs as well
        quiet = {4: (np.uint32, 0x7FA00001), 8: (np.uint64, 0x7FF4000000000001)}[numbers.itemsize]
        numbers[:3] = np.full(3, quiet[1], quiet[0]).view(dtype).reshape(3, *(1,) * (len(shape) - 1))
    for layout in (numbers, np.asfortranarray(numbers)):
        parcels, _ = pack([(pa.array(np.arange(200) % 9), [layout])], 4, 30)
        ids, back = [], []
        for parcel in parcels:
            for own, (array,) in unpack(parcel):
                assert array.dtype == dtype and array.shape[1:] == shape[1:]
                ids += own.to_pylist()
                back += [bits(row) for row in array]
        assert sorted(back) == sorted(bits(row) for row in numbers)
        assert Counter(zip(ids, back, strict=True)) == Counter((i % 9, bits(row)) for i, row in enumerate(numbers))


def test_numbers_of_another_width_in_another_batch():
    """A batch of float32 beside one of float64, as `narrow` makes them, together or apart."""
    batches = [(pa.array([1, 2]), [np.array([0.5, 1.5], np.float32)]), (pa.array([1]), [np.array([0.1])])]
    for most in (1, 100):
        [parcel], _ = pack(batches, 1, most)
        assert [float(number) for _, (numbers,) in unpack(parcel) for number in numbers] == [0.5, 1.5, 0.1]


def test_batches_in_which_nobody_has_an_id_have_no_type():
    numbers = [np.zeros(2)]
    batches = [(pa.nulls(2), numbers), (pa.array(["a", None], pa.large_string()), numbers), (pa.nulls(2), numbers)]
    for most in (1, 100):
        parcels, n_left_out = pack(batches, 2, most)
        assert n_left_out == 5 and [id_ for parcel in parcels for id_, _ in opened(parcel)] == [b"a"]
    assert pack([(pa.nulls(2), numbers)], 3) == ([b""] * 3, 2)


@pytest.mark.parametrize("batches", [[], [(pa.array([], pa.int64()), [np.empty(0), np.empty((0, 2))])]])
def test_nothing_makes_empty_parcels(batches):
    assert pack(batches, 4) == ([b""] * 4, 0) and list(unpack(b"")) == []


def test_parcels_are_as_large_as_their_rows():
    """A place does not get the rows of others: neither their numbers nor their ids."""
    ids = pa.array([f"user {i} {'x' * 100}" for i in range(2000)])
    parcels, _ = pack([(ids, [np.zeros((2000, 5))])], 50)
    assert sum(map(len, parcels)) < 2000 * (112 + 8 + 40) * 1.2 + 50 * 1500 and max(map(len, parcels)) < 20_000


def test_no_more_rows_wait_than_are_sorted_at_a_time():
    [parcel], _ = pack(((pa.array([1, 2, 3]), [np.zeros(3)]) for _ in range(40)), 1, 6)
    assert [len(ids) for ids, _ in unpack(parcel)] == [6] * 20


def test_parcels_are_read_from_buffers():
    [parcel], _ = pack([(pa.array([3, 4]), [np.array([0.5, 1.5])])], 1)
    cells = pa.array([b"other", parcel], pa.large_binary())
    [(ids, [numbers])] = unpack(cells[1].as_buffer())
    assert ids.to_pylist() == [3, 4] and numbers.tolist() == [0.5, 1.5]


# Numbers.


@given(st.lists(st.floats() | st.floats(width=32), max_size=9))
def test_narrow_numbers_are_the_same_numbers(numbers):
    wide = np.array(numbers, np.float64)
    found = narrow(wide)
    assert np.array_equal(found.astype(np.float64), wide, equal_nan=True)
    with np.errstate(over="ignore"):
        fits = all(number != number or float(np.float32(number)) == number for number in numbers)
    small = all(number == number and abs(number) < 128 and number == int(number) for number in numbers)
    if small or -128.0 not in numbers:
        assert found.dtype == (np.int8 if small else np.float32 if fits else np.float64)


@pytest.mark.parametrize(
    ("integers", "name"), [([1, -128], "int8"), ([128], "int16"), ([2**31], "int64"), ([], "int8")]
)
def test_narrow_integers_are_the_same_integers(integers, name):
    found = narrow(np.array(integers, np.int64))
    assert found.dtype.name == name and found.tolist() == integers


@pytest.mark.parametrize("numbers", [[1e300], [-1e300, 0.5], [1e-300], [5e-324], [0.1], [2.0**24 + 1]])
def test_numbers_that_do_not_fit_stay_as_they_are(numbers):
    wide = np.array(numbers)
    assert narrow(wide) is wide


def test_nothing_warns_whatever_the_numbers_are():
    signaling = np.array([0x7FF4000000000001, 0xFFF4000000000001, 1], np.uint64).view(np.float64)
    for numbers in (signaling, signaling[:2], np.array([np.inf, 1e300, 1e-320])):
        with np.errstate(all="raise"):
            found = narrow(numbers)
        with np.errstate(all="ignore"):
            assert np.array_equal(found.astype(np.float64), numbers, equal_nan=True)
