"""Streams of records: the first block tells the schema, later ones cannot raise by a value."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.records import record_streams
from hushrank.data.records.columns import ONE_A_PERSON
from hushrank.data.records.record_streams import StreamOrigin
from hushrank.data.records.sources import UserRecords
from hushrank.exceptions import InvalidParameter

NAN = np.nan
FIRST = (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 1.5]), np.array([7, 8]))
TABLE = {"a": [1.0, 3.0], "user": [7, 8], "b": [2.0, 4.0], "target": [0.5, 1.5]}


def origin_of(*blocks, y=None, users=None, features=None):
    return StreamOrigin(iter(blocks), y, users, features, "A")


def later(first, block, **given):
    """X, y and ids of the second of two blocks."""
    origin = origin_of(first, block, **given)
    batches = list(origin.batches(100, origin.dtype))
    assert batches[0].X.tolist() == [[1, 2], [3, 4]] and batches[0].ids.to_pylist() == ["7", "8"]
    [batch] = batches[1:]
    ids = batch.ids.cast("large_binary").to_pylist()
    return batch.X.tolist(), batch.y.tolist(), [cell and cell.decode(errors="replace") for cell in ids]


def refusal_of(*blocks, **given):
    with pytest.raises(InvalidParameter) as refusal:
        origin = origin_of(*blocks, **given)
        if len(blocks) > 1:
            list(origin.batches(100, origin.dtype))
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


def test_the_first_block_tells_the_schema():
    origin = origin_of(FIRST)
    assert (origin.shape, origin.dtype, origin.has_users, origin.columns) == ((2,), np.float64, True, None)
    assert origin.n_records is None and not origin.can_repeat
    for table in (pd.DataFrame(TABLE), pl.DataFrame(TABLE), pa.table(TABLE), pa.RecordBatch.from_pydict(TABLE)):
        assert origin_of(table).columns == ("a", "b") and origin_of(table).has_users
    for dtype in (bool, np.int16, np.float16, np.float32, np.int64):  # the precision is no part of it
        assert origin_of((FIRST[0].astype(dtype), *FIRST[1:])).dtype == np.float64
    assert not origin_of(FIRST[:2]).has_users and origin_of((np.ones((2, 3, 4)), FIRST[1])).shape == (3, 4)


def test_functions_are_read_again_and_iterators_once():
    origin = StreamOrigin(lambda: [FIRST, FIRST], None, None, None, "A")
    assert origin.can_repeat
    for _ in range(2):
        assert [batch.y.tolist() for batch in origin.batches(100, origin.dtype)] == [[0.5, 1.5]] * 2
    once = origin_of(FIRST)
    list(once.batches(100, once.dtype))
    with pytest.raises(InvalidParameter, match=r"^X of A must be data that can be read again; got 'an iterator read"):
        once.batches(100, once.dtype)


def test_large_blocks_are_split():
    origin = origin_of((np.ones((25, 2)), np.arange(25), np.arange(25)))
    batches = list(origin.batches(10, origin.dtype))
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert [cell for batch in batches for cell in batch.ids.to_pylist()] == [str(k) for k in range(25)]


TUPLES = {
    "lists": ([[5, 6]], [2.5], [9]),
    "integers": (np.array([[5, 6]]), np.array([2.5]), np.array([9], np.uint64)),
    "texts as ids": (np.array([[5, 6]]), [2.5], ["9"]),
    "floats as ids": (np.array([[5, 6]]), [2.5], np.array([9.0])),
    "objects": (np.array([[5, 6]], object), np.array([2.5], object), np.array([9], object)),
    "texts": ([["5", "6"]], ["2.5"], ["9"]),
    "a table": (pl.DataFrame({"p": [5], "q": [6]}), pl.Series([2.5]), pl.Series([9])),
    "complex": (np.array([[5, 6]]) + 0j, [2.5 + 0j], [9]),
}


@pytest.mark.parametrize("kind", TUPLES)
def test_later_tuples_of_every_type(kind):
    assert later(FIRST, TUPLES[kind]) == ([[5, 6]], [2.5], ["9"])


TABLES = {
    "other order": pl.DataFrame({"target": [2.5], "b": [6], "a": [5], "user": [9]}),
    "others": pd.DataFrame({"note": ["7.25"], "user": [9], "a": [5], "b": [6], "target": [2.5]}),
    "Arrow": pa.table({"user": ["9"], "a": [5.0], "b": [6], "target": [2.5]}),
    "texts": pd.DataFrame({"user": ["9"], "a": ["5"], "b": ["6"], "target": ["2.5"]}),
    "objects": pd.DataFrame({"user": [9], "a": [5], "b": [6], "target": [2.5]}, dtype=object),
    "Arrow texts": pa.table({"user": [9.0], "a": ["5"], "b": [6], "target": ["2.5"]}),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_later_tables_of_every_type(make, kind):
    assert later(make(TABLE), TABLES[kind]) == ([[5, 6]], [2.5], ["9"])


def test_tables_inside_of_tuples_keep_their_columns():
    first = (pl.DataFrame({"p": [1.0, 3.0], "q": [2.0, 4.0]}), *FIRST[1:])
    block = (pl.DataFrame({"r": ["7.25"], "q": [6.0], "p": [5.0]}), [2.5], [9])
    assert later(first, block) == ([[5, 6]], [2.5], ["9"])
    for columns in ({"q": ["6"], "p": ["5"]}, {"q": [6], "p": [5]}, {"r": [7], "q": [6.0], "p": [5.0]}):
        assert later(first, (pd.DataFrame(columns), [2.5], [9])) == ([[5, 6]], [2.5], ["9"])


ODD_CELLS = [NAN, None, "x", "", 2**70, 1j, "\ud800", object(), [1], b"\xff", pd.NA, True]


@pytest.mark.parametrize("cell", ODD_CELLS, ids=[f"{number}" for number in range(len(ODD_CELLS))])
def test_no_value_of_a_later_block_raises_or_changes_another_record(cell):
    for place in ("X", "y", "users"):
        X, y, users = [[5.0, 6.0], [8.0, 9.0]], [2.5, 3.5], [9, 10]
        if place == "X":
            X[1][1] = cell
        elif place == "y":
            y[1] = cell
        else:
            users[1] = cell
        if not (isinstance(cell, list) and place == "X"):  # a list in a list is another shape
            numbers, answers, ids = later(FIRST, (X, y, users))
            assert (numbers[0], answers[0], ids[0], len(ids)) == ([5, 6], 2.5, "9", 2)
        columns = {"user": users, "target": y, "a": [row[0] for row in X], "b": [row[1] for row in X]}
        table = pd.DataFrame(columns, dtype=object)
        numbers, answers, ids = later(pd.DataFrame(TABLE), table)
        assert (numbers[0], answers[0], ids[0], len(ids)) == ([5, 6], 2.5, "9", 2)


def test_ids_of_several_kinds_stay_apart():
    blocks = [
        (np.ones((2, 1)), [0, 0], ids)
        for ids in (np.array([-1, 7]), np.array([2**64 - 1, 7], np.uint64), ["-1", "07"], [None, "x"], pa.nulls(2))
    ]
    origin = origin_of(*blocks)
    ids = [cell for batch in origin.batches(9, origin.dtype) for cell in batch.ids.to_pylist()]
    assert ids == ["-1", "7", "18446744073709551615", "7", "-1", "07", None, "x", None, None]


def test_numbers_are_kept_as_float64_whatever_the_first_block_is():
    origin = origin_of((np.ones((1, 1), np.float32), [0], [1]), (np.array([[0.1]]), [0.1], [1]), ([[1e300]], [0], [1]))
    batches = list(origin.batches(9, origin.dtype))
    assert all(batch.X.dtype == np.float64 for batch in batches)
    assert batches[1].X[0, 0] == batches[1].y[0] == 0.1 and batches[2].X[0, 0] == 1e300


def as_tuple(X, y, users):
    return X, y, users


def as_columns(X, y, users):
    """Columns of which only the last has the type of X, the others what they had before."""
    return {"a": X[:, 0].astype(np.int16), "b": X[:, 1], "user": users, "target": y}


KINDS_OF_BLOCKS = {
    "tuples": as_tuple,
    "lists": lambda X, y, users: (X.tolist(), y.tolist(), users.tolist()),
    "tables in tuples": lambda X, y, users: (pa.table({"a": X[:, 0], "b": X[:, 1]}), y, users),
    "pandas": lambda X, y, users: pd.DataFrame(as_columns(X, y, users)),
    "polars": lambda X, y, users: pl.DataFrame(as_columns(X, y, users)),
    "Arrow": lambda X, y, users: pa.table(as_columns(X, y, users)),
}
CHANGES = {
    "a larger integer": (np.int32, 70_000),
    "a missing value": (np.float64, NAN),
    "a number that is not exact in float32": (np.float64, 0.1),
    "a truth": (bool, True),
}


@pytest.mark.parametrize("kind", KINDS_OF_BLOCKS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("before", [bool, np.int16, np.float32], ids=["bool", "int16", "float32"])
def test_one_cell_of_the_first_block_moves_no_bit_of_other_users(before, change, kind):
    """It may decide the type of its block, and that must not decide how anybody else's numbers are rounded."""
    make, rng = KINDS_OF_BLOCKS[kind], np.random.default_rng(5)
    head, users = rng.integers(0, 2, (6, 2)), np.array([1, 2, 3, 1, 2, 3])  # all types hold them
    head[1, 1] = 0
    rest = rng.standard_normal((6, 2))  # not exact in float32
    rest[:, 0] = rng.integers(0, 9, 6)
    dtype, cell = CHANGES[change]
    changed = head.astype(dtype)
    changed[1, 1] = cell
    found = []
    for first in (head.astype(before), changed):
        origin = origin_of(*(make(X, np.arange(6.0), users) for X in (first, rest)))
        assert origin.dtype == np.float64
        [block] = UserRecords(origin).blocks()
        spans = [slice(*block.indptr[user : user + 2]) for user in range(3)]
        found.append([(block.X[span].dtype, block.X[span].tobytes(), block.y[span].tobytes()) for span in spans])
    assert found[0][0] == found[1][0] and found[0][2] == found[1][2] and found[0][1] != found[1][1]
    assert set(rest[users == 1, 1]) < set(np.frombuffer(found[0][0][1]))


