"""Records: one entry for (X, y) and (X, y, users), refusals in one line without values, values never refused."""

import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.records import grouping, out_of_core, sources
from hushrank.data.records.reading import Records, UserRecords, read_records
from hushrank.data.rows.reading import read_rows
from hushrank.exceptions import InvalidParameter

X = np.array([[2.0, 1.0], [5.0, 4.0], [3.0, 6.0], [2.0, 1.0]])
Y = np.array([0.5, 1.5, 2.5, -0.5])
USERS = ["ann", "bob", "ann", "bob"]


def refusal_of(*data, **options):
    with pytest.raises(InvalidParameter) as refusal:
        read_records(*data, owner="A", **options)
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


def all_of(source, max_rows=8192):
    """Bits of all blocks together, X as float64: whether that is kept as float32 depends on types."""
    blocks = list(source.blocks(max_rows))
    X, y = ([getattr(block, name).astype(np.float64).tobytes() for block in blocks] for name in ("X", "y"))
    return b"".join(X), b"".join(y)


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
    message = "X of A must be records: an array, a table, a path or blocks, with y; got 'ArrayRows'."
    assert refusal_of(rows) == message


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
    "answers beside a path": (
        ("x.csv", Y),
        "y of A must be the name of a column beside a path, or None; got 'ndarray'.",
    ),
    "no such file": (("x.csv",), "X of A must be an existing file; got 'x.csv'."),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_are_one_line_without_values(kind):
    data, message = REFUSED[kind]
    assert refusal_of(*data) == message


# Every format.

RNG = np.random.default_rng(3)
MANY = 200
CODES = np.minimum(RNG.integers(0, 40, MANY), RNG.integers(0, 40, MANY))
USERS_OF = {
    "int": CODES - 20,
    "uint64": CODES.astype(np.uint64) + np.uint64(2**64 - 60),
    "str": np.array([f"user {code}" for code in CODES]),
}
ANSWERS = RNG.integers(0, 4, MANY) / 4.0
NUMBERS_OF = {
    "float64": np.where(RNG.random((MANY, 3)) < 0.1, np.nan, RNG.standard_normal((MANY, 3))),
    "float32": RNG.integers(-2, 3, (MANY, 3)).astype(np.float32) / 4,
    "int16": RNG.integers(-2, 3, (MANY, 3)).astype(np.int16),
}


def as_arrow(X, y, users):
    return pa.table({"p": X[:, 0], "user": users, "q": X[:, 1], "target": y, "r": X[:, 2]})


def as_pandas(X, y, users):
    table = pd.DataFrame({"p": X[:, 0], "q": X[:, 1], "r": X[:, 2], "target": y, "user": users})
    return table.astype({"user": "string"}) if users.dtype.kind == "U" else table


def as_csv(X, y, users, path):
    table = pd.DataFrame({"target": y, "p": X[:, 0], "q": X[:, 1], "r": X[:, 2], "user": users})
    table.to_csv(path / "x.csv", index=False)
    return path / "x.csv"


