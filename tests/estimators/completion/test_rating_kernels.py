"""Sums over users: each one's share obeys its bound whatever it is, and is what plain NumPy makes of the formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import user_support as plain
from hushrank.estimators.completion import rating_kernels as kernels
from hushrank.estimators.completion.rating_kernels import RatingArrays, Regression, RowsOfItems, Shortening, Weights
from hushrank.estimators.completion.variance_kernels import add_moments, add_noise_levels
from hushrank.linalg.ridge import LANES
from hushrank.linalg.scatter import Bound
from support import four_squares
from user_support import N_ITEMS, Model, any_model, any_user, assert_rounded, exact_squares, ratings_of, shorten

LIMIT = 2**40
CLIP_LIMIT, CLIP_CENTER = 2**30, 0.25
LARGEST = float(np.finfo(np.float32).max)


def shortening(lowest):
    return Shortening(Bound(1.0, float(CLIP_LIMIT), lowest), CLIP_CENTER)


def regression(model):
    return Regression(model.base, model.W, model.ridge)


def weights(model):
    return Weights(model.shape, model.count_norm)


def make_model(seed, n_items=N_ITEMS, k=3, ridge=0.2, **options):
    rng = np.random.default_rng(seed)
    W = np.ascontiguousarray(rng.standard_normal((n_items, k)))
    return Model(0.3 * rng.standard_normal(n_items), W, ridge, rng.uniform(0.5, 2.0, n_items), **options)


def make_ratings(seed, **options):
    return plain.random_users(np.random.default_rng(seed), 12, N_ITEMS, **options)


# Each sum as a function of a block: the integers, and those of the factors that shortened the contributions.


def sum_counts(users, model, norm_bound, limit, lowest=-math.inf):
    total = np.zeros((len(model.base), 1), np.int64)
    kernels.add_counts(ratings_of(users), Bound(norm_bound, float(limit), lowest), total)
    return total, np.zeros(1, np.int64)


def sum_user_means(users, model, norm_bound, limit, lowest=-math.inf):
    total = np.zeros(1, np.int64)
    kernels.add_user_means(ratings_of(users), Bound(1.0, float(limit), lowest), total)
    return total, np.zeros(1, np.int64)


def sum_squared_norms(users, model, norm_bound, limit, lowest=-math.inf):
    total = np.zeros(1, np.int64)
    numbers = kernels.squared_norms(ratings_of(users))
    kernels.add_numbers(numbers, model.shift, Bound(norm_bound, float(limit), lowest), total)
    return total, np.zeros(1, np.int64)


def sum_residuals(users, model, norm_bound, limit, lowest=-math.inf):
    total, clipped = np.zeros((len(model.base), 1), np.int64), np.zeros(1, np.int64)
    public = (regression(model), weights(model), Bound(norm_bound, float(limit), lowest), shortening(lowest))
    kernels.add_residuals(ratings_of(users), *public, total, clipped)
    return total, clipped


def sum_moments(users, model, norm_bound, limit, lowest=-math.inf):
    total = np.zeros((1, 2 * model.W.shape[1] + 2), np.int64)
    add_moments(ratings_of(users), regression(model), Bound(norm_bound, float(limit), lowest), total)
    return total, np.zeros(1, np.int64)


def sum_noise_levels(users, model, norm_bound, limit, lowest=-math.inf):
    total = np.zeros((1, 2), np.int64)
    bound = Bound(norm_bound, float(limit), lowest)
    add_noise_levels(ratings_of(users), regression(model), model.n_expected, bound, total)
    return total, np.zeros(1, np.int64)


def sum_gradients(users, model, norm_bound, limit, lowest=-math.inf):
    width = model.has_base + model.W.shape[1] - model.n_fixed
    total, clipped = np.zeros((len(model.base), width), np.int64), np.zeros(1, np.int64)
    bound = Bound(norm_bound, float(limit), lowest)
    public = (regression(model), model.n_fixed, model.has_base, weights(model), bound, shortening(lowest))
    kernels.add_gradients(ratings_of(users), *public, total, clipped)
    return total, clipped


def rows_of(users, model, norm_bound, limit):
    """Integer rows of the users over the items with a position: every item but the second."""
    positions = np.arange(-1, len(model.base) - 1, dtype=np.int32)
    positions[:2] = 0, -1
    wanted = RowsOfItems(plain.shifts_of(model), model.shape, positions, model.is_stretched)
    bound = Bound(norm_bound, float(limit))
    starts, columns, integers = kernels.quantize_rows(ratings_of(users), regression(model), wanted, bound)
    Y = np.zeros((len(users), max(len(model.base) - 1, 1)), np.int64)
    for i in range(len(users)):
        own = slice(starts[i], starts[i + 1])
        assert (np.diff(columns[own]) > 0).all()
        Y[i, columns[own]] = integers[own]
    return Y


def sum_rows(users, model, norm_bound, limit, lowest=-math.inf):
    return rows_of(users, model, norm_bound, limit).sum(axis=0), np.zeros(1, np.int64)


SUMS = {
    "counts": (sum_counts, plain.plain_counts),
    "user means": (sum_user_means, plain.plain_user_means),
    "squared norms": (sum_squared_norms, plain.plain_squared_norms),
    "residuals": (sum_residuals, plain.plain_residuals),
    "moments": (sum_moments, plain.plain_moments),
    "noise levels": (sum_noise_levels, plain.plain_noise_levels),
    "gradients": (sum_gradients, plain.plain_gradients),
    "rows": (sum_rows, plain.plain_rows),
}
NONNEGATIVE = ["counts", "moments", "noise levels"]
every_sum = pytest.mark.parametrize("name", SUMS)


def norm_bound_for(name, wanted):
    """The means of users in [-1, 1] have the fixed bound 1."""
    return 1.0 if name == "user means" else wanted


# The bound holds whatever one user's ratings and the public numbers are.


@given(
    any_user(), any_model(), st.floats(1e-3, 1e3) | st.floats(1e-100, 1e100), st.integers(1, 2**48) | st.integers(1, 50)
)
@settings(deadline=None, max_examples=200)
def test_no_user_exceeds_the_bounds(user, model, norm_bound, limit):
    for name, (summed, _) in SUMS.items():
        total, clipped = summed([user], model, norm_bound, limit)
        assert exact_squares(total) <= limit, name
        assert abs(int(clipped[0])) <= math.isqrt(CLIP_LIMIT), name
        assert name not in NONNEGATIVE or (total >= 0).all(), name


@given(any_user(), any_model(), st.floats(1e-3, 1e3), st.integers(1, 2**48) | st.integers(1, 50))
@settings(deadline=None, max_examples=100)
def test_for_a_nonnegative_plan_no_integer_is_negative(user, model, norm_bound, limit):
    """Whatever is summed: the plan decides, not the formula or its rounding; nonnegative sums do not change a bit."""
    for name, (summed, _) in SUMS.items():
        if name == "rows":  # their products may have any sign
            continue
        kept, clipped = summed([user], model, norm_bound, limit, 0.0)
        free, _ = summed([user], model, norm_bound, limit)
        assert (kept >= 0).all() and clipped[0] >= 0, name
        assert np.array_equal(kept, np.maximum(free, 0)), name
        assert name not in NONNEGATIVE or np.array_equal(kept, free), name


@every_sum
@pytest.mark.parametrize("limit", [7, 2**40, 2**48])
def test_a_user_with_very_many_ratings_obeys_the_bound(name, limit):
    n_items = 100_000
    model = make_model(3, n_items, count_norm=1e9)
    norm_bound, values = norm_bound_for(name, 0.01), np.random.default_rng(4).uniform(-1, 1, n_items)
    for extreme in (values, np.full(n_items, LARGEST), np.where(values > 0, LARGEST, -LARGEST), np.ones(n_items)):
        total, _ = SUMS[name][0]([(np.arange(n_items), extreme)], model, norm_bound, limit)
        assert exact_squares(total) <= limit
    # The last of them, all ones, come close: at most one lattice unit an entry is lost.
    assert exact_squares(total) >= max(math.sqrt(limit) - math.sqrt(total.size) - 1e-3, 0) ** 2


@every_sum
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_ratings_that_are_not_finite_add_nothing(name, bad):
    user, model = ([1, 4, 6], [0.5, bad, -0.5]), make_model(5)
    total, clipped = SUMS[name][0]([user], model, norm_bound_for(name, 2.0), LIMIT)
    if name == "counts":  # of items, not of their ratings
        assert np.count_nonzero(total) == 3
    else:
        assert not total.any()
    if name in ("residuals", "gradients"):
        assert clipped[0] == round((0.0 - CLIP_CENTER) * math.sqrt(CLIP_LIMIT))


# Users who attain it.


@pytest.mark.parametrize("name", ["residuals", "gradients", "rows"])
@pytest.mark.parametrize("limit", [4**18, 12345678901, 2**40 - 1, 2**40])
@pytest.mark.parametrize("length", [1.0, 3.0])
def test_worst_users_attain_the_bound(name, limit, length):
    """Without columns and base the residuals are the ratings: here multiples of 2^-20, exact in float32."""
    values = np.array(four_squares(limit)) * [1, -1, -1, 1] / 2.0**20
    model = Model(
        np.zeros(N_ITEMS), np.empty((N_ITEMS, 0)), 1.0, np.full(N_ITEMS, length), count_norm=10.0, n_fixed=0, shift=0.0
    )
    total, _ = SUMS[name][0]([([0, 3, 5, 7], values)], model, math.sqrt(limit) / 2.0**20, limit)
    assert exact_squares(total) == limit


@every_sum
def test_long_contributions_come_close_to_the_bound(name):
    """One lattice unit an entry is lost at most."""
    user, model = (np.arange(N_ITEMS), np.ones(N_ITEMS)), make_model(6, shift=5.0)
    total, _ = SUMS[name][0]([user], model, norm_bound_for(name, 1e-3), 2**48)
    assert exact_squares(total) >= (2.0**24 - math.sqrt(total.size)) ** 2


# Each contribution against plain NumPy, as it is and shortened.


@every_sum
@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("norm_bound", [0.05, 0.5, 1e3])
def test_contributions_are_those_of_the_formulas(name, k, norm_bound):
    summed, formula = SUMS[name]
    norm_bound = norm_bound_for(name, norm_bound)
    for seed in range(3):
        for n_fixed, has_base in ((0, True), (min(k, 1), True), (min(k, 2), False), (k, True)):
            model = make_model(seed, k=k, n_fixed=n_fixed, has_base=has_base)
            for user in make_ratings(10 + seed):
                total, clipped = summed([user], model, norm_bound, LIMIT)
                ideal, factor = shorten(formula(user, model), norm_bound)
                assert_rounded(total, ideal, norm_bound, LIMIT)
                if name in ("residuals", "gradients"):
                    assert clipped[0] == pytest.approx((factor - CLIP_CENTER) * math.sqrt(CLIP_LIMIT), abs=0.51)


@pytest.mark.parametrize("k", [1, 6])
def test_users_with_more_ratings_than_lanes_add_what_the_formula_says(k):
    """Steps are computed for 64 ratings side by side; who came before leaves nothing behind."""
    n_items, rng = 150, np.random.default_rng(17)
    model = make_model(16, n_items, k, n_fixed=k // 3, count_norm=100.0)
    sizes = [130, LANES + 1, 3, LANES, 0, LANES - 1, 150]
    users = [(np.sort(rng.permutation(n_items)[:n]), rng.uniform(-1, 1, n)) for n in sizes]
    alone = [sum_gradients([user], model, 50.0, LIMIT)[0] for user in users]
    for user, total in zip(users, alone, strict=True):
        assert_rounded(total, shorten(plain.plain_gradients(user, model), 50.0)[0], 50.0, LIMIT)
    assert np.array_equal(sum_gradients(users, model, 50.0, LIMIT)[0], sum(alone))


def test_gradients_are_those_of_the_likelihood():
    """By Fisher's identity the steps are `ridge` times the gradient of the log likelihood in W and in the base."""
    model = make_model(8, n_fixed=0, count_norm=10.0)
    model.shape[:] = 1.0
    user, h = make_ratings(9)[7], 1e-6
    assert len(user[0]) > 3
    total, _ = sum_gradients([user], model, 1e3, 2**48)
    steps = total * 1e3 / 2.0**24 / model.ridge
    slopes = np.zeros_like(steps)
    for j in range(N_ITEMS):
        for column in range(4):
            up = replace(model, base=model.base.copy(), W=model.W.copy())
            target = up.base if column == 0 else up.W[:, column - 1]
            target[j] += h
            down = replace(model, base=2 * model.base - up.base, W=2 * model.W - up.W)
            ends = [plain.log_likelihood(user, m.base, m.W, m.ridge) for m in (up, down)]
            slopes[j, column] = (ends[0] - ends[1]) / (2 * h)
    assert np.abs(slopes).max() > 0.1
    assert np.allclose(steps, slopes, rtol=0, atol=1e3 / 2.0**24 / model.ridge + 1e-6)