def test_one_odd_cell_changes_no_rounding():
    """Integers become float64, whether their block is read as a whole or cell by cell, and never float32."""
    numbers = [2**60 + 2**36 + 1, 2**60 - 2**35 - 1]  # neither of the two is exact in them
    first = (np.ones((1, 2), np.float32), [0], [1])
    for X in ([numbers], np.array([numbers]), [[*map(str, numbers)]], np.array([numbers], object)):
        origin = origin_of(first, (X, [0], [1]))
        *_, batch = origin.batches(9, origin.dtype)
        assert batch.X.tolist() == np.array([numbers], np.float64).tolist()


def test_empty_blocks_are_nothing():
    origin = origin_of(FIRST, (np.empty((0, 2)), [], []), FIRST)
    assert sum(len(batch) for batch in origin.batches(9, origin.dtype)) == 4
    assert len(list(origin_of((np.empty((0, 2)), [], np.empty(0, np.int64)), FIRST).batches(9, origin.dtype))) == 1


def test_users_that_come_up_later_are_no_users():
    origin = origin_of(pl.DataFrame({"a": [1.0], "target": [2.0]}), pl.DataFrame(TABLE))
    assert not origin.has_users and [batch.ids for batch in origin.batches(9, origin.dtype)] == [None, None]


def test_records_of_one_person_each_have_no_users_in_any_block(monkeypatch):
    for first in (pd.DataFrame(TABLE).drop(columns="user"), pd.DataFrame(TABLE)):
        features = ["a", "b"] if "user" in first else None
        origin = origin_of(first, pl.DataFrame(TABLE), users=ONE_A_PERSON, features=features)
        batches = list(origin.batches(9, origin.dtype))
        assert not origin.has_users and [batch.ids for batch in batches] == [None, None]
        assert [batch.X.tolist() for batch in batches] == [[[1, 2], [3, 4]]] * 2
    monkeypatch.delattr(record_streams, "loose_numbers")  # columns of one type are not read cell by cell
    origin = origin_of(*[pd.DataFrame(TABLE)] * 2, users=ONE_A_PERSON, features=["user", "b"])
    assert [batch.X.tolist() for batch in origin.batches(9, origin.dtype)] == [[[7, 2], [8, 4]]] * 2
    assert "one person each" in refusal_of(pd.DataFrame(TABLE), users=ONE_A_PERSON)
    message = "X of A must be blocks that are tuples (X, y) or tables; got 'a tuple of 3'."
    assert refusal_of(FIRST, users=ONE_A_PERSON) == message
    assert origin_of(FIRST[:2], FIRST[:2], users=ONE_A_PERSON).shape == (2,)


