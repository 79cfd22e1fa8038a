"""The released model and what a user makes of it: the ridge regression of NumPy."""

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


def test_many_users_are_many_times_one():
    model, together = some_model(0.2), block_of(PEOPLE)
    alone = [model.fold_in(block_of([person]))[0] for person in PEOPLE]
    assert np.array_equal(model.fold_in(together), alone)


def test_scores_of_some_items_are_those_of_all():
    model, chosen = some_model(), np.array([4, 0])
    Z = model.fold_in(block_of(PEOPLE))
    assert np.allclose(model.at(chosen).scores(Z), model.scores(Z)[:, chosen], rtol=0, atol=1e-12)
