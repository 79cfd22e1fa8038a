"""Built-in data have the shape and the bounds that the docs state."""

import math

import numpy as np
import pytest
from scipy import stats

from hushrank.evaluation.synthetic import (
    LowRankMatrix,
    load_digits,
    low_rank_matrix,
    power_law_rows,
    shared_representation,
    synthetic_ratings,
)
from support import FALSE_ALARM, assert_plausible, count_p_value, normal_scale_p_value


def test_digits():
    X = load_digits()
    assert X.shape == (1797, 64) and X.dtype == np.float64
    assert X.min() == 0 and X.max() == 16


def test_power_law_rows_have_the_stated_spectrum_and_unit_bound():
    X = power_law_rows(20_000, 50, seed=1)
    assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
    spectrum = np.sort(np.linalg.eigvalsh(X.T @ X))[::-1]
    # Shortening long rows flattens the top, but the tail keeps the law 1/i: a slope of -1 on logarithmic axes.
    slope = np.polyfit(np.log(np.arange(5, 51)), np.log(spectrum[4:]), 1)[0]
    assert -1.1 < slope < -0.9
    assert np.array_equal(X, power_law_rows(20_000, 50, seed=1))
    assert not np.array_equal(X, power_law_rows(20_000, 50, seed=2))


# Ratings


RATINGS = synthetic_ratings(1500, 400, seed=1, ratings_per_user=20.0)


def pairs_of(ratings):
    return set(zip(ratings.users.tolist(), ratings.items.tolist(), strict=True))


def test_every_user_rates_different_items_in_whole_numbers():
    assert RATINGS.users.shape == RATINGS.items.shape == RATINGS.ratings.shape
    assert len(pairs_of(RATINGS)) == len(RATINGS.users)
    assert set(RATINGS.ratings.tolist()) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert RATINGS.items.min() >= 0 and RATINGS.items.max() < 400
    counts = np.bincount(RATINGS.users, minlength=1500)
    assert len(counts) == 1500 and counts.min() >= 2
    # The activity is log-normal with mean 1.005 and standard deviation 1.13; its fraction of a rating is cut off.
    assert counts.mean() == pytest.approx(20.1 - 0.5, abs=6 * 20 * 1.13 / math.sqrt(1500))
    assert not np.array_equal(RATINGS.users, np.sort(RATINGS.users))


def test_items_are_popular_or_rare_and_good_or_bad():
    counts = np.sort(np.bincount(RATINGS.items, minlength=400))[::-1]
    assert counts[:40].sum() > 4 * counts[200:240].sum() > 0
    means = [RATINGS.ratings[RATINGS.items == j].mean() for j in np.argsort(-np.bincount(RATINGS.items))[:40]]
    assert 0.2 < np.std(means) < 1.0


def test_tastes_decide_ratings():
    """What users share beside their generosity gives one direction of the items more variance than the others."""
    tasteful, tasteless = (synthetic_ratings(3000, 12, seed=2, ratings_per_user=1e3, rank=rank) for rank in (2, 0))
    strengths = []
    for ratings in (tasteful, tasteless):
        dense = np.zeros((3000, 12))
        dense[ratings.users, ratings.items] = ratings.ratings
        dense -= dense.mean(axis=1, keepdims=True)
        spectrum = np.linalg.eigvalsh(np.cov(dense.T))
        strengths.append(spectrum[-1] / np.median(spectrum))
    assert strengths[0] > 3 > 2 > strengths[1]


def test_ratings_follow_their_seed():
    again, other = (synthetic_ratings(1500, 400, seed=seed, ratings_per_user=20.0) for seed in (1, 2))
    for name in ("users", "items", "ratings"):
        assert np.array_equal(getattr(again, name), getattr(RATINGS, name))
    assert pairs_of(other) != pairs_of(RATINGS)


def test_busy_users_rate_the_whole_catalogue_at_most():
    ratings = synthetic_ratings(50, 10, seed=3, ratings_per_user=1e6)
    assert np.array_equal(np.bincount(ratings.users), np.full(50, 10))


def test_a_split_parts_the_ratings():
    kept, held_out = RATINGS.split(0.2, seed=4)
    assert pairs_of(kept) | pairs_of(held_out) == pairs_of(RATINGS) and not pairs_of(kept) & pairs_of(held_out)
    assert_plausible(count_p_value(len(held_out.users), len(RATINGS.users), 0.2))
    assert count_p_value(len(held_out.users), len(RATINGS.users), 0.22) < FALSE_ALARM
    joined = {(u, i): r for u, i, r in zip(RATINGS.users, RATINGS.items, RATINGS.ratings, strict=True)}
    assert all(joined[u, i] == r for u, i, r in zip(kept.users, kept.items, kept.ratings, strict=True))
    assert pairs_of(RATINGS.split(0.2, seed=4)[1]) == pairs_of(held_out) != pairs_of(RATINGS.split(0.2, seed=5)[1])


