"""`hushrank ledger`: set up, show, history and verify, for people and for machines."""

import json
import sqlite3
import subprocess
import sys

import pytest
from click.testing import CliRunner

from hushrank.cli.accounts import COMMANDS_OF_UNITS
from hushrank.cli.ledger import command
from hushrank.exceptions import InvalidParameter, LedgerError
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import Ledger


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "budget.db")


@pytest.fixture
def ledger(path):
    """Two data sets, one of each currency, with charges."""
    with Ledger(path) as ledger:
        pure = ledger.create("[red]patients", epsilon=1, neighbors="add_remove", unit="user")
        pure.charge(Pure(0.25), key="fit-1", note="[bold]pca")
        pure.charge(Pure(0.5))
        ledger.create("users", epsilon=3, delta=1e-6).charge(Gaussian(10.0))
        yield ledger


def run(*arguments):
    result = CliRunner().invoke(command, arguments, env={"COLUMNS": "80"})
    if result.exception is not None:
        raise result.exception
    return result.stdout


def cells(output):
    """Cells of the rows of a table, without its head; those of several lines are joined."""
    rows = []
    for line in (line for line in output.splitlines() if "│" in line):
        found = [cell.strip() for cell in line.split("│")[1:-1]]
        if found[0]:
            rows.append(found)
        else:
            rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], found, strict=True)]
    return rows


def test_create(path):
    output = run("create", path, "users", "--epsilon", "3", "--delta", "1e-6", "--neighbors", "add_remove")
    account = Ledger(path)["users"]
    assert account.budget == Budget(3.0, 1e-6, "add_remove", "row")
    lines = output.splitlines()
    assert lines[0] == "created data set 'users': epsilon = 3 at delta = 1e-6"
    assert lines[1] == f"  unit row, neighbors add_remove; for {COMMANDS_OF_UNITS['row']}"
    assert f"head {account.verify()}" in lines and lines[-1] == f"  hushrank ledger verify {path} users --head HEAD"
    described = json.loads(run("create", path, "rows", "--epsilon", "1", "--unit", "entry", "--json"))
    assert described["rows"]["unit"] == "entry" and described["rows"]["charges"] == 0
    with pytest.raises(InvalidParameter, match=r"name of Ledger.create"):
        run("create", path, "users", "--epsilon", "3")


def test_show(path, ledger):
    output = run("show", path)
    assert cells(output) == [
        ["[red]patients", "user, add or remove", "1", "0.75", "0.25", "2"],
        ["users", "row, replace", "3 at delta 1e-6", "0.3969", "2.96", "1"],
    ]
    assert max(len(line) for line in output.splitlines() if "│" in line) <= 80
    assert "mu^2 adds up and epsilon does not" in output
    left = "at most epsilon = 2.96 at delta = 1e-6 for one more release, 40 more fits like the last"
    assert f"users: {left}" in output.splitlines()
    assert "[red]patients: at most epsilon = 0.25 for one more release, none like the last" in output.splitlines()
    only = run("show", path, "[red]patients")
    assert len(cells(only)) == 1 and "mu^2" not in only


def test_show_for_machines(path, ledger):
    found = json.loads(run("show", path, "--json"))
    assert list(found) == ["[red]patients", "users"]
    account, values = ledger["users"], found["users"]
    assert values["cap"] == {"epsilon": 3.0, "delta": 1e-6, "amount": float(account.terms.cap)}
    for part, amount in (("spent", account.spent()), ("left", account.left())):
        assert values[part] == {"epsilon": amount.epsilon, "delta": amount.delta, "amount": amount.amount}
    assert (values["currency"], values["charges"], values["head"]) == ("gdp", 1, account.verify())
    assert (values["left_in_words"], values["more_like_last"]) == (account.left_in_words(), account.more_like_last())


