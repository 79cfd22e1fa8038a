"""The best items of many users: those of a full sort, whatever the blocks, the threads and the number asked for."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimators.completion import top_items
from hushrank.estimators.completion.top_items import Predictor, best_items


def integers(n_users, n_items, width=3, seed=0):
    """Parameters whose products are exact in any order, with many equal predictions."""
    rng = np.random.default_rng(seed)
    predictor = Predictor(rng.integers(-2, 3, n_items) / 2, rng.integers(-1, 2, (n_items, width)) / 2, (3.0, 2.0))
    return predictor, rng.integers(-1, 2, (n_users, width)) / 4


def some_seen(n_users, n_items, most, seed=1):
    rng = np.random.default_rng(seed)
    items = [np.sort(rng.choice(n_items, rng.integers(0, most + 1), replace=False)) for _ in range(n_users)]
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in items])]).astype(np.int64)
    return UserBlock(indptr, np.concatenate(items).astype(np.int32), np.ones(indptr[-1], np.float32))


def sorted_best(predictor, coefficients, n, seen=None):
    """By a full sort of everything."""
    predicted = predictor.base + coefficients @ predictor.W.T
    if predictor.units is not None:
        predicted = predictor.units[0] + predictor.units[1] * predicted
    if seen is not None:
        predicted[np.repeat(np.arange(len(seen)), np.diff(seen.indptr)), seen.items] = -np.inf
    order = np.argsort(-predicted, axis=1, kind="stable")[:, :n]
    return order, np.take_along_axis(predicted, order, axis=1)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("users", "items"), [(256, 4096), (7, 64), (1, 1), (5, 100), (64, 33)])
@pytest.mark.parametrize("n", [1, 10, 150])
def test_blocks_and_threads_change_nothing(users, items, n, threads, monkeypatch):
    monkeypatch.setattr(top_items, "USERS_AT_ONCE", users)
    monkeypatch.setattr(top_items, "ITEMS_AT_ONCE", items)
    predictor, coefficients = integers(20, 150)
    for seen in (None, some_seen(20, 150, 30), some_seen(20, 150, 150)):
        assert_same(
            best_items(predictor, coefficients, n, seen, threads), sorted_best(predictor, coefficients, n, seen)
        )
    plain = Predictor(predictor.base, predictor.W)
    assert_same(best_items(plain, coefficients, n, None, threads), sorted_best(plain, coefficients, n))


def test_blocks_of_the_default_size_have_the_bits_of_one_product(monkeypatch):
    """Real numbers: what BLAS computes together stays together."""
    rng = np.random.default_rng(2)
    predictor = Predictor(rng.standard_normal(9000), rng.standard_normal((9000, 19)), (3.0, 2.0))
    coefficients = rng.standard_normal((40, 19))
    places, values = best_items(predictor, coefficients, 10)
    expected, scores = sorted_best(predictor, coefficients, 10)
    assert np.array_equal(places, expected) and np.allclose(values, scores, rtol=1e-14, atol=0)
    for size in (1024, 3001):
        monkeypatch.setattr(top_items, "ITEMS_AT_ONCE", size)
        others, other_values = best_items(predictor, coefficients, 10, threads=2)
        assert np.array_equal(others, places) and np.allclose(other_values, values, rtol=1e-14, atol=0)


def test_equal_predictions_come_in_the_order_of_the_catalogue():
    """At the border as well, where a partial sort took any of them."""
    predictor = Predictor(np.ones(500), np.zeros((500, 1)))
    places, _ = best_items(predictor, np.zeros((3, 1)), 7)
    assert places.tolist() == [list(range(7))] * 3


def test_nobody_and_those_who_have_seen_everything():
    predictor, coefficients = integers(2, 9)
    places, values = best_items(predictor, coefficients[:0], 4)
    assert places.shape == values.shape == (0, 4)
    everything = UserBlock(np.array([0, 9, 9]), np.arange(9, dtype=np.int32), np.ones(9, np.float32))
    places, values = best_items(predictor, coefficients, 4, everything)
    assert places[0].tolist() == [0, 1, 2, 3] and np.isneginf(values[0]).all() and np.isfinite(values[1]).all()


def test_memory_is_for_a_block_of_scores():
    predictor, coefficients = integers(600, 60_000)
    best_items(predictor, coefficients[:1], 10)
    tracemalloc.start()
    best_items(predictor, coefficients, 10, UserBlock(np.zeros(601, np.int64), np.empty(0, np.int32), np.empty(0)))
    assert tracemalloc.get_traced_memory()[1] < 2.5e7  # all scores would have 288 MB
    tracemalloc.stop()


def test_seen_items_of_a_matrix_stay_out():
    matrix = scipy.sparse.random(30, 80, 0.3, "csr", random_state=3)
    matrix.sort_indices()
    seen = UserBlock(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), np.ones(matrix.nnz, np.float32))
    predictor, coefficients = integers(30, 80)
    places, _ = best_items(predictor, coefficients, 5, seen)
    assert not matrix.astype(bool).toarray()[np.arange(30)[:, None], places].any()
