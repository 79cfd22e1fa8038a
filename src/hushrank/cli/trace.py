"""`hushrank trace`: a private matrix of low rank from answers to measurements of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.table import Table

from hushrank.cli.fit import fit_command
from hushrank.cli.measurements import MEASUREMENTS
from hushrank.cli.tables import make_table, printable

SHOWN = 5
MOST_NOISE = 0.3  # of a gain, which is at most 1
CLEAR = 3.0  # deviations of a gain


@fit_command("PrivateTraceRegression", MEASUREMENTS)
def command(model: Any) -> Iterator[Any]:
    """Private matrix of low rank from answers to measurements of it.

    MEASUREMENTS is a CSV file, a Parquet file, a folder of Parquet files or an .npy file with a record of every person:
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
        yield f"intercept: {model.intercept_:.4g}; singular values: {_list(model.singular_values_[:found])}"
        yield _to_table(model)


def say_gain(model: Any) -> str:
    """Whether the matrix stands above the noise, in words."""
    shown = f"gain {model.gain_:.3g} of at most 1, its noise {model.gain_deviation_:.2g}"
    if not model.coef_.any():
        learned = "only the intercept was learned" if model.intercept == "private" else "nothing was learned"
        return f"nothing stood above the noise: {learned}, and every prediction is {model.intercept_:.4g} ({shown})"
    if model.gain_ <= CLEAR * model.gain_deviation_:
        return f"the matrix stands above the noise by squared errors alone, as where most answers are equal ({shown})"
    # The gain is the share of records that are predicted better, less that of those predicted worse.
    better = round(50.0 * (1.0 + min(max(float(model.gain_), 0.0), 1.0)))
    shares = f"about {better} % of the records better than the intercept alone and {100 - better} % worse"
    return f"the matrix stands above the noise: it predicts {shares} ({shown})"


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


def _list(values: Any) -> str:
    """Numbers in their order, as many as are shown of anything."""
    more = ", ..." if len(values) > SHOWN else ""
    return ", ".join(f"{value:.4g}" for value in values[:SHOWN]) + more


def _to_table(model: Any) -> Table:
    """The largest entries of the matrix, with the names of what they belong to."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    rows, columns, entries = [str(i) for i in range(model.n_rows_)], [str(j) for j in range(model.n_columns_)], []
    if names and model.design == "rank_one":
        rows, columns = names[: model.n_rows_], names[model.n_rows_ :]
    elif model.design == "dense":
        entries = names
    texts = ("row", "column", *(["name"] if entries else []))
    table = make_table(*texts, "entry", texts=texts, title="largest entries")
    for place in np.argsort(-abs(model.coef_), axis=None, kind="stable")[:SHOWN]:
        i, j = divmod(int(place), model.n_columns_)
        cells = [rows[i], columns[j], *entries[place : place + 1]]
        table.add_row(*map(printable, cells), f"{model.coef_[i, j]:.4g}")
    return table
