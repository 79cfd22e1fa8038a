"""Commands that learn from data: made from a line of the registry and a function that describes the model."""

import inspect
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape

from hushrank.cli.accounts import (
    LEDGER_OPTIONS,
    check_ledger_options,
    choose_delta,
    ledger_files,
    open_account,
    saying_spent,
    tell_account,
    telling_warnings,
)
from hushrank.cli.checking import CHECK_OPTION, run_check
from hushrank.cli.engines import ENGINE_OPTIONS, make_engine
from hushrank.cli.messages import about_file
from hushrank.cli.options import (
    COLUMNS_OPTION,
    GIVEN_FILES,
    JSON_OPTION,
    Decorator,
    options,
    parameter_options,
    split_names,
)
from hushrank.cli.rating_columns import RATING_COLUMN_OPTIONS, read_named_ratings
from hushrank.cli.writing import FORCE_OPTION, Writer, check_place, resolve, write_text
from hushrank.data.remote_files import local_path
from hushrank.privacy.cautions import delta_cautions
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.words import in_words
from hushrank.registry import PUBLIC, find, planner

Describe = Callable[[Any], Iterator[Any]]
Page = Callable[[Any], str]

SEED_AND_QUIET_OPTIONS = options(
    click.option("--seed", type=int, help="Repeatable noise, for tests and teaching; the result must not be released."),
    click.option("--quiet", is_flag=True, help="No progress bar and no notes on stderr."),
)
RUN_OPTIONS = options(
    click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Model file to write."),
    FORCE_OPTION,
    LEDGER_OPTIONS,
    ENGINE_OPTIONS,
    SEED_AND_QUIET_OPTIONS,
    click.option(
        "--verbose",
        is_flag=True,
        help="Notes for the data holder on stderr: how many rows or ratings there are, and how many were left out or "
        "bounded. NOT PRIVATE: do not publish them.",
    ),
    JSON_OPTION,
)
MARKS = ("strength_", "n_significant_")
"""What of a model follows from the rest, and says what is noise."""
REPORT_OPTION = click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="HTML page to write about the result."
)


@dataclass(frozen=True, slots=True)
class Data:
    """A kind of data that commands read.

    Attributes
    ----------
    argument : str
        What the help calls the path.
    read : callable
        (model, path, values of `options` by name) -> what the `fit` of the model takes.
    options : decorator
        Options that choose a part of the data.
    beside : tuple of str
        Names of those options that may be paths of data as well.
    """

    argument: str
    read: Callable[..., Any]
    options: Decorator
    beside: tuple[str, ...] = ()


def _read_rows(model: Any, source: str, columns: list[str] | None) -> Any:
    from hushrank.data.rows.reading import read_rows  # needs numba, and --help does not

    is_complex = getattr(model, "field", "real") == "complex"
    return read_rows(source, owner=type(model).__name__, columns=columns, allow_complex=is_complex)


def _read_records(model: Any, source: str, user: str, target: str, features: str | None) -> Any:
    from hushrank.data.records.reading import read_records  # needs numba, and --help does not

    names, owner = split_names(features), type(model).__name__
    return read_records(source, target, user, owner=owner, features=names, needs_users=True)


ROLE_OPTIONS = options(
    click.option("--user", metavar="NAME", default="user", show_default=True, help="Column of the users' ids."),
    click.option("--target", metavar="NAME", default="target", show_default=True, help="Column of the answers."),
    click.option("--features", help="Columns to predict from, separated by commas. Default: all others."),
)

ROWS = Data("INPUT", _read_rows, COLUMNS_OPTION)
RATINGS = Data("RATINGS", read_named_ratings, RATING_COLUMN_OPTIONS)
RECORDS = Data("RECORDS", _read_records, ROLE_OPTIONS)


def fit_command(name: str, data: Data, page: Page | None = None) -> Callable[[Describe], click.Command]:
    """Make the command of the release `name` of the registry from a function that describes a fitted model.

    The function yields what is printed, and its docstring is the help of the command. `page` makes an HTML page of a
    fitted model; a command that has one takes --report.
    """
    command, of_parameters = PUBLIC[name].command, parameter_options(planner(name), has_ledger=True)

    def decorate(describe: Describe) -> click.Command:
        def fit_and_show(
            as_json: bool,
            out: Path | None,
            force: bool,
            is_check: bool,
            report: Path | None = None,
            **arguments: Any,
        ) -> None:
            if is_check:
                return run_check(name, data, arguments, as_json)
            model = learn(name, data, as_json=as_json, out=out, report=report, force=force, **arguments)
            with saying_spent(model.ledger):
                publish(model, describe, page, Writer(force), out=out, report=report, as_json=as_json)
            tell_account(model.ledger, as_json=as_json, quiet=arguments["quiet"])

        cost = (
            f"What it will cost, before any data are read: hushrank plan {command} --help\n"
            "What it would do to your data, before anything is charged: --check"
        )
        source = click.argument("source", metavar=data.argument, type=click.Path())
        run = RUN_OPTIONS if page is None else options(REPORT_OPTION, RUN_OPTIONS)
        decorated = options(source, of_parameters, data.options, CHECK_OPTION, run)(fit_and_show)
        return click.command(command, help=f"{inspect.cleandoc(describe.__doc__ or '')}\n\n\b\n{cost}")(decorated)

    return decorate


