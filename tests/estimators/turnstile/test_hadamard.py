"""Randomized Hadamard operators: different rows of the transform times fair signs; many inputs are hashed."""

import numpy as np
import pytest
from scipy import linalg, stats

from hushrank.estimators.turnstile.hadamard import Hadamard, _choose
from hushrank.privacy.noise.sketch_draws import fresh_key
from support import assert_plausible, chi2_p_value, count_p_value

KEY = bytes(range(32))
# (inputs, width): a whole transform, more places than inputs, few places, one place, hashed (64 and 256 buckets)
SIZES = [(16, 16), (5, 8), (100, 12), (30, 1), (1, 1), (3000, 2), (3000, 3), (40, 40)]
PLAIN, HASHED = SIZES[:5], SIZES[5:7]


def matrix(operator, kind=np.int64):
    """S, from one update for each input."""
    inputs = np.arange(operator.n_inputs)
    state = np.zeros((operator.n_inputs, operator.width), kind)
    assert not operator.add(state, inputs, inputs, np.ones(len(inputs), np.int64))
    return state.T.astype(np.int64)


@pytest.mark.parametrize(("n_inputs", "width"), SIZES)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_every_entry_is_a_sign(n_inputs, width, kind):
    S = matrix(Hadamard(fresh_key(), "rows", n_inputs, width), kind)
    assert S.shape == (width, n_inputs) and np.all(np.abs(S) == 1)


@pytest.mark.parametrize(("n_inputs", "width"), SIZES)
def test_updates_columns_and_products_use_one_matrix(n_inputs, width):
    rng, operator = np.random.default_rng(4), Hadamard(fresh_key(), "rows", n_inputs, width)
    S = matrix(operator)
    assert all(np.array_equal(operator.column(j), S[:, j]) for j in range(min(n_inputs, 50)))
    where, which = rng.integers(0, 6, 300), rng.integers(0, n_inputs, 300)
    deltas, state, A = rng.integers(-1000, 1000, 300), np.zeros((6, width), np.int64), np.zeros((6, n_inputs), np.int64)
    np.add.at(A, (where, which), deltas)
    assert not operator.add(state, where, which, deltas)
    assert np.array_equal(state, A @ S.T)
    M = rng.standard_normal((n_inputs, 3))
    for layout in (M, np.asfortranarray(M)):
        np.testing.assert_allclose(operator.apply(layout), S @ M / np.sqrt(width), atol=1e-11)


@pytest.mark.parametrize(("n_inputs", "width"), [*PLAIN, (40, 40), (1000, 9)])
def test_rows_are_different_rows_of_the_transform_times_the_same_signs(n_inputs, width):
    S = matrix(Hadamard(fresh_key(), "rows", n_inputs, width))
    order = 1 << (max(n_inputs, width, 2) - 1).bit_length()
    H = linalg.hadamard(order)
    # (bits of a xor b) & j: the product of two rows of H is a row of H, so signs cancel in S[0] S.
    found = [np.flatnonzero((H[:, :n_inputs] == row).all(axis=1)) for row in S[0] * S]
    assert all(len(which) for which in found)
    if n_inputs == order:  # rows of H are told apart by all of its columns
        assert len({int(which[0]) for which in found}) == width
        assert np.array_equal(S @ S.T, order * np.eye(width))


def test_a_whole_transform_keeps_every_norm():
    for _ in range(20):
        S = matrix(Hadamard(fresh_key(), "rows", 16, 16))
        assert np.array_equal(S.T @ S, 16 * np.eye(16))


@pytest.mark.parametrize("width", [2, 3])
def test_many_inputs_share_buckets_that_are_even(width):
    """With up to three different places all patterns of a column are equally likely: bucket bits are independent."""
    n = 100_000
    S = matrix(Hadamard(fresh_key(), "rows", n, width))
    patterns = (2 ** np.arange(width)) @ (S > 0)
    assert_plausible(chi2_p_value(np.bincount(patterns, minlength=2**width), np.full(2**width, 2.0**-width)))
    for lag in (1, 64, 256):
        joint = np.bincount(patterns[lag:] * 2**width + patterns[:-lag], minlength=4**width)
        assert_plausible(chi2_p_value(joint, np.full(4**width, 4.0**-width)))


@pytest.mark.parametrize(("n_inputs", "width"), [*PLAIN, *HASHED])
def test_signs_of_inputs_are_fair(n_inputs, width):
    """Under many keys; the first row is the sign of the input times a row of the transform."""
    first = np.array([Hadamard(fresh_key(), "rows", n_inputs, width).column(n_inputs - 1)[0] for _ in range(1500)])
    assert_plausible(count_p_value(np.count_nonzero(first > 0), len(first), 0.5))


def test_signs_of_different_inputs_are_independent():
    S = np.array([matrix(Hadamard(fresh_key(), "rows", 4, 1))[0] for _ in range(3000)])
    patterns = (2 ** np.arange(4)) @ (S.T > 0)
    assert_plausible(chi2_p_value(np.bincount(patterns, minlength=16), np.full(16, 1 / 16)))


def test_places_are_chosen_evenly_and_once():
    rng = np.random.default_rng()
    words = rng.integers(0, 2**64, (20_000, 3), np.uint64, endpoint=False)
    chosen = np.array([_choose(row, 5) for row in words]).astype(int)
    assert all(len(set(row)) == 3 for row in chosen.tolist())
    counts = np.bincount(chosen @ [25, 5, 1], minlength=125)
    assert_plausible(stats.chisquare(counts[counts > 0]).pvalue)
    assert np.count_nonzero(counts) == 60
    assert sorted(_choose(words[:, 0][:1000], 1000)) == list(range(1000))


def test_a_key_gives_the_recorded_operator():
    """Golden: shards and checkpoints of other machines and versions must mean the same operator."""
    plain, hashed = matrix(Hadamard(KEY, "rows", 8, 4)), matrix(Hadamard(KEY, "rows", 1000, 2))[:, -8:]
    assert [[int(row @ 2 ** np.arange(8)) for row in S] for S in (plain > 0, hashed > 0)] == [
        [181, 137, 239, 31],
        [63, 108],
    ]


def test_other_keys_and_labels_are_other_operators():
    first = matrix(Hadamard(KEY, "rows", 500, 4))
    assert np.array_equal(first, matrix(Hadamard(KEY, "rows", 500, 4)))
    for key, label in ((KEY, "columns"), (KEY, "core rows"), (bytes(32), "rows")):
        agree = (first * matrix(Hadamard(key, label, 500, 4))).sum(axis=1)
        assert np.all(np.abs(agree) < 200)  # of 500 signs; nine deviations


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_sum_that_wraps_around_is_noticed_and_goes_back(kind):
    operator, limits = Hadamard(KEY, "rows", 10, 5), np.iinfo(kind)
    for place, sign in enumerate(operator.column(7)):
        state = np.zeros((1, 5), kind)
        state[0, place] = limits.max if sign > 0 else limits.min
        before, update = state.copy(), (state, np.array([0]), np.array([7]))
        assert operator.add(*update, np.array([1]))
        operator.add(*update, np.array([-1]))
        assert np.array_equal(state, before)
        assert not operator.add(*update, np.array([-1]))
