"""Attacks on the ledger by somebody who can write to it, with plain INSERTs and copies of the file, and by names.

Until `verify` ran, 0.1.0.dev0 believed the last entry of a history, whatever stood before it.
"""

import hashlib
import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sqlalchemy import text

from hushrank import PrivatePCA
from hushrank.cli.ledger import command
from hushrank.exceptions import HushrankError, InvalidParameter, LedgerError
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated, to_dict
from hushrank.privacy.ledger import Ledger
from hushrank.privacy.ledger.address import open_store

GOLDEN = Path(__file__).parents[1] / "stored" / "golden" / "ledger.db"
ROWS = np.random.default_rng(5).normal(size=(100, 3))


def write_row(connection, terms, previous, **values):
    """A plain INSERT of an entry with a correct hash, computed here and not by the library; returns the hash."""
    entry = {"time": "2026-01-01T00:00:00.000000+00:00", "kind": "charge", "key": None, "note": "", **values}
    content = json.dumps({**entry, "terms": terms}, sort_keys=True, separators=(",", ":"))
    entry |= {"previous": previous, "hash": hashlib.sha256(f"{previous}\n{content}".encode()).hexdigest()}
    places = ", ".join(f":{name}" for name in entry)
    connection.execute(text(f"INSERT INTO hushrank_history ({', '.join(entry)}) VALUES ({places})"), entry)
    return entry["hash"]


def insert(where, account, number, event, cost, spent, *, previous, key=None):
    """A charge put into the history of an account by hand; returns its hash."""
    written = json.dumps(to_dict(event), sort_keys=True, separators=(",", ":"))
    costs = {
        name: f"{Fraction(x).numerator}/{Fraction(x).denominator}" for name, x in (("cost", cost), ("spent", spent))
    }
    values = {"dataset": account.name, "number": number, "event": written, "key": key, **costs}
    terms = account.terms.to_text()
    return open_store(where).write(lambda connection: write_row(connection, terms, previous, **values))


def insert_dataset(where, name, terms):
    """A data set put into a ledger by hand."""
    values = {"dataset": name, "number": 0, "kind": "create", "event": terms, "cost": "0/1", "spent": "0/1"}

    def put(connection):
        connection.execute(text("INSERT INTO hushrank_dataset VALUES (:name, :terms)"), {"name": name, "terms": terms})
        write_row(connection, terms, "0" * 64, **values)

    open_store(where).write(put)


@pytest.fixture
def spent_up(where):
    """An account of which nothing is left."""
    account = Ledger(where).create("patients", epsilon=1)
    account.charge(Pure(0.5), key="first")
    account.charge(Pure(0.5), key="second")
    return account


def fit(account, epsilon=0.5):
    return PrivatePCA(1, row_norm=2.0, epsilon=epsilon, ledger=account).fit(ROWS)


def accounts(where, account):
    """The account of a running process, and that of one that starts now."""
    return account, Ledger(where)[account.name]


# Refunds


def test_an_honest_insert_is_what_the_library_writes(where, spent_up):
    """The forger of these tests knows the format: a charge that adds up passes for one."""
    other = Ledger(where).create("others", epsilon=1)
    insert(where, other, 1, Pure(0.25), "1/4", "1/4", previous=other.last().hash)
    assert other.charge(Pure(0.25)).spent == Fraction(1, 2) and other.verify()


def test_a_plain_insert_refunds_nothing(where, spent_up):
    insert(where, spent_up, 3, Pure(0.125), "1/8", "1/8", previous=spent_up.last().hash)
    for account in accounts(where, spent_up):
        with pytest.raises(LedgerError, match="damaged at entry 3: the running total is wrong"):
            fit(account)
        for look in (account.spent, account.left, account.last):
            with pytest.raises(LedgerError, match="damaged at entry 3"):
                look()


def test_many_inserts_that_agree_with_each_other_refund_nothing(where, spent_up):
    head = spent_up.last().hash
    for n in range(1, 31):
        head = insert(where, spent_up, 2 + n, Pure(0.0078125), "1/128", Fraction(n, 128), previous=head)
    for account in accounts(where, spent_up):
        with pytest.raises(LedgerError, match="damaged at entry 3: the running total is wrong"):
            fit(account)


def test_a_release_cannot_be_booked_below_its_cost(where):
    account = Ledger(where).create("patients", epsilon=1)
    insert(where, account, 1, Pure(0.75), "1/1048576", "1/1048576", previous=account.last().hash)
    for one in accounts(where, account):
        with pytest.raises(LedgerError, match="damaged at entry 1: the cost is not that of the event"):
            fit(one)