def publish(
    model: Any,
    describe: Describe,
    page: Page | None,
    writer: Writer,
    *,
    out: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Write and print a model. The budget is spent: what fails keeps back nothing else, and is an error at the end."""
    console = Console(highlight=False)
    place = None if out is None else writer.write("model", out, model.save)
    if as_json or place is None:  # stdout is the last place for it
        unwritten = model.save if place is None else None
        writer.echo(json.dumps(to_json(model)), f"{type(model).__name__}.hush", unwritten)
    else:
        for part in describe(model):
            console.print(part)
        console.print(f"[bold]promise[/bold]: {escape(in_words(model.privacy_))}", soft_wrap=True)
        console.print(f"[bold]guarantee[/bold]: {escape(str(model.privacy_))}", soft_wrap=True)
        console.print(f"model written to {escape(str(place))}", soft_wrap=True)
    if page is not None and report is not None:
        place = writer.write("report", report, partial(write_text, page(model)))
        if not as_json and place is not None:
            console.print(f"report written to {escape(str(place))}", soft_wrap=True)
    writer.finish()


def learn(
    name: str,
    data: Data,
    *,
    source: str,
    out: Path | None,
    report: Path | None = None,
    ledger_address: str | None,
    dataset: str | None,
    note: str | None = None,
    force: bool = False,
    threads: int | None,
    cluster: str | None = None,
    seed: int | None,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **others: Any,
) -> Any:
    """Fit the model; where the result and a report will go is checked before that.

    `others` are the parameters of the estimator and the options of the data.
    """
    places = {"--out": out, "--report": report}
    context = click.get_current_context(silent=True)
    given = [] if context is None else context.meta.get(GIVEN_FILES, [])
    if ledger_address is None and "delta" in others:
        choose_delta(others["delta"], None)
    inputs = [source, *ledger_files(ledger_address), *(others[option] for option in data.beside), *given]
    _check_output(places, as_json, inputs, force)
    check_ledger_options(ledger_address, dataset, note)
    level = show_notes(quiet, verbose)
    account = open_account(ledger_address, dataset, note)
    terms = {"ledger": account, "random_state": seed, "engine": make_engine(threads, cluster), "verbose": level}
    estimator = find(name)
    parameters = {key: others.pop(key) for key in estimator.parameter_table() if key in others}
    if account is not None:
        parameters["delta"] = choose_delta(parameters.get("delta"), account)
    model = estimator(**parameters, **terms)
    with telling_warnings(quiet), about_file(source):
        rows = data.read(model, source, **others)
        is_counted = getattr(rows, "n_samples", None) is not None  # then the fit itself warns, before its charge
        model.fit(rows)
    if not quiet and not is_counted:
        _tell_cautions(model, getattr(model, "n_", getattr(rows, "n_samples", None)))
    return model


def _tell_cautions(model: Any, n_people: int | None) -> None:
    """A delta that is too large for the number of people, where that is public and was known by reading alone."""
    given = model.privacy_
    if given.neighbors is Neighbors.REPLACE:
        for caution in delta_cautions(Budget(given.epsilon, given.delta, given.neighbors, given.unit), n_people):
            click.echo(f"hushrank: {caution}", err=True)


def _check_output(
    places: dict[str, Path | None], as_json: bool, inputs: Iterable[str | Path | None], force: bool
) -> None:
    """Refuse to fit where the result has no place to go to, or would overwrite what it was made from."""
    if places["--out"] is None and not as_json:
        raise click.UsageError("Say where the result goes: --out FILE, or --json for stdout.")
    kept = [path for place in inputs if place and (path := local_path(place)) is not None]
    given = {option: place for option, place in places.items() if place is not None}
    for option, place in given.items():
        check_place(option, place, kept, "the data or the ledger, or lie among the data", force=force)
    if len({resolve(place) for place in given.values()}) < len(given):
        raise click.UsageError(f"{' and '.join(given)} are different files.")


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Clusters tell every step and address, and lost workers at length."""
    return not record.name.startswith("distributed") or record.levelno >= logging.ERROR


def show_notes(quiet: bool, verbose: bool) -> int:
    """Let the log with its private counts reach stderr if asked to; the level of the progress bar, for terminals."""
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other.")
    threshold = logging.INFO if verbose else logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=threshold)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_worth_telling)
    if quiet or not sys.stderr.isatty():
        return 0
    return 2 if verbose else 1


def to_json(model: Any) -> dict[str, Any]:
    """The learned attributes, which are all of the release, and the guarantee."""
    learned = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "privacy_"}
    learned |= {name: getattr(model, name) for name in MARKS if hasattr(model, name)}
    return {**{name: to_plain(value) for name, value in learned.items()}, "privacy_": model.privacy_.to_dict()}


def to_plain(value: Any) -> Any:
    """A learned attribute as JSON holds it; complex arrays as an object of two."""
    if np.iscomplexobj(value):
        return {"real": value.real.tolist(), "imaginary": value.imag.tolist()}
    return value.tolist() if hasattr(value, "tolist") else value