def as_parquet(X, y, users, path):
    pq.write_table(as_arrow(X, y, users), path / "x.parquet", row_group_size=len(y) // 7)
    return str(path / "x.parquet")


def as_folder(X, y, users, path):
    (path / "deep").mkdir()
    pq.write_table(as_arrow(X[:70], y[:70], users[:70]), path / "deep" / "0.parquet")
    rest = as_arrow(X[70:], y[70:], users[70:])
    pq.write_table(rest.select(["user", "target", "r", "q", "p"]), path / "deep" / "1.parquet")
    return path / "deep"


def pieces(X, y, users, step):
    step = step * -(-len(y) // MANY)
    return [(X[k : k + step], y[k : k + step], users[k : k + step]) for k in range(0, len(y), step)]


FORMATS = {
    "arrays": lambda X, y, users, path: (X, y, users),
    "columns first": lambda X, y, users, path: (np.asfortranarray(X), y, pa.array(users)),
    "pandas": lambda X, y, users, path: (as_pandas(X, y, users),),
    "polars": lambda X, y, users, path: (pl.from_arrow(as_arrow(X, y, users)),),
    "Arrow": lambda X, y, users, path: (as_arrow(X, y, users),),
    "Arrow and arrays": lambda X, y, users, path: (as_arrow(X, y, users).select(["p", "q", "r"]), y, users),
    "CSV": lambda X, y, users, path: (as_csv(X, y, users, path),),
    "Parquet": lambda X, y, users, path: (as_parquet(X, y, users, path),),
    "folder": lambda X, y, users, path: (as_folder(X, y, users, path),),
    "iterator": lambda X, y, users, path: (iter(pieces(X, y, users, 33)),),
    "iterator of ones": lambda X, y, users, path: (iter(pieces(X, y, users, 1)),),
    "function": lambda X, y, users, path: (lambda: pieces(X, y, users, 61),),
    "tables": lambda X, y, users, path: (iter([as_pandas(*piece) for piece in pieces(X, y, users, 50)]),),
    "Arrow batches": lambda X, y, users, path: (as_arrow(X, y, users).to_reader(max_chunksize=len(y) // 5),),
}


UNNAMED = {"arrays", "columns first", "iterator", "iterator of ones", "function"}
DOUBLE = {"CSV", "iterator", "iterator of ones", "function", "tables", "Arrow batches"}  # whatever their types


def set_low(patch):
    for name in ("GROUPED_IN_MEMORY", "GROUPED_BESIDE_DATA", "PARTED_IN_MEMORY"):
        patch.setattr(out_of_core, name, 0)
    for name in ("CHUNK_BYTES", "PART_BYTES"):
        patch.setattr(out_of_core, name, 300)
    patch.setattr(sources, "BATCH_RECORDS", 7)
    patch.setattr(grouping, "MAX_BLOCK_RECORDS", 9)


def by_user(source, ids):
    """Bits of each user's records, in the order of the ids' first appearance."""
    found = []
    for block in source.blocks():
        spans = [slice(*block.indptr[i : i + 2]) for i in range(len(block))]
        found += [(block.X[span].astype(np.float64).tobytes(), block.y[span].tobytes()) for span in spans]
    return dict(zip(dict.fromkeys(ids.tolist()), found, strict=True))


@pytest.mark.parametrize("is_low", [False, True], ids=["in memory", "in files"])
@pytest.mark.parametrize("kind", USERS_OF)
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_bits(tmp_path, monkeypatch, form, kind, is_low):
    users = USERS_OF[kind]
    for dtype, X in NUMBERS_OF.items():
        expected = read_records(X, ANSWERS, users, owner="A")
        [block] = expected.blocks()
        with monkeypatch.context() as patch:
            if is_low:
                set_low(patch)
            (tmp_path / dtype).mkdir()
            source = read_records(*FORMATS[form](X, ANSWERS, users, tmp_path / dtype), owner="A", needs_users=True)
            assert type(source) is UserRecords and source.n_users == expected.n_users
            assert source.sizes == {"n_features": 3}
            assert source.columns == (None if form in UNNAMED else ("p", "q", "r"))
            kept = {one.X.dtype for one in source.blocks()}
            assert kept == {np.dtype(np.float64 if form in DOUBLE or dtype == "float64" else np.float32)}
            for max_rows in (1, 8192):
                blocks = list(source.blocks(max_rows))
                assert all_of(source, max_rows) == (block.X.astype(np.float64).tobytes(), block.y.tobytes())
                counts = np.concatenate([np.diff(one.indptr) for one in blocks])
                assert np.array_equal(counts, np.diff(block.indptr))


@pytest.mark.parametrize("form", FORMATS)
def test_shuffled_rows_give_every_user_the_same_bits(tmp_path, form):
    X, users = NUMBERS_OF["float64"], USERS_OF["str"]
    expected = by_user(read_records(X, ANSWERS, users, owner="A"), users)
    order = np.random.default_rng(1).permutation(MANY)
    source = read_records(*FORMATS[form](X[order], ANSWERS[order], users[order], tmp_path), owner="A")
    assert by_user(source, users[order]) == expected


@pytest.mark.parametrize("is_low", [False, True], ids=["in memory", "in files"])
@pytest.mark.parametrize("form", FORMATS)
def test_one_user_changes_the_records_of_one_user(tmp_path, monkeypatch, form, is_low):
    """Through every format: whatever somebody brings, the bits of all others stay as they are."""
    if is_low:
        set_low(monkeypatch)
    X, users = NUMBERS_OF["float64"], USERS_OF["str"]
    (tmp_path / "before").mkdir()
    before = by_user(read_records(*FORMATS[form](X, ANSWERS, users, tmp_path / "before"), owner="A"), users)
    own = users == users[11]
    assert own.sum() > 1
    for k, odd in enumerate((np.nan, np.inf, -0.0, 1e308)):
        numbers, answers = X.copy(), ANSWERS.copy()
        numbers[own], answers[own] = odd, -odd
        others = users.copy()
        others[np.flatnonzero(own)[1:]] = ["", "somebody new", users[11]][k % 3]  # ids are one person's choice, too
        (tmp_path / str(k)).mkdir()
        source = read_records(*FORMATS[form](numbers, answers, others, tmp_path / str(k)), owner="A")
        after = by_user(source, others[others != ""])
        assert len(after) >= len(before)  # a user without a finite number is still one
        assert {user: after[user] for user in before if user != users[11]} == {
            user: own for user, own in before.items() if user != users[11]
        }


@pytest.mark.parametrize("form", FORMATS)
def test_one_and_very_many_records(tmp_path, monkeypatch, form):
    n = 100_003
    X, y = np.zeros((n, 3)), np.zeros(n)
    X[::1000, 2] = np.arange(0, n, 1000)
    users = np.full(n, 7)
    users[[0, n - 1]] = 5, 9
    (tmp_path / "1").mkdir()
    expected = all_of(read_records(X, y, users, owner="A"))
    monkeypatch.setattr(out_of_core, "GROUPED_IN_MEMORY", 0)
    monkeypatch.setattr(out_of_core, "GROUPED_BESIDE_DATA", 0)
    monkeypatch.setattr(out_of_core, "CHUNK_BYTES", 2**16)
    monkeypatch.setattr(out_of_core, "PART_BYTES", 2**12)
    source = read_records(*FORMATS[form](X, y, users, tmp_path / "1"), owner="A")
    assert [(len(block), len(block.y)) for block in source.blocks()] == [(1, 1), (1, n - 2), (1, 1)]
    assert all_of(source) == expected


def test_columns_by_name_and_chosen_features(tmp_path):
    table = as_arrow(NUMBERS_OF["float32"], ANSWERS, USERS_OF["int"]).rename_columns(["p", "who", "q", "grade", "r"])
    pq.write_table(table, tmp_path / "x.parquet")
    for data in (table, pl.from_arrow(table), tmp_path / "x.parquet", lambda: table.to_batches()):
        source = read_records(data, y="grade", users="who", features=["r", "p"], owner="A", needs_users=True)
        expected = read_records(NUMBERS_OF["float32"][:, [2, 0]], ANSWERS, USERS_OF["int"], owner="A")
        assert source.columns == ("r", "p") and all_of(source) == all_of(expected)


def test_records_of_tables_and_files_without_users(tmp_path):
    X = NUMBERS_OF["float64"]
    table = as_arrow(X, ANSWERS, USERS_OF["int"]).drop(["user"])
    pq.write_table(table, tmp_path / "x.parquet")
    table.to_pandas().to_csv(tmp_path / "x.csv", index=False)
    for data in (table, tmp_path / "x.parquet", tmp_path / "x.csv", lambda: table.to_batches(), lambda: [(X, ANSWERS)]):
        source = read_records(data, owner="A")
        assert type(source) is Records and source.n_samples in (None, MANY)
        for max_rows in (7, 8192):
            assert all_of(source, max_rows) == (X.tobytes(), ANSWERS.tobytes())


NEEDED = "users of A must be the ids of the users, one for each record, or the name of their column; got None."


def test_users_may_be_needed(tmp_path):
    class Untouched:
        def __array__(self, *args, **kwargs):
            raise AssertionError("read")

    table = pl.DataFrame({"a": [1.0], "target": [2.0]})
    table.write_parquet(tmp_path / "x.parquet")
    for data in (
        (X, Y),
        (Untouched(), Y),
        (table,),
        (tmp_path / "x.parquet",),
        (iter([(X, Y)]),),
        (iter([table]),),
        (read_records(X, Y, owner="A"),),
    ):
        assert refusal_of(*data, needs_users=True) == NEEDED
    assert read_records(X, Y, USERS, owner="A", needs_users=True).n_users == 2


@pytest.mark.parametrize("form", ["CSV", "Parquet", "folder", "iterator", "pandas"])
def test_records_without_a_user_are_left_out_and_counted(tmp_path, caplog, form):
    users = USERS_OF["str"].copy()
    users[[3, 99]] = "", " "
    with caplog.at_level(logging.INFO, "hushrank"):
        source = read_records(*FORMATS[form](NUMBERS_OF["float64"], ANSWERS, users, tmp_path), owner="A")
        assert caplog.records == []
        assert sum(len(block.y) for block in source.blocks()) == MANY - 2
    [record] = caplog.records
    assert record.levelname == "INFO" and record.message == (
        "Not private: 200 records read; 2 without a user were left out."
    )


# Values.

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
