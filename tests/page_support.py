"""Pages taken apart: every fenced block of them becomes commands with what they print, code, or neither."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^ *```[ ]*$", re.DOTALL | re.MULTILINE)
PROMPT = "$ "
SHOWN = {"text", "console", ""}  # commands behind a prompt and what they print, or neither
TYPED = {"sh", "bash"}  # commands alone
# What a line without a prompt must not begin with: it would be a command that nobody runs.
PROGRAMS = {"hushrank", "make", "pip", "python", "git", "cat", "docker", "export", "dask", "psql", "curl", "sqlite3"}
OTHER = re.compile(r"(?!\{code)(?!\{doctest)(?!\{literal)\{|json$|html$|csv$")  # nothing that anybody types


@dataclass(frozen=True)
class Command:
    """What a reader types on one page, and what the page says is printed then ("" if it says nothing)."""

    page: str
    line: int
    text: str
    shown: str = ""

    def __str__(self):
        return f"{self.page}:{self.line}: {PROMPT}{self.text}"


@dataclass(frozen=True)
class Code:
    """A block of Python that is no doctest."""

    page: str
    line: int
    text: str


@dataclass(frozen=True)
class Unknown:
    """What nobody would run, and why it should not stand there."""

    page: str
    line: int
    why: str


def pages():
    """All pages of the project that readers type from, by their path in it."""
    found = {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")} - {ROOT / "CHANGELOG.md"}
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(found)}


def take_apart(page, text):
    """Commands and code of a page, in their order, and what is neither."""
    found = []
    if other := re.search(r"^ *~~~", text, re.MULTILINE):
        found.append(Unknown(page, text[: other.start()].count("\n") + 1, "a fence of ~~~"))
    for match in FENCE.finditer(text):
        kind, body = match[2].strip().split(" ")[0], match[3].replace(f"\n{match[1]}", "\n").removeprefix(match[1])
        line = text[: match.start()].count("\n") + 2
        if kind in TYPED:
            found += typed(page, line, body)
        elif kind in SHOWN and ">>> " not in body:
            found += shown(page, line, body)
        elif kind in ("python", "py") and ">>> " not in body:
            found.append(Code(page, line, body))
        elif not OTHER.match(kind) and ">>> " not in body:
            found.append(Unknown(page, line, f"a block of the kind {kind!r}"))
    return found


def typed(page, line, body):
    """Commands of a block that has nothing else: lines, with those that end in a backslash joined to the next."""
    lines = list(enumerate(body.splitlines(), line))
    while lines:
        number, text = lines.pop(0)
        while text.endswith("\\"):
            text = f"{text[:-1].rstrip()} {lines.pop(0)[1].strip()}"
        text = text.strip().removeprefix(PROMPT)
        if text and not text.startswith("#"):
            yield Command(page, number, text)


def shown(page, line, body):
    """Commands behind a prompt, each with the lines up to the next; none if there is no prompt."""
    lines = list(enumerate(body.splitlines(), line))
    outside = [text for _, text in lines[: next((i for i, (_, t) in enumerate(lines) if t.startswith(PROMPT)), None)]]
    unmarked = [text for text in outside if text.split(" ")[0] in PROGRAMS]
    if unmarked:
        return [Unknown(page, line, f"{unmarked[0]!r} is a command without a prompt")]
    commands = []
    while lines:
        number, text = lines.pop(0)
        if text.startswith(PROMPT):
            while text.endswith("\\"):
                text = f"{text[:-1].rstrip()} {lines.pop(0)[1].strip()}"
            commands.append(Command(page, number, text.removeprefix(PROMPT), ""))
        elif commands:
            last = commands[-1]
            commands[-1] = Command(page, last.line, last.text, f"{last.shown}{text}\n")
    return [Command(c.page, c.line, c.text, c.shown.strip("\n")) for c in commands]


def in_prose(page, text):
    """Commands of hushrank and of make, whole or in part, between single backticks outside of all blocks."""
    prose = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in re.finditer(r"(?<!`)`([^`]+)`(?!`)", prose):
        typed = " ".join(match[1].replace("\\|", "|").split())
        if re.search(r"(?:^|\| )hushrank [a-z]|^make [a-z]|_HUSHRANK_COMPLETE=", typed):
            yield Command(page, prose[: match.start()].count("\n") + 1, typed)
