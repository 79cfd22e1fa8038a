"""`hushrank ledger`: set up, show, history and verify, for people and for machines."""

import json
import sqlite3
import subprocess
import sys

import pytest
from click.testing import CliRunner

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
    result = CliRunner().invoke(command, arguments, env={"COLUMNS": "140"})
    if result.exception is not None:
        raise result.exception
    return result.output


def cells(output):
    """Cells of the rows of a table, without its head."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if "│" in line]


def test_create(path):
    output = run("create", path, "users", "--epsilon", "3", "--delta", "1e-6", "--neighbors", "add_remove")
    account = Ledger(path)["users"]
    assert account.budget == Budget(3.0, 1e-6, "add_remove", "row")
    assert repr(account)[:60] in output and account.verify() in output
    described = json.loads(run("create", path, "rows", "--epsilon", "1", "--unit", "entry", "--json"))
    assert described["rows"]["unit"] == "entry" and described["rows"]["charges"] == 0
    with pytest.raises(InvalidParameter, match=r"name of Ledger.create"):
        run("create", path, "users", "--epsilon", "3")


def test_show(path, ledger):
    output = run("show", path)
    assert cells(output) == [
        ["[red]patients", "add or remove", "user", "epsilon 1", "epsilon 0.75", "epsilon 0.25", "2"],
        ["users", "replace", "row", "epsilon 3, delta 1e-06", "epsilon 0.3969", "epsilon 2.96", "1"],
    ]
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
    assert "pure=1.0" in run(*line)
    account = Ledger(path)["visits"]
    account.charge(Pure(0.25))
    account.charge(Gaussian(9.0), note="PrivatePCA; annual report")
    output = run("show", path)
    (row,) = cells(output)
    assert row[3:6] == [
        "epsilon 3, delta 1e-06, pure 1 of it",
        "epsilon 0.4442 + pure 0.25",
        "epsilon 1.932 + pure 0.75",
    ]
    assert "visits: at most epsilon = 1.93 at delta = 1e-6 for one more release, and epsilon = 0.75 reserved" in output
    values = json.loads(run("show", path, "--json"))["visits"]
    assert (values["cap"]["pure"], values["spent"]["pure"], values["left"]["pure"]) == (1.0, 0.25, 0.75)
    shown = run("history", path, "visits")
    assert "pure epsilon" in shown and cells(shown)[1][3:7] == ["0", "0", "0.25", "0.25"]
    assert "PrivatePCA; annual report" in run("history", path, "visits", "--json")


def test_history(path, ledger):
    rows = cells(run("history", path, "[red]patients"))
    assert [row[0] for row in rows] == ["0", "1", "2"]
    assert rows[0][2:] == ["created", "0", "0", "", ""]
    assert rows[1][2:] == ["Pure(epsilon=0.25, bounded_range=False)", "0.25", "0.25", "fit-1", "[bold]pca"]
    assert rows[2][3:5] == ["0.5", "0.75"]
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
        (["create", "postgres:secret", "x"], "Missing option '--epsilon'."),
        (["show", "mysql://me:secret@host/x"], "where of Ledger must be a path"),
        (["verify", "nothing.db", "--head", "x"], "--head needs the NAME of a data set."),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    result = hushrank(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr and result.stderr.count("\n") == 1 and "secret" not in result.stderr
