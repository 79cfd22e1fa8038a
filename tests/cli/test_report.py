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


def test_titles_ledger_and_forecast_are_on_it(folder, capsys):
    with hushrank.Ledger("budget.db") as ledger:
        ledger.create("people", epsilon=15.0, delta=1e-6, neighbors="replace", unit="user").charge(Gaussian(5.0))
    line = "PrivateCompletion.hush --titles titles.csv --ledger budget.db --dataset people --people 900 --json"
    command.main(line.split(), standalone_mode=False)
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"report": "report.html"}
    said = "this model is not among the charges of data set 'people': its budget is not the one shown"
    assert printed.err == f"hushrank: {said}\n"
    page = (folder / "report.html").read_text(encoding="utf-8")
    text = Document(page).text
    assert HOSTILE in text and "<script" not in page and "Data set people of the ledger" in text
    assert "n_users = 900" in text
    with hushrank.Ledger("budget.db") as ledger:
        assert len(ledger["people"].history()) == 2  # nothing was charged
        ledger["people"].charge(fitted("PrivateCompletion").privacy_.event)
    command.main(f"{line} --force".split(), standalone_mode=False)
    assert capsys.readouterr().err == ""
    other = run("PrivatePCA.hush --out new.html --ledger budget.db --dataset people")
    assert other.exit_code == 2 and "is for unit user, neighbors replace" in " ".join(other.output.split())


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
