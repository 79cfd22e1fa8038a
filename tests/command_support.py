"""A reader in a folder: types the commands of a page in their order, and sees what they print.

`hushrank` alone runs here, in this process; what needs a shell (pipes, variables, other programs) runs in one, whose
folder and variables the next command finds again.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from hushrank.cli.main import main
from shown_support import NOISY, differences

BIN = Path(sys.executable).parent  # with `hushrank` and `python` of the environment that runs the tests
SHELL = set("|<>&;$`*(){}~")
COMPLETION = "<Tab>"
# By these a program sees that it runs in a pipeline or in a test, or is told how to print; a reader has none of them.
NOT_A_READERS = re.compile(r"CI|BUILD_NUMBER|GITHUB_ACTIONS|PYTEST_\w+|PY_COLORS|(NO|FORCE)_COLOR|CLICOLOR\w*")
REFUSED = ("hushrank: ", "problem:", "FAILED ")  # begin what a command prints that does not end with 0


def is_noisy(text):
    """Whether a command prints numbers of a release."""
    found = re.search(r"\bhushrank (\w+)", text)
    return found is not None and found[1] in NOISY and "--check" not in text.split()


class Reader:
    """One person in one folder; `monkeypatch` is that of the test, `replaced` are addresses that only others have."""

    def __init__(self, folder, monkeypatch, files=None, replaced=None):
        self.home, self.folder = folder, folder / "hushrank"
        self._monkeypatch, self._files, self._replaced = monkeypatch, files or {}, replaced or {}
        self.folder.mkdir()
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr("logging.basicConfig", lambda **_: None)  # handlers would outlive the test

    def follow(self, command):
        """Type a command and compare; the complaint of a reader, or ""."""
        self._make_files(command.text)
        text = command.text
        for theirs, ours in self._replaced.items():
            text = text.replace(theirs, ours)
        code, printed = self.type(text)
        refused = any(line.startswith(REFUSED) for line in command.shown.splitlines())
        if (code != 0) != refused:
            return f"{command}\nended with {code} and printed\n{printed}"
        wrong = differences(command.shown, printed, noisy=is_noisy(text)) if command.shown else ""
        return f"{command}\n{wrong}; all of it:\n{printed}" if wrong else ""

    def _make_files(self, text):
        """The files that this reader has and the command names."""
        words = shlex.split(text, comments=True)
        for name, make in self._files.items():
            if name in words and words[words.index(name) - 1] != "--out" and not (self.folder / name).exists():
                make(self.folder / name)

    def type(self, text):
        """Exit code of a command, and what it prints on both streams."""
        if text.endswith(COMPLETION):
            return self._complete(text.removesuffix(COMPLETION))
        words = shlex.split(text, comments=True)
        code = text[: text.find(" # ")] if " # " in text else text
        return self._here(words) if words[0] == "hushrank" and not SHELL & set(code) else self._in_shell(text)

    def _here(self, words):
        out = io.StringIO()
        with self._monkeypatch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", words)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                try:
                    main()
                except SystemExit as stop:
                    return int(stop.code or 0), out.getvalue()
        return 0, out.getvalue()

    def _in_shell(self, text):
        left, place = self.home / "variables", self.home / "place"
        before = f'[ ! -e "{left}" ] || . "{left}"\n'
        after = f'\ncode=$?; pwd > "{place}"; export -p > "{left}"; exit $code'
        paths = os.pathsep.join([str(self.home / "bin"), str(BIN), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", before + text + after],
            cwd=self.folder,
            env={
                **{name: x for name, x in os.environ.items() if not NOT_A_READERS.fullmatch(name)},
                "PATH": paths,
                "COLUMNS": "80",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if place.exists():
            self.folder = Path(place.read_text().strip())
        return done.returncode, done.stdout

    def _complete(self, typed):
        """The line that the Tab key makes of this one, where there is only one answer."""
        asked = f"_HUSHRANK_COMPLETE=bash_complete COMP_WORDS='{typed}' COMP_CWORD={len(typed.split()) - 1}"
        code, printed = self._in_shell(f"{asked} hushrank")
        return code, f"{typed.rsplit(' ', 1)[0]} {printed.removeprefix('plain,').strip()}"
