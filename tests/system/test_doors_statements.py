"""Statements and ledgers by a stranger's hand, on the command line: one line on stderr, and nothing written."""

import sqlite3
import sys

import pytest

from hushrank.cli import main as main_module
from hushrank.cli.main import BAD_INPUT
from statement_support import fill_ledger, small


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small("PrivatePCA").save("pca.hush")
    fill_ledger("budget.db").close()
    return tmp_path


@pytest.fixture
def type_in(monkeypatch):
    """What `hushrank statement` ends with."""

    def run(line):
        monkeypatch.setattr(sys, "argv", ["hushrank", "statement", *line.split()])
        with pytest.raises(SystemExit) as stop:
            main_module.main()
        return stop.value.code

    return run


@pytest.fixture
def refused(type_in, capsys):
    """The one line on stderr."""

    def run(line):
        capsys.readouterr()
        assert type_in(line) == BAD_INPUT
        printed = capsys.readouterr()
        assert printed.out == "" and printed.err.count("\n") == 1 and "Traceback" not in printed.err
        return printed.err

    return run


def test_names_of_a_strangers_ledger_steer_no_terminal(folder, refused):
    hostile = "x\x1b[31mRED\x1b]0;t\x07"
    with sqlite3.connect("budget.db") as ledger:
        ledger.execute("INSERT INTO hushrank_dataset SELECT ?, terms FROM hushrank_dataset LIMIT 1", (hostile,))
    said = refused("budget.db")
    assert "\x1b" not in said and "\x07" not in said and "x\\x1b[31mRED" in said


def test_an_event_as_deep_as_a_stranger_likes_is_one_line(folder, refused, type_in):
    type_in("pca.hush")
    text = (folder / "statement.yaml").read_text()
    event = '{"type":"Pure","epsilon":1.0,"bounded_range":false}'
    for depth in (70, 210, 330, 2000):
        deep = '{"events":[' * depth + event + '],"type":"Composed"}' * depth
        begin, end = text.index('"event":'), text.index(',"neighbors"', text.index('"event":'))
        (folder / "deep.yaml").write_text(text[:begin] + '"event":' + deep + text[end:])
        for line in ("deep.yaml", "deep.yaml --json", "deep.yaml --html deep.html"):
            assert "deep.yaml is no privacy statement" in refused(line)
    assert not (folder / "deep.html").exists()
