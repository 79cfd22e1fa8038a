"""Coordinates of rows: the same bits for a row wherever it stands, no number from what is none, norms, composition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hushrank.linalg.row_frames import Frame, row_norms

WILD = [0.0, -0.0, 5e-324, -1e-310, 1e-200, 0.3, -7.0, 1e30, -1e200, 1e308, -1.7e308, math.inf, -math.inf, math.nan]
wild = st.one_of(st.sampled_from(WILD), st.floats(), st.floats(-4, 4))
wild_rows = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=wild)


def bits(array):
    """The bits of floats; all that is not a number counts as one."""
    numbers = np.ascontiguousarray(array, np.float64)
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64).tolist()


def wild_array(n=40, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.exp(5 * rng.standard_normal((n, 1)))
    X[::5] = rng.choice(WILD, (len(X[::5]), d))
    return X


def make_frame(width, seed, *, kinds=("columns", "limits", "shift", "gain")):
    """A frame with some of its parts, chosen by a seed."""
    rng = np.random.default_rng(seed)
    frame = Frame(width)
    if "columns" in kinds and rng.random() < 0.7:
        frame = frame.keeping(rng.permutation(width)[: 1 + width // 2])
    d = frame.n_columns
    if "limits" in kinds and rng.random() < 0.7:
        low = rng.standard_normal(d)
        frame = frame.limited(low, low + 10.0 ** rng.integers(-3, 5, d))
    if "shift" in kinds and rng.random() < 0.7:
        frame = frame.moved(rng.standard_normal(d))
    if "gain" in kinds and rng.random() < 0.7:
        frame = frame.scaled(2.0 ** rng.standard_normal(d))
    return frame


def place_by_hand(frame, row):
    """What the module promises, in Python floats."""
    kept = [float(x) for x in (row if frame.columns is None else row[frame.columns])]
    placed = []
    for j, x in enumerate(kept):
        value = x
        if frame.low is not None:
            value = x + math.nan if not math.isfinite(x) else min(max(x, float(frame.low[j])), float(frame.high[j]))
        if frame.shift is not None:
            value -= float(frame.shift[j])
        placed.append(value * float(frame.gain[j]) if frame.gain is not None else value)
    return placed


# The map of one row


@given(wild_rows, st.integers(0, 2**32), st.integers(1, 10))
@settings(deadline=None)
def test_a_row_has_the_same_bits_alone_in_any_block_and_by_hand(X, seed, rows_per_block):
    frame = make_frame(X.shape[1], seed)
    with np.errstate(all="ignore"):
        whole = frame.place(X.copy())
        assert bits(np.vstack([block.copy() for block in frame.blocks(X, rows_per_block)])) == bits(whole)
        assert bits(np.vstack([frame.place(X[i : i + 1]) for i in range(len(X))])) == bits(whole)
        assert bits(np.array([place_by_hand(frame, row) for row in X]) + 0.0) == bits(whole + 0.0)  # zeros without sign
    assert np.all(np.isfinite(X).all(axis=1) | frame_leaves_out(frame, X) | ~np.isfinite(whole).all(axis=1))


def frame_leaves_out(frame, X):
    """Rows whose entries that are not finite are all in columns that the frame does not keep."""
    return np.isfinite(X if frame.columns is None else X[:, frame.columns]).all(axis=1)


def layouts(X):
    """The same rows in other memory."""
    strided = np.full((2 * len(X), X.shape[1] + 3), 99.0)
    strided[::2, 1:-2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    swapped = X.astype(">f8")
    return {
        "Fortran": np.asfortranarray(X),
        "strided": strided[::2, 1:-2],
        "reversed": X[::-1].copy()[::-1],
        "read-only": read_only,
        "big-endian": swapped,
    }


@pytest.mark.parametrize("seed", range(12))
def test_memory_layout_changes_no_bit_and_no_row_is_written_to(seed):
    X = wild_array(seed=seed)
    frame, before = make_frame(X.shape[1], seed), X.copy()
    expected, norms = (np.vstack([block.copy() for block in frame.blocks(X)]), row_norms(X, frame, (2, 1)))
    for name, other in layouts(X).items():
        for rows_per_block in (1, 7, 4096):
            assert bits(np.vstack([b.copy() for b in frame.blocks(other, rows_per_block)])) == bits(expected), name
        assert bits(row_norms(other, frame, (2, 1))) == bits(norms), name
        assert bits(row_norms(other, frame)) == bits(norms[:1]), name
    assert bits(X) == bits(before)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.uint16, np.bool_])
def test_numbers_of_other_types_are_read_as_float64(dtype):
    with np.errstate(all="ignore"):
        X = np.nan_to_num(wild_array(), posinf=9.0, neginf=-9.0).clip(-100, 100).astype(dtype)
    for seed in range(6):
        frame = make_frame(X.shape[1], seed)
        expected = frame.place(X.astype(np.float64))
        assert bits(np.vstack([block.copy() for block in frame.blocks(X, 9)])) == bits(expected)
        assert bits(row_norms(X, frame)) == bits(row_norms(X.astype(np.float64), frame))


@pytest.mark.parametrize("seed", range(6))
def test_real_rows_among_complex_ones_have_the_bits_of_imaginary_zeros(seed):
    X = wild_array(seed=seed)
    frame = make_frame(2 * X.shape[1], seed, kinds=("shift", "gain"))
    for power in ((2,), (2, 1)):
        assert bits(row_norms(X, frame, power)) == bits(row_norms(X + 0j * np.zeros_like(X), frame, power))
    mixed = np.zeros(X.shape, complex)
    mixed.real = X
    one, other = ([block.copy() for block in frame.blocks(rows, 6)] for rows in (X, mixed))
    assert bits(np.vstack(one)) == bits(np.vstack(other))
    mixed.imag[3] = 1.0  # the row of somebody else
    changed = np.vstack([block.copy() for block in frame.blocks(mixed, 6)])
    assert bits(np.delete(changed, 3, axis=0)) == bits(np.delete(np.vstack(one), 3, axis=0))


def test_no_row_in_a_block_is_left_over_from_the_one_before():
    """Buffers are used again: a short last block must not show rows of other people."""
    X = np.arange(22.0).reshape(11, 2)
    frame = Frame(4).moved(np.array([1.0, 2.0, 0.0, -1.0]))
    shown = np.vstack([block.copy() for block in frame.blocks(X, 4)])
    assert shown.tolist() == [[a - 1.0, b - 2.0, 0.0, 1.0] for a, b in X.tolist()]


def test_limits_do_not_make_a_number_of_what_is_none():
    frame = Frame(2).limited(np.zeros(2), np.ones(2)).moved(np.full(2, 0.5)).scaled(np.full(2, 2.0))
    X = np.array([[math.inf, 0.5], [-math.inf, 0.5], [math.nan, 0.5], [1e308, -1e308], [0.25, 0.75]])
    placed = frame.place(X)
    assert np.isnan(placed[:3, 0]).all() and placed[:3, 1].tolist() == [0.0] * 3
    assert placed[3:].tolist() == [[1.0, -1.0], [-0.5, 0.5]]
    assert row_norms(X, frame)[0].tolist() == [0.0, 0.0, 0.0, math.sqrt(2), math.sqrt(0.5)]


def test_a_difference_that_overflows_is_not_a_row():
    frame = Frame(2).moved(np.array([-1e308, 0.0]))
    assert row_norms(np.array([[1.5e308, 1.0]]), frame)[0].tolist() == [0.0]


# Norms


@given(wild_rows, st.integers(0, 2**32))
@settings(deadline=None)
def test_norms_are_those_of_the_placed_rows_and_zero_for_rows_that_are_not_finite(X, seed):
    frame = make_frame(X.shape[1], seed)
    with np.errstate(all="ignore"):
        placed = frame.place(X.copy())
        euclidean, absolute = row_norms(X, frame, (2, 1))
        squares = placed**2
    for row, square, norm, total in zip(placed, squares, euclidean, absolute, strict=True):
        if not np.isfinite(row).all():
            assert norm == 0.0 and total == 0.0
            continue
        expected = math.sqrt(math.fsum(square)) if np.isfinite(square).all() and sum(square) < math.inf else math.inf
        assert norm == pytest.approx(expected, rel=1e-14)
        sums = sum(map(abs, map(float, row)))
        assert total == pytest.approx(math.fsum(map(abs, row)) if sums < math.inf else math.inf, rel=1e-14)


@given(wild_rows, st.data())
@settings(deadline=None)
def test_fused_norms_of_moved_rows_have_the_bits_of_the_others(X, data):
    shift = np.array(data.draw(st.lists(st.floats(-1e3, 1e3), min_size=X.shape[1], max_size=X.shape[1])))
    frame = Frame(X.shape[1]).moved(shift)
    assert frame.is_move
    fused, (general, _) = row_norms(X, frame)[0], row_norms(X, frame, (2, 1))
    assert bits(fused) == bits(general)
    assert bits(row_norms(frame.place(X.copy()), Frame(X.shape[1]))[0]) == bits(fused)


def test_norms_of_no_rows_are_none():
    for frame in (Frame(3), Frame(3).moved(np.ones(3)), Frame(3).keeping(np.array([1]))):
        assert [norms.tolist() for norms in row_norms(np.zeros((0, 3)), frame, (2, 1))] == [[], []]
        assert row_norms(np.zeros((0, 3)), frame)[0].shape == (0,)
        assert list(frame.blocks(np.zeros((0, 3)))) == []


# Composition


def test_a_frame_of_nothing_is_the_rows_themselves():
    frame, X = Frame(3), np.ones((2, 3))
    assert frame.is_identity and not frame.is_move and frame.n_columns == 3
    assert frame.place(X) is X
    assert frame.shifts().tolist() == [0.0] * 3 and frame.gains().tolist() == [1.0] * 3
    for other in (
        frame.moved(np.zeros(3)),
        frame.scaled(np.ones(3)),
        frame.keeping(np.arange(3)),
        frame.limited(np.zeros(3), np.ones(3)),
    ):
        assert not other.is_identity


@given(st.integers(2, 9), st.integers(0, 2**32), st.data())
@settings(deadline=None)
def test_columns_that_are_kept_twice_are_those_of_both_and_keep_their_bits(width, seed, data):
    frame, X = make_frame(width, seed), wild_array(20, width, seed=1)
    d = frame.n_columns
    first = np.array(data.draw(st.lists(st.integers(0, d - 1), min_size=1, max_size=d, unique=True)))
    second = np.array(data.draw(st.lists(st.integers(0, len(first) - 1), min_size=1, unique=True)))
    twice = frame.keeping(first).keeping(second)
    assert twice.n_columns == len(second)
    with np.errstate(all="ignore"):
        assert bits(twice.place(X)) == bits(frame.keeping(first[second]).place(X))
        assert bits(twice.place(X)) == bits(frame.place(X)[:, first[second]])


@pytest.mark.parametrize("seed", range(8))
def test_moved_and_scaled_act_on_coordinates_and_to_data_goes_back(seed):
    rng = np.random.default_rng(seed)
    frame, X = make_frame(6, seed), rng.standard_normal((30, 6))
    d = frame.n_columns
    step, factors = rng.standard_normal(d), 2.0 ** rng.standard_normal(d)
    before = frame.place(X)
    assert frame.moved(step).place(X) == pytest.approx(before - step, abs=1e-9)
    assert frame.scaled(factors).place(X) == pytest.approx(before * factors, abs=1e-9)
    whole = frame.moved(step).scaled(factors)
    assert whole.place(X) == pytest.approx((before - step) * factors, abs=1e-9)
    point = rng.standard_normal(d)
    data = whole.to_data(point)
    assert (data - whole.shifts()) * whole.gains() == pytest.approx(point, abs=1e-9)
    assert frame.to_data(step) == pytest.approx(whole.to_data(np.zeros(d)), abs=1e-12)  # the new origin
