"""The state: exactly the sketches of the summed matrix, in any order, by parts or sorted; no silent overflow."""

import math

import numpy as np
import pytest

from hushrank.estimators.turnstile import state as state_module
from hushrank.estimators.turnstile.layout import KINDS, OPERATORS, build_layout
from hushrank.estimators.turnstile.normal_columns import NormalColumns
from hushrank.estimators.turnstile.state import SketchState, _add_dense_core
from hushrank.privacy.guarantee import Unit
from hushrank.privacy.noise.sketch_draws import fresh_key

SHAPE, SIZES, PER_COLUMN = (23, 17), (5, 9), 3
CASES = [(kind, operator) for kind in KINDS if kind != "full" for operator in OPERATORS] + [("full", "sparse_sign")]
INTEGERS = [np.int32, np.int64]


def layout(kind, operator, shape=SHAPE, sizes=SIZES):
    return build_layout(shape, kind, operator, PER_COLUMN, sizes, Unit.ENTRY)


def updates(n=600, shape=SHAPE, seed=0, largest=100):
    rng = np.random.default_rng(seed)
    return rng.integers(0, shape[0], n), rng.integers(0, shape[1], n), rng.integers(-largest, largest + 1, n)


def filled(state, rows, columns, deltas):
    assert state.add(rows, columns, deltas)
    return state


def are_equal(first, second):
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(first, second, strict=True))


def integer_operator(state, array, one):
    """The operator of an array as an integer matrix, from what decoders see of it."""
    norms = {"sparse_sign": math.sqrt(PER_COLUMN), "srht": math.sqrt(one.width), "gaussian": one.gain}
    S = norms[state.layout.operator] * state.apply(one.label)(np.eye(one.n_inputs))
    assert S.shape == (one.width, one.n_inputs) and np.abs(S - np.rint(S)).max() < 1e-6
    return np.rint(S).astype(np.int64)


@pytest.mark.parametrize(("kind", "operator"), CASES)
def test_every_array_is_its_sketch_of_the_matrix(kind, operator):
    rows, columns, deltas = updates()
    A = np.zeros(SHAPE, np.int64)
    np.add.at(A, (rows, columns), deltas)
    state = filled(SketchState(layout(kind, operator), fresh_key(), np.int64), rows, columns, deltas)
    for array, held in zip(state.layout.arrays, state.arrays, strict=True):
        made_with = [integer_operator(state, array, one) for one in array.operators]
        expected = {
            "matrix": lambda: A,
            "columns": lambda S: A @ S.T,
            "rows": lambda S: A.T @ S.T,
            "core": lambda S, T: S @ A @ T.T,
        }[array.name](*made_with)
        assert held.shape == array.shape and np.array_equal(held, expected)


@pytest.mark.parametrize(("kind", "operator"), CASES)
@pytest.mark.parametrize("integers", INTEGERS)
def test_order_and_parts_leave_the_same_bits(kind, operator, integers):
    """One stream, a permuted one, one by one, and three shards that are merged."""
    rows, columns, deltas = updates(120, largest=3)
    key, chosen = fresh_key(), layout(kind, operator)

    def of(which):
        return filled(SketchState(chosen, key, integers), rows[which], columns[which], deltas[which])

    whole = of(slice(None)).arrays
    assert {array.dtype for array in whole} == {np.dtype(integers)}
    assert all(np.any(array) for array in whole)
    assert are_equal(of(np.random.default_rng(1).permutation(120)).arrays, whole)
    single = SketchState(chosen, key, integers)
    for e in range(120):
        assert single.add(rows[e : e + 1], columns[e : e + 1], deltas[e : e + 1])
    assert are_equal(single.arrays, whole)
    shards = [of(np.arange(120) % 3 == part) for part in range(3)]
    assert all(shards[2].merge(shard.arrays) for shard in shards[:2])
    assert are_equal(shards[2].arrays, whole)


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_is_added_can_be_taken_away(operator):
    rows, columns, deltas = updates()
    state = filled(SketchState(layout("three_sketch", operator), fresh_key(), np.int64), rows, columns, deltas)
    assert state.add(rows[::-1], columns[::-1], -deltas[::-1]) and not any(np.any(array) for array in state.arrays)


@pytest.mark.parametrize(("kind", "operator"), CASES)
def test_sorted_batches_leave_the_same_bits(kind, operator, monkeypatch):
    """Large arrays are updated in sorted batches: several buckets of places, and only from some thousand updates on."""
    shape, calls, key = (9000, 7000) if kind != "full" else (9000, 20), [], fresh_key()
    chosen, batch = layout(kind, operator, shape, (4, 5)), updates(5000, shape, largest=9)
    sort = state_module.sort_by_place
    monkeypatch.setattr(state_module, "sort_by_place", lambda *given: calls.append(given[3:]) or sort(*given))
    unsorted = filled(SketchState(chosen, key, np.int64), *batch)
    assert not calls
    in_order = SketchState(chosen, key, np.int64, cached_bytes=0)
    few = tuple(part[:4095] for part in batch)
    filled(in_order, *few)
    assert not calls
    in_order.add(*few[:2], -few[2])
    filled(in_order, *batch)
    assert len(calls) == sum(array.name != "core" for array in chosen.arrays)
    assert all(n_places >> shift >= 1 for n_places, shift in calls)
    assert are_equal(in_order.arrays, unsorted.arrays)


