"""Records that arrive in pieces: those of the file reader, whatever the pieces, and none twice or never on resuming."""

import gc
import io
import itertools
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushrank.data import delimited
from hushrank.data.delimited import DelimitedText
from hushrank.data.updates import byte_records
from hushrank.data.updates.byte_records import ByteSource, RecordStream
from hushrank.data.updates.offsets import Offset
from hushrank.exceptions import InvalidParameter


class Trickle:
    """A file that gives its bytes in pieces of these sizes, again and again."""

    def __init__(self, content, sizes):
        self._content, self._sizes, self._place = content, itertools.cycle(sizes), 0
        self.n_reads_after_end = 0

    def read1(self, most):
        size = min(next(self._sizes), most)
        piece = self._content[self._place : self._place + size]
        self._place += len(piece)
        self.n_reads_after_end += not piece
        return piece


def as_bytes(content):
    return np.frombuffer(content, np.uint8)


def to_rows(fields, n_columns):
    columns = [fields.column(j).to_pylist() for j in range(n_columns)]
    return [None if None in row else row for row in zip(*columns, strict=True)]


def file_records(path, content):
    path.write_bytes(content)
    text = DelimitedText(path, "A")
    width = len(text.names)
    return [row for fields in text.fields(range(width)) for row in to_rows(fields, width)]


def stream_of(content, sizes=(7,), offset=None, continues=False):
    return RecordStream(Trickle(content, sizes), "A", offset or Offset(), continues)


def read_on(stream, most=2**20):
    """Further records, and the offset after each of the pieces they came in."""
    records, offsets, width = [], [], len(stream.names)
    for fields in stream.fields(range(width), most):
        assert 0 < len(fields) <= most
        records += to_rows(fields, width)
        offsets.append((stream.offset, len(records)))
    return records, offsets


def refusal_of(*args, **options):
    with pytest.raises(InvalidParameter) as refusal:
        stream_of(*args, **options)
    assert "\n" not in str(refusal.value) and "725" not in str(refusal.value)
    return str(refusal.value)


# The same records as of a file.


MARKS = [b'x","', b'"', b'""', b",", b"\n", b"a", b" ", b'"a"', b"\r", b'1,"2', b"\r\n", b'"\n', b"\x00", b"\xff"]
stray = st.lists(st.sampled_from(MARKS), max_size=25).map(b"".join)
sizes = st.lists(st.integers(1, 7), min_size=1, max_size=5)


@given(
    stray | st.binary(max_size=40),
    sizes,
    st.sampled_from([1, 3, 2**22]),
    st.sampled_from([12, 2**24]),
    st.integers(1, 5),
)
@example(b'x","\n' * 30, [1], 1, 12, 3)
@example(b'1,"' + b"x\n3,4\n" * 9 + b'"\n5,6\n', [3], 2**22, 12, 1)
@example(b'1,"' + b"x\n3,4\n" * 9 + b'"x,\n5,6\n', [3], 2**22, 12, 1)
@example(b'1,"' + b"x\n3,4\n" * 9, [5, 1], 3, 12, 2)
@example(b'1,"' + b"y" * 40 + b'\n"\n' + b'7,"' + b"z" * 40 + b"\n8,9", [4], 3, 12, 2)
@example(b'1,"2"' + b"x" * 40 + b"\n5,6\n", [2], 2**22, 12, 2)
@example(b'"' + b"x" * 20 + b'"\n"' + b"\n" * 30, [7], 2**22, 12, 2)
@example(b'x","\xff"\n"""\n""\r\n\x00,\n1,"2"""\n\r\n\n,\ra\x00""a1,"2a', [1], 3, 12, 5)
@settings(deadline=None, max_examples=600)
def test_any_bytes_in_any_pieces_are_the_records_of_a_file(tmp_path_factory, content, sizes, chunk, longest, most):
    """And from the offset after each of them, the rest is read as if nothing had happened."""
    content, path = b"a,b\n" + content, tmp_path_factory.getbasetemp() / "x.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "LONGEST_RECORD", longest)
        patch.setattr(delimited, "CHUNK_BYTES", chunk)
        expected = file_records(path, content)
        records, offsets = read_on(stream_of(content, sizes), most)
        assert records == expected
        assert [offset.records for offset, _ in offsets] == [n_read for _, n_read in offsets]
        for offset, n_read in offsets:
            assert offset == Offset().after(as_bytes(content[: offset.bytes]), n_read)
            rest, _ = read_on(stream_of(content, sizes[::-1], offset))
            assert rest == expected[n_read:]
            rest, later = read_on(stream_of(b"a,b\n" + content[offset.bytes :], sizes, offset, True), most)
            assert rest == expected[n_read:]
            if later:
                assert later[-1][0].records == len(expected)
        assert not offsets or offsets[-1][0].bytes == len(content)


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize("seed", range(5))
def test_long_and_well_formed_records_among_others(tmp_path, monkeypatch, seed):
    """Lines of one person's text that look like records are none, also where they are more than may be kept."""
    rng = random.Random(seed)
    monkeypatch.setattr(delimited, "LONGEST_RECORD", 60)
    monkeypatch.setattr(delimited, "CHUNK_BYTES", rng.choice([1, 10, 100, 2**22]))
    records = []
    for k in range(60):
        note = rng.choice(
            ["", "dull", "x\n7,7\n" * rng.randrange(60), '"' * rng.randrange(90), "7" * rng.randrange(200)]
        )
        records.append((str(k), note))
    content = ("a,b\r\n" + "".join(f"{k},{quoted(note)}\r\n" for k, note in records)).encode()
    found, _ = read_on(stream_of(content, [rng.randrange(1, 400) for _ in range(5)]))
    expected = [
        (k.encode(), note.strip().encode()) if len(f"{k},{quoted(note)}\r") <= 60 else None for k, note in records
    ]
    assert found == expected == file_records(tmp_path / "x.csv", content) and None in found


