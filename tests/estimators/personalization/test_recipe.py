"""Recipes: shares that never exceed the whole for any number of people and any budget, and records nobody changes."""

from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.personalization.options import AlternatingMinimization
from hushrank.estimators.personalization.recipe import (
    ALONE,
    ALTMIN,
    GRADIENT,
    LOCAL,
    plan_spending,
)
from hushrank.estimators.searches import octaves
from record_support import make_releases

RECIPES = (GRADIENT, GRADIENT.searches, GRADIENT.few_searches, ALTMIN, LOCAL)
# Long searches, long and short ones a step: those of the two methods that use them, of the first also for labels.
METHODS = {"gradient": (4, 0, 3), "labels": (3, 0, 2), "altmin": (3, 2, 1)}


def plan(n, mu, steps, method="gradient", spent=0.0):
    releases = make_releases([], mu=mu, n_people=n)
    if spent:
        releases.vector_lattice(1.0, spent)
    long, long_a_step, short_a_step = METHODS[method]
    made = plan_spending(releases, steps, long=long, long_a_step=long_a_step, short_a_step=short_a_step)
    searches = made.searches
    count = searches.long * (long + made.steps * long_a_step) + searches.short * (made.steps * short_a_step + 1)
    return made, count, releases


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)
def test_recipes_cannot_be_changed_and_shares_are_shares(recipe):
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        assert not field.name.endswith(("share", "level")) or 0 < value < 1, field.name
        with pytest.raises(FrozenInstanceError):
            setattr(recipe, field.name, value)


def test_steps_have_a_share_of_what_searches_leave():
    fixed = (GRADIENT.whitening_share, GRADIENT.start_share, GRADIENT.prior_share, GRADIENT.check_share)
    assert sum(fixed) < 0.5 and min(fixed) > 0.0
    most = AlternatingMinimization._params["start_share"].below
    assert ALTMIN.whitening_share + ALTMIN.prior_share + GRADIENT.most_check_share + most < 1.0
    for local in (LOCAL, ALONE):
        assert sum(local.weights) == pytest.approx(1.0)
        assert len(local.weights) == len(local.ratios) == len(local.is_shared)
    assert not any(ALONE.is_shared)
    assert LOCAL.ratios[0] == 0.0 and GRADIENT.scales[0] == GRADIENT.label_scales[0] == 1.0


@given(
    st.floats(0, 9).map(lambda power: int(10**power)),
    st.floats(-6, 3).map(lambda power: 10.0**power),
    st.integers(1, 100),
    st.sampled_from([*METHODS]),
    st.sampled_from([0.0, 0.02, 0.9]),
)
@settings(deadline=None, max_examples=150)
def test_shares_never_exceed_what_is_left(n, mu, steps, method, spent):
    made, count, releases = plan(n, mu, steps, method, spent)
    assert made.comparison > 0.0 and made.rest > 0.0
    assert made.comparison * count + made.rest <= releases.left
    assert made.comparison * count <= made.searches.most_share * releases.left * (1 + 1e-12)
    assert made.comparison * count + made.rest >= releases.left * (1 - 1e-9)  # and all of it is planned with


@pytest.mark.parametrize("method", METHODS)
def test_few_people_for_the_budget_take_fewer_steps_and_shorter_searches(method):
    for n, mu in ((149, 1.0), (1, 149.0), (10**6, 1.4e-4)):
        made, _, _ = plan(n, mu, 6, method)
        assert made.steps == 2 and made.searches is GRADIENT.few_searches
        assert plan(n, mu, 1, method)[0].steps == 1
    for n, mu in ((150, 1.0), (10**6, 1.6e-4)):
        made, _, _ = plan(n, mu, 6, method)
        assert made.steps == 6 and made.searches is GRADIENT.searches


def test_comparisons_have_the_deviation_that_is_asked_for_where_the_budget_allows_it():
    n, mu = 10**6, 0.5
    made, count, _ = plan(n, mu, 6)
    assert 1.0 / (mu * made.comparison**0.5) == pytest.approx(GRADIENT.searches.deviation * n, rel=1e-9)
    assert made.comparison * count < 1e-3
    tight, count, releases = plan(200, 1.0, 6)
    assert tight.comparison * count == pytest.approx(GRADIENT.searches.most_share * releases.left, rel=1e-9)


def test_parts_of_the_people_are_planned_for_by_their_own_number():
    releases = make_releases([], mu=1.0, n_people=900)
    whole, parts = (plan_spending(releases, 6, long=3, short_a_step=1, n_parts=n) for n in (1, 9))
    assert whole.searches is GRADIENT.searches and parts.searches is GRADIENT.few_searches and parts.steps == 2
    assert parts.comparison > whole.comparison


def test_windows_reach_so_many_factors_of_two():
    assert octaves(3.0, 2, 4) == (0.75, 48.0)
