"""Keys of sealed files: from bytes, from files that only their owner can open, and one that everybody has."""

import hashlib
import os
import stat
from pathlib import Path

import pytest

from fork_support import outcome_of, start_child
from hushrank.archive import seal_keys
from hushrank.archive.seal_keys import KEY_BYTES, VARIABLE, load_key, make_key_file
from hushrank.exceptions import CheckpointError, InvalidParameter

GIVEN = bytes(range(100, 140))
SECRET = "0123456789abcdef"
N_PROCESSES = 8


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home folder of its own for every test: the real one is never touched."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def own_file(home):
    return home / ".local" / "state" / "hushrank" / "checkpoint.key"


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def put_key(path, data=GIVEN, mode=0o600):
    path.write_bytes(data)
    path.chmod(mode)
    return path


# Keys that are given


def test_bytes_and_a_file_of_them_are_the_same_key(tmp_path):
    path = put_key(tmp_path / "key")
    expected = hashlib.sha256(b"hushrank checkpoint key\0" + GIVEN).digest()
    assert load_key(GIVEN) == load_key(path) == load_key(str(path)) == expected
    assert len(expected) == KEY_BYTES


def test_keys_that_differ_in_a_byte_or_in_length_differ():
    keys = [GIVEN, GIVEN + b"\0", GIVEN[:-1], GIVEN[:16], b"\0" * 16, b"\0" * 17]
    assert len({load_key(key) for key in keys}) == len(keys)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (b"", "at least 16 random bytes; got 0"),
        (b"fifteen is less", "at least 16 random bytes; got 15"),
        (bytearray(32), "bytes, the path of a key file or None; got <class 'bytearray'>"),
        (7, "bytes, the path of a key file or None; got <class 'int'>"),
    ],
)
def test_other_keys_are_refused_and_not_shown(key, message):
    with pytest.raises(InvalidParameter, match=message) as refusal:
        load_key(key)
    assert "fifteen" not in str(refusal.value)


# Key files


def test_a_new_key_file_is_random_and_for_its_owner_only(tmp_path):
    for name in "ab":
        make_key_file(tmp_path / name)
        assert mode_of(tmp_path / name) == 0o600 and len((tmp_path / name).read_bytes()) == KEY_BYTES
    assert load_key(tmp_path / "a") != load_key(tmp_path / "b")
    assert load_key(tmp_path / "a") == load_key(tmp_path / "a")


def test_a_key_file_is_never_replaced(tmp_path):
    path = put_key(tmp_path / "key")
    with pytest.raises(CheckpointError, match=r"^cannot make the key file .*key: it exists, and files may be sealed"):
        make_key_file(path)
    assert path.read_bytes() == GIVEN


@pytest.mark.parametrize(("name", "reason"), [("missing/key", "No such file or directory"), ("a\0b", "null")])
def test_a_key_file_that_cannot_be_made_is_one_clear_line(tmp_path, name, reason):
    with pytest.raises(CheckpointError, match=rf"^cannot make the key file .*: .*{reason}.*\.$"):
        make_key_file(str(tmp_path / name))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666, 0o610])
def test_key_files_that_are_open_to_others_are_refused(tmp_path, mode):
    path = put_key(tmp_path / "key", mode=mode)
    with pytest.raises(CheckpointError, match=rf"is open to others: run `chmod 600 {path}`, or make a new one"):
        load_key(path)
    path.chmod(0o400)
    assert load_key(path) == load_key(GIVEN)


def test_key_files_of_others_are_refused(tmp_path, monkeypatch):
    path = put_key(tmp_path / "key")
    if os.geteuid() == 0:  # files of the administrator are accepted
        assert load_key(path)
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.stat(path).st_uid + 1)
    with pytest.raises(CheckpointError, match="belongs to another user, who knows the key"):
        load_key(path)


@pytest.mark.parametrize("size", [0, 31, 4097, 100_000])
def test_files_of_another_size_are_no_keys(tmp_path, size):
    path = put_key(tmp_path / "key", b"k" * size)
    with pytest.raises(CheckpointError, match=r"is no key file: one has 32 to 4096 bytes; .*make_key_file makes one"):
        load_key(path)
    for fits in (32, 4096):
        assert load_key(put_key(path, b"k" * fits)) == load_key(b"k" * fits)


