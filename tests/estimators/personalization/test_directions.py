"""Shared directions one by one: the same span, turned to where heads vary, and what of them is noise."""

import numpy as np
import pytest

from hushrank.estimators.personalization.directions import direction_strength, find_directions
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.evaluation.synthetic import shared_representation


@pytest.fixture(scope="module")
def data():
    return shared_representation(3000, 8, 2, n_records=8, noise=0.1, seed=1)


@pytest.fixture(scope="module")
def model(data):
    return PrivateRepresentation(3, epsilon=4.0, delta=1e-6, random_state=1).fit(data.X, data.y, data.users)


def test_one_direction_too_many_is_noise(model, data):
    assert model.n_significant_ == 2 and model.strength_[1] > 2.0 and model.strength_[2] < 1.0
    cosines = np.linalg.norm(data.embedding.T @ model.directions_, axis=0)
    assert cosines[0] > 0.99 and cosines[1] > 0.99 and cosines[2] < 0.5


def test_directions_span_the_embedding_and_heads_vary_independently(model):
    D, U = model.directions_, model.embedding_
    assert np.allclose(D.T @ D, np.eye(3)) and np.allclose(D @ D.T, U @ U.T)
    turn = U.T @ D
    second = turn.T @ (model.head_covariance_ + np.outer(model.head_mean_, model.head_mean_)) @ turn
    assert np.allclose(second, np.diag(np.diag(second)), atol=1e-9) and (np.diff(np.diag(second)) <= 0).all()
    found = model._directions
    assert found.shares == pytest.approx(np.diag(second) / np.trace(second)) and found.shares.sum() == pytest.approx(1)
    assert found.means == pytest.approx(D.T @ U @ model.head_mean_)


def test_without_structure_nothing_stands_above_the_noise(data):
    for seed in range(3):
        y = np.random.default_rng(seed).standard_normal(len(data.y))
        found = PrivateRepresentation(2, epsilon=2.0, delta=1e-6, random_state=seed).fit(data.X, y, data.users)
        assert found.n_significant_ == 0 and not found.strength_.any()


def test_without_heads_directions_are_those_of_the_embedding():
    U = np.eye(4)[:, :2]
    found = find_directions(U, np.zeros(2), np.zeros((2, 2)))
    assert (found.vectors == U).all() and not found.shares.any()


def test_a_strength_needs_both_deviations_and_a_part_of_the_gain():
    shares = np.array([0.5, 0.5])
    assert direction_strength(shares, 0.12, 0.01) == pytest.approx([2.0, 2.0])
    assert direction_strength(shares, 0.12, 0.0001) == pytest.approx([3.0, 3.0])
    assert direction_strength(shares, -0.1, 0.01).tolist() == [0.0, 0.0]


def test_a_pure_choice_has_no_strengths(data):
    few = data.users < 200
    pure = PrivateRepresentation(1, epsilon=5.0, delta=0.0, method="exponential", random_state=1)
    pure.fit(data.X[few, :3], data.y[few], data.users[few])
    assert not hasattr(pure, "strength_") and not hasattr(pure, "n_significant_") and pure.directions_.shape == (3, 1)
    assert not hasattr(PrivateRepresentation(1, epsilon=1.0, delta=1e-6), "directions_")
