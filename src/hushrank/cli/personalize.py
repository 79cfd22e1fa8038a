"""`hushrank personalize`: a private representation that many users share, from a table of their records."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from hushrank.cli.fit import RECORDS, fit_command

LEADING = 3


@fit_command("PrivateRepresentation", RECORDS)
def command(model: Any) -> Iterator[Any]:
    """Private representation that users share, from their records.

    RECORDS is a CSV file, a Parquet file or a folder of Parquet files with a user, a target and features in every
    record, in any order. Targets are predicted from features, by a few directions that all users share and a head of
    each user's own. What is published, the directions and how heads are distributed, hardly changes if all records of
    one user are replaced. Heads are not part of it: each is computed from the user's own records, by the user, see
    hushrank predict. Records that are not finite, or without a user, are left out. Features and targets need no bound,
    only their public orders of magnitude, --x-scale and --y-scale.

    \b
    Examples:
      hushrank personalize visits.csv --components 2 --epsilon 1 --delta 1e-6 --out model.hush
      hushrank personalize visits/ --user patient --target days --features age,dose,weight --components 2 \\
               --epsilon 1 --delta 1e-6 --ledger budget.db --dataset visits-2026 --out model.hush
      hushrank personalize clicks.parquet --loss logistic --components 4 --epsilon 2 --delta 1e-6 --json
    """
    n_features, n_directions = model.embedding_.shape
    few = "1 direction" if n_directions == 1 else f"{n_directions} directions"
    yield f"private representation of {n_features} features: {few}, shared by all users"
    yield say_gain(model)
    if model.head_covariance_.any():
        yield _to_table(model)


def say_gain(model: Any) -> str:
    """Whether heads stand above the noise, in words."""
    if not hasattr(model, "gains_"):
        return "how well heads predict was not checked: a pure choice releases the directions alone"
    gain, noise = float(model.gains_.max()), float(model.gain_deviation_)
    shown = f"largest gain {gain:.3g} of at most 1, its noise {noise:.2g}"
    if not model.head_covariance_.any():
        return f"nothing stood above the noise: users rely on their own records ({shown})"
    return f"heads stand above the noise: they predict a user's records better than the user's mean answer ({shown})"


def _to_table(model: Any) -> Table:
    """The leading features of every direction, and where heads lie along it."""
    table = Table(title="shared directions", title_justify="left")
    for name in ("direction", "mean of heads", "deviation"):
        table.add_column(name, justify="right")
    table.add_column("leading features")
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    deviations = np.sqrt(np.maximum(model.head_covariance_.diagonal(), 0.0))
    for i, loadings in enumerate(model.embedding_.T):
        order = np.argsort(-abs(loadings), kind="stable")[:LEADING]
        leading = ", ".join(f"{names[j]} ({loadings[j]:+.3f})" for j in order)
        table.add_row(str(i + 1), f"{model.head_mean_[i]:.4g}", f"{deviations[i]:.4g}", escape(leading))
    return table
