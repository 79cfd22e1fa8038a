"""Vectors of numbers: their types are checked in one line that shows no values, and values never raise."""

import math

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.vectors import check_real, exact_dtype, read_vector, to_array, to_dtype, to_float64
from hushrank.exceptions import InvalidParameter

NAN = math.nan
REAL = ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", ">f8"]


def refusal_of(call, *args):
    with pytest.raises(InvalidParameter) as refusal:
        call(*args)
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize("dtype", REAL)
def test_an_array_is_handed_on_as_it_is(dtype):
    vector = np.array([0, 1, 1, 0], dtype)[::2]
    assert read_vector(vector, "y", "A") is vector
    numbers = to_float64(vector)
    assert numbers.dtype == np.float64 and numbers.flags.carray and numbers.tolist() == [0, 1]


def test_what_is_float64_already_is_not_copied():
    vector = np.arange(4.0)
    assert to_float64(vector) is vector and np.shares_memory(to_float64(vector[1:]), vector)
    unaligned = np.frombuffer(b"\0" + vector.tobytes(), np.uint8)[1:].view(np.float64)
    assert not unaligned.flags.aligned and to_float64(unaligned).flags.aligned
    assert to_float64(unaligned).tolist() == [0, 1, 2, 3]
    vector.flags.writeable = False  # kernels are compiled for arrays that are not
    assert to_float64(vector).flags.writeable and to_float64(vector).tolist() == [0, 1, 2, 3]


COLUMNS = {
    "list": [1, 2.5, NAN],
    "tuple": (1, 2.5, NAN),
    "pandas": pd.Series([1, 2.5, NAN], index=[7, 7, 7]),
    "pandas nullable": pd.Series([1, 2.5, None], dtype="Float64"),
    "polars": pl.Series([1.0, 2.5, None]),
    "Arrow": pa.array([1.0, 2.5, None]),
    "Arrow chunks": pa.chunked_array([[1.0], [2.5, None]]),
}


@pytest.mark.parametrize("form", COLUMNS)
def test_columns_and_sequences(form):
    assert np.array_equal(read_vector(COLUMNS[form], "y", "A"), [1, 2.5, NAN], equal_nan=True)


NULLS = {
    "pandas integers": pd.Series([1, None, 0], dtype="Int64"),
    "pandas booleans": pd.Series([True, None, False], dtype="boolean"),
    "polars booleans": pl.Series([True, None, False]),
    "polars integers": pl.Series([1, None, 0], dtype=pl.UInt64),
    "Arrow booleans": pa.array([True, None, False]),
    "Arrow chunks": pa.chunked_array([pa.array([1], pa.int8()), pa.array([None, 0], pa.int8())]),
}


@pytest.mark.parametrize("form", NULLS)
def test_one_missing_number_is_not_a_number_and_changes_no_other(form):
    assert np.array_equal(read_vector(NULLS[form], "y", "A"), [1, NAN, 0], equal_nan=True)


def test_a_column_without_any_value_is_no_reason_to_refuse():
    for column in (pa.nulls(2), pl.Series([None, None])):
        assert np.isnan(read_vector(column, "y", "A")).tolist() == [True, True]
    assert len(read_vector(pa.array([], pa.float32()), "y", "A")) == len(read_vector([], "y", "A")) == 0


def test_one_odd_number_of_a_list_changes_no_other():
    """A list has no type of its own: a huge integer or a None must not decide about all of them."""
    for odd in (None, 10**400, -(10**400), NAN):
        vector = to_float64(read_vector([2**53 + 1, odd, 0.1], "y", "A"))
        assert np.array_equal(vector, [2.0**53, NAN, 0.1], equal_nan=True)
    assert to_float64(read_vector((2**70, -(2**63), 2**63 + 1), "y", "A")).tolist() == [2.0**70, -(2.0**63), 2.0**63]
    assert np.array_equal(to_array([[1, None], [2**64, 3]], "X", "A"), [[1, NAN], [2.0**64, 3]], equal_nan=True)


def test_signaling_numbers_are_quiet():
    """Warnings are errors here, and a value never raises."""
    signaling = np.array([0x7FA00000, 0x3F800000], np.uint32).view(np.float32)
    assert np.array_equal(to_float64(read_vector(signaling, "y", "A")), [NAN, 1], equal_nan=True)


