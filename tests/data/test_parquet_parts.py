"""Row groups: cut without a gap, read alone and by name, and refused in one line where a file is damaged."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.data.parquet_parts import ParquetPart, cut_parts, read_footer
from hushrank.exceptions import InvalidParameter
from piece_support import ENOUGH


def write(path, n_rows=7, **options):
    pq.write_table(pa.table({"a": range(n_rows), "b": [0.5] * n_rows}), path, row_group_size=2, **options)
    return path


def numbers_of(part, names=("a",), most=100):
    return [row for batch in part.batches(names, most, pa.RecordBatch.to_pylist, "A") for row in batch]


def test_a_footer_tells_columns_and_row_groups(tmp_path):
    footer = read_footer(write(tmp_path / "x.parquet"), "A")
    assert footer.schema.names == ["a", "b"] and footer.index == []
    assert footer.part == ParquetPart(tmp_path / "x.parquet", (2, 2, 2, 1)) and footer.part.n_rows == 7


@pytest.mark.parametrize("index", [pa.int8(), pa.int16(), pa.uint8(), pa.int32(), pa.int64()])
def test_words_that_are_not_utf8_stop_nobody(tmp_path, index):
    texts = pa.array([b"ann", b"\xff", b"bob"], pa.binary())
    words = pa.StringArray.from_buffers(3, *texts.buffers()[1:])
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1, 2], index), words)
    pq.write_table(pa.table({"user": coded, "x": [1, 2, 3, 4]}), tmp_path / "x.parquet")
    part = read_footer(tmp_path / "x.parquet", "A").part
    found = part.batches(("x", "user"), 10, lambda batch: batch.column(1), "A")
    ids = [column.dictionary.cast(pa.binary()).take(column.indices) for column in found]
    assert pa.concat_arrays(ids).to_pylist() == [b"bob", b"ann", b"\xff", b"bob"]


@given(st.lists(st.integers(0, 5), max_size=8), st.integers(0, 12))
def test_parts_are_runs_of_enough_rows_without_a_gap(rows, enough):
    parts = ParquetPart("x.parquet", tuple(rows)).cut(enough)
    assert sum(part.n_rows for part in parts) == sum(rows) and all(part.n_rows >= 1 for part in parts)
    assert all(part.n_rows >= enough for part in parts[:-1])
    start = 0
    for part in parts if len(parts) > 1 else ():
        assert part.first == start and part.group_rows == tuple(rows[start : start + len(part.group_rows)])
        start += len(part.group_rows)
    assert len(parts) != 1 or parts[0].first is None  # all of a file, whatever its row groups become


@pytest.mark.parametrize("enough", ENOUGH)
def test_parts_of_parts_are_read_in_their_order(tmp_path, enough):
    whole = read_footer(write(tmp_path / "x.parquet"), "A").part
    parts = cut_parts(cut_parts([whole], 3), enough)
    for most in (1, 3, 100):
        assert [row for part in parts for row in numbers_of(part, most=most)] == [{"a": i} for i in range(7)]


def test_columns_come_in_the_order_asked_for(tmp_path):
    part = read_footer(write(tmp_path / "x.parquet", 1), "A").part
    assert [list(row) for row in numbers_of(part, ("b", "a"))] == [["b", "a"]]


def test_a_part_reads_nothing_of_other_row_groups(tmp_path):
    path = write(tmp_path / "x.parquet", 7, compression="gzip", use_dictionary=False)
    start = pq.read_metadata(path).row_group(1).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 20] = bytes(20)
    path.write_bytes(content)
    first, damaged, *_ = read_footer(path, "A").part.cut(1)
    assert numbers_of(first) == [{"a": 0}, {"a": 1}]
    with pytest.raises(InvalidParameter, match=r"^X of A must be a readable Parquet file; got 'x.parquet: damaged"):
        numbers_of(damaged)


def test_no_rows_are_no_part_and_no_batch(tmp_path):
    part = read_footer(write(tmp_path / "x.parquet", 0), "A").part
    assert part.cut(1) == [] and numbers_of(part) == []


def test_what_is_wrong_with_a_batch_is_one_line_too(tmp_path):
    part = read_footer(write(tmp_path / "x.parquet"), "A").part
    for names, make in ((["a", "gone"], len), (["a"], lambda batch: 1 / 0)):
        with pytest.raises(InvalidParameter, match=r"got 'x.parquet: damaged, or of another kind'\.$"):
            list(part.batches(names, 9, make, "A"))
    (tmp_path / "y.parquet").write_bytes(b"secret 7.25")
    with pytest.raises(InvalidParameter, match=r"got 'y.parquet: damaged, or of another kind'\.$"):
        read_footer(tmp_path / "y.parquet", "A")


def test_metadata_that_make_no_sense_are_refused(tmp_path):
    for metadata in (b"{", b"[1]"):
        table = pa.table({"a": [1]}).replace_schema_metadata({"pandas": metadata})
        pq.write_table(table, tmp_path / "x.parquet")
        with pytest.raises(InvalidParameter, match="damaged"):
            read_footer(tmp_path / "x.parquet", "A")