def test_ratings_as_a_table():
    table = RATINGS.table()
    assert table.column_names == ["user", "item", "rating"] and table.num_rows == len(RATINGS.users)
    for column, values in zip(table.columns, (RATINGS.users, RATINGS.items, RATINGS.ratings), strict=True):
        assert np.array_equal(column.to_numpy(), values)


# Matrices of low rank


def test_low_rank_matrices():
    matrix = low_rank_matrix(600, 80, 3, noise=0.25, seed=5)
    assert matrix.truth.shape == matrix.observed.shape == (600, 80)
    assert np.linalg.matrix_rank(matrix.truth) == 3 and np.abs(matrix.truth).max() <= 4.0
    seen = ~np.isnan(matrix.observed)
    assert np.count_nonzero(seen) == int(3 * 600 * math.log(600))
    noise = (matrix.observed - matrix.truth)[seen]
    assert_plausible(normal_scale_p_value(noise, 0.5))
    for wrong in (0.7, 1.3):
        assert normal_scale_p_value(noise, wrong * 0.5) < FALSE_ALARM
    again = low_rank_matrix(600, 80, 3, noise=0.25, seed=5)
    assert np.array_equal(again.truth, matrix.truth)


def test_rows_of_the_factors_have_norm_two_at_most():
    """With rank 1 the entries are products of these norms."""
    largest = np.abs(low_rank_matrix(300, 200, 1, noise=0.0, seed=6).truth).max(axis=1)
    assert largest.max() == pytest.approx(4.0, rel=1e-12)
    assert np.mean(largest > 4.0 - 1e-9) == pytest.approx(1 / 300)  # only one row is the longest: none was shortened


def test_a_matrix_that_is_small_is_observed_everywhere():
    assert not np.isnan(low_rank_matrix(50, 4, 2, noise=0.0, seed=7).observed).any()


def test_errors_are_taken_where_nothing_is_observed():
    matrix = LowRankMatrix(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.5, np.nan], [np.nan, 4.0]]))
    assert matrix.error(np.array([[100.0, 3.0], [0.0, 100.0]])) == pytest.approx((1.0 + 9.0) / 2)
    assert matrix.error(matrix.truth) == 0.0


# Users who share a representation


SHARED = shared_representation(4000, 10, 3, n_records=6, noise=0.4, seed=8, n_fresh=4, head_norm=2.0)


def test_answers_follow_the_shared_representation():
    assert SHARED.X.shape == (24_000, 10) and SHARED.fresh_X.shape == (16_000, 10) and SHARED.X.dtype == np.float64
    assert np.array_equal(SHARED.users, np.repeat(np.arange(4000), 6))
    assert np.array_equal(SHARED.fresh_users, np.repeat(np.arange(4000), 4))
    assert SHARED.embedding.T @ SHARED.embedding == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.norm(SHARED.heads, axis=1) == pytest.approx(np.full(4000, 2.0))
    assert np.array_equal(SHARED.covariance, np.eye(10))
    for X, y, users in ((SHARED.X, SHARED.y, SHARED.users), (SHARED.fresh_X, SHARED.fresh_y, SHARED.fresh_users)):
        assert_plausible(normal_scale_p_value(X, 1.0))
        noise = y - (X * SHARED.coef[users]).sum(axis=1)
        assert_plausible(normal_scale_p_value(noise, 0.4))
        assert normal_scale_p_value(noise, 0.7 * 0.4) < FALSE_ALARM > normal_scale_p_value(noise, 1.3 * 0.4)


def test_the_population_error_is_exact():
    coef = SHARED.coef + 0.1
    assert SHARED.population_error(SHARED.coef) == pytest.approx(0.16)
    assert SHARED.population_error(coef) == pytest.approx(0.16 + 10 * 0.01)
    assert SHARED.population_error(np.zeros(10)) == pytest.approx(0.16 + 4.0)
    stretched = shared_representation(4000, 10, 3, n_records=6, noise=0.4, seed=9, condition=20.0)
    coef = np.random.default_rng(0).standard_normal(10)
    squares = ((stretched.X * (coef - stretched.coef[stretched.users])).sum(axis=1)) ** 2
    error = 3 * squares.std() * math.sqrt(6) / math.sqrt(4000)
    assert stretched.population_error(coef) == pytest.approx(squares.mean() + 0.16, abs=2 * error)