@pytest.mark.parametrize(("number", "cost", "spent"), [(3, "0/1", "1/1"), (3, "1/2", "1/2"), (-1, "1/2", "1/2")])
def test_a_key_is_not_prepaid_by_an_insert(where, spent_up, number, cost, spent):
    """A job that asks again after a crash finds its charge by the key; here somebody else put one there."""
    insert(where, spent_up, number, Pure(0.5), cost, spent, previous=spent_up.last().hash, key="job-17")
    for account in accounts(where, spent_up):
        with pytest.raises(LedgerError, match="damaged"):
            account.charge(Pure(0.5), key="job-17")


def test_a_data_set_with_a_cap_above_its_budget_pays_for_nothing(where, spent_up):
    """Put there by hand: epsilon 1 for everybody to read, and a cap of 1000."""
    insert_dataset(where, "gift", spent_up.terms.to_text().replace('"cap":"1/1"', '"cap":"1000/1"'))
    with pytest.raises(LedgerError, match="data set 'gift' is damaged at entry 0: the cap is not what the budget is w"):
        fit(Ledger(where)["gift"], epsilon=500.0)


# Copies of the file


def test_a_file_that_is_put_back_under_a_running_process_is_noticed(sqlite_path):
    account = Ledger(sqlite_path).create("patients", epsilon=1)
    shutil.copy(sqlite_path, sqlite_path + ".old")
    fit(account, 1.0)
    shutil.copy(sqlite_path + ".old", sqlite_path)
    for call in (lambda: fit(account, 1.0), account.left, account.verify):
        with pytest.raises(LedgerError, match="no longer holds entry 1 as it was: the ledger was rolled back"):
            call()


def test_a_file_that_is_put_back_and_charged_again_is_noticed_too(sqlite_path):
    account = Ledger(sqlite_path).create("patients", epsilon=1)
    shutil.copy(sqlite_path, sqlite_path + ".old")
    fit(account, 1.0)
    shutil.copy(sqlite_path + ".old", sqlite_path)
    fit(Ledger(sqlite_path)["patients"], 0.25)  # a new process: it cannot know
    with pytest.raises(LedgerError, match="no longer holds entry 1 as it was"):
        fit(account, 0.25)


# Names


LOOK_ALIKES = [
    "patients\u3164",
    "patients\u115f",
    "pa\u034ftients",
    "patients\u2800",
    "p\u0430tients",  # Cyrillic a
    "\uff50\uff41tients",  # full width
    "Patients",
    "p\u00e1tients",
    "patients\ufe0f",
]


@pytest.mark.parametrize("name", LOOK_ALIKES, ids=ascii)
def test_a_second_budget_under_the_look_of_the_first(where, spent_up, name):
    with pytest.raises(InvalidParameter, match=r"^name of Ledger\.create must be"):
        Ledger(where).create(name, epsilon=1)
    with pytest.raises(HushrankError, match="patients"):  # not there, and what was meant
        Ledger(where)[name]
    assert Ledger(where).names() == ["patients"]


def test_the_command_line_refuses_them_as_well(sqlite_path):
    Ledger(sqlite_path).create("patients", epsilon=1)
    result = CliRunner().invoke(command, ["create", sqlite_path, "p\u0430tients", "--epsilon", "1"])
    assert result.exit_code != 0 and Ledger(sqlite_path).names() == ["patients"]


def test_names_of_old_ledgers_open_and_charge(sqlite_path):
    """A name that was allowed once, here with a filler at its end, is opened as it is."""
    old, another = "patients\u3164", Ledger(sqlite_path).create("another", epsilon=1)
    insert_dataset(sqlite_path, old, another.terms.to_text())
    assert fit(Ledger(sqlite_path)[old]) and Ledger(sqlite_path)[old].last().number == 1
    with pytest.raises(InvalidParameter, match=r"must be unlike 'patients\\u3164', a data set that exists"):
        Ledger(sqlite_path).create("patients", epsilon=1)
    with pytest.raises(LedgerError, match=r"has no data set 'patients' .*looks like it: 'patients\\u3164'"):
        Ledger(sqlite_path)["patients"]


@pytest.mark.parametrize("values", [{"key": "job\u3164"}, {"note": "fit\u034f"}])
def test_keys_and_notes_hide_nothing(where, values):
    account = Ledger(where).create("patients", epsilon=1)
    with pytest.raises(InvalidParameter, match="must be without invisible characters"):
        account.charge(Pure(0.5), **values)
    assert account.last().number == 0


# Ledgers of the first version


def test_the_golden_ledger_opens_verifies_and_charges(tmp_path):
    copied = tmp_path / "ledger.db"
    shutil.copy(GOLDEN, copied)
    ledger = Ledger(copied)
    heads = ledger.verify()
    assert heads
    for name in ledger.names():
        account = ledger[name]
        before = account.last()
        event = Pure(1e-9) if account.currency == "pure" else Composed([Pure(1e-9), Repeated(Gaussian(1e6), 2)])
        assert account.charge(event).number == before.number + 1
        assert account.last().previous == before.hash == heads[name] and account.verify(heads[name])
