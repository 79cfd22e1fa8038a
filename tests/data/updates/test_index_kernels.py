"""Indices of delimited text: the same integers as `to_integers` reads from every text."""

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.data.delimited import DelimitedText, Fields
from hushrank.data.text_values import to_integers
from hushrank.data.updates.index_kernels import read_indices

INTEGERS = {
    b"7": 7, b"07": 7, b"+7": 7, b"-7": -7, b"7.": 7, b"7.00": 7, b"0": 0, b"-0": 0, b"000": 0,
    b"9223372036854775807": 2**63 - 1, b"-9223372036854775808": -(2**63), b"+009223372036854775807.0": 2**63 - 1,
}  # fmt: skip
OTHERS = [
    b"", b"+", b"-", b".", b".0", b"-.0", b"1.5", b"1.01", b"1e3", b"x", b"7x", b"x7", b"--7", b"+-7", b"7 7", b"1_0",
    b"0x7", b"\x00", b"7\x00", "\u0667".encode(), b"nan", b'7"', b'"', b"7.0.0", b"9223372036854775808",
    b"-9223372036854775809", b"18446744073709551616", b"18446744073709551617", b"36893488147419103232", b"9" * 400,
]  # fmt: skip


def fields_of(texts):
    """Records of one field, one behind the other."""
    ends = np.cumsum([0, *map(len, texts)])
    return np.frombuffer(b"".join(texts), np.uint8), np.array([ends[:-1], ends[1:]], np.int32)


def indices_of(texts):
    data, spans = fields_of(texts)
    indices = np.empty(len(texts), np.int64)
    read_indices(data, spans, indices)
    return indices.tolist()


def test_integers_and_nothing_else():
    assert indices_of(list(INTEGERS)) == list(INTEGERS.values())
    assert indices_of(OTHERS) == [-1] * len(OTHERS)
    assert indices_of([]) == []


@given(st.lists(st.text("0123456789.+-", max_size=24).map(str.encode) | st.binary(max_size=5), max_size=20))
@example([b"9223372036854775810", b"92233720368547758070"])
@settings(deadline=None)
def test_the_same_integers_as_ids_are(texts):
    stripped = [text.strip(b" \t\n\v\f\r") for text in texts]
    expected = to_integers(pa.array(stripped, pa.large_binary()), pa.int64()).fill_null(-1)
    assert indices_of(stripped) == expected.to_pylist()


@given(st.integers(-(2**64), 2**64) | st.sampled_from([s * 2**63 + d for s in (-1, 1) for d in range(-12, 13)]))
def test_every_integer_that_fits(value):
    assert indices_of([str(value).encode()]) == [value if -(2**63) <= value < 2**63 else -1]


def test_fields_that_cannot_be_read_or_hold_quotes(tmp_path):
    (tmp_path / "x.csv").write_text('a,b\n1,2\n3\n\n"4",5\n"6""",7\n"""",8\n 9\t,0\n"x\n1",1\n')
    [fields] = DelimitedText(tmp_path / "x.csv", "A").fields([0])
    assert isinstance(fields, Fields)
    indices = np.empty(len(fields), np.int64)
    read_indices(fields.data, fields.spans[0], indices)
    assert indices.tolist() == [1, -1, -1, 4, -1, -1, 9, -1]
