"""Ids of every type and container become arrays of three types; others are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.id_arrays import as_text, bytes_as_text, id_kind, to_array, to_ids
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.exceptions import InvalidParameter

REFUSED = [
    ([1.0], "int64 or str ids; got 'double'"),
    ([True], "int64 or str ids; got 'bool'"),
    ([b"x"], "int64 or str ids; got 'binary'"),
    ([1, "tea"], "int64 or str ids, not both; got 'list'"),
    ([2**70], "int64 or str ids, not both; got 'list'"),
    (np.array([1.5]), r"a vector of int64 or str ids; got 'float64 \(1,\)'"),
    (np.array([True]), r"a vector of int64 or str ids; got 'bool \(1,\)'"),
    (np.array(["tea"], object), r"a vector of int64 or str ids; got 'object \(1,\)'"),
    (np.array([[1]]), r"a vector of int64 or str ids; got 'int64 \(1, 1\)'"),
    (pd.Series(["tea"], dtype=object), r"int64 or str ids \(astype\(\"string\"\)\); got 'object'"),
    (pd.Series([1.0]), "int64 or str ids; got 'double'"),
    (pl.Series([True]), "int64 or str ids; got 'bool'"),
    (pa.array([0.5]), "int64 or str ids; got 'double'"),
    (pa.array([0.5]).dictionary_encode(), "int64 or str ids; got 'double'"),
    ("tea", "int64 or str ids in a list, array or column; got 'str'"),
    (None, "int64 or str ids in a list, array or column; got 'NoneType'"),
]


@pytest.mark.parametrize(("ids", "message"), REFUSED)
def test_other_types_are_refused(ids, message):
    takes_objects = str(getattr(ids, "dtype", "")) == "object"  # a catalogue is public, and looked at cell by cell
    for use in (Catalogue(3).positions,) if takes_objects else (Catalogue, Catalogue(3).positions):
        with pytest.raises(InvalidParameter, match=f"ids of Catalogue must be {message}"):
            use(ids)


def test_dictionaries_of_many_chunks_are_joined():
    """Arrow cannot join dictionaries whose indices overflow, that hold nulls, or that are views."""
    words = [f"u{i}" for i in range(200)]
    small = pa.dictionary(pa.int8(), pa.string())
    parts = [pa.array(words[start : start + 100]).dictionary_encode().cast(small) for start in (0, 100)]
    assert to_ids(pa.chunked_array(parts)).to_pylist() == words
    with_null = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    assert to_ids(pa.chunked_array([with_null, with_null])).to_pylist() == ["a", None, None] * 2
    views = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", "b"], pa.string_view()))
    assert to_ids(pa.chunked_array([views])).to_pylist() == ["b", "a"]
    assert len(to_ids(pa.chunked_array([], small))) == 0


def test_ids_as_arrays_and_back():
    assert to_array(pa.array([1, -2])).tolist() == [1, -2] and to_array(pa.array([1], pa.uint64())).dtype == np.uint64
    texts = to_array(bytes_as_text([b"x\0", "\ud800".encode("utf-8", "surrogatepass")]))
    assert texts.dtype == object and texts.tolist() == ["x\0", "\ud800"]
    odd = [b"\xff", b"\xed\xb3\xbf"]  # each way of decoding alone tells them apart, both together would not
    assert len(set(to_array(bytes_as_text(odd)).tolist())) == 2


def test_ids_as_texts():
    assert as_text(pa.array([7, None, -1])).to_pylist() == ["7", None, "-1"]
    assert as_text(pa.array([2**64 - 1], pa.uint64())).to_pylist() == ["18446744073709551615"]
    assert as_text(pa.nulls(2)).to_pylist() == [None, None] and as_text(pa.nulls(2)).type == pa.large_string()
    words = pa.array(["a"], pa.large_string())
    assert as_text(words) is words


def test_kinds_of_ids_by_type():
    kinds = {pa.int8(): "int", pa.uint32(): "int", pa.uint64(): "uint64", pa.string(): "str", pa.null(): "null"}
    kinds |= {pa.large_string(): "str", pa.string_view(): "str", pa.dictionary(pa.int8(), pa.string()): "str"}
    kinds |= {pa.float64(): None, pa.bool_(): None, pa.binary(): None, pa.timestamp("s"): None}
    assert {dtype: id_kind(dtype) for dtype in kinds} == kinds
