"""What models find of a user's items from the user's others: against plain NumPy, alone or among others, bounded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimators.completion.recall_kernels import (
    RankedModels,
    add_recall_gains,
    is_asked,
    sum_recall_gains,
)
from hushrank.estimators.completion.user_sums import place_items
from hushrank.linalg.scatter import Bound
from hushrank.privacy.events import Gaussian
from hushrank.privacy.mechanisms.vector import vector_l2_sensitivity, vector_lattice
from user_support import assert_rounded, exact_squares, random_users, ratings_of, shorten

LIMIT = 2**40
N_ITEMS, WIDTH = 40, 7
COLUMNS = ((0, 0), (0, 3), (3, 7), (0, 7))  # popularity, some columns, others, all


def make_models(seed, *, n_listed=None, length=5, ridge=0.7):
    rng = np.random.default_rng(seed)
    base, U = 1e-3 * rng.random(N_ITEMS), rng.standard_normal((N_ITEMS, WIDTH))
    listed = np.sort(rng.permutation(N_ITEMS)[: n_listed or N_ITEMS])
    return models_of(base, U, listed, length=length, ridge=ridge, unobserved=0.3)


def models_of(base, U, listed=None, *, length, ridge=1.0, unobserved=1.0, columns=COLUMNS):
    listed = np.arange(len(base)) if listed is None else listed
    firsts, stops = (np.array(ends, np.int64) for ends in zip(*columns, strict=True))
    terms = {"base": base, "U": U, "penalty": unobserved * U.T @ U, "ridge": ridge, "firsts": firsts, "stops": stops}
    places = {"listed": listed.astype(np.int32), "places": place_items(listed, len(base))}
    return RankedModels(**terms, **places, columns=np.ascontiguousarray(U[listed].T), length=length, one_in=1)


def total_of(users, models, bound=None):
    total = np.zeros((1, len(models.firsts) - 1), np.int64)
    add_recall_gains(ratings_of(users), models, bound or Bound(2.0, float(LIMIT)), total)
    return total


def person(*items):
    return np.sort(items), np.ones(len(items))


def plain_recalls(items, models):
    """Recall of every model by NumPy, the mean of both halves."""
    recalls = np.zeros(len(models.firsts))
    if len(items) < 2:
        return recalls
    for half in (0, 1):
        known, hidden = items[half::2], items[1 - half :: 2]
        for v, (first, stop) in enumerate(zip(models.firsts, models.stops, strict=True)):
            W, penalty = models.U[:, first:stop], models.penalty[first:stop, first:stop]
            normal = W[known].T @ W[known] + penalty + models.ridge * np.eye(stop - first)
            scores = models.base + W @ np.linalg.solve(normal, W[known].T @ (1.0 - models.base[known]))
            candidates = [j for j in models.listed.tolist() if j not in set(known.tolist())]
            found = sorted(candidates, key=lambda j: (-scores[j], j))[: models.length]
            recalls[v] += len(set(found) & set(hidden.tolist())) / min(len(hidden), models.length) / 2
    return recalls


# 1. Sensitivity


@given(st.integers(0, 2**32), st.integers(2, 2**44), st.floats(1e-3, 10.0))
@settings(deadline=None, max_examples=50)
def test_no_user_adds_more_than_the_bound(seed, limit, norm):
    models = make_models(seed)
    for user in [*random_users(np.random.default_rng(seed), 5, N_ITEMS), person(*range(N_ITEMS))]:
        assert exact_squares(total_of([user], models, Bound(norm, float(limit)))) <= limit


def opposed_models():
    """Models that find everything for one user and nothing for another; popularity the other way round.

    Items 0 and 1 go together. Items 2 and 3 are popular; who has one of them is told item 4.
    """
    base, U = np.array([0.0, 0.0, 2e-3, 1e-3, 0.0]), np.zeros((5, 6))
    U[:2, :3] = 1.0
    U[2:4, 3:], U[4, 3:] = 1.0, 3.0
    return models_of(base, U, length=1, columns=((0, 0), (0, 4), (1, 5), (2, 6)))


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_worst_pair_attains_the_sensitivity(neighbors):
    models = opposed_models()
    norm = 0.25 * np.sqrt(3)
    lattice = vector_lattice(norm, Gaussian(3.0), neighbors)
    bound = Bound(lattice.norm_bound, float(lattice.squared_bound))
    found, lost = (total_of([user], models, bound) for user in (person(0, 1), person(2, 3)))
    assert (found > 0).all() and np.array_equal(lost, -found)
    change = (found - lost if neighbors == "replace" else found) * lattice.unit
    assert np.linalg.norm(change) == pytest.approx(vector_l2_sensitivity(norm, lattice.neighbors), rel=1e-6)
    assert np.linalg.norm(change) == pytest.approx((2 if neighbors == "replace" else 1) * norm, rel=1e-6)
    factor = 4 if neighbors == "replace" else 1
    assert exact_squares(found - lost if neighbors == "replace" else found) <= factor * lattice.squared_bound


@pytest.mark.parametrize("seed", range(5))
def test_a_contribution_is_the_same_in_every_block(seed):
    rng = np.random.default_rng(seed)
    users, models = random_users(rng, 40, N_ITEMS), make_models(seed, n_listed=30)
    users += [person(*range(N_ITEMS)), person(), person(3), person(0, N_ITEMS - 1)]
    alone = [total_of([user], models) for user in users]
    assert np.array_equal(total_of(users, models), sum(alone))
    order = rng.permutation(len(users))
    assert np.array_equal(total_of([users[i] for i in order], models), sum(alone))
    for i in range(len(users)):  # whoever came before has left nothing behind
        others = total_of([users[order[0]], person(*range(N_ITEMS))], models)
        both = total_of([users[order[0]], person(*range(N_ITEMS)), users[i]], models)
        assert np.array_equal(both - others, alone[i])


def test_values_are_not_read():
    models, items = make_models(1), np.arange(0, 30, 3)
    rated = [(items, np.full(10, value)) for value in (1.0, -1.0, np.nan, 0.0)]
    assert all(np.array_equal(total_of([user], models), total_of(rated[:1], models)) for user in rated)


def test_numbers_that_are_not_finite_stay_with_their_user():
    models = make_models(2)
    broken = models._replace(U=np.full_like(models.U, np.nan), columns=np.full_like(models.columns, np.inf))
    for user in random_users(np.random.default_rng(3), 6, N_ITEMS):
        assert exact_squares(total_of([user], broken)) <= LIMIT


# 2. Limit: plain NumPy


@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from([None, 5, 25]), st.floats(1e-6, 100.0))
@settings(deadline=None, max_examples=60)
def test_gains_are_those_of_plain_numpy(seed, length, n_listed, ridge):
    models = make_models(seed, n_listed=n_listed, length=length, ridge=ridge)
    for user in [*random_users(np.random.default_rng(seed), 6, N_ITEMS), person(*range(N_ITEMS))]:
        recalls = plain_recalls(user[0], models)
        gains, _ = shorten(recalls[1:] - recalls[0], 2.0)
        assert_rounded(total_of([user], models)[0], gains, 2.0, LIMIT)


def test_lists_of_known_items_by_hand():
    base = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0]) * 1e-3
    U = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0])[:, None]
    models = models_of(base, U, length=2, columns=((0, 0), (0, 1)))
    # Items 4 and 5 go together: from one of them the other is found, and popularity finds neither.
    assert total_of([person(4, 5)], models)[0, 0] == round(np.sqrt(LIMIT) / 2)
    # Popularity finds 0 from 1 and 1 from 0, and so does the column, which tells them nothing.
    assert total_of([person(0, 1)], models)[0, 0] == 0


@pytest.mark.parametrize("seed", range(10))
def test_of_equal_scores_the_first_in_the_catalogue_are_listed(seed):
    rng = np.random.default_rng(seed)
    column = (rng.random((N_ITEMS, 1)) < 0.1).astype(float)  # all items score 0, or all but a few
    models = models_of(np.zeros(N_ITEMS), column, length=6, columns=((0, 0), (0, 1)))
    for user in random_users(rng, 20, N_ITEMS):
        recalls = plain_recalls(user[0], models)
        assert total_of([user], models)[0, 0] == pytest.approx((recalls[1] - recalls[0]) / 2 * np.sqrt(LIMIT), abs=0.6)


# 4. Identities


@pytest.mark.parametrize("user", [person(), person(7)])
def test_less_than_two_items_tell_nothing(user):
    assert not total_of([user], make_models(1)).any()


def test_who_has_everything_is_found_everything_by_every_model():
    assert not total_of([person(*range(N_ITEMS))], make_models(1, length=N_ITEMS)).any()


def test_items_off_the_list_are_folded_in_but_not_found():
    models = opposed_models()
    listed = np.array([1, 2, 3, 4])
    fewer = models_of(models.base, models.U, listed, length=1, columns=((0, 0), (0, 4), (1, 5), (2, 6)))
    assert (total_of([person(0, 1)], fewer) == total_of([person(0, 1)], models) // 2).all()


def test_one_in_so_many_sets_of_items_is_asked():
    rng = np.random.default_rng(0)
    sets = [np.sort(rng.permutation(1000)[: rng.integers(1, 60)]).astype(np.int32) for _ in range(20_000)]
    assert all(is_asked(own, 1) for own in sets[:100])
    for one_in in (2, 7, 50):
        share = np.mean([is_asked(own, one_in) for own in sets])
        assert share == pytest.approx(1 / one_in, abs=6 * np.sqrt(1 / one_in / len(sets)))
    assert is_asked(sets[0].copy(), 7) == is_asked(sets[0], 7)


def test_who_is_not_asked_adds_nothing():
    users, models = random_users(np.random.default_rng(4), 60, N_ITEMS), make_models(4)
    asked = [user for user in users if is_asked(np.asarray(user[0], np.int32), 3)]
    assert 5 < len(asked) < 40
    assert np.array_equal(total_of(users, models._replace(one_in=3)), total_of(asked, models))


def test_a_block_is_summed_within_the_bound_of_its_lattice():
    users, models = random_users(np.random.default_rng(5), 20, N_ITEMS), make_models(5)
    lattice = vector_lattice(0.25 * np.sqrt(3), Gaussian(2.0))
    block = UserBlock(*ratings_of(users))
    bound = Bound(lattice.norm_bound, float(lattice.squared_bound))
    assert np.array_equal(sum_recall_gains(block, (models, lattice)), total_of(users, models, bound)[0])
