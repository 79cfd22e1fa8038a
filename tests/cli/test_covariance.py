"""`hushrank covariance`: the matrix as JSON, and a table of its eigenvalues. Input and refusals: test_fit.py."""

import json
import logging

import numpy as np
import pytest
from click.testing import CliRunner

from hushrank.cli.covariance import SHOWN, command
from hushrank.estimators.second_moment.covariance import PrivateCovariance


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    X = np.random.default_rng(3).standard_normal((200, 12)) + 2.0
    np.save(tmp_path / "rows.npy", X)
    return tmp_path / "rows.npy", X


def test_json_holds_the_matrix_and_the_guarantee(rows):
    path, X = rows
    options = "--row-norm 5 --center private --center-norm 9 --rank 3 --epsilon 2 --delta 1e-6 --neighbors add_remove"
    result = CliRunner().invoke(command, [str(path), *options.split(), "--n-max", "1000", "--seed", "4", "--json"])
    model = PrivateCovariance(
        row_norm=5.0, center="private", center_norm=9.0, rank=3, epsilon=2.0, delta=1e-6, neighbors="add_remove",
        n_max=1000, random_state=4,
    ).fit(X)  # fmt: skip
    printed = json.loads(result.stdout)
    assert printed["covariance_"] == model.covariance_.tolist() and len(printed["eigenvalues_"]) == 3
    assert printed["privacy_"] == model.privacy_.to_dict() and printed["n_"] == model.n_


def test_the_table_shows_the_largest_eigenvalues(rows, tmp_path):
    path, X = rows
    line = [str(path), "--row-norm", "30", "--epsilon", "1e6", "--out", str(tmp_path / "model"), "--quiet"]
    result = CliRunner().invoke(command, line)
    shown = [float(line.split("│")[2]) for line in result.output.splitlines() if line.startswith("│")]
    expected = np.linalg.eigvalsh(X.T @ X / 200)[::-1][:SHOWN]
    assert shown == pytest.approx(expected, rel=1e-3)
    assert (tmp_path / "model").exists()


@pytest.mark.parametrize("mechanism", ["gaussian", "wishart", "exponential"])
def test_the_mechanism_is_chosen_by_name(rows, mechanism):
    delta = "1e-6" if mechanism == "gaussian" else "0"
    line = [str(rows[0]), "--row-norm", "5", "--rank", "2", "--epsilon", "1", "--delta", delta, "--quiet", "--json"]
    printed = json.loads(CliRunner().invoke(command, [*line, "--mechanism", mechanism]).stdout)
    assert len(printed["eigenvalues_"]) == 2
    assert printed["privacy_"]["numerics"] == ("idealized" if mechanism == "exponential" else "exact")
