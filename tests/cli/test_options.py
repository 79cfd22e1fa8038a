"""Options from parameter tables: how each kind of line is written, read and shown."""

import click
import numpy as np
import pytest
from click.testing import CliRunner

from hushrank.base import PrivateRelease
from hushrank.cli.options import (
    BUDGET_OPTIONS,
    MOST_BOUNDS_BYTES,
    Bounds,
    ItemIds,
    Items,
    ItemTable,
    NumberOrWord,
    Vector,
    options,
    parameter_options,
    size_options,
    split_names,
    table_options,
    to_type,
)
from hushrank.estimators.completion.parameters import FeaturesParam, NewItemsParam
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import PairParam, Param
from hushrank.registry import COMMANDS, planner
from option_support import Reached, option_of, options_in, required_words, with_options, written

TABLE = {
    "length": Param(float, above=0, help="How long."),
    "n_sides": Param(int, minimum=3, default=4, option="sides", help="How many sides."),
    "is_open": Param(bool, default=True, option="open", help="Whether it is open."),
    "color": Param(words=("red", "blue"), default="red", help="Which color."),
    "middle": Param(np.ndarray, words=("any",), optional=True, default=None, help="Where."),
    "corner": Param(np.ndarray, optional=True, default=None, metavars=("X", "Y"), help="Which corner."),
    "grid": PairParam(tuple, minimum=1, optional=True, default=None, metavars=("ROWS", "COLUMNS"), help="Which grid."),
    "width": Param(float, above=0, words=("auto",), default="auto", help="How wide."),
    "ledger": Param(dict, default=None, option=None),
}


def made_by(decorator):
    @click.command()
    @decorator
    def command(**values):
        raise Reached(values)

    return command


def values_from(decorator, words):
    result = CliRunner().invoke(made_by(decorator), words)
    assert isinstance(result.exception, Reached), result.output
    return result.exception.values


def test_values_arrive_by_the_names_of_parameters_and_others_have_their_defaults():
    words = ["--length", "2", "--sides", "5", "--no-open", "--color", "blue", "--middle", "1,2", "--corner", "3", "-4"]
    words += ["--grid", "7", "-9", "--width", "0.5"]
    expected = {"length": 2.0, "n_sides": 5, "is_open": False, "color": "blue", "middle": [1.0, 2.0], "width": 0.5}
    found = values_from(table_options(TABLE), words)
    assert found == {**expected, "corner": (3.0, -4.0), "grid": (7, -9)}
    assert [type(number) for number in found["grid"]] == [int, int]  # whether they fit is for the table to say
    defaults = {name: line.default for name, line in TABLE.items() if name not in ("length", "ledger")}
    assert values_from(table_options(TABLE), ["--length", "2"]) == {"length": 2.0, **defaults}
    assert values_from(table_options(TABLE), ["--length", "2", "--middle", "any"])["middle"] == "any"


def test_help_shows_every_line_in_its_order():
    shown = CliRunner().invoke(made_by(table_options(TABLE)), ["--help"], terminal_width=200).output
    lines = [" ".join(line.split()) for line in shown.partition("Options:\n")[2].splitlines()]
    assert lines[:-1] == [
        "--length FLOAT How long. [required]",
        "--sides INTEGER How many sides. [default: 4]",
        "--open / --no-open Whether it is open. [default: open]",
        "--color [red|blue] Which color. [default: red]",
        "--middle VECTOR Where.",
        "--corner X Y Which corner.",
        "--grid ROWS COLUMNS Which grid.",
        "--width NUMBER How wide. [default: auto]",
    ]


@pytest.mark.parametrize(
    "words",
    [[], ["--length", "x"], ["--length", "1", "--color", "green"], ["--ledger", "x"], ["--length", "1", "--grid", "5"],
     ["--length", "1", "--grid", "5", "5.5"], ["--length", "1", "--width", "none"]],
)  # fmt: skip
def test_what_does_not_fit_the_table_is_refused(words):
    result = CliRunner().invoke(made_by(table_options(TABLE)), words)
    assert result.exit_code == 2 and "Error: " in result.output


@pytest.mark.parametrize("line", [Param(dict), Param(int, words=("any",)), Param()])
def test_a_line_without_a_way_to_write_it_is_noticed_when_the_command_is_made(line):
    with pytest.raises(TypeError, match=r"^thing cannot be read from a command line"):
        table_options({"thing": line})


def test_own_parameters_stand_before_those_of_every_release():
    class Kite(PrivateRelease):
        _params = {"delta": Param(float, help="Required here."), "tail": Param(int, default=1)}  # noqa: RUF012

    shown = made_by(parameter_options(Kite))
    assert [param.name for param in shown.params] == ["tail", "epsilon", "delta", "neighbors"]
    assert {param.name for param in shown.params if param.required} == {"epsilon", "delta"}
    assert options_in(made_by(parameter_options(Kite, without={"tail"}))) == {"--epsilon", "--delta", "--neighbors"}


def test_the_budget_is_that_of_the_table():
    assert values_from(BUDGET_OPTIONS, ["--epsilon", "2"]) == {"epsilon": 2.0, "delta": 0.0, "neighbors": "replace"}


def test_sizes_are_counts_and_those_that_parameters_tell_are_not_asked_for():
    sizes = {"n_rows": Param(int, minimum=1, option="rows"), "n_known": Param(int, minimum=1, option=None)}
    assert values_from(size_options(sizes), ["--rows", "5"]) == {"n_rows": 5}
    for words in ([], ["--rows", "0"], ["--rows", "1.5"]):
        assert CliRunner().invoke(made_by(size_options(sizes)), words).exit_code == 2


