"""Arrays and text as bytes: exact round trips of what is declared, and no byte that is believed."""

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.archive.columns import Texts, from_arrays, from_npy, to_arrays, to_npy

ARRAYS = [
    np.zeros(0), np.zeros((0, 4)), np.zeros((4, 0)), np.array(3.5).reshape(1), np.arange(24.0).reshape(2, 3, 4),
    np.array([1 - 2j, np.nan]), np.array([-(2**63), 2**63 - 1]), np.array([2**64 - 1], np.uint64),
    np.arange(256, dtype=np.uint8), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(9.0)[::-2],
]  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_survive(array):
    back = from_npy(to_npy(array))
    assert back.dtype == array.dtype and back.shape == array.shape and back.tobytes() == array.tobytes()
    assert back.flags.writeable and back.flags.c_contiguous and back.flags.aligned
    assert np.array_equal(np.load(io.BytesIO(to_npy(array)), allow_pickle=False), array, equal_nan=True)


def test_byte_order_is_that_of_the_file_and_then_of_the_machine():
    assert to_npy(np.array([1.5], ">f8")) == to_npy(np.array([1.5]))
    assert from_npy(to_npy(np.array([1.5], ">f8"))).dtype == np.float64


@pytest.mark.parametrize(
    "array", [np.zeros(1, "f4"), np.array(["a"]), np.array([None]), np.zeros(1, bool), np.zeros(1, "i4")]
)
def test_other_dtypes_are_not_written(array):
    with pytest.raises(TypeError, match="have no place in a model file"):
        to_npy(array)


def head(descr="'<f8'", order="False", shape="(3,)", end=", }", version=b"\1\0"):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}{end}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text


DATA = np.arange(3.0).tobytes()


def test_the_forged_headers_below_differ_from_a_right_one_in_one_place():
    assert np.array_equal(from_npy(head() + DATA), np.arange(3.0))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "an array cannot be read"),
        (head(version=b"\2\0") + DATA, "an array cannot be read"),
        (head(order="True") + DATA, "an array cannot be read"),
        (head(shape="(-3,)") + DATA, "an array cannot be read"),
        (head(shape="(3)") + DATA[:-1], r"an array of shape \(3,\) has 23 bytes"),
        (head(shape="(3, , )") + DATA, "an array cannot be read"),
        (head(shape="(" * 5000) + DATA, "an array cannot be read"),
        (head(shape="(3,)", end=", 'x': 1}") + DATA, "an array cannot be read"),
        (head(shape="(3, __import__('os').abort())") + DATA, "an array cannot be read"),
        (head(descr="'|O'") + DATA, "an array cannot be read"),
        (head(descr="'<f4'") + DATA, "an array has the dtype '<f4'"),
        (head(descr="'>f8'") + DATA, "an array cannot be read"),
        (head(descr="'<U2'") + DATA, "an array cannot be read"),
        (head(descr="[('a', '<f8')]") + DATA, "an array cannot be read"),
        (head(shape="(4,)") + DATA, r"an array of shape \(4,\) has 24 bytes"),
        (head(shape="(2,)") + DATA, r"an array of shape \(2,\) has 24 bytes"),
        (head(shape="()") + DATA, r"an array of shape \(\) has 24 bytes"),
        (head(shape=f"({10**12}, {10**12})") + DATA, "an array of shape .* has 24 bytes"),
        (head(shape=f"({2**58}, 64)") + DATA, "an array of shape .* has 24 bytes"),
        (head(shape=f"({10**30},)") + DATA, "an array cannot be read"),
        (head().replace(b" \n", b"\n ") + DATA, "an array cannot be read"),
    ],
)
def test_forged_arrays_are_refused(data, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        from_npy(data)


def test_no_memory_is_taken_for_a_claimed_shape():
    tracemalloc.start()
    for shape in ("(30000000,)", "(100000, 100000)", f"({2**40}, 1)"):
        with pytest.raises(ValueError, match="has 24 bytes"):
            from_npy(head(shape=shape) + DATA)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**16


# Text


def columns(**values):
    return from_arrays({name: array for key, value in values.items() for name, array in to_arrays(key, value)})


@given(st.lists(st.text()))
def test_text_survives(entries):
    back = columns(names_=entries, other_=np.zeros(2))
    assert isinstance(back["names_"], Texts) and len(back["names_"]) == len(entries)
    assert back["names_"].tolist() == entries and back["other_"].shape == (2,)


def test_text_from_an_array_of_objects():
    assert columns(items_=np.array(["tea", "jam"], object))["items_"].tolist() == ["tea", "jam"]


@pytest.mark.parametrize(("column", "error"), [(["\ud800"], UnicodeEncodeError), ([b"a"], TypeError), ([1], TypeError)])
def test_what_is_no_text_is_not_written(column, error):
    with pytest.raises(error):
        list(to_arrays("names_", column))


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        (b"abc", [1, 2]),
        (b"abc", [1, 4]),
        (b"abc", [2, 1, 3]),
        (b"abc", [-1, 3]),
        (b"abc", []),
        (b"", [0, 1]),
        (b"abc", [2**63 - 1, 3]),
        (b"abc", [[1, 3]]),
        (b"abc", [1.0, 3.0]),
    ],
)
def test_text_that_is_cut_wrongly_is_refused(data, ends):
    with pytest.raises(ValueError, match="a column of text"):
        Texts(np.frombuffer(data, np.uint8), np.array(ends) if ends else np.zeros(0, np.int64))


def test_bytes_that_are_no_text_are_refused_when_they_are_asked_for():
    column = Texts(np.frombuffer(b"a\xff", np.uint8), np.array([1, 2]))
    assert len(column) == 2
    with pytest.raises(ValueError, match="can't decode"):
        column.tolist()


@pytest.mark.parametrize("names", [("a.text",), ("a.ends",), ("a", "a.text", "a.ends"), (".text",)])
def test_half_a_column_is_refused(names):
    with pytest.raises(ValueError, match="is half of a column of text"):
        from_arrays({name: np.zeros(0, np.int64 if name.endswith("ends") else np.uint8) for name in names})
