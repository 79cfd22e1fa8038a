"""Alternating least squares: bounds for any user, the limit without noise, planted factors, identities, refusals."""

import logging
import math
from functools import partial

import numpy as np
import pytest

from completion_support import N_MAX, RELATIONS, Replay, largest_loss, make_people, make_releases, to_matrix
from hushrank.data.ratings.reading import read_ratings
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion import als
from hushrank.estimators.completion.als import (
    gram_norm,
    gram_sensitivity,
    learn_als,
    right_norm,
    right_sensitivity,
)
from hushrank.estimators.completion.item_factors import scatter_normals
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import AlternatingLeastSquares
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.source import NoiseSource

BOUNDINGS = ("uniform", "tail", "adaptive")


def make_start(n_items, ridge=0.05, n_features=0, unobserved=0.0, seed=0):
    """A model without factors: base and features, if any, and counts that differ."""
    rng = np.random.default_rng(seed)
    base, features = 0.1 * rng.standard_normal(n_items), 0.3 * rng.standard_normal((n_items, n_features))
    counts = np.exp(rng.standard_normal(n_items) + 2.0)
    return CompletionModel(
        base if n_features else 0 * base, features, np.zeros((n_items, 0)), ridge, counts, unobserved
    )


def learner(n_items, rank=2, n_features=0, unobserved=0.0, **options):
    start = make_start(n_items, n_features=n_features, unobserved=unobserved)
    return lambda releases: learn_als(releases, rank, start, AlternatingLeastSquares(**options))


def exact_releases(people, n_items, *, neighbors="replace", event=None, seed=1, is_implicit=False, **engine):
    """Releases with so much budget, unless told otherwise, that the noise is a few lattice units."""
    rows = read_ratings(
        to_matrix(people, n_items), owner="test", rating_range=None if is_implicit else (-1, 1), is_implicit=is_implicit
    )
    total = partial(LocalEngine(**engine).total, rows)
    event = Gaussian(1e-12) if event is None else event
    terms = (event, Neighbors(neighbors), N_MAX, NoiseSource(seed), total)
    return RatingReleases(*terms, n_people=len(people), n_items=n_items)


# Sensitivity


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("bounding", BOUNDINGS)
@pytest.mark.parametrize("distortion", [0.0, 3.0])
def test_no_user_moves_a_release_beyond_its_bound(monkeypatch, neighbors, bounding, distortion):
    """Any user, after any released values: on neighbors every sum stays within what its noise was made for."""
    people, n_items = make_people(12, 9, seed=1), 9
    learn = learner(n_items, n_features=1, sweeps=3, bounding=bounding, max_ratings=4)
    share = largest_loss(Replay(monkeypatch, distortion), learn, people, n_items, neighbors=neighbors)
    assert 0.1 < share <= 1 + 1e-9


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_no_user_of_implicit_feedback_moves_a_release_beyond_its_bound(monkeypatch, neighbors):
    people, n_items = make_people(12, 9, seed=1), 9
    learn = learner(n_items, sweeps=2, unobserved=0.2, max_ratings=4, user_norm=0.2)
    terms = {"neighbors": neighbors, "is_implicit": True}
    assert 0.1 < largest_loss(Replay(monkeypatch), learn, people, n_items, **terms) <= 1 + 1e-9


@pytest.mark.parametrize("planted", ["gram_norm", "right_norm"])
def test_a_bound_that_is_too_small_is_noticed(monkeypatch, planted):
    """Noise for half the norm, contributions bounded by all of it."""
    people, n_items = make_people(12, 9, seed=1), 9
    prepare, norm = als._prepare_sweep, getattr(als, planted)

    def too_long(*terms):
        state = prepare(*terms)
        sweep = state.sweep
        if planted == "gram_norm":
            sweep = sweep._replace(gram_limit=4 * sweep.gram_limit, gram_bound=2 * sweep.gram_bound)
        else:
            right = sweep.right._replace(norm=2 * sweep.right.norm, limit=4 * sweep.right.limit)
            sweep = sweep._replace(right=right)
        return als.SweepState(sweep, state.gram, state.right, state.unobserved)

    monkeypatch.setattr(als, "_prepare_sweep", too_long)
    monkeypatch.setattr(als, planted, lambda *terms: 0.5 * norm(*terms))
    learn = learner(n_items, sweeps=2, max_ratings=4, user_norm=0.1, residual_bound=0.1)
    with pytest.raises(AssertionError):
        largest_loss(Replay(monkeypatch), learn, people, n_items, neighbors="add_remove")


