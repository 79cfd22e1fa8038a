"""`hushrank lowrank`: private low-rank approximation of the sum of x x^T over a table."""

from collections.abc import Iterator
from typing import Any

from rich.markup import escape
from rich.table import Table

from hushrank.cli.fit import ROWS, fit_command


@fit_command("PrivateLowRank", ROWS)
def command(model: Any) -> Iterator[Any]:
    """Private low-rank approximation of a table of rows.

    What is approximated is the sum of x x^T over the rows x. INPUT is a Parquet file, a folder of Parquet files, a CSV
    file with a header, or an .npy or .npz array (complex with --field complex). Rows are shortened to --row-norm, a
    public bound that you choose without looking at the data. Eigenvalues are part of the release, unless you give
    public ones.

    \b
    Examples:
      hushrank lowrank patients.parquet --rank 5 --row-norm 1 --epsilon 1 --out low.hush
      hushrank lowrank patients.csv --eigenvalues 1 --mechanism exponential --row-norm 1 --epsilon 0.1 --json
    """
    rank, d = model.components_.shape
    table = Table(title=f"private {d} x {d} matrix of rank {rank}", title_justify="left")
    for name in ("component", "eigenvalue", "largest loading"):
        table.add_column(name, justify="left" if name == "largest loading" else "right")
    names = getattr(model, "feature_names_in_", range(d))
    for i, (value, loadings) in enumerate(zip(model.eigenvalues_, model.components_, strict=True)):
        j = int(abs(loadings).argmax())
        table.add_row(str(i + 1), f"{value:.6g}", escape(f"{names[j]} ({loadings[j].real:+.3f})"))
    yield table
