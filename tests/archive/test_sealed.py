"""Sealed files: exact round trips, nothing believed without its seal, whole files whatever happens to a writer."""

import hashlib
import hmac
import itertools
import json
import os
import signal
import stat
import time
import tracemalloc

import numpy as np
import pytest

from fork_support import outcome_of, start_child
from hushrank.archive import atomic, sealed
from hushrank.archive.sealed import MAX_HEADER, VERSION, read_sealed, write_sealed
from hushrank.exceptions import CheckpointError, InvalidParameter

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
FIRST_LINE = b"hushrank checkpoint: SECRET, do not publish\n"
CONTENT = {"releases": 3, "seed": "00ff" * 8, "large": 2**64 - 1, "parts": [0.1, 1e-320, None, {"é\0": True}]}
ARRAYS = {"sums": np.arange(-3, 3).reshape(2, 3), "counts": np.arange(6, dtype=np.int64).reshape(2, 3)}
DTYPES = [np.int32, np.int64, np.uint8, np.uint64, np.float64]
SHAPES = [(), (1,), (5,), (0,), (0, 4), (3, 0, 2), (2, 3), (2, 1, 3, 2)]
N_MUTATIONS = 2000
MEGABYTE = 2**20
N_KILLS = 10
GOLDEN = "12bf0600bd07250aa60f150c0500a15a198cf17c37cec8822953ecaa8e4c46f2"


@pytest.fixture
def path(tmp_path):
    write_sealed(tmp_path / "state", CONTENT, ARRAYS, KEY)
    return tmp_path / "state"


def seal(data, key=KEY):
    """Bytes with their seal, computed as the documentation says."""
    return data + hmac.new(hmac.digest(key, b"hushrank checkpoint", "sha256"), data, hashlib.sha256).digest()


def forge(header, body=b"", key=KEY):
    """A file of any header, sealed by somebody who has the key."""
    text = header if isinstance(header, bytes) else json.dumps(header, sort_keys=True).encode()
    return seal(FIRST_LINE + len(text).to_bytes(8, "little") + text + body, key)


def is_refused(path, key=KEY):
    try:
        read_sealed(path, key)
    except CheckpointError:  # any other error ends the test
        return True
    return False


def assert_holds(path, content, arrays):
    read_content, read_arrays = read_sealed(path, KEY)
    assert read_content == content and read_arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read_arrays[name].dtype == array.dtype and np.array_equal(read_arrays[name], array)


# Round trips


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_round_trips_keep_bits_shapes_and_dtypes(tmp_path, dtype):
    rng = np.random.default_rng(3)
    sizes = [(shape, int(np.prod(shape)) * np.dtype(dtype).itemsize) for shape in SHAPES]
    arrays = {f"{shape}": np.frombuffer(rng.bytes(size), dtype).reshape(shape) for shape, size in sizes}
    write_sealed(tmp_path / "state", {}, arrays, KEY)
    content, copies = read_sealed(str(tmp_path / "state"), KEY)
    assert content == {} and copies.keys() == arrays.keys()
    for name, array in arrays.items():
        assert copies[name].dtype == dtype and copies[name].shape == array.shape
        assert copies[name].tobytes() == array.tobytes()  # NaN too
        assert copies[name].flags.writeable and copies[name].flags.c_contiguous and copies[name].flags.aligned


def test_arrays_of_any_layout_and_byte_order_are_written_as_numbers(tmp_path):
    plain = np.arange(24_000, dtype=np.int32).reshape(20, 30, 40)
    read_only = plain.copy()
    read_only.flags.writeable = False
    layouts = {
        "turned": plain.transpose(2, 0, 1),
        "fortran": np.asfortranarray(plain),
        "thinned": plain[::3, ::-2, 1::7],
        "swapped": plain.astype(">i4"),
        "repeated": np.broadcast_to(np.float64(0.5), (3, 2)),
        "unaligned": np.frombuffer(b"\0" + bytes(range(80)), np.uint8)[1:].view(np.uint64),
        "read only": read_only,
    }
    write_sealed(tmp_path / "state", {}, layouts, KEY)
    for name, copy in read_sealed(tmp_path / "state", KEY)[1].items():
        assert np.array_equal(copy, layouts[name]) and copy.dtype == layouts[name].dtype.newbyteorder("=")


