"""Results reach a file: nothing is overwritten unasked, and what cannot be written there is written elsewhere."""

import errno
import os
import re
import stat
import tempfile
from functools import partial

import click
import pytest

from hushrank.cli import writing
from hushrank.cli.writing import Writer, check_new, check_place, write_result, write_text
from hushrank.exceptions import ModelFileError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def full(*folders):
    """Writes a file, unless it is in one of these folders, whose disk is full."""

    def write(place):
        if place.absolute().parent in folders:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_text("result", place)

    return write


def problem_of(writer):
    with pytest.raises(click.ClickException) as raised:
        writer.finish()
    return raised.value.format_message()


def test_places_are_checked(folder):
    old = folder / "there" / "old"
    old.write_text("old")
    check_new("--out", folder / "new", force=False)
    check_place("--out", old, [], "the data", force=True)
    with pytest.raises(click.UsageError, match=r"--out .*old exists already. --force replaces it\."):
        check_place("--out", old, [], "the data")
    for kept in (old, folder / "there"):  # also with force
        with pytest.raises(click.UsageError, match="would overwrite the data"):
            check_place("--out", old, [kept], "the data", force=True)
    with pytest.raises(click.UsageError, match="would overwrite the data"):  # it may be made any time, as a journal is
        check_place("--out", folder / "journal", [folder / "there" / ".." / "journal"], "the data")
    (folder / "round").symlink_to(folder / "round")
    with pytest.raises(click.UsageError, match="leads nowhere"):
        check_place("--out", folder / "round", [old], "the data", force=True)
    with pytest.raises(ModelFileError, match="No such file"):
        check_place("--out", folder / "none" / "x", [], "the data")
    assert old.read_text() == "old"


def test_a_place_that_works_is_used(folder):
    writer, place = Writer(force=False), folder / "there" / "model.hush"
    assert writer.write("model", place, full()) == place and place.read_text() == "result"
    writer.finish()


def test_a_file_that_came_meanwhile_is_kept(folder):
    place = folder / "there" / "model.hush"
    place.write_text("old")
    writer = Writer(force=False)
    assert writer.write("model", place, full()) == folder / "there" / "model-2.hush"
    assert place.read_text() == "old" and "it exists by now; THE MODEL IS IN" in problem_of(writer)
    again = Writer(force=True)
    assert again.write("model", place, full()) == place and place.read_text() == "result"


@pytest.mark.parametrize(("broken", "expected"), [(["there"], "here"), (["there", "here"], "temporary")])
def test_another_folder_is_found(folder, broken, expected):
    writer, wished = Writer(force=False), folder / "there" / "model.hush"
    (folder / "here" / "model-2.hush").write_text("kept")
    place = writer.write("model", wished, full(*(folder / name for name in broken)))
    assert place.read_text() == "result" and folder / expected in place.parents
    message = problem_of(writer)
    assert message == f"cannot write {wished}: No space left on device; THE MODEL IS IN {place}"
    assert list((folder / "there").iterdir()) == [] and (folder / "here" / "model-2.hush").read_text() == "kept"
    if expected == "temporary":  # others may look into that folder
        assert place.name == "model.hush" and stat.S_IMODE(place.stat().st_mode) == 0o600
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    else:
        assert place.name == "model-3.hush"


def test_a_folder_that_is_gone(folder):
    writer = Writer(force=False)
    place = writer.write("report", folder / "gone" / "page.html", partial(write_text, "page"))
    assert place == folder / "here" / "page-2.html" and place.read_text() == "page"
    assert "THE REPORT IS IN" in problem_of(writer)


def test_no_place_at_all(folder):
    def fail(place):
        raise ModelFileError(f"cannot write {place}: it is too large.")

    writer = Writer(force=False)
    assert writer.write("model", folder / "here" / "model", fail) is None
    message = problem_of(writer)
    assert message.endswith("model: it is too large; and there is no other place for it")
    assert list((folder / "here").iterdir()) == []


def test_the_same_for_what_is_printed(folder, monkeypatch, capsys):
    writer = Writer(force=False)
    writer.echo("result", "pca.hush", full())
    assert capsys.readouterr().out == "result\n" and list((folder / "here").iterdir()) == []

    def fail(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing.click, "echo", fail)
    writer.echo("result", "pca.hush", full())
    assert (folder / "here" / "pca-2.hush").read_text() == "result"
    assert "cannot write to stdout: No space left on device; THE RESULT IS IN" in problem_of(writer)
    written = Writer(force=False)
    written.echo("result", "pca.hush", None)  # it is in a file already
    assert problem_of(written) == "cannot write to stdout: No space left on device"


def test_a_page_is_written_whole_or_not_at_all(folder, monkeypatch):
    place = folder / "page.html"
    write_text("\ud800 page", place)  # a name that is no text
    assert place.read_bytes() == b"\\ud800 page"

    def fail(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError):
        write_text("new", place)
    assert place.read_bytes() == b"\\ud800 page"


def test_a_file_that_was_made_meanwhile_is_kept(folder):
    """Two runs that both found the place free: the second one replaces nothing."""
    write_text("first", folder / "page", force=False)
    with pytest.raises(FileExistsError):
        write_text("second", folder / "page", force=False)
    with pytest.raises(click.ClickException, match=r"cannot write .*page: File exists\."):
        write_result("second", folder / "page", force=False)
    assert (folder / "page").read_text() == "first"
    write_result("third", folder / "page", force=True)
    assert (folder / "page").read_text() == "third" and len(list(folder.glob("*page*"))) == 1


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EMLINK])
def test_where_there_are_no_links_files_are_written_all_the_same(folder, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    write_text("first", folder / "page", force=False)
    with pytest.raises(OSError, match=re.escape(os.strerror(number))):
        write_text("second", folder / "page", force=False)
    assert (folder / "page").read_text() == "first" and [path.name for path in folder.glob(".*")] == []


def test_a_link_to_nowhere_is_there(folder):
    (folder / "link").symlink_to(folder / "nothing")
    with pytest.raises(click.UsageError, match="exists already"):
        check_new("--out", folder / "link", force=False)
