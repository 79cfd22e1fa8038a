"""Factored gradient: bounds for any user, the algorithm without noise, planted factors, identities, refusals."""

import logging
import math
from functools import partial

import numpy as np
import pytest

from completion_support import N_MAX, RELATIONS, Replay, largest_loss, make_people, make_releases, to_matrix
from hushrank.data.ratings.reading import read_ratings
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.factored_gradient import (
    balance_sensitivity,
    gradient_sensitivity,
    learn_factored_gradient,
)
from hushrank.estimators.completion.item_factors import scatter_normals, to_prior_units
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import FactoredGradient
from hushrank.estimators.completion.recipes import FACTORED_GRADIENT
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.source import NoiseSource

SOLVES, STARTS = ("gradient", "ridge"), ("private", "random")
ENOUGH = Gaussian(1e-12)


def model_without_factors(n_items, ridge=0.05, n_features=0, seed=0):
    rng = np.random.default_rng(seed)
    base, features = 0.1 * rng.standard_normal(n_items), 0.3 * rng.standard_normal((n_items, n_features))
    return CompletionModel(base if n_features else 0 * base, features, np.zeros((n_items, 0)), ridge, np.ones(n_items))


def learner(n_items, rank=2, n_features=0, **options):
    start = model_without_factors(n_items, n_features=n_features)
    return lambda releases: learn_factored_gradient(releases, rank, start, FactoredGradient(**options))


def exact_releases(people, n_items, neighbors="replace", event=ENOUGH, seed=1, **engine):
    """Releases with so much budget, unless told otherwise, that the noise is a few lattice units."""
    rows = read_ratings(to_matrix(people, n_items), owner="test", rating_range=(-1, 1))
    total = partial(LocalEngine(**engine).total, rows)
    terms = (event, Neighbors(neighbors), N_MAX, NoiseSource(seed), total)
    return RatingReleases(*terms, n_people=len(people), n_items=n_items)


# Sensitivity


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("user_solve", SOLVES)
@pytest.mark.parametrize("distortion", [0.0, 3.0])
def test_no_user_moves_a_release_beyond_its_bound(monkeypatch, neighbors, user_solve, distortion):
    """Any user, after any released values: on neighbors every sum stays within what its noise was made for."""
    people, n_items = make_people(12, 9, seed=1), 9
    learn = learner(n_items, n_features=1, steps=3, user_solve=user_solve, user_norm=0.8)
    share = largest_loss(Replay(monkeypatch, distortion), learn, people, n_items, neighbors=neighbors)
    assert 0.2 < share <= 1 + 1e-9


def test_real_users_attain_the_bounds(monkeypatch):
    """At the first step: residuals across V that are opposite, and factors along its two columns."""
    options = FactoredGradient(steps=1, user_norm=0.4, residual_norm=0.5)
    V = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1], [0, 0], [0, 0]]) * 0.5
    start = CompletionModel(np.zeros(6), np.zeros((6, 0)), to_prior_units(V), 0.1, np.ones(6))
    others, residual = make_people(4, 6, seed=1), np.array([0.0, 0.0, 0.0, 0.0, 0.3, 0.4])
    replay, every = Replay(monkeypatch), np.arange(6)

    def totals(ratings, script=None):
        learn = partial(learn_factored_gradient, rank=2, start=start, options=options)
        return replay.run(learn, [*others, (every, ratings)], 6, script, seed=1)

    recorded = totals(V @ [0.4, 0.0] + residual)
    opposite = totals(V @ [0.4, 0.0] - residual, recorded)
    across = totals(V @ [0.0, 0.4] + residual, recorded)
    assert [release.mechanism for release in recorded] == ["vector", "symmetric", "vector"]
    change = (recorded[2].total - opposite[2].total).astype(object)
    assert (change**2).sum() == pytest.approx(4 * recorded[2].terms[0].squared_bound, rel=1e-6)
    change = (recorded[1].total - across[1].total).astype(object)
    doubled = 2 * (change**2).sum() - (change.diagonal() ** 2).sum()
    # The one entry of the row is rounded to 2^-18 of its bound; rows that need no rounding attain it exactly.
    assert doubled == pytest.approx(2 * recorded[1].terms[0].squared_bound ** 2, rel=1e-4)


