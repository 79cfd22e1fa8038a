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
    unbroken_steps,
    update_steps,
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


def test_a_name_that_starts_with_a_dash_is_no_option():
    path = Path("./-a.csv")
    steps = [look_again(path, "mend it"), pca_steps(path, [], 2), stream_steps(path), group_steps(path, "user")]
    steps += [personalize_steps(path, "u", "y", [], 2), complete_steps(path, dict.fromkeys(("user", "rating"), ""))]
    for line in "\n".join(steps).splitlines():
        words = [] if line.endswith(":") else shlex.split(line)
        assert not words or words[0] == "python" or any(word.startswith("./-a") for word in words[2:4]), line


def test_lists_of_names_have_no_commas_and_lines_no_breaks():
    path = Path("x.csv")
    assert "--columns separates" in pca_steps(path, ["a, kg", "b"], 2) and "pca" not in pca_steps(path, ["a, kg"], 1)
    assert "--features separates" in personalize_steps(path, "u", "y", ["a, kg"], 1)
    assert "--user 'u, v'" in personalize_steps(path, "u, v", "y", ["a"], 1)
    for sign in ("\n", "\r", "\u2028"):
        name = f"a{sign}b"
        assert unbroken_steps(path, [name], pca_steps(path, [name], 1)) == look_again(
            path, "take line breaks out of the names of columns"
        )
        assert "hushrank" not in unbroken_steps(Path(name), [], look_again(Path(name), "mend it"))
    assert unbroken_steps(path, ["", "a", "b\nc"], pca_steps(path, ["a"], 1)) == pca_steps(path, ["a"], 1)


def test_updates_are_renamed_where_a_stream_would_not_know_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("u.csv")
    assert update_steps(path, ["row", "col", "delta", "note"]) == stream_steps(path)
    assert update_steps(path, ["row", "column", "delta", "user"], "user").splitlines()[1:] == [
        stream_steps(path, has_users=True)
    ]
    table = pd.DataFrame({"Row": [3], "col": [1], "column": [2], "delta": [0.5], "user": [8], "member_id": ["x"]})
    table.to_csv(path, index=False)
    _, code, words, line = update_steps(path, list(table), "member_id").splitlines()
    exec(shlex.split(code)[2], {})
    made = pd.read_csv("u_updates.csv")
    assert made.to_dict("list") == {"row": [3], "column": [2], "delta": [0.5], "user": ["x"]}
    table.set_index("member_id").to_parquet("v.parquet")
    exec(shlex.split(update_steps(Path("v.parquet"), list(table), "member_id").splitlines()[1])[2], {})
    assert Path("v_updates.csv").read_bytes() == Path("u_updates.csv").read_bytes()
    assert "BOUND is what" in words and line == stream_steps(Path("u_updates.csv"), has_users=True)
    assert "--unit user --bound BOUND" in line and "--unit" not in stream_steps(path, is_bounded=False)


def test_complex_rows_have_no_limits_of_columns():
    told = pca_steps(Path("x.npy"), (), 3, has_scales=True, is_complex=True)
    assert told.startswith("hushrank check pca x.npy --field complex --components 2 --row-norm BOUND ")


def test_files_of_a_folder_are_brought_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits").mkdir()
    (tmp_path / "visits" / "1.tsv").write_text("user\tage\nann\t1\nbob\t5\n")
    (tmp_path / "visits" / "2.tsv").write_text("age\tuser\n3\tann\n")
    _, line, check = group_steps(Path("visits"), "user").splitlines()
    exec(shlex.split(line)[2], {})
    assert pd.read_csv("visits_by_person.csv").to_dict("list") == {"user": ["ann", "bob"], "age": [2.0, 5.0]}
    assert check == "hushrank check visits_by_person.csv"
