"""`hushrank report`: a page of a model of every class, with titles, a ledger and a forecast."""

import json

import pytest
from click.testing import CliRunner

import hushrank
from hushrank.cli.report import command
from hushrank.privacy.events import Gaussian
from hushrank.report.models import model_page
from model_support import CLASSES, HOSTILE, N_ITEMS, fitted
from report_support import Document


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name in CLASSES:
        fitted(name).save(folder / f"{name}.hush")
    lines = "".join(f"{j},{HOSTILE} {j}\n" for j in range(N_ITEMS))
    (folder / "titles.csv").write_text(f"item,title\n{lines}")
    return folder


@pytest.fixture
def folder(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


def run(line):
    return CliRunner().invoke(command, line.split())


@pytest.mark.parametrize("name", CLASSES)
def test_the_page_is_that_of_the_model(folder, name):
    result = run(f"{name}.hush --out {name}.html")
    assert result.exit_code == 0 and result.output == f"report written to {name}.html\n"
    assert (folder / f"{name}.html").read_text(encoding="utf-8") == model_page(fitted(name))


def test_titles_ledger_and_forecast_are_on_it(folder):
    with hushrank.Ledger("budget.db") as ledger:
        ledger.create("people", epsilon=3.0, delta=1e-6, neighbors="replace", unit="user").charge(Gaussian(5.0))
    line = "PrivateCompletion.hush --titles titles.csv --ledger budget.db --dataset people --people 900 --json"
    assert json.loads(run(line).output) == {"report": "report.html"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    text = Document(page).text
    assert HOSTILE in text and "<script" not in page and "Data set people of the ledger" in text
    assert "n_users = 900" in text
    with hushrank.Ledger("budget.db") as ledger:
        assert len(ledger["people"].history()) == 2  # nothing was charged


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("PrivatePCA.hush --out new.html --ledger budget.db", "--ledger and --dataset go together"),
        ("PrivatePCA.hush --out PrivatePCA.hush", "would overwrite the model"),
        ("PrivateCompletion.hush --titles titles.csv --out titles.csv", "would overwrite the model, the titles"),
        ("PrivatePCA.hush --out new.html --titles titles.csv", "not for a PrivatePCA"),
    ],
)
def test_wrong_turns(folder, line, message):
    result = run(line)
    assert result.exit_code == 2 and message in " ".join(result.output.split())
    assert hushrank.load("PrivatePCA.hush") is not None
