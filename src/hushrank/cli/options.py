"""Options of commands, made from parameter tables: a parameter is described once, where it is checked.

Here a value is only read; its limits are checked by what it is given to. What is about running a command, and no
parameter of a release, is written by hand.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.shell_completion import CompletionItem

from hushrank.base import PrivateRelease
from hushrank.cli.rating_columns import item_column
from hushrank.estimators.completion.parameters import CatalogueParam, FeaturesParam, NewItemsParam
from hushrank.estimators.second_moment.parameters import BoundsParam
from hushrank.parameters import PairParam, Param
from hushrank.privacy.guarantee import Unit

GIVEN_FILES = "hushrank.given_files"
"""Where a context of click keeps the files that options were read from."""
MOST_BOUNDS_BYTES = 2**26
"""Size of a file of limits of columns: a million columns need less."""

DELTA_OF_ACCOUNT = "Default with --ledger: that of the account."

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


def note_file(ctx: click.Context | None, path: str) -> Path:
    """The path of an option, remembered so that no result overwrites it."""
    if ctx is not None:
        ctx.meta.setdefault(GIVEN_FILES, []).append(path)
    return Path(path)


def options(*decorators: Decorator) -> Decorator:
    """One decorator from several; --help lists their options in this order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


class FileOrValue(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """What may be the name of a file: the shell completes it as one."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class Vector(FileOrValue):
    """One of `words`, numbers separated by commas, or the path of an .npy file with a vector."""

    name = "vector"

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.words or not isinstance(value, str):
            return value
        try:
            if value.endswith(".npy"):
                return np.load(Path(value), allow_pickle=False)
            return [float(number) for number in value.split(",")]
        except FileNotFoundError:
            self.fail(f"{value!r} is not an existing file.", param, ctx)
        except (OSError, ValueError, EOFError):
            accepted = ", ".join([*map(repr, self.words), "numbers separated by commas", "or an .npy file"])
            self.fail(f"{value!r} is not {accepted}.", param, ctx)


class Items(FileOrValue):
    """A count of items, or the path of a CSV or Parquet file that lists their public ids."""

    name = "count or file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if value[value.startswith(("+", "-")) :].isdecimal():
            return int(value)
        from hushrank.cli.small_tables import read_catalogue  # needs Arrow, which a count does not

        return read_catalogue(note_file(ctx, value), item_column=item_column(ctx))


class ItemTable(FileOrValue):
    """The path of a CSV or Parquet file with public facts about items."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The table in the file."""
        if not isinstance(value, str):
            return value
        from hushrank.cli.small_tables import read_item_table  # needs Arrow, which --help does not

        return read_item_table(note_file(ctx, value), item_column(ctx))


class ItemIds(FileOrValue):
    """The path of a CSV or Parquet file that lists public ids of items."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The ids in the file."""
        if not isinstance(value, str):
            return value
        from hushrank.cli.small_tables import read_catalogue  # as above

        return read_catalogue(note_file(ctx, value), "new items", item_column(ctx))


class Bounds(FileOrValue):
    """LOW,HIGH for all columns, or the path of an .npy or .csv file with a pair for each column, in their order."""

    name = "low,high or file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A pair of numbers, or an array of pairs; a CSV file has a header, whose last two columns are low and high."""
        if not isinstance(value, str):
            return value
        suffix = Path(value).suffix.lower()
        try:
            if suffix not in (".npy", ".csv"):
                return [float(number) for number in value.split(",")]
            self._check_file(Path(value), param, ctx)
            if suffix == ".npy":
                return np.load(Path(value), allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError):
            self.fail(f"{value!r} is not LOW,HIGH, or an .npy or .csv file with a pair for each column.", param, ctx)
        from hushrank.cli.small_tables import read_bounds  # needs Arrow, which numbers do not

        return read_bounds(Path(value))

    def _check_file(self, path: Path, param: click.Parameter | None, ctx: click.Context | None) -> None:
        if not path.is_file():
            self.fail(f"{str(path)!r} is not an existing file.", param, ctx)
        if path.stat().st_size > MOST_BOUNDS_BYTES:
            self.fail(f"{str(path)!r} is larger than {MOST_BOUNDS_BYTES >> 20} MB: no file of limits.", param, ctx)


class NumberOrWord(click.ParamType):  # type: ignore[type-arg]  # as above
    """A number, or one of some words."""

    name = "number"

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word as it is, anything else as a float."""
        if value in self._words:
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number or one of {', '.join(self._words)}.", param, ctx)


def to_type(name: str, line: Param) -> Any:
    """How the words of the command line are read as a value of this line of a table."""
    if isinstance(line, CatalogueParam):
        return Items()
    if isinstance(line, FeaturesParam):
        return ItemTable()
    if isinstance(line, NewItemsParam):
        return ItemIds()
    if isinstance(line, PairParam):
        return int
    if isinstance(line, BoundsParam):
        return Bounds()
    if line.kind is None and line.words:
        return click.Choice(line.words)
    if line.kind is np.ndarray:
        return float if line.metavars else Vector(line.words)
    if line.kind in (int, float) and not line.words:
        return line.kind
    if line.kind is float:
        return NumberOrWord(line.words)
    raise TypeError(f"{name} cannot be read from a command line; give its line of the table option=None")


def to_option(name: str, line: Param) -> Decorator:
    """The option of one line of a table; the command gets its value under the name of the parameter."""
    word = (line.option or name).replace("_", "-")
    # A matrix brings its own catalogue, but commands read tables, and which items exist must not be read off those.
    terms: dict[str, Any] = {"required": line.default is ... or isinstance(line, CatalogueParam), "help": line.help}
    if line.default is not ... and line.default is not None:
        terms |= {"default": line.default, "show_default": True}
    if line.kind is bool:
        return click.option(f"--{word}/--no-{word}", name, **terms)
    if line.metavars:
        terms |= {"nargs": len(line.metavars), "metavar": " ".join(line.metavars)}
    return click.option(f"--{word}", name, type=to_type(name, line), **terms)


def table_options(table: Mapping[str, Param]) -> Decorator:
    """An option for every line of a table, in its order, except for those that have none."""
    return options(*(to_option(name, line) for name, line in table.items() if line.option is not None))


def parameter_options(
    release: type[PrivateRelease], without: Container[str] = (), *, has_ledger: bool = False
) -> Decorator:
    """Options of a release: first the parameters that are its own, then those that every release has.

    Of a command that `has_ledger` delta may be left out, because the account brings one.
    """
    table, common = release.parameter_table(), PrivateRelease.parameter_table()
    names = [*(name for name in table if name not in common), *common]
    lines = {name: table[name] for name in names if name not in without}
    if has_ledger:
        lines["delta"] = may_be_left_out(lines["delta"], DELTA_OF_ACCOUNT)
    return table_options(lines)


def may_be_left_out(line: Param, why: str) -> Param:
    """A line whose option is not required; that it is there where it is needed is checked by the command."""
    return replace(line, default=None if line.default is ... else line.default, help=f"{line.help} {why}")


def size_options(sizes: Mapping[str, Param]) -> Decorator:
    """Options of the public sizes that a plan needs, except for those that parameters tell."""
    return options(
        *(
            click.option(f"--{line.option or name}", name, type=click.IntRange(min=1), required=True, help=line.help)
            for name, line in sizes.items()
            if line.option is not None
        )
    )


BUDGET_OPTIONS = table_options(PrivateRelease.parameter_table())
UNIT_OPTION = click.option(
    "--unit", type=click.Choice([unit.value for unit in Unit]), default="row", show_default=True, help="By one of what."
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
COLUMNS_OPTION = click.option(
    "--columns", callback=lambda _ctx, _param, names: split_names(names), help="Columns to use, separated by commas."
)


def split_names(names: str | None) -> list[str] | None:
    """Names that were separated by commas; None stays None."""
    return None if names is None else [name.strip() for name in names.split(",")]
