"""Titles: found by ids in every spelling, and harmless on a terminal whatever strangers wrote."""

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hushrank.cli.rating_columns import RATING_COLUMN_OPTIONS
from hushrank.cli.titles import MOST_CHARACTERS, TITLE_OPTIONS, Titles, given_titles, read_titles
from hushrank.exceptions import InvalidParameter


@pytest.fixture
def movies(tmp_path):
    path = tmp_path / "movies.csv"
    path.write_text('movieId,title,genres\n7,"Heat (1995)",x\n007,late,x\n08,Jaws,y\n9,,z\n,nobody,z\n')
    return path


def test_titles_by_id(movies, tmp_path):
    assert read_titles(movies, [8, 7, 9, 10], item_column="movieId") == ["Jaws", "Heat (1995)", "9", "10"]
    assert read_titles(movies, ["8", "x"], item_column="movieId", title_column="genres") == ["y", "x"]
    pq.write_table(pa.table({"name": ["tea", None], "item": [3, 4]}), tmp_path / "x.parquet")
    assert Titles(tmp_path / "x.parquet").of([4, 3]) == ["4", "tea"] and Titles(tmp_path / "x.parquet").of([]) == []
    (tmp_path / "x.tsv").write_text("title\titem\nrye\tr 1\n")
    assert read_titles(tmp_path / "x.tsv", ["r 1"]) == ["rye"]


def test_odd_titles_steer_nothing(tmp_path):
    content = 'item,title\n1,"\x1b[31mred\nline"\n2,\u202eback\n3,'.encode() + b"\xff bytes\n4," + b"x" * 5000 + b"\n"
    (tmp_path / "x.csv").write_bytes(content)
    red, back, odd, long = read_titles(tmp_path / "x.csv", [1, 2, 3, 4])
    assert (red, back, odd) == ("\\x1b[31mred\\nline", "\\u202eback", "\ufffd bytes")
    assert len(long) == MOST_CHARACTERS and long.endswith("x...")


def test_missing_columns_are_guessed(movies, tmp_path):
    assert read_titles(movies, [1]) == read_titles(movies, [1], item_column="movieId")
    (tmp_path / "films.csv").write_text("xitem,title\n1,x\n")
    with pytest.raises(InvalidParameter) as refusal:
        read_titles(tmp_path / "films.csv", [1])
    assert str(refusal.value) == (
        "file of titles must be a table with the columns item and title; got films.csv: no column 'item'. "
        "Did you mean --item-col xitem?"
    )
    (tmp_path / "x.csv").write_text("item,booktitle\n1,x\n")
    with pytest.raises(InvalidParameter, match=r"no column 'title'. Did you mean --title-col booktitle\?"):
        read_titles(tmp_path / "x.csv", [1])
    with pytest.raises(InvalidParameter, match=r"columns item and label; got x.csv: no column 'label'"):
        read_titles(tmp_path / "x.csv", [1], title_column="label")


@click.command()
@TITLE_OPTIONS
@RATING_COLUMN_OPTIONS
def command(**_):
    titles = given_titles()
    click.echo("none" if titles is None else titles.of([7])[0])


def test_options_in_any_order(movies):
    assert given_titles() is None and CliRunner().invoke(command, []).output == "none\n"
    pair = [["--titles", str(movies)], ["--item-col", "movieId"], ["--title-col", "genres"]]
    for order in (1, -1):
        assert CliRunner().invoke(command, [word for part in pair[::order] for word in part]).output == "x\n"


def test_items_without_a_title_are_told_once(movies, capsys):
    titles = Titles(movies, "movieId")
    assert titles.note_missing([7, 8]) == 2 and capsys.readouterr().err == ""
    assert [titles.note_missing([7, 9, 10]) for _ in range(2)] == [1, 1]  # that of 9 is empty
    told = capsys.readouterr().err
    assert told == f"hushrank: 2 of 3 items have no title in {movies}: their ids are shown\n"
    assert Titles(movies, "movieId").note_missing([1]) == 0
    assert "1 of 1 items have no title" in (told := capsys.readouterr().err) and "are the ids of both the same?" in told
