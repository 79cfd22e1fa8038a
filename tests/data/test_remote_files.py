"""Addresses: names without secrets, files of every kind read from there, and one line about what cannot be reached."""

import io
import pickle
import subprocess
import sys
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data.files import refuse_damaged
from hushrank.data.found_files import find_files
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.records.measurements import read_measurements
from hushrank.data.records.new_measurements import read_new_measurements
from hushrank.data.records.reading import read_records
from hushrank.data.remote_files import RemotePath, hide_secrets, is_address, local_path, to_path
from hushrank.data.rows.reading import read_rows
from hushrank.data.updates.reading import read_updates
from hushrank.exceptions import InvalidParameter
from piece_support import ENOUGH, sent, write_folder

SECRET = "ftp://ann:pa:ss@host:21/folder/x.csv.gz"


@pytest.fixture
def store():
    """Storage in memory, which all of a process shares."""
    storage = fsspec.filesystem("memory")
    yield storage
    storage.rm("/", recursive=True) if storage.find("/") else None


def put(storage, folder, address):
    """Copy the files of a folder to an address."""
    for path in folder.rglob("*"):
        if path.is_file():
            storage.pipe(f"{address}/{path.relative_to(folder).as_posix()}", path.read_bytes())
    return f"memory://{address}"


def refusal_of(call, *args, **options):
    with pytest.raises(InvalidParameter) as refusal:
        call(*args, **options)
    assert "\n" not in str(refusal.value) and "secret" not in str(refusal.value)
    assert refusal.value.__cause__ is None and refusal.value.__suppress_context__
    return str(refusal.value)


# Names.


def test_paths_and_addresses_are_told_apart():
    assert [is_address(data) for data in ("x.csv", "s3://b/x", "file:///x", Path("a:/b"), 7)] == [False, True] + [
        False
    ] * 3
    assert to_path("file:///data/x.csv", "A") == local_path("file:///data/x.csv") == Path("/data/x.csv")
    assert to_path(Path("x.csv"), "A") == Path("x.csv") and local_path("s3://b/x") is None
    remote = to_path("memory://x.csv", "A")
    assert isinstance(remote, RemotePath) and to_path(remote, "A") is remote


def test_an_address_is_shown_without_secrets():
    path = RemotePath(SECRET)
    assert (str(path), path.name, path.suffix) == ("ftp://host:21/folder/x.csv.gz", "x.csv.gz", ".gz")
    assert repr(path) == "RemotePath('ftp://host:21/folder/x.csv.gz')"
    child = RemotePath("ftp://ann:pw@host/", ("a", "y.pq"))
    assert (str(child), child.name, child.suffix) == ("ftp://host/a/y.pq", "y.pq", ".pq")
    shown = {
        "https://host/x.csv?sig=secret": "https://host/x.csv",
        "ftp://ann:se/cret@host/x": "ftp://host/x",
        "s3://bucket/a@b#1.csv": "s3://bucket/a@b#1.csv",
        "zip://x.csv::ftp://ann:pw@host/z.zip": "zip://x.csv::ftp://host/z.zip",
        "mail@host?.csv": "mail@host?.csv",
    }
    assert {address: hide_secrets(address) for address in shown} == shown
    assert RemotePath("zip://x.csv::ftp://host/z.zip").name == RemotePath("simplecache::s3://b/x.csv").name == "x.csv"


def test_a_path_is_pickled_by_its_address():
    path = RemotePath(SECRET, ("a", "b"))
    assert pickle.loads(pickle.dumps(path)) == path


# Files and folders.


def test_what_is_there(store):
    store.pipe("/data/deep/x.csv", b"a\n1\n")
    folder, file, gone = (to_path(f"memory://data{name}", "A") for name in ("", "/deep/x.csv", "/gone.csv"))
    assert [(one.is_dir(), one.is_file(), one.exists()) for one in (folder, file, gone)] == [
        (True, False, True),
        (False, True, True),
        (False, False, False),
    ]
    [found] = folder.files()
    assert str(found) == "memory://data/deep/x.csv" and found.is_file() and found.below == ("deep", "x.csv")
    assert [str(one) for one in to_path("memory://", "A").files()] == ["memory:/data/deep/x.csv"]


def test_two_readers_of_one_file_do_not_disturb_each_other(store):
    store.pipe("/x.csv", b"abcdef")
    with to_path("memory://x.csv", "A").open() as one, to_path("memory://x.csv", "A").open() as two:
        assert isinstance(one, io.BufferedReader) and (one.read(2), two.read(3), one.read()) == (b"ab", b"abc", b"cdef")


def test_files_of_a_folder_are_found_as_on_a_disk(tmp_path, store):
    for name in ("b.csv", "a/c.csv", "a.csv", "_x.csv", ".y/z.csv", "n.txt"):
        store.pipe(f"/data/{name}", b"a\n")
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"a\n")
    there = ["/".join(path.below) for path in find_files("memory://data", "A")]
    assert there == [path.relative_to(tmp_path).as_posix() for path in find_files(tmp_path, "A")] != []