REAL_ONLY = "y of A must be real numbers of at most double precision"
PANDAS_TEXT = nw.from_native(pd.Series(["a"], dtype="string"), series_only=True).to_arrow().type  # of its version
REFUSED = {
    "text": (np.array(["7.25"]), f"{REAL_ONLY}; got '<U4'."),
    "objects": (np.array([7.25, 1], object), f"{REAL_ONLY}; got 'object'."),
    "a list of objects": ([7.25, object()], f"{REAL_ONLY}; got 'object'."),
    "a list of numbers and texts": ([7.25, "a"], f"{REAL_ONLY}; got '<U32'."),
    "dates": (np.array(["2020-01-01"], "M8[D]"), f"{REAL_ONLY}; got 'datetime64[D]'."),
    "complex": (np.array([7.25j]), f"{REAL_ONLY} (Complex data not supported); got 'complex128'."),
    "scalar": (7.25, "y of A must be a vector, one number for each record; got 'shape ()'."),
    "matrix": (np.full((2, 1), 7.25), "y of A must be a vector, one number for each record; got 'shape (2, 1)'."),
    "ragged": ([[7.25], [1, 2]], "y of A must be an array, or sequences of equal length; got 'list'."),
    "mask": (
        np.ma.masked_array([7.25], mask=True),
        "y of A must be an array without a mask (y.filled(numpy.nan)); got 'MaskedArray'.",
    ),
    "pandas objects": (pd.Series([7.25], dtype=object), f"{REAL_ONLY}; got 'a column of objects'."),
    "pandas text": (pd.Series(["7.25"], dtype="string"), f"{REAL_ONLY}; got 'a column of type {PANDAS_TEXT}'."),
    "pandas complex": (pd.Series([7.25j]), f"{REAL_ONLY}; got 'a column of type Unknown'."),
    "pandas half a pair": (
        pd.Series(["\ud800"], dtype=pd.StringDtype("python")),
        f"{REAL_ONLY}; got 'a column of type String'.",
    ),
    "polars text": (pl.Series(["7.25"]), f"{REAL_ONLY}; got 'a column of type large_string'."),
    "polars objects": (pl.Series([object()], dtype=pl.Object), f"{REAL_ONLY}; got 'a column of objects'."),
    "Arrow dates": (pa.array([0], pa.date32()), f"{REAL_ONLY}; got 'a column of type date32[day]'."),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_show_no_values(kind):
    data, message = REFUSED[kind]
    assert refusal_of(read_vector, data, "y", "A") == message


def test_extended_precision_is_refused():
    if np.dtype(np.longdouble).itemsize > 8:
        assert refusal_of(check_real, np.dtype(np.longdouble), "y", "A") == f"{REAL_ONLY}; got 'float128'."


def test_whatever_an_object_says_of_itself_is_refused():
    class Strange:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("7.25")

    assert refusal_of(to_array, Strange(), "X", "A") == (
        "X of A must be an array, or sequences of equal length; got 'Strange'."
    )


def test_the_narrower_float_that_is_exact():
    for dtype in ("bool", "int8", "uint8", "int16", "uint16", "float16", "float32", ">f4", ">u2"):
        assert exact_dtype(np.dtype(dtype)) == np.float32
        least, most = (np.iinfo(dtype).min, np.iinfo(dtype).max) if np.dtype(dtype).kind in "iu" else (0, 1)
        for number in (least, most):
            assert float(np.array(number, dtype).astype(np.float32)) == float(np.array(number, dtype))
    for dtype in ("int32", "uint32", "int64", "uint64", "float64", ">f8"):
        assert exact_dtype(np.dtype(dtype)) == np.float64


def test_blocks_in_another_precision():
    block = np.arange(6.0).reshape(2, 3)
    assert to_dtype(block, np.float64) is block
    assert to_dtype(block.T, np.float32).flags.c_contiguous and to_dtype(block, np.float32).dtype == np.float32
    assert to_dtype(np.array([1e300]), np.float32)[0] == math.inf  # without a warning
