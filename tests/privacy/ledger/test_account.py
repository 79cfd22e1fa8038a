"""Accounts in words, with notes, with warnings before the charge, and with a part reserved for pure releases."""

import pickle
import threading
import warnings
from fractions import Fraction

import pytest

from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import Ledger, chain, schema
from hushrank.privacy.ledger.address import open_store
from hushrank.privacy.ledger.chain import Row, write_event
from hushrank.privacy.ledger.currency import Cost


@pytest.fixture
def gdp(sqlite_path):
    return Ledger(sqlite_path).create("rows", epsilon=3, delta=1e-6)


@pytest.fixture
def reserved(where):
    """Epsilon 2 at delta 1e-6 for Gaussian releases, and 1 for pure ones."""
    return Ledger(where).create("data", epsilon=3, delta=1e-6, pure=1.0)


# In words


def test_an_account_says_what_is_left(gdp):
    assert gdp.left_in_words() == "at most epsilon = 3 at delta = 1e-6 for one more release"
    assert gdp.more_like_last() is None
    entry = gdp.charge(event_for(Budget(1.0, 1e-6)))
    said = "at most epsilon = 2.77 at delta = 1e-6 for one more release, six more fits like the last"
    assert gdp.left_in_words() == said and gdp.more_like_last() == 6
    assert gdp.say_spent(entry) == f"epsilon = 1 at delta = 1e-6 of 'rows'; left: {said}"
    gdp.charge(event_for(Budget(2.77, 1e-6)))
    with pytest.raises(
        BudgetExceeded, match=r"asked for epsilon = 2.77 at delta = 1e-6 of 'rows', left at most "
    ) as no:
        gdp.charge(event_for(Budget(2.77, 1e-6)))
    assert "none like the last (mu^2: asked " in str(no.value) and no.value.currency == "mu^2"
    again = pickle.loads(pickle.dumps(no.value))
    assert str(again) == str(no.value)
    assert (again.asked, again.left, again.currency) == (no.value.asked, no.value.left, "mu^2")


def test_a_ledger_out_of_reach_still_knows_what_was_spent(gdp):
    entry = gdp.charge(Gaussian(9.0))
    gdp._ledger.close()
    assert gdp.say_spent(entry) == "epsilon = 0.445 at delta = 1e-6 of 'rows'"


def test_a_check_refuses_as_a_charge_would_and_writes_nothing(gdp):
    gdp.check(Gaussian(9.0))
    with pytest.raises(BudgetExceeded, match="of 'rows'"):
        gdp.check(Gaussian(0.5))
    with pytest.raises(InvalidParameter, match=r"event of Account.check"):
        gdp.check("Gaussian")
    assert gdp.last().number == 0


# Notes


def test_a_note_stands_beside_that_of_the_release(gdp):
    noted = gdp.with_note("annual report")
    assert noted.charge(Gaussian(9.0), note="PrivatePCA").note == "PrivatePCA; annual report"
    assert noted.charge(Gaussian(9.0)).note == "annual report" and gdp.charge(Gaussian(9.0)).note == ""
    assert pickle.loads(pickle.dumps(noted)).charge(Gaussian(9.0), note="x").note == "x; annual report"
    assert gdp.last().number == 4 and gdp.verify()
    for wrong in ("", "a\nb", "x" * 401, 3):
        with pytest.raises(InvalidParameter, match=r"note of Account.with_note"):
            gdp.with_note(wrong)


# Pure releases of a budget that counts mu^2


