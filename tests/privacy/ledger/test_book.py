"""Ledger and account as users meet them, on a file and on a server."""

import copy
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import select

from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy import events
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import MOST_NESTED, Composed, Gaussian, NonPrivate, Pure, Repeated, nesting
from hushrank.privacy.filters import GdpFilter
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import Account, Ledger, chain, schema
from hushrank.privacy.ledger.address import open_store


@pytest.fixture
def ledger(where):
    with Ledger(where) as ledger:
        yield ledger


@pytest.fixture
def pure(ledger):
    return ledger.create("patients-2026", epsilon=1)


@pytest.fixture
def gdp(ledger):
    return ledger.create("users", epsilon=3, delta=1e-6, neighbors="add_remove", unit="user")


def assert_untouched(account):
    assert account.last().number == 0 and account.spent().amount == 0.0


# Setting up


def test_create_and_open_again(ledger, gdp, where):
    again = Ledger(where)["users"]
    assert isinstance(again, Account)
    assert (again.name, again.currency, again.terms) == ("users", "gdp", gdp.terms)
    assert again.budget == Budget(3.0, 1e-6, "add_remove", "user")
    assert ledger.create("patients", epsilon=0.5).currency == "pure"
    assert ledger.names() == ["patients", "users"]


def test_a_name_is_given_once(ledger, pure):
    pure.charge(Pure(0.75))
    with pytest.raises(InvalidParameter, match=r"^name of Ledger.create must be that of a new data set; got 'pat"):
        ledger.create("patients-2026", epsilon=100)
    assert pure.left().epsilon == 0.25


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epsilon", {"epsilon": 0}),
        ("delta", {"delta": 1}),
        ("neighbors", {"neighbors": "friends"}),
        ("unit", {"unit": "planet"}),
        ("name", {"name": ""}),
        ("name", {"name": "a\nb"}),
        ("name", {"name": "a\0b"}),
        ("name", {"name": "\ud800"}),
        ("name", {"name": "x" * 201}),
        ("name", {"name": 3}),
        ("name", {"name": " a"}),
        ("name", {"name": "a "}),
        ("name", {"name": "cafe\u0301"}),  # NFD: looks like the NFC name and is another
        ("name", {"name": "data\u3164"}),
        ("name", {"name": "d\u0430ta"}),
        ("name", {"name": "\uff44ata"}),
    ],
)
def test_bad_terms_are_refused_before_a_file_is_made(sqlite_path, name, values):
    with pytest.raises(InvalidParameter) as refusal:
        Ledger(sqlite_path).create(**{"name": "data", "epsilon": 1, **values})
    assert refusal.value.name == name
    assert not os.path.exists(sqlite_path)


def test_an_unknown_name(ledger, pure):
    with pytest.raises(LedgerError, match=r"has no data set 'nobody'$"):
        ledger["nobody"]
    with pytest.raises(LedgerError, match=r"has no data set 'patient-2025'; did you mean 'patients-2026'\?$"):
        ledger["patient-2025"]
    with pytest.raises(InvalidParameter, match="name of Ledger must be"):
        ledger[3]


def test_a_name_that_looks_like_another_is_neither_created_nor_opened(ledger, pure):
    for name in ("Patients-2026", "p\u00e1tients-2026", "patients\u20132026", "patients-\u0662\u0660\u0662\u0666"):
        with pytest.raises(InvalidParameter, match="must be unlike 'patients-2026', a data set that exists"):
            ledger.create(name, epsilon=100)
        with pytest.raises(LedgerError, match=r"has no data set .*, but one that looks like it: 'patients-2026'$"):
            ledger[name]
    with pytest.raises(LedgerError, match=r"has no data set '.*' \('p\\u0430tients-2026'\), but one that looks"):
        ledger["p\u0430tients-2026"]
    assert ledger.names() == ["patients-2026"]


@pytest.mark.parametrize("name", ["Ärzte 2026", "'; DROP TABLE hushrank_history; --", "%s :x [red]", "x" * 200])
def test_any_printable_name_key_and_note(ledger, name):
    account = ledger.create(name, epsilon=1)
    account.charge(Pure(0.5), key=name, note=name)
    entry = ledger[name].history()[1]
    assert (entry.key, entry.note) == (name, name) and account.verify()


# Charging