@pytest.fixture
def n_scanned(monkeypatch):
    """How many bytes each call of a scanner was given."""
    counts = []

    def counted(function):
        def count(data, *args):
            counts.append(len(data))
            return function(data, *args)

        return count

    for name in ("find_records", "follow_record"):
        monkeypatch.setattr(byte_records, name, counted(getattr(byte_records, name)))
    return counts


def test_a_long_record_in_small_pieces_is_looked_at_once(n_scanned):
    """Otherwise it would take the square of its length."""
    content = b'a,b\n1,"' + b"x\n" * 2000 + b'"\n' + b"2," + b"y" * 4000 + b"\n"
    assert read_on(stream_of(content, [1]))[0][1] == (b"2", b"y" * 4000)
    assert sum(n_scanned) < 8 * len(content)


@pytest.mark.parametrize("longest", [50, 2**24])
def test_a_stream_of_open_quotes_is_not_followed_from_every_line(n_scanned, monkeypatch, longest):
    monkeypatch.setattr(delimited, "LONGEST_RECORD", longest)
    content = b"a,b\n" + b'x","\n' * 2001
    assert read_on(stream_of(content, [100]))[0] == [None] * 2001
    assert sum(n_scanned) < 30 * len(content)


# When records are handed over.


def test_what_is_at_hand_is_handed_over_before_more_is_waited_for():
    events = []

    def pieces():
        for piece in (b"a,", b"b\n1,2\n3", b",4", b"\n5,6\n7,8\n", b'9,"x', b'\n"\n', b"0,1"):
            events.append(piece)
            yield piece

    class Pipe:
        def __init__(self):
            self._pieces = pieces()

        def read(self, most):
            return next(self._pieces, b"")

    stream = RecordStream(Pipe(), "A", Offset(), False)
    assert events == [b"a,", b"b\n1,2\n3"]  # constructing waits for the header
    for fields in stream.fields([0, 1], 10):
        events.append(to_rows(fields, 2))
    assert events == [
        b"a,", b"b\n1,2\n3", [(b"1", b"2")], b",4", b"\n5,6\n7,8\n", [(b"3", b"4"), (b"5", b"6"), (b"7", b"8")],
        b'9,"x', b'\n"\n', [(b"9", b"x")], b"0,1", [(b"0", b"1")],
    ]  # fmt: skip


def test_reading_may_stop_after_any_piece_and_go_on():
    stream = stream_of(b"a,b\n" + b"".join(b"%d,x\n" % i for i in range(50)), [100])
    found = []
    for most in (1, 7, 2, 100, 1):
        found += to_rows(next(stream.fields([0, 1], most)), 2)
        assert stream.offset.records == len(found)
    found += read_on(stream)[0]
    assert found == [(b"%d" % i, b"x") for i in range(50)]
    assert read_on(stream) == ([], [])


