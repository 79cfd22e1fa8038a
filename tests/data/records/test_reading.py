"""Records: one entry for (X, y) and (X, y, users), refusals in one line without values, values never refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.records.reading import Records, UserRecords, read_records
from hushrank.data.rows.reading import read_rows
from hushrank.exceptions import InvalidParameter

X = np.array([[2.0, 1.0], [5.0, 4.0], [3.0, 6.0], [2.0, 1.0]])
Y = np.array([0.5, 1.5, 2.5, -0.5])
USERS = ["ann", "bob", "ann", "bob"]


def refusal_of(*data):
    with pytest.raises(InvalidParameter) as refusal:
        read_records(*data, owner="A")
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


def all_of(source):
    """Bits of all blocks together."""
    blocks = list(source.blocks())
    return [b"".join(getattr(block, name).tobytes() for block in blocks) for name in ("X", "y")]


def test_records_with_and_without_users():
    records = read_records(X, Y, owner="A")
    assert type(records) is Records and records.n_samples == 4 and records.sizes == {"n_features": 2}
    [block] = records.blocks()
    assert np.array_equal(block.X, X) and np.array_equal(block.y, Y)
    users = read_records(X, Y, USERS, owner="A")
    assert type(users) is UserRecords and users.n_samples is None and users.n_users == 2
    [block] = users.blocks()
    assert block.indptr.tolist() == [0, 2, 4] and block.y.tolist() == [0.5, 2.5, -0.5, 1.5]


FORMS = {
    "lists": (X.tolist(), Y.tolist(), USERS),
    "pandas": (pd.DataFrame(X), pd.Series(Y), pd.Series(USERS, dtype="string")),
    "polars": (pl.DataFrame(X), pl.Series(Y), pl.Series(USERS)),
    "Arrow": (pa.table({"a": X[:, 0], "b": X[:, 1]}), pa.array(Y), pa.array(USERS)),
    "columns": (np.asfortranarray(X), np.repeat(Y, 2)[::2], np.array(USERS)),
    "float32": (X.astype(np.float32), Y.astype(np.float16), np.array(USERS, np.dtypes.StringDType())),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_bits(form):
    data, y, users = FORMS[form]
    assert all_of(read_records(data, y, owner="A")) == all_of(read_records(X, Y, owner="A"))
    assert all_of(read_records(data, y, users, owner="A")) == all_of(read_records(X, Y, USERS, owner="A"))


def test_names_of_columns_are_kept():
    table = pl.DataFrame(X, ["height", "weight"])
    for users in (None, USERS):
        assert read_records(table, Y, users, owner="A").columns == ("height", "weight")
        assert read_records(X, Y, users, owner="A").columns is None


def test_sources_are_passed_through():
    for users in (None, USERS):
        source = read_records(X, Y, users, owner="A")
        assert read_records(source, owner="A") is source
        assert refusal_of(source, Y) == "y of A must be None beside a source, which has it; got 'ndarray'."
        assert refusal_of(source, None, USERS) == "users of A must be None beside a source, which has it; got 'list'."


def test_other_sources_are_refused():
    rows = read_rows(X, owner="A")
    assert refusal_of(rows) == "X of A must be records: an array or a table, with y; got 'ArrayRows'."


REFUSED = {
    "no answers": ((X, None), "y of A must be a vector, one number for each record; got None."),
    "fewer answers": ((X, Y[:3]), "y of A must be a vector of 4 numbers, one for each record; got '3 numbers'."),
    "answers of two axes": (
        (X, Y[:, np.newaxis]),
        "y of A must be a vector, one number for each record; got 'shape (4, 1)'.",
    ),
    "answers that are texts": (
        (X, ["7.25"] * 4),
        "y of A must be real numbers of at most double precision; got '<U4'.",
    ),
    "fewer ids": ((X, Y, USERS[:3]), "users of A must be 4 ids, one for each record; got '3 ids'."),
    "ids that are numbers": (
        (X, Y, np.full(4, 7.25)),
        "users of A must be a vector of int64 or str ids; got 'float64 (4,)'.",
    ),
    "one axis": (
        (Y, Y),
        "X of A must be of shape (n, d) or (n, d1, d2), a vector or matrix for each record (Reshape your data); "
        "got 'shape (4,)'.",
    ),
    "nothing": ((None, Y), "X of A must be real numbers of at most double precision; got 'object'."),
    "a path": (("x.csv", Y), "X of A must be real numbers of at most double precision; got '<U5'."),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_are_one_line_without_values(kind):
    data, message = REFUSED[kind]
    assert refusal_of(*data) == message


NUMBERS = st.floats() | st.sampled_from([0.0, -0.0, np.nan, np.inf, 5e-324])
IDS = st.none() | st.text(st.characters(codec=None), max_size=3) | st.integers(-(2**65), 2**65) | st.just(np.nan)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, IDS), min_size=1, max_size=12))
@settings(deadline=None)
def test_values_never_raise(rows):
    """Any numbers with any ids, huge and foreign ones and none: what cannot be used is one record less."""
    numbers, users = np.array([row[:2] for row in rows]), [row[2] for row in rows]
    source = read_records(numbers[:, :1], numbers[:, 1], users, owner="A")
    assert source.n_users <= len(rows) and sum(len(block.y) for block in source.blocks()) <= len(rows)
    with_one = read_records(
        np.vstack([numbers[:, :1], [[7.0]]]), [*numbers[:, 1], 8.0], [*users, "somebody else"], owner="A"
    )
    assert with_one.n_users == source.n_users + 1
    *_, last = with_one.blocks()
    assert last.X[-1].tolist() == [7] and last.y[-1] == 8