def test_what_is_no_ordinary_file_is_no_key(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "loop").symlink_to("loop")
    for name, reason in ((".", "directory"), ("pipe", "not an ordinary"), ("loop", "symbolic links")):
        with pytest.raises(CheckpointError, match=rf"^cannot read the key file .*{reason}"):
            load_key(tmp_path / name)


@pytest.mark.parametrize("key", [SECRET, SECRET * 100, f"a/{SECRET}", f"{SECRET}\0"])
def test_a_key_that_was_given_as_text_or_in_the_environment_is_not_shown(key, monkeypatch):
    with pytest.raises(CheckpointError, match=r"no key file of the name that was given.*given as bytes") as first:
        load_key(key)
    monkeypatch.setattr(os, "environ", {**os.environ, VARIABLE: key})
    with pytest.raises(CheckpointError, match=f"{VARIABLE} must hold the path of a key file") as second:
        load_key(None)
    for refusal in (first, second):
        assert SECRET not in str(refusal.value)
        assert refusal.value.__cause__ is None and refusal.value.__suppress_context__


# The own key


def test_the_own_key_is_made_once_and_for_the_owner_only(home):
    key = load_key(None)
    path = own_file(home)
    assert mode_of(path) == 0o600 and mode_of(path.parent) == 0o700
    assert key == load_key(None) == load_key(path) and len(path.read_bytes()) == KEY_BYTES
    assert os.listdir(path.parent) == ["checkpoint.key"]


def test_the_own_key_is_where_the_environment_says(home, tmp_path, monkeypatch):
    first = load_key(None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    second = load_key(None)
    assert second == load_key(tmp_path / "state" / "hushrank" / "checkpoint.key")
    monkeypatch.setenv(VARIABLE, str(put_key(tmp_path / "key")))
    third = load_key(None)
    assert third == load_key(GIVEN) and len({first, second, third}) == 3
    monkeypatch.setenv(VARIABLE, "")
    assert load_key(None) == second
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert load_key(None) == first and not Path("relative").exists()


def test_a_key_file_of_the_environment_is_not_made(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key"))
    with pytest.raises(CheckpointError, match=r"and there is none; .*make_key_file makes one"):
        load_key(None)
    assert not (tmp_path / "key").exists()


def test_an_own_key_that_is_open_to_others_is_refused(home):
    load_key(None)
    own_file(home).chmod(0o644)
    with pytest.raises(CheckpointError, match="is open to others: run `chmod 600 "):
        load_key(None)


def test_processes_that_start_at_once_have_one_key(home):
    gate, start = os.pipe()
    children = []
    for _ in range(N_PROCESSES):

        def work():
            os.close(start)
            os.read(gate, 1)  # returns when the parent closes the other end
            return load_key(None)

        children.append(start_child(work))
    os.close(gate)
    os.close(start)
    assert {outcome_of(*child) for child in children} == {f"returned {load_key(None)!r}"}
    assert os.listdir(own_file(home).parent) == ["checkpoint.key"]


def test_a_process_that_comes_second_takes_the_key_of_the_first(home, monkeypatch):
    def come_second(path, data, mode):
        put_key(path)
        real(path, data, mode)

    real = seal_keys.create_file
    monkeypatch.setattr(seal_keys, "create_file", come_second)
    assert load_key(None) == load_key(GIVEN)


def test_an_own_key_that_cannot_be_made_is_one_clear_line(home, monkeypatch):
    (home / ".local").write_text("a file")
    with pytest.raises(CheckpointError, match=rf"^cannot make the key file .*: .*; name another in {VARIABLE}\.$"):
        load_key(None)
    (home / ".local").unlink()
    own_file(home).parent.mkdir(parents=True)
    own_file(home).symlink_to("nowhere")
    with pytest.raises(CheckpointError, match=rf"can be neither read nor made; name another in {VARIABLE}\.$"):
        load_key(None)

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(CheckpointError, match=f"there is no home folder for a key file: name one in {VARIABLE}"):
        load_key(None)
