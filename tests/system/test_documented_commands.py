"""Every command on a page is run, in the order of the page and in one folder, as a reader would, and what the page
shows is compared with what is printed. What is not run stands in one short list, with the reason."""

import re
import shutil
import tomllib

import click
import pytest

from command_support import Reader
from hushrank.cli.main import cli
from page_support import ROOT, Command, Unknown, in_prose, pages, take_apart
from reader_support import COMMON, OF_PAGE, PRODUCER, clone, program

# How a command that is not run begins, and why.
NOT_RUN = {
    "pip install": "needs a package index; that its extras exist is tested below",
    "make ": "takes long or needs a package index; that its target exists is tested below",
    "PYTHONPATH=tests .venv/bin/python tests/system/test_released_bits.py": "makes recorded bits anew; takes long",
}
# What stands in prose, begins like a command and is none.
NO_COMMAND = {"hushrank checkpoint": "how files and keys begin"}
NEEDS_SERVER = "postgresql://ledger@db.example.org/privacy"
PLACEHOLDER = re.compile(r"\.\.\.|<\w+>|\b[A-Z]+\b")  # a command with such a word in it says how one looks


PAGES = {page: take_apart(page, text) for page, text in pages().items()}
COMMANDS = [step for steps in PAGES.values() for step in steps if isinstance(step, Command)]
PROSE = [command for page, text in pages().items() for command in in_prose(page, text)]
COMPLETION = re.compile(r"_HUSHRANK_COMPLETE=(\w+)_source hushrank")


def begins(command, starts):
    """Whether a command begins in one of these ways."""
    return command.text.startswith(tuple(starts))


def dead(starts, commands):
    """Those with which no command begins."""
    return [start for start in starts if not any(begins(command, [start]) for command in commands)]


def reader(folder, monkeypatch, page, **others):
    """One who has the files of a page, and a program that is called a producer."""
    program(folder / "bin" / "producer", PRODUCER)
    return Reader(folder, monkeypatch, {**COMMON, **OF_PAGE.get(page, {})}, **others)


def run_on_this_machine(page):
    """Commands of a page that need no server and are not excepted."""
    return [c for c in COMMANDS if c.page == page and not begins(c, NOT_RUN) and NEEDS_SERVER not in c.text]


@pytest.mark.parametrize("page", PAGES)
def test_all_blocks_of_a_page_are_of_a_known_kind(page):
    assert [step for step in PAGES[page] if isinstance(step, Unknown)] == []


@pytest.mark.parametrize("page", [page for page in PAGES if run_on_this_machine(page)])
def test_the_commands_of_a_page_print_what_it_shows(page, tmp_path, monkeypatch):
    somebody = reader(tmp_path, monkeypatch, page)
    if page == "CONTRIBUTING.md":
        if shutil.which("git") is None:
            pytest.skip("needs git")
        clone(somebody.folder)
    complaints = [somebody.follow(command) for command in run_on_this_machine(page)]
    assert not any(complaints), "\n\n".join(filter(None, complaints))


