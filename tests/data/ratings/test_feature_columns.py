"""Columns of public features in the order of the catalogue: forms, missing values, and one line for everything else."""

import datetime
from decimal import Decimal
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.feature_columns import Numbers, Words, check_form, check_size, read_columns
from hushrank.exceptions import InvalidParameter

NAN = np.nan
X = np.array([[1.0, 0.0, NAN], [0.0, 2.0, 5.0], [0.0, 0.0, -1.0]])
THREE = Catalogue(3)
WORDS = Catalogue(["tea", "jam", "007"])


def refusal(features, catalogue=THREE, sources=None):
    with pytest.raises(InvalidParameter) as refused:
        read_columns(features, catalogue, "Owner", sources)
    assert (refused.value.name, refused.value.owner) == ("item_features", "Owner") and "\n" not in str(refused.value)
    return str(refused.value).removeprefix("item_features of Owner must be ")


def table(**columns):
    return pa.table({"item": [0, 1, 2], **columns})


def assert_numbers(columns, expected, names=None):
    assert all(isinstance(column, Numbers) for column in columns)
    assert [column.source for column in columns] == (names or [str(j) for j in range(len(columns))])
    assert np.array_equal(np.column_stack([column.values for column in columns]), expected, equal_nan=True)


# Matrices.


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ">f8"])
def test_arrays_are_read_in_every_precision_and_order(dtype):
    assert_numbers(read_columns(X.astype(dtype), THREE, "Owner"), X)
    assert_numbers(read_columns(np.asfortranarray(X.astype(dtype)), THREE, "Owner"), X)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64])
def test_arrays_of_booleans_and_integers_are_numbers(dtype):
    assert_numbers(read_columns(np.eye(3, 2).astype(dtype), THREE, "Owner"), np.eye(3, 2))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_sparse_matrices_of_every_format_are_zero_where_nothing_is_stored(form, kind):
    assert_numbers(read_columns(kind(X).asformat(form), THREE, "Owner"), X)
    assert_numbers(read_columns(kind(np.eye(3, 2, dtype=bool)).asformat(form), THREE, "Owner"), np.eye(3, 2))


FORMS = "a 2-D array or sparse matrix of real numbers, a table with a column 'item', or None"