# Data of all kinds.


N = 9
TABLE = pa.table({
    "user": pa.array(["ann", "bob", "ann"] * 3), "item": np.arange(N) % 4, "rating": np.linspace(1.0, 5.0, N),
    "row": np.arange(N) % 3, "column": np.arange(N) % 2, "delta": np.arange(N) / 4, "target": np.arange(N) / 8,
})  # fmt: skip


def bits_of(source):
    """All of a source, whatever its blocks are; blocks of whole users come as they are."""
    blocks = list(source.blocks())
    if isinstance(blocks[0], np.ndarray):
        return [np.vstack(blocks).tobytes()]
    names = [name for name in type(blocks[0]).__slots__ if isinstance(getattr(blocks[0], name), np.ndarray)]
    return [np.concatenate([getattr(block, name) for block in blocks]).tobytes() for name in names]


READ = {
    "rows": lambda data: read_rows(data, owner="A", columns=["rating", "delta"]),
    "ratings": lambda data: read_ratings(data, owner="A", items=4, rating_range=(1, 5)),
    "records": lambda data: read_records(data, owner="A", features=["row", "delta"]),
    "measurements": lambda data: read_measurements(
        data, design="entry", shape=(3, 2), owner="A", features=["row", "column"]
    ),
    "updates": lambda data: read_updates(data, shape=(3, 2), owner="A"),
}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("read", READ)
def test_folders_elsewhere_hold_what_folders_here_hold(tmp_path, store, read, kind):
    folder = write_folder(tmp_path / "x", TABLE, kind)
    there = put(store, folder, "/data")
    expected = bits_of(READ[read](folder))
    assert bits_of(READ[read](there)) == bits_of(READ[read](f"local://{folder}")) == expected != []
    assert bits_of(READ[read](f"file://{folder}")) == expected
    one = sorted(folder.iterdir())[0]
    assert bits_of(READ[read](f"{there}/{one.name}")) == bits_of(READ[read](one))


@pytest.mark.parametrize("name", ["x.tsv", "x.csv.gz", "x.tsv.zst"])
def test_compressed_files_elsewhere(store, name):
    content = TABLE.select(["rating", "delta"]).to_pandas().to_csv(index=False, sep="\t" if "tsv" in name else ",")
    codec = {".gz": "gzip", ".zst": "zstd"}.get(Path(name).suffix)
    sink = pa.BufferOutputStream()
    if codec:
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(content.encode())
    store.pipe(f"/{name}", sink.getvalue().to_pybytes() if codec else content.encode())
    rows = read_rows(f"memory://{name}", owner="A")
    for _ in range(2):
        assert np.array_equal(np.vstack(list(rows.blocks())), np.column_stack([TABLE["rating"], TABLE["delta"]]))


def test_new_measurements_elsewhere(tmp_path, store):
    there = put(store, write_folder(tmp_path / "x", TABLE.select(["row", "column"]), "csv"), "/new")
    found = read_new_measurements(there, design="entry", shape=(3, 2), columns=["row", "column"], owner="A")
    assert np.array_equal(found, np.column_stack([TABLE["row"], TABLE["column"]]))


@pytest.mark.parametrize("enough", ENOUGH)
def test_pieces_elsewhere_are_the_whole(tmp_path, store, enough):
    there = put(store, write_folder(tmp_path / "x", TABLE), "/data")
    rows = READ["rows"](there)
    together = [np.vstack(list(part.blocks())) for part in sent(rows.pieces(enough))]
    assert np.vstack(together).tobytes() == np.vstack(list(rows.blocks())).tobytes()


def test_another_process_reads_a_piece(tmp_path):
    folder = write_folder(tmp_path / "x", TABLE)
    for address in (f"local://{folder}", f"file://{folder}"):
        pieces = READ["rows"](address).pieces(3)
        (tmp_path / "piece").write_bytes(pickle.dumps(pieces[-1].read))
        code = "import pickle, sys; print(sum(b.sum() for b in pickle.load(open(sys.argv[1], 'rb'))().blocks()))"
        told = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "piece")], capture_output=True, text=True, check=True
        )
        assert float(told.stdout) == sum(block.sum() for block in pieces[-1].read().blocks()) != 0


