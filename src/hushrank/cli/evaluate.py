"""`hushrank evaluate`: how good a private recommender is on ratings that were held out, beside simple references."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.markup import escape
from rich.table import Table

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
from hushrank.cli.engines import ENGINE_OPTIONS, make_engine
from hushrank.cli.fit import SEED_AND_QUIET_OPTIONS, show_notes
from hushrank.cli.messages import about_file
from hushrank.cli.options import GIVEN_FILES, JSON_OPTION, options, parameter_options, table_options
from hushrank.cli.rating_columns import RATING_COLUMN_OPTIONS, named_columns
from hushrank.cli.writing import FORCE_OPTION, Writer, check_place
from hushrank.data.remote_files import local_path
from hushrank.privacy.words import in_words
from hushrank.registry import find, planner

_FIT = planner("PrivateCompletion").parameter_table()
_CHOICES = ("k", "held_out", "most_held_out", "split_seed", "baselines")
_MODEL_PATH = click.Path(dir_okay=False, path_type=Path)

OPTIONS = options(
    click.argument("files", metavar="RATINGS", nargs=-1, required=True),
    click.option("--model", "path", type=_MODEL_PATH, help="Measure a model that hushrank complete wrote. Fits none."),
    table_options({name: planner("PrivateEvaluation").parameter_table()[name] for name in _CHOICES}),
    click.option(
        "--reference", is_flag=True, help="Also fit a factorization without privacy, which takes longer. Not paid for."
    ),
    click.option("--pay-epsilon", type=float, help="Budget for numbers that may be published. Default: exact numbers."),
    click.option("--pay-delta", type=float, help="Its delta; 0 asks for pure privacy. Default: that of the model."),
    click.option("--out", type=_MODEL_PATH, help="File to write the paid numbers to, with their guarantee."),
    FORCE_OPTION,
    parameter_options(planner("PrivateCompletion"), has_ledger=True),
    RATING_COLUMN_OPTIONS,
    LEDGER_OPTIONS,
    ENGINE_OPTIONS,
    SEED_AND_QUIET_OPTIONS,
    JSON_OPTION,
)


@click.command()
@OPTIONS
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    path: Path | None,
    out: Path | None,
    force: bool,
    threads: int | None,
    cluster: str | None,
    seed: int | None,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """How good a private recommender is on held-out ratings.

    RATINGS is a table as hushrank complete reads it. Some ratings of every user are held out (never the only one), a
    private recommender is fitted to the rest, and predicts and recommends from every user's other ratings. Shown are
    the root mean squared error (RMSE) of held-out ratings and Recall@k, the share of held-out items that the user liked
    (rated above the middle of the range) among k recommended ones; beside what the release predicts for everybody,
    and item means and popularity without privacy. With --model, a model that exists is measured instead.

    The numbers are exact, FOR THE DATA HOLDER ALONE: they are not private and must not be published. Nothing is
    charged, and the model is not kept. --pay-epsilon buys numbers that may be published: with noise, a guarantee of
    their own, and intervals that say how far the noise reaches. They cost budget beside the model; both are charged to
    --ledger at once.

    \b
    Examples:
      hushrank evaluate ratings.csv --items 3706 --rating-range 1 5 --rank 8 --epsilon 1 --delta 1e-6
      hushrank evaluate ratings.csv --model model.hush --k 20
      hushrank evaluate ratings.csv --model model.hush --pay-epsilon 0.5 --ledger budget.db --dataset ratings-2026
    """
    source, path = _tell_apart(files, path)
    parameters = {name: given.pop(name) for name in list(given) if name in _FIT}
    _check_fit_options(ctx, path)
    address, dataset, note = (given.pop(name) for name in ("ledger_address", "dataset", "note"))
    _check_payment(given["pay_epsilon"], address, dataset, note, out)
    if out is not None:
        given_files = (source, path, *ledger_files(address), *ctx.meta.get(GIVEN_FILES, []))
        kept = [place for one in given_files if one and (place := local_path(one)) is not None]
        check_place("--out", out, kept, "the data, the model or the ledger, or lie among the data", force=force)
    columns = named_columns(*(given.pop(f"{role}_col") for role in ("user", "item", "rating")))
    level = show_notes(quiet, False)
    account = open_account(address, dataset, note)
    terms = {"engine": make_engine(threads, cluster), "verbose": level}
    if path is None:
        parameters["delta"] = choose_delta(parameters["delta"], account)
        model = find("PrivateCompletion")(**parameters, random_state=seed, **terms)
    else:
        model = _load(path, terms)
    with saying_spent(account):
        with telling_warnings(quiet), about_file(source):
            found = find("evaluate")(model, source, **given, columns=columns, ledger=account, random_state=seed)
        _publish(found, Writer(force), out, as_json)
    tell_account(account, as_json=as_json, quiet=quiet)


def _publish(found: Any, writer: Writer, out: Path | None, as_json: bool) -> None:
    """Print the numbers, and write those that were paid for."""
    place = None if out is None else writer.write("result", out, found.release.save)
    if as_json:
        unwritten = None if found.release is None or place is not None else found.release.save
        writer.echo(json.dumps(to_json(found)), "PrivateEvaluation.hush", unwritten)
    else:
        console = Console(highlight=False)
        for part in _describe_found(found):
            console.print(part, soft_wrap=not isinstance(part, Table))
        if place is not None:
            console.print(f"written to {escape(str(place))}", soft_wrap=True)
    writer.finish()


for _option in command.params:  # a model that exists needs none of them; _check_fit_options asks for them otherwise
    if _option.name in _FIT:
        _option.required = False


def _tell_apart(files: tuple[str, ...], path: Path | None) -> tuple[str, Path | None]:
    """The ratings and the model, where a model may stand beside the ratings as other commands take it."""
    ratings = [one for one in files if not one.endswith(".hush")]
    models = [Path(one) for one in files if one.endswith(".hush")] + ([] if path is None else [path])
    if len(ratings) == 1 and len(models) <= 1:
        return ratings[0], models[0] if models else None
    if not ratings:
        raise click.UsageError(f"{models[0]} is a model by its name: hushrank evaluate RATINGS --model {models[0]}")
    raise click.UsageError(f"One table of ratings and at most one model are measured; got {', '.join(files)}.")


def _check_fit_options(ctx: click.Context, path: Path | None) -> None:
    """Parameters of a fit are all there, or none of them is where a model is given."""
    by_name = {str(option.name): option for option in ctx.command.params if option.name in _FIT}
    given = [name for name in by_name if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if path is not None and given:
        raise click.UsageError(f"{by_name[given[0]].opts[0]} is about a fit, and --model is measured as it is.")
    needed = [name for name in by_name if _FIT[name].default is ... or name == "items"]
    if ctx.params.get("ledger_address") is not None:  # the account has a delta
        needed.remove("delta")
    missing = [name for name in needed if name not in given]
    if path is None and missing:
        raise click.UsageError(f"Missing option '{by_name[missing[0]].opts[0]}', or '--model' for a model that exists.")


def _check_payment(
    epsilon: float | None, ledger_address: str | None, dataset: str | None, note: str | None, out: Path | None
) -> None:
    check_ledger_options(ledger_address, dataset, note)
    for option, value in (("--ledger", ledger_address), ("--out", out)):
        if epsilon is None and value is not None:
            raise click.UsageError(f"{option} is for numbers that are paid for: --pay-epsilon says how much they cost.")


def _load(path: Path, terms: dict[str, Any]) -> Any:
    model = find("PrivateCompletion").load(path)
    for name, value in terms.items():
        setattr(model, name, value)
    return model


def to_json(found: Any) -> dict[str, Any]:
    """Everything for machines; that the numbers are not private stands among it."""
    guarantees = {"guarantee": found.guarantee, "with_model": found.with_model}
    return {
        "private": found.private,
        "k": found.k,
        "scores": [score._asdict() for score in found.scores],
        **{name: None if given is None else given.to_dict() for name, given in guarantees.items()},
        "notes": list(found.notes),
    }


def describe(release: Any, titles: Any = None) -> Iterator[Any]:
    """Numbers of a file that --out has written."""
    from hushrank.evaluation.recommenders import paid_scores

    yield _to_table(paid_scores(release), release.k)


def _describe_found(found: Any) -> Iterator[Any]:
    """The table, what must be known about it, and what it cost."""
    yield _to_table(found.scores, found.k)
    first, *others = map(escape, found.notes)
    yield f"[bold]{first}[/bold]"
    yield from others
    if found.guarantee is not None:
        yield f"[bold]guarantee of the numbers[/bold]: {escape(str(found.guarantee))}"
        yield f"[bold]with that of the model[/bold]: {escape(str(found.with_model))}"
        yield f"[bold]promise of both[/bold]: {escape(in_words(found.with_model))}"


def _to_table(scores: Sequence[Any], k: int) -> Table:
    """One line for each of those who are compared; numbers that noise may have made are dim."""
    from hushrank.evaluation.recommenders import to_text  # needs numba, which --help does not

    table = Table()
    table.add_column("")
    has_errors = any(score.rmse is not None for score in scores)
    for name in (*(["RMSE"] if has_errors else []), f"Recall@{k}"):
        table.add_column(name, justify="right")
    for score in scores:
        pairs = [(score.recall, score.recall_interval)]
        if has_errors:
            pairs.insert(0, (score.rmse, score.rmse_interval))
        cells = []
        for value, interval in pairs:
            text = escape(to_text(value, interval))
            cells.append(f"[dim]{text}[/dim]" if interval is not None and interval[0] <= 0.0 else text)
        table.add_row(score.name, *cells)
    return table