def test_sensitivities_are_the_tight_ones():
    replace, add_remove = Neighbors.REPLACE, Neighbors.ADD_REMOVE
    assert gradient_sensitivity(0.7, 0.5, replace) == pytest.approx(2 * 0.35, rel=1e-15)
    assert gradient_sensitivity(0.7, 0.5, add_remove) == pytest.approx(0.35, rel=1e-15)
    assert balance_sensitivity(0.5, replace) == pytest.approx(math.sqrt(2) * 0.25, rel=1e-15)
    assert balance_sensitivity(0.5, add_remove) == pytest.approx(0.25, rel=1e-15)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_noise_is_that_of_the_sensitivities(monkeypatch, neighbors):
    """Scales of all releases: sensitivity over the root of the share, in the order density, start, (R, gradient)."""
    options = FactoredGradient(steps=2)
    replay = Replay(monkeypatch)
    learn = learner(9, steps=2)
    made = replay.run(learn, make_people(12, 9, seed=1), 9, neighbors=neighbors, seed=1)
    lattices = [release.terms[0] for release in made if release.mechanism != "counts"]
    releases = make_releases(make_people(12, 9, seed=1), 9, neighbors=neighbors, seed=1)
    left, relation = releases.left, Neighbors(neighbors)
    rest = 0.995 * left * 0.5
    steps = [(balance_sensitivity(0.45, relation) / math.sqrt(2), 0.05 * rest / 2)]
    steps += [(gradient_sensitivity(0.7, 0.45, relation), 0.95 * rest / 2)]
    start = (balance_sensitivity(options.residual_norm, relation) / math.sqrt(2), rest)
    expected = [(1.0, 0.005 * left), start, *steps, *steps]
    for lattice, (sensitivity, share) in zip(lattices, expected, strict=True):
        assert lattice.scale == pytest.approx(sensitivity / (releases.mu * math.sqrt(share)), rel=1e-4)


# Limit


def descend(Y, M, start, options, rank):
    """Algorithms 1 and 2 with stored user factors, without noise, in NumPy."""
    (m, n), p, eta = Y.shape, M.mean(), options.step_size / (options.user_norm * options.item_norm)

    def short(A, bound):
        return A * np.minimum(1.0, bound / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300))

    def solve(W, i):
        own = M[i] > 0
        return np.linalg.solve(
            W[own].T @ W[own] + start.ridge * np.eye(W.shape[1]), W[own].T @ (Y - start.base)[i, own]
        )

    def root(S, power=0.5):
        w, Q = np.linalg.eigh(S)
        return (Q * w**power) @ Q.T

    F = start.features
    T = M * (Y - start.base - np.array([F @ solve(F, i) for i in range(m)]))
    if options.start == "private":
        C = short(T, options.residual_norm)
        w, Q = np.linalg.eigh(C.T @ C / (p * p * m * n))
        V = Q[:, -rank:] * np.sqrt(np.sqrt(w[-rank:] - w[:-rank].mean()) * n)
    else:
        V = scatter_normals(n, rank) * options.item_norm / (4 * math.sqrt(rank))
    V = short(V, options.item_norm)
    U = short(T @ V @ np.linalg.inv(V.T @ V / n) / (p * n), options.user_norm)
    for _ in range(options.steps):
        if options.user_solve == "ridge":
            spread = root(V.T @ V / n)
            Z = np.array([solve(np.hstack([F, V @ spread]), i) for i in range(m)])
            U = short(Z[:, F.shape[1] :] @ spread, options.user_norm)
            T = M * (Y - start.base - Z[:, : F.shape[1]] @ F.T)
        E = M * (U @ V.T - T)
        R = U.T @ U / m - V.T @ V / n
        G = short(E, options.residual_norm).T @ U / (p * m)
        V, U_next = V - eta * G + eta / 2 * V @ R, U - eta * E @ V / (p * n) - eta / 2 * U @ R
        V, U = short(V, options.item_norm), short(U_next, options.user_norm)
    return V @ root(V.T @ V / n)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("user_solve", SOLVES)
