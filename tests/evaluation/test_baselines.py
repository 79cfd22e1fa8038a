"""References without privacy: they find what was planted, do not overfit, and satisfy their own equations."""

from itertools import pairwise

import numpy as np
import pytest

from hushrank.data.ratings.reading import read_ratings
from hushrank.evaluation.baselines import RatingModel, fit_em, fit_item_means
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.synthetic import low_rank_matrix, synthetic_ratings
from hushrank.exceptions import InvalidParameter


def to_block(matrix, low, high):
    (block,) = read_ratings(matrix, owner="test", rating_range=(low, high)).blocks()
    return block


@pytest.fixture(scope="module")
def split():
    """Training ratings as a block, held-out ratings as users, items and values in [-1, 1]."""
    train, test = synthetic_ratings(1500, 120, seed=3, rank=2).split(0.1, seed=4)
    matrix = np.full((1500, 120), np.nan)
    matrix[train.users, train.items] = train.ratings
    return to_block(matrix, 1, 5), (test.users, test.items), (test.ratings - 3) / 2


def error_of(model, split):
    block, pairs, truth = split
    return root_mean_squared_error(model.predict(block, *pairs), truth)


def test_item_means():
    block = to_block([[1.0, 5.0, np.nan], [2.0, np.nan, np.nan]], 1, 5)
    model = fit_item_means(block, 3)
    # Ratings are -1, 1 and -0.5; an item without ratings has the mean of all.
    assert model.predict(block, np.array([0, 1, 0]), np.array([0, 1, 2])) == pytest.approx([-0.75, 1.0, -0.5 / 3])


def test_each_part_of_the_model_helps(split):
    errors = [
        root_mean_squared_error(np.full(len(split[2]), split[0].values.mean()), split[2]),
        error_of(fit_item_means(split[0], 120), split),
        error_of(fit_em(split[0], 120, rank=0), split),
        error_of(fit_em(split[0], 120, rank=2), split),
    ]
    assert all(later < 0.97 * earlier for earlier, later in pairwise(errors)), errors


def test_too_many_factors_and_iterations_do_little_harm(split):
    best = error_of(fit_em(split[0], 120, rank=2), split)
    assert error_of(fit_em(split[0], 120, rank=8, n_iterations=60), split) < 1.02 * best


@pytest.mark.parametrize("offset", [None, 0.3])
def test_users_know_how_uncertain_items_are(offset):
    """Second moments of the columns, and of columns and predictions, from draws of an item's mean and factors."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    means, factors = rng.standard_normal(1), rng.standard_normal((1, 2))
    columns = RatingModel(0.1, means, offset, factors, (root @ root.T)[None], 1.0).columns()
    # Six points around the mean with exactly these first and second moments.
    points = np.append(means, factors) + np.sqrt(3) * np.vstack([root.T, -root.T])
    W = points[:, 1:] if offset is None else np.column_stack([np.full(6, offset), points[:, 1:]])
    assert columns.products[0] == pytest.approx(W.T @ W / 6, abs=1e-12)
    assert columns.shift[0] == pytest.approx(W.T @ (0.1 + points[:, 0]) / 6, abs=1e-12)
    assert columns.W[0] == pytest.approx(W.mean(axis=0), abs=1e-12)


def test_variances_are_estimated(split):
    model = fit_em(split[0], 120, rank=2)
    # Ratings are rounded after noise of deviation 0.7: 0.49 + 1/12 in units where half the range is 2; clipping takes
    # some of it away.
    assert 0.10 < model.noise < (0.49 + 1 / 12) / 4
    assert 0.12 < model.offset < 0.24  # generosity has deviation 0.4


def test_a_matrix_without_noise_is_completed():
    data = low_rank_matrix(600, 40, 3, noise=0.0, seed=1)
    block = to_block(data.observed, -4, 4)
    model = fit_em(block, 40, rank=3, n_iterations=60, offsets=False)
    assert model.offset is None and model.center == 0.0 and not model.means.any()
    users, items = np.indices(data.truth.shape).reshape(2, -1)
    predicted = 4 * model.predict(block, users, items).reshape(data.truth.shape)
    assert data.error(predicted) < 1e-8 * data.truth.var()


def test_results_are_repeatable_and_users_without_ratings_get_item_means(split):
    block = split[0]
    first, second = fit_em(block, 120, 2, 3), fit_em(block, 120, 2, 3)
    assert np.array_equal(first.factors, second.factors)
    empty = to_block(np.full((1, 120), np.nan), 1, 5)
    items = np.arange(120)
    assert first.predict(empty, np.zeros(120, int), items) == pytest.approx(first.center + first.means, abs=1e-12)
    assert np.isfinite(fit_em(empty, 120, 2).factors).all()


def test_large_catalogues_take_the_other_way_to_eigenvectors():
    data = low_rank_matrix(800, 320, 2, noise=0.0, seed=2)
    block = to_block(data.observed, -4, 4)
    users, items = np.indices(data.truth.shape).reshape(2, -1)
    predicted = 4 * fit_em(block, 320, rank=2, offsets=False).predict(block, users, items).reshape(data.truth.shape)
    assert data.error(predicted) < 1e-4 * data.truth.var()


@pytest.mark.parametrize("wrong", [{"rank": -1}, {"rank": 121}, {"n_iterations": 0}])
def test_refusals(split, wrong):
    settings = {"rank": 2, "n_iterations": 1} | wrong
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        fit_em(split[0], 120, **settings)
