"""Errors and recall of users: against plain NumPy, alone or among others, bounded whatever the parameters are."""

import numpy as np
import pytest

from hushrank.estimators.completion.held_out_kernels import Scorer, count_liked_of_users, measure_users
from hushrank.estimators.completion.rating_kernels import RatingArrays

N_ITEMS, WIDTH = 30, 5


def arrays(users):
    """Users as lists of pairs of item and value."""
    items = np.array([item for own in users for item, _ in own], np.int32)
    values = np.array([value for own in users for _, value in own], np.float32)
    return RatingArrays(np.append(0, np.cumsum([len(own) for own in users])).astype(np.int64), items, values)


def some_users(n, seed):
    """Histories, held-out ratings and coefficients."""
    rng, history, held_out = np.random.default_rng(seed), [], []
    for _ in range(n):
        items = np.sort(rng.choice(N_ITEMS, rng.integers(0, 12), replace=False))
        own = [(int(item), float(rng.integers(-2, 3)) / 2) for item in items]
        history.append(own[::2])
        held_out.append(own[1::2])
    return history, held_out, rng.standard_normal((n, WIDTH))


def scorer_of(seed, scale=0.3):
    rng = np.random.default_rng(seed)
    return Scorer(
        scale * rng.standard_normal(N_ITEMS), rng.random(N_ITEMS), scale * rng.standard_normal((WIDTH, N_ITEMS))
    )


def measured(history, held_out, scorer, Z, length=4):
    errors, recalls = np.full((2, len(history)), np.nan)
    measure_users(arrays(history), arrays(held_out), scorer, Z, length, errors, recalls)
    return errors, recalls


def plainly(history, held_out, scorer, z, length):
    """The same of one user by NumPy."""
    predicted = np.clip(scorer.expected + z @ scorer.columns, -1, 1)
    error = sum(((value - predicted[item]) / 2) ** 2 for item, value in held_out)
    liked = [item for item, value in held_out if value > 0]
    scores = scorer.order + z @ scorer.columns
    scores[[item for item, _ in history]] = -np.inf
    listed = np.argsort(-scores, kind="stable")[:length]
    return error, len(set(liked) & set(listed)) / min(len(liked), length) if liked else 0.0


@pytest.mark.parametrize("length", [1, 4, N_ITEMS])
def test_against_numpy(length):
    history, held_out, Z = some_users(40, 1)
    scorer = scorer_of(2)
    errors, recalls = measured(history, held_out, scorer, Z, length)
    expected = [plainly(*one, scorer, z, length) for *one, z in zip(history, held_out, Z, strict=True)]
    assert np.column_stack([errors, recalls]) == pytest.approx(np.array(expected), abs=1e-12)
    assert 0.0 < recalls.mean() <= 1.0


def test_a_user_has_the_same_bits_alone_and_among_others():
    history, held_out, Z = some_users(25, 3)
    scorer = scorer_of(4)
    together = np.column_stack(measured(history, held_out, scorer, Z))
    for i in reversed(range(25)):
        alone = np.column_stack(measured(history[i : i + 1], held_out[i : i + 1], scorer, Z[i : i + 1]))
        assert alone.tobytes() == together[i : i + 1].tobytes()


def test_numbers_are_bounded_whatever_the_model_says():
    history, held_out, Z = some_users(40, 5)
    for scale in (1e300, np.inf, np.nan):
        errors, recalls = measured(history, held_out, scorer_of(6, scale), Z * 1e10)
        assert (errors <= [len(own) for own in held_out]).all() and (errors >= 0.0).all()
        assert ((recalls >= 0.0) & (recalls <= 1.0)).all()


def test_equal_scores_are_listed_in_the_order_of_the_catalogue_without_the_history():
    scorer = Scorer(np.zeros(6), np.zeros(6), np.empty((0, 6)))
    history, held_out = [[(0, 1.0)], [(5, 1.0)]], [[(2, 0.5), (3, 1.0)], [(2, 0.5), (3, 1.0)]]
    _, recalls = measured(history, held_out, scorer, np.empty((2, 0)), 2)
    assert recalls.tolist() == [0.5, 0.0]  # lists 1, 2 and 0, 1


def test_items_that_were_not_liked_need_not_be_found():
    scorer = Scorer(np.zeros(4), np.array([0.0, 3.0, 2.0, 1.0]), np.empty((0, 4)))
    errors, recalls = measured([[]], [[(1, 0.0), (2, -1.0)]], scorer, np.empty((1, 0)), 2)
    assert recalls.tolist() == [0.0] and errors.tolist() == [0.25]


def test_liked_items_are_counted():
    numbers = np.empty(3)
    count_liked_of_users(arrays([[(0, 1.0), (1, 0.0), (2, 0.01)], [], [(3, -1.0)]]), numbers)
    assert numbers.tolist() == [2.0, 0.0, 0.0]
