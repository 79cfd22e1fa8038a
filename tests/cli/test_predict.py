"""`hushrank predict`: the class of the model decides which options are needed, and outputs have a place to go to."""

import inspect
import json
import subprocess
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from hushrank.cli import main as main_module
from hushrank.cli.predict import KINDS, command
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.evaluation.synthetic import shared_representation
from hushrank.evaluation.trace_data import trace_records
from hushrank.exceptions import ModelFileError
from option_support import options_in

NAMES = ["a", "b", "c", "d"]
DATA = shared_representation(300, len(NAMES), 2, n_records=6, noise=0.1, seed=6)
ENTRIES = trace_records(500, (4, 3), 1, design="entry", seed=2)


@pytest.fixture(scope="module")
def models():
    representation = PrivateRepresentation(2, epsilon=8.0, delta=1e-6).fit(DATA.X, DATA.y, DATA.users)
    terms = {"design": "entry", "shape": (4, 3), "epsilon": 8.0, "delta": 1e-6}
    trace = PrivateTraceRegression(1, **terms).fit(ENTRIES.X, ENTRIES.y)
    return {"own": representation, "trace": trace, "pca": PrivatePCA(1, row_norm=1.0, epsilon=1.0).fit(np.eye(3))}


@pytest.fixture
def folder(tmp_path, monkeypatch, models):
    monkeypatch.chdir(tmp_path)
    for name, model in models.items():
        model.save(f"{name}.hush")
    pd.DataFrame(DATA.X[:6], columns=NAMES).assign(target=DATA.y[:6]).to_csv("mine.csv", index=False)
    pd.DataFrame(DATA.fresh_X[:5], columns=NAMES).to_csv("new.csv", index=False)
    pd.DataFrame({"row": [3, 0], "column": [2, 1]}).to_csv("cells.csv", index=False)
    (tmp_path / "parts").mkdir()
    pd.DataFrame({"row": [3, 0], "column": [2, 1]}).to_parquet("parts/cells.parquet")
    return tmp_path


def run(line):
    return CliRunner().invoke(command, line.split())


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(line, monkeypatch, capsys):
    """What the command says on stderr; it must end with the code of bad input and print nothing else."""
    monkeypatch.setattr(sys, "argv", ["hushrank", "predict", *line.split()])
    with pytest.raises(SystemExit) as stop:
        main_module.main()
    printed = capsys.readouterr()
    assert stop.value.code == main_module.BAD_INPUT and printed.out == ""
    return printed.err


def test_every_kind_has_its_options(models):
    assert {type(model).__name__ for model in models.values()} - set(KINDS) == {"PrivatePCA"}
    for kind in KINDS.values():
        assert kind.needs in kind.takes and {f"--{name}" for name in kind.takes} <= options_in(command)
        taken = inspect.signature(import_module(kind.module).run).parameters
        assert list(taken) == ["model", *kind.takes, "as_json"]
    assert {f"--{name}" for kind in KINDS.values() for name in kind.takes} | {"--json", "--force"} == options_in(
        command
    )


def test_the_class_of_the_model_decides(folder, models):
    (person,) = json.loads(run("own.hush --records mine.csv --json").stdout)["people"]
    head = models["own"].personalize(DATA.X[:6], DATA.y[:6])
    assert list(person["coefficients"].values()) == pytest.approx(head.coef_)
    found = json.loads(run("trace.hush --new cells.csv --json").stdout)["predictions"]
    expected = models["trace"].predict(([3, 0], [2, 1]))
    assert [line["prediction"] for line in found] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("line", "option"), [("own.hush", "records"), ("own.hush --new new.csv --json", "records"), ("trace.hush", "new")]
)
def test_what_a_model_needs_is_asked_for(folder, monkeypatch, capsys, line, option):
    expected = f"hushrank: Missing option '--{option}'. (see hushrank predict --help)\n"
    assert refused(line, monkeypatch, capsys) == expected


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--records mine.csv", "--records"),
        ("--user who", "--user"),
        ("--target target", "--target"),  # the default, but somebody meant something by it
        ("--report page.html", "--report"),
        ("--report page.html --target y --user u --records mine.csv", "--records, --user, --target, --report"),
    ],
)
@pytest.mark.parametrize("new", ["", "--new cells.csv --out found.csv"])
def test_a_trace_regression_has_no_use_for_records_of_people(folder, monkeypatch, capsys, words, named, new):
    before = files(folder)
    said = refused(f"trace.hush {words} {new}", monkeypatch, capsys)
    line = f"A model of hushrank trace predicts with --new and --out, and not {named}. (see hushrank predict --help)"
    assert said == f"hushrank: {line}\n" and files(folder) == before


