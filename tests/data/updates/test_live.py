"""Live updates: those of the file reader in any pieces, at once, and exactly the remaining ones on resuming."""

import io
import itertools
import json
import math
import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data import delimited
from hushrank.data.updates.live import LiveUpdates, Offset
from hushrank.data.updates.reading import read_updates
from hushrank.exceptions import InvalidParameter

SHAPE = (3, 4)


class Trickle:
    """A file that gives its bytes in pieces of these sizes, again and again."""

    def __init__(self, content, sizes):
        self._file, self._sizes = io.BytesIO(content), itertools.cycle(sizes)

    def read1(self, most):
        return self._file.read(next(self._sizes))


def live(content, sizes=(7,), needs_users=False, **options):
    return LiveUpdates(Trickle(content, sizes), owner="A", shape=SHAPE, needs_users=needs_users, **options)


def updates_of(chunk):
    """Each update in a form that can be compared: NaN is equal to itself, and a user may be any bytes."""
    users = [None] * len(chunk)
    if chunk.users is not None:
        users = [cell.as_buffer().to_pybytes() if cell.is_valid else None for cell in chunk.users]
    return list(zip(chunk.rows.tolist(), chunk.columns.tolist(), map(repr, chunk.deltas.tolist()), users, strict=True))


def read_on(stream, most=2**20):
    """All further updates, and for each chunk the offset and the number of updates so far."""
    found, offsets = [], []
    for chunk, offset in stream.chunks(most):
        assert 0 < len(chunk) <= most and offset == stream.offset
        found += updates_of(chunk)
        offsets.append((offset, len(found)))
    return found, offsets


def file_updates(path, content, needs_users):
    path.write_bytes(content)
    source = read_updates(path, shape=SHAPE, owner="A", needs_users=needs_users)
    return [update for chunk in source.chunks() for update in updates_of(chunk)]


# The same updates as of a file.


texts = st.text('0123456789.,+-eE"Nx_\n\t\r\xe9', max_size=8)
numbers = st.integers(-2, 5).map(str) | st.floats(-3, 3).map(repr) | texts
users = st.sampled_from(["ann", "7", "07", "", "bob"]) | texts
notes = texts | st.integers(0, 9).map(lambda n: "x\n1,1,9,ann,-\n" * n)
records = st.lists(st.tuples(numbers, numbers, numbers, users, notes), max_size=8)


def written(rows, newline, has_last_break):
    """Records as RFC 4180 has them."""

    def field(text):
        is_quoted = any(mark in text for mark in ',"\r\n') or text == ""
        return '"' + text.replace('"', '""') + '"' if is_quoted else text

    lines = [",".join(map(field, row)) for row in [("row", "column", "delta", "user", "note"), *rows]]
    return (newline.join(lines) + newline * has_last_break).encode()


@given(
    records, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.lists(st.integers(1, 7), min_size=1, max_size=5),
    st.integers(1, 4), st.sampled_from([90, 2**24]),
)  # fmt: skip
@settings(deadline=None, max_examples=100)
def test_the_updates_of_a_file_in_any_pieces_and_the_rest_from_any_offset(
    tmp_path_factory, rows, newline, has_last_break, sizes, most, longest
):
    content, path = written(rows, newline, has_last_break), tmp_path_factory.getbasetemp() / "x.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "LONGEST_RECORD", longest)
        expected = file_updates(path, content, True)
        assert len(expected) == len(rows)
        found, offsets = read_on(live(content, sizes, True), most)
        assert found == expected
        header = content[: live(content, sizes).offset.bytes]
        for offset, n_read in offsets:
            assert offset.records == n_read
            stored = Offset.from_dict(json.loads(json.dumps(offset.to_dict())))
            assert read_on(live(content, sizes[::-1], True, offset=stored))[0] == expected[n_read:]
            rest, later = read_on(live(header + content[offset.bytes :], sizes, True, offset=stored, continues=True))
            assert rest == expected[n_read:]
            assert not later or later[-1][0].records == len(rows)


@pytest.mark.parametrize("needs_users", [False, True])
def test_columns_are_found_by_name(needs_users):
    content = b"\xef\xbb\xbfuser, note ,delta,col,row\nann,-,0.5,1,0\n,x,,03,+2.0\n\xff,\n"
    found, _ = read_on(live(content, needs_users=needs_users))
    ids = [b"ann", b"", None] if needs_users else [None] * 3
    assert found == [(0, 1, "0.5", ids[0]), (2, 3, "nan", ids[1]), (-1, -1, "nan", ids[2])]


