"""Commands that are proposed: what they name, and how they are quoted; `tests/cli/test_check.py` pastes them."""

import shlex
from pathlib import Path

import pandas as pd

from hushrank.data.next_steps import (
    complete_steps,
    edge_steps,
    entry_steps,
    group_steps,
    look_again,
    pca_steps,
    personalize_steps,
    stream_steps,
)


def test_names_are_quoted_for_the_shell_and_for_python(tmp_path):
    path, user = tmp_path / "it's $HOME.tsv", 'the "user"\'s \\ é'
    pd.DataFrame({user: ["a", "a", "b"], "x": [1.0, 3.0, 5.0]}).to_csv(path, sep="\t", index=False)
    words, code, look = group_steps(path, user).splitlines()
    exec(shlex.split(code)[2], {})
    out = Path(shlex.split(look)[2])
    assert words.endswith(":") and out.parent == tmp_path and pd.read_csv(out)["x"].tolist() == [2.0, 5.0]
    told = shlex.split(personalize_steps(path, user, "y", ["a", "b"], 2))
    assert told[3] == str(path) and told[told.index("--user") + 1] == user and told[-2:] == ["--delta", "1e-6"]


def test_edges_are_renamed_and_numbered_by_a_public_list(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("NODES.csv").write_text("id\nann\nbob\neve\n")
    pd.DataFrame({"from": ["bob", "ann"], "to": ["eve", "joe"]}).to_parquet("e.parquet")
    _, code, stream = edge_steps(Path("e.parquet"), ("from", "to"), "", is_numbered=False, is_bounded=True).splitlines()
    exec(shlex.split(code)[2], {})
    table = pd.read_csv("e_updates.csv")
    assert table[["row", "column", "delta"]].values.tolist() == [[1, 2, 1], [0, -1, 1]]
    assert stream == stream_steps(Path("e_updates.csv")) and "--bound" not in stream
    weighted = edge_steps(Path("e.csv"), ("row", "column"), "delta", is_numbered=True, is_bounded=False)
    assert "rename" not in weighted and "assign" not in weighted and "--bound BOUND" in weighted


def test_entries_are_answers_or_counts():
    names = ("a", "b", "c")
    answers = entry_steps(Path("x.csv"), names, is_numbered=True, is_count=False)
    assert "check trace x.csv --design entry" in answers and "stream" not in answers and "ROWS.csv" not in answers
    counts = entry_steps(Path("x.csv"), names, is_numbered=False, is_count=True)
    assert "trace" not in counts and "check stream x_updates.csv" in counts and 'read_csv("x_numbered.csv")' in counts


def test_rows_are_centered_and_ratings_are_named():
    path = Path("x.csv")
    assert " --columns a,b --components 1 --row-norm BOUND --center private " in pca_steps(path, ["a", "b"], 1)
    told = complete_steps(path, {"user": "user", "item": "my film", "rating": ""})
    assert "--user-col" not in told and "--item-col 'my film'" in told and "--feedback implicit" in told
    assert look_again(path, "mend it") == "mend it, and look again:\nhushrank check x.csv"
