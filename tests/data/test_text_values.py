"""Texts as numbers and ids: what a text means depends on nothing but the text."""

import math
import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.data.text_values import canonical_texts, texts_of, to_integers, to_numbers


def binary(*texts):
    return pa.array(texts, pa.large_binary())


def reference_number(text):
    """What Python's float says, in ASCII and without underscores."""
    try:
        return float(text) if text is not None and text.isascii() and b"_" not in text else math.nan
    except ValueError:
        return math.nan


texts = st.none() | st.binary(max_size=6) | st.text("0123456789.+-eE_xinfa ", max_size=9).map(str.encode)


@given(st.lists(texts | st.floats().map(repr).map(str.encode), max_size=20))
@example([b"1"])
@example([b"1e999", b"-1e999", b"1e-999", b"1" * 400])
@example([b"nan", b"inf", b"-Infinity", b"NaN", b"n", b"i"])
@settings(deadline=None, max_examples=200)
def test_numbers_are_those_of_python(texts):
    found = to_numbers(binary(*texts))
    expected = np.array([reference_number(text and text.strip()) for text in texts])
    stripped = to_numbers(binary(*[text and text.strip() for text in texts]))
    assert np.array_equal(stripped, expected, equal_nan=True)
    assert found.dtype == np.float64 and found.shape == (len(texts),)


@given(texts, st.lists(texts, max_size=5))
@settings(deadline=None)
def test_a_number_does_not_depend_on_its_neighbors(text, others):
    text = text and text.strip()
    alone, among = to_numbers(binary(text)), to_numbers(binary(*others, text))
    assert np.array_equal(np.nan_to_num(alone, posinf=0, neginf=0), np.nan_to_num(among[-1:], posinf=0, neginf=0))
    assert np.isfinite(alone).tolist() == np.isfinite(among[-1:]).tolist()


def reference_id(text):
    text = text.strip(b" \t\n\v\f\r")
    if re.fullmatch(rb"[+-]?[0-9]+(\.0*)?", text):
        return str(int(text.split(b".")[0])).encode()
    return text


SAME = [b"7", b"07", b"+7", b"7.0", b"7.", b" 7 ", b"+007.000", b"7\r"]
OTHER = [b"-7", b"7.5", b"7e0", b"0x7", b"1_0", b"--7", b"7.0.0", b"seven", b"\xd9\xa7", b"7,0"]


def test_spellings_of_an_integer_are_one_id_and_others_are_not():
    starts, data, valid = canonical_texts(binary(*SAME, *OTHER))
    forms = [data[a:b].tobytes() for a, b in pairwise(starts)]
    assert valid.all() and set(forms[: len(SAME)]) == {b"7"} and forms[len(SAME) :] == OTHER


@given(st.lists(texts, max_size=10), st.sampled_from([pa.binary(), pa.large_binary()]))
@settings(deadline=None, max_examples=200)
def test_canonical_forms_are_those_of_the_rule(ids, dtype):
    array = pa.array([None, *ids], dtype)[1:]  # an array that does not start with its buffers
    starts, data, valid = canonical_texts(array)
    found = [data[a:b].tobytes() if ok else None for a, b, ok in zip(starts, starts[1:], valid, strict=False)]
    assert found == [None if text is None else reference_id(text) or None for text in ids]


@pytest.mark.parametrize(("dtype", "low", "high"), [(pa.int64(), -(2**63), 2**63 - 1), (pa.uint64(), 0, 2**64 - 1)])
def test_integers_fit_or_are_null(dtype, low, high):
    written = [low - 1, low, low + 1, -1, 0, 1, high - 1, high, high + 1, 10 * high, 2**70, -(2**70)]
    found = to_integers(binary(*(str(number).encode() for number in written), *SAME, *OTHER[1:], None, b""), dtype)
    expected = [number if low <= number <= high else None for number in written]
    assert found.type == dtype and found.to_pylist() == expected + [7] * len(SAME) + [None] * (len(OTHER) + 1)


def test_parts_of_arrays():
    starts, data, valid = texts_of(pa.array(["a", None, "bc"])[1:])
    assert valid.tolist() == [False, True] and data[starts[1] : starts[2]].tobytes() == b"bc"
    starts, data, valid = texts_of(pa.array([None, ""]))
    assert starts.tolist() == [0, 0, 0] and len(data) == 0 and valid.tolist() == [False, True]
