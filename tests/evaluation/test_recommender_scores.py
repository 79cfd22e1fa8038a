"""Exact numbers of recommenders and references, against plain ones."""

import numpy as np
import pytest

from evaluation_support import N_ITEMS, fit_recommender, made_up
from hushrank.data.ratings.leave_out import LeaveOut
from hushrank.data.ratings.reading import read_ratings
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.recommender_scores import (
    FACTORS,
    GLOBAL_MEAN,
    ITEM_MEANS,
    measure,
    measure_reference,
    raw_references,
)

RULE = LeaveOut(0.2, 5, 0)


@pytest.fixture(scope="module")
def parts():
    """All ratings, and their history and held-out part."""
    ratings = read_ratings(made_up().table(), owner="test", items=N_ITEMS, rating_range=(1, 5))
    [block] = ratings.blocks()
    return ratings, *RULE.split(block)


def test_references_are_those_of_the_history(parts):
    ratings, history, held_out = parts
    lines = {name: numbers for name, *numbers in measure(fit_recommender(), ratings, history, RULE, 10)}
    counts = np.bincount(history.items, minlength=N_ITEMS)
    means = np.bincount(history.items, history.values, N_ITEMS) / counts
    rmse = 2 * root_mean_squared_error(means[held_out.items], held_out.values)
    assert lines[ITEM_MEANS][0] == pytest.approx(rmse, rel=1e-6)
    assert lines[GLOBAL_MEAN][0] == pytest.approx(
        2 * root_mean_squared_error(np.full(len(held_out.items), history.values.mean()), held_out.values), rel=1e-6
    )
    assert lines[GLOBAL_MEAN][1] is None
    recalls = []
    for i in range(len(history)):
        known = history.items[history.indptr[i] : history.indptr[i + 1]]
        listed = [j for j in np.argsort(-counts, kind="stable") if j not in known][:10]
        own = slice(held_out.indptr[i], held_out.indptr[i + 1])
        liked = held_out.items[own][held_out.values[own] > 0].tolist()
        if liked:
            recalls.append(len(set(listed) & set(liked)) / min(len(liked), 10))
    assert lines[ITEM_MEANS][1] == pytest.approx(np.mean(recalls))


def test_a_model_with_little_noise_beats_its_means_and_a_factorization_comes_close(parts):
    ratings, history, _ = parts
    (_, model, _), (_, means, _), *_ = measure(fit_recommender(), ratings, history, RULE, 10)
    name, best, recall = measure_reference(ratings, history, RULE, 2, 4.0)
    assert name == FACTORS and recall is None and 0.5 < best < means and 0.5 < model < means


def test_implicit_feedback_has_no_errors(parts):
    ratings, history, _ = parts
    lines = measure(fit_recommender("implicit"), ratings, history, RULE, 5)
    assert [line[1] for line in lines] == [None] * 3 and all(0.0 < line[2] <= 1.0 for line in lines)


def test_where_nothing_is_held_out_there_are_no_numbers():
    ratings = read_ratings(np.array([[5.0, *[np.nan] * (N_ITEMS - 1)]]), owner="test", rating_range=(1, 5))
    [block] = ratings.blocks()
    lines = measure(fit_recommender(), ratings, block, RULE, 5)
    assert all(line[1:] == (None, None) for line in lines)
    assert measure_reference(ratings, block, RULE, 2, 4.0)[1] is None


def test_items_without_ratings_have_the_mean_of_all(parts):
    _, history, _ = parts
    means, center = raw_references(history, N_ITEMS + 1)
    assert means.expected[-1] == pytest.approx(center.expected[0]) and means.order[-1] == 0.0