@pytest.mark.parametrize(
    ("features", "got"),
    [
        (None, "NoneType"),
        ([[1.0], [2.0], [3.0]], "list"),
        ("genres.csv", "str"),
        ({"item": [0]}, "dict"),
        (object(), "object"),
        (MagicMock(), "MagicMock"),
        (pd.DataFrame, "type"),
        (pd.Series([1, 2, 3]), "Series"),
        (pa.array([1, 2, 3]), "Int64Array"),
        (np.float64(1), "float64"),
        (np.array(1.0), "ndarray of float64 and shape ()"),
        (np.zeros(3), "ndarray of float64 and shape (3,)"),
        (np.zeros((3, 1, 1)), "ndarray of float64 and shape (3, 1, 1)"),
        (np.zeros((3, 1), complex), "ndarray of complex128 and shape (3, 1)"),
        (np.zeros((3, 1), object), "ndarray of object and shape (3, 1)"),
        (np.zeros((3, 1), "U2"), "ndarray of <U2 and shape (3, 1)"),
        (np.zeros((3, 1), "M8[s]"), "ndarray of datetime64[s] and shape (3, 1)"),
        (scipy.sparse.csr_matrix((3, 1), dtype=complex), "csr_matrix of complex128 and shape (3, 1)"),
        (scipy.sparse.coo_array(np.zeros(3)), "coo_array of float64 and shape (3,)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_forms_are_refused_by_their_type(features, got):
    message = refusal(features)
    assert message == f"{FORMS}; got {got!r}."
    if not isinstance(features, MagicMock):  # which is a table until somebody looks
        with pytest.raises(InvalidParameter, match=r"^item_features of Owner must be"):
            check_form(features, "Owner")


def test_masks_are_refused_with_what_to_do():
    assert refusal(np.ma.zeros((3, 1))).startswith(f"{FORMS} (filled(numpy.nan) drops a mask); got 'MaskedArray of ")


@pytest.mark.parametrize("shape", [(3, 0), (2, 2), (0, 2), (4, 1)])
def test_matrices_of_other_shapes_are_refused(shape):
    expected = f"a matrix with a column, and a row for each of 3 items; got 'shape {shape}'."
    assert refusal(np.zeros(shape)) == refusal(scipy.sparse.coo_array(np.zeros(shape))) == expected


@pytest.mark.parametrize("number", [np.inf, -np.inf, 1e101, -1e300])
def test_infinite_and_huge_numbers_are_refused_by_column(number):
    wrong = X.copy()
    wrong[1, 1] = number
    expected = "finite numbers of size <= 1e+100; got \"others in column '1'\"."
    assert refusal(wrong) == refusal(scipy.sparse.csr_matrix(wrong)) == expected
    assert refusal(table(year=wrong[:, 1])) == expected.replace("'1'", "'year'")


def test_sparse_matrices_with_wrong_indices_are_refused_unread():
    wrong = scipy.sparse.csr_matrix(np.eye(3))
    wrong.indices[0] = 10**6
    assert refusal(wrong) == "a sparse matrix with valid indices; got 'shape (3, 3)'."


def test_a_matrix_that_would_fill_the_memory_is_refused_before_it_is_made():
    assert refusal(scipy.sparse.csr_matrix((3, 2**40))).endswith("got '1099511627776 columns'.")
    many = Catalogue(2**21)
    assert refusal(scipy.sparse.csr_matrix((2**21, 65)), many) == (
        "at most 134217728 numbers, items times columns; got '2097152 items and 65 columns'."
    )
    wide = pa.table({"item": [0], **{f"x{j}": [0.0] for j in range(65)}})
    assert refusal(wide, many).startswith("at most 134217728 numbers")


def test_the_message_about_size_names_the_column_with_most_words():
    with pytest.raises(
        InvalidParameter, match=r"at most 4096 columns, of which every word is one \(column 'tags' has "
    ):
        check_size(10, 4097, (1000, "tags"), "Owner")
    check_size(2**15, 4096, (1000, "tags"), "Owner")


# Tables: rows and ids.

NUMBERS = {
    "pyarrow": lambda data: pa.table(data),
    "batch": lambda data: pa.RecordBatch.from_pydict(data),
    "chunks": lambda data: pa.concat_tables([pa.table(data).slice(0, 2), pa.table(data).slice(2)]),
    "pandas": pd.DataFrame,
    "pandas with an index": lambda data: pd.DataFrame(data, index=list("xyzu")),
    "nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "objects": lambda data: pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in data.items()}),
    "polars": pl.DataFrame,
}


@pytest.mark.parametrize("form", NUMBERS)
def test_rows_are_put_into_the_order_of_the_catalogue(form):
    convert = NUMBERS[form]
    found = read_columns(
        convert({"year": [3, 9, 1, 2], "item": [2, 77, 0, 1], "old": [True, True, None, False]}), THREE, "O"
    )
    assert_numbers(found, [[1, NAN], [2, 0], [3, 1]], ["year", "old"])
    found = read_columns(convert({"item": ["7", "oil", "rye", "tea"], "x": [1.5, 9.0, 9.0, None]}), WORDS, "O")
    assert_numbers(found, [[NAN], [NAN], [1.5]], ["x"])  # 7 and 007 are one id, and jam has no row


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 3], pa.uint8()),
        pa.array(np.array([1.0, NAN, 3.0], np.float16)),
        pa.array([1.0, None, 3.0], pa.float32()),
        pa.array([Decimal("1.0"), None, Decimal("3.0")]),
        pa.array([1, None, 3], pa.decimal256(60, 0)),
        pa.chunked_array([[1], [None, 3]]),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_of_every_type(column):
    assert_numbers(read_columns(table(x=column), THREE, "Owner"), [[1.0], [NAN], [3.0]], ["x"])


def test_a_column_of_nulls_has_numbers_that_are_missing():
    assert_numbers(read_columns(table(x=pa.nulls(3)), THREE, "Owner"), np.full((3, 1), NAN), ["x"])


def test_words_have_the_positions_of_their_items():
    data = {"item": [2, 5, 1], "genre": ["Drama|Comedy", "Western", ""]}
    for features in (
        pa.table(data),
        pd.DataFrame(data),
        pl.DataFrame(data),
        pd.DataFrame(data).astype({"genre": object}),
    ):
        [found] = read_columns(features, THREE, "Owner")
        assert isinstance(found, Words) and found.source == "genre" and found.words == ("Comedy", "Drama")
        assert found.items.tolist() == [2, 2] and found.codes.tolist() == [0, 1]
        assert found.is_known.tolist() == [False, False, True]


@pytest.mark.parametrize(
    "cells", [[["a", "b"], None, ["c"]], [("a", "b"), np.nan, {"c"}], [np.array(["a", "b"]), [], ["c"]]]
)
def test_lists_of_pandas_are_words(cells):
    features = pd.DataFrame({"item": [0, 1, 2]})
    features["x"] = pd.Series(cells, dtype=object)
    [found] = read_columns(features, THREE, "Owner")
    assert found.words == ("a", "b", "c") and found.items.tolist() == [0, 0, 2] and found.codes.tolist() == [0, 1, 2]


def test_names_of_columns_become_text_and_a_nameless_index_is_none():
    features = pd.DataFrame({"item": [0, 1, 2], 7: [1, 2, 3]}, index=[5, 6, 7])
    assert_numbers(read_columns(features, THREE, "Owner"), [[1.0], [2.0], [3.0]], ["7"])
    stored = pa.Table.from_pandas(features.rename(columns={7: "x"}))
    assert "__index_level_0__" in stored.column_names
    assert_numbers(read_columns(stored, THREE, "Owner"), [[1.0], [2.0], [3.0]], ["x"])


def test_chosen_columns_are_read_alone():
    features = table(a=[1, 2, 3], b=pa.array([b"?"] * 3), c=[4, 5, 6])
    assert_numbers(read_columns(features, THREE, "O", ["c", "a"]), [[4.0, 1.0], [5.0, 2.0], [6.0, 3.0]], ["c", "a"])
    assert (
        refusal(features, sources=["a", "d"])
        == "a table with the columns 'item', 'a', 'd'; got 'columns item, a, b, c'."
    )
    assert_numbers(read_columns(X, THREE, "Owner", ["0", "1", "2"]), X)
    assert refusal(X, sources=["0", "1"]) == "a matrix with 2 columns, as in the fit; got 'a matrix with 3 columns'."
    message = "a table with the columns 'item', 'year', as in the fit; got 'a matrix with 3 columns'."
    assert refusal(X, sources=["year"]) == message


COLUMN = "a table with the ids in a column 'item'"
DIFFERENT = "a table whose column names differ"
NAMED = "a table whose columns have names of Unicode text (to_csv(index=False) writes no index)"
KNOWN = "a table with rows of items of the catalogue"
ONCE = "a table with one row for each item (7, 07 and 7.0 are one)"
TYPED = "a table with int ids in its column 'item', as in the catalogue"
BESIDE = "a table of numbers, booleans, texts and lists of texts beside the column 'item'; got "


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (pa.table({}), f"{COLUMN}; got 'no column'."),
        (pd.DataFrame(), f"{COLUMN}; got 'no column'."),
        (pa.table({"id": [0], "x": [1]}), f"{COLUMN}; got 'columns id, x'."),
        (pd.DataFrame({"x": [1]}, index=pd.Index([0], name="item")), f"{COLUMN}; got 'columns x'."),
        (pa.table({"item": [0, 1]}), "a table with other columns beside 'item'; got 'columns item'."),
        (pl.LazyFrame({"item": [0], "x": [1]}), "a table in memory: collect() the lazy frame; got 'LazyFrame'."),
        (pa.table([[0], [1], [1]], names=["item", "x", "x"]), f"{DIFFERENT}; got \"two columns 'x'\"."),
        (pd.DataFrame([[0, 1, 1]], columns=["item", "x", "x"]), f"{DIFFERENT}; got \"two columns 'x'\"."),
        (pd.DataFrame([[0, 1, 1]], columns=["item", 1, "1"]), f"{DIFFERENT}; got \"two columns '1'\"."),
        (pa.table({"item": [0], " ": [1]}), f"{NAMED}; got 'a column without one'."),
        (
            pd.DataFrame([[0, 1]], columns=pd.Index(["item", "\ud800"], dtype=object)),
            f"{NAMED}; got 'a column without one'.",
        ),
        (pa.table({"item": [], "x": []}), f"{KNOWN}; got '0 rows, none of such an item'."),
        (pa.table({"item": [8, 9], "x": [1, 2]}), f"{KNOWN}; got '2 rows, none of such an item'."),
        (pa.table({"item": pa.nulls(2), "x": [1, 2]}), f"{KNOWN}; got '2 rows, none of such an item'."),
        (pa.table({"item": [1, 0, 1], "x": [1, 2, 1]}), f"{ONCE}; got '2 rows of item 1'."),
        (pa.table({"item": ["0", "1"], "x": [1, 2]}), f"{TYPED}; got 'str ids'."),
        (pa.table({"item": [0.0, 1.0], "x": [1, 2]}), f"{TYPED}; got 'ids of type double'."),
        (pd.DataFrame({"item": [0, NAN], "x": [1, 2]}), f"{TYPED}; got 'ids of type double'."),
        (pa.table({"item": pa.array([b"0", b"1"]), "x": [1, 2]}), f"{TYPED}; got 'ids of type binary'."),
        (
            pd.DataFrame({"item": pd.Series([0, "1"], dtype=object), "x": [1, 2]}),
            f"{BESIDE}\"column 'item' of other or of several types\".",
        ),
    ],
)
def test_unsuitable_tables_are_refused(features, message):
    assert refusal(features) == message


