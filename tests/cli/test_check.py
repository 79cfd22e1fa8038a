"""`hushrank check`: the same as --check of a command, and a look at a table."""

import json
import shlex
from pathlib import Path

import click
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


def test_a_problem_of_a_file_is_an_exit_code(folder):
    (folder / "a.csv").write_text("a,b\n")
    result = run("a.csv")
    assert result.exit_code == 2 and "problem: there is no record" in result.output


def test_causes_are_told_to_machines(folder):
    ROWS.assign(c="5 %").to_csv("percent.csv", index=False)
    [_, told] = json.loads(run("percent.csv --json").output)["findings"]
    assert told["numbers"] == {
        "cause": "percent", "columns": ["c"], "shares": [1.0], "records": 40, "is_number": True,
    }  # fmt: skip


def test_what_is_neither_file_nor_command_is_refused(folder):
    result = run("pac rows.csv")
    assert result.exit_code == 2 and "'pac' is neither an existing file nor one of pca" in result.output
    assert "did you mean 'pca'?" in result.output and "did you mean 'rows.csv'?" in run("row.csv").output
    assert run("--json").exit_code == 2


def test_an_empty_name_is_not_the_current_folder(folder):
    ROWS.to_parquet("rows.parquet")
    result = CliRunner().invoke(command, [""])
    assert result.exit_code == 2 and "the name of INPUT is empty; give a file, or one of pca" in result.output


def test_names_with_line_breaks_are_in_no_command(folder):
    ROWS.assign(city="Rome").rename(columns={"a": "a\nb"}).to_csv("a.csv", index=False)
    assert run("a.csv").output.endswith("of columns, and look again:\n      hushrank check a.csv\n")


def test_complex_arrays_can_be_checked_as_proposed(folder):
    np.save("a.npy", np.ones((9, 3)) * [1, 1j, 1000])
    line = json.loads(run("a.npy --json").output)["next"]
    assert run(line.removeprefix("hushrank check ").replace("BOUND", "9")).exit_code == 0


@pytest.mark.parametrize("users", ["user", "customer_id"])
def test_updates_of_users_can_be_checked_as_proposed(folder, users):
    table = pd.DataFrame({"row": IDS[:, 0], "column": IDS[:, 1], "delta": 1, users: IDS[:, 0]})
    table.to_csv("u.csv", index=False)
    *steps, line = json.loads(run("u.csv --json").output)["next"].splitlines()
    for step in steps:
        if step.startswith("python"):
            exec(shlex.split(step)[2], {})
    words = [GIVEN.get(word, word) for word in shlex.split(line)[2:]]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 0 and "--unit user" in line and "a counter for every user" in result.output


IDS = np.random.default_rng(0).integers(0, 7, (60, 2))
TEXTS = np.char.add("n", IDS.astype(str))
LISTS = {
    "rows": ROWS.assign(city="Rome"),
    "scales": ROWS.assign(c=1e4),
    "people": ROWS.assign(customer_id=np.arange(40) // 2),
    "records": ROWS.assign(customer_id=np.arange(40) // 2, score=1.0),
    "ratings": pd.DataFrame({"user": IDS[:, 0], "movie": IDS[:, 1], "rating": 3}),
    "views": pd.DataFrame({"user": IDS[:, 0], "movie": IDS[:, 1]}),
    "bills": pd.DataFrame({"hospital": TEXTS[:, 0], "procedure": TEXTS[:, 1], "my bill": np.arange(60.0)}),
    "words": pd.DataFrame({"doc": np.repeat(range(9), 9), "word": np.tile(range(9), 9), "count": 1}),
    "edges": pd.DataFrame({"From": IDS[:, 0], "To": IDS[:, 1]}),
    "follows": pd.DataFrame({"follower": TEXTS[:, 0], "followee": TEXTS[:, 1], "weight": 0.5}),
    "updates": pd.DataFrame({"row": IDS[:, 0], "column": IDS[:, 1], "delta": 1}),
    "own updates": pd.DataFrame({"row": IDS[:, 0], "col": IDS[:, 1], "delta": 1, "user": TEXTS[:, 0]}),
    "named updates": pd.DataFrame({"Row": IDS[:, 0], "column": IDS[:, 1], "Delta": 1, "user_id": TEXTS[:, 0]}),
    "listed records": ROWS.rename(columns={"a": "a, kg"}).assign(user=np.arange(40) // 2, city="Rome", target=1.0),
    "commas": pd.DataFrame({"user": IDS[:, 0], "movie": IDS[:, 1], "rating": "3,5"}),
}
GIVEN = {"BOUND": "9", "LOW": "1", "HIGH": "5", "ROWS": "9", "COLUMNS": "9", "SCALE": "1"}
FILES = {"BOUNDS.csv": "column,low,high\na,0,1\n", "CATALOGUE.csv": "item\n1\n"}
FILES |= dict.fromkeys(("NODES.csv", "ROWS.csv", "COLUMNS.csv"), "id\n" + "\n".join(f"n{i}" for i in range(7)))


@pytest.mark.parametrize("start", ["my", "-"])
@pytest.mark.parametrize("name", LISTS)
def test_what_is_proposed_can_be_pasted(folder, name, start):
    for file, content in FILES.items():
        (folder / file).write_text(content)
    file = f"{start} {name}.csv"
    LISTS[name].to_csv(file, index=False)
    lines = json.loads(CliRunner().invoke(command, [f"./{file}", "--json"]).output)["next"].splitlines()
    commands = [line for line in lines if not line.endswith(":")]
    assert commands
    for line in commands:
        program, *words = shlex.split(line)
        if program == "python":
            assert words[0] == "-c"
            exec(words[1], {"ROWS": 9, "COLUMNS": 9})
            continue
        assert (program, words[0]) == ("hushrank", "check")
        words = [GIVEN.get(word, word) for word in words[1:]]
        name, context = words[0], click.Context(command)
        if name in SUMMARIES:
            values = command.get_command(context, name).make_context(name, words[1:]).params
            assert values["epsilon"] == 1.0 and Path(values["source"]).is_file()
        else:
            assert Path(name).is_file() and len(words) == 1


def test_a_table_elsewhere_is_looked_at(folder):
    for address in (f"local://{folder}/rows.csv", f"file://{folder}/rows.csv"):
        result = run(address)
        assert result.exit_code == 0 and result.output.startswith(f"{address}: ") and "check pca" in result.output
    refused = run("memory://ann:secret@host/gone.csv")
    assert refused.exit_code == 1 and "'memory://host/gone.csv'" in str(refused.exception)
    assert run(f"file://{folder}/gone.csv").exit_code == 2
    result = run(f"pca local://{folder}/rows.csv --components 2 --row-norm 2 --epsilon 1")
    assert result.exit_code == 0 and "40" in result.output
