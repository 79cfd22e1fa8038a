"""A ledger on a server: nobody overspends, no acknowledged charge is lost, and lost connections are reported."""

import sys
import threading

import pytest
from sqlalchemy import Connection

from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy.events import Pure
from hushrank.privacy.ledger import Ledger
from hushrank.privacy.ledger import postgres as postgres_module


def connect(url):
    import psycopg

    return psycopg.connect(url, autocommit=True)


def replace_statement(monkeypatch, old, new):
    """Send the server another statement instead of one of ours."""
    real = Connection.exec_driver_sql

    def send(connection, statement, *arguments):
        return real(connection, new if statement == old else statement, *arguments)

    monkeypatch.setattr(Connection, "exec_driver_sql", send)


def test_eight_processes_spend_exactly_the_budget(postgres_url, charging):
    account = Ledger(postgres_url).create("data", epsilon=2)  # 200 charges of 0.01
    counts = charging("race", postgres_url, "data", 8, 50)
    assert sum(count["got"] for count in counts) == 200 == sum(count["refused"] for count in counts)
    assert account.verify() == account.last().hash and account.last().number == 200


def test_a_hundred_kills_lose_no_acknowledged_charge(postgres_url, charging):
    account = Ledger(postgres_url).create("data", epsilon=1000)
    acknowledged = charging("kill", postgres_url, "data", 50, 2, 0.02, 20262)
    written = {entry.number for entry in account.history() if entry.kind == "charge"}
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= written and len(written) <= len(acknowledged) + 100
    assert account.charge(Pure(0.01)).number > max(written)
    assert account.verify()


def test_without_the_lock_conflicts_are_retried_and_nobody_overspends(postgres_url, monkeypatch):
    replace_statement(monkeypatch, "SELECT pg_advisory_lock(%s)", "SELECT %s")
    conflicts = []
    real = postgres_module.PostgresStore._is_conflict

    def count(store, error):
        conflicts.append(error)
        return real(store, error)

    monkeypatch.setattr(postgres_module.PostgresStore, "_is_conflict", count)
    account = Ledger(postgres_url).create("data", epsilon=1)
    got, refused = run_threads(account, 4, 10, 0.05)
    assert (got, refused) == (20, 20) and conflicts
    assert account.verify() and account.left().epsilon < 1e-15


def test_with_the_lock_there_is_nothing_to_retry(postgres_url, monkeypatch):
    monkeypatch.setattr(postgres_module.PostgresStore, "_is_conflict", lambda *_: False)
    assert run_threads(Ledger(postgres_url).create("data", epsilon=1), 4, 10, 0.05) == (20, 20)


def run_threads(account, threads, charges, epsilon):
    """How many charges went through and how many were refused, over all threads."""
    outcomes = []

    def work():
        for _ in range(charges):
            try:
                account.charge(Pure(epsilon))
                outcomes.append(True)
            except BudgetExceeded:
                outcomes.append(False)

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(outcomes), len(outcomes) - sum(outcomes)


# Connections


def end_sessions_at_commit(url, times):
    """Let the server end the session in the middle of the next commits; sequences outlive a rollback."""
    with connect(url) as connection:
        connection.execute("CREATE SEQUENCE commits")
        connection.execute(
            "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF nextval('commits') <= {times} THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; "
            "RETURN NULL; END $$"
        )
        connection.execute(
            "CREATE CONSTRAINT TRIGGER stop AFTER INSERT ON hushrank_history "
            "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stop()"
        )


def test_a_connection_lost_during_commit(postgres_url):
    account = Ledger(postgres_url).create("data", epsilon=1)
    end_sessions_at_commit(postgres_url, times=2)
    with pytest.raises(LedgerError, match="the outcome is unknown and budget may have been spent"):
        account.charge(Pure(0.25))
    assert account.charge(Pure(0.25), key="fit").number == 1  # lost once more, then found out
    assert account.charge(Pure(0.25), key="fit").number == 1
    assert account.left().epsilon == 0.75 and account.verify()


def test_a_server_out_of_reach_is_one_line_without_the_password(tmp_path):
    pytest.importorskip("psycopg")
    ledger = Ledger(f"postgresql://tester:secret@/base?host={tmp_path}")
    for call in (ledger.names, lambda: ledger.create("data", epsilon=1)):
        with pytest.raises(
            LedgerError, match=r"ledger postgresql://tester:\*\*\*@/base cannot be reached: "
        ) as refusal:
            call()
        assert "secret" not in str(refusal.value) and "\n" not in str(refusal.value)


def test_without_psycopg_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"needs psycopg: pip install 'hushrank\[postgres\]'"):
        Ledger("postgresql://tester:secret@host/base")


def test_a_lock_that_is_held_too_long_is_an_error(postgres_url, monkeypatch):
    monkeypatch.setattr(postgres_module, "PATIENCE", 0.1)
    account = Ledger(postgres_url).create("data", epsilon=1)
    with connect(postgres_url) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [postgres_module.ADVISORY_KEY])
        with pytest.raises(LedgerError, match="is busy"):
            account.charge(Pure(0.1))
    assert account.charge(Pure(0.1)).number == 1


def test_a_server_without_fsync_is_refused(postgres_url, monkeypatch):
    account = Ledger(postgres_url).create("data", epsilon=1)
    replace_statement(monkeypatch, "SHOW fsync", "SELECT 'off'")
    with pytest.raises(LedgerError, match="the server runs with fsync = off"):
        account.charge(Pure(0.1))
    monkeypatch.undo()
    assert account.last().number == 0


def test_an_option_that_makes_no_sense_is_a_ledger_error(postgres_url):
    joint = "&" if "?" in postgres_url else "?"
    with pytest.raises(LedgerError, match="cannot be"):
        Ledger(f"{postgres_url}{joint}port=x").names()


# The database


def test_a_charge_is_serializable_and_synced_though_the_session_is_not(postgres_url):
    ledger = Ledger(postgres_url)
    ledger.create("data", epsilon=1)
    with connect(postgres_url) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")

    def settings(connection):
        names = ("transaction_isolation", "synchronous_commit")
        return [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names]

    assert ledger._store.write(settings) == ["serializable", "on"]
    assert ledger._store.read(settings) == ["repeatable read", "off"]


def test_a_database_without_a_ledger_may_hold_other_tables(postgres_url):
    with connect(postgres_url) as connection:
        connection.execute("CREATE TABLE photos (name text)")
    ledger = Ledger(postgres_url)
    for call in (ledger.names, lambda: ledger["data"]):
        with pytest.raises(LedgerError, match="is not a hushrank ledger: its tables are missing"):
            call()
    assert ledger.create("data", epsilon=1).charge(Pure(0.1)).number == 1


def test_a_table_of_the_same_name_is_refused(postgres_url):
    with connect(postgres_url) as connection:
        connection.execute("CREATE TABLE hushrank_ledger (colour text)")
    with pytest.raises(LedgerError, match="is not a hushrank ledger: its tables are different"):
        Ledger(postgres_url).create("data", epsilon=1)


def test_two_that_create_at_once(postgres_url):
    outcomes = []

    def work(name):
        try:
            outcomes.append(Ledger(postgres_url).create(name, epsilon=1).name)
        except InvalidParameter:
            outcomes.append("refused")

    running = [threading.Thread(target=work, args=[name]) for name in ("a", "b", "a", "b")]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert sorted(outcomes) == ["a", "b", "refused", "refused"]
    assert Ledger(postgres_url).names() == ["a", "b"]