def test_a_charge_is_an_entry_of_the_history(pure):
    before = datetime.now(UTC)
    charge = pure.charge(Composed([Pure(0.25), Repeated(Pure(0.125), 2)]), key="fit-1", note="PrivatePCA")
    assert (charge.number, charge.kind, charge.key, charge.note) == (1, "charge", "fit-1", "PrivatePCA")
    assert (charge.cost, charge.spent) == (Fraction(1, 2), Fraction(1, 2))
    assert charge.event == Composed([Pure(0.25), Repeated(Pure(0.125), 2)])
    time = datetime.fromisoformat(charge.time)
    assert time.utcoffset() == timedelta(0) and before <= time <= datetime.now(UTC)
    created, again = pure.history()
    assert again == charge == pure.last() and charge.previous == created.hash
    assert (created.number, created.kind, created.event, created.cost) == (0, "create", None, 0)
    with pytest.raises(FrozenInstanceError):
        charge.cost = 0


def test_ten_tenths_are_a_whole_and_eleven_are_not(pure):
    for _ in range(10):
        pure.charge(Pure(0.1))
    assert (pure.spent().epsilon, pure.left().epsilon) == (1.0, 0.0)
    with pytest.raises(BudgetExceeded, match=r"asked for epsilon = 0.1 of 'patients-2026', left nothing"):
        pure.charge(Pure(0.1))
    assert pure.last().number == 10 and pure.verify()


def test_an_overdraft_writes_nothing(pure, gdp):
    for account, event, currency in ((pure, Pure(1.5), "epsilon"), (gdp, Gaussian(0.1), "mu^2")):
        with pytest.raises(BudgetExceeded) as refusal:
            account.charge(event, key="too much")
        assert refusal.value.currency == currency and refusal.value.asked > refusal.value.left > 0
        assert_untouched(account)
    assert pure.charge(Pure(1.0), key="too much").number == 1  # the key of a refused charge is not taken


def test_the_whole_budget_once(gdp):
    event = event_for(gdp.budget)
    gdp.charge(event)
    assert gdp.spent().epsilon == pytest.approx(3.0, rel=1e-6) and gdp.spent().epsilon <= 3.0
    assert gdp.left().epsilon < 1e-3
    with pytest.raises(BudgetExceeded):
        gdp.charge(event)


def test_gaussian_and_pure_releases_add_up_like_in_a_filter(gdp):
    reference = GdpFilter.from_event(event_for(gdp.budget))
    for event in (Gaussian(10.0), Composed([Pure(0.3), Gaussian(1e6)]), Repeated(Gaussian(30.0), 7)):
        gdp.charge(event)
        reference.spend(event)
        assert 0 <= gdp.last().spent - reference.spent < Fraction(1, 2**250)
    assert (gdp.spent().currency, gdp.spent().delta) == ("gdp", 1e-6)
    assert gdp.verify()


def test_a_mismatch_is_refused_and_nothing_charged(pure, gdp):
    event = Pure(0.1)
    for account, wrong in ((pure, {"neighbors": "add_remove"}), (pure, {"unit": "user"}), (gdp, {"unit": "row"})):
        (name,) = wrong
        with pytest.raises(InvalidParameter, match=f"{name} of Account.charge must be .* was created"):
            account.charge(event, **wrong)
        assert_untouched(account)
    assert gdp.charge(Gaussian(9.0), neighbors="add_remove", unit="user").number == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("event", {"event": "Pure(0.1)"}),
        ("event", {"event": NonPrivate()}),
        ("event", {"event": Gaussian(1.0)}),
        ("key", {"key": ""}),
        ("key", {"key": 5}),
        ("key", {"key": "x" * 201}),
        ("note", {"note": None}),
        ("note", {"note": "a\nb"}),
        ("key", {"key": "fit\u115f"}),
        ("note", {"note": "a\u034fb"}),
        ("neighbors", {"neighbors": "friends"}),
        ("unit", {"unit": 1}),
    ],
)
def test_bad_arguments_are_refused_and_nothing_charged(sqlite_path, name, values):
    account = Ledger(sqlite_path).create("data", epsilon=1)
    with pytest.raises(InvalidParameter) as refusal:
        account.charge(**{"event": Pure(0.1), **values})
    assert (refusal.value.name, refusal.value.owner) == (name, "Account.charge")
    assert_untouched(account)


# Keys


def test_one_key_is_one_charge(ledger, pure):
    first = pure.charge(Pure(0.75), key="fit", note="first")
    assert pure.charge(Pure(0.75), key="fit", note="second") == first  # also where nothing like it is left
    assert pure.last() == first
    assert ledger.create("other", epsilon=1).charge(Pure(0.5), key="fit").number == 1  # keys belong to a data set


def test_a_key_for_another_event_is_refused(pure):
    pure.charge(Pure(0.25), key="fit")
    for event in (Pure(0.125), Pure(0.25, bounded_range=True), Repeated(Pure(0.25), 1)):
        with pytest.raises(InvalidParameter, match=r"^key of Account.charge must be a new one for another event; got"):
            pure.charge(event, key="fit")
    assert pure.last().number == 1