X, Y, IDS = FIRST
AS_FIRST = "X of A must be blocks that are {}, as the first; got {}."
SHAPES = "X of A must be blocks whose records have the shape (2,); got 'a block with {}'."
TOGETHER = "X of A must be blocks with a record for each answer and user"
APART = f"{TOGETHER}; got 'a block of parts that do not belong together'."
KINDS = "X of A must be blocks that are tuples (X, y, users) or tables"
REFUSED = {
    "nothing": ((), {}, "X of A must be blocks, at least one of them; got 'none'."),
    "an array": ((X,), {}, f"{KINDS}; got 'ndarray'."),
    "a list": (([X, Y, IDS],), {}, f"{KINDS}; got 'list'."),
    "four": (((X, Y, IDS, IDS),), {}, f"{KINDS}; got 'a tuple of 4'."),
    "no ids": (((X, Y, None),), {}, f"{KINDS}; got 'a tuple of 3'."),
    "texts": (
        ((np.array([["7.25"]]), Y, IDS),),
        {},
        "X of A must be real numbers of at most double precision; got '<U4'.",
    ),
    "floats as ids": (
        ((X, Y, IDS + 0.25),),
        {},
        "users of A must be a vector of int64 or str ids; got 'float64 (2,)'.",
    ),
    "fewer": (((X, Y[:1], IDS),), {}, "y of A must be a vector of 2 numbers, one for each record; got '1 numbers'."),
    "names for tuples": ((FIRST,), {"y": "target"}, "y of A must be None beside blocks that are tuples; got 'target'."),
    "features for tuples": (
        (FIRST,),
        {"features": ["a"]},
        "features of A must be None beside blocks that are tuples; got ['a'].",
    ),
    "arrays beside blocks": (
        (FIRST,),
        {"users": IDS},
        "users of A must be the name of a column of the blocks, or None; got 'ndarray'.",
    ),
    "no such column": (
        (pl.DataFrame(TABLE),),
        {"y": "z"},
        "y of A must be a vector, or the name of a column of X ('target' if it is None); got "
        "\"no column 'z', but 'a', 'user', 'b', 'target'\".",
    ),
    "later pair": ((FIRST, (X, Y)), {}, AS_FIRST.format("tuples of 3", "'a tuple of 2'")),
    "later table": ((FIRST, pl.DataFrame(TABLE)), {}, AS_FIRST.format("tuples of 3", "'DataFrame'")),
    "later tuple": ((pl.DataFrame(TABLE), FIRST), {}, AS_FIRST.format("tables", "'a tuple of 3'")),
    "later shape": ((FIRST, (X[:, :1], Y, IDS)), {}, SHAPES.format("(1,)")),
    "later matrix": ((FIRST, (np.ones((2, 2, 2)), Y, IDS)), {}, SHAPES.format("(2, 2)")),
    "later lengths": ((FIRST, (X, Y[:1], IDS)), {}, APART),
    "later ids": ((FIRST, (X, Y, IDS[:1])), {}, APART),
    "later vector": ((FIRST, (Y, Y, IDS)), {}, APART),
    "later column": (
        (pl.DataFrame(TABLE), pl.DataFrame({"a": [1], "target": [1], "user": [1]})),
        {},
        "X of A must be a table with the column 'b'; got \"no column 'b', but 'a', 'target', 'user'\".",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_are_one_line_without_values(kind):
    blocks, given, message = REFUSED[kind]
    assert refusal_of(*blocks, **given) == message
