"""Predictions of trace regression: an answer to every new measurement, in the order of the file, whatever the file."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from hushrank.cli.predict import command
from hushrank.cli.tables import SHOWN_LINES
from hushrank.cli.trace_predictions import to_answers
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.evaluation.trace_data import trace_records
from hushrank.exceptions import InvalidParameter

N, SHAPE = 2000, (4, 3)
TERMS = {"rank": 1, "epsilon": 16.0, "delta": 1e-6, "shape": SHAPE}
NAMES = {
    "dense": [f"m{i}{j}" for i in range(4) for j in range(3)],
    "rank_one": ["a", "[red]b", "c c", "\u00fc", "N", "P", "K"],
    "entry": ["place", "thing"],
}
DATA = {design: trace_records(N, SHAPE, 1, design=design, noise=0.2, seed=4) for design in NAMES}


def numbers(design):
    X = DATA[design].X
    return np.column_stack(X) if isinstance(X, tuple) else X.reshape(N, -1)


def frame(design):
    return pd.DataFrame(numbers(design), columns=NAMES[design])


@pytest.fixture(scope="module")
def models():
    fitted = {}
    for design, data in DATA.items():
        model = PrivateTraceRegression(**TERMS, design=design)
        fitted[design] = model.fit(frame(design).assign(target=data.y))
        assert fitted[design].coef_.any()
    return fitted


@pytest.fixture
def folder(tmp_path, monkeypatch, models):
    monkeypatch.chdir(tmp_path)
    for design, model in models.items():
        model.save(f"{design}.hush")
    return tmp_path


def run(line):
    return CliRunner().invoke(command, line.split())


def expected(model, X):
    """Answers to numbers of records, written down once more."""
    if model.design == "entry":
        return model.intercept_ + np.array([model.coef_[int(i), int(j)] for i, j in X])
    if model.design == "rank_one":
        return model.intercept_ + np.array([x[:4] @ model.coef_ @ x[4:] for x in X])
    return model.intercept_ + X @ model.coef_.ravel()


def rows(output):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]


@pytest.mark.parametrize("design", DATA)
@pytest.mark.parametrize("form", ["csv", "parquet", "folder"])
def test_answers_are_in_the_order_of_the_file_whatever_stands_beside(folder, models, design, form):
    order = np.random.default_rng(1).permutation(N)[:300]
    table = frame(design).iloc[order]
    table = table[table.columns[::-1]]  # columns are found by their names
    table.insert(1, "user", "ann")
    table.insert(0, "target", 1e9)
    if form == "csv":
        table.to_csv("new.csv", index=False)
    elif form == "parquet":
        table.to_parquet("new.parquet")  # with a stored index
    else:
        (folder / "new.folder").mkdir()
        table[:120].to_parquet("new.folder/1.parquet")
        table[120:].to_parquet("new.folder/2.parquet")
    answers = expected(models[design], numbers(design)[order])
    result = run(f"{design}.hush --new new.{form} --out found.csv")
    assert result.exit_code == 0, result.exception
    assert pd.read_csv("found.csv").columns.tolist() == ["prediction"]
    assert pd.read_csv("found.csv")["prediction"].tolist() == pytest.approx(answers, rel=1e-9, abs=1e-9)
    assert rows(result.output) == [[str(i + 1), f"{answers[i]:.6g}"] for i in range(SHOWN_LINES)]
    assert "predictions written to found.csv" in result.output and "more records" not in result.output
    printed = json.loads(run(f"{design}.hush --new new.{form} --json").stdout)["predictions"]
    assert [line["prediction"] for line in printed] == pytest.approx(answers, rel=1e-9, abs=1e-9)
    assert "and 280 more records: --out FILE writes all" in run(f"{design}.hush --new new.{form}").output


@pytest.mark.parametrize("design", DATA)
def test_npy_files(folder, models, design):
    X = numbers(design)[::-7]
    np.save("new.npy", X.reshape(-1, *SHAPE) if design == "dense" else X)
    assert run(f"{design}.hush --new new.npy --out found.parquet").exit_code == 0
    found = pd.read_parquet("found.parquet")["prediction"]
    assert found.tolist() == pytest.approx(expected(models[design], X), rel=1e-9, abs=1e-9)


def test_a_model_without_names_takes_columns_in_their_order(folder):
    X, y = DATA["rank_one"].X, DATA["rank_one"].y
    model = PrivateTraceRegression(**TERMS, design="rank_one").fit(X, y)
    model.save("nameless.hush")
    frame("rank_one")[:9].assign(target=0.0).to_csv("new.csv", index=False)
    found = json.loads(run("nameless.hush --new new.csv --json").stdout)["predictions"]
    answers = expected(model, numbers("rank_one")[:9])
    assert [line["prediction"] for line in found] == pytest.approx(answers, rel=1e-9)


def test_nobody_is_left_out_and_what_is_missing_is_said(folder, models, capsys):
    (folder / "new.csv").write_text("thing,place\n0,0\n,\n1,4\nx,1\n2,3\n-1,0\n0.5,0\n")
    command.main(["entry.hush", "--new", "new.csv", "--out", "found.csv", "--json"], standalone_mode=False)
    printed = capsys.readouterr()
    first, last = expected(models["entry"], [(0, 0), (3, 2)])
    answers = [line["prediction"] for line in json.loads(printed.out)["predictions"]]
    assert answers == [pytest.approx(first), None, None, None, pytest.approx(last), None, None]
    np.testing.assert_allclose(pd.read_csv("found.csv")["prediction"], np.array(answers, float), rtol=1e-12)
    missing = "a missing number, or an index that is no entry of the matrix, are not predicted."
    assert printed.err == f"hushrank: new records with {missing}\n"
    frame("dense")[:3].replace(frame("dense").iloc[1, 5], np.inf).to_csv("new.csv", index=False)
    command.main(["dense.hush", "--new", "new.csv"], standalone_mode=False)
    printed = capsys.readouterr()
    assert printed.err == "hushrank: new records with a missing number are not predicted.\n"
    assert [row[1] == "" for row in rows(printed.out)] == [False, True, False]


def test_answers_that_are_no_numbers_are_null():
    assert to_answers(np.array([1.5, np.nan, -np.inf, 0.0])).to_pylist() == [1.5, None, None, 0.0]


def test_a_model_that_learned_nothing_says_so(folder):
    model = PrivateTraceRegression.load("rank_one.hush")
    model.coef_, model.singular_values_, model.intercept_ = np.zeros(SHAPE), np.zeros(1), 2.5
    model.save("empty.hush")
    frame("rank_one")[:3].to_csv("new.csv", index=False)
    result = run("empty.hush --new new.csv")
    assert "nothing stood above the noise of this model: every prediction is its intercept" in result.output
    assert rows(result.output) == [["1", "2.5"], ["2", "2.5"], ["3", "2.5"]]
    assert "nothing stood above" not in run("rank_one.hush --new new.csv").output


def test_nothing_is_learned_and_the_inputs_stay_as_they_are(folder):
    frame("dense")[:5].to_csv("new.csv", index=False)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    first, second = (run("dense.hush --new new.csv --json") for _ in range(2))
    assert first.stdout == second.stdout
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dense.hush --new none.csv", "X of PrivateTraceRegression must be an existing file"),
        ("dense.hush --new none.npy", "X of PrivateTraceRegression must be an existing npy file"),
        ("dense.hush --new new.txt", "a folder of Parquet or CSV files or a file ending in"),
        ("dense.hush --new new.csv", "a table with the column 'm00'"),
        ("dense.hush --new flat.npy", "the n_rows * n_columns entries of a matrix, 12 numbers"),
        ("dense.hush --new turned.npy", "measurements of the shape (4, 3)"),
        ("entry.hush --new broken.csv", "a CSV file whose records have"),
    ],
)
def test_bad_input_writes_nothing(folder, line, message):
    frame("entry")[:4].to_csv("new.csv", index=False)
    np.save("flat.npy", np.zeros((5, 11)))
    np.save("turned.npy", np.zeros((5, 3, 4)))
    (folder / "broken.csv").write_text("place,thing\n1,1\n1,2,3\n")
    error = run(f"{line} --out found.csv").exception
    assert isinstance(error, InvalidParameter) and message in str(error) and "\n" not in str(error)
    assert not (folder / "found.csv").exists()