def test_threads_with_one_key_charge_once(pure):
    entries = []
    threads = [threading.Thread(target=lambda: entries.append(pure.charge(Pure(0.5), key="fit"))) for _ in range(6)]
    run(threads)
    assert len(entries) == 6 and len(set(entries)) == 1 and pure.last().number == 1


def test_threads_cannot_overspend(pure):
    refusals = []

    def work():
        for _ in range(5):
            try:
                pure.charge(Pure(0.0625))
            except BudgetExceeded as refusal:
                refusals.append(refusal.left)

    run([threading.Thread(target=work) for _ in range(4)])
    assert refusals == [0.0] * 4 and pure.last().number == 16 and pure.verify()


def run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Damage; triggers are dropped as the owner of the file could


def tamper(path, statement):
    connection = sqlite3.connect(path)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    assert connection.execute(statement).rowcount > 0
    connection.commit()
    connection.close()


@pytest.fixture
def charged(sqlite_path):
    account = Ledger(sqlite_path).create("data", epsilon=1)
    for number in range(3):
        account.charge(Pure(0.25), key=str(number))
    return account


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE hushrank_history SET spent = '1/4' WHERE number = 3",
        "UPDATE hushrank_history SET spent = 'nothing' WHERE number = 3",
        "UPDATE hushrank_history SET note = x'ff' WHERE number = 3",
        "UPDATE hushrank_history SET number = 9 WHERE number = 3",
        "UPDATE hushrank_dataset SET terms = replace(terms, '1.0', '9.0')",
        "UPDATE hushrank_dataset SET terms = replace(terms, '1/1', '9/1')",
        "DELETE FROM hushrank_history",
        "DELETE FROM hushrank_dataset",
    ],
)
def test_a_damaged_last_entry_or_cap_stops_charges(charged, sqlite_path, change):
    tamper(sqlite_path, change)
    before = Path(sqlite_path).read_bytes()
    for call in (lambda: charged.charge(Pure(0.1)), charged.spent, charged.left, charged.verify):
        with pytest.raises(LedgerError, match="data set 'data'"):
            call()
    assert Path(sqlite_path).read_bytes() == before


def test_raised_caps_are_noticed_by_an_account_opened_later(charged, sqlite_path):
    tamper(sqlite_path, """UPDATE hushrank_dataset SET terms = replace(replace(terms, '1.0', '9.0'), '1/1', '9/1')""")
    raised = Ledger(sqlite_path)["data"]
    assert raised.budget.epsilon == 9.0
    for call in (lambda: raised.charge(Pure(5.0)), raised.last, raised.left):
        with pytest.raises(LedgerError, match=r"is damaged at entry \d: its contents do not match its hash"):
            call()
    with pytest.raises(LedgerError, match="is damaged at entry 0"):
        raised.verify()


def test_terms_that_cannot_be_read(charged, sqlite_path):
    for text in ("'{}'", "'nothing'", "x'00'", "5", f"'{'[' * 100_000}'"):
        tamper(sqlite_path, f"UPDATE hushrank_dataset SET terms = {text}")
        with pytest.raises(LedgerError, match="data set 'data' is damaged at entry 0: its terms cannot be read"):
            Ledger(sqlite_path)["data"]


def test_a_repeated_key_is_confirmed_by_a_commit_of_its_own(charged, sqlite_path):
    """That an entry can be seen does not show that it is on disk: a commit may have failed after it became visible."""

    def confirmations():
        return open_store(sqlite_path).read(lambda c: c.execute(select(schema.LEDGER.c.confirmations)).scalar())

    assert confirmations() == 0
    assert charged.charge(Pure(0.25), key="1").number == 2 and confirmations() == 1
    charged.charge(Pure(0.25), key="new")
    assert confirmations() == 1


def test_verifying_a_ledger_finds_every_damaged_data_set(charged, sqlite_path):
    ledger = Ledger(sqlite_path)
    other, sound = (ledger.create(name, epsilon=1) for name in ("other", "sound"))
    assert ledger.verify() == {name: ledger[name].last().hash for name in ("data", "other", "sound")}
    tamper(sqlite_path, "UPDATE hushrank_history SET cost = '0/1' WHERE dataset = 'data' AND number = 1")
    tamper(sqlite_path, "DELETE FROM hushrank_dataset WHERE name = 'other'")
    with pytest.raises(LedgerError, match="data set 'other' is missing, its history is not; data set 'data' is"):
        ledger.verify()
    assert sound.verify()
    with pytest.raises(LedgerError, match="has no data set 'other'"):
        other.verify()


