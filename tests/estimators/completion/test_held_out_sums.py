"""What users add to an evaluation: within its bound for everybody, and as much as the bound for the worst."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation_support import N_ITEMS, fit_recommender, worst_recommender
from hushrank.data.ratings.grouping import UserBlock
from hushrank.data.ratings.leave_out import LeaveOut
from hushrank.estimators.completion.evaluation_plan import evaluation_sensitivity, plan_evaluation
from hushrank.estimators.completion.held_out_ratings import make_recommender_contest
from hushrank.estimators.completion.held_out_sums import (
    constant_scorer,
    make_contest,
    released_baseline,
    sum_numbers,
    user_numbers,
)
from hushrank.estimators.completion.model import CompletionModel
from hushrank.privacy.guarantee import Budget

RULE = LeaveOut(0.4, 4, 0)
BUDGETS = {"gaussian": Budget(1.0, 1e-6, unit="user"), "pure": Budget(1.0, unit="user")}
BUDGETS |= {f"{name}, add": Budget(one.epsilon, one.delta, "add_remove", "user") for name, one in BUDGETS.items()}


@pytest.fixture(scope="module")
def contest():
    return make_recommender_contest(fit_recommender(), RULE, 5, baselines=True)


def person(values, items=None):
    items = np.arange(len(values)) if items is None else np.array(items)
    return UserBlock(np.array([0, len(values)]), items.astype(np.int32), np.array(values, np.float32))


def release_for(budget, has_errors=True):
    return plan_evaluation(budget, ("model", "baseline"), float(RULE.most), has_errors=has_errors, n_max=2**26)


def size(total, lattice):
    """Of a change, in the norm of the release, over what it may be."""
    change = total.astype(np.float64)
    if hasattr(lattice, "l1_bound"):
        factor = 1 if lattice.neighbors == "add_remove" else 2
        return np.abs(change).sum() / (factor * lattice.l1_bound)
    factor = 1 if lattice.neighbors == "add_remove" else 4
    return np.sqrt((change**2).sum() / (factor * lattice.squared_bound))


VALUES = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.3, 1.0]), max_size=N_ITEMS)


@settings(max_examples=30, deadline=None)
@given(one=VALUES, other=VALUES, first=st.integers(0, 5))
@pytest.mark.parametrize("name", BUDGETS)
def test_nobody_moves_the_sums_by_more_than_their_bound(contest, name, one, other, first):
    release = release_for(BUDGETS[name])
    blocks = [person(one), person(other[first:], range(first, max(len(other), first)))]
    totals = [sum_numbers(block, (contest, release)) for block in blocks]
    change = totals[0] if release.lattice.neighbors == "add_remove" else totals[0] - totals[1]
    assert size(change, release.lattice) <= 1.0
    numbers = np.vstack([user_numbers(block, contest) for block in blocks])
    assert (numbers >= 0.0).all() and (numbers <= release.most).all()


@pytest.mark.parametrize("name", BUDGETS)
def test_a_worst_pair_attains_the_bound(name):
    """Somebody who loved everything that the model predicts to be worst and lists first, against nobody's ratings."""
    worst = make_recommender_contest(worst_recommender(), RULE, N_ITEMS, baselines=True)
    loved, silent = person(np.ones(N_ITEMS)), person([])
    release = release_for(BUDGETS[name])
    assert user_numbers(loved, worst)[0] == pytest.approx(release.most)
    totals = [sum_numbers(block, (worst, release)) for block in (loved, silent)]
    change = totals[0] - totals[1]
    assert size(change, release.lattice) == pytest.approx(1.0, rel=1e-5)
    norm = np.linalg.norm(change * release.lattice.unit, 1 if "pure" in name else 2)
    assert norm == pytest.approx(evaluation_sensitivity(release.weights, is_pure="pure" in name), rel=1e-5)


def test_sums_are_those_of_the_numbers(contest):
    release, rng = release_for(BUDGETS["gaussian, add"]), np.random.default_rng(3)
    users = [person(rng.choice([-1.0, 0.0, 1.0], n)) for n in (0, 1, 2, 9, N_ITEMS)]
    totals = sum(sum_numbers(block, (contest, release)) for block in users)
    numbers = np.vstack([user_numbers(block, contest) for block in users])
    assert totals * release.lattice.unit / release.rates == pytest.approx(numbers.sum(axis=0), rel=1e-5)
    assert (numbers[:2] == 0.0).all() and numbers[2:, 2].tolist() == [1.0, 4.0, 4.0]


def test_implicit_numbers_have_no_errors():
    contest = make_recommender_contest(fit_recommender("implicit"), RULE, 5, baselines=False)
    numbers = user_numbers(person(np.ones(8)), contest)
    assert numbers.shape == (1, 2) and numbers[0, 1] == 1.0


def test_the_baseline_orders_by_counts_or_else_by_means():
    base, counts = np.array([0.1, 0.5, 0.3]), np.array([3.0, 1.0, 2.0])
    model = CompletionModel(base, np.empty((3, 0)), np.zeros((3, 1)), 1.0, counts)
    assert released_baseline(model).order.tolist() == counts.tolist()
    flat = CompletionModel(base, np.empty((3, 0)), np.zeros((3, 1)), 1.0, np.ones(3))
    assert released_baseline(flat).order.tolist() == base.tolist()
    contest = make_contest(model, RULE, 10, has_errors=True, others=(constant_scorer([0, 0, 0], [1, 2, 3]),))
    assert contest.length == 3 and contest.scorers[1].columns.shape == (0, 3)
