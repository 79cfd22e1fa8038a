"""The cap of all releases about users, and what is refused before there is one."""

import pytest

from hushrank.estimators.user_budget import USER_PARAMS, SharedBudget, check_user_count, plan_shared_budget
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.accountant import epsilon
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Budget, Neighbors


def test_the_cap_meets_the_budget_and_is_one_step():
    plan = plan_shared_budget(Budget(1.0, 1e-6, "replace", "user"), "owner")
    [step] = plan.steps()
    assert step.event == plan.event and isinstance(plan.event, Gaussian)
    assert 0.9999 < epsilon(plan.event, 1e-6) <= 1.0
    assert step.name == "sums over users, one after another"
    assert step.scales == {"noise multiplier of the whole": plan.event.noise_multiplier}


def test_people_are_called_what_they_are():
    users = plan_shared_budget(Budget(1.0, 1e-6, "add_remove", "record"), "owner")
    records = SharedBudget(users.event, users.neighbors, people="records")
    assert records.steps()[0].name == "sums over records, one after another"
    assert users.people == "users" and users != records


def test_a_budget_that_leaves_no_lattice_unit_is_refused():
    with pytest.raises(
        InvalidParameter, match=r"^epsilon of owner must be so large that the noise multiplier is at most"
    ):
        plan_shared_budget(Budget(1e-9, 1e-12, "replace", "user"), "owner")


def test_a_stated_number_of_users_is_refused_where_it_is_secret():
    check_user_count(5, Neighbors.REPLACE, "owner")
    check_user_count(None, Neighbors.ADD_REMOVE, "owner")
    with pytest.raises(InvalidParameter, match=r"^n_users of owner must be None under add_remove"):
        check_user_count(5, Neighbors.ADD_REMOVE, "owner")


def test_parameters_about_users_are_checked():
    for name, line in USER_PARAMS.items():
        for value in line.wrong_values():
            with pytest.raises(InvalidParameter, match=f"^{name} of owner"):
                line.check(value, name, "owner")
    assert SharedBudget(Gaussian(2.0), Neighbors.REPLACE).neighbors is Neighbors.REPLACE
