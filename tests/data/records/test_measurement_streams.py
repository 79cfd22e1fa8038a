"""Streams of measurements: pairs in every block, and no value of a later block raises or reaches another record."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.records.measurement_streams import MeasurementStream
from hushrank.exceptions import InvalidParameter

NAN = np.nan
PAIR = (np.array([[1.0], [2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
Y = np.array([0.5, 1.5])
FIRST = [[1, 3, 4], [2, 5, 6]]
TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "Arrow": pa.table}


def stream_of(*blocks, y=None, features=None, part_axes=2):
    return MeasurementStream(iter(blocks), y, features, part_axes, "A")


def numbers_of(stream):
    batches = list(stream.batches(100, stream.dtype))
    assert all(batch.X.dtype == np.float64 and batch.ids is None for batch in batches)
    return [batch.X.tolist() for batch in batches], [batch.y.tolist() for batch in batches]


def refusal_of(*blocks, **given):
    with pytest.raises(InvalidParameter) as refusal:
        stream = stream_of(*blocks, **given)
        if len(blocks) > 1:
            numbers_of(stream)
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


def test_the_first_block_tells_the_form_and_not_the_precision():
    single = tuple(part.astype(np.float32) for part in PAIR)
    for pair in (PAIR, single, tuple(part.tolist() for part in PAIR)):
        stream = stream_of((pair, Y))
        assert (stream.parts, stream.shape, stream.dtype, stream.columns) == ((1, 2), (3,), np.float64, None)
        assert not stream.can_repeat and not stream.has_users and numbers_of(stream) == ([FIRST], [[0.5, 1.5]])


def test_arrays_and_tables_need_no_pairs():
    whole = np.hstack(PAIR)
    assert stream_of((whole, Y)).parts is None and numbers_of(stream_of((whole, Y)))[0] == [FIRST]
    for make in TABLES.values():
        table = make({"a": whole[:, 0], "target": Y, "b": whole[:, 1], "c": whole[:, 2]})
        assert stream_of(table).columns == ("a", "b", "c") and numbers_of(stream_of(table))[0] == [FIRST]
        assert numbers_of(stream_of(table, y="a", features=["target"]))[0] == [[[0.5], [1.5]]]
    matrices = stream_of((np.ones((2, 3, 4)), Y), part_axes=None)
    assert matrices.shape == (3, 4) and matrices.parts is None


def test_where_there_are_no_pairs_a_tuple_is_nested_sequences():
    nested = (((1, 2), (3, 4)), ((5, 6), (7, 8)))
    stream = stream_of((nested, Y), part_axes=None)
    assert stream.shape == (2, 2) and numbers_of(stream)[0] == [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]


def test_indices():
    stream = stream_of((([0, 1], [2, 3]), Y), ((np.array([4]), pl.Series([None])), [NAN]), part_axes=1)
    assert stream.parts == (1, 1)
    found = np.concatenate([batch.X for batch in stream.batches(9, stream.dtype)])
    assert np.array_equal(found, [[0, 2], [1, 3], [4, NAN]], equal_nan=True)


def test_functions_are_read_again():
    stream = MeasurementStream(lambda: [(PAIR, Y), (PAIR, Y)], None, None, 2, "A")
    assert stream.can_repeat
    for _ in range(2):
        assert numbers_of(stream)[0] == [FIRST, FIRST]


LATER = {
    "lists": ([[7]], [[8, 9]]),
    "integers": (np.array([[7]], np.int8), np.array([[8, 9]])),
    "texts": ([["7"]], [["8", "9"]]),
    "objects": (np.array([[7]], object), np.array([[8, 9]], object)),
    "complex": (np.array([[7]]) + 0j, np.array([[8, 9]])),
    "tables": (pl.DataFrame({"p": [7]}), pl.DataFrame({"p": [8], "q": [9]})),
    "a table and an array": (pl.DataFrame({"p": [7]}), [[8, 9]]),
}


@pytest.mark.parametrize("kind", LATER)
def test_later_pairs_of_every_type(kind):
    assert numbers_of(stream_of((PAIR, Y), (LATER[kind], [2.5]))) == ([FIRST, [[7, 8, 9]]], [[0.5, 1.5], [2.5]])


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_later_tables_have_the_columns_of_the_first_in_any_order(make):
    first = (make({"a": [1.0, 2.0], "target": [7.25, 7.25]}), make({"a": [3.0, 5.0], "b": [4.0, 6.0]}))
    later = (make({"user": ["x"], "a": [7]}), make({"b": [9], "c": [0], "a": [8]}))
    turned = (make({"a": [7]}), make({"b": [9], "a": [8]}))
    texts = (make({"a": ["7"]}), make({"b": ["9"], "c": ["x"], "a": [8]}))
    for block in (later, turned, texts):
        stream = stream_of((first, Y), (block, [2.5]))
        assert stream.columns == ("a", "a", "b") and numbers_of(stream)[0] == [FIRST, [[7, 8, 9]]]


def test_names_need_not_be_texts():
    first = (pd.DataFrame({0: [1.0, 2.0]}), pd.DataFrame({0: [3.0, 5.0], 1: [4.0, 6.0]}))
    later = (pd.DataFrame({0: [7]}), pd.DataFrame({1: [9], 0: [8]}))
    stream = stream_of((first, Y), (later, [2.5]))
    assert stream.columns is None and numbers_of(stream)[0] == [FIRST, [[7, 8, 9]]]


ODD_CELLS = [NAN, None, "x", "", 2**70, 1j, "\ud800", object(), b"\xff", pd.NA, True]


@pytest.mark.parametrize("cell", ODD_CELLS, ids=[f"{number}" for number in range(len(ODD_CELLS))])
def test_no_value_of_a_later_block_raises_or_changes_another_record(cell):
    for place in range(3):
        x, z, y = [[7.0], [7.0]], [[8.0, 9.0], [8.0, 9.0]], [2.5, 2.5]
        (x[1], z[1], y)[place][-1] = cell
        for as_block in (lambda part: part, lambda part: np.array(part, object)):
            numbers, answers = numbers_of(stream_of((PAIR, Y), ((as_block(x), as_block(z)), as_block(y))))
            assert numbers[1][0] == [7, 8, 9] and answers[1][0] == 2.5 and len(numbers[1]) == len(answers[1]) == 2
            assert (numbers[1][1][:2] == [7, 8]) == (place != 0)


@pytest.mark.parametrize("cell", ODD_CELLS, ids=[f"{number}" for number in range(len(ODD_CELLS))])
def test_no_index_of_a_later_block_raises_or_changes_another_record(cell):
    later = (([1, cell], [2, 3]), [2.5, 3.5])
    numbers, answers = numbers_of(stream_of((([0, 1], [2, 3]), Y), later, part_axes=1))
    assert numbers[1][0] == [1, 2] and numbers[1][1][1] == 3 and answers[1] == [2.5, 3.5]


KINDS = "X of A must be blocks that are tuples (X, y) or tables"
VECTORS = "X of A must be a tuple (x, z) of two arrays or two tables with a row for each record"
SHAPES = "X of A must be blocks whose records have the shape {}; got 'a block with {}'."
COUNT = "y of A must be a vector of 2 numbers, one for each record; got '1 numbers'."
NO_NAMES = "features of A must be None beside blocks that are tuples; got ['a']."
AS_FIRST = "X of A must be blocks that are tuples of 2, as the first; got 'a tuple of 3'."
TOGETHER = "X of A must be blocks with a record for each answer and user"
APART = f"{TOGETHER}; got 'a block of parts that do not belong together'."
X = np.hstack(PAIR)
REFUSED = {
    "users": (((PAIR, Y, [1, 2]),), {}, f"{KINDS}; got 'a tuple of 3'."),
    "an array": ((X,), {}, f"{KINDS}; got 'ndarray'."),
    "three": ((((*PAIR, PAIR[0]), Y),), {}, f"{VECTORS}; got 'a tuple of 3'."),
    "texts": (
        (((np.array([["7.25"]]), PAIR[1]), Y),),
        {},
        "X of A must be real numbers of at most double precision; got '<U4'.",
    ),
    "other lengths": ((((PAIR[0][:1], PAIR[1]), Y),), {}, f"{VECTORS}; got 'shape (1, 1) and shape (2, 2)'."),
    "fewer answers": (((PAIR, Y[:1]),), {}, COUNT),
    "features": (((PAIR, Y),), {"features": ["a"]}, NO_NAMES),
    "later users": (((PAIR, Y), (PAIR, Y, Y)), {}, AS_FIRST),
    "later parts": (((PAIR, Y), (PAIR[::-1], Y)), {}, SHAPES.format((1, 2), (2, 1))),
    "later parts of texts": (((PAIR, Y), (([["7", "8"]], [["9"]]), [1.0])), {}, SHAPES.format((1, 2), (2, 1))),
    "later arrays": (((PAIR, Y), (X, Y)), {}, SHAPES.format((1, 2), (3,))),
    "later pairs": (((X, Y), (PAIR, Y)), {}, SHAPES.format((3,), (1, 2))),
    "later three": (((PAIR, Y), ((*PAIR, PAIR[0]), Y)), {}, f"{VECTORS}; got 'a tuple of 3'."),
    "later lengths": (((PAIR, Y), ((PAIR[0][:1], PAIR[1]), Y)), {}, f"{VECTORS}; got 'shape (1, 1) and shape (2, 2)'."),
    "later vectors": (((PAIR, Y), ((Y, Y), Y)), {}, "X of A must be parts of 2 axes in every block; got '1 axes'."),
    "later answers": (((PAIR, Y), (PAIR, Y[:1])), {}, APART),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_are_one_line_without_values(kind):
    blocks, given, message = REFUSED[kind]
    assert refusal_of(*blocks, **given) == message
