"""Metrics on matrices, predictions and recommendations whose answers are known."""

import numpy as np
import pytest

from hushrank.evaluation.metrics import captured_variance, recall_at_k, root_mean_squared_error


def test_captured_variance():
    true, e = np.diag([5.0, 3.0, 1.0]), np.eye(3)
    assert captured_variance(e[:2], true) == pytest.approx(1.0)
    assert captured_variance(e[1:], true) == pytest.approx(4.0 / 8.0)
    assert captured_variance(e[2:], true) == pytest.approx(1.0 / 5.0)
    turned = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0]])
    assert captured_variance(turned, true) == pytest.approx(1.0)  # another basis of the same plane


def test_root_mean_squared_error():
    true = np.array([[1.0, -2.0], [0.5, 4.0]])
    assert root_mean_squared_error(true, true) == 0.0
    assert root_mean_squared_error(true + np.diag([3.0, -4.0]), true) == pytest.approx(2.5)
    assert root_mean_squared_error([1, 2], [1, 4]) == pytest.approx(2**0.5)


def test_recall_counts_what_could_have_been_recommended():
    recommended = np.array([[1, 2, 3], [4, 5, 6]])
    assert recall_at_k(recommended, [{1, 2, 3}, {6, 5, 4}]) == 1.0
    assert recall_at_k(recommended, [{7}, [8, 9]]) == 0.0
    assert recall_at_k(recommended, [{1, 9}, {7}]) == pytest.approx((1 / 2 + 0) / 2)
    assert recall_at_k(recommended, [{1, 2, 7, 8, 9}, {4}]) == pytest.approx((2 / 3 + 1) / 2)  # 3 places, 5 relevant


def test_users_without_relevant_items_are_left_out_of_the_recall():
    assert recall_at_k(np.array([["a", "b"], ["c", "d"]]), [{"b"}, set()]) == 1.0
    assert recall_at_k(np.array([[1, 2]]), [[]]) == 0.0
    assert recall_at_k(np.empty((0, 3), int), []) == 0.0


def test_recall_needs_one_collection_a_user():
    with pytest.raises(ValueError, match="shorter"):
        recall_at_k(np.array([[1], [2]]), [{1}])
