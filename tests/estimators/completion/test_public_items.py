"""Scales of public features: one for columns of two values, the same variance for others, few directions for slopes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.public_items import PublicItems, root_mean_norm

MOST = FEATURES.most_slopes
N_ITEMS = 60


def binary(shares, seed=0, n_items=N_ITEMS):
    """Columns of zeros and ones with these shares of ones, in random places."""
    rng = np.random.default_rng(seed)
    columns = [rng.permutation(np.arange(n_items) < max(share * n_items, 1)) for share in shares]
    return np.column_stack([np.empty((n_items, 0)), *columns])


def numbers(p, seed=1, n_items=N_ITEMS):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_items, p)) * 10.0 ** rng.uniform(-3, 3, p) + rng.uniform(-100, 100, p)


# Scales.


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_columns_are_centered_and_rows_have_mean_squared_norm_one(n_binary, n_others, seed):
    shares = np.random.default_rng(seed).uniform(0.02, 0.9, n_binary)
    X = np.hstack([binary(shares, seed), numbers(n_others, seed)])
    items = PublicItems.of(X, N_ITEMS)
    assert items.G == pytest.approx(items.scales * (X - X.mean(axis=0)), abs=1e-9)
    assert items.G.mean(axis=0) == pytest.approx(np.zeros(X.shape[1]), abs=1e-9)
    for columns in (items.G, items.slopes):
        assert (columns**2).sum(axis=1).mean() == pytest.approx(float(X.shape[1] > 0))
    assert items.n_slopes == items.slopes.shape[1] == min(X.shape[1], MOST)


def test_columns_of_two_values_have_one_scale_so_that_rare_ones_stay_small():
    items = PublicItems.of(binary([0.5, 0.2, 0.02]), N_ITEMS)
    assert items.scales == pytest.approx(np.full(3, items.scales[0]))
    spreads = items.G.std(axis=0)
    assert spreads[2] < 0.5 * spreads[0] and spreads**2 @ np.ones(3) == pytest.approx(1.0)


def test_other_columns_have_the_mean_variance_of_those():
    items = PublicItems.of(np.hstack([binary([0.5, 0.2, 0.02]), numbers(2)]), N_ITEMS)
    variances = items.G.var(axis=0)
    assert variances[3:] == pytest.approx(np.full(2, variances[:3].mean()))
    assert items.scales[:3] == pytest.approx(np.full(3, items.scales[0])) and items.scales[3] != items.scales[4]


def test_without_columns_of_two_values_all_have_one_variance():
    variances = PublicItems.of(numbers(5), N_ITEMS).G.var(axis=0)
    assert variances == pytest.approx(np.full(5, 0.2))


def test_units_of_numbers_do_not_matter():
    X = np.hstack([binary([0.4, 0.1]), numbers(3)])
    changed = X * [1.0, 1.0, 1e-6, 1e6, -1.0] + [5.0, -1.0, 1.0, 2.0, 3.0]
    items, other = PublicItems.of(X, N_ITEMS), PublicItems.of(changed, N_ITEMS)
    assert other.G * [1, 1, 1, 1, -1] == pytest.approx(items.G, abs=1e-9)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1e9, 1e300])
def test_constant_columns_are_zero_and_have_no_slopes(value):
    X = np.column_stack([np.full(N_ITEMS, value), numbers(2)])
    items, without = PublicItems.of(X, N_ITEMS), PublicItems.of(X[:, 1:], N_ITEMS)
    assert items.scales[0] == 0.0 and not items.G[:, 0].any()
    assert items.n_slopes == 2 and items.slopes == pytest.approx(without.slopes)
    alone = PublicItems.of(X[:, :1], N_ITEMS)
    assert alone.n_slopes == 0 and not alone.G.any() and alone.G.shape == (N_ITEMS, 1)


@pytest.mark.parametrize("values", [None, np.zeros((N_ITEMS, 0))])
def test_nothing_is_known_without_columns(values):
    items = PublicItems.of(values, N_ITEMS)
    assert items.G.shape == (N_ITEMS, 0) and items.scales.shape == (0,)
    assert items.n_slopes == 0 and items.slopes.shape == (N_ITEMS, 0)
    assert not items.is_new.any() and items.is_new.shape == (N_ITEMS,)


def test_new_items_are_marked_and_scaled_like_the_others():
    X, is_new = numbers(2), np.arange(N_ITEMS) < 3
    items = PublicItems.of(X, N_ITEMS, is_new)
    assert items.is_new is is_new and np.array_equal(items.G, PublicItems.of(X, N_ITEMS).G)


def test_one_item_alone_has_nothing_that_varies():
    items = PublicItems.of(np.ones((1, 3)), 1)
    assert items.n_slopes == 0 and not items.G.any()


def test_what_was_given_is_left_as_it_was():
    X = numbers(3)
    kept = X.copy()
    PublicItems.of(X, N_ITEMS).weighted(np.ones(3))
    assert np.array_equal(X, kept)


# Slopes.


def test_few_columns_are_their_own_slopes():
    items = PublicItems.of(numbers(MOST), N_ITEMS)
    assert items.slopes == pytest.approx(items.G) and items.projection == pytest.approx(np.eye(MOST))


def test_many_columns_are_compressed_to_their_leading_directions():
    rng = np.random.default_rng(4)
    hidden = rng.standard_normal((N_ITEMS, 5))
    X = hidden @ rng.standard_normal((5, 50)) + 0.01 * rng.standard_normal((N_ITEMS, 50))
    items = PublicItems.of(X, N_ITEMS)
    assert items.projection.shape == (50, MOST) and items.n_slopes == MOST
    _, singular, Vt = np.linalg.svd(items.G, full_matrices=False)
    leading = items.G @ Vt[:MOST].T
    expected = leading / root_mean_norm(leading)
    assert np.abs(items.slopes) == pytest.approx(np.abs(expected), abs=1e-9)  # not whitened: small ones stay small
    lengths = np.linalg.norm(items.slopes, axis=0)
    assert lengths == pytest.approx(singular[:MOST] / root_mean_norm(leading), rel=1e-9)
    assert lengths[5] < 0.1 * lengths[4]


def test_weights_choose_and_stretch_columns():
    items, weights = PublicItems.of(numbers(6), N_ITEMS), np.array([0.0, 1.0, 0.5, 0.0, 0.25, 0.0])
    chosen = items.weighted(weights)
    expected = (items.G * weights)[:, weights > 0]
    assert chosen.slopes == pytest.approx(expected / root_mean_norm(expected))
    assert chosen.n_slopes == 3 and chosen.G is items.G and chosen.is_new is items.is_new
    assert (chosen.projection[weights == 0] == 0.0).all()


def test_weights_of_many_columns_turn_the_leading_directions():
    items = PublicItems.of(numbers(80), N_ITEMS)
    weights = np.where(np.arange(80) < 45, 1.0, 1e-6)
    chosen = items.weighted(weights)
    assert chosen.n_slopes == MOST and (chosen.slopes**2).sum(axis=1).mean() == pytest.approx(1.0)
    alone = PublicItems.of(items.G[:, :45], N_ITEMS)
    cosines = np.linalg.svd(np.linalg.qr(chosen.slopes)[0].T @ np.linalg.qr(alone.slopes)[0])[1]
    assert cosines == pytest.approx(np.ones(MOST), abs=1e-6)
    few = items.weighted(np.where(np.arange(80) < 3, 1.0, 0.0))
    assert few.n_slopes == 3 and few.slopes == pytest.approx(items.G[:, :3] / root_mean_norm(items.G[:, :3]))


def test_without_weights_there_are_no_slopes():
    items = PublicItems.of(numbers(4), N_ITEMS)
    for other in (items.weighted(np.zeros(4)), items.without_slopes()):
        assert other.n_slopes == 0 and other.slopes.shape == (N_ITEMS, 0) and other.G is items.G
    assert other.without_slopes().n_slopes == 0


def test_a_weight_on_a_constant_column_has_no_slope():
    items = PublicItems.of(np.column_stack([np.ones(N_ITEMS), numbers(2)]), N_ITEMS)
    assert items.weighted(np.ones(3)).n_slopes == 2 and items.weighted(np.array([1.0, 0.0, 0.0])).n_slopes == 0


def test_the_root_mean_norm_of_nothing_is_one():
    assert root_mean_norm(np.zeros((5, 2))) == root_mean_norm(np.zeros((0, 2))) == root_mean_norm(np.zeros((5, 0))) == 1
    assert root_mean_norm(np.array([[3.0, 4.0], [0.0, 0.0]])) == pytest.approx(np.sqrt(12.5))
