"""Commands that learn from a table: where data come from, where results go, and what is refused before the charge."""

import json
import logging
from types import SimpleNamespace

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.cli import fit, pca
from hushrank.cli.fit import to_json
from hushrank.cli.main import load
from hushrank.data.records import measurements
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError, ModelFileError
from hushrank.privacy.ledger import Ledger
from hushrank.registry import COMMANDS, find
from option_support import Reached, defaults_in, misplaced_options, required_words, with_options, written

X = np.random.default_rng(0).standard_normal((50, 3))
BASIC = "--components 2 --row-norm 2 --epsilon 1"
# `stream` updates and releases, and has tests of its own for the same.
FITTED = {line: name for line, name in COMMANDS.items() if line != "stream"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # handlers would outlive the test
    pd.DataFrame(X, columns=["a", "b", "c"]).to_csv("rows.csv", index=False)
    return tmp_path


def run(line):
    return CliRunner().invoke(pca.command, line.split())


def test_the_model_file_holds_what_is_printed(folder):
    result = run(f"rows.csv {BASIC} --out model --json --seed 5 --threads 1 --quiet")
    assert result.exit_code == 0
    model = hushrank.load("model")
    assert json.loads(result.stdout) == json.loads(json.dumps(to_json(model)))
    assert np.array_equal(
        model.components_, PrivatePCA(2, row_norm=2.0, epsilon=1.0, random_state=5).fit(X).components_
    )
    assert json.loads(result.stdout)["privacy_"]["reproducible"] is True


@pytest.mark.parametrize(
    ("options", "is_told"),
    [("--delta 0.1", True), ("--delta 0.1 --quiet", False), ("--delta 1e-6", False),
     ("--delta 0.1 --neighbors add_remove", False)],
)  # fmt: skip
def test_a_large_delta_is_told_where_reading_alone_tells_the_number_of_rows(folder, options, is_told, capsys):
    """Not where that number is secret."""
    error, _, err = main(f"rows.csv {BASIC} {options} --json", capsys)
    told = "hushrank: delta = 0.1 is at least 1 / 50, one over the number of rows: it allows to publish all about one"
    assert error is None and (told in err) == is_told and ("1 / " in err) == is_told


def test_columns_choose_and_order(folder):
    result = run(f"rows.csv {BASIC} --columns c,a --json --quiet --seed 1")
    assert json.loads(result.stdout)["feature_names_in_"] == ["c", "a"]
    expected = PrivatePCA(2, row_norm=2.0, epsilon=1.0, random_state=1).fit(X[:, [2, 0]]).components_
    assert json.loads(result.stdout)["components_"] == expected.tolist()


@pytest.mark.parametrize(("flag", "level"), [("", "WARNING"), ("--quiet", "ERROR"), ("--verbose", "INFO")])
def test_the_log_reaches_stderr_if_asked_for(folder, monkeypatch, flag, level):
    """What arrives there is tested in system/test_doors_stderr.py, in a process of its own."""
    seen = []
    monkeypatch.setattr(logging, "basicConfig", lambda level, stream, format: seen.append(level))
    result = run(f"rows.csv {BASIC} --out model {flag}")
    assert result.exit_code == 0, result.exception
    assert seen == [getattr(logging, level)] and "rows read" not in result.output


@pytest.mark.parametrize(("flag", "level"), [("", 1), ("--quiet", 0), ("--verbose", 2)])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_is_for_terminals_and_numbers_of_rows_are_for_those_who_ask(
    folder, monkeypatch, flag, level, is_terminal
):
    monkeypatch.setattr(fit, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: is_terminal)))
    seen = []
    monkeypatch.setattr(PrivatePCA, "fit", lambda self, X: seen.append(self.verbose))
    run(f"rows.csv {BASIC} --json {flag}")
    assert seen == [level if is_terminal else 0]


def test_quiet_and_verbose_exclude_each_other(folder):
    result = run(f"rows.csv {BASIC} --out model --quiet --verbose")
    assert result.exit_code == 2 and "--quiet and --verbose exclude each other" in result.output
    assert not (folder / "model").exists()
    text = " ".join(run("--help").output.split())
    assert "--verbose" in text and "NOT PRIVATE: do not publish them" in text


def test_the_ledger_is_charged(folder):
    with Ledger("budget.db") as ledger:
        ledger.create("rows", epsilon=1.5, neighbors="replace", unit="row")
        line = f"rows.csv {BASIC} --out model --quiet --ledger budget.db --dataset rows"
        assert run(line).exit_code == 0
        assert ledger["rows"].left().epsilon == 0.5
        before = (folder / "model").read_bytes()
        assert isinstance(run(f"{line} --force").exception, BudgetExceeded)
        assert (folder / "model").read_bytes() == before