def test_content_comes_back_as_json_holds_it(path):
    assert_holds(path, CONTENT, ARRAYS)
    write_sealed(path, {"b": (1, 2), "a": {}}, {}, KEY)
    assert read_sealed(path, KEY) == ({"a": {}, "b": [1, 2]}, {})


def test_the_layout_is_the_documented_one(path):
    header = {
        "version": 1,
        "content": CONTENT,
        "arrays": [["counts", "<i8", [2, 3]], ["sums", "<i8", [2, 3]]],
    }
    body = np.arange(6, dtype="<i8").tobytes() + np.arange(-3, 3, dtype="<i8").tobytes()
    assert path.read_bytes() == forge(header, body)
    assert path.read_bytes().startswith(FIRST_LINE)


def test_the_same_state_gives_the_same_bytes_for_good(path, tmp_path):
    content, arrays = dict(reversed(CONTENT.items())), dict(reversed(ARRAYS.items()))
    write_sealed(tmp_path / "again", content, arrays, KEY)
    assert path.read_bytes() == (tmp_path / "again").read_bytes()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == GOLDEN


def test_pieces_larger_than_a_chunk_are_put_together(tmp_path):
    rng = np.random.default_rng(5)
    chunk = 2**20
    arrays = {f"{size}": np.frombuffer(rng.bytes(size), np.uint8) for size in (chunk - 1, chunk, chunk + 1, 2 * chunk)}
    write_sealed(tmp_path / "state", CONTENT, arrays, KEY)
    assert_holds(tmp_path / "state", CONTENT, arrays)


# Files without their seal


def test_every_changed_bit_is_noticed(path):
    data = path.read_bytes()
    for position, bit in itertools.product(range(len(data)), range(8)):
        changed = bytearray(data)
        changed[position] ^= 1 << bit
        path.write_bytes(changed)
        assert is_refused(path), (position, bit)


def test_files_that_are_cut_or_continued_are_refused(path):
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert is_refused(path), length
    for more in (b"\0", b"\n", data, data[-32:]):
        path.write_bytes(data + more)
        assert is_refused(path)


def mutate(data, rng):
    """Bytes with a random change in a random place."""
    start, stop = sorted(int(place) for place in rng.integers(len(data) + 1, size=2))
    part = data[start:stop]
    size = int(rng.integers(1, 300))
    ways = (b"", part[::-1], rng.bytes(len(part)), rng.bytes(size) + part, part + part, part.swapcase(), part[size:])
    return data[:start] + ways[int(rng.integers(len(ways)))] + data[stop:]


def test_random_changes_are_refused(path):
    data, n_changed = path.read_bytes(), 0
    for number in range(N_MUTATIONS):
        changed = mutate(data, np.random.default_rng([17, number]))
        path.write_bytes(changed)
        assert is_refused(path) == (changed != data)
        n_changed += changed != data
    assert n_changed > 0.9 * N_MUTATIONS


def test_files_of_another_key_are_refused(path):
    with pytest.raises(CheckpointError, match=r"state was not sealed with this key, or it is damaged\.$"):
        read_sealed(path, OTHER_KEY)
    assert_holds(path, CONTENT, ARRAYS)


def test_the_key_itself_is_not_the_key_of_the_seal(path):
    data = path.read_bytes()[:-32]
    path.write_bytes(data + hmac.digest(KEY, data, "sha256"))
    assert is_refused(path)


def test_parts_of_honest_files_do_not_make_another(path, tmp_path):
    data = path.read_bytes()
    sums, counts = ARRAYS["sums"].tobytes(), ARRAYS["counts"].tobytes()
    assert data.count(counts + sums) == 1
    write_sealed(tmp_path / "other", {**CONTENT, "releases": 0}, ARRAYS, KEY)
    other = (tmp_path / "other").read_bytes()
    assert len(other) == len(data)
    cut = data.index(b'"seed"')
    for forged in (
        data.replace(counts + sums, sums + counts),
        data.replace(b'"counts"', b'"COUNTS"'),
        data.replace(b'"releases": 3', b'"releases": 0'),
        other[:-32] + data[-32:],
        data[:cut] + other[cut:],
    ):
        assert forged not in (data, other)
        path.write_bytes(forged)
        assert is_refused(path)