def test_rows_are_stretched_to_the_bound():
    model = make_model(11, is_stretched=True)
    for user in make_ratings(12):
        row = plain.plain_rows(user, model)
        norm = np.linalg.norm(row)
        for norm_bound in (0.1, 40.0):
            Y = rows_of([user], model, norm_bound, LIMIT)[0]
            assert_rounded(Y, row * (norm_bound / norm) if norm else row, norm_bound, LIMIT)
            assert not norm or exact_squares(Y) >= (math.sqrt(LIMIT) - 3) ** 2


@pytest.mark.parametrize("values", [[0.5, -0.5, 0.25, 1.0], [LARGEST, 0.0, 1.0, -LARGEST]])
def test_a_regression_without_solution(values):
    """Residuals and rows are then taken as they are; the other sums leave the user out."""
    user, model = (np.arange(4), values), make_model(13, k=2, ridge=0.0)
    model.W[:] = 1.0
    without = replace(model, W=np.empty((N_ITEMS, 0)), ridge=1.0)
    norm_bound = 100.0
    for name in ("residuals", "rows"):
        total, _ = SUMS[name][0]([user], model, norm_bound, LIMIT)
        ideal, _ = shorten(SUMS[name][1](user, without), norm_bound)
        assert_rounded(total, ideal, norm_bound, LIMIT)
    for name in ("moments", "noise levels", "gradients"):
        total, clipped = SUMS[name][0]([user], model, norm_bound, LIMIT)
        assert not total.any()
        if name == "gradients":
            assert clipped[0] == round((1.0 - CLIP_CENTER) * math.sqrt(CLIP_LIMIT))