def test_nothing_is_overwritten_unless_asked_for(folder):
    with Ledger("budget.db") as ledger:
        ledger.create("rows", epsilon=1.5, neighbors="replace", unit="row")
        line = f"rows.csv {BASIC} --quiet --ledger budget.db --dataset rows"
        for place in ("--out old", "--out new --report old"):
            (folder / "old").write_text("old")
            result = run(f"{line} {place}")
            assert result.exit_code == 2 and "old exists already. --force replaces it." in result.output
            assert (folder / "old").read_text() == "old" and ledger["rows"].last().number == 0
        assert run(f"{line} --out old --force").exit_code == 0 and hushrank.load("old").privacy_.epsilon == 1.0


@pytest.fixture
def gdp(folder):
    with Ledger("budget.db") as ledger:
        yield ledger.create("rows", epsilon=3.0, delta=1e-6, neighbors="replace", unit="row")


CHARGED = f"rows.csv {BASIC} --json --ledger budget.db --dataset rows"


def main(line, capsys):
    """Exit by an exception, and what was printed on stdout and stderr."""
    capsys.readouterr()
    try:
        pca.command.main(line.split() if isinstance(line, str) else line, standalone_mode=False)
        error = None
    except Exception as raised:
        error = raised
    return error, *capsys.readouterr()


def test_the_delta_of_the_account_is_the_default(gdp, capsys):
    error, out, err = main(CHARGED, capsys)
    assert error is None and json.loads(out)["privacy_"]["delta"] == 1e-6
    said = "hushrank: budget spent: epsilon = 1 at delta = 1e-6 of 'rows'; left: at most epsilon = 2.77 at delta = 1e-6"
    assert err == f"{said} for one more release, six more fits like the last\n"
    for given in (1e-7, 1e-5):
        assert json.loads(main(f"{CHARGED} --delta {given} --quiet", capsys)[1])["privacy_"]["delta"] == given
    assert json.loads(run(f"rows.csv {BASIC} --json").stdout)["privacy_"]["delta"] == 0.0  # without a ledger


def test_a_dear_release_is_told_before_the_charge(gdp, capsys, monkeypatch):
    error, _, err = main(f"{CHARGED} --delta 0", capsys)
    assert isinstance(error, BudgetExceeded) and err.startswith(
        "hushrank: a pure release of epsilon = 1 costs data set"
    )
    assert err.count("\n") == 1 and gdp.last().number == 0
    error, _, err = main(f"{CHARGED.replace('epsilon 1', 'epsilon 0.2')} --delta 0", capsys)
    first, second = err.splitlines()
    assert error is None and "Cheaper: delta = 1e-6, not 0" in first and second.startswith("hushrank: budget spent: ")
    assert main(f"{CHARGED.replace('epsilon 1', 'epsilon 0.1')} --delta 0 --quiet", capsys)[2] == ""


def test_a_note_is_kept_with_the_charge(gdp, capsys):
    assert main([*CHARGED.split(), "--quiet", "--note", "annual report"], capsys)[0] is None
    assert gdp.last().note == "PrivatePCA; annual report"
    error, _, _ = main([*CHARGED.split(), "--note", "a\nb"], capsys)
    assert isinstance(error, InvalidParameter) and gdp.last().number == 1
    error, _, _ = main(["rows.csv", *BASIC.split(), "--json", "--note", "lost"], capsys)
    assert "--note is kept in a ledger" in str(error)


def test_an_error_after_the_charge_says_what_was_spent(gdp, capsys, monkeypatch):
    for error in (KeyboardInterrupt(), MemoryError()):
        monkeypatch.setattr(PrivatePCA, "_fit", lambda self, *_, error=error: (_ for _ in ()).throw(error))
        raised, out, _ = main(CHARGED, capsys)
        (note,) = (raised.__cause__ or raised).__notes__
        assert note.startswith("budget was spent: epsilon = 1 at delta = 1e-6 of 'rows'; left: at most ") and out == ""
    assert gdp.last().number == 2


def test_a_model_that_cannot_be_written_is_written_elsewhere(gdp, folder, capsys, monkeypatch):
    (folder / "results").mkdir()
    real = PrivatePCA._fit

    def fit(self, *arguments):
        (folder / "results").rmdir()  # gone during the fit
        return real(self, *arguments)

    monkeypatch.setattr(PrivatePCA, "_fit", fit)
    error, out, _ = main(f"{CHARGED} --out results/model.hush", capsys)
    assert isinstance(error, click.ClickException) and error.exit_code != 0
    assert f"THE MODEL IS IN {folder / 'model-2.hush'}" in str(error) and "No such file" in str(error)
    assert json.loads(out) == json.loads(json.dumps(to_json(hushrank.load("model-2.hush"))))
    (folder / "results").mkdir()
    _, out, _ = main(f"{CHARGED.replace('--json', '')} --out results/model.hush", capsys)
    assert "model written to" in out and "model-3.hush" in out and hushrank.load("model-3.hush")