def test_columns_that_nobody_asked_for_are_not_fetched(tmp_path, monkeypatch):
    wide = pa.table({"a": np.arange(50_000.0), "b": np.random.default_rng(0).standard_normal(50_000)})
    pq.write_table(wide, tmp_path / "x.parquet", use_dictionary=False, row_group_size=25_000)
    n_read = []

    class Counting(io.FileIO):
        def readinto(self, buffer):
            n_read.append(super().readinto(buffer))
            return n_read[-1]

    storage = fsspec.filesystem("local")
    monkeypatch.setattr(type(storage), "open", lambda self, place, mode, **options: Counting(place, mode))
    rows = read_rows(f"local://{tmp_path}/x.parquet", owner="A", columns=["a"])
    [piece, _] = rows.pieces(1)
    del n_read[:]
    assert len(np.vstack(list(piece.read().blocks()))) == 25_000
    assert sum(n_read) < 0.4 * (tmp_path / "x.parquet").stat().st_size


# Refusals.


def test_missing_and_unknown_files_are_refused(store):
    store.pipe("/x.txt", b"secret")
    store.pipe("/data/y.txt", b"secret")
    assert refused(store, "memory://gone.csv") == "X of A must be an existing file; got 'memory://gone.csv'."
    assert refused(store, "memory://x.txt").startswith(
        "X of A must be a folder of Parquet or CSV files or a file ending"
    )
    assert refused(store, "memory://data").startswith("X of A must be a folder with Parquet or CSV files; got 'data: ")


def refused(store, address):
    with pytest.raises(InvalidParameter) as refusal:
        read_rows(address, owner="A")
    return str(refusal.value)


def test_damaged_files_are_refused_in_one_line(store):
    store.pipe("/x.parquet", b"secret 7.25")
    store.pipe("/x.csv.gz", b"secret 7.25")
    for name, kind in (("x.parquet", "Parquet"), ("x.csv.gz", "CSV")):
        told = refusal_of(read_rows, f"memory://{name}", owner="A")
        reason = "out of reach, damaged or of another kind"
        assert told.startswith(f"X of A must be a readable {kind} file; got '{name}: ") and (
            "(" in told or reason in told
        )


ERRORS = {
    "Permission denied (PermissionError)": PermissionError("secret"),
    "No such file or directory (FileNotFoundError)": FileNotFoundError("secret"),
    "out of reach, damaged or of another kind (RuntimeError)": RuntimeError("ftp://ann:secret@host"),
}


@pytest.mark.parametrize("reason", ERRORS)
def test_what_storage_says_is_one_line_without_secrets(store, monkeypatch, reason):
    def fail(*args, **options):
        raise ERRORS[reason]

    store.pipe("/x.csv", b"a\n1\n")
    monkeypatch.setattr(type(store), "open", fail)
    told = refusal_of(read_rows, "memory://x.csv", owner="A")
    assert told == f"X of A must be a readable CSV file; got 'x.csv: {reason}'."
    monkeypatch.setattr(type(store), "info", fail)
    if "No such" not in reason:
        assert refusal_of(read_rows, "memory://x.csv", owner="A").endswith(f"data file; got 'x.csv: {reason}'.")
    with pytest.raises(InvalidParameter), refuse_damaged(RemotePath("memory://x"), "CSV", "A"):
        fail()


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_arrays_are_read_on_this_machine_only(store, name):
    store.pipe(f"/{name}", b"")
    assert "must be the path of an npy" in refused(store, f"memory://{name}")
    if name == "x.npy":
        for X, y in (("memory://x.npy", "memory://x.npy"), ((np.ones((1, 2)), "memory://ann:pw@b/x.npy"), [1.0])):
            with pytest.raises(InvalidParameter, match="an npy file on this machine") as refusal:
                read_measurements(X, y, design="rank_one", shape=(2, 2), owner="A")
            assert "pw" not in str(refusal.value)


def test_packages_that_are_missing_are_named(monkeypatch):
    assert refusal_of(to_path, "sftp9://ann:secret@host/x.csv", "A") == (
        "X of A must be an address of storage that fsspec knows and reaches (ValueError); got 'sftp9://host/x.csv'."
    )
    monkeypatch.setitem(sys.modules, "s3fs", None)
    told = refusal_of(to_path, "s3://ann:secret@bucket/x.csv", "A", "y")
    assert told == (
        "y of A must be an address that can be read here (Install s3fs to access S3); got 's3://bucket/x.csv'."
    )
    monkeypatch.setitem(sys.modules, "fsspec", None)
    told = refusal_of(to_path, "s3://ann:secret@bucket/x.csv", "A")
    assert told == (
        "X of A must be a path; addresses need the package fsspec (pip install 'hushrank[dask]'); "
        "got 's3://bucket/x.csv'."
    )


def test_paths_do_not_need_fsspec(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    code = "import sys; from hushrank.data.rows.reading import read_rows; r = read_rows(sys.argv[1], owner='A'); "
    code += "list(r.blocks()); sys.exit('fsspec' in sys.modules)"
    for data in (str(tmp_path / "x.csv"), f"file://{tmp_path}/x.csv"):
        assert subprocess.run([sys.executable, "-c", code, data], check=False).returncode == 0