# Sums that do not fit


def near_the_limit(kind, operator, integers, number, seed=0):
    """A state that overflows in one array, wherever an update adds to it."""
    state = SketchState(layout(kind, operator), fresh_key(), integers)
    rng, limits = np.random.default_rng(seed), np.iinfo(integers)
    held = state.arrays[number]
    held[...] = np.where(rng.random(held.shape) < 0.5, limits.max, limits.min)
    return state


@pytest.mark.parametrize(("kind", "operator"), [case for case in CASES if case[0] in ("figure1", "figure3", "full")])
@pytest.mark.parametrize("integers", INTEGERS)
def test_an_overflow_of_any_array_is_noticed_and_undone(kind, operator, integers):
    for number in range(len(layout(kind, operator).arrays)):
        state = near_the_limit(kind, operator, integers, number)
        before = [array.copy() for array in state.arrays]
        assert not state.add(*updates(300, largest=5))
        assert are_equal(state.arrays, before)
        assert not state.merge([np.ones_like(array) for array in state.arrays])
        assert are_equal(state.arrays, before)
        assert not state.merge([-np.ones_like(array) for array in state.arrays])
        assert are_equal(state.arrays, before)
        assert state.merge([np.zeros_like(array) for array in state.arrays])


@pytest.mark.parametrize("integers", INTEGERS)
def test_overflow_in_a_sorted_batch_is_undone(integers):
    shape = (9000, 40)
    state = SketchState(layout("full", "sparse_sign", shape), fresh_key(), integers, cached_bytes=0)
    state.arrays[0][...] = np.iinfo(integers).max
    before = [state.arrays[0].copy()]
    assert not state.add(*updates(5000, shape)) and are_equal(state.arrays, before)


@pytest.mark.parametrize("integers", INTEGERS)
def test_the_limits_themselves_fit(integers):
    state = SketchState(layout("full", "sparse_sign"), fresh_key(), integers)
    limits, one = np.iinfo(integers), np.array([1])
    for limit, step in ((limits.max, 1), (limits.min, -1)):
        assert state.add(one, one, np.array([limit], np.int64)) and state.arrays[0][1, 1] == limit
        assert not state.add(one, one, np.array([step])) and state.arrays[0][1, 1] == limit
        assert state.add(one, one, np.array([-step])) and state.add(one, one, np.array([step - limit], np.int64))
        assert state.arrays[0][1, 1] == 0
    assert state.merge([np.full(SHAPE, limits.min, integers)])


def test_a_sum_that_wraps_and_comes_back_in_one_batch_is_refused():
    """The result would fit; that its order decides is no reason to let it pass in one of them."""
    state = SketchState(layout("full", "sparse_sign"), fresh_key(), np.int32)
    ones = np.ones(2, np.int64)
    assert not state.add(ones, ones, np.array([2**31, -(2**31)])) and not np.any(state.arrays[0])


@pytest.mark.parametrize("bits", [50, 52, 55, 58])
def test_a_product_in_the_core_that_no_int64_holds_is_noticed(bits):
    """Entries of about 2^11 on both sides: products of 2^72 and more may wrap to anything."""
    left, right = (NormalColumns(bytes(32), label, 4, 3, 2**12) for label in ("left", "right"))
    core, zero = np.zeros((3, 3), np.int64), np.zeros(1, np.int64)
    arguments = (core, left, right, zero, zero)
    assert _add_dense_core(*arguments, np.array([2**bits]))
    _add_dense_core(*arguments, np.array([-(2**bits)]))
    assert not np.any(core) and not _add_dense_core(*arguments, np.array([2**20]))


def test_no_updates_change_nothing():
    for kind, operator in CASES:
        state = SketchState(layout(kind, operator), fresh_key(), np.int64, cached_bytes=0)
        nothing = np.zeros(0, np.int64)
        assert state.add(nothing, nothing, nothing) and not any(np.any(array) for array in state.arrays)


def test_another_key_is_another_state():
    for operator in OPERATORS:
        arrays = [filled(SketchState(layout("figure1", operator), key, np.int64), *updates()).arrays
                  for key in (bytes(32), bytes(31) + b"1")]  # fmt: skip
        assert not any(np.array_equal(a, b) for a, b in zip(*arrays, strict=True))