def test_who_is_interrupted_is_at_the_end_of_a_record(monkeypatch):
    monkeypatch.setattr(delimited, "LONGEST_RECORD", 12)
    content = b'a,b\n1,2\n3,"' + b"x\n7,7\n" * 9 + b'"\n5,6\n'
    for n_pieces in range(2, len(content)):
        file = Trickle(content, [1])
        stream, read1, n_read = RecordStream(file, "A", Offset(), False), file.read1, itertools.count()

        def interrupted(most, read1=read1, n_read=n_read, n_pieces=n_pieces):
            if next(n_read) == n_pieces:
                raise KeyboardInterrupt
            return read1(most)

        stream._source._read = interrupted
        found = []
        try:
            for fields in stream.fields([0, 1], 1):
                found += to_rows(fields, 2)
        except KeyboardInterrupt:
            pass
        rest, _ = read_on(stream_of(content, [100], stream.offset))
        assert found + rest == [(b"1", b"2"), None, (b"5", b"6")] and stream.offset.records == len(found)


def test_fields_are_chosen_by_position():
    stream = stream_of(b"a,b,c\n1,2,3\n4,5\n", [100])
    [fields] = stream.fields([2, 0], 10)
    assert [fields.column(j).to_pylist() for j in range(2)] == [[b"3", None], [b"1", None]]
    assert fields.column(0).type == pa.large_binary()


# Headers.


def test_headers_in_any_pieces():
    header = b'\xef\xbb\xbf"a\nx", b \r\n'
    for size in range(1, 20):
        stream = stream_of(header + b"1,2\n", [size])
        assert stream.names == ["a\nx", "b"] and stream.offset.bytes == len(header)
        assert read_on(stream)[0] == [(b"1", b"2")] and stream.offset.bytes == len(header) + 4
        stream = stream_of(b"a,b", [size])
        assert stream.names == ["a", "b"] and read_on(stream) == ([], []) and stream.offset.bytes == 3


REFUSED = {
    b"": "a CSV file with a header line; got 'stream: an empty first line'.",
    b"725,1\n": "a CSV file with a header line of names; got 'stream: a first line with numbers or missing values'.",
    b'a,"725': "a CSV file with a header line; got 'stream: an open quote'.",
    b'"a"x725\n1,2\n': "a CSV file with a header line; got 'stream: an open quote'.",
    b"\xff\xfe725\x00\n": 'a CSV file in UTF-8 (pandas.read_csv(path, encoding="utf-16").to_csv(new_path, index=False) '
    "may convert it); got 'stream: names in another encoding'.",
}


@pytest.mark.parametrize("content", REFUSED, ids=repr)
def test_unsuitable_headers_are_refused_without_values(content):
    for size in (1, 3, 100):
        assert refusal_of(content, [size]) == f"X of A must be {REFUSED[content]}"


def test_a_header_has_its_limit(monkeypatch):
    monkeypatch.setattr(delimited, "LONGEST_RECORD", 20)
    for size in (1, 7, 100):
        assert "an open quote" in refusal_of(b"a," + b"b" * 30 + b"\n1,2\n", [size])
        assert stream_of(b"a," + b"b" * 10 + b"\n1,2\n", [size]).names == ["a", "b" * 10]


# Going on.


HISTORY = b"a,b\n1,2\n3,4\n5,6\n"


def offset_after(n_records, content=HISTORY):
    return read_on(stream_of(content), 1)[1][n_records - 1][0]


