"""`hushrank pca`: help that a newcomer can follow, and a table of the components. Input and refusals: test_fit.py."""

import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.cli import fit
from hushrank.cli.pca import command
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger import Ledger
from hushrank.report.components import components_page


def test_help_explains_input_bound_and_ledger():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    told = "Parquet file, a CSV file with a header, a folder of them"
    for part in (told, "hushrank pca patients.parquet", "without looking at the data", "plan pca"):
        assert part in text
    for option in ("--components", "--row-norm", "--epsilon", "--delta", "--center", "--ledger", "--out", "--json"):
        assert option in text
    for option in ("--radius", "--column-bounds", "--standardize", "--select-columns", "--rows", "--report"):
        assert option in text


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_the_table_shows_variance_and_loading_of_each_component(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    X = np.diag([1.0, 3.0, 2.0]).repeat(1000, axis=0)  # second moments 1/3, 3 and 4/3
    path = tmp_path / f"rows.{suffix}"
    np.save(path, X) if suffix == "npy" else np.savez(path, X)
    out = tmp_path / "model"
    line = [str(path), "--components", "2", "--row-norm", "3", "--epsilon", "1000", "--out", str(out), "--quiet"]
    result = CliRunner().invoke(command, line)
    assert result.exit_code == 0 and out.exists()
    rows = [line.split("│")[1:8] for line in result.output.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["1", "2"]
    assert [float(row[1]) for row in rows] == pytest.approx([3.0, 4 / 3], rel=0.01)
    assert [row[5].strip() for row in rows] == ["1 (+1.000)", "2 (+1.000)"]
    assert [row[6].strip() for row in rows] == ["", ""] and "2 of 2 components stand above the noise" in result.output
    assert "radius 3 around the origin: a longer row" in result.output and "report" not in result.output
    assert "epsilon=1000, delta=0" in result.output and "model written to" in result.output


def test_directions_without_variances_are_shown_without_them(tmp_path, monkeypatch):
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    np.save(tmp_path / "rows.npy", np.diag([1.0, 3.0, 2.0]).repeat(1000, axis=0))
    line = [str(tmp_path / "rows.npy"), "--components", "1", "--row-norm", "3", "--epsilon", "1000", "--quiet"]
    result = CliRunner().invoke(command, [*line, "--mechanism", "exponential", "--out", str(tmp_path / "model")])
    assert result.exit_code == 0 and "variance" not in result.output
    assert "1 (+1.000)" in result.output and "numerics=idealized" in result.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.uniform(18, 90, 500), rng.uniform(0, 9e4, 500), rng.uniform(0, 1, 500)])
    pd.DataFrame(X, columns=["age, years", "income", "share"]).to_csv("people.csv", index=False)
    Path("bounds.csv").write_text('column,low,high\n"age, years",0,120\nincome,0,1e5\nshare,0,1\n')
    return X


def run(line):
    return CliRunner().invoke(command, f"people.csv --components 2 --epsilon 4 --quiet --seed 7 {line}".split())