def test_a_page_that_cannot_be_written_does_not_lose_the_model(folder, capsys, monkeypatch):
    def fail(text, place):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fit, "write_text", fail)
    error, out, _ = main(f"rows.csv {BASIC} --out model --report page.html", capsys)
    assert "cannot write page.html: No space left on device; and there is no other place for it" in str(error)
    assert "model written to model" in out and "page.html" not in out and hushrank.load("model")
    assert sorted(path.name for path in folder.iterdir() if "page" in path.name) == []


def test_a_model_without_any_place_is_printed(folder, capsys, monkeypatch):
    def fail(self, path):
        raise ModelFileError(f"cannot write {path}: No space left on device.")

    monkeypatch.setattr(PrivatePCA, "save", fail)
    error, out, _ = main(f"rows.csv {BASIC} --out model --quiet", capsys)
    assert "cannot write model: No space left on device; and there is no other place" in str(error)
    assert len(json.loads(out)["components_"]) == 2


@pytest.mark.parametrize("line", ["complete", "personalize", "trace"])
def test_delta_is_needed_without_a_ledger(line, folder):
    words = [
        *required_words({k: v for k, v in find(COMMANDS[line]).parameter_table().items() if k != "delta"}),
        "--json",
    ]
    result = CliRunner().invoke(load(line), ["rows.csv", *words])
    assert result.exit_code == 2 and "Missing option '--delta'" in result.output
    shown = " ".join(CliRunner().invoke(load(line), ["--help"]).output.split())
    assert "Default with --ledger: that of the account." in shown


def test_an_option_that_may_be_a_path_is_kept_as_the_data_are(folder):
    read = []
    data = fit.Data("ROWS", lambda _model, _source, weights: read.append(weights), fit.options(), beside=("weights",))
    (folder / "weights.csv").write_text("kept")
    run_terms = {"ledger_address": None, "dataset": None, "threads": 1, "seed": 1, "quiet": True, "verbose": False}
    terms = {**run_terms, "as_json": False, "n_components": 1, "row_norm": 1.0, "epsilon": 1.0}
    for out, message in (("./weights.csv", "would overwrite the data"), (None, "Say where the result goes")):
        place = None if out is None else folder / out
        with pytest.raises(click.UsageError, match=message):
            fit.learn("PrivatePCA", data, source="rows.csv", weights="weights.csv", out=place, **terms)
    assert read == [] and (folder / "weights.csv").read_text() == "kept"


def test_names_of_columns_are_printed_as_they_are(folder):
    pd.DataFrame(X, columns=["b[/x]", "[red]a", "c"]).to_csv("odd.csv", index=False)
    result = run("odd.csv --components 3 --row-norm 2 --epsilon 1000 --out model[y] --quiet")
    assert result.exit_code == 0 and "model written to model[y]" in result.output
    assert any(name in result.output for name in ("b[/x]", "[red]a"))


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (f"rows.csv {BASIC}", None, "Say where the result goes: --out FILE, or --json"),
        (f"rows.csv {BASIC} --out no/such/model --ledger budget.db --dataset rows", ModelFileError, "No such file"),
        (f"rows.csv {BASIC} --out /dev/null --ledger budget.db --dataset rows", ModelFileError, "not an ordinary file"),
        (f"rows.csv {BASIC} --json --ledger budget.db", None, "--ledger and --dataset go together"),
        (f"rows.csv {BASIC} --json --dataset rows", None, "--ledger and --dataset go together"),
        (f"rows.csv {BASIC} --json --ledger none.db --dataset rows", LedgerError, "none.db"),
        (f"rows.csv {BASIC} --json --ledger budget.db --dataset other", LedgerError, "other"),
        (f"none.csv {BASIC} --json {{}}", InvalidParameter, "X of PrivatePCA must be an existing file"),
        (f"rows.csv {BASIC} --json --columns a,z {{}}", InvalidParameter, "z"),
        (f"rows.csv {BASIC} --json --center 1,2 {{}}", InvalidParameter, "center of PrivatePCA must be a vector of 3"),
        (f"rows.csv {BASIC} --json --threads 0 {{}}", InvalidParameter, "threads"),
        (f"rows.csv {BASIC} --json --seed 1 {{}}", InvalidParameter, "random_state of PrivatePCA must be None where"),
        (f"rows.csv {BASIC} --json --neighbors add_remove {{}}", InvalidParameter, "neighbors"),
        ("rows.csv --components 4 --row-norm 2 --epsilon 1 --json {}", InvalidParameter, "n_components of PrivatePCA"),
        ("rows.csv --components 2 --row-norm -2 --epsilon 1 --json {}", InvalidParameter, "row_norm of PrivatePCA"),
        ("rows.csv --components 2 --row-norm 2 --epsilon 0 --json {}", InvalidParameter, "epsilon of PrivatePCA"),
    ],
)
def test_bad_input_charges_nothing_and_writes_nothing(folder, line, kind, message):
    with Ledger("budget.db") as ledger:
        ledger.create("rows", epsilon=5.0, neighbors="replace", unit="row")
        result = run(line.format("--out model --ledger budget.db --dataset rows"))
        assert result.exit_code != 0
        if kind is None:
            assert message in result.output
        else:
            assert isinstance(result.exception, kind) and message in str(result.exception)
        assert len(ledger["rows"].history()) == 1 and not (folder / "model").exists()