@pytest.mark.parametrize("start", STARTS)
def test_without_noise_it_is_the_algorithm(neighbors, user_solve, start):
    """Projections are active: residuals, users and items are shortened on the way."""
    people, n_items, rank = make_people(150, 12, seed=3, n_ratings=7.0), 12, 2
    options = FactoredGradient(
        steps=5, start=start, user_solve=user_solve, user_norm=0.4, item_norm=0.6, residual_norm=0.8
    )
    model = model_without_factors(n_items, n_features=2, seed=4)
    V = learn_factored_gradient(exact_releases(people, n_items, neighbors), rank, model, options)
    Y, M = np.zeros((150, n_items)), np.zeros((150, n_items))
    for i, (items, ratings) in enumerate(people):
        Y[i, items], M[i, items] = np.float32(ratings), 1.0
    expected = descend(Y, M, model, options, rank)
    tol = 1e-6
    if start == "private":  # eigenvectors have no sign, and its rows were rounded to 2^-18 of their bound
        V, expected, tol = V @ V.T, expected @ expected.T, 1e-5
    assert np.abs(V - expected).max() < tol * np.abs(expected).max()


# Planted data


def planted_people(n_users, n_items, seed, rank=2, noise=0.15):
    """Half of all entries of a matrix of low rank, whose entries have standard deviation 0.2."""
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((n_users, rank)), rng.standard_normal((n_items, rank))
    X = 0.2 / math.sqrt(rank) * U @ V.T
    is_known = rng.random(X.shape) < 0.5
    Y = np.clip(X + noise * rng.standard_normal(X.shape), -1, 1)
    return X, is_known, [(np.flatnonzero(known), y[known]) for known, y in zip(is_known, Y, strict=True)]


def relative_error(V, X, is_known, people, ridge):
    """Squared error of ridge predictions at unknown entries, over that of predicting zero."""
    error = zero = 0.0
    for x, known, (items, ratings) in zip(X, is_known, people, strict=True):
        W = V[items]
        z = np.linalg.solve(W.T @ W + ridge * np.eye(V.shape[1]), W.T @ ratings)
        error += ((V @ z - x)[~known] ** 2).sum()
        zero += (x[~known] ** 2).sum()
    return error / zero


@pytest.mark.parametrize("user_solve", SOLVES)
@pytest.mark.parametrize("start, steps, step_size, worst", [("private", 10, 1.0, 0.35), ("random", 15, 8.0, 0.6)])
def test_planted_factors_are_found(user_solve, start, steps, step_size, worst):
    n_items, ridge = 40, 0.15**2
    options = FactoredGradient(
        steps=steps, step_size=step_size, start=start, user_solve=user_solve, user_norm=0.9, residual_norm=1.0
    )
    for seed in (11, 12, 13):
        X, is_known, people = planted_people(1500, n_items, seed)
        V = learn_factored_gradient(
            make_releases(people, n_items, epsilon=8.0, seed=seed), 2, model_without_factors(n_items, ridge), options
        )
        assert 0.01 < relative_error(V, X, is_known, people, ridge) < worst


def test_more_budget_is_less_error():
    n_items, ridge, options = 40, 0.15**2, FactoredGradient(user_norm=0.9, residual_norm=1.0)
    X, is_known, people = planted_people(1500, n_items, 14)
    errors = []
    for epsilon in (0.3, 2.0, 50.0):
        releases = make_releases(people, n_items, epsilon=epsilon, seed=2)
        V = learn_factored_gradient(releases, 2, model_without_factors(n_items, ridge), options)
        errors.append(relative_error(V, X, is_known, people, ridge))
    assert errors[0] > 1.2 * errors[1] > 1.2**2 * errors[2]


# Identities


@pytest.mark.parametrize("user_solve", SOLVES)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_same_bits_for_any_threads_blocks_and_order(user_solve, neighbors):
    people = make_people(400, 40, seed=5, n_ratings=30.0)
    shuffled = [people[i] for i in np.random.default_rng(7).permutation(400)]

    def learn(people, **terms):
        terms = {"neighbors": neighbors, "event": Gaussian(0.5), "seed": 6, "threads": 1, **terms}
        return learner(40, n_features=1, steps=3, user_solve=user_solve)(exact_releases(people, 40, **terms))

    expected = learn(people)
    assert np.array_equal(learn(people, block_rows=7), expected)
    assert np.array_equal(learn(people, threads=4, block_rows=10), expected)
    assert np.array_equal(learn(shuffled), expected)
    assert not np.array_equal(learn(people, seed=8), expected)


