"""`hushrank covariance`: private covariance matrix of a table."""

from collections.abc import Iterator, Sequence
from typing import Any

from hushrank.cli.components import describe_components
from hushrank.cli.descriptions import page_of
from hushrank.cli.fit import ROWS, fit_command

SHOWN = 10


@fit_command("PrivateCovariance", ROWS, page_of)
def command(model: Any) -> Iterator[Any]:
    """Private covariance matrix of a table of rows.

    INPUT is a Parquet file, a CSV file with a header, a folder of them, or an .npy or .npz array. You say how
    long a row can be at most, --row-norm, or between which --column-bounds its entries are, without looking at the
    data. A loose bound will do: where long rows are shortened is found privately. A CSV file of bounds has a line of
    names, such as column,low,high, and a line for each column in its order. Rows that are not finite, or have
    text in a chosen column of a CSV file, count as zero; hushrank inspect says how many. Without --center the result
    is the second moment. The table marks eigenvalues whose directions are noise, or weak.

    \b
    Examples:
      hushrank covariance patients.parquet --row-norm 100 --epsilon 1 --out cov.hush --report cov.html
      hushrank covariance patients.csv --columns age,weight --center private --row-norm 500 --epsilon 1 \\
               --delta 1e-6 --json
      hushrank covariance patients.csv --column-bounds bounds.csv --standardize after --epsilon 1 --out cor.hush
      hushrank covariance patients.npy --rank 3 --mechanism exponential --row-norm 1 --epsilon 1 --out cov.hush
    """
    yield from describe(model)


def describe(model: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """Components, how sure they are, and how rows were bounded; titles are of no use here."""
    d = model.n_features_in_
    title = f"private {d} x {d} covariance, largest eigenvalues"
    yield from describe_components(model, title, most=SHOWN, has_loadings=False)
