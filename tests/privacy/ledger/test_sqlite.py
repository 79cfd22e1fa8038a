"""A ledger in a file: foreign files stay as they are, nobody overspends, and no acknowledged charge is lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import text

from hushrank.exceptions import LedgerError
from hushrank.privacy.events import Pure
from hushrank.privacy.ledger import Ledger
from hushrank.privacy.ledger import sqlite as sqlite_module
from hushrank.privacy.ledger.address import open_store


def test_eight_processes_spend_exactly_the_budget(sqlite_path, charging):
    account = Ledger(sqlite_path).create("data", epsilon=2)  # 200 charges of 0.01
    counts = charging("race", sqlite_path, "data", 8, 50)
    assert sum(count["got"] for count in counts) == 200 == sum(count["refused"] for count in counts)
    assert account.verify() == account.last().hash and account.last().number == 200


@pytest.fixture
def path_on_disk():
    """Not in memory, as `tmp_path` may be: two kills of three hit a commit that waits for a disk, few another one."""
    with tempfile.TemporaryDirectory(prefix="hushrank-") as folder:
        yield os.path.join(folder, "budget.db")


def test_a_hundred_kills_lose_no_acknowledged_charge(path_on_disk, charging):
    account = Ledger(path_on_disk).create("data", epsilon=1000)
    acknowledged = charging("kill", path_on_disk, "data", 50, 2, 0.015, 20261)
    written = {entry.number for entry in account.history() if entry.kind == "charge"}
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= written and len(written) <= len(acknowledged) + 100
    assert account.charge(Pure(0.01)).number == len(written) + 1
    assert account.verify()
    assert os.listdir(os.path.dirname(path_on_disk)) == ["budget.db"]  # no journal is left


# What must not be touched


@pytest.mark.parametrize("content", [b"", b"hello", b"date,amount\n" * 1000], ids=["empty", "short", "long"])
def test_a_file_that_is_no_database_is_refused_and_left_alone(sqlite_path, content):
    Path(sqlite_path).write_bytes(content)
    calls = [Ledger(sqlite_path).names, lambda: Ledger(sqlite_path)["data"]]
    if content:  # an empty file is an empty database, as a crash while creating leaves it
        calls.append(lambda: Ledger(sqlite_path).create("data", epsilon=1))
    for call in calls:
        with pytest.raises(LedgerError, match="is not a hushrank ledger"):
            call()
    assert Path(sqlite_path).read_bytes() == content
    assert os.listdir(os.path.dirname(sqlite_path)) == ["budget.db"]


@pytest.mark.parametrize("table", ["photos (name)", "hushrank_ledger (colour)"])
def test_a_database_of_others_is_refused_and_left_alone(sqlite_path, table):
    connection = sqlite3.connect(sqlite_path)
    connection.execute(f"CREATE TABLE {table}")
    connection.close()
    before = Path(sqlite_path).read_bytes()
    ledger = Ledger(sqlite_path)
    for call in (ledger.names, lambda: ledger["data"], lambda: ledger.create("data", epsilon=1)):
        with pytest.raises(LedgerError, match="is not a hushrank ledger"):
            call()
    assert Path(sqlite_path).read_bytes() == before


def test_a_missing_file_is_not_made_by_looking(sqlite_path):
    ledger = Ledger(sqlite_path)
    for call in (ledger.names, lambda: ledger["data"]):
        with pytest.raises(LedgerError, match=r"budget.db' does not exist$"):
            call()
    assert not os.path.exists(sqlite_path)
    assert ledger.create("data", epsilon=1).last().number == 0


def test_an_account_whose_file_is_gone_refuses(sqlite_path):
    account = Ledger(sqlite_path).create("data", epsilon=1)
    os.remove(sqlite_path)
    with pytest.raises(LedgerError, match="does not exist"):
        account.charge(Pure(0.1))
    assert not os.path.exists(sqlite_path)


def test_a_place_where_no_file_can_be(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "budget.db"):
        with pytest.raises(LedgerError, match=r"cannot be opened|does not exist"):
            Ledger(path).create("data", epsilon=1)


def test_names_of_files_are_taken_literally(tmp_path):
    for name in ("100%25.db", "a?mode=ro", "b#c.db", "ü ä.db"):
        Ledger(tmp_path / name).create("data", epsilon=1)
        assert (tmp_path / name).exists()


def test_a_broken_page_is_an_error_and_nothing_is_charged(sqlite_path):
    account = Ledger(sqlite_path).create("data", epsilon=1)
    whole = bytearray(Path(sqlite_path).read_bytes())
    whole[4096:] = b"\xff" * (len(whole) - 4096)
    Path(sqlite_path).write_bytes(whole)
    with pytest.raises(LedgerError, match="is damaged: SQLite cannot read it"):
        account.charge(Pure(0.1))
    assert Path(sqlite_path).read_bytes() == bytes(whole)


# Locks and durability


@pytest.mark.parametrize(
    ("mode", "call"),
    [
        ("EXCLUSIVE", lambda account: account.last()),
        ("IMMEDIATE", lambda account: account.charge(Pure(0.1))),
        ("a reader", lambda account: account.charge(Pure(0.1))),  # found at COMMIT
    ],
)
def test_a_lock_that_is_held_too_long_is_an_error(sqlite_path, monkeypatch, mode, call):
    monkeypatch.setattr(sqlite_module, "PATIENCE", 0.1)
    account = Ledger(sqlite_path).create("data", epsilon=1)
    other = sqlite3.connect(sqlite_path, isolation_level=None)
    other.execute("BEGIN" if mode == "a reader" else f"BEGIN {mode}")
    other.execute("SELECT count(*) FROM hushrank_history").fetchall()
    with pytest.raises(LedgerError, match="is busy") as refusal:
        call(account)
    assert "unknown" not in str(refusal.value)
    other.close()
    assert account.last().number == 0 and account.charge(Pure(0.1)).number == 1


def test_commits_are_synced_and_the_journal_is_the_default_one(sqlite_path):
    Ledger(sqlite_path).create("data", epsilon=1)
    names = ("synchronous", "journal_mode")

    def settings(connection):
        return [connection.execute(text(f"PRAGMA {name}")).scalar() for name in names]

    assert open_store(sqlite_path).read(settings) == [3, "delete"]  # 3 is EXTRA


def test_the_total_is_read_under_the_write_lock(sqlite_path):
    Ledger(sqlite_path).create("data", epsilon=1)
    other = sqlite3.connect(sqlite_path, isolation_level=None, timeout=0)

    def work(_):
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        return "locked out"

    assert open_store(sqlite_path).write(work) == "locked out"
    other.close()


CHARGE_ELSEWHERE = """
import sys
from hushrank.exceptions import LedgerError
from hushrank.privacy.events import Pure
from hushrank.privacy.ledger import Ledger, sqlite
sqlite.PATIENCE = 0.3
try:
    print(Ledger(sys.argv[1])["data"].charge(Pure(0.75)).number)