def test_sensitivities_are_the_tight_ones():
    replace, add_remove = Neighbors.REPLACE, Neighbors.ADD_REMOVE
    assert gram_sensitivity(9, 0.5, replace) == pytest.approx(math.sqrt(2) * 3 * 0.25, rel=1e-15)
    assert gram_sensitivity(9, 0.5, add_remove) == pytest.approx(3 * 0.25, rel=1e-15)
    assert right_sensitivity(9, 0.5, 0.2, replace) == pytest.approx(2 * 3 * 0.1, rel=1e-15)
    assert right_sensitivity(9, 0.5, 0.2, add_remove) == pytest.approx(3 * 0.1, rel=1e-15)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_user_attains_the_bounds(neighbors):
    """Full weights, a long factor along one axis, a clipped residual; replaced by the same on other items."""
    n_items, k = 8, 4
    factors = np.full((n_items, 1), 5.0)
    start = CompletionModel(np.zeros(n_items), np.zeros((n_items, 0)), factors, 0.01, np.ones(n_items))
    options = AlternatingLeastSquares(sweeps=1, max_ratings=k, user_norm=0.05, bounding="uniform")
    totals = []
    for items in (np.arange(k), np.arange(k, 2 * k)):
        releases = exact_releases([(items, np.ones(k))], n_items, neighbors=neighbors)
        state = als._prepare_sweep(releases, start, factors, options, 1.0)
        totals.append(releases.total(als.NormalEquations(), state))
    is_replace = neighbors == "replace"
    gram = totals[0][0] - (totals[1][0] if is_replace else 0)
    size = np.linalg.norm(gram * state.gram.unit)
    assert size == pytest.approx(gram_sensitivity(k, 0.05, Neighbors(neighbors)), rel=1e-4)
    opposed = exact_releases([(np.arange(k), -np.ones(k))], n_items, neighbors=neighbors)
    right = totals[0][1] * state.right.unit
    if is_replace:  # the factor and the residual both change sign, and so the same sum: any sign is a full norm
        right = 2 * right
        assert np.array_equal(opposed.total(als.NormalEquations(), state)[1], totals[0][1])
    expected = right_sensitivity(k, 0.05, 0.5 * math.sqrt(0.01), Neighbors(neighbors))
    assert np.linalg.norm(right) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("unobserved", [0.0, 0.3])
def test_the_noise_is_that_of_the_sensitivities(monkeypatch, neighbors, unobserved):
    """Scales of all releases of two sweeps: sensitivity over the root of the share."""
    options = {"sweeps": 2, "max_ratings": 9, "user_norm": 0.4, "residual_bound": 0.7, "gram_share": 0.25}
    terms = {"neighbors": neighbors, "seed": 1}
    people, learn = make_people(12, 9, seed=1), learner(9, unobserved=unobserved, **options)
    made = Replay(monkeypatch).run(learn, people, 9, **terms)
    lattices = [release.terms[0] for release in made if release.mechanism != "counts"]
    releases, relation = make_releases(people, 9, **terms), Neighbors(neighbors)
    share, part = releases.left / 2, 0.05 if unobserved else 0.0
    expected = [
        (gram_sensitivity(9, 0.4, relation) / math.sqrt(2), 0.25 * share * (1 - part)),
        (right_sensitivity(9, 0.4, 0.7 * math.sqrt(0.05), relation), 0.75 * share),
    ]
    if unobserved:
        expected.append((gram_sensitivity(1, 0.4, relation) / math.sqrt(2), 0.25 * share * part))
    for lattice, (sensitivity, fraction) in zip(lattices, expected * 2, strict=True):
        assert lattice.scale == pytest.approx(sensitivity / (releases.mu * math.sqrt(fraction)), rel=1e-4)


# Limit


