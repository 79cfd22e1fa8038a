"""The command as a user meets it: help, version, one-line errors, exit codes."""

import os
import subprocess
import sys

import click
import pytest
from click.shell_completion import get_completion_class
from click.testing import CliRunner

from hushrank import __version__
from hushrank.cli import main as main_module
from hushrank.cli.main import BAD_INPUT, BUDGET_REFUSED, INTERRUPTED, SUMMARIES
from hushrank.exceptions import BudgetExceeded, PlanBroken
from hushrank.registry import COMMANDS


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "hushrank", *arguments], capture_output=True, text=True, check=False)


def test_help_lists_every_command_and_the_exit_codes():
    result = run("--help")
    assert result.returncode == 0
    shown = " ".join(result.stdout.split())  # long lines are wrapped
    for name, text in SUMMARIES.items():
        assert f"{name} {text}" in shown
    places = [shown.index(f"{name} {text}") for name, text in SUMMARIES.items()]
    assert places == sorted(places) and set(COMMANDS) < set(SUMMARIES)
    assert "Exit codes" in shown and "hushrank trace --help a matrix behind answers" in shown


def test_version():
    assert __version__ in run("--version").stdout


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_has_the_help_that_the_list_promises(name):
    result = CliRunner().invoke(main_module.cli, [name, "--help"])
    assert result.exit_code == 0
    assert result.output.splitlines()[2].strip() == SUMMARIES[name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("plan gram --columns 3 --row-norm -1 --epsilon 1", "row_norm of wishart_lattice must be a finite float > 0"),
        ("plan vector --norm 1 --epsilon 0", "--epsilon must be a finite number > 0; got 0.0."),
        ("plan vector --norm 1 --epsilon 1 --delta 1", "--delta must be a finite number >= 0 and < 1; got 1.0."),
        ("plan vector --norm 1 --epsilon nan", "--epsilon must be a finite number > 0; got nan."),
        ("plan vector --norm 1", "Missing option '--epsilon'. (see hushrank plan vector --help)"),
        ("plan vector --norm x --epsilon 1", "Invalid value for '--norm': 'x' is not a valid float."),
        ("plan gram --columns 0 --row-norm 1 --epsilon 1", "Invalid value for '--columns': 0 is not in the range"),
        ("plan gram --columns 2 --row-norm 1e200 --epsilon 1", "row_norm of wishart_lattice must be a bound whose"),
        ("complete x.csv --items 3 --item-features none.csv", "file of item features must be an existing file ending"),
        ("plan complete --users 9 --items 3 --new-items none.csv", "file of new items must be an existing file ending"),
    ],
)
def test_bad_input_is_one_line_on_stderr(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hushrank", *arguments.split()])
    with pytest.raises(SystemExit) as stop:
        main_module.main()
    printed = capsys.readouterr()
    assert stop.value.code == BAD_INPUT and printed.out == ""
    assert message in printed.err and printed.err.count("\n") == 1


def test_a_process_ends_with_the_code_and_the_line():
    result = run("publish")
    assert (result.returncode, result.stdout) == (BAD_INPUT, "")
    assert result.stderr == f"hushrank: no command 'publish'; there are {', '.join(SUMMARIES)}. (see hushrank --help)\n"


def test_a_refused_budget_has_its_own_exit_code(monkeypatch, capsys):
    def refuse(**_):
        raise BudgetExceeded(2.0, 1.0, "mu^2")

    monkeypatch.setattr(main_module.cli, "main", refuse)
    with pytest.raises(SystemExit) as stop:
        main_module.main()
    assert stop.value.code == BUDGET_REFUSED
    assert capsys.readouterr().err == "hushrank: budget exceeded: asked for mu^2 = 2, left 1.\n"


def test_an_error_after_a_charge_says_what_was_spent(monkeypatch, capsys):
    note = "budget was spent: epsilon = 1 of 'rows'; left: nothing"

    def fail_with(error, cause=None):
        (cause or error).add_note(note)
        (cause or error).add_note("something else")
        error.__cause__ = cause

        def fail(**_):
            raise error

        monkeypatch.setattr(main_module.cli, "main", fail)
        with pytest.raises(SystemExit) as stop:
            main_module.main()
        return stop.value.code, capsys.readouterr().err

    said = f"hushrank: {note}\n"
    assert fail_with(click.Abort(), KeyboardInterrupt()) == (INTERRUPTED, f"hushrank: stopped\n{said}")
    assert fail_with(PlanBroken("no")) == (BAD_INPUT, f"hushrank: no\n{said}")
    assert fail_with(click.ClickException("no"), OSError()) == (BAD_INPUT, f"hushrank: no\n{said}")


def modules_after(*lines):
    """Names of all modules that one process has imported after these command lines."""
    code = (
        "import sys; from hushrank.cli.main import cli\n"
        "for line in sys.argv[1:]: cli.main(line.split(), standalone_mode=False)\n"
        "print('imported', *sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code, *lines], capture_output=True, text=True, check=True)
    return set(result.stdout.splitlines()[-1].split()[1:])


LEARNING = {"numba", "llvmlite", "sklearn", "pyarrow", "sqlalchemy", "hushrank.engine.local"}
PLANS = [
    "plan --help",
    "plan gram --columns 64 --row-norm 1 --epsilon 1",
    "plan pca --rows 10000 --columns 64 --components 5 --row-norm 1 --epsilon 1",
    "plan covariance --rows 10000 --columns 64 --row-norm 1 --center private --epsilon 1 --delta 1e-6",
    "plan lowrank --rows 1000 --columns 6 --rank 2 --mechanism exponential --row-norm 1 --epsilon 1",
    "plan complete --users 6040 --items 3706 --rank 8 --rating-range 1 5 --epsilon 1 --delta 1e-6",
    "plan personalize --users 20000 --columns 50 --components 2 --epsilon 1 --delta 1e-6",
    "plan personalize --users 20000 --columns 50 --components 2 --method exponential --epsilon 1 --delta 0",
    "plan trace --records 20000 --shape 20 20 --rank 2 --epsilon 1 --delta 1e-5",
    "plan trace --records 500 --shape 20 20 --rank 2 --design entry --privacy label --epsilon 1 --delta 1e-5",
    "plan stream --updates 100000 --shape 1000 800 --rank 5 --epsilon 1 --delta 1e-6",
    "plan trace --records 20000 --shape 20 20 --rank 2 --epsilon 1 --delta 1e-5",
    "plan trace --records 20000 --shape 50 30 --design entry --privacy label --rank 2 --epsilon 1 --delta 1e-5",
    "plan stream --updates 10000 --shape 1000 800 --rank 5 --unit frobenius --epsilon 1 --delta 1e-6",
]


def test_help_imports_the_registry_and_nothing_that_works():
    imported = modules_after("--help")
    own = {"hushrank", "hushrank.registry", "hushrank.exceptions", "hushrank.cli", "hushrank.cli.main"}
    assert {name for name in imported if name.split(".")[0] == "hushrank"} == own | {
        "hushrank.cli.lazy",
        "hushrank.cli.groups",
    }
    assert imported & {*LEARNING, "numpy", "scipy", "rich", "cryptography"} == set()


def test_plans_import_nothing_that_learns():
    assert {line.split()[1] for line in PLANS} > set(COMMANDS)
    assert modules_after(*PLANS) & {*LEARNING, "rich"} == set()


def test_help_of_commands_imports_nothing_that_learns():
    assert (
        modules_after(*(f"{name} --help" for name in (*COMMANDS, "recommend", "evaluate", "predict"))) & LEARNING
        == set()
    )


def test_the_ledger_needs_nothing_that_learns():
    assert modules_after("ledger --help") & LEARNING == {"sqlalchemy"}


def completed(shell, **variables):
    """What a process prints for a shell that asks, and the modules it imported for that."""
    code = (
        "import sys, atexit; atexit.register(lambda: print('imported', *sys.modules, file=sys.stderr))\n"
        "from hushrank.cli.main import main; main()"
    )
    asked = {"_HUSHRANK_COMPLETE": shell, **variables}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **asked}
    )
    return result.stdout, set(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("hushrank com", ["plain,complete"]),
        ("hushrank plan qu", ["plain,quantile"]),
        ("hushrank complete --rating-r", ["plain,--rating-range"]),
        ("hushrank complete rat", ["file,rat"]),
        ("hushrank pca rows.csv --column-bounds li", ["file,li"]),
    ],
)
def test_a_shell_completes_words_and_imports_nothing_that_learns(words, found):
    shown, imported = completed("bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1))
    assert shown.splitlines() == found and imported & LEARNING == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell, monkeypatch):
    if shell == "bash":  # click asks bash for its version, which a machine may not have
        monkeypatch.setattr("click.shell_completion.BashComplete._check_version", lambda *_: None)
    made = get_completion_class(shell)(main_module.cli, {}, "hushrank", "_HUSHRANK_COMPLETE").source()
    assert f"_HUSHRANK_COMPLETE={shell}_complete" in made and "hushrank" in made


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(5, "Input/output error", "rows.csv"), "Input/output error (rows.csv)"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_a_broken_disk_or_too_little_memory_is_one_line_too(error, message, monkeypatch, capsys):
    error.add_note("budget was spent: epsilon = 1")

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(main_module.cli, "main", fail)
    with pytest.raises(SystemExit) as stop:
        main_module.main()
    assert stop.value.code == BAD_INPUT
    assert capsys.readouterr().err == f"hushrank: {message}\nhushrank: budget was spent: epsilon = 1\n"
