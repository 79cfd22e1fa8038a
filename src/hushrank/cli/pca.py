"""`hushrank pca`: private principal components of a table."""

from collections.abc import Iterator, Sequence
from typing import Any

from hushrank.cli.components import describe_components
from hushrank.cli.descriptions import page_of
from hushrank.cli.fit import ROWS, fit_command


@fit_command("PrivatePCA", ROWS, page_of)
def command(model: Any) -> Iterator[Any]:
    """Private principal components of a table of rows.

    INPUT is a Parquet file, a CSV file with a header, a folder of them, or an .npy or .npz array. You say how
    long a row can be at most, --row-norm, or between which --column-bounds its entries are, without looking at the
    data. A loose bound will do: where long rows are shortened is found privately. A CSV file of bounds has a line of
    names, such as column,low,high, and a line for each column. Rows that are not finite, or have
    text in a chosen column of a CSV file, count as zero; hushrank inspect says how many. Without --center, components
    are those of the second moment around the origin. The table marks components that are noise, or weak.

    \b
    Examples:
      hushrank pca patients.parquet --components 5 --row-norm 100 --center private --epsilon 1 --delta 1e-6 \\
               --out pca.hush --report pca.html
      hushrank pca patients.csv --components 3 --column-bounds bounds.csv --standardize after --epsilon 1 --json
      hushrank pca words.npz --components 5 --row-norm 1 --select-columns private --epsilon 5 --delta 1e-6 --json
      hushrank pca visits/ --components 3 --row-norm 10 --epsilon 0.5 --delta 1e-6 \\
               --ledger budget.db --dataset patients-2026 --json > pca.json
    """
    yield from describe(model)


def describe(model: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """Components, how sure they are, and how rows were bounded; titles are of no use here."""
    yield from describe_components(model, f"{len(model.components_)} private principal components")
