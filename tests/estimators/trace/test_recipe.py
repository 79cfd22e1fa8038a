"""Recipes: shares that never exceed the whole for any number of people and any budget, also if every step is taken."""

import math
from dataclasses import FrozenInstanceError, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank import registry
from hushrank.estimators.trace.learning import SIZES
from hushrank.estimators.trace.recipe import ANSWERS, FEW_ANSWERS, RECIPES, TIED_CHECK, TIED_LEVEL, plan_spending
from record_support import make_releases

Planner = registry.planner("PrivateTraceRegression")
PEOPLE = st.floats(0, 9).map(lambda power: int(10**power))
BUDGETS = st.floats(-6, 3).map(lambda power: 10.0**power)
SIGNALS = st.sampled_from([1e-8, 2.0, 101.0, 9.9e8])


def recipe_of(design, signal=2.0):
    """The recipe that a fit would use."""
    return Planner(rank=1, epsilon=1.0, delta=1e-6, design=design, shape=(3, 3), signal_to_noise=signal)._recipe


def plan(n, mu, design="dense", signal=2.0, spent=0.0, sizes=None):
    releases = make_releases([], mu=mu, n_people=n)
    if spent:
        releases.vector_lattice(1.0, spent)
    return plan_spending(releases, recipe_of(design, signal), sizes=SIZES[design] if sizes is None else sizes), releases


def n_comparisons(made, sizes):
    """Of all searches of a fit that takes every step and every retry."""
    recipe, searches, answers = made.recipe, made.searches, made.answers
    looks = made.most_steps + recipe.retries + len(recipe.last_shares) - 1  # the last step is not looked at
    found = sizes * searches.long  # sizes of measurements
    found += 2 * searches.long + 2 * answers.residuals  # the start, and the first look
    found += looks * (searches.short + 2 * answers.residuals)
    return found + 3 * searches.long  # residuals with the matrix, with half of it, and without


def of_answers(made):
    """Share of the searches for the answers and of their mean."""
    return 2 * made.answers.answers * made.answer_comparison + made.bound_share + made.mean_share


@pytest.mark.parametrize("design", RECIPES)
def test_recipes_cannot_be_changed_and_shares_are_shares(design):
    recipe = RECIPES[design]
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        assert not field.name.endswith(("share", "level")) or 0 < value < 1, field.name
        with pytest.raises(FrozenInstanceError):
            setattr(recipe, field.name, value)
    assert sum(recipe.last_shares) == pytest.approx(1.0) and min(recipe.last_shares) > 0
    assert 0 < recipe.first_steps <= recipe.most_steps and 0 < recipe.few_steps <= recipe.most_steps
    assert recipe.helps <= 1.0 <= recipe.harms and recipe.guard >= 1.0 and recipe.retries >= 0
    assert FEW_ANSWERS.answers <= ANSWERS.answers and FEW_ANSWERS.residuals <= ANSWERS.residuals


@given(PEOPLE, BUDGETS, st.sampled_from([*RECIPES]), SIGNALS, st.sampled_from([0.0, 0.02, 0.9]), st.integers(0, 3))
@settings(deadline=None, max_examples=150)
def test_a_fit_that_takes_every_step_has_enough_for_all_of_them(n, mu, design, signal, spent, sizes):
    made, releases = plan(n, mu, design, signal, spent, sizes)
    recipe, left = made.recipe, releases.left
    searched = made.comparison * n_comparisons(made, sizes)
    steps = made.rest * made.most_steps * recipe.first_share
    assert min(made.comparison, made.answer_comparison, made.bound_share, made.mean_share, made.rest) > 0.0
    assert searched + of_answers(made) + made.rest <= left
    assert searched <= made.searches.most_share * left * (1 + 1e-12)
    for one in (made, made.for_ties):
        fixed = made.rest * (recipe.whitening_share + recipe.start_share + one.check_share)
        assert left - searched - of_answers(made) - fixed - steps > 0.05 * made.rest  # for the last steps


@given(PEOPLE, BUDGETS, st.sampled_from([*RECIPES]))
@settings(deadline=None, max_examples=50)
def test_nearly_all_of_the_budget_is_planned_with(n, mu, design):
    """What is left over is a short search that a fit plans and does not need."""
    made, releases = plan(n, mu, design)
    over = releases.left - made.comparison * n_comparisons(made, SIZES[design]) - of_answers(made) - made.rest
    assert 0.0 <= over <= made.comparison * made.searches.short + 1e-9


@pytest.mark.parametrize("design", RECIPES)
def test_few_people_for_the_budget_take_fewer_steps_and_shorter_searches(design):
    recipe = RECIPES[design]
    few = recipe.few_people
    for n, mu in ((math.ceil(few) - 1, 1.0), (1, 0.99 * few), (10**6, 0.99e-6 * few)):
        made, _ = plan(n, mu, design)
        assert made.most_steps == min(recipe.few_steps, recipe.most_steps)
        assert made.searches is recipe.few_searches and made.answers is FEW_ANSWERS
        assert made.check_share == recipe.few_check_share
    for n, mu in ((math.ceil(few), 1.0), (10**6, 1.01e-6 * few)):
        made, _ = plan(n, mu, design)
        assert made.most_steps == recipe.most_steps
        assert made.searches is recipe.searches and made.answers is ANSWERS
        assert made.check_share == recipe.check_share


def test_comparisons_have_the_deviation_that_is_asked_for_where_the_budget_allows_it():
    n, mu = 10**6, 0.5
    made, _ = plan(n, mu)
    assert made.deviation == pytest.approx(made.searches.deviation, rel=1e-9)
    assert 1.0 / (mu * math.sqrt(made.comparison)) == pytest.approx(made.deviation * n, rel=1e-9)
    assert made.comparison * n_comparisons(made, SIZES["dense"]) < 1e-3
    assert made.answer_deviation == pytest.approx(made.searches.deviation, rel=1e-9) and of_answers(made) < 0.01
    tight, releases = plan(200, 1.0)
    assert tight.deviation > tight.searches.deviation
    spent = tight.comparison * n_comparisons(tight, SIZES["dense"])
    assert spent == pytest.approx(tight.searches.most_share * releases.left, rel=0.05)


def test_who_has_few_people_searches_for_medians_of_answers_and_then_for_nothing():
    made = [plan(n, 0.1)[0] for n in (1, 10, 100, 1000, 3000, 10**4, 10**6)]
    for order in ([one.is_rough for one in made], [one.is_blind for one in made]):
        assert order[0] and not order[-1] and order == sorted(order, reverse=True)
    assert all(one.is_rough for one in made if one.is_blind)
    assert any(one.is_rough and not one.is_blind for one in made)


def test_tied_answers_are_clipped_higher_and_checked_by_more():
    made, _ = plan(10**5, 0.3, "dense")
    tied = made.for_ties
    assert tied.recipe == replace(made.recipe, level=TIED_LEVEL) and tied.check_share == TIED_CHECK > made.check_share
    assert replace(tied, recipe=made.recipe, check_share=made.check_share) == made
    assert made.for_answers == replace(made, comparison=made.answer_comparison)


def test_a_look_is_a_search_for_a_bound_and_two_for_the_intercept():
    made, _ = plan(10**5, 0.3)
    assert made.look == pytest.approx(made.comparison * (made.searches.short + 2 * made.answers.residuals))
    less = replace(made, comparison=made.comparison / 2)
    assert less.look == pytest.approx(made.look / 2)
