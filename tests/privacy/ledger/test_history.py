"""The end of a history is recomputed before it is trusted; what was seen once must be there again."""

from dataclasses import replace
from fractions import Fraction

import pytest

from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import Ledger, chain, history, schema
from hushrank.privacy.ledger.address import open_store
from hushrank.privacy.ledger.chain import Row, write_event
from hushrank.privacy.ledger.currency import Terms, write_fraction
from hushrank.privacy.ledger.history import History
from hushrank.privacy.ledger.postgres import PostgresStore


@pytest.fixture
def account(where):
    """Entries 0 to 3 of a cap of 1, each charge of 1/4 under its number as key."""
    account = Ledger(where).create("data", epsilon=1)
    for number in range(1, 4):
        account.charge(Pure(0.25), key=str(number))
    return account


def opened(where):
    """The account as another process has it, which has seen nothing."""
    return Ledger(where)["data"]


def forge(account, after, event, cost, spent, key=None, **changes):
    """A row with a right hash that follows the entry `after`, whatever it says."""
    texts = ("2026-01-01T00:00:00+00:00", "charge", write_event(event), write_fraction(Fraction(cost)))
    row = Row("data", after.number + 1, *texts, write_fraction(Fraction(spent)), key, "", after.hash)
    return chain.seal(replace(row, **changes), account.terms)


def insert(where, *rows):
    """Plain INSERTs, which no trigger refuses."""
    store = open_store(where)
    for row in rows:
        store.write(lambda connection, row=row: schema.insert_row(connection, row))


def numbers_read(monkeypatch):
    """Numbers of the rows that are recomputed from now on."""
    seen, real = [], chain.read_row

    def read(row, terms):
        seen.append(row.number)
        return real(row, terms)

    monkeypatch.setattr(chain, "read_row", read)
    return seen


# What a charge looks at


def test_a_charge_recomputes_what_came_since_the_last_one(where, account, monkeypatch):
    other = opened(where)
    other.charge(Pure(0.0625))
    seen = numbers_read(monkeypatch)
    account.charge(Pure(0.0625))
    assert seen == [3, 4, 5]  # seen before, of the other account, its own
    seen.clear()
    account.charge(Pure(0.0625))
    assert seen == [5, 6]


def test_the_first_charge_recomputes_the_end_of_the_history(where, account, monkeypatch):
    monkeypatch.setattr(history, "CHECKED_ROWS", 2)
    seen = numbers_read(monkeypatch)
    opened(where).charge(Pure(0.0625))
    assert seen == [1, 2, 3, 4]  # the first one vouches for itself
    seen.clear()
    monkeypatch.setattr(history, "CHECKED_ROWS", 3)
    opened(where).charge(Pure(0.0625))
    assert seen == [1, 2, 3, 4, 5]
    seen.clear()
    monkeypatch.setattr(history, "CHECKED_ROWS", 1000)
    opened(where).charge(Pure(0.0625))
    assert seen == [0, 1, 2, 3, 4, 5, 6]


def test_looking_recomputes_two_entries_or_what_came_since(where, account, monkeypatch):
    fresh = opened(where)
    seen = numbers_read(monkeypatch)
    for look in (fresh.last, fresh.spent, fresh.left):
        look()
        assert seen == [2, 3]
        seen.clear()
    opened(where).charge(Pure(0.125))
    seen.clear()
    assert account.last().number == 4 and seen == [3, 4]
    seen.clear()
    fresh.charge(Pure(0.0625))  # looking has not replaced its first check
    assert seen == [0, 1, 2, 3, 4, 5]


def test_what_was_recomputed_is_remembered_by_refused_charges_and_by_verify(where, account, monkeypatch):
    fresh, verified = opened(where), opened(where)
    with pytest.raises(BudgetExceeded):
        fresh.charge(Pure(0.75))
    assert verified.verify() == account.last().hash
    seen = numbers_read(monkeypatch)
    for one in (fresh, verified):
        with pytest.raises(BudgetExceeded):
            one.charge(Pure(0.75))
        assert seen == [3]
        seen.clear()


# Forged entries


FORGED = {
    "the running total is wrong": (Pure(0.25), "1/4", "1/4", {}),
    "the running total is wrong ": (Pure(0.25), "1/4", "3/4", {}),
    "the cost is not that of the event": (Pure(0.25), "0/1", "3/4", {}),
    "the cost is not that of": (Pure(0.25), "1/8", "7/8", {}),
    "it does not continue the entry before": (Pure(0.125), "1/8", "7/8", {"previous": "0" * 64}),
    "it is missing": (Pure(0.125), "1/8", "7/8", {"number": 7}),
    "its kind is wrong": (Pure(0.125), "1/8", "7/8", {"kind": "create"}),
}


@pytest.mark.parametrize("problem", FORGED)
def test_a_forged_entry_with_a_right_hash_stops_charges_and_looks(where, account, problem):
    event, cost, spent, changes = FORGED[problem]
    insert(where, forge(account, account.last(), event, cost, spent, **changes))
    for one in (account, opened(where)):
        for call in (lambda one=one: one.charge(Pure(0.125)), one.last, one.spent, one.left, one.verify):
            with pytest.raises(LedgerError, match=rf"data set 'data' is damaged at entry 4: {problem.strip()}"):
                call()


