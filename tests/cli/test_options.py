"""Shared options: the center, and plans in two forms."""

import json

import click
import numpy as np
import pytest

from hushrank.cli.options import COMPLETION_OPTIONS, SECOND_MOMENT_OPTIONS, Items, Vector, options, print_plan
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.planning import plan_gram


def test_a_center_is_a_word_numbers_or_a_file(tmp_path):
    np.save(tmp_path / "center.npy", [1.5, 2.5])
    convert = Vector(("private",)).convert
    assert convert("private", None, None) == "private"
    assert convert("1,-2.5, 3e2", None, None) == [1.0, -2.5, 300.0]
    assert convert(str(tmp_path / "center.npy"), None, None).tolist() == [1.5, 2.5]
    (tmp_path / "empty.npy").touch()
    for wrong in ("public", "1;2", str(tmp_path / "none.npy"), str(tmp_path / "empty.npy"), ""):
        with pytest.raises(click.BadParameter, match="is not 'private', numbers separated by commas"):
            convert(wrong, None, None)


def test_plans_print_for_people_and_for_machines(capsys):
    plan = plan_gram(Budget(1.0), 1.0, 3)
    print_plan(plan, as_json=True)
    assert json.loads(capsys.readouterr().out) == plan.to_dict()
    print_plan(plan, as_json=False)
    assert capsys.readouterr().out == f"{plan}\n"


def test_help_lists_options_in_their_order():
    @click.command()
    @options(click.option("--first"), click.option("--second"))
    def command(**_):
        """Nothing."""

    assert [option.name for option in command.params] == ["first", "second"]


@pytest.mark.parametrize(
    ("shared", "estimator", "names"),
    [
        (SECOND_MOMENT_OPTIONS, PrivatePCA, ("mechanism", "field", "strategy")),
        (COMPLETION_OPTIONS, PrivateCompletion, ("method", "feedback")),
    ],
)
def test_the_choices_are_the_words_of_the_estimators(shared, estimator, names):
    """The lists stand twice, so that --help does not have to load the estimators."""
    decorated = shared(click.command()(lambda **_: None))
    choices = {
        option.name: tuple(option.type.choices) for option in decorated.params if hasattr(option.type, "choices")
    }
    table = estimator.parameter_table()
    assert choices == {name: table[name].words for name in names}


def test_items_are_a_count_or_a_file(tmp_path):
    (tmp_path / "items.csv").write_text("item\ntea\njam\n")
    convert = Items().convert
    assert convert("12", None, None) == 12 and convert("-1", None, None) == -1 and convert(5, None, None) == 5
    assert convert(str(tmp_path / "items.csv"), None, None).to_pylist() == ["tea", "jam"]
    with pytest.raises(InvalidParameter, match="must be an existing file"):
        convert("1.5", None, None)
