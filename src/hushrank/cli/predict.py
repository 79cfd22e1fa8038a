"""`hushrank predict`: predictions for people, from a private representation and their own records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hushrank.cli.fit import check_place
from hushrank.cli.options import JSON_OPTION, Decorator

if TYPE_CHECKING:
    from hushrank.cli.own_answers import Answers

SHOWN_COEFFICIENTS, SHOWN_LINES, SHOWN_OF_EACH = 10, 20, 3
OUT_SUFFIXES = (".csv", ".parquet", ".pq")


def _path_option(name: str, text: str, **others: Any) -> Decorator:
    return click.option(name, type=click.Path(path_type=Path), help=text, **others)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@_path_option(
    "--records",
    "CSV or Parquet file with the target and the features of one person, or of many with their ids.",
    required=True,
)
@_path_option("--new", "CSV or Parquet file with the features of the records to predict, and ids if there are many.")
@click.option("--user", metavar="NAME", help='Column of ids. Default: "user", if there is one.')
@click.option("--target", metavar="NAME", default="target", show_default=True, help="Column of the answers.")
@_path_option("--out", "CSV or Parquet file to write the predictions to, in the order of --new.")
@_path_option("--report", "HTML page to write, for one person: it is private.")
@JSON_OPTION
def command(
    model: Path,
    records: Path,
    new: Path | None,
    user: str | None,
    target: str,
    out: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Predict with a private representation, from a person's own records.

    MODEL is a file that hushrank personalize wrote. Nothing is learned from the records and no budget is charged: they
    meet a model that is public, and the result is for the person they belong to. Run it where that person's records
    may be seen, best on a device of the person. Without --new it shows the coefficients of each person, and how well
    they predict the own records, each from the others. Records with a missing number are not used, and not predicted.

    \b
    Examples:
      hushrank predict model.hush --records mine.csv
      hushrank predict model.hush --records mine.csv --new tomorrow.csv --report page.html
      hushrank predict model.hush --records all.parquet --user patient --new new.parquet --out predictions.csv
    """
    _check_places(model, records, new, out, report)
    answers = _ask(model, records, new, user, target)
    if report is not None:
        report.write_text(to_page(answers), encoding="utf-8", errors="backslashreplace")
    if out is not None:
        _write_table(answers.to_table(user or "user"), out)
    for note in notes_on(answers):
        click.echo(f"hushrank: {note}", err=True)
    if as_json:
        click.echo(json.dumps(to_json(answers)))
        return
    console = Console(highlight=False)
    for part in show_heads(answers) if new is None else show_predictions(answers, out):
        console.print(part, soft_wrap=isinstance(part, str))
    for name, place in (("predictions", out), ("page, for one person only,", report)):
        if place is not None:
            console.print(f"{name} written to {_printable(str(place))}", soft_wrap=True)


def _ask(model: Path, records: Path, new: Path | None, user: str | None, target: str) -> "Answers":
    """Load the model, read the files and compute; needs numba, which --help does not."""
    from hushrank.cli.own_answers import answer
    from hushrank.cli.own_records import read_new, read_own
    from hushrank.estimators.personalization.estimator import PrivateRepresentation

    representation = PrivateRepresentation.load(model)
    people, features = read_own(representation, records, target, user)
    asked = None if new is None else read_new(new, features, user, people)
    return answer(representation, people, features, asked)


def _check_places(model: Path, records: Path, new: Path | None, out: Path | None, report: Path | None) -> None:
    """Refuse outputs that have no place to go to, or would overwrite what they are made from."""
    if out is not None and new is None:
        raise click.UsageError("--out writes the predictions for --new FILE, which is missing.")
    if out is not None and out.suffix.lower() not in OUT_SUFFIXES:
        raise click.UsageError(f"--out {out} must end in {', '.join(OUT_SUFFIXES)}.")
    kept = [model, records, *([] if new is None else [new])]
    for option, place in (("--out", out), ("--report", report)):
        if place is not None:
            check_place(option, place, kept, "the model or the records, or lie among them")
    if out is not None and report is not None and out.resolve() == report.resolve():
        raise click.UsageError("--out and --report are one file.")


def to_page(answers: "Answers") -> str:
    """The page of one person; refused where it would show people to each other."""
    from hushrank.report.personal import Personal, Prediction, personal_page

    if len(answers.users) != 1 or (answers.asked is not None and (answers.asked.codes < 0).any()):
        raise click.UsageError("--report is a page for one person, and there are records of several.")
    model, (quality,) = answers.model, answers.qualities
    n_features, n_directions = model.embedding_.shape
    predictions = None if answers.asked is None else [Prediction(*pair) for pair in answers.predictions()]
    personal = Personal(
        user=answers.users[0],
        n_features=n_features,
        n_directions=n_directions,
        is_logistic=answers.is_logistic,
        is_learned=bool(model.head_covariance_.any()),
        guarantee=model.privacy_,
        n_left_out=len(answers.histories.block.y) - quality.n_records,
        quality=quality,
        coefficients=answers.largest(0, SHOWN_COEFFICIENTS),
        predictions=predictions,
    )
    return personal_page(personal)


