"""Pages name what exists: paths of files, and the names of functions, classes and tests that carry a proof."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("examples/*.md")])
SOURCES = [path for folder in ("src", "tests", "benchmarks", "examples") for path in ROOT.glob(f"{folder}/**/*.py")]
WORDS = {word for path in SOURCES for word in (path.stem, *re.findall(r"\w+", path.read_text()))}
ELSEWHERE = {"PGPASSWORD", "NUMBA_CACHE_DIR", "Security"}  # names of other programs

PATH = re.compile(r"\b(?:tests|src|docs|benchmarks|examples)/[\w/]+\.(?:py|md|json|svg|txt)\b")
NAME = re.compile(r"`([A-Za-z_][\w.]*[A-Za-z0-9_])(?:\(.*?\))?`")


def missing(text):
    """Paths and names in the prose of a page that are nowhere in the project."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    shown = {word for block in re.findall(r"```.*?```", text, flags=re.DOTALL) for word in re.findall(r"\w+", block)}
    paths = [path for path in PATH.findall(prose) if not (ROOT / path).exists()]
    names = [name for name in NAME.findall(prose) if not set(name.split(".")) <= WORDS | ELSEWHERE | shown]
    return paths + names


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_a_page_names_what_exists(page):
    assert missing(page.read_text()) == []


def test_what_does_not_exist_is_noticed():
    name = "_".join(["release", "everything"])  # a word that stands nowhere else
    text = f"see `tests/nowhere/test_nothing.py`, `{name}`, `NoiseSource.begin(event)` and `Shown`\n```\nShown\n```"
    assert missing(text) == ["tests/nowhere/test_nothing.py", name]