def change_after_authentication(monkeypatch, change):
    real = sealed._authenticate

    def authenticate(file, secret, end):
        found = real(file, secret, end)
        change()
        return found

    monkeypatch.setattr(sealed, "_authenticate", authenticate)


@pytest.mark.parametrize("place", [-33, -128])
def test_a_file_that_changes_while_it_is_read_is_refused(path, monkeypatch, place):
    changed = bytearray(path.read_bytes())
    changed[place] ^= 1
    change_after_authentication(monkeypatch, lambda: path.write_bytes(changed))
    with pytest.raises(CheckpointError, match=r"state changed while it was read\.$"):
        read_sealed(path, KEY)


def test_a_file_that_shrinks_while_it_is_read_is_refused(path, monkeypatch):
    change_after_authentication(monkeypatch, lambda: os.truncate(path, 100))
    with pytest.raises(CheckpointError, match=r"state changed while it was read\.$"):
        read_sealed(path, KEY)


def test_a_file_that_is_replaced_while_it_is_read_is_the_old_one(path, monkeypatch):
    change_after_authentication(monkeypatch, lambda: write_sealed(path, {"new": 1}, {}, KEY))
    assert read_sealed(path, KEY)[0] == CONTENT
    monkeypatch.undo()
    assert read_sealed(path, KEY)[0] == {"new": 1}


def test_other_files_are_refused(tmp_path):
    for data in (b"", b"text", FIRST_LINE, FIRST_LINE + bytes(39), seal(b""), seal(FIRST_LINE), seal(b"text" * 100)):
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(CheckpointError, match=r"file is not a hushrank checkpoint\.$"):
            read_sealed(tmp_path / "file", KEY)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, reason in (
        ("none", "No such file"), (".", "directory"), ("pipe", "it is not an ordinary file"), ("a\0b", "null"),
        ("loop", "symbolic links"), ("file/state", "Not a directory"),
    ):  # fmt: skip
        with pytest.raises(CheckpointError, match=rf"^cannot read .*: .*{reason}.*\.$"):
            read_sealed(tmp_path / name, KEY)


# Files with a right seal that this version did not write


@pytest.mark.parametrize("version", [VERSION + 1, VERSION + 0.5, 10**30])
def test_newer_versions_are_refused_by_name(path, version):
    path.write_bytes(forge({"version": version, "more": []}))
    with pytest.raises(
        CheckpointError, match=r"was made by a newer version of hushrank: format .*; this one reads up to"
    ):
        read_sealed(path, KEY)
    path.write_bytes(forge({"version": version, "more": []}, key=OTHER_KEY))
    with pytest.raises(CheckpointError, match="was not sealed with this key"):  # who wrote it comes first
        read_sealed(path, KEY)


ARRAY = ["a", "<i8", [2]]
HONEST = {"version": VERSION, "content": {}, "arrays": [ARRAY]}


@pytest.mark.parametrize(
    "header",
    [
        b"", b"no JSON", b"[]", b"{}", b'"text"', b"\xff", b"[" * 100_000, b"9" * 5000, {**HONEST, "version": 0},
        {**HONEST, "version": None}, {**HONEST, "version": "1"}, {**HONEST, "content": None},
        {**HONEST, "content": []}, {**HONEST, "more": 1}, {**HONEST, "arrays": None}, {**HONEST, "arrays": [None]},
        {**HONEST, "arrays": []}, {**HONEST, "arrays": [["a", "<i8"]]}, {**HONEST, "arrays": [[0, "<i8", [2]]]},
        {**HONEST, "arrays": [["a", "<f4", [4]]]}, {**HONEST, "arrays": [["a", "|O", [2]]]},
        {**HONEST, "arrays": [["a", [], [2]]]}, {**HONEST, "arrays": [["a", "<i8", [3]]]},
        {**HONEST, "arrays": [["a", "<i8", [2.0]]]}, {**HONEST, "arrays": [["a", "<i8", [-1, -2]]]},
        {**HONEST, "arrays": [["a", "<i8", 2]]}, {**HONEST, "arrays": [["a", "<i8", [True, 2]]]},
        {**HONEST, "arrays": [["a", "<i8", [2**62]]]}, {**HONEST, "arrays": [ARRAY, ARRAY]},
    ],
    ids=lambda header: f"{header!r:.60}",
)  # fmt: skip
def test_sealed_files_of_another_structure_are_refused(path, header):
    path.write_bytes(forge(HONEST, bytes(16)))
    assert read_sealed(path, KEY)[1]["a"].tolist() == [0, 0]
    path.write_bytes(forge(header, bytes(16)))
    with pytest.raises(CheckpointError, match=r"state was sealed with this key, but not by hushrank\.$"):
        read_sealed(path, KEY)