@every_sum
def test_a_user_without_ratings_adds_nothing(name):
    model = replace(make_model(14), shift=0.0)
    total, clipped = SUMS[name][0]([([], [])], model, 1.0, LIMIT)
    assert not total.any()
    if name in ("residuals", "gradients"):
        assert clipped[0] == round((1.0 - CLIP_CENTER) * math.sqrt(CLIP_LIMIT))


# Users do not change each other's contributions.


@every_sum
@given(st.integers(0, 2**32), st.integers(0, 12))
@settings(deadline=None, max_examples=15)
def test_a_block_is_the_sum_of_its_users(name, seed, n_users):
    rng = np.random.default_rng(seed)
    users, model = plain.random_users(rng, n_users, N_ITEMS), make_model(seed)
    norm_bound = norm_bound_for(name, float(rng.choice([0.1, 1.0, 10.0])))
    summed = SUMS[name][0]
    together = summed(users, model, norm_bound, LIMIT)
    apart = [summed([user], model, norm_bound, LIMIT) for user in users]
    for part in range(2):
        assert np.array_equal(together[part], sum(one[part] for one in apart) + np.zeros_like(together[part]))
    if name == "rows":
        alone = [rows_of([user], model, norm_bound, LIMIT) for user in users]
        assert np.array_equal(rows_of(users, model, norm_bound, LIMIT), np.vstack([*alone, np.empty((0, N_ITEMS - 1))]))


def test_small_numbers():
    assert kernels.most_ratings(np.array([0, 2, 2, 7, 8])) == 5
    assert kernels.most_ratings(np.array([0])) == 0
    assert kernels.user_weight(0, 2.0) == kernels.user_weight(4, 2.0) == 1.0
    assert kernels.user_weight(16, 2.0) == 0.5
    ratings = RatingArrays(np.array([0, 2, 2]), np.array([1, 5], np.int32), np.float32([3.0, -4.0]))
    assert kernels.squared_norms(ratings).tolist() == [25.0, 0.0]
