"""`hushrank check`: the same as --check of a command, and a look at a table."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from hushrank.cli.check import SUMMARIES, command
from hushrank.cli.main import load
from hushrank.registry import COMMANDS

ROWS = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "c"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("rows.csv", index=False)
    return tmp_path


def run(line):
    return CliRunner().invoke(command, line.split())


def test_it_is_the_check_of_the_command(folder):
    line = "rows.csv --components 2 --row-norm 2 --epsilon 1 --columns a,b"
    result = run(f"pca {line}")
    assert result.exit_code == 0 and result.output == CliRunner().invoke(load("pca"), f"{line} --check".split()).output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_fit_can_be_checked_with_its_options(name):
    result = run(f"{name} --help")
    assert result.exit_code == 0 and SUMMARIES[name] in " ".join(result.output.split())
    options = {param.name for param in load(name).params} - {"is_check"}
    assert {param.name for param in command.get_command(None, name).params} == options


def test_a_stream_is_checked(folder):
    (folder / "u.csv").write_text("row,column,delta\n0,1,1\n")
    assert run("stream u.csv --shape 3 4 --rank 1 --epsilon 1").exit_code == 0


def test_a_file_alone_is_looked_at(folder):
    result = run("rows.csv")
    assert result.exit_code == 0 and "it looks like rows of 3 columns" in result.output
    assert "next: hushrank check pca rows.csv" in result.output and "NOT PRIVATE" in result.output
    told = json.loads(run("rows.csv --json").output)
    assert (
        told["kind"] == "rows" and told["columns"] == ["a", "b", "c"] and told["next"].startswith("hushrank check pca")
    )


def test_what_is_neither_file_nor_command_is_refused(folder):
    result = run("pac rows.csv")
    assert result.exit_code == 2 and "'pac' is neither an existing file nor one of pca" in result.output
    assert run("--json").exit_code == 2
