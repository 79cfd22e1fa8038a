"""The released model and what a user makes of it: the ridge regression of NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from hushrank.data.ratings.reading import UserBlock
from hushrank.estimators.completion.model import CompletionModel

N_ITEMS = 9


def some_model(unobserved=0.0, n_features=2, n_factors=3, seed=0):
    rng = np.random.default_rng(seed)
    features, factors = rng.standard_normal((N_ITEMS, n_features)), rng.standard_normal((N_ITEMS, n_factors))
    return CompletionModel(rng.uniform(-0.5, 0.5, N_ITEMS), features, factors, 0.3, np.ones(N_ITEMS), unobserved)


def block_of(people):
    indptr = np.cumsum([0, *(len(items) for items, _ in people)]).astype(np.int64)
    items, values = (np.concatenate(parts) for parts in zip(*people, strict=True))
    return UserBlock(indptr, items.astype(np.int32), values.astype(np.float32))


PEOPLE = [
    (np.array([0, 3, 8]), np.array([0.5, -1.0, 0.25])),
    (np.empty(0, int), np.empty(0)),
    (np.array([5]), np.array([1.0])),
    (np.arange(N_ITEMS), np.linspace(-1, 1, N_ITEMS)),
]


@pytest.mark.parametrize("unobserved", [0.0, 0.7])
@pytest.mark.parametrize(("n_features", "n_factors"), [(2, 3), (0, 3), (3, 0), (0, 0)])
def test_coefficients_are_the_ridge_solution_of_numpy(unobserved, n_features, n_factors):
    model = some_model(unobserved, n_features, n_factors)
    W = np.hstack([model.features, model.factors])
    found = model.fold_in(block_of(PEOPLE))
    assert found.shape == (4, n_features + n_factors) and np.array_equal(model.W, W)
    for z, (items, values) in zip(found, PEOPLE, strict=True):
        A = W[items].T @ W[items] + unobserved * W.T @ W + 0.3 * np.eye(W.shape[1])
        r = values.astype(np.float32) - model.base[items]
        assert z == pytest.approx(np.linalg.solve(A, W[items].T @ r), rel=1e-9, abs=1e-12)


def test_scores_are_base_and_coefficients():
    model = some_model()
    Z = model.fold_in(block_of(PEOPLE))
    assert model.scores(Z) == pytest.approx(model.base + Z @ model.W.T)
    assert np.array_equal(model.scores(Z)[1], model.base)  # without ratings


# Items that nobody has rated.

G = np.random.default_rng(3).standard_normal((N_ITEMS, 4))
IS_NEW = np.isin(np.arange(N_ITEMS), [2, 7])


def test_new_items_are_what_their_public_features_tell():
    told = 0.1 * np.random.default_rng(4).standard_normal((5, 6))
    model = replace(some_model(), new_item_map=told)
    changed = model.with_new(G, IS_NEW)
    for j in np.flatnonzero(IS_NEW):
        expected = told[0] + G[j] @ told[1:]
        assert [changed.base[j], *changed.features[j], *changed.factors[j]] == pytest.approx(expected)
    assert np.array_equal(changed.counts, model.counts)
    for name in ("base", "features", "factors"):
        assert np.array_equal(getattr(changed, name)[~IS_NEW], getattr(model, name)[~IS_NEW])
        assert not np.shares_memory(getattr(changed, name), getattr(model, name))
    assert changed.ridge == model.ridge and changed.new_item_map is told


def test_a_map_without_features_tells_the_same_of_every_new_item():
    told = np.array([[0.2, 1.0, -0.5, 0.0, 0.3, 0.0]])
    changed = replace(some_model(), new_item_map=told).with_new(np.zeros((N_ITEMS, 0)), IS_NEW)
    assert (changed.base[IS_NEW] == 0.2).all() and (changed.W[IS_NEW] == told[0, 1:]).all()


def test_ratings_of_new_items_are_expected_within_the_range():
    told = np.zeros((5, 6))
    told[1, 0] = 10.0
    for unobserved, expected in ((0.0, np.clip(10.0 * G[:, 0], -1, 1)), (0.7, 10.0 * G[:, 0])):  # or scores of choices
        changed = replace(some_model(unobserved), new_item_map=told).with_new(G, IS_NEW)
        assert changed.base[IS_NEW] == pytest.approx(expected[IS_NEW])
    assert np.abs(changed.base[IS_NEW]).max() > 1


def test_without_new_items_or_without_a_map_the_model_is_itself():
    model = some_model()
    assert model.new_item_map is None and model.is_new is None
    assert model.with_new(G, IS_NEW) is model
    known = replace(model, new_item_map=np.ones((5, 6)))
    assert known.with_new(G, np.zeros(N_ITEMS, bool)) is known


def test_that_nobody_has_chosen_a_new_item_tells_nothing():
    model = replace(some_model(0.7), is_new=IS_NEW)
    W, known = model.W, model.W[~IS_NEW]
    for z, (items, values) in zip(model.fold_in(block_of(PEOPLE)), PEOPLE, strict=True):
        A = W[items].T @ W[items] + 0.7 * known.T @ known + 0.3 * np.eye(W.shape[1])
        r = values.astype(np.float32) - model.base[items]
        assert z == pytest.approx(np.linalg.solve(A, W[items].T @ r), rel=1e-9, abs=1e-12)
    nothing_new = replace(model, is_new=np.zeros(N_ITEMS, bool))
    assert np.array_equal(nothing_new.fold_in(block_of(PEOPLE)), some_model(0.7).fold_in(block_of(PEOPLE)))


def test_many_users_are_many_times_one():
    model, together = some_model(0.2), block_of(PEOPLE)
    alone = [model.fold_in(block_of([person]))[0] for person in PEOPLE]
    assert np.array_equal(model.fold_in(together), alone)


def test_scores_of_some_items_are_those_of_all():
    model, chosen = some_model(), np.array([4, 0])
    Z = model.fold_in(block_of(PEOPLE))
    assert np.allclose(model.at(chosen).scores(Z), model.scores(Z)[:, chosen], rtol=0, atol=1e-12)