def test_sealed_files_with_impossible_arrays_are_refused(path):
    for shape in ([0, 2**62, 2**62], [1] * 100 + [0]):
        path.write_bytes(forge({**HONEST, "arrays": [["a", "<i8", shape]]}))
        assert is_refused(path)


def test_headers_that_are_longer_than_any_are_refused(path):
    for length, body in ((MAX_HEADER + 1, bytes(MAX_HEADER + 1)), (2**63, b""), (1, b"")):
        path.write_bytes(seal(FIRST_LINE + length.to_bytes(8, "little") + body))
        with pytest.raises(CheckpointError, match=f"has a header of {length} bytes, which this version"):
            read_sealed(path, KEY)


def test_random_changes_under_a_right_seal_are_refused_or_fit(path):
    """Not even who has the key can make arrays of other sizes than the file holds."""
    outcomes = {True: 0, False: 0}
    data = path.read_bytes()[:-32]
    n_lead = len(FIRST_LINE) + 8
    length = int.from_bytes(data[len(FIRST_LINE) : n_lead], "little")
    header, body = data[n_lead : n_lead + length], data[n_lead + length :]
    for number in range(N_MUTATIONS):
        rng = np.random.default_rng([19, number])
        changed = bytearray(header)
        for place in rng.integers(len(header), size=int(rng.integers(1, 4))):
            changed[place] = rng.choice(list(b'0123456789-.[]{}":,ae'))
        path.write_bytes(forge(bytes(changed), body))
        refused = is_refused(path)
        outcomes[refused] += 1
        if not refused:
            content, arrays = read_sealed(path, KEY)
            assert type(content) is dict and sum(array.nbytes for array in arrays.values()) == len(body)
    assert min(outcomes.values()) > 0.05 * N_MUTATIONS, outcomes


# What does not fit


@pytest.mark.parametrize(
    ("content", "arrays", "message"),
    [
        ({}, {"a": np.zeros(2, np.float32)}, "arrays of float32 have no place in a checkpoint"),
        ({}, {"a": np.zeros(2, bool)}, "arrays of bool have no place in a checkpoint"),
        ({}, {"a": np.array([object()])}, "arrays of object have no place in a checkpoint"),
        ({}, {"a": np.zeros(2, "i4,i4")}, "have no place in a checkpoint"),
        ({}, {"a": [1, 2]}, "a is a list, not an array"),
        ({}, {1: np.zeros(2)}, "the name of an array is a int"),
        ({}, [np.zeros(2)], "what was given as arrays is a list, not a mapping"),
        ([], {}, "its content is a list, not a mapping"),
        ({"a": object()}, {}, "not JSON serializable"),
        ({"a": np.int64(3)}, {}, "not JSON serializable"),
        ({"a": b"key"}, {}, "not JSON serializable"),
        ({"a": float("nan")}, {}, "not JSON compliant"),
        ({1: 2}, {}, "names in its content are not all strings"),
        ({"a": [({None: 2},)]}, {}, "names in its content are not all strings"),
        ({"a": "x" * MAX_HEADER}, {}, "its header has .* bytes, more than 1048576"),
    ],
)
def test_what_would_not_be_read_back_is_not_written(tmp_path, content, arrays, message):
    with pytest.raises(CheckpointError, match=rf"^cannot write .*state: .*{message}"):
        write_sealed(tmp_path / "state", content, arrays, KEY)
    assert os.listdir(tmp_path) == []


def test_content_that_holds_itself_is_not_written(tmp_path):
    content = {}
    content["self"] = content
    with pytest.raises(CheckpointError, match="cannot write"):
        write_sealed(tmp_path / "state", content, {}, KEY)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("key", [b"", b"k" * 31, b"k" * 33, "k" * 32, bytearray(32), None])
