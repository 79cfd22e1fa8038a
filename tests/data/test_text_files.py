"""Text files of every kind hold the same records; a compressed one can be read again, and swells in vain."""

import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data import delimited
from hushrank.data.delimited import DelimitedText
from hushrank.data.delimited_kernels import COMMA, TAB
from hushrank.data.text_files import DATA_SUFFIXES, TEXT_SUFFIXES, delimiter_of, most_bytes, open_text, text_suffix
from hushrank.exceptions import InvalidParameter

PACKED = [suffix for suffix in TEXT_SUFFIXES if suffix.count(".") == 2]


def compressed(content, path):
    """Content as a file of this name holds it."""
    if path.suffix == ".gz":
        return gzip.compress(content)
    return pa.Codec("zstd").compress(content, asbytes=True) if path.suffix == ".zst" else content


def written(folder, suffix, content):
    path = folder / f"x{suffix}"
    path.write_bytes(compressed(content, path))
    return path


def records_of(path):
    text, found = DelimitedText(path, "A"), []
    for fields in text.fields(range(len(text.names))):
        columns = [fields.column(j).to_pylist() for j in range(len(text.names))]
        found += zip(*columns, strict=True)
    return found


def test_names_tell_the_kind():
    assert {".csv", ".tsv", ".csv.gz", ".tsv.zst"} < set(TEXT_SUFFIXES) < set(DATA_SUFFIXES)
    for name, suffix in {"a.CSV": ".csv", "b.x.tsv.GZ": ".tsv.gz", "a.gz": None, "a.npy": None, "csv": None}.items():
        assert text_suffix(Path(name)) == suffix
    assert [delimiter_of(Path(name)) for name in ("a.csv.gz", "a.tsv", "a.TSV.zst", "pipe")] == [COMMA, TAB, TAB, COMMA]


@pytest.mark.parametrize("suffix", TEXT_SUFFIXES)
def test_records_are_the_same_in_every_kind(tmp_path, suffix, monkeypatch):
    mark = "\t" if ".tsv" in suffix else ","
    rows = [["user", "note"], ["7", "plain"], ["8", f'"a{mark}b\n""9{mark}x"'], ["ann", " bob "]]
    content = "\r\n".join(mark.join(row) for row in rows).encode()
    expected = [(b"7", b"plain"), (b"8", f'a{mark}b\n"9{mark}x'.encode()), (b"ann", b"bob")]
    path = written(tmp_path, suffix, content)
    assert records_of(path) == expected
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 7)
    assert records_of(path) == expected


@pytest.mark.parametrize("suffix", PACKED)
def test_a_compressed_file_can_be_gone_through_again(tmp_path, suffix):
    content = np.random.default_rng(0).integers(0, 256, 300_000, np.uint8).tobytes()
    with open_text(written(tmp_path, suffix, content)) as file:
        assert file.seekable() and file.readable() and most_bytes(file) > 2**60
        for place in (200_000, 5, 0, 299_999, 17, len(content) + 9):
            file.seek(place)
            assert file.tell() == min(place, len(content))
            assert file.read(1000) == content[place : place + 1000]
    assert file.closed
    plain = written(tmp_path, ".csv", content)
    with open_text(plain) as file:
        assert most_bytes(file) == len(content)


@pytest.mark.parametrize("suffix", PACKED)
def test_records_too_long_and_stray_quotes_are_passed_over(tmp_path, suffix, monkeypatch):
    """The one use of going back: a record that is followed in vain ends with its first line."""
    mark = b"\t" if ".tsv" in suffix else b","
    lines = [b"a" + mark + b"b", b"1" + mark + b'"' + b"x" * 200, b"2" + mark + b"3", b"y" * 150, b"4" + mark + b"5"]
    path = written(tmp_path, suffix, b"\n".join(lines))
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 20)
    monkeypatch.setattr(delimited, "LONGEST_RECORD", 90)
    assert records_of(path) == [(None, None), (b"2", b"3"), (None, None), (b"4", b"5")]


@pytest.mark.parametrize("suffix", PACKED)
def test_files_of_several_parts_are_read_to_their_end(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    mark = b"\t" if ".tsv" in suffix else b","
    path.write_bytes(compressed(mark.join([b"a", b"b\n1"]), path) + compressed(mark + b"2\n", path))
    assert records_of(path) == [(b"1", b"2")]


@pytest.mark.parametrize("suffix", PACKED)
def test_damage_is_one_line_that_names_the_file(tmp_path, suffix):
    content = b"a\tb\n" if ".tsv" in suffix else b"a,b\n"
    content += os.urandom(2**16).hex().encode()
    path = tmp_path / f"x{suffix}"
    whole = compressed(content, path)
    for damaged in (whole[: len(whole) // 2], whole[:-2], whole + b"more", b"a,b\n1,2\n", whole[:9]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidParameter) as refusal:
            records_of(path)
        assert str(refusal.value) == (
            f"X of A must be a readable CSV file; got 'x{suffix}: damaged, or of another kind'."
        )
    path.write_bytes(b"")
    with pytest.raises(InvalidParameter, match="an empty first line"):
        DelimitedText(path, "A")
    path.unlink()
    with pytest.raises(InvalidParameter, match="No such file or directory"):
        DelimitedText(path, "A")


@pytest.mark.parametrize("suffix", [".csv.gz", ".tsv.zst"])
def test_what_swells_takes_no_memory(tmp_path, suffix, monkeypatch):
    """A hundred thousand bytes for each one in the file, as one line without an end and as many empty ones."""
    monkeypatch.setattr(delimited, "LONGEST_RECORD", 2**16)
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 2**14)
    header = b"a\tb\n" if ".tsv" in suffix else b"a,b\n"
    for filling, n_records in ((b"x" * 2**23, 1), (b"\n" * 2**18, 2**18)):
        path = written(tmp_path, suffix, header + filling)
        del filling
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        assert sum(len(fields) for fields in DelimitedText(path, "A").fields([0])) == n_records
        assert tracemalloc.get_traced_memory()[1] < 2**22 and pa.total_allocated_bytes() - before < 2**22
        tracemalloc.stop()


def test_tabs_and_commas_are_not_mistaken_for_each_other(tmp_path):
    (tmp_path / "x.tsv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidParameter, match=r"tabs \(a name that ends in .csv is for commas\); got 'x.tsv: one"):
        DelimitedText(tmp_path / "x.tsv", "A")
    (tmp_path / "x.tsv").write_text("a;b\n1;2\n")
    with pytest.raises(InvalidParameter, match=r"separated by tabs .* converts semicolons"):
        DelimitedText(tmp_path / "x.tsv", "A")
