"""`hushrank lowrank`: options reach the estimator, results are printed and written."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.cli.main import cli
from hushrank.exceptions import InvalidParameter
from hushrank.report.components import components_page


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(0).standard_normal((80, 4)))
    return path


def run(*arguments):
    return CliRunner().invoke(cli, ["lowrank", *map(str, arguments), "--row-norm", "2", "--epsilon", "1", "--quiet"])


def test_a_model_is_written_and_described(table, tmp_path):
    out = tmp_path / "low.hush"
    result = run(table, "--rank", 2, "--out", out)
    assert result.exit_code == 0, result.output
    assert "private 4 x 4 matrix of rank 2" in result.output and "epsilon=1, delta=0" in result.output
    model = hushrank.load(out)
    assert model.matrix_.shape == (4, 4) and model.rank == 2
    assert "components stand" in result.output and f"radius {model.radius_:.6g}" in result.output


def test_a_report_is_written(table, tmp_path):
    result = run(table, "--rank", 2, "--out", tmp_path / "low.hush", "--report", tmp_path / "page.html", "--seed", 3)
    assert result.exit_code == 0 and "report written to" in result.output
    page = (tmp_path / "page.html").read_text()
    assert page == components_page(hushrank.load(tmp_path / "low.hush")) and "A private matrix of low rank" in page


def test_options_reach_the_estimator(table):
    drawn = ["--mechanism", "exponential", "--radius", "public", "--json"]
    result = run(table, "--eigenvalues", "1,3", "--strategy", "sequential", *drawn)
    found = json.loads(result.stdout)
    assert found["eigenvalues_"] == [3.0, 1.0] and "alignment_" not in found
    assert found["privacy_"]["event"]["type"] == "Repeated" and found["privacy_"]["numerics"] == "idealized"
    result = run(table, "--rank", 2, "--share", 0.2, *drawn)
    events = json.loads(result.stdout)["privacy_"]["event"]["events"]
    assert [event["epsilon"] for event in events] == pytest.approx([0.2, 0.8], rel=1e-12)


def test_complex_results_are_two_arrays(tmp_path):
    path = tmp_path / "complex.npy"
    rng = np.random.default_rng(1)
    np.save(path, rng.standard_normal((50, 3)) + 1j * rng.standard_normal((50, 3)))
    found = json.loads(run(path, "--rank", 1, "--field", "complex", "--json").stdout)
    assert np.shape(found["matrix_"]["real"]) == np.shape(found["matrix_"]["imaginary"]) == (3, 3)
    with pytest.raises(InvalidParameter, match="Complex data not supported"):
        raise run(path, "--rank", 1, "--json").exception


def test_missing_rank_is_refused(table):
    error = run(table, "--json").exception
    assert isinstance(error, InvalidParameter) and error.name == "rank"
