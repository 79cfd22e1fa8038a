"""The command as a user meets it: help, version, one-line errors, exit codes."""

import subprocess
import sys

import pytest

from hushrank import __version__
from hushrank.cli import main as main_module
from hushrank.cli.main import BAD_INPUT, BUDGET_REFUSED, COMMANDS
from hushrank.exceptions import BudgetExceeded


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "hushrank", *arguments], capture_output=True, text=True, check=False)


def test_help_lists_every_command_and_the_exit_codes():
    result = run("--help")
    assert result.returncode == 0
    shown = " ".join(result.stdout.split())  # long lines are wrapped
    for name, (text, _) in COMMANDS.items():
        assert f"{name} {text}" in shown
    assert "Exit codes" in shown


def test_version():
    assert __version__ in run("--version").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_help_that_the_list_promises(name):
    result = run(name, "--help")
    assert result.returncode == 0
    assert COMMANDS[name][0] in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("plan gram --columns 3 --row-norm -1 --epsilon 1", "row_norm of wishart_lattice must be a finite float > 0"),
        ("plan vector --norm 1 --epsilon 0", "epsilon of Budget must be a finite float > 0; got 0.0."),
        ("plan vector --norm 1 --epsilon 1 --delta 1", "delta of Budget must be a finite float >= 0 and < 1; got 1.0."),
        ("plan vector --norm 1 --epsilon nan", "epsilon of Budget must be a finite float > 0; got nan."),
        ("plan vector --norm 1", "Missing option '--epsilon'. (see hushrank plan vector --help)"),
        ("plan vector --norm x --epsilon 1", "Invalid value for '--norm': 'x' is not a valid float."),
        ("plan gram --columns 0 --row-norm 1 --epsilon 1", "Invalid value for '--columns': 0 is not in the range"),
        ("plan gram --columns 2 --row-norm 1e200 --epsilon 1", "row_norm of wishart_lattice must be a bound whose"),
        ("publish", "No such command 'publish'."),
    ],
)
def test_bad_input_is_one_line_on_stderr(arguments, message):
    result = run(*arguments.split())
    assert result.returncode == BAD_INPUT
    assert result.stdout == ""
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_a_refused_budget_has_its_own_exit_code(monkeypatch, capsys):
    def refuse(**_):
        raise BudgetExceeded(2.0, 1.0, "mu^2")

    monkeypatch.setattr(main_module.cli, "main", refuse)
    with pytest.raises(SystemExit) as stop:
        main_module.main()
    assert stop.value.code == BUDGET_REFUSED
    assert capsys.readouterr().err == "hushrank: budget exceeded: asked for mu^2 = 2, left 1.\n"


def test_help_does_not_wait_for_heavy_imports():
    code = "import hushrank.cli.main, hushrank.cli.ledger, sys; sys.exit(bool({'numba', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
