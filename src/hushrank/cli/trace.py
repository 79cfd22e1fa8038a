"""`hushrank trace`: a private matrix of low rank from answers to measurements of it."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table

from hushrank.cli.descriptions import page_of
from hushrank.cli.fit import fit_command
from hushrank.cli.measurements import MEASUREMENTS
from hushrank.cli.tables import make_table, printable

SHOWN = 5
MOST_NOISE = 0.3  # of a gain, which is at most 1


@fit_command("PrivateTraceRegression", MEASUREMENTS, page_of)
def command(model: Any) -> Iterator[Any]:
    """Private matrix of low rank from answers to measurements of it.

    MEASUREMENTS is a CSV file, a Parquet file, a folder of them or an .npy file with a record of every person:
    a measurement and an answer. --design says what is measured: two lists of numbers x and z, whose answer is about
    x^T M z plus an intercept (rank_one); a row and a column, whose answer is about that entry (entry); or a matrix of
    numbers of the size of M (dense). What is published, M and the intercept, hardly changes if one record is replaced.
    One record is one person's: records of somebody who has several are not protected together. Records that are not
    finite, or no entry of the matrix, count as nothing; so does a text in a column of numbers of a CSV file, and
    --verbose tells how many are left. Measurements and answers need no bound, only their public orders of magnitude:
    --x-scale within a factor of 256, --y-scale within 1000. Features x and z should be centered by public numbers; a
    column of ones in both, and a rank of one more, lets each of them count by itself. For predictions see hushrank
    predict.

    \b
    Examples:
      hushrank trace harvests.csv --design rank_one --x ph,clay,rain --z N,P,K --target harvest --rank 1 \\
               --epsilon 1 --delta 1e-6 --out model.hush
      hushrank trace bills/ --design entry --shape 40 30 --row hospital --column procedure --target cost --rank 2 \\
               --y-scale 1000 --epsilon 1 --delta 1e-6 --ledger budget.db --dataset bills-2026 --out model.hush
      hushrank trace pictures.npy --target pressures.npy --rank 2 --epsilon 1 --delta 1e-6 --json
    """
    yield from describe(model)


def describe(model: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """Singular values and entries of a matrix, and which of them are noise; titles are of no use here."""
    from hushrank.report.trace_model import say_values

    found = int((model.singular_values_ > 0.0).sum())
    asked = "" if found == model.rank else f" of at most {model.rank}"
    rank = f"of rank {found}{asked}" if found else "which is zero"
    yield f"private matrix of {model.n_rows_} rows and {model.n_columns_} columns, {rank}"
    yield say_gain(model)
    yield say_errors(model)
    yield from say_doubts(model)
    if model.privacy == "label":
        yield "answers alone are hidden: measurements are taken for public, and the result may show them"
    if found:
        yield f"intercept: {model.intercept_:.4g}; singular values: {_list_values(model, found)}"
        told = say_values(model)
        if told is not None:
            yield told
        yield _to_table(model)


def say_gain(model: Any) -> str:
    """Whether the matrix stands above the noise, in words."""
    from hushrank.report.trace_model import say_gain  # --help needs none of it

    return say_gain(model)


def say_errors(model: Any) -> str:
    """How large errors are, with the matrix and without it."""
    without = f"{model.spread_:.3g}"
    sizes = f"{model.residual_:.3g} with the matrix, {without} without it" if model.coef_.any() else without
    return f"typical size of an error: {sizes} (median, with noise)"


def say_doubts(model: Any) -> Iterator[str]:
    """What the released numbers speak against, in words."""
    if model.gain_deviation_ > MOST_NOISE:
        yield "too few records for this budget: these numbers are mostly noise (see hushrank plan trace)"
    elif model.coef_.any() and model.residual_ >= model.spread_:
        yield (
            "DOUBTFUL: typical errors are as large with the matrix as without it. Most answers may be equal, x and z "
            "far from centered, or answers larger or smaller than --y-scale covers, a factor of 1000"
        )


def _list_values(model: Any, found: int) -> str:
    """Singular values in their order, as many as are shown of anything, with the marks of those that are noise."""
    from hushrank.report.strengths import mark_of_strength, strengths_of

    strengths = strengths_of(model)
    marks = ["" if strengths is None else mark_of_strength(strengths[i]) for i in range(found)]
    shown = [f"{model.singular_values_[i]:.4g} {marks[i]}".rstrip() for i in range(min(found, SHOWN))]
    return ", ".join(shown) + (", ..." if found > SHOWN else "")


def _to_table(model: Any) -> Table:
    """The largest entries of the matrix, with the names of what they belong to; what is noise is dim."""
    from hushrank.report.trace_model import read_entries

    entries = read_entries(model, SHOWN)
    texts = ("row", "column", *(["name"] if entries[0].name is not None else []))
    numbers = ("entry", *(["deviation"] if entries[0].deviation is not None else []))
    table = make_table(*texts, *numbers, "", texts=(*texts, ""), title="largest entries")
    for entry in entries:
        names = [entry.row, entry.column, *([] if entry.name is None else [entry.name])]
        values = [f"{entry.value:.4g}", *([] if entry.deviation is None else [f"{entry.deviation:.2g}"])]
        style = "dim" if entry.mark else None
        table.add_row(*map(printable, names), *values, entry.mark, style=style)
    return table
