"""What features explain of labels: the range of the theorem, the best head, zero without signal, odd numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.personalization.logistic_scores import LogisticHeads, explain_labels, new_scratch


def explain(X, y, W, *, ridge=0.05, row_norm=4.0, head_norm=4.0):
    work = new_scratch(len(y), W.shape[1])
    return explain_labels(X, y, len(y), W, LogisticHeads(ridge, row_norm, head_norm), work), work


@given(
    seed=st.integers(0, 10**6), size=st.sampled_from([1e-8, 1.0, 1e3, 1e160, 1e300]), norm=st.sampled_from([0.01, 1, 9])
)
@settings(max_examples=100, deadline=None)
def test_what_is_explained_lies_in_the_range_of_the_theorem(seed, size, norm):
    rng = np.random.default_rng(seed)
    X, y = size * rng.standard_normal((5, 3)), rng.standard_normal(5)
    found, work = explain(X, y, rng.standard_normal((3, 2)), row_norm=0.3, head_norm=norm)
    assert found <= min(math.log(2), 0.3 * norm) + 1e-15
    assert np.linalg.norm(work.v) <= norm * (1 + 1e-15)
    assert np.linalg.norm(work.Z, axis=1).max() <= 0.3 * (1 + 1e-15)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_fixed_number_of_steps_ends_near_the_best_head(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 2))
    y = X[:, 0] + rng.standard_normal(8)
    found, work = explain(X, y, np.eye(2), ridge=0.2)
    margins = work.Z @ work.v
    gradient = work.Z.T @ (1 / (1 + np.exp(margins))) - 0.4 * work.v
    inside = np.linalg.norm(work.v) < 4.0 * (1 - 1e-9)
    assert np.abs(gradient).max() < 1e-4 if inside else found > 0


def test_labels_that_features_separate_are_explained_and_others_are_not():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    assert explain(X, X[:, 0], np.eye(1), head_norm=50.0, ridge=1e-5)[0] == pytest.approx(math.log(2), abs=0.05)
    balanced = np.array([1.0, 1.0, -1.0, -1.0])
    symmetric = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    assert explain(symmetric, balanced, np.eye(1))[0] == pytest.approx(0.0, abs=1e-12)


def test_only_the_sign_of_an_answer_counts_and_zero_is_the_other_label():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((9, 3)), rng.standard_normal(9)
    W = rng.standard_normal((3, 2))
    labels = (y > 0).astype(float)
    assert explain(X, y, W)[0] == explain(X, 1e9 * y, W)[0] == explain(X, labels, W)[0]


def test_features_beyond_float64_count_as_zero():
    X = np.array([[1.0, 0.5], [1e300, 1e300], [-1.0, 0.2]])
    found, work = explain(X, np.ones(3), 1e10 * np.eye(2))
    assert math.isfinite(found) and not work.Z[1].any() and work.Z[0].any()