@pytest.mark.parametrize("user_solve", SOLVES)
def test_scaling_all_ratings_scales_the_factors(user_solve):
    """The step size needs no change: norms of factors scale by the root."""
    people = make_people(100, 10, seed=9)
    halved = [(items, np.float32(ratings) / 2) for items, ratings in people]
    whole = {"user_norm": 0.5, "item_norm": 0.7, "residual_norm": 0.8}
    half = {"user_norm": 0.5 / math.sqrt(2), "item_norm": 0.7 / math.sqrt(2), "residual_norm": 0.4}
    factors = []
    for data, ridge, norms in ((people, 0.04, whole), (halved, 0.01, half)):
        options = FactoredGradient(steps=4, user_solve=user_solve, start="random", **norms)
        factors.append(learn_factored_gradient(exact_releases(data, 10), 2, model_without_factors(10, ridge), options))
    assert np.allclose(factors[0], 2 * factors[1], atol=1e-6)


def test_everything_is_spent_or_the_share_that_was_given():
    people, start, options = make_people(30, 8, seed=10), model_without_factors(8), FactoredGradient(steps=7)
    releases = make_releases(people, 8, seed=1)
    learn_factored_gradient(releases, 2, start, options)
    assert releases.left == 0.0
    releases = make_releases(people, 8, seed=1)
    learn_factored_gradient(releases, 2, start, options, releases.left - 0.3)
    assert 0.3 <= releases.left < 0.3 + 1e-9
    releases.vector_lattice(1.0, 0.3)  # what the caller kept is there, exactly


def test_given_factors_are_the_start_and_cost_nothing():
    """From the solution, with tiny steps, it stays there; the start is not released."""
    people = make_people(60, 10, seed=11)
    factors = 0.05 * scatter_normals(10, 2)
    start = CompletionModel(np.zeros(10), np.zeros((10, 0)), factors, 0.05, np.ones(10))
    releases = exact_releases(people, 10)
    V = learn_factored_gradient(releases, 2, start, FactoredGradient(steps=3, step_size=1.1e-6))
    assert np.allclose(V, factors, atol=1e-8)
    assert len(releases.executed) == 1 + 2 * 3


def test_the_data_holder_hears_how_many_residuals_were_shortened(caplog):
    people = [(np.arange(6), np.ones(6))] * 4 + [(np.arange(1), np.full(1, 1e-3))]
    with caplog.at_level(logging.INFO, "hushrank"):
        learner(6, rank=1, steps=1, residual_norm=0.5)(make_releases(people, 6, seed=1))
    assert "Residuals of 4 users are longer than 0.5: shortened. Not private." in caplog.messages
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_users_without_ratings_and_no_users_at_all():
    nobody = [(np.arange(0), np.zeros(0))] * 3
    for people, neighbors in ((nobody, "replace"), ([], "add_remove")):
        V = learner(5)(make_releases(people, 5, neighbors=neighbors, seed=1))
        assert V.shape == (5, 2) and np.isfinite(V).all()


# Refusals


WRONG = [(name, value) for name, line in FactoredGradient._params.items() for value in line.wrong_values()]


@pytest.mark.parametrize("name, value", WRONG, ids=[f"{name}-{i}" for i, (name, _) in enumerate(WRONG)])
def test_wrong_options_are_refused(name, value):
    with pytest.raises(InvalidParameter, match=f"^{name} of FactoredGradient must be "):
        FactoredGradient(**{name: value})


@pytest.mark.parametrize("rank", [0, 6])
def test_a_rank_that_does_not_fit_is_refused_before_anything_is_released(rank):
    releases = make_releases(make_people(5, 5, seed=1), 5)
    with pytest.raises(InvalidParameter, match=r"^rank of FactoredGradient must be between 1 and the number of .* 5; "):
        learner(5, rank=rank)(releases)
    assert releases.left == 1.0 and not releases.executed


def test_a_private_start_needs_a_matrix_that_fits():
    most = FACTORED_GRADIENT.max_start_items
    FactoredGradient(start="random").check_size(most + 1, 2)
    FactoredGradient().check_size(most, 2)
    with pytest.raises(InvalidParameter, match=r"^start of FactoredGradient must be 'random' for more than 4096 items"):
        FactoredGradient().check_size(most + 1, 2)


def test_a_start_with_another_number_of_factors_is_refused():
    start = CompletionModel(np.zeros(5), np.zeros((5, 0)), np.ones((5, 3)), 0.1, np.ones(5))
    releases = make_releases(make_people(5, 5, seed=1), 5)
    with pytest.raises(InvalidParameter, match=r"^start of FactoredGradient must be a model without factors or with 2"):
        learn_factored_gradient(releases, 2, start, FactoredGradient())
    assert not releases.executed
