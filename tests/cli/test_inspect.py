"""`hushrank inspect` prints what `hushrank.inspect` finds, and says that it is not private."""

import json

import numpy as np
import pandas as pd
from click.testing import CliRunner

import hushrank
from hushrank.cli.inspect import command


def test_text_and_json_are_the_report(tmp_path):
    X = np.array([[3.0, 4.0, 0.0], [np.nan, 1.0, 0.0], [1.0, 0.0, 0.0]])
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=["a", "b", "c"]).to_csv(path, index=False)
    line = [str(path), "--row-norm", "2", "--columns", "b,a", "--center", "0,1"]
    report = hushrank.inspect(X[:, [1, 0]], row_norm=2.0, center=[0.0, 1.0])
    result = CliRunner().invoke(command, line)
    assert result.exit_code == 0 and result.output == f"{report}\n"
    assert "not private" in result.output
    assert json.loads(CliRunner().invoke(command, [*line, "--json"]).output) == report.to_dict()


def test_files_of_complex_rows(tmp_path):
    Z = np.array([[3j, 4.0], [np.nan, 1j], [1j, 0.0]])
    np.save(tmp_path / "rows.npy", Z)
    np.savez(tmp_path / "rows.npz", Z)
    report = hushrank.inspect(Z, row_norm=2.0)
    assert (report.largest_norm, report.longer_rows, report.not_finite_rows) == (5.0, 1, 1)
    for name in ("rows.npy", "rows.npz"):
        result = CliRunner().invoke(command, [str(tmp_path / name), "--row-norm", "2", "--json"])
        assert result.exit_code == 0 and json.loads(result.output) == report.to_dict()


def test_a_private_center_makes_no_sense_here():
    result = CliRunner().invoke(command, ["rows.csv", "--center", "private"])
    assert result.exit_code == 2 and "is not numbers separated by commas, or an .npy file" in result.output
