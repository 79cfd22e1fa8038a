"""The tables of a ledger and every query on them; they are the same in SQLite and PostgreSQL.

Triggers refuse to change or delete what was written. They guard against mistakes, not against the owner of the
database, who can drop them; that is what the chain of hashes is for.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Select,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    event,
    insert,
    inspect,
    select,
    update,
)

from hushrank.exceptions import LedgerError
from hushrank.privacy.ledger.chain import Row

SCHEMA_VERSION = 1

METADATA = MetaData()

LEDGER = Table(
    "hushrank_ledger",
    METADATA,
    Column("version", Integer, nullable=False),
    Column("confirmations", Integer, nullable=False),
)

DATASETS = Table(
    "hushrank_dataset",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("terms", Text, nullable=False),
)

HISTORY = Table(
    "hushrank_history",
    METADATA,
    Column("dataset", Text, ForeignKey(DATASETS.c.name), nullable=False),
    Column("number", Integer, nullable=False, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("cost", Text, nullable=False),
    Column("spent", Text, nullable=False),
    Column("key", Text),
    Column("note", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    PrimaryKeyConstraint("dataset", "number"),
    UniqueConstraint("dataset", "key"),  # rows without a key do not collide
)

_SQLITE_REFUSAL = """
CREATE TRIGGER %(table)s_no_{action} BEFORE {action} ON %(table)s
BEGIN SELECT RAISE(ABORT, '%(table)s is append-only'); END
"""

# INSERT OR REPLACE deletes the row in its way without asking the trigger for DELETE.
_SQLITE_NO_REPLACE = """
CREATE TRIGGER %(table)s_no_replace BEFORE INSERT ON %(table)s
WHEN EXISTS (SELECT 1 FROM %(table)s WHERE {same})
BEGIN SELECT RAISE(ABORT, '%(table)s is append-only'); END
"""
_SAME_HISTORY = "dataset = NEW.dataset AND (number = NEW.number OR key = NEW.key)"

_POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION hushrank_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'hushrank tables are append-only'; END $$
"""

_POSTGRES_REFUSAL = """
CREATE TRIGGER %(table)s_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %(table)s
FOR EACH STATEMENT EXECUTE FUNCTION hushrank_append_only()
"""


def _after_create(table: Table, dialect: str, statement: str) -> None:
    ddl = DDL(statement)  # type: ignore[no-untyped-call]  # SQLAlchemy has no types for it
    event.listen(table, "after_create", ddl.execute_if(dialect=dialect))


for _table in (DATASETS, HISTORY):
    for _action in ("UPDATE", "DELETE"):
        _after_create(_table, "sqlite", _SQLITE_REFUSAL.format(action=_action))
    _after_create(_table, "postgresql", _POSTGRES_FUNCTION)
    _after_create(_table, "postgresql", _POSTGRES_REFUSAL)
_after_create(DATASETS, "sqlite", _SQLITE_NO_REPLACE.format(same="name = NEW.name"))
_after_create(HISTORY, "sqlite", _SQLITE_NO_REPLACE.format(same=_SAME_HISTORY))


# Built once: SQLAlchemy takes longer to put a statement together than SQLite to run it.
_VERSION = select(LEDGER.c.version)
_NAMES = select(DATASETS.c.name)
_TERMS = select(DATASETS.c.terms).where(DATASETS.c.name == bindparam("dataset"))
_ROWS = select(*(HISTORY.c[name] for name in Row.__slots__)).where(HISTORY.c.dataset == bindparam("dataset"))
_ORPHANS = select(HISTORY.c.dataset).where(HISTORY.c.dataset.not_in(_NAMES)).distinct()
_IN_ORDER = _ROWS.order_by(HISTORY.c.number)
_LAST = _ROWS.order_by(HISTORY.c.number.desc()).limit(bindparam("most", type_=Integer))
_FROM = _ROWS.where(HISTORY.c.number >= bindparam("first")).order_by(HISTORY.c.number)
_BETWEEN = _FROM.where(HISTORY.c.number <= bindparam("last"))
_WITH_KEY = _ROWS.where(HISTORY.c.key == bindparam("wanted"))
_INSERT_ROW = insert(HISTORY)


def has_ledger(connection: Connection) -> bool:
    """Whether the database holds a ledger, of whatever version."""
    return inspect(connection).has_table(LEDGER.name)


def create_tables(connection: Connection) -> None:
    """Make the tables, their triggers and the mark of their version."""
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(insert(LEDGER).values(version=SCHEMA_VERSION, confirmations=0))


def schema_version(connection: Connection) -> int | None:
    """Version of the tables."""
    return connection.execute(_VERSION).scalar()


def confirm(connection: Connection) -> None:
    """Change something, so that the commit of this transaction makes everything that it has seen durable as well."""
    connection.execute(update(LEDGER).values(confirmations=LEDGER.c.confirmations + 1))


def orphans(connection: Connection) -> list[str]:
    """Names that the history has and the data sets have not."""
    return _sorted_texts(connection.execute(_ORPHANS).scalars())


def dataset_names(connection: Connection) -> list[str]:
    """All data sets in order of their names."""
    return _sorted_texts(connection.execute(_NAMES).scalars())


def _sorted_texts(names: Iterable[Any]) -> list[str]:
    """Names in order; SQLite keeps whatever it is given, numbers and bytes too, which no ledger of ours holds."""
    found = list(names)
    if not all(isinstance(name, str) for name in found):
        raise LedgerError("the ledger is damaged: the name of a data set is no text")
    return sorted(found)


def find_terms(connection: Connection, dataset: str) -> str | None:
    """Text of the terms of a data set, if there is one of this name."""
    return connection.execute(_TERMS, {"dataset": dataset}).scalar()


def insert_dataset(connection: Connection, terms: str, row: Row) -> None:
    """Write a new data set with its entry 0."""
    connection.execute(insert(DATASETS).values(name=row.dataset, terms=terms))
    insert_row(connection, row)


def insert_row(connection: Connection, row: Row) -> None:
    """Append to the history."""
    connection.execute(_INSERT_ROW, {name: getattr(row, name) for name in Row.__slots__})


def last_rows(connection: Connection, dataset: str, most: int) -> list[Row]:
    """Up to `most` rows with the largest numbers in rising order, found by the index of the primary key."""
    return _rows(connection, _LAST, dataset=dataset, most=most)[::-1]


def rows_from(connection: Connection, dataset: str, first: int) -> list[Row]:
    """The rows of a number of at least `first`, in order."""
    return _rows(connection, _FROM, dataset=dataset, first=first)


def rows_between(connection: Connection, dataset: str, first: int, last: int) -> list[Row]:
    """The rows of the numbers `first` to `last`, in order."""
    return _rows(connection, _BETWEEN, dataset=dataset, first=first, last=last)


def row_with_key(connection: Connection, dataset: str, key: str) -> Row | None:
    """The row that was charged under `key`."""
    return next(iter(_rows(connection, _WITH_KEY, dataset=dataset, wanted=key)), None)


def all_rows(connection: Connection, dataset: str) -> list[Row]:
    """The history in order."""
    return _rows(connection, _IN_ORDER, dataset=dataset)


def _rows(connection: Connection, query: Select[Any], **parameters: str | int) -> list[Row]:
    return [Row(**values) for values in connection.execute(query, parameters).mappings()]