@pytest.mark.parametrize("distribution", ["gaussian", "t5"])
def test_features_are_stretched_along_random_axes(distribution):
    terms = {"n_records": 40, "noise": 0.1, "seed": 10, "condition": 10.0, "distribution": distribution}
    data = shared_representation(2000, 6, 2, **terms)
    variances = np.linalg.eigvalsh(data.covariance)
    assert variances[-1] / variances[0] == pytest.approx(10.0) and variances[-1] == pytest.approx(1.0)
    assert np.abs(data.covariance - np.diag(np.diag(data.covariance))).max() > 0.02
    assert data.X.T @ data.X / len(data.X) == pytest.approx(data.covariance, abs=0.03)


def test_heavy_tails():
    light, heavy = (shared_representation(2000, 5, 1, n_records=10, noise=0.1, seed=11, distribution=name).X
                    for name in ("gaussian", "t5"))  # fmt: skip
    assert np.mean(light**4) == pytest.approx(3.0, abs=0.2) and np.mean(heavy**4) > 4.5
    assert np.mean(heavy**2) == pytest.approx(1.0, abs=0.05)


def test_numbers_of_records_may_vary():
    data = shared_representation(5000, 4, 2, n_records=5, noise=0.1, seed=12, unequal=True)
    counts = np.bincount(data.users, minlength=5000)
    assert len(counts) == 5000 and counts.min() == 1 and counts.max() > 50
    assert_plausible(count_p_value(np.count_nonzero(counts <= 5), 5000, stats.norm.cdf(math.log(5.5 / 5))))
    assert np.array_equal(np.bincount(data.fresh_users), np.full(5000, 5))


def test_labels_follow_their_probabilities():
    data = shared_representation(3000, 5, 2, n_records=20, noise=0.0, seed=13, head_norm=3.0, labels=True)
    assert set(np.unique(data.y)) == {0.0, 1.0}
    score = (data.X * data.coef[data.users]).sum(axis=1)
    chance = 1 / (1 + np.exp(-score))
    z = (data.y - chance).sum() / math.sqrt((chance * (1 - chance)).sum())
    assert_plausible(2 * stats.norm.sf(abs(z)))
    z = ((data.y - chance) * score).sum() / math.sqrt((chance * (1 - chance) * score**2).sum())
    assert_plausible(2 * stats.norm.sf(abs(z)))


def test_risks_of_labels_by_quadrature():
    """With the truth, or any multiple of it, all depends on one Gaussian score of deviation 3."""
    data = shared_representation(5000, 5, 2, n_records=1, noise=0.0, seed=14, head_norm=3.0, labels=True)
    score = 3 * np.linspace(-9, 9, 20_001)
    weights = stats.norm.pdf(score / 3)
    weights /= weights.sum()
    chance = 1 / (1 + np.exp(-score))
    for factor in (1.0, 0.5):
        loss, wrong = data.population_risks(factor * data.coef)
        expected = weights @ (np.logaddexp(0, factor * score) - chance * factor * score)
        assert loss == pytest.approx(expected, abs=0.006)
        assert wrong == pytest.approx(weights @ np.minimum(chance, 1 - chance), abs=0.003)
    assert data.population_risks(np.zeros(5))[0] == pytest.approx(math.log(2))
    assert (
        data.population_risks(data.coef) == data.population_risks(data.coef) != data.population_risks(data.coef, seed=1)
    )


def test_single_precision_and_seeds():
    terms = {"n_records": 3, "noise": 0.1}
    single = shared_representation(50, 4, 2, seed=15, dtype=np.float32, **terms)
    assert single.X.dtype == single.y.dtype == single.fresh_X.dtype == np.float32
    first, again, other = (shared_representation(50, 4, 2, seed=seed, **terms) for seed in (1, 1, 2))
    assert np.array_equal(first.y, again.y) and not np.array_equal(first.y, other.y)


def test_misused_representations():
    terms = {"n_records": 3, "noise": 0.1, "seed": 1}
    with pytest.raises(ValueError, match="'gaussian' or 't5'"):
        shared_representation(5, 4, 2, distribution="cauchy", **terms)
    with pytest.raises(ValueError, match="population_risks is for labels"):
        shared_representation(5, 4, 2, **terms).population_risks(np.zeros(4))
    with pytest.raises(ValueError, match="population_error is for numbers"):
        shared_representation(5, 4, 2, labels=True, **terms).population_error(np.zeros(4))
