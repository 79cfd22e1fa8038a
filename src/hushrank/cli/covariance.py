"""`hushrank covariance`: private covariance matrix of a table."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from hushrank.cli.fit import ROWS, fit_command

SHOWN = 10


@fit_command("PrivateCovariance", ROWS)
def command(model: Any) -> Iterator[Any]:
    """Private covariance matrix of a table of rows.

    INPUT is a Parquet file, a folder of Parquet files, a CSV file with a header, or an .npy or .npz array. Rows are
    shortened to --row-norm, a public bound that you choose without looking at the data. Rows that are not finite, or
    have text in a chosen column of a CSV file, count as zero; look first with hushrank inspect. Without
    --center the result is the second moment.

    \b
    Examples:
      hushrank covariance patients.parquet --row-norm 1 --epsilon 1 --out cov.hush
      hushrank covariance patients.csv --columns age,weight --center private --row-norm 50 --center-norm 200 \\
               --epsilon 1 --delta 1e-6 --json
      hushrank covariance patients.npy --rank 3 --mechanism exponential --row-norm 1 --epsilon 1 --out cov.hush
    """
    d = model.n_features_in_
    yield f"private {d} x {d} covariance, largest eigenvalues:"
    table = Table()
    table.add_column("rank", justify="right")
    table.add_column("eigenvalue", justify="right")
    for i, value in enumerate(model.eigenvalues_[:SHOWN]):
        table.add_row(str(i + 1), f"{value:.6g}")
    yield table
