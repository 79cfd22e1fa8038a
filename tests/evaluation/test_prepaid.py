"""Several releases paid at once: all or nothing, each once, and nothing else."""

import pytest

from hushrank.base import Account
from hushrank.evaluation.prepaid import Prepaid
from hushrank.exceptions import BudgetExceeded, InvalidParameter
from hushrank.privacy.events import Composed, Pure
from hushrank.privacy.ledger import Ledger


@pytest.fixture
def account(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        yield ledger.create("ratings", epsilon=1.0, unit="user")


def test_the_first_charge_pays_for_all_and_each_is_given_once(account):
    prepaid = Prepaid(account, [Pure(0.25), Pure(0.5)], "replace", "user")
    assert isinstance(prepaid, Account) and len(account.history()) == 1
    prepaid.charge(Pure(0.25), key="a", note="b")
    prepaid.charge(Pure(0.5))
    _, charge = account.history()
    assert charge.event == Composed((Pure(0.25), Pure(0.5))) and account.left().epsilon == 0.25
    for event in (Pure(0.25), Pure(0.5), Pure(0.1)):
        with pytest.raises(BudgetExceeded, match="not announced"):
            prepaid.charge(event)
    assert len(account.history()) == 2


def test_what_is_not_announced_pays_for_nothing(account):
    with pytest.raises(BudgetExceeded, match="not announced"):
        Prepaid(account, [Pure(0.25)], "replace", "user").charge(Pure(0.3))
    assert len(account.history()) == 1


def test_an_overdraft_or_another_unit_refuses_all(account):
    with pytest.raises(BudgetExceeded):
        Prepaid(account, [Pure(0.75), Pure(0.5)], "replace", "user").charge(Pure(0.75))
    with pytest.raises(InvalidParameter, match="unit"):
        Prepaid(account, [Pure(0.5)], "replace", "row").charge(Pure(0.5))
    assert len(account.history()) == 1


def test_what_was_spent_is_told_as_one_sum(account):
    prepaid = Prepaid(account, [Pure(0.25), Pure(0.5)], "replace", "user")
    entry = prepaid.charge(Pure(0.25))
    assert prepaid.say_spent(entry).startswith("epsilon = 0.75 of 'ratings'")
    assert prepaid.charge(Pure(0.5)) == entry
