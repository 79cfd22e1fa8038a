"""Measurements of a matrix as commands read them: which columns of a file they are, in every design."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from hushrank.cli.fit import Data
from hushrank.cli.options import options, split_names
from hushrank.data.remote_files import Place, to_path
from hushrank.exceptions import InvalidParameter

Pair = tuple[int, int]

OPTIONS_OF = {"dense": ("features",), "rank_one": ("x", "z"), "entry": ("row", "column")}
"""Options that name columns, for each design."""

USERS = ("user", "users")
"""Columns that say that people have several records."""

COLUMN_OPTIONS = options(
    click.option(
        "--target",
        metavar="NAME",
        help='Column of the answers, by default "target". Of an .npy file: the .npy file of the answers.',
    ),
    click.option("--x", help="rank_one: columns of x, separated by commas. They are the rows of the matrix."),
    click.option("--z", help="rank_one: columns of z, separated by commas. They are the columns of the matrix."),
    click.option("--row", metavar="NAME", help='entry: column of row indices, from 0 on. Default: "row".'),
    click.option("--column", metavar="NAME", help='entry: column of column indices, from 0 on. Default: "column".'),
    click.option("--features", help="dense: columns of the entries, row after row. Default: all but the target."),
)


def _read(model: Any, source: str, target: str | None, **names: str | None) -> Any:
    """The measurements: types, shapes and columns are checked, and no value is read."""
    from hushrank.data.records.measurements import read_measurements  # needs numba, and --help does not
    from hushrank.data.records.npy_files import NPY_SUFFIX, kind_of_file

    owner, design = type(model).__name__, str(model.design)
    path = to_path(source, owner)
    given = {name: value for name, value in names.items() if value is not None}
    _check_design(design, given)
    features, shape = None, model.shape
    if kind_of_file(path, owner) == NPY_SUFFIX:
        _check_npy(target, given)
    else:
        features, shape = CHOOSE[design](given, shape)
        if not given:
            _check_nobody_is_named(path, target, OPTIONS_OF[design], owner)
    with _naming_options(design):
        return read_measurements(source, target, design=design, shape=shape, owner=owner, features=features)


MEASUREMENTS = Data("MEASUREMENTS", _read, COLUMN_OPTIONS, beside=("target",))


def _check_design(design: str, given: Mapping[str, str]) -> None:
    """Refuse names of columns that measurements of another design have."""
    for other, names in OPTIONS_OF.items():
        odd = [f"--{name}" for name in names if name in given and other != design]
        if odd:
            raise click.UsageError(f"{odd[0]} is for --design {other}, and the design is {design}.")


def _check_npy(target: str | None, given: Mapping[str, str]) -> None:
    if given:
        raise click.UsageError(f"--{next(iter(given))} names columns, and those of an .npy file have no names.")
    if target is None:
        raise click.UsageError("An .npy file holds no answers: give their own, --target FILE.")


def _choose_dense(given: Mapping[str, str], shape: Pair | None) -> tuple[Sequence[str] | None, Pair | None]:
    return split_names(given.get("features")), shape


def _choose_rank_one(given: Mapping[str, str], shape: Pair | None) -> tuple[Sequence[str] | None, Pair | None]:
    """Columns of x and then those of z, whose numbers are the size of the matrix."""
    if len(given) == 1:
        raise click.UsageError("--x and --z go together.")
    x, z = split_names(given.get("x")), split_names(given.get("z"))
    if x is None or z is None:
        return None, shape
    found = len(x), len(z)
    if shape is not None and tuple(shape) != found:
        told = f"--x and --z name {found[0]} and {found[1]} columns"
        raise click.UsageError(f"{told}, and --shape {shape[0]} {shape[1]} is another size of the matrix.")
    return [*x, *z], found


def _choose_entry(given: Mapping[str, str], shape: Pair | None) -> tuple[Sequence[str] | None, Pair | None]:
    return [given.get(name, name) for name in OPTIONS_OF["entry"]], shape


@contextmanager
def _naming_options(design: str) -> Iterator[None]:
    """Name the options of the columns of indices where one of these is missing."""
    try:
        yield
    except InvalidParameter as error:
        if design != "entry" or not error.requirement.startswith("a table with the column "):
            raise
        wanted = f"{error.requirement}, or with the columns that --row and --column name"
        raise InvalidParameter(error.owner, error.name, wanted, error.got) from None


Choose = Callable[[Mapping[str, str], Pair | None], tuple[Sequence[str] | None, Pair | None]]

CHOOSE: dict[str, Choose] = {"dense": _choose_dense, "rank_one": _choose_rank_one, "entry": _choose_entry}
"""For each design: names that were given and the size that was asked for -> columns (None: all), and the size."""


def _check_nobody_is_named(path: Place, target: str | None, choosing: Sequence[str], owner: str) -> None:
    """Refuse a file with a column of users where nobody chose columns: a user's records look protected together."""
    for names in _column_names(path, owner):
        odd = [name for name in USERS if name in names and name != target]
        if odd:
            chosen = " and ".join(f"--{name}" for name in choosing)
            reason = f"{path.name} has a column {odd[0]!r}, and the records of a user are not protected together"
            raise click.UsageError(f"{reason}: leave users out, or choose columns with {chosen}.")


def _column_names(path: Place, owner: str) -> Iterator[Sequence[str]]:
    """Names of all columns, file by file."""
    from hushrank.data.delimited import DelimitedText
    from hushrank.data.found_files import are_texts, find_files
    from hushrank.data.parquet_parts import read_footer

    paths = find_files(path, owner)
    for file in paths:
        yield DelimitedText(file, owner).names if are_texts(paths) else read_footer(file, owner).schema.names