RUNNING = {
    "--check",
    "--out",
    "--report",
    "--force",
    "--ledger",
    "--dataset",
    "--note",
    "--threads",
    "--cluster",
    "--seed",
    "--quiet",
    "--verbose",
    "--json",
}
CHOOSING = {
    "INPUT": {"--columns"},
    "RATINGS": {"--user-col", "--item-col", "--rating-col", "--titles", "--title-col"},
    "RECORDS": {"--user", "--target", "--features"},
    "MEASUREMENTS": {"--target", "--x", "--z", "--row", "--column", "--features"},
}
SOURCES = {"INPUT": "rows.csv", "RATINGS": "rows.csv", "RECORDS": "records.csv", "MEASUREMENTS": "rows.csv"}


def kind_of(command):
    (argument,) = (param for param in command.params if param.param_type_name == "argument")
    return argument.metavar


def misplaced(command, name):
    return misplaced_options(command, [find(name).parameter_table()], RUNNING | CHOOSING[kind_of(command)])


@pytest.mark.parametrize(("line", "name"), FITTED.items())
def test_options_are_those_of_the_tables(line, name):
    command = load(line)
    assert command.name == line and misplaced(command, name) == set()
    planted = click.Command(line, params=[*command.params, click.Option(["--gap"], type=float)])
    assert misplaced(planted, name) == {"--gap"}
    planted = click.Command(line, params=[param for param in command.params if param.name != "neighbors"])
    assert misplaced(planted, name) == {"--neighbors"}


@pytest.mark.parametrize(("line", "name"), FITTED.items())
def test_every_parameter_reaches_the_estimator(line, name, folder, monkeypatch):
    def stop(self, X):
        raise Reached(self.get_params(deep=False))

    monkeypatch.setattr(find(name), "fit", stop)
    monkeypatch.setattr(measurements, "read_measurements", lambda *_, **__: None)  # one file cannot fit every design
    table, command = find(name).parameter_table(), load(line)
    pd.DataFrame(X, columns=["user", "a", "target"]).to_csv("records.csv", index=False)
    needed = [SOURCES[kind_of(command)], *required_words(table), "--json"]
    found = CliRunner().invoke(command, needed).exception.values
    assert {key: found[key] for key in defaults_in(table)} == defaults_in(table)
    for key, of_table in with_options(table).items():
        for words, value in written(key, of_table):
            assert CliRunner().invoke(command, [*needed, *words]).exception.values[key] == value
    found = CliRunner().invoke(command, [*needed, "--seed", "4", "--threads", "1"]).exception.values
    assert found["random_state"] == 4 and found["engine"].threads == 1 and found["ledger"] is None


@pytest.mark.parametrize("line", FITTED)
def test_help_says_where_the_cost_is_shown(line):
    shown = CliRunner().invoke(load(line), ["--help"]).output
    assert f"What it will cost, before any data are read: hushrank plan {line} --help" in shown


def test_data_elsewhere_are_read_and_those_of_a_file_address_are_kept(folder):
    for address in (f"local://{folder}/rows.csv", f"file://{folder}/rows.csv"):
        result = run(f"{address} {BASIC} --json --seed 1")
        assert result.exit_code == 0 and json.loads(result.output)["n_features_in_"] == 3
    (folder / "data").mkdir()
    (folder / "rows.csv").rename(folder / "data" / "rows.csv")
    result = run(f"file://{folder}/data {BASIC} --out data/model.hush")
    assert result.exit_code == 2 and "would overwrite the data" in " ".join(result.output.split())
