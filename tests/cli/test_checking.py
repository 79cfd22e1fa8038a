"""--check of commands: same options, same refusals, nothing charged or written, exit code 2 for a problem."""

import json
import logging

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from hushrank.cli.main import load
from hushrank.exceptions import InvalidParameter, LedgerError
from hushrank.privacy.ledger import Account as LedgerAccount
from hushrank.privacy.ledger import Ledger

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(RNG.standard_normal((60, 3)), columns=["a", "b", "c"])
ITEMS = np.tile(np.arange(5), 24)
RATINGS = pd.DataFrame({"user": np.repeat(np.arange(40), 3), "item": ITEMS, "rating": 1.0 + ITEMS})
RECORDS = ROWS.assign(user=np.arange(60) // 4, target=RNG.standard_normal(60))
LINES = {
    "pca": "rows.csv --components 2 --row-norm 20 --epsilon 1",
    "covariance": "rows.csv --row-norm 20 --epsilon 1",
    "lowrank": "rows.csv --rank 1 --row-norm 20 --epsilon 1",
    "complete": "ratings.csv --items 5 --rating-range 1 5 --rank 2 --epsilon 1 --delta 1e-6",
    "personalize": "records.csv --components 1 --epsilon 1 --delta 1e-6",
    "trace": "records.csv --design rank_one --x a,b --z c --rank 1 --epsilon 1 --delta 1e-6",
    "stream": "updates.csv --shape 4 5 --rank 1 --epsilon 1 --delta 1e-6",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    ROWS.to_csv("rows.csv", index=False)
    RATINGS.to_csv("ratings.csv", index=False)
    RECORDS.to_csv("records.csv", index=False)
    pd.DataFrame({"row": [0, 1], "column": [2, 3], "delta": [1.0, 0.5]}).to_csv("updates.csv", index=False)
    return tmp_path


def run(name, line):
    return CliRunner().invoke(load(name), line.split())


@pytest.mark.parametrize("name", LINES)
def test_every_command_can_be_tried(folder, name):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = run(name, f"{LINES[name]} --check")
    assert result.exit_code == 0, result.output
    assert "NOT PRIVATE: for the data holder only, do not publish." in result.output
    assert "Nothing was charged." in result.output and "guarantee" not in result.output.splitlines()[0]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    told = json.loads(run(name, f"{LINES[name]} --check --json --out model.hush").stdout)
    assert told["not_private"] and not (folder / "model.hush").exists()
    assert "--check" in run(name, "--help").output


def test_the_ledger_is_not_charged_and_must_exist(folder):
    with Ledger("budget.db") as ledger:
        ledger.create("rows", epsilon=1.5, neighbors="replace", unit="row")
        assert run("pca", f"{LINES['pca']} --check --ledger budget.db --dataset rows").exit_code == 0
        assert ledger["rows"].left().epsilon == 1.5
        assert isinstance(
            run("pca", f"{LINES['pca']} --check --ledger budget.db --dataset gone").exception, LedgerError
        )
    assert "go together" in run("pca", f"{LINES['pca']} --check --ledger budget.db").output


def test_a_problem_is_exit_code_2_on_stdout(folder):
    ROWS.assign(c="text").to_csv("rows.csv", index=False)
    result = run("pca", f"{LINES['pca']} --check")
    assert result.exit_code == 2 and "column 'c' has no number in 100 % of its rows" in result.stdout
    assert run("pca", f"{LINES['pca']} --check --columns a,b").exit_code == 0


def test_refusals_are_those_of_the_fit(folder):
    for more in ("", " --out model.hush"):
        line = f"rows.csv --components 9 --row-norm 1 --epsilon 1{more or ' --check'}"
        refused = run("pca", line).exception
        assert isinstance(refused, InvalidParameter) and refused.name == "n_components"
    refused = run("pca", f"{LINES['pca']} --check --columns aa,b").exception
    assert "no column 'aa'; did you mean 'a'?" in str(refused)


def test_a_warning_is_shown_before_the_charge(folder, monkeypatch, capsys):
    order, charge = [], LedgerAccount.charge

    def note_and_charge(self, *arguments, **terms):
        order.append(capsys.readouterr().err)
        return charge(self, *arguments, **terms)

    monkeypatch.setattr(LedgerAccount, "charge", note_and_charge)
    with Ledger("budget.db") as ledger:
        ledger.create("rows", epsilon=40)
    line = "rows.csv --components 2 --row-norm 20 --epsilon 30 --json --ledger budget.db --dataset rows --threads 1"
    load("pca").main(line.split(), standalone_mode=False)
    assert len(order) == 1 and "hushrank: epsilon = 30 promises next to nothing" in order[0]
