"""`hushrank pca`: help that a newcomer can follow, and a table of the components. Input and refusals: test_fit.py."""

import logging

import numpy as np
import pytest
from click.testing import CliRunner

from hushrank.cli.pca import command


def test_help_explains_input_bound_and_ledger():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    for part in ("Parquet file, a folder", "hushrank pca patients.parquet", "without looking at the data", "plan pca"):
        assert part in text
    for option in ("--components", "--row-norm", "--epsilon", "--delta", "--center", "--ledger", "--out", "--json"):
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
    rows = [line.split("│")[1:5] for line in result.output.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["1", "2"]
    assert [float(row[1]) for row in rows] == pytest.approx([3.0, 4 / 3], rel=0.01)
    assert [row[3].strip() for row in rows] == ["1 (+1.000)", "2 (+1.000)"]
    assert "epsilon=1000.0" in result.output and "model written to" in result.output


def test_directions_without_variances_are_shown_without_them(tmp_path, monkeypatch):
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    np.save(tmp_path / "rows.npy", np.diag([1.0, 3.0, 2.0]).repeat(1000, axis=0))
    line = [str(tmp_path / "rows.npy"), "--components", "1", "--row-norm", "3", "--epsilon", "1000", "--quiet"]
    result = CliRunner().invoke(command, [*line, "--mechanism", "exponential", "--out", str(tmp_path / "model")])
    assert result.exit_code == 0 and "variance" not in result.output
    assert "1 (+1.000)" in result.output and "numerics=idealized" in result.output
