"""`hushrank pca`: private principal components of a table."""

from collections.abc import Iterator
from typing import Any

from rich.markup import escape
from rich.table import Table

from hushrank.cli.fit import ROWS, fit_command


@fit_command("PrivatePCA", ROWS)
def command(model: Any) -> Iterator[Any]:
    """Private principal components of a table of rows.

    INPUT is a Parquet file, a folder of Parquet files, a CSV file with a header, or an .npy or .npz array. Rows are
    shortened to --row-norm, a public bound that you choose without looking at the data. Rows that are not finite, or
    have text in a chosen column of a CSV file, count as zero; look first with hushrank inspect.

    \b
    Examples:
      hushrank pca patients.parquet --components 5 --row-norm 1 --epsilon 1 --out pca.hush
      hushrank pca patients.csv --components 1 --row-norm 1 --epsilon 0.1 --mechanism exponential --json
      hushrank pca visits/ --components 3 --row-norm 10 --epsilon 0.5 --delta 1e-6 \\
               --ledger budget.db --dataset patients-2026 --json > pca.json
    """
    table = Table(title=f"{len(model.components_)} private principal components", title_justify="left")
    variances = getattr(model, "explained_variance_", None)  # the exponential mechanism releases none
    for name in ("component", *(() if variances is None else ("variance", "share of the total")), "largest loading"):
        table.add_column(name, justify="left" if name == "largest loading" else "right")
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    for i, loadings in enumerate(model.components_):
        j = int(abs(loadings).argmax())
        cells = [] if variances is None else [f"{variances[i]:.6g}", f"{model.explained_variance_ratio_[i]:.3f}"]
        table.add_row(str(i + 1), *cells, escape(f"{names[j]} ({loadings[j].real:+.3f})"))
    yield table