def test_forged_entries_that_agree_with_each_other_stop_charges(where, account):
    first = forge(account, account.last(), Pure(0.125), "1/8", "1/8")
    second = forge(account, replace(account.last(), number=4, hash=first.hash), Pure(0.125), "1/8", "1/4")
    insert(where, first, second)
    for one in (account, opened(where)):
        with pytest.raises(LedgerError, match="damaged at entry 4: the running total is wrong"):
            one.charge(Pure(0.5))


def test_more_forged_entries_than_a_first_charge_recomputes_are_left_to_verify(where, account, monkeypatch):
    """The limit of the check, in numbers that a test can reach."""
    monkeypatch.setattr(history, "CHECKED_ROWS", 2)
    rows, after = [], account.last()
    for n in range(3):
        rows.append(forge(account, after, Pure(0.0625), "1/16", Fraction(n + 1, 16)))
        after = replace(after, number=after.number + 1, hash=rows[-1].hash)
    insert(where, *rows)
    assert opened(where).charge(Pure(0.5)).number == 7
    for one in (account, opened(where)):
        with pytest.raises(LedgerError, match="damaged at entry 4: the running total is wrong"):
            one.verify()
    with pytest.raises(LedgerError, match="damaged at entry 4"):
        account.charge(Pure(0.125))  # who has seen entry 3 goes on from there


def test_gdp_costs_are_recomputed_too(where):
    account = Ledger(where).create("data", epsilon=3, delta=1e-6)
    account.charge(Gaussian(2.0))
    last = account.last()
    insert(where, forge(account, last, Gaussian(2.0), last.cost / 2, last.spent + last.cost / 2))
    with pytest.raises(LedgerError, match="damaged at entry 2: the cost is not that of the event"):
        account.charge(Gaussian(2.0))


# Entries that are gone


def test_an_entry_that_was_seen_must_be_there(where):
    terms = Terms.of(Budget(1.0))
    store = open_store(where)
    first = store.write(lambda connection: history.create(connection, "data", terms), create=True)
    gone = replace(first, number=1, hash="f" * 64)
    message = f"data set 'data' no longer holds entry {gone.number} as it was: the ledger was rolled back"
    for seen in (gone, replace(gone, number=0)):
        kept = History("data", terms, "shown", seen)
        calls = [
            lambda connection, k=kept: k.last(connection, k.seen),
            lambda connection, k=kept: k.append(connection, k.seen, write_event(Pure(0.5)), None, ""),
            lambda connection, k=kept: k.verify(k.rows(connection), k.seen),
        ]
        for call in calls:
            with pytest.raises(LedgerError, match=message.replace("entry 1", f"entry {seen.number}")):
                store.write(call)
    sound = History("data", terms, "shown", first)
    assert store.read(lambda connection: sound.last(connection, sound.seen)) == first


def test_what_another_thread_has_seen_meanwhile_is_not_missed(postgres_url, monkeypatch):
    """A transaction sees the state of its start; what was charged and remembered after that is none of its business."""
    account = Ledger(postgres_url).create("data", epsilon=1)
    account.charge(Pure(0.25))
    real, pending = PostgresStore._check_version, []

    def check_version(store, connection):
        real(store, connection)  # the first query: the snapshot is taken
        if pending:
            pending.pop()()

    monkeypatch.setattr(PostgresStore, "_check_version", check_version)
    for look in (account.last, account.verify):
        before = account.last()
        pending.append(lambda: account.charge(Pure(0.125)))
        assert look() in (before, before.hash)
        assert account.last().number == before.number + 1


def test_a_cap_that_is_not_what_the_budget_is_worth_buys_nothing(where):
    inflated = Terms(Budget(1.0), Fraction(100))
    open_store(where).write(lambda connection: history.create(connection, "data", inflated), create=True)
    with pytest.raises(LedgerError, match="damaged at entry 0: the cap is not what the budget is worth"):
        opened(where).charge(Pure(0.5))


# Keys


def test_a_repeated_key_is_found_wherever_it_is(where, account):
    for one in (account, opened(where)):
        for number in range(1, 4):
            assert one.charge(Pure(0.25), key=str(number)).number == number
    assert account.last().number == 3


@pytest.mark.parametrize(
    ("number", "event", "cost", "spent"),
    [
        (4, Pure(0.25), "0/1", "3/4"),  # the event of the job, free
        (4, Pure(0.125), "1/8", "1/8"),  # a refund under the key of the job
        (-1, Pure(0.25), "1/4", "1/4"),  # outside the numbering
        (9, Pure(0.25), "1/4", "1/1"),
    ],
)
def test_a_key_that_was_forged_beforehand_prepays_nothing(where, account, number, event, cost, spent):
    insert(where, forge(account, account.last(), event, cost, spent, key="job", number=number))
    for one in (account, opened(where)):
        with pytest.raises(LedgerError, match="data set 'data' is damaged"):
            one.charge(Pure(0.25), key="job")


def test_a_key_that_was_paid_for_is_good_for_its_event_alone(where, account):
    insert(where, forge(account, account.last(), Pure(0.125), "1/8", "7/8", key="job"))  # just like a charge
    with pytest.raises(InvalidParameter, match="a new one for another event"):
        account.charge(Pure(0.25), key="job")
    assert account.charge(Pure(0.125), key="job").number == 4
    assert account.spent().epsilon == 0.875 and account.verify()
