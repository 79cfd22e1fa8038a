"""Options for the names of columns: what reaches the reader, and files of items beside the ratings."""

import click
from click.testing import CliRunner

from hushrank.cli.options import Items
from hushrank.cli.rating_columns import RATING_COLUMN_OPTIONS, item_column, named_columns, read_named_ratings
from hushrank.estimators.completion.estimator import PrivateCompletion


@click.command()
@click.option("--items", type=Items())
@RATING_COLUMN_OPTIONS
def command(items, **names):
    click.echo(f"{named_columns(**names)} {items if items is None else items.to_pylist()}")


def said(*arguments):
    result = CliRunner().invoke(command, arguments)
    return result.output.strip() if result.exception is None else str(result.exception)


def test_names_become_one_dict():
    assert said() == "None None"
    assert said("--user-col", "userId") == "{'user': 'userId'} None"
    assert said("--rating-col", "stars", "--item-col", "film").startswith("{'item': 'film', 'rating': 'stars'}")


def test_files_of_items_have_the_named_column_or_item(tmp_path):
    (tmp_path / "a.csv").write_text("movieId,title\n3,x\n5,y\n")
    (tmp_path / "b.csv").write_text("item,title\n4,x\n")
    (tmp_path / "c.csv").write_text("movieId,item\n3,9\n")
    for order in (1, -1):  # whichever option comes first
        for name, ids in {"a": [3, 5], "b": [4], "c": [3]}.items():
            pair = [("--items", str(tmp_path / f"{name}.csv")), ("--item-col", "movieId")][::order]
            assert said(*pair[0], *pair[1]).endswith(str(ids))
    assert said("--items", str(tmp_path / "c.csv")) == "None [9]"
    assert said("--items", str(tmp_path / "a.csv")).endswith("title'. Did you mean --item-col movieId?")
    assert item_column(None) is None


def test_a_path_stays_one_where_nothing_is_named(tmp_path):
    model = PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=3)
    nothing = {"user_col": None, "item_col": None, "rating_col": None}
    assert read_named_ratings(model, "x.csv", **nothing) == "x.csv"
    (tmp_path / "x.csv").write_text("userId,movieId,stars\n7,1,5\n7,2,1\n8,1,3\n")
    names = {"user_col": "userId", "item_col": "movieId", "rating_col": "stars"}
    ratings = read_named_ratings(model, str(tmp_path / "x.csv"), **names)
    [block] = ratings.blocks()
    assert block.items.tolist() == [1, 2, 1] and block.values.tolist() == [1.0, -1.0, 0.0]
    implicit = PrivateCompletion(1, epsilon=1.0, delta=1e-6, items=3, feedback="implicit")
    assert read_named_ratings(implicit, str(tmp_path / "x.csv"), **names).n_users == 2