def alternate(people, n_items, rank, start, options):
    """Weighted alternating least squares without noise, in NumPy."""
    F, V = start.features, scatter_normals(n_items, rank) * math.sqrt(start.ridge / options.ridge)
    k, bound = options.max_ratings, options.residual_bound * math.sqrt(start.ridge)
    for _ in range(options.sweeps):
        W = np.hstack([F, V])
        A, b, G = np.zeros((n_items, rank, rank)), np.zeros((n_items, rank)), np.zeros((rank, rank))
        for items, ratings in people:
            o, y = items, np.float32(ratings) - start.base[items]
            normal = W[o].T @ W[o] + start.unobserved * W.T @ W + start.ridge * np.eye(W.shape[1])
            z = np.linalg.solve(normal, W[o].T @ y)
            u = z[F.shape[1] :] * min(1.0, options.user_norm / np.linalg.norm(z[F.shape[1] :]))
            r = np.clip(y - F[o] @ z[: F.shape[1]], -bound, bound)
            w = np.maximum(start.counts[o], 1.0) ** -options.weight_exponent
            if options.bounding == "adaptive":
                w *= math.sqrt(k / (w @ w))
            elif options.bounding == "tail":
                w = (np.argsort(np.argsort(start.counts[o], kind="stable")) < k).astype(float)
            A[o] += w[:, None, None] * np.outer(u, u)
            b[o] += (w * r)[:, None] * u
            G += np.outer(u, u)
        V = np.linalg.solve(A + start.unobserved * G + options.ridge * np.eye(rank), b[:, :, None])[:, :, 0]
    return V


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("bounding", ["tail", "adaptive"])
@pytest.mark.parametrize("is_implicit", [False, True])
def test_without_noise_it_is_weighted_alternating_least_squares(neighbors, bounding, is_implicit):
    """Users and residuals are shortened on the way, and some have more ratings than count.

    Integer vectors of users with full weights and a long factor are cut off toward zero, by 2^-17 of their length.
    """
    people, n_items, rank = make_people(200, 12, seed=3, n_ratings=8.0), 12, 2
    people = [(np.sort(items), ratings[np.argsort(items)]) for items, ratings in people]
    options = AlternatingLeastSquares(
        sweeps=3, bounding=bounding, max_ratings=6, user_norm=0.8, residual_bound=2.0, ridge=3.0
    )
    start = make_start(n_items, n_features=0 if is_implicit else 2, unobserved=0.1 * is_implicit, seed=4)
    releases = exact_releases(people, n_items, neighbors=neighbors, is_implicit=is_implicit)
    V = learn_als(releases, rank, start, options)
    known = [(items, np.ones(len(items))) for items, _ in people] if is_implicit else people
    expected = alternate(known, n_items, rank, start, options)
    assert np.abs(V - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("is_implicit", [False, True])
def test_one_sweep_without_noise_is_right_to_six_digits(is_implicit):
    """Factors are not shortened and weights are 1, so that nothing but rounding to the lattice is left."""
    people, n_items = make_people(3000, 12, seed=5, n_ratings=6.0), 12
    people = [(np.sort(items), ratings[np.argsort(items)]) for items, ratings in people]
    options = AlternatingLeastSquares(
        sweeps=1, bounding="tail", max_ratings=12, user_norm=3.0, residual_bound=9.0, ridge=3.0
    )
    start = make_start(n_items, unobserved=0.1 * is_implicit, seed=4)
    V = learn_als(exact_releases(people, n_items, is_implicit=is_implicit), 2, start, options)
    known = [(items, np.ones(len(items))) for items, _ in people] if is_implicit else people
    expected = alternate(known, n_items, 2, start, options)
    assert np.abs(V - expected).max() < 1e-6 * np.abs(expected).max()


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


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_planted_factors_are_found(bounding):
    n_items, ridge = 40, 0.15**2
    options = AlternatingLeastSquares(bounding=bounding, max_ratings=20, ridge=10.0)
    for seed in (11, 12, 13):
        X, is_known, people = planted_people(1500, n_items, seed)
        releases = make_releases(people, n_items, epsilon=8.0, seed=seed)
        V = learn_als(releases, 2, make_start(n_items, ridge), options)
        assert 0.01 < relative_error(V, X, is_known, people, ridge) < 0.35


def test_more_budget_is_less_error_and_little_budget_does_no_harm():
    n_items, ridge = 40, 0.15**2
    X, is_known, people = planted_people(1500, n_items, 14)
    errors = []
    for epsilon in (0.01, 1.0, 50.0):
        releases = make_releases(people, n_items, epsilon=epsilon, seed=2)
        V = learn_als(releases, 2, make_start(n_items, ridge), AlternatingLeastSquares(ridge=10.0))
        errors.append(relative_error(V, X, is_known, people, ridge))
    assert 1.1 > errors[0] > 1.2 * errors[1] > 1.2**2 * errors[2]


# Identities


@pytest.mark.parametrize("bounding", BOUNDINGS)
@pytest.mark.parametrize("unobserved", [0.0, 0.2])
def test_the_same_bits_for_any_threads_blocks_and_order(bounding, unobserved):
    people = make_people(400, 40, seed=5, n_ratings=30.0)
    shuffled = [people[i] for i in np.random.default_rng(7).permutation(400)]

    def learn(people, **terms):
        terms = {"event": Gaussian(0.5), "seed": 6, "threads": 1, **terms}
        run = learner(40, n_features=1, unobserved=unobserved, sweeps=3, bounding=bounding, max_ratings=9)
        return run(exact_releases(people, 40, **terms))

    expected = learn(people)
    assert np.array_equal(learn(people, block_rows=7), expected)
    assert np.array_equal(learn(people, threads=4, block_rows=10), expected)
    assert np.array_equal(learn(shuffled), expected)
    assert not np.array_equal(learn(people, seed=8), expected)


def test_scaling_all_ratings_scales_the_factors():
    """No option needs a change: bounds are in units of the noise of a rating, which the ridge of the users tells."""
    people = make_people(100, 10, seed=9)
    halved = [(items, np.float32(ratings) / 2) for items, ratings in people]
    factors = [
        learn_als(exact_releases(data, 10, event=Gaussian(0.1)), 2, make_start(10, ridge), AlternatingLeastSquares())
        for data, ridge in ((people, 0.04), (halved, 0.01))
    ]
    assert np.allclose(factors[0], 2 * factors[1], rtol=1e-4, atol=1e-6 * np.abs(factors[0]).max())


def test_a_common_matrix_of_zeros_changes_nothing():
    rng = np.random.default_rng(10)
    A, b = rng.standard_normal((2500, 10)), rng.standard_normal((2500, 4))
    plain = als._solve_items(A, b, 0.7, 0.7 * 0.3)
    assert np.allclose(als._solve_items_beside(np.zeros((4, 4)), A, b, 0.7, 0.3), plain, atol=1e-12)
    # The negative part of the common matrix is noise.
    assert np.allclose(als._solve_items_beside(-np.eye(4), A, b, 0.7, 0.3), plain, atol=1e-12)


def test_everything_is_spent_or_the_share_that_was_given():
    people, options = make_people(30, 8, seed=10), AlternatingLeastSquares(sweeps=7)
    for unobserved in (0.0, 0.1):
        start = make_start(8, unobserved=unobserved)
        releases = make_releases(people, 8, seed=1)
        learn_als(releases, 2, start, options)
        assert releases.left == 0.0
        releases = make_releases(people, 8, seed=1)
        learn_als(releases, 2, start, options, releases.left - 0.3)
        assert 0.3 <= releases.left < 0.3 + 1e-9
        releases.vector_lattice(1.0, 0.3)  # what the caller kept is there, exactly


def test_given_factors_are_the_start():
    """A sweep from the factors of another sweep is the second sweep of both."""
    people, start = make_people(60, 10, seed=11), make_start(10)
    both = learn_als(exact_releases(people, 10), 2, start, AlternatingLeastSquares(sweeps=2))
    for _ in range(2):
        V = learn_als(exact_releases(people, 10), 2, start, AlternatingLeastSquares(sweeps=1))
        start = CompletionModel(start.base, start.features, V, start.ridge, start.counts)
    assert np.allclose(V, both, rtol=0, atol=1e-4 * np.abs(both).max())


def test_the_data_holder_hears_how_many_factors_were_shortened(caplog):
    people = [(np.arange(6), np.ones(6))] * 4 + [(np.arange(0), np.zeros(0))]
    with caplog.at_level(logging.INFO, "hushrank"):
        learner(6, rank=1, sweeps=1, user_norm=1e-3)(make_releases(people, 6, seed=1))
    assert "Factors of 4 users are longer than 0.001: shortened. Not private." in caplog.messages
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_users_without_ratings_and_no_users_at_all():
    nobody = [(np.arange(0), np.zeros(0))] * 3
    for people, neighbors in ((nobody, "replace"), ([], "add_remove")):
        for unobserved in (0.0, 0.1):
            V = learner(5, unobserved=unobserved)(make_releases(people, 5, neighbors=neighbors, seed=1))
            assert V.shape == (5, 2) and np.isfinite(V).all()


def test_norms_for_the_lattices():
    assert gram_norm(16, 0.5) == pytest.approx(2 * 0.5) and right_norm(16, 0.5, 0.2) == pytest.approx(4 * 0.1)


# Refusals


WRONG = [(name, value) for name, line in AlternatingLeastSquares._params.items() for value in line.wrong_values()]


@pytest.mark.parametrize("name, value", WRONG, ids=[f"{name}-{i}" for i, (name, _) in enumerate(WRONG)])
def test_wrong_options_are_refused(name, value):
    with pytest.raises(InvalidParameter, match=f"^{name} of AlternatingLeastSquares must be "):
        AlternatingLeastSquares(**{name: value})


@pytest.mark.parametrize("rank", [0, 6])
def test_a_rank_that_does_not_fit_is_refused_before_anything_is_released(rank):
    releases = make_releases(make_people(5, 5, seed=1), 5)
    with pytest.raises(InvalidParameter, match=r"^rank of AlternatingLeastSquares must be between 1 and .* 5; got"):
        learner(5, rank=rank)(releases)
    assert releases.left == 1.0 and not releases.executed


def test_a_start_with_another_number_of_factors_is_refused():
    start = CompletionModel(np.zeros(5), np.zeros((5, 0)), np.ones((5, 3)), 0.1, np.ones(5))
    releases = make_releases(make_people(5, 5, seed=1), 5)
    with pytest.raises(InvalidParameter, match=r"^start of AlternatingLeastSquares must be a model without factors or"):
        learn_als(releases, 2, start, AlternatingLeastSquares())
    assert releases.left == 1.0 and not releases.executed