def test_another_input_is_refused():
    offset = offset_after(2)
    message = "offset of A must be of the input that was read before; got"
    assert refusal_of(HISTORY[:11], offset=offset) == f"{message} 'a shorter one'."
    assert refusal_of(b"a,b\n", offset=offset) == f"{message} 'a shorter one'."
    for place in range(offset.bytes):
        other = HISTORY[:place] + bytes([HISTORY[place] ^ 1]) + HISTORY[place + 1 :]
        assert "of A must be" in refusal_of(other, offset=offset)
    assert refusal_of(b"a,b\n1,2\n3,5\n5,6\n", offset=offset) == f"{message} 'another one'."
    assert read_on(stream_of(HISTORY[:12], offset=offset)) == ([], [])
    assert read_on(stream_of(HISTORY[:12] + b"8,9\n", offset=offset))[0] == [(b"8", b"9")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \t\r\n"])
def test_a_last_record_without_line_break_gets_its_own_later(end):
    for content, n_records in ((HISTORY[:-1], 3), (HISTORY[:3], 0)):
        stream = stream_of(content)
        read_on(stream)
        offset = stream.offset
        assert offset == Offset(len(content), n_records, offset.checksum)
        for size in (1, 2, 100):
            again = stream_of(content + end + b"7,8", [size], offset)
            assert again.offset == offset.after(as_bytes(end), 0)
            assert read_on(again)[0] == [(b"7", b"8")]
            again = stream_of(content + end[:-1], [size], offset)
            assert read_on(again) == ([], []) and again.offset.bytes == len(content) + len(end) - 1


def test_a_last_record_that_goes_on_is_refused():
    """It was read at the end of the stream, as 5,6: it cannot become 5,67."""
    offset = stream_of(HISTORY[:-1])
    read_on(offset)
    message = "offset of A must be of the input that was read before; got 'one whose last record goes on'."
    for more in (b"7\n", b" 7\n", b',"\n"', b"7"):
        assert refusal_of(HISTORY[:-1] + more, [1], offset.offset) == message


def test_another_source_goes_on_with_a_header_of_its_own():
    offset = offset_after(2)
    stream = stream_of(b"b,a\n6,5\n", offset=offset, continues=True)
    assert stream.names == ["b", "a"] and read_on(stream)[0] == [(b"6", b"5")]
    archive = HISTORY[: offset.bytes] + b"b,a\n6,5\n"
    assert stream.offset == Offset().after(as_bytes(archive), 3)
    assert read_on(stream_of(archive + b"7,8\n", offset=stream.offset))[0] == [(b"7", b"8")]


def test_an_offset_of_nothing_is_the_start():
    assert read_on(stream_of(HISTORY, offset=Offset()))[0] == read_on(stream_of(HISTORY))[0]


# Files.


def test_only_files_of_bytes_are_read():
    requirement = "file of A must be a file of bytes, such as sys.stdin.buffer; got"
    for file in (io.StringIO("a,b\n"), object(), b"a,b\n", None):
        with pytest.raises(InvalidParameter, match=f"^{requirement} {type(file).__name__!r}"):
            RecordStream(file, "A", Offset(), False)

    class Other:
        def __init__(self, piece):
            self.piece = piece

        def read(self, most):
            return self.piece

    for piece in (None, "a,b\n", 725):
        with pytest.raises(
            InvalidParameter, match=r"^file of A must be a file of bytes that waits for them; got '"
        ) as error:
            RecordStream(Other(piece), "A", Offset(), False)
        assert "725" not in str(error.value)


def test_errors_of_the_file_are_one_line_of_ours():
    class Broken(io.BytesIO):
        def read1(self, most):
            if self.tell():
                raise OSError(5, "725")
            return super().read1(most)

    stream = RecordStream(Broken(b"a,b\n1,2\n3"), "A", Offset(), False)
    found = stream.fields([0], 10)
    assert len(next(found)) == 1
    with pytest.raises(
        InvalidParameter, match=r"^X of A must be a readable CSV file; got 'stream: Input/output error'\.$"
    ):
        next(found)


def test_a_stream_that_has_ended_is_not_read_again(monkeypatch):
    monkeypatch.setattr(delimited, "LONGEST_RECORD", 10)
    file = Trickle(b'a,b\n1,"' + b"x\n3,4\n" * 9, [5])  # what follows the open quote is put back, and read again
    stream = RecordStream(file, "A", Offset(), False)
    assert len(read_on(stream)[0]) == 18 and read_on(stream) == ([], [])
    assert file.n_reads_after_end == 1


def test_what_is_put_back_comes_first_and_its_files_are_closed():
    source = ByteSource(io.BytesIO(b"later"), "A")
    files = [io.BytesIO(b"second"), io.BytesIO(b"first")]
    for file in files:
        source.put_back(file)
    assert [source.read() for _ in range(5)] == [b"first", b"second", b"later", b"", b""]
    assert all(file.closed for file in files)
    left = io.BytesIO(b"left")
    source.put_back(left)
    del source
    gc.collect()
    assert left.closed