def test_what_a_page_shows_is_printed_in_a_pipeline_too(tmp_path, monkeypatch):
    for name in ("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "FORCE_COLOR"):
        monkeypatch.setenv(name, "1")
    somebody = reader(tmp_path, monkeypatch, "CONTRIBUTING.md")
    code, printed = somebody.type("env")
    names = {line.split("=")[0] for line in printed.splitlines()}
    assert code == 0 and "PATH" in names and not names & {"CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "FORCE_COLOR"}


@pytest.mark.parametrize("command", [c for c in COMMANDS if NEEDS_SERVER in c.text], ids=lambda c: c.page)
def test_commands_that_need_a_server_work_on_one(command, postgres_url, tmp_path, monkeypatch):
    assert not reader(tmp_path, monkeypatch, command.page, replaced={NEEDS_SERVER: f"'{postgres_url}'"}).follow(command)


def test_what_is_excepted_stands_on_a_page():
    assert dead(NOT_RUN, COMMANDS) == [] and dead(NO_COMMAND, PROSE) == []


@pytest.mark.parametrize("target", sorted({c.text.split()[1] for c in COMMANDS + PROSE if begins(c, ["make "])}))
def test_a_target_of_make_exists_and_says_what_it_does(target):
    assert re.search(rf"^{target}:.*## \w", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_what_is_installed_is_this_project_with_extras_that_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    lines = [line.strip() for text in pages().values() for line in re.findall(r"pip install ([^`\n#]+)", text)]
    assert lines
    names = rf"\[({'|'.join(extras)})\]"
    for line in lines:  # it is on no package index, so that its bare name would not do
        assert re.fullmatch(rf"""(['"]?)(\.|\.{names}|hushrank{names})\1""", line), line


@pytest.mark.parametrize("shell", sorted({shell for c in COMMANDS + PROSE for shell in COMPLETION.findall(c.text)}))
def test_a_shell_is_told_how_to_complete(shell, tmp_path, monkeypatch):
    somebody = reader(tmp_path, monkeypatch, "README.md")
    code, printed = somebody.type(f"_HUSHRANK_COMPLETE={shell}_source hushrank")
    assert code == 0 and f"_HUSHRANK_COMPLETE={shell}_complete" in printed
    if shell == "bash":
        code, printed = somebody.type('eval "$(_HUSHRANK_COMPLETE=bash_source hushrank)" && complete -p hushrank')
        assert code == 0 and printed.strip().endswith("hushrank")


def meant(words):
    """The command that words begin with; one of its group where they leave open which."""
    command, context = cli, click.Context(cli)
    for word in words[1:]:
        if not isinstance(command, click.Group) or word.startswith("-") or PLACEHOLDER.search(word):
            break
        found = command.get_command(context, word)
        if found is None:
            return None
        command = found
    return command


def options(command):
    """Names of all options of a command, or of all commands of a group."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        return set().union(*(options(command.get_command(context, name)) for name in command.list_commands(context)))
    return {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"--help"}


def unknown(typed):
    """Commands and options of a line in prose that do not exist."""
    words = typed[re.search(r"\bhushrank [a-z]", typed).start() :].split(" | ")[0].split()
    command = meant(words)
    if command is None:
        return words[1:2]
    return [word for word in words if word.startswith("--") and word not in options(command)]


OURS = [c for c in PROSE if not begins(c, [*NO_COMMAND, "make "]) and not COMPLETION.search(c.text)]


@pytest.mark.parametrize("page", sorted({command.page for command in OURS}))
def test_commands_in_prose_exist_and_so_do_their_options(page):
    found = {str(c): unknown(c.text) for c in OURS if c.page == page}
    assert {line: names for line, names in found.items() if names} == {}


WHOLE = [c for c in OURS if " --" in c.text and not PLACEHOLDER.search(c.text)]


@pytest.mark.parametrize("command", WHOLE, ids=lambda c: c.page)
def test_whole_commands_in_prose_run(command, tmp_path, monkeypatch):
    assert not reader(tmp_path, monkeypatch, command.page).follow(command)


def test_a_dead_exception_is_noticed():
    assert dead({"make coffee": "needs water"}, COMMANDS) == ["make coffee"]


PLANTED = {  # a page, and the complaint of its reader
    "a command that does not exist": ("$ hushrank planned pca", "no command 'planned'"),
    "an option that does not exist": ("$ hushrank plan vector --sise 3 --epsilon 1", "--sise"),
    "a program that does not exist": ("$ hushrunk --help", "not found"),
    "a file that nobody has": ("$ hushrank inspect nothing.csv", "nothing.csv"),
    "a second command that finds the file of the first": (
        "$ hushrank ledger create a.db x --epsilon 1\n$ hushrank ledger create a.db x --epsilon 1",
        "ended with 2",
    ),
    "a word that is not printed": (
        "$ hushrank pcaa people.csv\nhushrank: no command 'pcaa'; did you think of 'pca'? (see hushrank --help)",
        """after "hushrank: no command 'pcaa'; did you", "think""",
    ),
    "an error that does not come": ("$ hushrank plan --help\nhushrank: no help", "ended with 0"),
    "an error that the page hides": ("$ hushrank ledger show none.db\n...", "ended with 2"),
    "another number": (
        "$ hushrank plan complete --users 6040 --items 3706 --rating-range 1 5 --rank 8 --epsilon 1 --delta 1e-6 \\\n"
        "           --cap-epsilon 3 --cap-delta 1e-6\n...\n8 fits like this ...",
        "'8 fits like this' is not in",
    ),
    "a number of a ledger": (
        "$ hushrank ledger create a.db x --epsilon 1\n$ hushrank ledger show a.db\n...\nx: at most epsilon = 2 ...",
        "'x: at most epsilon = 2' is not in",
    ),
    "a line that is printed and not shown": (
        "$ printf 'one\\ntwo\\n'\none",
        "after 'one', '' is shown, 'two' is printed",
    ),
    "half of a pipe that fails": ("$ hushrank inspect nothing.csv | cat", "ended with 2"),
    "a folder that is not there": ("$ mkdir a && cd a\n$ touch b\n$ ls\nb\n$ cd ../c", "ended with 1"),
    "a key that completes another word": ("$ hushrank com<Tab>\nhushrank compare", "'compare' is shown"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_wrong_on_a_page_is_noticed(name, tmp_path, monkeypatch):
    text, complaint = PLANTED[name]
    commands = take_apart("planted.md", f"```text\n{text}\n```\n")
    somebody = reader(tmp_path, monkeypatch, "planted.md")
    *before, last = [somebody.follow(command) for command in commands]
    assert complaint in last and not any(before)


def test_a_command_in_prose_that_does_not_exist_is_noticed():
    assert unknown("hushrank planned pca") == ["planned"] and unknown("hushrank plan pcaa --epsilon 1") == ["plan"]
    assert unknown("zcat a.gz | hushrank stream - ... --shapes 3 2") == ["--shapes"]
    assert unknown("hushrank plan ... --ledger") == unknown("hushrank check COMMAND ... --json") == []