def test_events_nested_too_deeply_are_refused(pure):
    event = Pure(1e-9)
    for _ in range(MOST_NESTED - 1):
        event = Repeated(event, 1)
    pure.charge(event)
    before = len(pure.history())
    for deeper in (1, 3000):
        for _ in range(deeper):
            event = Repeated(event, 1)
        with pytest.raises(InvalidParameter, match=r"event of Account\.charge must be nested less deeply: 64 levels"):
            pure.charge(event)
    assert len(pure.history()) == before


def test_deeper_events_of_older_versions_are_read(pure, monkeypatch):
    event = Pure(1e-9)
    for _ in range(150):
        event = Repeated(event, 1)
    with monkeypatch.context() as older:
        older.setattr(chain, "MOST_NESTED", 1000)
        older.setattr(events, "_DEEPEST", 1000)
        pure.charge(event)
    pure.charge(Pure(1e-9))
    assert nesting(pure.history()[-2].event) == 151 and pure.verify()


def test_a_damaged_entry_under_a_key_is_not_trusted(charged, sqlite_path):
    tamper(sqlite_path, "UPDATE hushrank_history SET cost = '0/1' WHERE number = 1")
    with pytest.raises(LedgerError, match="damaged at entry 1"):
        charged.charge(Pure(0.25), key="0")


def test_old_damage_is_found_by_verify(charged, sqlite_path):
    tamper(sqlite_path, "UPDATE hushrank_history SET time = '1999' WHERE number = 1")
    with pytest.raises(LedgerError, match="data set 'data' is damaged at entry 1: its contents do not match its hash"):
        charged.verify()
    with pytest.raises(LedgerError, match="damaged at entry 1"):
        charged.history()


def test_a_tail_that_was_cut_off_is_found_by_a_head_kept_elsewhere(charged, sqlite_path):
    early, head = charged.history()[1].hash, charged.verify()
    assert charged.verify(head=head) == charged.verify(head=early) == head
    tamper(sqlite_path, "DELETE FROM hushrank_history WHERE number = 3")
    opened_later = Ledger(sqlite_path)["data"]
    assert opened_later.verify() == opened_later.last().hash  # invisible to the chain alone
    assert opened_later.verify(head=early) == opened_later.last().hash
    with pytest.raises(LedgerError, match=f"does not hold the head {head}: entries were cut off"):
        opened_later.verify(head=head)
    for call in (charged.verify, charged.last, lambda: charged.charge(Pure(0.1))):  # not to who has seen the entry
        with pytest.raises(LedgerError, match="no longer holds entry 3 as it was: the ledger was rolled back"):
            call()


# Life of the objects


def test_after_close_everything_is_refused(ledger, pure):
    ledger.close()
    calls = [
        ledger.names,
        lambda: ledger["patients-2026"],
        lambda: ledger.create("x", epsilon=1),
        lambda: pure.charge(Pure(0.1)),
        pure.spent,
        pure.left,
        pure.history,
        pure.verify,
    ]
    for call in calls:
        with pytest.raises(LedgerError, match=r"is closed$"):
            call()
    ledger.close()  # twice is no harm


def test_a_copy_is_the_account_itself(pure):
    assert copy.copy(pure) is pure and copy.deepcopy(pure) is pure
    assert copy.deepcopy({"ledger": pure})["ledger"] is pure


def test_a_pickled_account_connects_again(pure):
    again = pickle.loads(pickle.dumps(pure))
    assert again is not pure and (again.name, again.terms) == (pure.name, pure.terms)
    assert again.charge(Pure(0.25)).number == 1
    assert pure.left().epsilon == 0.75
    pickle.loads(pickle.dumps(pure._ledger)).close()
    assert pure.last().number == 1


def test_a_pickled_account_finds_its_file_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved = pickle.dumps(Ledger("budget.db").create("data", epsilon=1))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(saved).charge(Pure(0.1)).number == 1


def test_after_a_fork(pure):
    child = os.fork()
    if not child:
        try:
            pure.charge(Pure(0.5))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pure.charge(Pure(0.5)).number == 2


def test_repr_shows_caps_and_no_password(gdp, where):
    assert repr(gdp).startswith("Account('users', epsilon=3.0, delta=1e-06, neighbors=add_remove, unit=user, ledger=")
    assert "secret" not in repr(gdp) + repr(Ledger(where)) + str(gdp)


def test_opening_touches_nothing(tmp_path):
    ledger = Ledger(tmp_path / "budget.db")
    assert repr(ledger) == f"Ledger('{tmp_path / 'budget.db'}')" and os.listdir(tmp_path) == []
    ledger.close()


def test_the_ledger_needs_neither_numba_nor_scikit_learn():
    code = (
        "import sys; from hushrank.privacy.ledger import Ledger; Ledger('x.db'); "
        "sys.exit(any(name in sys.modules for name in ('numba', 'sklearn', 'psycopg', 'cryptography')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
