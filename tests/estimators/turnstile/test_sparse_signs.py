"""Sparse signs: one entry +-1 in each block of a column, fair, the same for every use and on every machine."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushrank.estimators.turnstile.siphash import siphash
from hushrank.estimators.turnstile.sparse_signs import SparseSigns, add_integer
from hushrank.privacy.noise.sketch_draws import fresh_key, key_words
from support import assert_plausible, chi2_p_value, count_p_value

# (width, entries of a column): even and uneven blocks, several words, one block, blocks of one place
SIZES = [(12, 4), (7, 3), (13, 6), (9, 9), (5, 1), (1, 1), (70, 64), (66, 5)]
KEY = bytes(range(32))


def matrix(operator, kind=np.int64):
    """S, from one update for each input."""
    inputs = np.arange(operator.n_inputs)
    state = np.zeros((operator.n_inputs, operator.width), kind)
    assert not operator.add(state, inputs, inputs, np.ones(len(inputs), np.int64))
    return state.T.astype(np.int64)


@pytest.mark.parametrize(("width", "per_column"), SIZES)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_column_has_one_sign_in_every_block(width, per_column, kind):
    S = matrix(SparseSigns(fresh_key(), "rows", 50, width, per_column), kind)
    assert S.shape == (width, 50) and set(np.unique(S)) <= {-1, 0, 1}
    starts = [block * width // per_column for block in range(per_column + 1)]
    for start, stop in itertools.pairwise(starts):
        assert stop > start and np.all(np.abs(S[start:stop]).sum(axis=0) == 1)
    assert np.all((S**2).sum(axis=0) == per_column)


@pytest.mark.parametrize(("width", "per_column"), SIZES)
def test_updates_products_and_cores_use_one_matrix(width, per_column):
    rng, key = np.random.default_rng(3), fresh_key()
    left, right = (SparseSigns(key, label, 30, width, per_column) for label in ("left", "right"))
    S, T = matrix(left), matrix(right)
    rows, columns = rng.integers(0, 30, (2, 400))
    deltas = rng.integers(-1000, 1000, 400)
    A = np.zeros((30, 30), np.int64)
    np.add.at(A, (rows, columns), deltas)
    state, core = np.zeros((30, width), np.int64), np.zeros((width, width), np.int64)
    assert not right.add(state, rows, columns, deltas)
    assert np.array_equal(state, A @ T.T)
    assert not left.add_core(core, right, rows, columns, deltas)
    assert np.array_equal(core, S @ A @ T.T)
    M = rng.standard_normal((30, 4))
    for layout in (M, np.asfortranarray(M)):
        np.testing.assert_allclose(left.apply(layout), S @ M / np.sqrt(per_column), atol=1e-12)


def test_sides_of_a_core_may_have_other_widths():
    left, right = SparseSigns(KEY, "left", 5, 8, 3), SparseSigns(KEY, "right", 6, 11, 5)
    core = np.zeros((8, 11), np.int64)
    left.add_core(core, right, np.array([4]), np.array([2]), np.array([7]))
    assert np.array_equal(core, 7 * np.outer(matrix(left)[:, 4], matrix(right)[:, 2]))


def test_a_key_gives_the_recorded_signs():
    """Golden: shards and checkpoints of other machines and versions must mean the same operator."""
    S = matrix(SparseSigns(KEY, "columns", 4, 23, 6))
    places = np.arange(1, 24)
    assert [(places * column)[column != 0].tolist() for column in S.T] == [
        [-2, -4, 8, -15, -18, 22], [-3, -7, -10, 15, -16, -20], [3, -5, 9, 12, 17, 21], [-1, 6, 10, 13, -19, 21],
    ]  # fmt: skip


def test_entries_are_digits_of_the_hash():
    """Sixteen bits for an entry, four entries of a word; the number of the first block stands above the input."""
    k0, k1 = key_words(KEY, "columns", 2)
    S, j = matrix(SparseSigns(KEY, "columns", 300, 23, 6)), 299
    for block in range(6):
        word = int(siphash(k0, k1, np.uint64(j + (block // 4 * 4 << 56)))) >> 16 * (block % 4)
        start, stop = block * 23 // 6, (block + 1) * 23 // 6
        place = start + ((word % 2**15) * (stop - start) >> 15)
        assert S[place, j] == (-1 if word >> 15 & 1 else 1)


@pytest.mark.parametrize("per_column", [3, 4, 6])
def test_other_keys_and_labels_are_other_operators(per_column):
    def made(key, label):
        return matrix(SparseSigns(key, label, 200, 20, per_column))

    first = made(KEY, "rows")
    assert np.array_equal(first, made(KEY, "rows"))
    for other in (made(KEY, "columns"), made(KEY, "core rows"), made(bytes(32), "rows")):
        # Equal at a place of a block of some w with probability 1/(2 w): about a tenth, of 600 and more.
        assert np.count_nonzero(first * other == 1) < 0.3 * 200 * per_column


def drawn(n_inputs, width, per_column):
    """Places in their blocks and signs, each of shape (per_column, n_inputs)."""
    S = matrix(SparseSigns(fresh_key(), "rows", n_inputs, width, per_column))
    blocks = S.reshape(per_column, width // per_column, n_inputs)
    return np.abs(blocks).argmax(axis=1), blocks.sum(axis=1)


def test_signs_are_fair_and_independent_of_places_and_each_other():
    n, s = 100_000, 6
    places, signs = drawn(n, 8 * s, s)
    patterns = (2 ** np.arange(s)) @ (signs > 0)
    assert_plausible(chi2_p_value(np.bincount(patterns, minlength=2**s), np.full(2**s, 2.0**-s)))
    for block in range(s):
        cells = np.bincount(2 * places[block] + (signs[block] > 0), minlength=16)
        assert_plausible(chi2_p_value(cells, np.full(16, 1 / 16)))
        joint = np.bincount(8 * places[block] + places[(block + 1) % s], minlength=64)
        assert_plausible(chi2_p_value(joint, np.full(64, 1 / 64)))
    for lag in (1, 2, 4096):  # inputs that differ in few bits
        agree = np.count_nonzero(signs[:, lag:] == signs[:, :-lag], axis=1)
        for count in agree:
            assert_plausible(count_p_value(count, n - lag, 0.5))
        together = np.count_nonzero(places[:, lag:] == places[:, :-lag])
        assert_plausible(count_p_value(together, s * (n - lag), 1 / 8))


def test_keys_are_independent():
    """Signs of one input under many keys: what a guarantee is a mean over."""
    signs = np.array([matrix(SparseSigns(fresh_key(), "rows", 2, 3, 3)).T.ravel() for _ in range(3000)])
    patterns = (2 ** np.arange(6)) @ (signs.T > 0)
    assert_plausible(chi2_p_value(np.bincount(patterns, minlength=64), np.full(64, 1 / 64)))


def test_places_are_even_in_blocks_of_any_width():
    places, _ = drawn(60_000, 11, 1)
    assert_plausible(stats.chisquare(np.bincount(places[0], minlength=11)).pvalue)


# Sums that do not fit


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_sum_that_wraps_around_is_noticed_and_goes_back(kind):
    operator, limits = SparseSigns(KEY, "rows", 3, 8, 2), np.iinfo(kind)
    column = matrix(operator)[:, 1]
    for place in np.flatnonzero(column):
        state = np.zeros((1, 8), kind)
        state[0, place] = limits.max if column[place] > 0 else limits.min
        before, update = state.copy(), (state, np.array([0]), np.array([1]))
        assert operator.add(*update, np.array([1]))
        operator.add(*update, np.array([-1]))
        assert np.array_equal(state, before)
        assert not operator.add(*update, np.array([-1]))


@given(st.sampled_from([np.int32, np.int64]), st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
@settings(deadline=None)  # the first call compiles
def test_adding_one_integer_says_whether_it_wrapped(kind, old, delta):
    limits = np.iinfo(kind)
    old = min(max(old, int(limits.min)), int(limits.max))
    state = np.array([[old]], kind)
    wrapped = add_integer(state, 0, 0, np.int64(delta))
    assert bool(wrapped) == (not limits.min <= old + delta <= limits.max)
    assert (int(state[0, 0]) - old - delta) % 2**limits.bits == 0


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_core_says_whether_it_wrapped(kind):
    left, right = SparseSigns(KEY, "left", 3, 6, 3), SparseSigns(KEY, "right", 3, 6, 3)
    signs = np.outer(matrix(left)[:, 1], matrix(right)[:, 2])
    for place in np.argwhere(signs):
        core, limits = np.zeros((6, 6), kind), np.iinfo(kind)
        core[tuple(place)] = limits.max if signs[tuple(place)] > 0 else limits.min
        update = (core, right, np.array([1]), np.array([2]))
        assert left.add_core(*update, np.array([1]))
        left.add_core(*update, np.array([-1]))
        assert not left.add_core(*update, np.array([-1]))