def test_chunks_are_no_larger_than_asked_for_and_may_be_gone_on_with():
    content = b"row,column,delta\n" + b"".join(b"%d,0,1\n" % i for i in range(30))
    stream = live(content, [1000])
    assert stream.shape == SHAPE and not stream.has_users and stream.offset.records == 0
    seen = []
    for most in (1, 4, 100):
        chunk, offset = next(stream.chunks(most))
        seen += chunk.rows.tolist()
        assert offset.records == len(seen) and len(chunk) == min(most, 25)
    assert seen == list(range(30)) and list(stream.chunks()) == [] and stream.offset.bytes == len(content)


def test_a_chunk_outlives_the_bytes_it_was_read_from():
    content = b"row,column,delta\n" + b"".join(b"%d,%d,0.5\n" % (i, i) for i in range(500))
    chunks = [chunk for chunk, _ in live(content, [11]).chunks()]
    assert np.concatenate([chunk.rows for chunk in chunks]).tolist() == list(range(500))
    assert set(np.concatenate([chunk.deltas for chunk in chunks]).tolist()) == {0.5}


def test_a_pipe_that_is_still_written_gives_what_is_there():
    reader, writer = os.pipe()
    given_up = threading.Timer(30, os.close, [writer])  # instead of waiting forever for what is not there
    given_up.start()
    with os.fdopen(reader, "rb") as file:
        os.write(writer, b"row,column,delta\n1,2,3\n0,")
        stream = LiveUpdates(file, owner="A", shape=SHAPE)
        chunks = stream.chunks()
        assert updates_of(next(chunks)[0]) == [(1, 2, "3.0", None)]
        os.write(writer, b'0,"5"\n2')
        chunk, offset = next(chunks)
        assert updates_of(chunk) == [(0, 0, "5.0", None)] and offset.records == 2
        os.write(writer, b",2,7")
        assert given_up.is_alive()
        given_up.cancel()
        os.close(writer)
        assert [updates_of(chunk) for chunk, _ in chunks] == [[(2, 2, "7.0", None)]]


# Refusals.


def refusal_of(content, **options):
    with pytest.raises(InvalidParameter) as refusal:
        live(content, **options)
    assert "\n" not in str(refusal.value) and "725" not in str(refusal.value)
    return str(refusal.value)


def test_columns_that_are_missing_are_refused_before_a_record_is_read():
    missing = "updates of A must be a table with the columns"
    assert refusal_of(b"row,column,value\n0,0,725\n") == f"{missing} row, column, delta; got 'one without delta'."
    assert (
        refusal_of(b"row,column,delta\n0,0,725\n", needs_users=True)
        == f"{missing} row, column, delta, user; got 'one without user'."
    )
    assert refusal_of(b"0,0,725\n1,1,1\n").startswith("X of A must be a CSV file with a header line of names; got")


def test_parameters_are_checked_before_the_file_is_touched():
    class Untouchable(io.BytesIO):
        def read1(self, most=-1):
            raise AssertionError("read")

    for options, message in (
        ({"shape": (0, 4)}, "^shape of A must be a pair of integers >= 1"),
        ({"offset": {"bytes": 1}}, "^offset of A must be an Offset or None; got 'dict'"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            LiveUpdates(Untouchable(), **{"owner": "A", "shape": SHAPE, **options})


def test_another_input_is_refused():
    content = b"row,column,delta\n0,0,1\n1,1,1\n"
    _, [(offset, _)] = read_on(live(content, [100]))
    other = "offset of A must be of the input that was read before; got"
    assert refusal_of(content[:-1], offset=offset) == f"{other} 'a shorter one'."
    assert refusal_of(content.replace(b"1,1,1", b"1,2,1"), offset=offset) == f"{other} 'another one'."
    assert read_on(live(content + b"2,2,2", offset=offset))[0] == [(2, 2, "2.0", None)]


def test_unreadable_records_are_counted_like_all_others():
    content = b'row,column,delta\n\nx\n1,2,"3\n1,2,3,4\n0,0,1\n'
    found, offsets = read_on(live(content, [100]))
    assert [n_read for _, n_read in offsets] == [2, 5]  # whether the quote is closed is known at the end
    assert [update[:2] for update in found] == [(-1, -1)] * 4 + [(0, 0)] and offsets[-1][0].records == 5
    assert all(math.isnan(float(update[2])) for update in found[:4])
