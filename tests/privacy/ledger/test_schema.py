"""The tables: what was written stays, in SQLite and in PostgreSQL."""

import pytest
from sqlalchemy import text

from hushrank.exceptions import LedgerError
from hushrank.privacy.events import Pure
from hushrank.privacy.ledger import Ledger, schema
from hushrank.privacy.ledger.address import open_store

COLUMNS = "dataset, number, time, kind, event, cost, spent, key, note, previous, hash"


@pytest.fixture
def account(where):
    account = Ledger(where).create("data", epsilon=1)
    account.charge(Pure(0.25), key="first")
    account.charge(Pure(0.25))
    return account


def run(where, statement):
    open_store(where).write(lambda connection: connection.execute(text(statement)))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hushrank_history SET spent = '0/1'",
        "UPDATE hushrank_history SET note = 'x' WHERE number = 1",
        "DELETE FROM hushrank_history WHERE number = 2",
        "UPDATE hushrank_dataset SET terms = 'x'",
        "DELETE FROM hushrank_dataset",
    ],
)
def test_history_and_caps_are_append_only(where, account, statement):
    head = account.verify()
    with pytest.raises(LedgerError, match="append-only"):
        run(where, statement)
    assert account.verify() == head and account.last().number == 2


def test_truncation_is_refused(postgres_url):
    Ledger(postgres_url).create("data", epsilon=1)
    with pytest.raises(LedgerError, match="append-only"):
        run(postgres_url, "TRUNCATE hushrank_history")


@pytest.mark.parametrize(("number", "key"), [("1", "'new'"), ("3", "'first'")])
def test_insert_or_replace_is_no_way_around(sqlite_path, number, key):
    account = Ledger(sqlite_path).create("data", epsilon=1)
    account.charge(Pure(0.25), key="first")
    values = f"'data', {number}, '', '', '', '', '', {key}, '', '', ''"
    with pytest.raises(LedgerError, match="append-only"):
        run(sqlite_path, f"INSERT OR REPLACE INTO hushrank_history ({COLUMNS}) VALUES ({values})")
    assert account.verify()


@pytest.mark.parametrize("name", ["NULL", "x'00ff'"])
def test_names_that_are_no_text_are_damage(sqlite_path, name):
    """SQLite keeps what it is given: a stranger's file may hold anything."""
    Ledger(sqlite_path).create("data", epsilon=1)
    run(sqlite_path, "DROP TRIGGER IF EXISTS hushrank_dataset_insert")
    run(sqlite_path, "CREATE TABLE other AS SELECT * FROM hushrank_dataset")
    run(sqlite_path, "DROP TABLE hushrank_dataset")
    run(sqlite_path, f"CREATE TABLE hushrank_dataset AS SELECT * FROM other UNION ALL SELECT {name}, 'x'")
    with pytest.raises(LedgerError, match="the name of a data set is no text"):
        Ledger(sqlite_path).names()


def test_caps_cannot_be_replaced_either(sqlite_path):
    account = Ledger(sqlite_path).create("data", epsilon=1)
    with pytest.raises(LedgerError, match="append-only"):
        run(sqlite_path, "INSERT OR REPLACE INTO hushrank_dataset (name, terms) VALUES ('data', 'x')")
    assert account.verify()


def test_queries(where, account):
    Ledger(where).create("another", epsilon=1)

    def look(connection):
        assert schema.has_ledger(connection)
        assert schema.schema_version(connection) == schema.SCHEMA_VERSION
        assert schema.dataset_names(connection) == ["another", "data"]
        assert schema.orphans(connection) == []
        assert schema.find_terms(connection, "data") == account.terms.to_text()
        assert schema.find_terms(connection, "nothing") is None
        assert [row.number for row in schema.all_rows(connection, "data")] == [0, 1, 2]
        for most, numbers in ((1, [2]), (2, [1, 2]), (9, [0, 1, 2])):
            assert [row.number for row in schema.last_rows(connection, "data", most)] == numbers
        assert schema.last_rows(connection, "nothing", 1) == []
        assert [row.number for row in schema.rows_from(connection, "data", 1)] == [1, 2]
        assert schema.rows_from(connection, "data", 3) == schema.rows_from(connection, "nothing", 0) == []
        assert [row.number for row in schema.rows_between(connection, "data", -1, 1)] == [0, 1]
        assert schema.row_with_key(connection, "data", "first").number == 1
        assert schema.row_with_key(connection, "another", "first") is None

    open_store(where).read(look)


@pytest.mark.parametrize("end", ["ORDER BY number DESC LIMIT 9", "AND number >= 7 ORDER BY number"])
def test_the_last_rows_are_found_by_an_index(sqlite_path, end):
    Ledger(sqlite_path).create("data", epsilon=1)
    query = f"EXPLAIN QUERY PLAN SELECT * FROM hushrank_history WHERE dataset = 'data' {end}"
    plan = open_store(sqlite_path).read(lambda connection: str(connection.execute(text(query)).all()))
    assert "SEARCH hushrank_history USING INDEX" in plan and "TEMP B-TREE" not in plan
