"""`hushrank stream --check` reads files, for new sketches."""

import pytest
from click.testing import CliRunner

from hushrank.cli.main import load

TERMS = "--shape 3 4 --rank 1 --epsilon 1 --delta 1e-6"


def run(line):
    return CliRunner().invoke(load("stream"), f"{line} --check".split())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.csv").write_text("row,column,delta\n1,1,1\n3,4,x\n2,2,9\n")
    return tmp_path


def test_updates_that_would_end_a_run_are_a_problem(folder):
    result = run(f"u.csv {TERMS}")
    assert result.exit_code == 2 and "rows and columns count from 1" in result.output
    assert "1 of 3 updates (33 %) are larger than 1 and would be clipped" in result.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (TERMS, "give INPUT"),
        (f"- {TERMS}", "give INPUT"),
        (f"u.csv {TERMS} --resume --checkpoint c", "--check is for a new sketch"),
        ("u.csv --shape 3 4 --rank 1", "Missing option '--epsilon'"),
    ],
)
def test_what_cannot_be_checked_is_refused(folder, line, message):
    result = run(line)
    assert result.exit_code == 2 and message in result.output
