"""Budgets that promise little are told of, from public numbers, before anything is charged."""

import warnings

import pytest

from hushrank.exceptions import BudgetWarning
from hushrank.privacy.cautions import budget_cautions, cap_cautions, people_of, warn_before_charge
from hushrank.privacy.guarantee import Budget, Neighbors, Unit


def cautions(epsilon=1.0, delta=0.0, n_people=None, unit=Unit.ROW):
    return list(budget_cautions(Budget(epsilon, delta, Neighbors.REPLACE, unit), n_people))


@pytest.mark.parametrize(("delta", "n_people"), [(0.0, 10**9), (1e-6, None), (1e-6, 999_999), (0.9, None)])
def test_usual_budgets_say_nothing(delta, n_people):
    assert cautions(20.0, delta, n_people) == []


def test_a_large_epsilon_is_told():
    [text] = cautions(20.5)
    assert text.startswith("epsilon = 20.5 promises next to nothing") and "one row" in text
    assert "one change" in cautions(30.0, unit=Unit.RANK1)[0]


def test_a_delta_of_one_person_is_told():
    [text] = cautions(delta=1e-3, n_people=1000, unit=Unit.USER)
    assert text == (
        "delta = 0.001 is at least 1 / 1,000, one over the number of users: it allows to publish all about one user"
    )


def test_warnings_have_a_class_of_their_own():
    with pytest.warns(BudgetWarning, match="epsilon = 50"):
        warn_before_charge(Budget(50.0, 0.0, Neighbors.REPLACE, Unit.ROW))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_before_charge(Budget(1.0, 1e-6, Neighbors.REPLACE, Unit.ROW), 1000)


def test_people_are_users_or_rows():
    assert people_of({"n_users": 3, "n_samples": 9}) == 3 and people_of({"n_samples": 9}) == 9
    assert people_of({"n_updates": 9}) is None


def test_a_cap_with_a_large_delta_is_told():
    assert list(cap_cautions(Budget(20.0, 1e-2))) == []
    epsilon, delta = cap_cautions(Budget(21.0, 0.05, Neighbors.REPLACE, Unit.USER))
    assert epsilon.startswith("epsilon = 21 promises next to nothing")
    assert delta.startswith("delta = 0.05 allows to publish all about one user in 20")
