"""The account of a command: its options, its delta, and what is said when."""

import warnings

import click
import pytest

from hushrank.cli import accounts, stream
from hushrank.exceptions import LedgerError
from hushrank.privacy.charging import SPENT
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Unit
from hushrank.privacy.ledger import Ledger
from hushrank.registry import COMMANDS, planner


@pytest.fixture
def account(tmp_path):
    return Ledger(tmp_path / "budget.db").create("rows", epsilon=3, delta=1e-6)


def test_an_account_is_opened_by_two_options(account, tmp_path):
    address = str(tmp_path / "budget.db")
    assert accounts.open_account(None, None, None) is None
    assert accounts.open_account(address, "rows", None).charge(Gaussian(9.0)).note == ""
    assert accounts.open_account(address, "rows", "why").charge(Gaussian(9.0)).note == "why"
    with pytest.raises(LedgerError, match="no data set"):
        accounts.open_account(address, "others", None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("x", None, None), "go together"),
        ((None, "x", None), "go together"),
        ((None, None, "x"), "--note is kept in a ledger"),
    ],
)
def test_what_does_not_go_together(given, message):
    with pytest.raises(click.UsageError, match=message):
        accounts.open_account(*given)


@pytest.mark.parametrize(
    ("words", "has_account", "expected"),
    [([], True, 1e-6), (["--delta", "0"], True, 0.0), (["--delta", "1e-9"], False, 1e-9), ([], False, None)],
)
def test_where_delta_comes_from(account, words, has_account, expected):
    @click.command()
    @click.option("--delta", type=float)
    def command(delta):
        return accounts.choose_delta(delta, account if has_account else None)

    if expected is None:
        with pytest.raises(click.MissingParameter) as missing:
            command.main(words, standalone_mode=False)
        assert missing.value.format_message() == "Missing option '--delta'."
    else:
        assert command.main(words, standalone_mode=False) == expected
    assert accounts.choose_delta(0.5, None) == 0.5  # outside of commands


def test_one_line_about_the_budget(account, capsys):
    accounts.tell_account(None, as_json=False, quiet=False)
    account.charge(Gaussian(9.0))
    for as_json, quiet in ((False, False), (False, True), (True, False), (True, True)):
        accounts.tell_account(account, as_json=as_json, quiet=quiet)
        out, err = capsys.readouterr()
        said = f"budget spent: {account.say_spent()}\n"
        assert (out, err) == (("" if as_json else said), f"hushrank: {said}" if as_json and not quiet else "")


def test_charges_of_one_run_are_told_together(account):
    assert not account.has_charged
    for _ in range(4):
        account.charge(Gaussian(18.0))
    assert account.has_charged and account.say_spent().startswith("epsilon = 0.445 at delta = 1e-6 of 'rows'; left: ")


def test_an_error_says_once_what_was_spent(account):
    for body in (None, account):
        with pytest.raises(ValueError) as raised, accounts.saying_spent(body):
            raise ValueError("x")
        assert accounts.spent_notes(raised.value) == []
    account.charge(Gaussian(9.0))
    with pytest.raises(ValueError) as raised, accounts.saying_spent(account), accounts.saying_spent(account):
        raise ValueError("x")
    (note,) = raised.value.__notes__
    assert note.startswith(f"{SPENT}epsilon = 0.445")
    try:
        raise KeyError("later") from raised.value
    except KeyError as later:
        assert accounts.spent_notes(later) == [note]


def test_warnings_are_lines_at_once(capsys):
    with accounts.telling_warnings(quiet=False):
        warnings.warn("first", UserWarning, stacklevel=1)
        assert capsys.readouterr().err == "hushrank: first\n"
    with accounts.telling_warnings(quiet=True):
        warnings.warn("second", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("scheme", ["", "sqlite:///"])
def test_files_of_a_ledger_are_known_however_it_is_addressed(account, tmp_path, scheme):
    assert tmp_path / "budget.db" in accounts.ledger_files(f"{scheme}{tmp_path / 'budget.db'}")
    assert accounts.ledger_files(None) == accounts.ledger_files("postgresql://me@here/budgets") == []


def test_commands_of_units_are_what_their_plans_say():
    assert list(accounts.COMMANDS_OF_UNITS) == [unit.value for unit in Unit]
    listed = {
        (unit, name.split()[0]) for unit, names in accounts.COMMANDS_OF_UNITS.items() for name in names.split(", ")
    }
    planned = {("user", "evaluate")}
    assert planner("PrivateEvaluation")._unit is Unit.USER
    for command, name in COMMANDS.items():
        release = planner(name)
        chosen = release.parameter_table().get({"trace": "privacy", "stream": "unit"}.get(command))
        units = [release._unit.value] if chosen is None else chosen.words
        planned |= {(unit, command) for unit in units}
    assert listed == planned


@pytest.mark.parametrize("unit", ["row", "user", "entry", "rank1", "frobenius"])
def test_the_stream_that_a_unit_promises_can_be_charged(unit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "updates.csv").write_text("user,row,column,delta\na,0,1,1\nb,2,1,-1\n")
    [promised] = [name for name in accounts.COMMANDS_OF_UNITS[unit].split(", ") if name.startswith("stream")]
    with Ledger("budget.db") as ledger:
        account = ledger.create("updates", epsilon=3, delta=1e-6, unit=unit, neighbors="add_remove")
        line = f"{promised} updates.csv --shape 9 8 --rank 1 --epsilon 1 --out found --quiet"
        words = f"{line} --ledger budget.db --dataset updates".split()[1:]
        stream.command.main(words, standalone_mode=False)
        assert account.last().number == 1
