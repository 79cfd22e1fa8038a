"""Gaussian operators of integers: normal to within their rounding, at the stated gain from both sides."""

import math

import numpy as np
import pytest
from scipy import stats

from hushrank.estimators.turnstile import normal_columns
from hushrank.estimators.turnstile.normal_columns import NormalColumns
from hushrank.privacy.noise.sketch_draws import fresh_key, normal_matrix
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value

KEY = bytes(range(32))
SIZES = [(50, 8), (7, 30), (1, 1), (3, 5)]


def matrix(operator, kind=np.int64):
    """S, from one update for each input."""
    inputs = np.arange(operator.n_inputs)
    state = np.zeros((operator.n_inputs, operator.width), kind)
    assert not operator.add(state, inputs, inputs, np.ones(len(inputs), np.int64))
    return state.T.astype(np.int64)


@pytest.mark.parametrize(("n_inputs", "width"), SIZES)
def test_updates_columns_and_products_use_one_matrix(n_inputs, width):
    rng, operator = np.random.default_rng(5), NormalColumns(KEY, "rows", n_inputs, width, 2**14)
    S = matrix(operator)
    assert np.array_equal(S.T, normal_matrix(KEY, "rows", n_inputs, width, 2**14 / math.sqrt(width)))
    assert all(np.array_equal(operator.column(j), S[:, j]) for j in range(n_inputs))
    where, which = rng.integers(0, 6, 300), rng.integers(0, n_inputs, 300)
    deltas, state, A = rng.integers(-1000, 1000, 300), np.zeros((6, width), np.int64), np.zeros((6, n_inputs), np.int64)
    np.add.at(A, (where, which), deltas)
    assert not operator.add(state, where, which, deltas)
    assert np.array_equal(state, A @ S.T)
    M = rng.standard_normal((n_inputs, 3))
    for layout in (M, np.asfortranarray(M)):
        np.testing.assert_allclose(operator.apply(layout), S @ M / 2**14, atol=1e-12)


def test_long_products_are_made_in_parts(monkeypatch):
    operator = NormalColumns(KEY, "rows", 50, 4, 2**12)
    M = np.random.default_rng(6).standard_normal((50, 3))
    whole = operator.apply(M)
    monkeypatch.setattr(normal_columns, "_APPLIED_AT_ONCE", 7)
    np.testing.assert_allclose(operator.apply(M), whole, atol=1e-12)


@pytest.mark.parametrize("gain", [2**12, 2**20])
def test_columns_have_the_norm_of_the_gain_from_both_sides(gain):
    width = 10
    S = matrix(NormalColumns(fresh_key(), "rows", 20_000, width, gain))
    entries = S.ravel() / (gain / math.sqrt(width))  # standard normals; rounding adds less than 1e-6 to their variance
    assert_plausible(normal_scale_p_value(entries, 1.0))
    for wrong in (0.7, 1.3):
        assert normal_scale_p_value(entries, wrong) < FALSE_ALARM
    assert_plausible(2 * stats.norm.sf(abs(entries.sum()) / math.sqrt(entries.size)))
    squares = (S**2.0).sum(axis=0) / gain**2 * width
    assert_plausible(stats.kstest(squares, stats.chi2(width).cdf).pvalue)


def test_columns_are_independent():
    S = matrix(NormalColumns(fresh_key(), "rows", 20_000, 4, 2**14)) / 2**13
    for first, second in ((S[0], S[1]), (S[0], S[3]), (S[2, 1:], S[2, :-1])):
        # A sum of products of independent normals; its variance is the number of them.
        assert_plausible(2 * stats.norm.sf(abs(first @ second) / math.sqrt(len(first))))


def test_other_keys_and_labels_are_other_operators():
    first = matrix(NormalColumns(KEY, "rows", 500, 4, 2**14))
    assert np.array_equal(first, matrix(NormalColumns(KEY, "rows", 500, 4, 2**14)))
    for key, label in ((KEY, "columns"), (KEY, "core rows"), (bytes(32), "rows")):
        other = matrix(NormalColumns(key, label, 500, 4, 2**14))
        assert np.abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.2  # nine deviations; keys are fixed


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_sum_that_wraps_around_is_noticed_and_goes_back(kind):
    operator, limits = NormalColumns(KEY, "rows", 10, 5, 2**12), np.iinfo(kind)
    for place, entry in enumerate(operator.column(7)):
        state = np.zeros((1, 5), kind)
        state[0, place] = limits.max if entry > 0 else limits.min
        before, update = state.copy(), (state, np.array([0]), np.array([7]))
        assert operator.add(*update, np.array([1]))
        operator.add(*update, np.array([-1]))
        assert np.array_equal(state, before)
        assert not operator.add(*update, np.array([-1]))