def test_ids_of_the_other_type_are_refused_though_their_texts_could_match():
    expected = "a table with str ids in its column 'item', as in the catalogue; got 'int ids'."
    assert refusal(pa.table({"item": [7], "x": [1]}), WORDS) == expected
    with_two = pa.table({"item": ["7", "tea", "07"], "x": [1, 2, 3]})
    assert refusal(with_two, WORDS).endswith("got \"2 rows of item '007'\".")


def test_rows_of_unknown_items_may_be_repeated_and_hold_anything():
    features = pa.table({"item": [0, 9, 9, None], "x": [1.0, np.inf, 2.0, 3.0]})
    assert_numbers(read_columns(features, THREE, "Owner"), [[1.0], [NAN], [NAN]], ["x"])


@pytest.mark.parametrize(
    ("column", "got"),
    [
        (pa.array([datetime.date(2020, 1, 1)] * 3), "of type date32[day]"),
        (pa.array([0, 1, 2], pa.timestamp("s")), "of type timestamp[s]"),
        (pa.array([0, 1, 2], pa.duration("s")), "of type duration[s]"),
        (pa.array([b"a", b"b", b"c"]), "of type binary"),
        (pa.array([[1], [2], [3]]), "of type list<"),
        (pa.array([{"a": 1}] * 3), "of type struct<a: int64>"),
        (pa.array([[["a"]]] * 3), "of type list<"),
        (pa.array([1.5, 2.5, 1.5]).dictionary_encode(), "of type dictionary<"),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_columns_of_other_types_are_refused_by_name(column, got):
    assert refusal(table(good=[1, 2, 3], odd=column)).startswith(f"{BESIDE}\"column 'odd' {got}")


ODD_CELLS = [
    [1, "a", 2.5], [["a"], "b", "c"], [object()] * 3, [{"a": 1}] * 3, [1j] * 3, [b"x"] * 3, ["\ud800"] * 3,
    [10**400] * 3, [np.datetime64("2020"), np.int8(3), 1], [pd.Timestamp(0), "a", 1], [[1], [2], [3]], [int] * 3,
]  # fmt: skip


@pytest.mark.parametrize("cells", ODD_CELLS, ids=range(len(ODD_CELLS)))
def test_columns_of_odd_objects_are_refused_by_name(cells):
    odd = np.empty(3, object)
    for i, cell in enumerate(cells):
        odd[i] = cell
    expected = f"{BESIDE}\"column 'odd' of other or of several types\"."
    assert refusal(pd.DataFrame({"item": [0, 1, 2], "odd": pd.Series(odd, dtype=object)})) == expected


@pytest.mark.parametrize("column", [pd.period_range("2020", periods=3), pd.arrays.SparseArray([0, 1, 1]), [1j, 2j, 3j],
                                    pd.date_range("2020", periods=3), pd.interval_range(0, 3)])  # fmt: skip
def test_odd_columns_of_pandas_are_refused_by_name(column):
    assert refusal(pd.DataFrame({"item": [0, 1, 2], "odd": column})).startswith(f"{BESIDE}\"column 'odd' of ")


def test_text_that_is_none_and_forged_columns_are_refused_by_name():
    text = pa.array([b"a", b"\xff", b"c"]).view(pa.string())
    forged = pa.DictionaryArray.from_arrays(pa.array([0, 5, 0]), pa.array(["a"]), safe=False)
    for column in (text, forged, pa.chunked_array([text]), pa.ListArray.from_arrays([0, 1, 2, 3], text)):
        expected = "a table of Unicode text and other valid columns; got \"column 'odd'\"."
        assert refusal(table(odd=column)) == expected
    assert refusal(pa.table({"item": text, "x": [1, 2, 3]}), WORDS).endswith("got \"column 'item'\".")