@pytest.mark.parametrize("option", ["--out", "--report"])
@pytest.mark.parametrize("kept", ["own.hush", "mine.csv", "./new.csv", "parts/x.csv"])
def test_nothing_that_is_needed_is_overwritten(folder, option, kept):
    before, own = files(folder), "parts" if kept.startswith("parts") else "mine.csv"
    result = run(f"own.hush --records {own} --new new.csv {option} {kept}")
    assert result.exit_code == 2 and ("would overwrite" in result.output or "must end in" in result.output)
    assert files(folder) == before


@pytest.mark.parametrize("new", ["cells.csv", "parts"])
@pytest.mark.parametrize("kept", ["cells.csv", "./parts/../cells.csv", "parts/x.csv", "trace.csv"])
def test_measurements_are_not_overwritten(folder, models, new, kept):
    models["trace"].save("trace.csv")
    before, is_needed = files(folder), kept == "trace.csv" or kept.startswith("parts/x") == (new == "parts")
    result = run(f"trace.csv --new {new} --out {kept} --force")
    assert (result.exit_code == 2 and "would overwrite" in result.output) == is_needed
    assert (files(folder) == before) == is_needed


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_other_files_are_replaced_if_asked_for(folder, option):
    (folder / "old.csv").write_text("old")
    line = f"own.hush --records mine.csv --new new.csv {option} old.csv"
    result = run(line)
    assert result.exit_code == 2 and f"{option} old.csv exists already. --force replaces it." in result.output
    assert (folder / "old.csv").read_text() == "old"
    assert run(f"{line} --force").exit_code == 0 and (folder / "old.csv").read_text() != "old"


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("none.hush --records mine.csv", ModelFileError, "none.hush"),
        ("mine.csv --records mine.csv", ModelFileError, "not a hushrank model"),
        (
            "pca.hush --records mine.csv",
            ModelFileError,
            "a 'PrivatePCA', not a PrivateRepresentation or a Private",
        ),
        ("pca.hush --new new.csv", ModelFileError, "holds a 'PrivatePCA'"),
        ("own.hush --records mine.csv --new new.csv --out no/such.csv", ModelFileError, "No such file"),
        ("trace.hush --new cells.csv --out no/such.csv", ModelFileError, "No such file"),
        ("own.hush --records mine.csv --out x.csv", None, "--out writes the predictions for --new FILE"),
        ("trace.hush --out x.csv", None, "--out writes the predictions for --new FILE"),
        ("own.hush --records mine.csv --new new.csv --out x.txt", None, "must end in .csv, .parquet, .pq"),
        ("trace.hush --new cells.csv --out x.npy", None, "must end in .csv, .parquet, .pq"),
        ("own.hush --records mine.csv --new new.csv --out x.csv --report ./x.csv", None, "are one file"),
    ],
)
def test_bad_input(folder, line, kind, message):
    before, result = files(folder), run(line)
    if kind is None:
        assert result.exit_code == 2 and message in result.output
    else:
        assert isinstance(result.exception, kind) and message in str(result.exception)
        assert "\n" not in str(result.exception)
    assert files(folder) == before


def test_bad_input_is_one_line_and_exit_code_2(folder):
    line = [sys.executable, "-m", "hushrank", "predict", "own.hush", "--records", "none.csv"]
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)


def test_help_says_that_nothing_is_learned_and_what_each_model_takes():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "Nothing is learned from the records and no budget is charged" in text
    for part in ("A model of hushrank personalize predicts from a person's own records", "A model of hushrank trace"):
        assert part in text
