"""`hushrank covariance`: the matrix as JSON, and a table of its eigenvalues. Input and refusals: test_fit.py."""

import json
import logging

import numpy as np
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.cli.covariance import SHOWN, command
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.report.components import components_page


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    X = np.random.default_rng(3).standard_normal((200, 12)) + 2.0
    np.save(tmp_path / "rows.npy", X)
    return tmp_path / "rows.npy", X


def test_json_holds_the_matrix_and_the_guarantee(rows):
    path, X = rows
    options = "--row-norm 50 --center private --rank 3 --epsilon 2 --delta 1e-6 --neighbors add_remove"
    result = CliRunner().invoke(command, [str(path), *options.split(), "--n-max", "1000", "--seed", "4", "--json"])
    model = PrivateCovariance(
        row_norm=50.0, center="private", rank=3, epsilon=2.0, delta=1e-6, neighbors="add_remove",
        n_max=1000, random_state=4,
    ).fit(X)  # fmt: skip
    printed = json.loads(result.stdout)
    assert printed["covariance_"] == model.covariance_.tolist() and len(printed["eigenvalues_"]) == 3
    assert printed["privacy_"] == model.privacy_.to_dict() and printed["n_"] == model.n_
    assert (
        printed["radius_"] == model.radius_ and printed["eigenvalue_interval_"] == model.eigenvalue_interval_.tolist()
    )


def test_the_former_recipe_is_an_option(rows):
    path, X = rows
    options = "--row-norm 5 --radius public --center private --center-norm 9 --epsilon 2 --seed 4 --json"
    printed = json.loads(CliRunner().invoke(command, [str(path), *options.split()]).stdout)
    terms = {"row_norm": 5.0, "radius": "public", "center": "private", "center_norm": 9.0, "epsilon": 2.0}
    model = PrivateCovariance(**terms, random_state=4).fit(X)
    assert printed["covariance_"] == model.covariance_.tolist() and "radius_" not in printed


def test_the_table_shows_the_largest_eigenvalues(rows, tmp_path):
    path, X = rows
    line = [str(path), "--row-norm", "30", "--epsilon", "1e6", "--out", str(tmp_path / "model"), "--quiet"]
    result = CliRunner().invoke(command, line)
    shown = [float(line.split("│")[2]) for line in result.output.splitlines() if line.startswith("│")]
    expected = np.linalg.eigvalsh(X.T @ X / 200)[::-1][:SHOWN]
    assert shown == pytest.approx(expected, rel=1e-3)
    assert (tmp_path / "model").exists()
    assert "12 of 12 components stand above the noise" in result.output and "radius " in result.output


def test_a_report_and_correlations(rows, tmp_path):
    line = "--column-bounds=-10,10 --standardize after --epsilon 2 --delta 1e-6 --quiet --seed 1".split()
    places = ["--out", str(tmp_path / "model"), "--report", str(tmp_path / "page.html")]
    result = CliRunner().invoke(command, [str(rows[0]), *line, *places])
    assert result.exit_code == 0, result.output
    model = hushrank.load(tmp_path / "model")
    assert np.allclose(np.diag(model.covariance_), 1.0) and model.column_bounds == [-10.0, 10.0]
    assert (tmp_path / "page.html").read_text() == components_page(model)


def test_columns_are_not_chosen_for_a_matrix(rows):
    result = CliRunner().invoke(command, [str(rows[0]), "--select-columns", "private"])
    assert result.exit_code == 2 and "No such option" in result.output


@pytest.mark.parametrize("mechanism", ["gaussian", "wishart", "exponential"])
def test_the_mechanism_is_chosen_by_name(rows, mechanism):
    delta = "1e-6" if mechanism == "gaussian" else "0"
    line = [str(rows[0]), "--row-norm", "5", "--rank", "2", "--epsilon", "1", "--delta", delta, "--quiet", "--json"]
    printed = json.loads(CliRunner().invoke(command, [*line, "--mechanism", mechanism]).stdout)
    assert len(printed["eigenvalues_"]) == 2
    assert printed["privacy_"]["numerics"] == ("idealized" if mechanism == "exponential" else "exact")
