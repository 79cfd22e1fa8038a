"""Sums over users: every bound holds in integers and is attained, sums are those of NumPy, bits are always the same."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completion_support import adverse_people, make_people, to_matrix
from hushrank.data.ratings.reading import read_ratings
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion import user_sums
from hushrank.estimators.completion.leave_one_out import Variants
from hushrank.estimators.completion.rating_kernels import Regression, RowsOfItems, Weights
from hushrank.estimators.completion.user_sums import ItemSumState, RowState, SecondMoment
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice
from hushrank.privacy.mechanisms.vector import vector_lattice
from user_support import regress, shorten

N_ITEMS = 10
EVENT = Gaussian(2.0)
EVERY = np.arange(N_ITEMS)
NOTHING = Regression(np.zeros(N_ITEMS), np.zeros((N_ITEMS, 0)), 1.0)


def ratings_of(people):
    return read_ratings(to_matrix(people, N_ITEMS), owner="test", rating_range=(-1, 1))


def total(kernel, people, state, engine=None):
    return (engine or LocalEngine(threads=1)).total(ratings_of(people), kernel, state)


def lattice(norm, neighbors="replace", **terms):
    return vector_lattice(norm, EVENT, neighbors, **terms)


def regression(seed=0, k=3, ridge=0.3):
    rng = np.random.default_rng(seed)
    return Regression(rng.uniform(-0.4, 0.4, N_ITEMS), rng.standard_normal((N_ITEMS, k)), ridge)


# Kernel -> (state for a lattice, norm bound, whether contributions are nonnegative); sums of vectors.
WEIGHTS = Weights(np.linspace(0.5, 2.0, N_ITEMS), 2.0)
VARIANTS = Variants(np.array([3, 3, 1]), np.ones((3, 3)), np.array([0.3, 0.6, 0.3]))
FEATURES = np.random.default_rng(7).standard_normal((N_ITEMS, 4))


def item_state(made, clip, model, first_column=1, **terms):
    return ItemSumState(model, WEIGHTS, made, clip, 0.5, first_column, **terms)


KERNELS = {
    "counts": (user_sums.sum_counts, lambda made, _: (N_ITEMS, made), 2.0, True),
    "user means": (user_sums.sum_user_means, lambda made, _: made, 1.0, False),
    "fractions": (user_sums.sum_fractions, lambda made, _: (float(N_ITEMS), 0.5, made), 0.5, False),
    "squares": (user_sums.sum_squares, lambda made, _: (1.5, 0.5, made), 0.5, False),
    "moments": (user_sums.sum_moments, lambda made, model: (model, made), 2.0, True),
    "slopes": (user_sums.sum_slopes, lambda made, model: (model, min(1, model.W.shape[1] - 1), made), 0.5, False),
    "noise levels": (user_sums.sum_noise_levels, lambda made, model: (model, 4.0, made), 2.0, True),
    "errors": (user_sums.sum_error_differences, lambda made, model: (model, VARIANTS, made), 0.1, False),
    "relevances": (user_sums.sum_relevances, lambda made, model: (model, FEATURES, made), 1.5 * 2.0, False),
    "residuals": (user_sums.sum_residuals, lambda made, model: item_state(made, lattice(0.5), model), 0.5, False),
    "gradients": (user_sums.sum_gradients, lambda made, model: item_state(made, lattice(0.5), model), 0.5, False),
}


def first(result):
    return result[0] if isinstance(result, tuple) else result


# 1. Sensitivity


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), ridge=st.sampled_from([1e-12, 0.3, 1e9]))
@pytest.mark.parametrize("name", KERNELS)
def test_no_user_moves_a_sum_by_more_than_its_bound(name, seed, ridge):
    kernel, make_state, norm, nonnegative = KERNELS[name]
    made = lattice(norm, nonnegative=nonnegative)
    model = regression(seed, ridge=ridge)
    others = [*adverse_people(N_ITEMS, seed).values(), *make_people(4, N_ITEMS, seed=seed)]
    own = [first(total(kernel, [person], make_state(made, model))).astype(object) for person in others]
    for y in own:
        assert (y**2).sum() <= made.squared_bound
        assert not nonnegative or (y >= 0).all()
    factor = 2 if nonnegative else 4
    assert max(((y - x) ** 2).sum() for x in own for y in own) <= factor * made.squared_bound


@pytest.mark.parametrize("name", KERNELS)
def test_the_plan_alone_makes_a_sum_nonnegative(name):
    """A sum of signed numbers on the lattice of nonnegative ones is clipped, and stays within what its noise is for."""
    kernel, make_state, norm, _ = KERNELS[name]
    made, clip = lattice(norm, nonnegative=True), lattice(0.5, nonnegative=True)
    for seed in range(3):
        model = regression(seed)
        state = make_state(made, model)
        if isinstance(state, ItemSumState):
            state = replace(state, shortening_lattice=clip, shortening_center=2.0)
        people = [*adverse_people(N_ITEMS, seed).values(), *make_people(4, N_ITEMS, seed=seed)]
        results = [total(kernel, [person], state) for person in people]
        own = [first(result).astype(object) for result in results]
        assert all((y >= 0).all() for y in own)
        assert all((result[1] >= 0).all() for result in results if isinstance(result, tuple))
        assert max(((y - x) ** 2).sum() for x in own for y in own) <= 2 * made.squared_bound


def squared_change(kernel, one, other, state):
    return int(((first(total(kernel, [one], state)) - first(total(kernel, [other], state))).astype(object) ** 2).sum())


HALF = EVERY[: N_ITEMS // 2]
UP, DOWN = (EVERY, np.ones(N_ITEMS)), (EVERY, -np.ones(N_ITEMS))
FLAT = Regression(np.zeros(N_ITEMS), np.zeros((N_ITEMS, 1)), 1.0)
LINE = Regression(np.zeros(N_ITEMS), np.full((N_ITEMS, 1), 0.1), 0.1)
STEEP = Regression(np.zeros(N_ITEMS), np.full((N_ITEMS, 1), 1e-4), 1e-7)  # slopes of 5000, of which half is told
TILTED = (EVERY, np.where(EVERY % 2, 1.0, -1.0))

WORST = {
    "counts": ((HALF, np.ones(5)), (HALF + 5, np.ones(5)), FLAT, {}),
    "user means": (UP, DOWN, FLAT, {}),
    "fractions": (UP, (EVERY[:0], np.empty(0)), FLAT, {}),
    "squares": (UP, (EVERY[:0], np.empty(0)), FLAT, {}),
    "slopes": (UP, DOWN, STEEP, {}),
    "residuals": (UP, DOWN, FLAT, {}),
    "gradients": (UP, DOWN, FLAT, {}),
    # An even split of the ratings leaves z = 0, so that the step is -ridge W P, against e z of the others.
    "gradients without base": (UP, TILTED, LINE, {"first_column": 0, "has_base": False}),
}


@pytest.mark.parametrize("name", WORST)
def test_a_worst_pair_attains_the_bound(name):
    one, other, model, terms = WORST[name]
    kernel, make_state, norm, nonnegative = KERNELS[name.removesuffix(" without base")]
    made = lattice(1e-3 if terms else norm, nonnegative=nonnegative)
    state = item_state(made, None, model, **terms) if terms else make_state(made, model)
    bound = (2 if nonnegative else 4) * made.squared_bound
    assert bound * (1 - 1e-4) <= squared_change(kernel, one, other, state) <= bound


def test_worst_pairs_attain_the_bounds_of_the_questions_about_features():
    """Ratings along a slope and ratings that deceive it; ratings that are the feature and ratings across it."""
    g = np.where(EVERY < 5, 1.0, -1.0)
    model = Regression(np.zeros(N_ITEMS), np.column_stack([np.full(N_ITEMS, 0.2), g]), 1.0)
    slopes, made = Variants(np.array([2, 1]), np.ones((2, 2)), np.ones(2)), lattice(0.05)
    change = squared_change(
        user_sums.sum_error_differences, (EVERY, g), (EVERY[:2], np.array([1.0, -1.0])), (model, slopes, made)
    )
    assert 4 * made.squared_bound * (1 - 1e-4) <= change <= 4 * made.squared_bound
    across = np.array([1.0, -1.0, 1.0, -1.0, 0.0] * 2)
    made = lattice(0.9 * math.sqrt(3))
    state = (FLAT, np.repeat(g[:, None], 3, axis=1), made)
    change = squared_change(user_sums.sum_relevances, (EVERY, g), (EVERY, across), state)
    assert 4 * made.squared_bound * (1 - 1e-4) <= change <= 4 * made.squared_bound


@pytest.mark.parametrize("is_stretched", [False, True])
def test_two_rows_attain_the_bound_of_the_second_moment_without_diagonal(is_stretched):
    made = symmetric_lattice(1.0, EVENT)
    positions = np.where(EVERY < 2, EVERY, -1).astype(np.int32)
    state = RowState(NOTHING, RowsOfItems(np.zeros(N_ITEMS), np.ones(N_ITEMS), positions, is_stretched), made)
    matrices = [total(SecondMoment(), [(EVERY, y)], state)[0] for y in (np.ones(N_ITEMS), TILTED[1])]
    change = int(matrices[0][0, 1]) - int(matrices[1][0, 1])
    assert made.squared_bound * (1 - 1e-4) <= change <= made.squared_bound
    assert all(np.count_nonzero(np.tril(matrix)) == 0 for matrix in matrices)


@pytest.mark.parametrize("is_stretched", [False, True])
def test_rows_of_the_second_moment_stay_within_their_bound(is_stretched):
    made = symmetric_lattice(1.0, EVENT)
    positions = np.cumsum(EVERY % 3 > 0).astype(np.int32) - 1
    positions[EVERY % 3 == 0] = -1
    shifts, scales = np.linspace(-0.5, 0.5, N_ITEMS), np.linspace(0.1, 3.0, N_ITEMS)
    state = RowState(regression(1), RowsOfItems(shifts, scales, positions, is_stretched), made)
    for person in adverse_people(N_ITEMS).values():
        S = total(SecondMoment(), [person], state)[0].astype(object)
        # The upper triangle of y y^T with |y|^2 <= T is longest for equal entries.
        assert 2 * (S**2).sum() <= made.squared_bound**2 * (1 - 1 / state.size) * (1 + 1e-4)


# 2. Limit: the sums of NumPy


def solve(model, items, y):
    return regress((items, y), model.base, model.W, model.ridge)


def weight(items):
    return min(1.0, WEIGHTS.count_norm / math.sqrt(max(len(items), 1)))


def expected_residuals(model, items, y):
    G = np.zeros(N_ITEMS)
    G[items] = weight(items) * solve(model, items, y)[1] * WEIGHTS.of_items[items]
    return G


def expected_gradients(model, items, y):
    z, e, P = solve(model, items, y)
    G = np.zeros((N_ITEMS, 3))
    step = np.column_stack([e, (np.outer(e, z) - model.W[items] @ P)[:, 1:]])
    G[items] = weight(items) * step * WEIGHTS.of_items[items, None]
    return G


def expected_moments(model, items, y):
    z, e, P = solve(model, items, y)
    n, left = max(len(items), 1), np.diag(P)
    free = len(items) - (3 - left.sum())
    return np.array([*z**2, e @ e / (model.ridge * n), *(1 - left), free / n])


def expected_slopes(model, items, y):
    z, _, P = solve(model, items, y)
    return np.append(z[1:], 1 - np.diag(P)[1:])


def expected_noise_levels(model, items, y):
    _, e, P = solve(model, items, y)
    return np.array([e @ e / model.ridge, len(items) - 3 + np.trace(P)]) / 4.0


def expected_errors(model, items, y):
    """Leave-one-out errors the slow way: one regression for each rating left out."""
    means = []
    for width, ridge in zip(VARIANTS.widths, VARIANTS.ridges, strict=True):
        variant = Regression(model.base, model.W[:, :width], ridge)
        errors = []
        for i in range(len(items)):
            others = np.arange(len(items)) != i
            z = solve(variant, items[others], y[others])[0]
            errors.append(min((y[i] - variant.base[items[i]] - variant.W[items[i]] @ z) ** 2, 4.0))
        means.append(np.mean(errors) if errors else 0.0)
    return np.array(means[1:]) - means[0]


def expected_relevances(model, items, y):
    """Squared cosines of the residuals and the features of the rated items, over their mean by chance, less 1."""
    e, found = solve(model, items, y)[1], np.zeros(4)
    if len(items) > 1:
        e, G = e - e.mean(), FEATURES[items] - FEATURES[items].mean(axis=0)
        found = np.minimum((len(items) - 1) * (e @ G) ** 2 / (e @ e) / (G**2).sum(axis=0), 9.0) - 1.0
    return found


EXPECTED = {
    "counts": lambda _, items, y: np.isin(EVERY, items) * weight(items),
    "user means": lambda _, items, y: np.array([y.mean() if len(y) else 0.0]),
    "fractions": lambda _, items, y: np.array([len(y) / N_ITEMS - 0.5]),
    "squares": lambda _, items, y: np.array([min(1.0, y @ y / 1.5**2) - 0.5]),
    "residuals": expected_residuals,
    "gradients": expected_gradients,
    "moments": expected_moments,
    "slopes": expected_slopes,
    "noise levels": expected_noise_levels,
    "errors": expected_errors,
    "relevances": expected_relevances,
}


@pytest.mark.parametrize("ridge", [1.0, 30.0])
@pytest.mark.parametrize("name", KERNELS)
def test_sums_are_those_of_numpy_within_rounding(name, ridge):
    kernel, make_state, norm, nonnegative = KERNELS[name]
    made, model = lattice(norm, nonnegative=nonnegative), regression(5, ridge=ridge)
    people = [*make_people(30, N_ITEMS, seed=2, n_ratings=4.0), (EVERY[:0], np.empty(0)), UP]
    found = first(total(kernel, people, make_state(made, model))) * made.unit
    rows = [shorten(EXPECTED[name](model, items, np.float32(y).astype(float)), norm)[0] for items, y in people]
    assert found == pytest.approx(sum(rows), abs=len(people) * made.unit + 1e-6)


def test_the_mean_factor_of_shortening_is_summed_beside():
    made, clip, model = lattice(0.5), lattice(0.5), regression(5)
    people = make_people(30, N_ITEMS, seed=2)
    for kernel, expected in (
        (user_sums.sum_residuals, expected_residuals),
        (user_sums.sum_gradients, expected_gradients),
    ):
        factors = [shorten(expected(model, *person), 0.5)[1] for person in people]
        assert min(factors) < 0.9
        found = kernel(next(iter(ratings_of(people).blocks())), item_state(made, clip, model))[1] * clip.unit
        assert found[0] == pytest.approx(sum(factors) - 0.5 * len(people), abs=1e-4)


def test_the_second_moment_is_that_of_numpy():
    made, model = symmetric_lattice(1.0, EVENT), regression(4)
    people, shape, shifts = make_people(25, N_ITEMS, seed=9), np.linspace(0.5, 2.0, N_ITEMS), 0.4 * np.cos(EVERY)
    for is_stretched, offset in ((False, 1), (True, 1), (False, 0)):
        state = RowState(model, RowsOfItems(shifts, shape, EVERY.astype(np.int32), is_stretched), made, offset)
        expected = np.zeros((N_ITEMS, N_ITEMS))
        for items, y in people:
            x = np.zeros(N_ITEMS)
            x[items] = (solve(model, items, y)[1] + shifts[items]) * shape[items]
            x /= np.linalg.norm(x) if is_stretched else max(np.linalg.norm(x), 1.0)
            expected += np.outer(x, x)
        found = total(SecondMoment(), people, state)[0] * made.unit
        assert found == pytest.approx(np.triu(expected, offset), abs=1e-3)


@pytest.mark.parametrize(
    ("kernel", "numbers"),
    [(user_sums.count_ratings, lambda y: max(len(y), 1)), (user_sums.count_norms, lambda y: math.sqrt(y @ y))],
)
def test_histograms_count_every_user_once(kernel, numbers):
    people, grid = make_people(50, N_ITEMS, seed=3), np.array([0.5, 1.0, 2.0, 4.0])
    found = total(kernel, people, (None, grid))
    cells = np.searchsorted(grid, [numbers(np.float32(y).astype(float)) for _, y in people])
    assert found.tolist() == np.bincount(cells, minlength=5).tolist()


# 4. Identities


@pytest.mark.parametrize("name", [*KERNELS, "second moment"])
def test_bits_do_not_depend_on_order_blocks_or_threads(name):
    people = [*make_people(40, N_ITEMS, seed=8), *adverse_people(N_ITEMS).values()]
    if name == "second moment":
        made = symmetric_lattice(1.0, EVENT, Neighbors.ADD_REMOVE)
        state = RowState(
            regression(), RowsOfItems(0.3 * np.cos(EVERY), np.ones(N_ITEMS), EVERY.astype(np.int32), True), made
        )
        run = partial(total, SecondMoment(), state=state)
    else:
        kernel, make_state, norm, nonnegative = KERNELS[name]
        run = partial(total, kernel, state=make_state(lattice(norm, nonnegative=nonnegative), regression()))
    expected = first(run(people))
    for engine in (LocalEngine(threads=3, block_rows=1), LocalEngine(threads=2, block_rows=7)):
        assert np.array_equal(first(run(people[::-1], engine=engine)), expected)