def test_a_dear_release_is_told_before_it_is_charged(gdp):
    with pytest.warns(
        UserWarning, match=r"epsilon = 1 costs data set 'rows' as much as a Gaussian one of epsilon = 6.2"
    ):
        gdp.check(Gaussian(9.0))  # says nothing
        with pytest.raises(BudgetExceeded):
            gdp.charge(Pure(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Cheaper: delta = 1e-6, not 0"):
            gdp.charge(Pure(0.1))
        assert gdp.last().number == 0  # whoever takes the warning for an error has paid nothing
        gdp.charge(Composed([Pure(0.01), Gaussian(9.0)]))  # a plan that knows why
    with pytest.warns(UserWarning):
        assert gdp.charge(Pure(0.1)).number == 2


# A reserved part


def test_pure_releases_are_paid_for_by_the_reserved_part(reserved):
    assert "pure=1.0" in repr(reserved) and reserved.budget == Budget(3.0, 1e-6)
    for _ in range(10):
        entry = reserved.charge(Pure(0.1))
    assert (entry.cost, entry.spent) == (0, 0) and entry.pure_spent == 10 * Fraction(0.1)
    assert reserved.left().pure == 0.0 and reserved.spent().pure == 1.0
    entry = reserved.charge(event_for(Budget(2.0, 1e-6)))
    assert entry.pure_cost == 0 and reserved.terms.cap * (1 - Fraction(1, 10**8)) < entry.spent <= reserved.terms.cap
    with pytest.warns(UserWarning), pytest.raises(BudgetExceeded, match="nothing reserved for pure releases"):
        reserved.charge(Pure(0.1))
    with pytest.raises(BudgetExceeded, match=r"asked for epsilon = 0.5 at delta"):
        reserved.charge(event_for(Budget(0.5, 1e-6)))
    again = Ledger(reserved._ledger._store.address)["data"]
    assert again.verify() == reserved.verify() and again.terms == reserved.terms


def test_a_pure_release_that_does_not_fit_the_reserved_part_is_paid_for_as_any_other(reserved):
    reserved.charge(Pure(0.95))
    with pytest.warns(UserWarning, match="epsilon = 0.1 costs"):
        entry = reserved.charge(Pure(0.1))
    assert entry.pure_cost == 0 and entry.cost == reserved.terms.cost(Pure(0.1))
    assert reserved.charge(Pure(0.05)).pure_spent == Fraction(0.95) + Fraction(0.05)  # what was left there is no waste
    assert reserved.verify()


def test_a_plan_of_both_kinds(reserved):
    event = Composed([Pure(0.4), Gaussian(29.0)])
    first, second = reserved.charge(event), reserved.charge(event)
    for entry in (first, second):
        assert entry.paid == Cost(reserved.terms.cost(Gaussian(29.0)), Fraction(0.4))
    assert reserved.more_like_last() == 0  # 0.2 is left there: all of the next would go where mu^2 is counted
    with pytest.raises(BudgetExceeded, match="none like the last"):
        reserved.charge(event)
    event = Composed([Pure(0.21), Gaussian(29.0)])
    third = reserved.charge(event)
    assert third.paid == Cost(reserved.terms.cost(event))
    assert third.total == first.paid + second.paid + third.paid and reserved.verify()
    described = third.to_dict()
    assert described["pure_cost"] == "0/1" and described["pure_spent"] == chain.write_fraction(2 * Fraction(0.4))


@pytest.mark.parametrize(
    ("values", "requirement"),
    [
        ({"pure": 3.0, "delta": 1e-6}, "less than epsilon"),
        ({"pure": -1.0, "delta": 1e-6}, ">= 0"),
        ({"pure": "much", "delta": 1e-6}, "a finite float"),
        ({"pure": 1.0}, "0 where delta = 0"),
    ],
)
def test_a_reserved_part_lies_within_the_budget(sqlite_path, values, requirement):
    with pytest.raises(InvalidParameter, match=f"pure of Ledger.create must be .*{requirement}"):
        Ledger(sqlite_path).create("data", epsilon=3, **values)


def forge(account, event, cost, spent):
    last = account.last()
    texts = ("2026-01-01T00:00:00+00:00", "charge", write_event(event), cost, spent, None, "", last.hash)
    return chain.seal(Row("data", last.number + 1, *texts), account.terms)


def test_a_cost_that_was_moved_to_the_other_part_is_noticed(where, reserved):
    reserved.charge(Gaussian(9.0))
    store, total, terms = open_store(where), reserved.last().total, reserved.terms
    pure = terms.cost(Pure(0.1))
    moved = chain.write_cost(Cost(pure), terms), chain.write_cost(total + Cost(pure), terms)
    row = forge(reserved, Pure(0.1), *moved)  # a right hash, a right sum, and the wrong part
    store.write(lambda connection: schema.insert_row(connection, row))
    for look in (reserved.verify, reserved.left, lambda: reserved.charge(Gaussian(9.0)), Ledger(where)["data"].verify):
        with pytest.raises(LedgerError, match="at entry 2: the cost is not that of the event"):
            look()


@pytest.mark.parametrize("cost", ["1/81", "1/81+", "1/81+0/1+0/1", "1/81 0/1"])
def test_a_sum_of_another_form_is_noticed(where, reserved, cost):
    row = forge(reserved, Gaussian(9.0), cost, cost)
    open_store(where).write(lambda connection: schema.insert_row(connection, row))
    with pytest.raises(LedgerError, match="damaged at entry 1"):
        reserved.verify()


def test_threads_cannot_overspend_the_reserved_part(reserved):
    def work():
        for _ in range(6):
            with warnings.catch_warnings():
                reserved.charge(Composed([Pure(0.0625), Gaussian(100.0)]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    newest = reserved.last()
    assert newest.number == 24 and newest.pure_spent == 1 and reserved.verify()
    paid = [entry.paid for entry in reserved.history()[1:]]
    assert sum(cost.pure > 0 for cost in paid) == 16
    assert sum((cost.main for cost in paid), Fraction(0)) == newest.spent


def test_accounts_without_such_a_part_are_written_as_ever(sqlite_path):
    entry = Ledger(sqlite_path).create("data", epsilon=1).charge(Pure(0.25))
    assert (entry.pure_cost, entry.pure_spent) == (None, None) and "pure_cost" not in entry.to_dict()
    (row,) = open_store(sqlite_path).read(lambda connection: schema.rows_from(connection, "data", 1))
    assert (row.cost, row.spent) == ("1/4", "1/4")


def test_a_key_that_is_asked_for_again_is_told_once(gdp):
    for _ in range(2):
        gdp.charge(Gaussian(9.0), key="a")
    assert gdp.say_spent() == gdp.say_spent(gdp.last())
