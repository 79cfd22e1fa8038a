"""Predictions for people, from a private representation and their own records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from hushrank.cli.own_answers import Answers, answer
from hushrank.cli.own_records import read_new, read_own, unused_columns
from hushrank.cli.tables import SHOWN_LINES, make_table, printable, say_more_records, write_table
from hushrank.report.personal import Personal, Prediction, personal_page

SHOWN_COEFFICIENTS, SHOWN_OF_EACH = 10, 3
TEXTS = ("user", "feature", "largest coefficients")


def run(
    model: Any,
    *,
    records: Path,
    new: Path | None,
    user: str | None,
    target: str,
    out: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Predict for `hushrank predict`: write, and print for people or as one JSON object."""
    people, features = read_own(model, records, target, user)
    asked = None if new is None else read_new(new, features, user, people)
    unused = unused_columns(records, target, user, features) if people.is_single else []
    if unused:
        name = printable(unused[0])
        said = f"all records are taken as one person's: column {name!r} is not used"
        click.echo(f"hushrank: {said}. If it says whose each is: --user {name}", err=True)
    answers = answer(model, people, features, asked)
    if report is not None:
        report.write_text(to_page(answers), encoding="utf-8", errors="backslashreplace")
    if out is not None:
        write_table(answers.to_table(user or "user"), out)
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
            console.print(f"{name} written to {printable(str(place))}", soft_wrap=True)


def to_page(answers: Answers) -> str:
    """The page of one person; refused where it would show people to each other."""
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


def notes_on(answers: Answers) -> Iterator[str]:
    """What happened to records that are not as the others; for the people whose they are."""
    block, asked = answers.histories.block, answers.asked
    if not (np.isfinite(block.y).all() and np.isfinite(block.X).all()):
        yield "own records with a missing number are not used."
    if asked is not None and (asked.codes < 0).any():
        yield "users without own records are predicted by the mean of all people."
    if asked is not None and np.isnan(asked.X).any():
        yield "new records with a missing number are not predicted."


def to_json(answers: Answers) -> dict[str, Any]:
    """Everybody's coefficients and errors, or the predictions of all new records."""
    if answers.asked is None:
        return {"people": list(answers.people())}
    names = ("prediction", "probability") if answers.is_logistic else ("prediction",)
    lines = [dict(zip(names, pair, strict=False)) for pair in answers.predictions()]
    ids = answers.new_ids
    if ids is not None:
        lines = [{"user": user, **line} for user, line in zip(ids, lines, strict=True)]
    return {"predictions": lines}


def show_heads(answers: Answers) -> Iterator[Any]:
    """Errors and largest coefficients: of one person in full, of several a line each."""
    unit = "shares of wrong labels" if answers.is_logistic else "root mean squared errors"
    if not answers.model.head_covariance_.any():
        yield "nothing stood above the noise of this model: people rely on their own records"
    if len(answers.users) == 1:
        yield from _show_one(answers, unit)
        return
    yield f"{len(answers.users)} people, each record predicted from the same person's others; {unit}"
    table = make_table("user", "records", "error", "model alone", "largest coefficients", texts=TEXTS)
    everybody = list(zip(answers.users, answers.qualities, strict=True))
    for i, (user, quality) in enumerate(everybody[:SHOWN_LINES]):
        largest = ", ".join(f"{name} {number:+.3g}" for name, number in answers.largest(i, SHOWN_OF_EACH))
        errors = (f"{quality.own:.4g}", f"{quality.shared:.4g}")
        table.add_row(printable(str(user)), str(quality.n_records), *errors, printable(largest))
    yield table
    if len(everybody) > SHOWN_LINES:
        yield f"and {len(everybody) - SHOWN_LINES} more people: --json shows all"


def _show_one(answers: Answers, unit: str) -> Iterator[Any]:
    (user,), (quality,) = answers.users, answers.qualities
    whose = "you" if user is None else f"user {user}"
    plain = "the more frequent label" if answers.is_logistic else "the mean answer"
    if quality.n_records:
        yield f"for {printable(whose)}: {quality.n_records} own records, each predicted from the others; {unit}"
        yield (
            f"  own records and model {quality.own:.4g}, model alone {quality.shared:.4g}, {plain} {quality.plain:.4g}"
        )
    else:
        yield f"for {printable(whose)}: no own record can be used, and the mean of all people is"
    table = make_table("feature", "coefficient", texts=TEXTS, title="largest coefficients")
    for name, number in answers.largest(0, SHOWN_COEFFICIENTS):
        table.add_row(printable(name), f"{number:+.4g}")
    yield table


def show_predictions(answers: Answers, out: Path | None) -> Iterator[Any]:
    """The first predictions, in the order of the new records; all of them are in `out`, if that is written."""
    ids, predictions = answers.new_ids, answers.predictions()
    names = ["record", *([] if ids is None else ["user"]), "prediction", *(["probability"] * answers.is_logistic)]
    table = make_table(*names, texts=TEXTS, title="predictions")
    for i, (value, chance) in enumerate(predictions[:SHOWN_LINES]):
        cells = [str(i + 1), *([] if ids is None else [printable(str(ids[i]))])]
        cells.append("" if value is None else f"{value:.6g}")
        table.add_row(*cells, *([] if not answers.is_logistic else ["" if chance is None else f"{chance:.3f}"]))
    yield table
    yield from say_more_records(len(predictions), out)
