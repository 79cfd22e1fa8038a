"""`hushrank predict`: predictions with a model, by the command that knows its class."""

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from hushrank.cli.options import JSON_OPTION, Decorator
from hushrank.cli.tables import OUT_SUFFIXES
from hushrank.cli.writing import FORCE_OPTION, check_place, resolve
from hushrank.exceptions import ModelFileError
from hushrank.registry import PUBLIC, find


class Kind(NamedTuple):
    """How a class of models predicts.

    Attributes
    ----------
    module : str
        Where its function `run` is: (model, *, as_json, and the options that it takes) -> None.
    needs : str
        The option that must be given.
    takes : tuple of str
        All options beside --json.
    """

    module: str
    needs: str
    takes: tuple[str, ...]


KINDS = {
    "PrivateRepresentation": Kind(
        "hushrank.cli.own_predictions", "records", ("records", "new", "user", "target", "out", "report")
    ),
    "PrivateTraceRegression": Kind("hushrank.cli.trace_predictions", "new", ("new", "out")),
}
"""Models that predict, by the name of their class."""
UNLIMITED = ("model", "as_json", "force")
"""What every kind takes."""


def _path_option(name: str, text: str) -> Decorator:
    return click.option(name, type=click.Path(path_type=Path), help=text)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@_path_option(
    "--records",
    "personalize: CSV or Parquet file with the target and the features of one person, or of many with their ids.",
)
@_path_option("--new", "File of the records to predict; of personalize with ids, if there are many people.")
@click.option("--user", metavar="NAME", help='personalize: column of ids. Default: "user", if there is one.')
@click.option(
    "--target", metavar="NAME", default="target", show_default=True, help="personalize: column of the answers."
)
@_path_option("--out", "CSV or Parquet file to write the predictions to, in the order of --new.")
@_path_option("--report", "personalize: HTML page to write, for one person: it is private.")
@FORCE_OPTION
@JSON_OPTION
@click.pass_context
def command(ctx: click.Context, /, model: Path, as_json: bool, force: bool, **given: Any) -> None:
    """Predict with a model of personalize or trace.

    MODEL is a file that one of these commands wrote. Nothing is learned from the records and no budget is charged: they
    meet a model that is public.

    A model of hushrank personalize predicts from a person's own records, --records, and the result is for the person
    they belong to. Run it where that person's records may be seen, best on a device of the person. Without --new it
    shows the coefficients of each person, and how well they predict the own records, each from the others. Records with
    a missing number are not used, and not predicted. Files are CSV or Parquet files.

    A model of hushrank trace predicts the answers to the measurements in --new, a CSV, Parquet or .npy file. Columns
    are found by the names that they had in the fit, and others may stand beside them.

    \b
    Examples:
      hushrank predict model.hush --records mine.csv
      hushrank predict model.hush --records mine.csv --new tomorrow.csv --report page.html
      hushrank predict model.hush --records all.parquet --user patient --new new.parquet --out predictions.csv
      hushrank predict harvests.hush --new fields.csv --out predictions.csv
    """
    if given["out"] is not None and given["new"] is None:
        raise click.UsageError("--out writes the predictions for --new FILE, which is missing.")
    _check_places([model, given["records"], given["new"]], given["out"], given["report"], force)
    loaded = find("load")(model)
    name = type(loaded).__name__
    if name not in KINDS:
        raise ModelFileError(f"{model} holds a {name!r}, not a {' or a '.join(KINDS)}.")
    kind = KINDS[name]
    _check_options(ctx, kind, PUBLIC[name].command)
    import_module(kind.module).run(loaded, as_json=as_json, **{option: given[option] for option in kind.takes})


def _check_places(inputs: list[Path | None], out: Path | None, report: Path | None, force: bool) -> None:
    """Refuse outputs that have no place to go to, or would overwrite what they are made from, or anything else."""
    if out is not None and out.suffix.lower() not in OUT_SUFFIXES:
        raise click.UsageError(f"--out {out} must end in {', '.join(OUT_SUFFIXES)}.")
    kept = [place for place in inputs if place is not None]
    for option, place in (("--out", out), ("--report", report)):
        if place is not None:
            check_place(option, place, kept, "the model or the records, or lie among them", force=force)
    if out is not None and report is not None and resolve(out) == resolve(report):
        raise click.UsageError("--out and --report are one file.")


def _check_options(ctx: click.Context, kind: Kind, learned_by: str) -> None:
    """Refuse options that the class of the model has no use for, and a missing one that it needs."""
    by_name = {str(param.name): param for param in ctx.command.params if param.name not in UNLIMITED}
    given = [name for name in by_name if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
    odd = [f"--{name}" for name in given if name not in kind.takes]
    if odd:
        taken = " and ".join(f"--{name}" for name in kind.takes)
        raise click.UsageError(f"A model of hushrank {learned_by} predicts with {taken}, and not {', '.join(odd)}.")
    if kind.needs not in given:
        raise click.MissingParameter(ctx=ctx, param=by_name[kind.needs])