@pytest.mark.parametrize(
    ("line", "terms"),
    [
        ("--column-bounds bounds.csv", {"column_bounds": [(0, 120), (0, 1e5), (0, 1)]}),
        ("--column-bounds 0,1e5 --standardize after", {"column_bounds": (0, 1e5), "standardize": "after"}),
        ("--row-norm 1e6 --rows 400", {"row_norm": 1e6, "n_samples": 400}),
        ("--row-norm 1e6 --standardize private", {"row_norm": 1e6, "standardize": "private"}),
        ("--row-norm 1e6 --select-columns private", {"row_norm": 1e6, "select_columns": "private"}),
        ("--row-norm 1e5 --radius public", {"row_norm": 1e5, "radius": "public"}),
        ("--row-norm 1e6 --center private --delta 1e-6", {"row_norm": 1e6, "center": "private", "delta": 1e-6}),
    ],
)  # fmt: skip
def test_options_of_rows_and_columns_reach_the_fit(folder, line, terms):
    result = run(f"{line} --json")
    assert result.exit_code == 0, result.output
    model = PrivatePCA(2, epsilon=4.0, random_state=7, **terms).fit(folder)
    found = json.loads(result.stdout)
    assert found["components_"] == model.components_.tolist() and found.get("radius_") == getattr(
        model, "radius_", None
    )
    assert found["alignment_"] == model.alignment_.tolist() and found["n_significant_"] == model.n_significant_


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--json", "row_norm of PrivatePCA must be a finite float > 0 unless column_bounds are given; got None."),
        ("--column-bounds 0,1 --radius public --json", "column_bounds of PrivatePCA must be None unless radius"),
        ("--row-norm 1 --standardize after --mechanism exponential --json", "must be None for mechanism='exponential'"),
        ("--row-norm 1 --select-columns private --radius public --json", "select_columns of PrivatePCA must be None"),
        ("--row-norm 1 --center private --center-norm 2 --json", "center_norm of PrivatePCA must be None unless"),
        ("--column-bounds 1,0 --json", "column_bounds of PrivatePCA must be (low, high) for all columns"),
        ("--column-bounds short.csv --json", "or 3 pairs, one for a column; got '2 pairs'."),
        ("--row-norm 1e-200 --json", "row_norm of PrivatePCA must be between 1e-94 and 1e+94"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_before_the_charge(folder, line, message):
    Path("short.csv").write_text("low,high\n0,1\n0,1\n")
    with Ledger("budget.db") as ledger:
        ledger.create("people", epsilon=9)
        words = f"people.csv --components 2 --epsilon 4 --quiet --ledger budget.db --dataset people {line}".split()
        result = CliRunner().invoke(command, words)
        assert isinstance(result.exception, InvalidParameter) and message in str(result.exception)
        assert "\n" not in str(result.exception) and len(ledger["people"].history()) == 1


@pytest.mark.parametrize("line", ["--radius loose", "--standardize before", "--select-columns all", "--rows 1.5"])
def test_words_that_are_no_choice_are_refused(folder, line):
    result = run(f"--row-norm 1 {line} --json")
    assert result.exit_code == 2 and "Invalid value for" in result.output


def test_a_report_is_written_after_the_model(folder):
    result = run("--column-bounds bounds.csv --out model --report page.html")
    assert result.exit_code == 0 and result.output.endswith("model written to model\nreport written to page.html\n")
    assert Path("page.html").read_text(encoding="utf-8") == components_page(hushrank.load("model"))
    printed = run("--column-bounds bounds.csv --json --report again.html")
    assert json.loads(printed.stdout)["n_features_in_"] == 3
    assert Path("again.html").read_bytes() == Path("page.html").read_bytes()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--json --report people.csv", "--report people.csv would overwrite the data or the ledger"),
        ("--json --report budget.db", "--report budget.db would overwrite the data or the ledger"),
        ("--out model --report ./model", "--out and --report are different files"),
        ("--json --report nowhere/page.html", "cannot write nowhere/page.html"),
        ("--report page.html", "Say where the result goes: --out FILE, or --json"),
    ],
)
def test_a_report_without_a_place_is_refused_before_the_charge(folder, line, message):
    with Ledger("budget.db") as ledger:
        ledger.create("people", epsilon=9)
        words = "people.csv --components 2 --epsilon 4 --column-bounds 0,1 --ledger budget.db --dataset people".split()
        result = CliRunner().invoke(command, [*words, *line.split()])
        assert result.exit_code != 0 and message in f"{result.output} {result.exception}"
        assert len(ledger["people"].history()) == 1 and Path("people.csv").read_text().startswith('"age, years"')
        assert not Path("model").exists() and not Path("page.html").exists()


def test_a_report_that_cannot_be_written_after_all_costs_the_report_only(folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fit, "write_text", full)
    result = run("--column-bounds 0,1 --out model --report page.html")
    assert result.exit_code == 1 and "cannot write page.html: No space left on device; " in result.output
    assert hushrank.load("model").components_.shape == (2, 3)
