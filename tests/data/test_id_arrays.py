"""Ids of every type and container become arrays of three types; others are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrank.data.id_arrays import to_ids
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
    for use in (Catalogue, Catalogue(3).positions):
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
