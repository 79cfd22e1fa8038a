"""Charge first; whatever ends a release after that says what was spent, and what ends it before says nothing."""

import pickle
import re

import pytest

from hushrank.exceptions import BudgetExceeded
from hushrank.privacy.calibration import event_for
from hushrank.privacy.charging import MAYBE_SPENT, SPENT, OtherTerms, charged, check_payable, findings_of, note_of
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.privacy.guarantee import Budget, Neighbors, Unit
from hushrank.privacy.ledger import Ledger

BUDGET = Budget(1.0, 1e-6)


@pytest.fixture
def account(tmp_path):
    return Ledger(tmp_path / "budget.db").create("rows", epsilon=1, delta=1e-6)


def run(account, error=None, event=None, budget=BUDGET):
    with charged(account, event or Gaussian(9.0), budget, Unit.ROW, "PrivateThing"):
        if error is not None:
            raise error


def test_a_charge_names_the_release_and_its_premise(account):
    run(account)
    run(account, budget=Budget(1.0, 1e-6, premise="nobody looks"))
    first, second = account.history()[1:]
    assert (first.note, second.note) == ("PrivateThing", "PrivateThing, provided that nobody looks")
    assert first.key != second.key and len(first.key) == 32


def test_a_charge_for_a_bounded_change_of_a_row_takes_for_granted_that_rows_are_bounded(account):
    """The account hides whole rows, of which a stream may bring any number of such changes."""
    run(account, budget=Budget(1.0, 1e-6, bound=2.0))
    run(account, budget=Budget(1.0, 1e-6, bound=0.5, premise="nobody looks"))
    bounded = "what is added to a row, clipped and rounded, never has a norm above"
    assert [entry.note for entry in account.history()[1:]] == [
        f"PrivateThing, bound 2, provided that {bounded} 2",
        f"PrivateThing, bound 0.5, provided that nobody looks; {bounded} 0.5",
    ]
    assert note_of("Sketch", Budget(1.0, unit="entry", bound=3.0)) == "Sketch, bound 3"


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), MemoryError(), OSError("no disk"), ValueError("x"), SystemExit(1)]
)
def test_whatever_ends_a_release_says_what_was_spent(account, error):
    with pytest.raises(type(error)) as raised:
        run(account, error)
    (note,) = raised.value.__notes__
    assert note.startswith(f"{SPENT}epsilon = 0.445 at delta = 1e-6 of 'rows'; left: at most epsilon = 0.87")
    assert account.last().number == 1


def test_what_is_refused_before_the_charge_says_nothing(account):
    for refuse in (
        lambda: run(account, event=Gaussian(0.1)),
        lambda: run(account, budget=Budget(1.0, 1e-6, Neighbors.ADD_REMOVE)),
    ):
        with pytest.raises(Exception) as raised:  # of two kinds
            refuse()
        assert not hasattr(raised.value, "__notes__")
    assert account.last().number == 0


def test_without_an_account_there_is_nothing_to_say():
    run(None)
    with pytest.raises(KeyboardInterrupt) as raised:
        run(None, KeyboardInterrupt())
    assert not hasattr(raised.value, "__notes__")


class Foreign:
    """An account of somebody else's, which has no words."""

    def __init__(self, error=None):
        self.error = error

    def charge(self, event, **_):
        if self.error is not None:
            raise self.error


def test_accounts_without_words():
    with pytest.raises(MemoryError) as raised:
        run(Foreign(), MemoryError())
    assert not hasattr(raised.value, "__notes__")


def test_an_interrupt_in_the_middle_of_a_charge():
    with pytest.raises(KeyboardInterrupt) as raised:
        run(Foreign(KeyboardInterrupt()))
    assert raised.value.__notes__ == [MAYBE_SPENT]
    with pytest.raises(BudgetExceeded) as refused:
        run(Foreign(BudgetExceeded(1.0, 0.0, "epsilon")))
    assert not hasattr(refused.value, "__notes__")


