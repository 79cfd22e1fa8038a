"""What a model of trace regression predicts for new measurements: an answer to each of them, in their order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console

from hushrank.cli.tables import SHOWN_LINES, make_table, printable, say_more_records, write_table


def run(model: Any, *, new: Path, out: Path | None, as_json: bool) -> None:
    """Predict for `hushrank predict`: write, and print for people or as one JSON object."""
    answers = to_answers(model.predict(new))
    if out is not None:
        write_table(pa.table({"prediction": answers}), out)
    if answers.null_count:
        beside = ", or an index that is no entry of the matrix," if model.design == "entry" else ""
        click.echo(f"hushrank: new records with a missing number{beside} are not predicted.", err=True)
    if as_json:
        click.echo(json.dumps({"predictions": [{"prediction": answer} for answer in answers.to_pylist()]}))
        return
    console = Console(highlight=False)
    for part in show(model, answers, out):
        console.print(part, soft_wrap=isinstance(part, str))


def to_answers(predictions: NDArray[np.float64]) -> pa.Array:
    """An answer for every record; null where a number is missing or beyond all bounds."""
    return pa.array(predictions, pa.float64(), mask=~np.isfinite(predictions))


def show(model: Any, answers: pa.Array, out: Path | None) -> Iterator[Any]:
    """The first answers, and where the others are."""
    if not model.coef_.any():
        yield "nothing stood above the noise of this model: every prediction is its intercept"
    table = make_table("record", "prediction", title="predictions")
    for i, answer in enumerate(answers[:SHOWN_LINES].to_pylist()):
        table.add_row(str(i + 1), "" if answer is None else f"{answer:.6g}")
    yield table
    yield from say_more_records(len(answers), out)
    if out is not None:
        yield f"predictions written to {printable(str(out))}"