def test_other_keys_are_refused_and_not_shown(path, key):
    for call in (lambda: read_sealed(path, key), lambda: write_sealed(path, {}, {}, key)):
        with pytest.raises(InvalidParameter, match=r"_sealed must be 32 bytes, as load_key returns; got [^k]*\.$"):
            call()
    assert_holds(path, CONTENT, ARRAYS)


# Memory


def peak_of(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_files_without_a_right_seal_take_little_memory(path):
    n = 2**26
    head = forge({**HONEST, "arrays": [["a", "|u1", [n]]]})[:-32]
    with path.open("wb") as file:  # as large as it claims, all zeros
        file.write(head)
        file.truncate(len(head) + n + 32)
    assert peak_of(lambda: is_refused(path)) < 4 * MEGABYTE
    path.write_bytes(forge({**HONEST, "arrays": [["a", "|u1", [2**40]]]}, bytes(100)))  # not even with a right one
    assert peak_of(lambda: is_refused(path)) < 4 * MEGABYTE
    assert is_refused(path)


def test_arrays_are_written_without_a_copy_and_read_into_one(tmp_path):
    path, plain = tmp_path / "state", np.arange(2**22)
    for array in (plain, plain.reshape(2**11, 2**11).T, plain.astype(">i8")):
        assert peak_of(lambda array=array: write_sealed(path, {}, {"a": array, "b": array}, KEY)) < 4 * MEGABYTE
        assert 2 * plain.nbytes < peak_of(lambda: read_sealed(path, KEY)) < 2 * plain.nbytes + 4 * MEGABYTE


def test_what_is_sealed_is_what_is_written_even_if_an_array_changes_meanwhile(path, monkeypatch):
    array = np.zeros(2**18)

    class Meddler(sealed.hmac.HMAC):
        def update(self, data):
            super().update(data)
            array[:] += 1

    monkeypatch.setattr(sealed.hmac, "new", Meddler)
    write_sealed(path, {}, {"a": array}, KEY)
    monkeypatch.undo()
    assert array.any() and read_sealed(path, KEY)[1]["a"].shape == array.shape


# Whole files, for their owner


def test_only_the_owner_can_read_a_file(path):
    path.chmod(0o644)
    before = os.umask(0)
    try:
        write_sealed(path, CONTENT, ARRAYS, KEY)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_only_ordinary_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for target, reason in (
        (tmp_path / "pipe", "it is not an ordinary file"),
        (tmp_path, "it is not an ordinary file"),
        (tmp_path / "missing" / "state", "No such file or directory"),
        (tmp_path / "a\0b", "null"),
    ):
        with pytest.raises(CheckpointError, match=rf"^cannot write .*: .*{reason}.*\.$"):
            write_sealed(target, CONTENT, ARRAYS, KEY)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"^cannot write .*state: No space left on device\.$"):
        write_sealed(path, {}, {}, KEY)
    assert_holds(path, CONTENT, ARRAYS)
    assert os.listdir(path.parent) == ["state"]


def state_of(number):
    return {"number": number}, {"a": np.full(2**18, number), "b": np.full((2, 3), number, np.int32)}


def check_whole(path):
    """The number of the state in a file, all of which belongs together."""
    content, arrays = read_sealed(path, KEY)
    assert all((array == content["number"]).all() for array in arrays.values())
    return content["number"]


def test_a_writer_that_is_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    path, highest = tmp_path / "state", 0
    write_sealed(path, *state_of(0), KEY)
    for pause in np.random.default_rng(23).uniform(0, 0.03, N_KILLS):
        begun, tell = os.pipe()

        def work(start=highest, tell=tell):
            for number in itertools.count(start + 1):
                write_sealed(path, *state_of(number), KEY)
                os.write(tell, b".")

        child, reader = start_child(work)
        os.read(begun, 1)
        time.sleep(pause)
        os.kill(child, signal.SIGKILL)
        assert outcome_of(child, reader) == ""  # it did not end by itself
        os.close(begun)
        os.close(tell)
        number = check_whole(path)
        assert number > highest
        highest = number
    left = set(os.listdir(tmp_path)) - {"state"}
    assert all(stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600 for name in left)