except LedgerError as error:
    print(error)
"""


def test_a_copy_of_the_file_by_another_thread_lets_nobody_in(sqlite_path, tmp_path):
    """Closing any handle of a file drops the POSIX locks of the process on it; the lock on the folder stays."""
    Ledger(sqlite_path).create("data", epsilon=1)

    def work(_):
        shutil.copy(sqlite_path, tmp_path / "backup.db")
        command = [sys.executable, "-c", CHARGE_ELSEWHERE, sqlite_path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "is busy" in open_store(sqlite_path).write(work)
    assert work(None) == "1\n"


def test_a_file_with_two_names_is_refused(sqlite_path):
    account = Ledger(sqlite_path).create("data", epsilon=1)
    os.link(sqlite_path, f"{sqlite_path}.link")
    for ledger in (account._ledger, Ledger(f"{sqlite_path}.link")):
        with pytest.raises(LedgerError, match="has more than one name"):
            ledger["data"]
    os.unlink(f"{sqlite_path}.link")
    os.symlink(sqlite_path, f"{sqlite_path}.soft")
    assert Ledger(f"{sqlite_path}.soft")["data"].charge(Pure(0.5)).number == 1


def test_a_path_is_what_the_system_says_it_is(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    os.symlink(tmp_path / "a" / "b", tmp_path / "link")
    Ledger(tmp_path / "link" / ".." / "budget.db").create("data", epsilon=1)
    assert (tmp_path / "a" / "budget.db").exists() and not (tmp_path / "budget.db").exists()


def test_a_path_that_cannot_be_encoded_is_a_ledger_error():
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger("\ud800.db").names()