def _write_table(table: Any, out: Path) -> None:
    """A CSV or Parquet file, told by its suffix."""
    import pyarrow.csv
    import pyarrow.parquet

    write = pyarrow.csv.write_csv if out.suffix.lower() == ".csv" else pyarrow.parquet.write_table
    write(table, str(out))


def notes_on(answers: "Answers") -> Iterator[str]:
    """What happened to records that are not as the others; for the people whose they are."""
    import numpy as np

    block, asked = answers.histories.block, answers.asked
    if not (np.isfinite(block.y).all() and np.isfinite(block.X).all()):
        yield "own records with a missing number are not used."
    if asked is not None and (asked.codes < 0).any():
        yield "users without own records are predicted by the mean of all people."
    if asked is not None and np.isnan(asked.X).any():
        yield "new records with a missing number are not predicted."


def to_json(answers: "Answers") -> dict[str, Any]:
    """Everybody's coefficients and errors, or the predictions of all new records."""
    if answers.asked is None:
        return {"people": list(answers.people())}
    names = ("prediction", "probability") if answers.is_logistic else ("prediction",)
    lines = [dict(zip(names, pair, strict=False)) for pair in answers.predictions()]
    ids = answers.new_ids
    if ids is not None:
        lines = [{"user": user, **line} for user, line in zip(ids, lines, strict=True)]
    return {"predictions": lines}


def show_heads(answers: "Answers") -> Iterator[Any]:
    """Errors and largest coefficients: of one person in full, of several a line each."""
    unit = "shares of wrong labels" if answers.is_logistic else "root mean squared errors"
    if not answers.model.head_covariance_.any():
        yield "nothing stood above the noise of this model: people rely on their own records"
    if len(answers.users) == 1:
        yield from _show_one(answers, unit)
        return
    yield f"{len(answers.users)} people, each record predicted from the same person's others; {unit}"
    table = _table("user", "records", "error", "model alone", "largest coefficients")
    everybody = list(zip(answers.users, answers.qualities, strict=True))
    for i, (user, quality) in enumerate(everybody[:SHOWN_LINES]):
        largest = ", ".join(f"{name} {number:+.3g}" for name, number in answers.largest(i, SHOWN_OF_EACH))
        errors = (f"{quality.own:.4g}", f"{quality.shared:.4g}")
        table.add_row(_printable(str(user)), str(quality.n_records), *errors, _printable(largest))
    yield table
    if len(everybody) > SHOWN_LINES:
        yield f"and {len(everybody) - SHOWN_LINES} more people: --json shows all"


def _show_one(answers: "Answers", unit: str) -> Iterator[Any]:
    (user,), (quality,) = answers.users, answers.qualities
    whose = "you" if user is None else f"user {user}"
    plain = "the more frequent label" if answers.is_logistic else "the mean answer"
    if quality.n_records:
        yield f"for {_printable(whose)}: {quality.n_records} own records, each predicted from the others; {unit}"
        yield (
            f"  own records and model {quality.own:.4g}, model alone {quality.shared:.4g}, {plain} {quality.plain:.4g}"
        )
    else:
        yield f"for {_printable(whose)}: no own record can be used, and the mean of all people is"
    table = _table("feature", "coefficient", title="largest coefficients")
    for name, number in answers.largest(0, SHOWN_COEFFICIENTS):
        table.add_row(_printable(name), f"{number:+.4g}")
    yield table


def show_predictions(answers: "Answers", out: Path | None) -> Iterator[Any]:
    """The first predictions, in the order of the new records; all of them are in `out`, if that is written."""
    ids, predictions = answers.new_ids, answers.predictions()
    names = ["record", *([] if ids is None else ["user"]), "prediction", *(["probability"] * answers.is_logistic)]
    table = _table(*names, title="predictions")
    for i, (value, chance) in enumerate(predictions[:SHOWN_LINES]):
        cells = [str(i + 1), *([] if ids is None else [_printable(str(ids[i]))])]
        cells.append("" if value is None else f"{value:.6g}")
        table.add_row(*cells, *([] if not answers.is_logistic else ["" if chance is None else f"{chance:.3f}"]))
    yield table
    if len(predictions) > SHOWN_LINES and out is None:
        yield f"and {len(predictions) - SHOWN_LINES} more records: --out FILE writes all, --json shows all"


def _table(*names: str, title: str | None = None) -> Table:
    """A table whose texts stand on the left and whose numbers stand on the right."""
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(name, justify="left" if name in ("user", "feature", "largest coefficients") else "right")
    return table


def _printable(text: str) -> str:
    """Text for a terminal: an id may hold bytes that are no characters."""
    return escape(text.encode("utf-8", "backslashreplace").decode())
