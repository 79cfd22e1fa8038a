"""A person at a terminal: types commands, reads what comes back, and looks at the budget."""

import sys
from dataclasses import dataclass

import pytest

from hushrank.cli.main import main
from hushrank.privacy.ledger import Ledger


@dataclass(frozen=True)
class Seen:
    """What a command left on the screen; lines are joined, because terminals wrap them."""

    code: int
    out: str
    err: str


class Traveler:
    """One person in one folder; `monkeypatch` and `capsys` are those of the test."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr("logging.basicConfig", lambda **_: None)  # handlers would outlive the test

    def run(self, line, code=0):
        """Type a command; it must end with `code`."""
        self._monkeypatch.setattr(sys, "argv", ["hushrank", *line.split()])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = self._capsys.readouterr()
        seen = Seen(int(stop.value.code or 0), " ".join(out.split()), " ".join(err.split()))
        assert seen.code == code, f"hushrank {line}\nended with {seen.code}\n{out}\n{err}"
        return seen

    def refused(self, line, *messages, code=2):
        """Type a command that must be refused in one line with these words, and must leave the budgets as they were."""
        before = self.charges()
        seen = self.run(line, code)
        assert not seen.out or "--check" in line, seen.out
        for message in messages:
            assert message in seen.err, f"{message!r} is not in {seen.err!r}"
        assert self.charges() == before
        return seen

    def charges(self):
        """Number of charges by data set, over all ledgers of the folder."""
        found = {}
        for path in self.folder.glob("*.db"):
            with Ledger(path) as ledger:
                found |= {(path.name, name): ledger[name].last().number for name in ledger.names()}
        return found

    def write(self, name, text):
        """A file that somebody has."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return name
