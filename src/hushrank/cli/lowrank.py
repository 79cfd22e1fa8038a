"""`hushrank lowrank`: private low-rank approximation of the sum of x x^T over a table."""

from collections.abc import Iterator, Sequence
from typing import Any

from hushrank.cli.components import describe_components
from hushrank.cli.descriptions import page_of
from hushrank.cli.fit import ROWS, fit_command


@fit_command("PrivateLowRank", ROWS, page_of)
def command(model: Any) -> Iterator[Any]:
    """Private low-rank approximation of a table of rows.

    What is approximated is the sum of x x^T over the rows x. INPUT is a Parquet file, a CSV file with a header, a
    folder of them, or an .npy or .npz array (complex with --field complex). You say how long a row can be at most,
    --row-norm, without looking at the data. A loose bound will do: where long rows are shortened is found privately.
    Eigenvalues are part of the release, unless you give public ones. The table marks components that are noise, or
    weak.

    \b
    Examples:
      hushrank lowrank patients.parquet --rank 5 --row-norm 100 --epsilon 1 --out low.hush --report low.html
      hushrank lowrank patients.csv --eigenvalues 1 --mechanism exponential --row-norm 1 --epsilon 0.1 --json
    """
    yield from describe(model)


def describe(model: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """Components, how sure they are, and how rows were bounded; titles are of no use here."""
    rank, d = model.components_.shape
    yield from describe_components(model, f"private {d} x {d} matrix of rank {rank}")