@pytest.mark.parametrize("name", COMMANDS.values())
def test_every_option_of_every_release_says_what_it_is_and_is_read_as_its_table_says(name):
    table = with_options(planner(name).parameter_table())
    decorator, needed = parameter_options(planner(name)), required_words(table)
    assert options_in(made_by(decorator)) == {option_of(key, line) for key, line in table.items()}
    for key, line in table.items():
        assert line.help.endswith("."), f"{key} of {name} has no help"
        for words, value in written(key, line):
            found = values_from(decorator, [*needed, *words])[key]
            assert found == value and type(found) is type(value)


def test_a_center_is_a_word_numbers_or_a_file(tmp_path):
    np.save(tmp_path / "center.npy", [1.5, 2.5])
    convert = Vector(("private",)).convert
    assert convert("private", None, None) == "private"
    assert convert("1,-2.5, 3e2", None, None) == [1.0, -2.5, 300.0]
    assert convert(str(tmp_path / "center.npy"), None, None).tolist() == [1.5, 2.5]
    (tmp_path / "empty.npy").touch()
    for wrong in ("public", "1;2", str(tmp_path / "empty.npy"), ""):
        with pytest.raises(click.BadParameter, match="is not 'private', numbers separated by commas"):
            convert(wrong, None, None)
    with pytest.raises(click.BadParameter, match=r"none\.npy' is not an existing file"):
        convert(str(tmp_path / "none.npy"), None, None)


def test_a_number_may_be_a_word():
    convert = NumberOrWord(("auto", "none")).convert
    assert convert("auto", None, None) == "auto" and convert("1e-3", None, None) == 0.001
    for wrong in ("both", "", "1,2"):
        with pytest.raises(click.BadParameter, match="is not a number or one of auto, none"):
            convert(wrong, None, None)


def test_items_are_a_count_or_a_file(tmp_path):
    (tmp_path / "items.csv").write_text("item\ntea\njam\n")
    convert = Items().convert
    assert convert("12", None, None) == 12 and convert("-1", None, None) == -1 and convert(5, None, None) == 5
    assert convert(str(tmp_path / "items.csv"), None, None).to_pylist() == ["tea", "jam"]
    with pytest.raises(InvalidParameter, match="must be an existing file"):
        convert("1.5", None, None)


def test_features_and_new_items_are_files(tmp_path):
    (tmp_path / "facts.csv").write_text("item,year\n7,1990\n8,\n")
    (tmp_path / "new.csv").write_text("item\n8\n")
    table = {
        "item_features": FeaturesParam(later=True, default=None, help="Facts."),
        "new_items": NewItemsParam(later=True, default=None, help="New ones."),
    }
    words = ["--item-features", str(tmp_path / "facts.csv"), "--new-items", str(tmp_path / "new.csv")]
    found = values_from(table_options(table), words)
    assert found["item_features"]["item"].to_pylist() == [7, 8] and found["new_items"].to_pylist() == [8]
    assert values_from(table_options(table), []) == {"item_features": None, "new_items": None}
    shown = CliRunner().invoke(made_by(table_options(table)), ["--help"]).output
    assert "--item-features FILE" in shown and "--new-items FILE" in shown and "required" not in shown
    assert isinstance(to_type("item_features", table["item_features"]), ItemTable)
    for kind, name in ((ItemTable(), "none.csv"), (ItemIds(), "5")):
        with pytest.raises(InvalidParameter, match="must be an existing file"):
            kind.convert(name, None, None)
        assert kind.convert(table, None, None) is table


def test_bounds_are_a_pair_or_a_file(tmp_path):
    convert = Bounds().convert
    assert convert("-1,2.5e3", None, None) == [-1.0, 2500.0] and convert([(0, 1)], None, None) == [(0, 1)]
    np.save(tmp_path / "bounds.npy", [[0.0, 1.0], [2.0, 3.0]])
    assert convert(str(tmp_path / "bounds.npy"), None, None).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    (tmp_path / "bounds.CSV").write_bytes('\ufeffname,low,high\r\n"a, b",0,1\r\n"say ""c""",-2, 3e1\r\n'.encode())
    assert convert(str(tmp_path / "bounds.CSV"), None, None) == {"a, b": [0.0, 1.0], 'say "c"': [-2.0, 30.0]}
    (tmp_path / "names.csv").write_bytes(b"name,low,high\n\xff\xfe,0,1\n")  # a name may be anything
    assert list(convert(str(tmp_path / "names.csv"), None, None).values()) == [[0.0, 1.0]]


NO_FILES = [
    "", ",", "x", "0;1", "none.npy", "none.csv", "junk.npy", "pickled.npy", "bomb.npy", "huge.csv", "huge.npy",
    "folder.csv",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_FILES)
def test_what_is_no_pair_and_no_file_of_pairs_is_refused(tmp_path, text):
    (tmp_path / "junk.npy").write_bytes(b"junk")
    np.save(tmp_path / "pickled.npy", np.array([{}], object), allow_pickle=True)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000000, 2), }".ljust(117) + b"\n"
    (tmp_path / "bomb.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    for name in ("huge.csv", "huge.npy"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(MOST_BOUNDS_BYTES + 1)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(click.BadParameter, match=r"is not LOW,HIGH, or|not an existing file|larger than 64 MB"):
        Bounds().convert(str(tmp_path / text) if "." in text else text, None, None)


def test_help_lists_options_in_their_order():
    shown = made_by(options(click.option("--first"), click.option("--second")))
    assert [option.name for option in shown.params] == ["first", "second"]


def test_names_are_separated_by_commas():
    assert split_names(" a,b c ,d") == ["a", "b c", "d"] and split_names(None) is None
