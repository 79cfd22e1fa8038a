"""Files that appear whole or not at all, with their mode from the first byte; and what is no ordinary file."""

import itertools
import os
import signal
import stat
from pathlib import Path

import pytest

from fork_support import outcome_of, start_child
from hushrank.archive import atomic
from hushrank.archive.atomic import (
    ONLY_OWNER,
    beside,
    check_replaceable,
    create_file,
    open_ordinary,
    replace_file,
)

N_WRITERS = 8


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def target(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    return tmp_path / "file"


def test_the_old_file_is_there_until_the_new_one_is_complete(target, no_umask):
    def fill(file):
        file.write(b"new")
        file.flush()
        (unfinished,) = set(target.parent.iterdir()) - {target}
        assert unfinished.name.startswith(".file.") and mode_of(unfinished) == ONLY_OWNER
        assert target.read_bytes() == b"old"

    replace_file(target, fill, ONLY_OWNER)
    assert target.read_bytes() == b"new" and mode_of(target) == ONLY_OWNER
    assert os.listdir(target.parent) == ["file"]


@pytest.mark.parametrize("error", [OSError, ValueError, KeyboardInterrupt])
def test_a_writer_that_fails_changes_nothing(target, error):
    def fill(file):
        file.write(b"half")
        raise error

    with pytest.raises(error):
        replace_file(target, fill)
    assert target.read_bytes() == b"old" and os.listdir(target.parent) == ["file"]


def test_a_file_is_synced_before_it_gets_its_name_and_its_folder_afterwards(target, monkeypatch):
    synced = []

    def note(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append(("folder" if is_folder else "file", target.read_bytes()))

    monkeypatch.setattr(atomic.os, "fsync", note)
    replace_file(target, lambda file: file.write(b"new"))
    assert synced == [("file", b"old"), ("folder", b"new")]


def after(calls, real):
    """A function that works for so many calls, and then kills its process."""
    done = itertools.count()

    def call(*args):
        if next(done) == calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)

    return call


@pytest.mark.parametrize(
    ("owner", "name", "calls", "survivor"),
    [
        (atomic.os, "open", 0, b"old"),
        (atomic.os, "fsync", 0, b"old"),
        (Path, "replace", 0, b"old"),
        (atomic.os, "fsync", 1, b"new"),
    ],
    ids=["unopened", "unsynced", "unnamed", "unsynced name"],
)
def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new(target, owner, name, calls, survivor):
    def work():  # in a process of its own, where everything may be changed
        setattr(owner, name, after(calls, getattr(owner, name)))
        replace_file(target, lambda file: file.write(b"new"), ONLY_OWNER)

    assert outcome_of(*start_child(work)) == ""
    assert target.read_bytes() == survivor
    left = set(target.parent.iterdir()) - {target}
    assert all(path.name.startswith(".file.") and mode_of(path) == ONLY_OWNER for path in left)
    assert len(left) == (owner is Path or (name, calls) == ("fsync", 0))
    replace_file(target, lambda file: file.write(b"next"))
    assert target.read_bytes() == b"next"
    assert set(target.parent.iterdir()) == left | {target}  # nobody knows whether its writer is still at work


def test_a_new_file_replaces_none(target):
    with pytest.raises(FileExistsError):
        create_file(target, b"new")
    assert target.read_bytes() == b"old" and os.listdir(target.parent) == ["file"]
    create_file(target.with_name("other"), b"new", ONLY_OWNER)
    assert target.with_name("other").read_bytes() == b"new" and mode_of(target.with_name("other")) == ONLY_OWNER
    assert sorted(os.listdir(target.parent)) == ["file", "other"]


def test_of_many_writers_at_once_one_makes_the_file(tmp_path):
    path = tmp_path / "file"
    gate, start = os.pipe()
    children = []
    for number in range(N_WRITERS):

        def work(number=number):
            os.close(start)
            os.read(gate, 1)  # returns when the parent closes the other end
            create_file(path, b"%d" % number)
            return number

        children.append(start_child(work))
    os.close(gate)
    os.close(start)
    outcomes = [outcome_of(*child) for child in children]
    assert [outcome for outcome in outcomes if outcome.startswith("returned")] == [f"returned {path.read_text()}"]
    assert sum(outcome.startswith("FileExistsError") for outcome in outcomes) == N_WRITERS - 1
    assert os.listdir(tmp_path) == ["file"]


def test_names_beside_a_file_are_new(target):
    assert beside(target).parent == target.parent
    assert beside(target) != beside(target)


def test_only_ordinary_files_are_opened_and_replaced(target, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "link"):
        with pytest.raises(OSError, match=r"it is not an ordinary file|Is a directory"):
            open_ordinary(path)
        with pytest.raises(OSError, match="it is not an ordinary file"):
            check_replaceable(path)
    with open_ordinary(target) as file:
        assert file.read() == b"old"
    check_replaceable(target)
    check_replaceable(tmp_path / "new")
