"""Scanners of delimited text: the one that goes on from chunk to chunk agrees with the one that sees everything."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.delimited_kernels import (
    BLANK,
    COMMA,
    FIELD_START,
    MALFORMED,
    QUOTED,
    TAB,
    UNREADABLE,
    copy_fields,
    find_records,
    follow_record,
    measure_fields,
    read_short_numbers,
    strip_span,
)


def data_of(content):
    return np.frombuffer(content, np.uint8)


def found(content, width=2, is_end=True, longest=100, delimiter=COMMA):
    """Spans of all fields of the records, and how many bytes were used."""
    spans = np.zeros((width, 2, content.count(b"\n") + 1), np.int32)
    n_records, n_used, _ = find_records(data_of(content), is_end, 0, np.arange(width), longest, spans, delimiter)
    return spans[:, :, :n_records], n_used


def test_spans_are_those_of_the_fields():
    content = b'a, "b""c" \r\n"","x\ny"\n'
    spans, n_used = found(content)
    assert n_used == len(content) and spans[0].T.tolist() == [[0, 1], [13, 13]]
    assert spans[1, 0, 0] == -1 - 4 and content[4 : spans[1, 1, 0]] == b'b""c'
    assert content[spans[1, 0, 1] : spans[1, 1, 1]] == b"x\ny"
    assert measure_fields(spans[1]) == (7, 0)  # a doubled quote is written as one
    out, ends = np.zeros(6, np.uint8), np.zeros(2, np.int64)
    copy_fields(data_of(content), np.ascontiguousarray(spans[1]), out, ends)
    assert out.tobytes() == b'b"cx\ny' and ends.tolist() == [3, 6]


def test_unreadable_and_blank_records_are_marked():
    spans, _ = found(b'1,2\n1\n \r\n"a"b,2\n1,"2\n' + b"x" * 99 + b",2\n3,4")
    assert [int(stop) if stop < 0 else "read" for stop in spans[1, 1]] == [
        "read", UNREADABLE, BLANK, UNREADABLE, UNREADABLE, UNREADABLE, "read",
    ]  # fmt: skip


def test_incomplete_records_wait_for_more():
    for content, n_used in ((b"1,2\n3,", 4), (b'1,2\n3,"', 4), (b'1,2\n3,"4"', 4), (b'1,2\n"a"b', 4), (b"1,2", 0)):
        assert found(content, is_end=False)[1] == n_used
        assert found(content)[1] == len(content)


def test_tabs_separate_fields_or_are_white_space():
    content = b'a\t "b,""c" \r\n\t\n"x\ty"\t2\n"a"\tb\tc\n'
    spans, n_used = found(content, delimiter=TAB)
    assert n_used == len(content) and spans[:, 1, 3].tolist() == [UNREADABLE, UNREADABLE]
    texts = [[content[max(a, -1 - a) : b] for a, b in spans[j, :, :3].T] for j in range(2)]
    assert texts == [[b"a", b"", b"x\ty"], [b'b,""c', b"", b"2"]]
    # The same bytes between commas: tabs are white space, and a text in quotes must end with its field.
    assert found(b'\t"a"\t,b\n')[0][:, :, 0].tolist() == [[2, 3], [6, 7]]
    assert found(b'"a"\tb,c\n')[0][0, 1, 0] == UNREADABLE


content_bytes = st.text('ab,"\n\r \t', max_size=30).map(str.encode)


@given(content_bytes, st.lists(st.integers(0, 30), max_size=4), st.sampled_from([COMMA, TAB]))
@settings(deadline=None, max_examples=300)
def test_following_a_record_ends_where_finding_it_does(content, cuts, delimiter):
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    state, stop = FIELD_START, -1
    for start, end in pairwise(edges):
        state, place, _ = follow_record(data_of(content[start:end]), state, delimiter)
        if place >= 0:
            stop = start + place if state != MALFORMED else -1
            break
    line = content.find(b"\n") if state == MALFORMED or (stop < 0 and state == QUOTED) else stop
    expected = len(content) if line < 0 else line + 1
    # One record alone: what lies behind its end is cut off, and must not be needed.
    assert found(content[:expected] if state != MALFORMED else content, delimiter=delimiter)[0].shape[2] >= (
        len(content) > 0
    )
    if state not in (MALFORMED, QUOTED) and content:
        assert found(content[:expected], delimiter=delimiter)[0].shape[2] == 1


@given(st.binary(max_size=8))
def test_white_space_is_that_of_ascii(content):
    start, stop = strip_span(data_of(content), 0, len(content))
    assert content[start:stop] == content.strip(b" \t\n\v\f\r")


written = st.text("0123456789", min_size=1, max_size=18)
numerals = st.builds("{}{}{}".format, st.sampled_from(["", "-", "+"]), written, st.just("") | written.map(".{}".format))


@given(st.lists(numerals | st.text("0123456789.+-e_ x", max_size=6), min_size=1, max_size=12))
@settings(deadline=None, max_examples=300)
def test_short_numbers_are_those_of_python(texts):
    content = "".join(texts).encode()
    ends = np.cumsum([0, *map(len, texts)])
    spans = np.array([ends[:-1], ends[1:]], np.int32)
    numbers, left = np.full(len(texts), np.nan), np.zeros(len(texts), np.bool_)
    assert read_short_numbers(data_of(content), spans, numbers, left) == left.sum()
    for text, number, is_left in zip(texts, numbers, left, strict=True):
        digits = text.lstrip("+-").replace(".", "", 1)
        if not is_left:
            assert number == float(text) and np.signbit(number) == text.startswith("-")
        if digits.isdigit() and len(digits) <= 15 and text.count("-") + text.count("+") <= 1:
            assert not is_left


def test_records_without_fields_are_left():
    spans, (numbers, left) = (
        np.array([[0, 0, -2], [UNREADABLE, BLANK, 3]], np.int32),
        (np.zeros(3), np.zeros(3, np.bool_)),
    )
    assert read_short_numbers(data_of(b"1234"), spans, numbers, left) == 3 and left.all()
    assert measure_fields(spans) == (2, 2)