def test_a_reserved_part(path):
    line = ("create", path, "visits", "--epsilon", "3", "--delta", "1e-6", "--pure", "1")
    said = "created data set 'visits': epsilon = 3 at delta = 1e-6, epsilon = 1 of it reserved for pure releases\n"
    assert said in run(*line)
    account = Ledger(path)["visits"]
    account.charge(Pure(0.25))
    account.charge(Gaussian(9.0), note="PrivatePCA; annual report")
    output = run("show", path)
    (row,) = cells(output)
    assert row[2:5] == ["3 at delta 1e-6, pure 1 of it", "0.4442 + pure 0.25", "1.932 + pure 0.75"]
    assert "visits: at most epsilon = 1.93 at delta = 1e-6 for one more release, and epsilon = 0.75 reserved" in output
    values = json.loads(run("show", path, "--json"))["visits"]
    assert (values["cap"]["pure"], values["spent"]["pure"], values["left"]["pure"]) == (1.0, 0.25, 0.75)
    shown = run("history", path, "visits")
    assert [row[2:] for row in cells(shown)] == [
        ["0", "0", "created"],
        ["pure 0.25", "pure 0.25", ""],
        ["0.4442", "0.4442 + pure 0.25", "PrivatePCA; annual report"],
    ]
    assert "epsilon and total are at delta = 1e-6" in shown
    assert "PrivatePCA; annual report" in run("history", path, "visits", "--json")


def test_names_are_never_broken(path):
    name = "a-very-long-name-of-a-data-set-that-somebody-has-chosen-for-its-clarity-in-2026"
    run("create", path, name, "--epsilon", "3", "--delta", "1e-6", "--pure", "1", "--neighbors", "add_remove")
    assert cells(run("show", path))[0][:3] == [name, "row, add or remove", "3 at delta 1e-6, pure 1 of it"]


def test_a_cap_that_promises_little_is_told_of(path, capsys):
    line = ["create", path, "trap", "--epsilon", "30", "--delta", "0.5", "--json"]
    command.main(line, standalone_mode=False)
    printed = capsys.readouterr()
    assert json.loads(printed.out)["trap"]["cap"]["delta"] == 0.5
    first, second = printed.err.splitlines()
    assert first.startswith("hushrank: epsilon = 30 promises next to nothing")
    assert second.startswith("hushrank: delta = 0.5 allows to publish all about one row in 2")


def test_help_says_which_commands_each_unit_serves():
    shown = run("create", "--help")
    assert all(f"{unit}:" in shown and commands in shown for unit, commands in COMMANDS_OF_UNITS.items())


def test_history(path, ledger):
    rows = cells(run("history", path, "[red]patients"))
    assert [row[0] for row in rows] == ["0", "1", "2"]
    assert [row[2:] for row in rows] == [
        ["0", "0", "created"],
        ["0.25", "0.25", "[bold]pca"],
        ["0.5", "0.75", ""],
    ]
    assert {len(row[1]) for row in rows} == {len("2026-03-01")}
    machine = json.loads(run("history", path, "users", "--json"))
    assert machine == {"dataset": "users", "entries": [entry.to_dict() for entry in ledger["users"].history()]}


def test_verify_prints_the_heads(path, ledger):
    heads = {name: ledger[name].verify() for name in ledger.names()}
    assert run("verify", path).splitlines() == [f"{head}  {name}" for name, head in heads.items()]
    assert run("verify", path, "users", "--head", heads["users"]) == f"{heads['users']}  users\n"
    with pytest.raises(LedgerError, match="does not hold the head"):
        run("verify", path, "users", "--head", heads["[red]patients"])


def hushrank(*arguments):
    command = [sys.executable, "-m", "hushrank", "ledger", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_damage_is_one_line_and_exit_code_2(path, ledger):
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER hushrank_history_no_UPDATE")
    connection.execute("UPDATE hushrank_history SET note = 'x' WHERE number = 1")
    connection.commit()
    connection.close()
    result = hushrank("verify", path, "users")
    assert (result.returncode, result.stdout) == (2, "")
    problem = "data set 'users' is damaged at entry 1: its contents do not match its hash"
    assert result.stderr == f"hushrank: {problem}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "nothing.db"], "ledger 'nothing.db' does not exist"),
        (["create", "no/budget.db", "x", "--epsilon", "3"], "ledger 'no/budget.db' cannot be opened or made: the fold"),
        (["create", "postgres:secret", "x"], "Missing option '--epsilon'."),
        (["show", "mysql://me:secret@host/x"], "where of Ledger must be a path"),
        (["verify", "nothing.db", "--head", "x"], "--head needs the NAME of a data set."),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    result = hushrank(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr and result.stderr.count("\n") == 1 and "secret" not in result.stderr