def test_a_refusal_is_told_without_a_charge(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("people", epsilon=1, unit="row")
        budget = Budget(2.0, 0.0, "replace", "row")
        assert list(findings_of(account, Pure(1.0), budget, Unit.ROW)) == []
        [(level, name, text)] = findings_of(account, Pure(2.0), budget, Unit.ROW)
        assert (level, name) == ("problem", "budget") and text.endswith("; accepted: epsilon = 1 or less.")
        [(_, _, text)] = findings_of(account, Pure(0.5), budget, Unit.USER)
        assert text.startswith("data set 'people' counts rows, and this release needs users")
        [(_, _, text)] = findings_of(account, Gaussian(9.0), budget, Unit.ROW)
        assert "delta = 0" in text and account.last().number == 0
    assert list(findings_of(None, Pure(9.0), budget, Unit.ROW)) == []
    assert list(findings_of(Foreign(), Pure(9.0), budget, Unit.ROW)) == []


def test_a_check_tells_the_price_of_a_pure_release(account):
    """The same words as before the charge, which comes in the same moment."""
    [(level, name, text)] = findings_of(account, Pure(0.1), Budget(0.1), Unit.ROW)
    with pytest.warns(UserWarning) as warned:
        run(account, event=Pure(0.1), budget=Budget(0.1))
    assert (level, name, text) == ("warning", "price", str(warned[0].message)) and "Cheaper: " in text
    assert list(findings_of(account, Gaussian(9.0), BUDGET, Unit.ROW)) == []


def test_a_refusal_says_what_was_typed_and_what_would_be_accepted(account):
    asked = Budget(1.0, 1e-3)
    with pytest.raises(
        BudgetExceeded, match=r"asked for epsilon = 1 at delta = 0\.001, which costs epsilon = 1\.7"
    ) as no:
        run(account, event=event_for(asked), budget=asked)
    most = float(re.search(r"accepted: epsilon = (\S+) or less at delta = 0\.001\.$", str(no.value))[1])
    with pytest.raises(BudgetExceeded):
        run(account, event=event_for(Budget(most + 0.001, 1e-3)))
    run(account, event=event_for(Budget(most, 1e-3)))
    assert account.last().number == 1


def test_charges_are_checked_together_and_nothing_is_charged(account):
    half = Gaussian(event_for(BUDGET).noise_multiplier * 2**0.5 * (1 + 1e-12))
    check_payable(account, (half, half), BUDGET, Unit.ROW)
    with pytest.raises(BudgetExceeded, match=r"asked for epsilon = 1\.2\d .* of 'rows'"):
        check_payable(account, (half,) * 3, BUDGET, Unit.ROW)
    with pytest.raises(OtherTerms):
        check_payable(account, (half,), BUDGET, Unit.USER)
    with pytest.raises(BudgetExceeded, match=r"; accepted: epsilon = 0\.9\d* or less at delta = 1e-6\.$"):
        check_payable(account, (event_for(Budget(2.0, 1e-6)),), Budget(2.0, 1e-6), Unit.ROW)
    for unable in (None, Foreign()):
        check_payable(unable, (half,) * 3, BUDGET, Unit.ROW)
    assert account.last().number == 0


def test_charges_of_two_parts_are_paid_in_turn(tmp_path):
    account = Ledger(tmp_path / "budget.db").create("rows", epsilon=3.5, delta=1e-6, pure=0.5)
    one = Pure(0.4)
    with pytest.raises(BudgetExceeded):  # either part has one of them and neither has both
        account.check(Composed([one, one]))
    check_payable(account, (one, one), Budget(0.8), Unit.ROW)
    with pytest.raises(BudgetExceeded):
        check_payable(account, (one, one, one), Budget(1.2), Unit.ROW)
    assert account.last().number == 0


def test_an_account_without_parts_refuses_what_is_too_much_as_one():
    class Checking(Foreign):
        def check(self, event, **_):
            raise BudgetExceeded(2.0, 1.0, "epsilon")

    with pytest.raises(BudgetExceeded, match="asked for epsilon = 2, left 1"):
        check_payable(Checking(), (Pure(1.0), Pure(1.0)), BUDGET, Unit.ROW)


def test_other_terms_survive_a_pickle():
    error = OtherTerms("Account.charge", "unit", "people", "row", "rank1")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.in_words) == (str(error), error.in_words) and "the kind 'rank1'" in error.in_words
