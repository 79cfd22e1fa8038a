"""Paths and URLs: which store they name, and what is refused without repeating a password."""

import os
from pathlib import Path

import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger.address import open_store
from hushrank.privacy.ledger.postgres import PostgresStore
from hushrank.privacy.ledger.sqlite import SqliteStore


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}", "sqlite+pysqlite:///{}"])
def test_a_path_or_sqlite_url_is_a_file(tmp_path, form):
    path = tmp_path / "a b%20ü?#.db"
    text = form.format(path)
    if "://" in form:
        text = form.format(tmp_path / "plain.db")
        path = tmp_path / "plain.db"
    store = open_store(text)
    assert isinstance(store, SqliteStore) and store.address == str(path)
    assert not path.exists()


def test_relative_paths_are_kept_when_the_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = open_store(Path("budget.db"))
    assert store.shown == "'budget.db'" and store.address == os.path.join(os.getcwd(), "budget.db")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_postgresql_url_is_a_server(scheme):
    pytest.importorskip("psycopg")
    store = open_store(f"{scheme}://user:secret@host.invalid:99/base?password=hidden")
    assert isinstance(store, PostgresStore)
    assert store.shown == "postgresql://user:***@host.invalid:99/base"
    assert store.address == "postgresql+psycopg://user:secret@host.invalid:99/base?password=hidden"


@pytest.mark.parametrize(
    "where",
    [
        "mysql://user:secret@host/base",
        "sqlite:///a.db?password=secret",
        "sqlite+aiosqlite:///secret.db",
        "postgresql+asyncpg://user:secret@host/base",
        "postgresql://user:secret@host:port/base",
        "://secret",
        "sqlite://",
        "sqlite://secret/budget.db",
        "sqlite:budget-secret.db",
        "postgresql:/me:secret@host/base",
        "POSTGRES:secret@host",
        "postgresql://me:p@secret@127.0.0.1/x",
        "sqlite:///:memory:",
        "",
        ":memory:",
        "a\0b",
        b"budget.db",
        None,
        3,
    ],
)
def test_anything_else_is_refused_and_no_secret_repeated(where):
    with pytest.raises(InvalidParameter, match="where of Ledger must be a") as refusal:
        open_store(where)
    assert "secret" not in str(refusal.value)
