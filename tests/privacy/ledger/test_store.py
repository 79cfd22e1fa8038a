"""Transactions: all or nothing, retried where that is safe, and honest where the outcome is unknown."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from hushrank.exceptions import BudgetExceeded, LedgerError
from hushrank.privacy.events import Pure
from hushrank.privacy.ledger import Ledger, schema, store
from hushrank.privacy.ledger.address import open_store
from hushrank.privacy.ledger.chain import Row
from hushrank.privacy.ledger.sqlite import SqliteStore
from hushrank.privacy.ledger.store import OutcomeUnknown


@pytest.fixture
def account(sqlite_path):
    return Ledger(sqlite_path).create("data", epsilon=1)


def break_commit(monkeypatch, *, after, times=1):
    """Let the next commits fail like a lost connection, before or after the database has committed."""
    real, left = Connection.commit, [times]

    def commit(connection):
        if not left[0]:
            return real(connection)
        left[0] -= 1
        if after:
            real(connection)
        raise OperationalError("COMMIT", {}, sqlite3.OperationalError("disk I/O error"))

    monkeypatch.setattr(Connection, "commit", commit)


@pytest.mark.parametrize("after", [False, True])
def test_without_a_key_a_lost_commit_is_reported_as_unknown(account, monkeypatch, after):
    break_commit(monkeypatch, after=after)
    with pytest.raises(LedgerError, match="the outcome is unknown and budget may have been spent"):
        account.charge(Pure(0.25))
    assert account.last().number == after  # the message is right either way


@pytest.mark.parametrize("after", [False, True])
def test_with_a_key_a_lost_commit_is_looked_up_and_counts_once(account, monkeypatch, after):
    break_commit(monkeypatch, after=after)
    assert account.charge(Pure(0.25), key="fit").number == 1
    assert account.last().number == 1 and account.left().epsilon == 0.75
    assert account.verify()


@pytest.mark.parametrize("after", [False, True])
def test_with_a_key_and_no_way_to_find_out_the_outcome_stays_unknown(account, monkeypatch, after):
    break_commit(monkeypatch, after=after, times=2)
    with pytest.raises(OutcomeUnknown, match="charge again under the same key to find out"):
        account.charge(Pure(0.25), key="fit")


def test_what_work_raises_undoes_its_changes(sqlite_path, account):
    def work(connection):
        schema.insert_row(connection, Row("data", 1, *[""] * 9))
        raise BudgetExceeded(1.0, 0.0, "epsilon")

    with pytest.raises(BudgetExceeded):
        open_store(sqlite_path).write(work)
    assert account.last().number == 0 and account.verify()


def test_conflicts_are_tried_again_until_patience_ends(sqlite_path, account, monkeypatch):
    calls = []

    def work(connection):
        calls.append(connection)
        if len(calls) < 4:
            connection.exec_driver_sql("SELECT broken")
        return "done"

    monkeypatch.setattr(SqliteStore, "_is_conflict", lambda *_: True)
    assert open_store(sqlite_path).write(work) == "done" and len(calls) == 4
    monkeypatch.setattr(store, "PATIENCE", 0)
    calls.clear()
    with pytest.raises(LedgerError, match="is busy: gave up after 0 seconds"):
        open_store(sqlite_path).write(work)
    assert len(calls) == 1


def test_a_closed_store_refuses(sqlite_path, account):
    closed = open_store(sqlite_path)
    closed.close()
    for call in (lambda: closed.read(print), lambda: closed.write(print, create=True)):
        with pytest.raises(LedgerError, match=r"budget.db' is closed$"):
            call()


def test_another_format_is_refused_and_left_alone(sqlite_path, account):
    with sqlite3.connect(sqlite_path) as connection:
        connection.execute("UPDATE hushrank_ledger SET version = 2")
    connection.close()
    before = Path(sqlite_path).read_bytes()
    for call in (account.last, lambda: account.charge(Pure(0.1)), lambda: Ledger(sqlite_path).create("x", epsilon=1)):
        with pytest.raises(LedgerError, match="was made by a newer version of hushrank and has format 2; this version"):
            call()
    assert Path(sqlite_path).read_bytes() == before
