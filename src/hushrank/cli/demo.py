"""`hushrank demo`: private covariances of scikit-learn's digits at several guarantees."""

import click
from rich.console import Console
from rich.table import Table

from hushrank.evaluation.second_moment_study import StudyRow, study_second_moment
from hushrank.evaluation.synthetic import DIGITS_PIXEL_MAX, load_digits
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Budget

# Public choices, made without looking at the images: no row of 64 pixels is longer than 8 times the largest value;
# half of that keeps most images whole.
ROW_NORM = 8 * DIGITS_PIXEL_MAX / 2
N_COMPONENTS = 5
BUDGETS = [Budget(epsilon, delta) for delta in (0.0, 1e-6) for epsilon in (0.5, 1.0, 2.0, 4.0)]


@click.command()
def command() -> None:
    """Release a private covariance of built-in data and print a table.

    The data are scikit-learn's digits (1797 images of 8 x 8 pixels). Every line is a fresh private release of the
    second moment X'X with exact noise, compared with the true matrix.
    """
    console = Console(highlight=False)
    X = load_digits()
    with console.status("releasing ..."):
        rows = list(study_second_moment(X, ROW_NORM, BUDGETS, n_components=N_COMPONENTS))
    table = Table(
        title=f"Private second moment of {len(X)} digits, rows clipped to norm {ROW_NORM:g}", title_justify="left"
    )
    for name in ("epsilon", "delta", "noise", "std. deviation", "error", f"top {N_COMPONENTS}"):
        table.add_column(name, justify="left" if name == "noise" else "right", no_wrap=True)
    for row, following in zip(rows, [*rows[1:], rows[-1]], strict=True):
        table.add_row(*cells(row), end_section=kind(row) != kind(following))
    console.print(table)
    console.print(EXPLANATION)


EXPLANATION = """\
[bold]noise[/bold]: two-sided Wishart (pure) or symmetric Gaussian, with its standard deviation off the diagonal.
[bold]error[/bold]: largest singular value of the error over that of X'X.
[bold]top 5[/bold]: variance captured by the top 5 eigenvectors of the release; 1 is the best possible.
Neighbors: replace one row. Noise is drawn and rounded exactly, so each guarantee holds for the \
arithmetic of the computer as well (docs/privacy).

Next: [bold]hushrank plan gram --columns 64 --row-norm 64 --epsilon 1[/bold] shows what such a release costs before \
any data are read. Estimators for PCA, covariance and recommenders will stand on this core."""


def kind(row: StudyRow) -> str:
    """Name of the noise."""
    if row.plan is None:
        return "none"
    return {Gaussian: "Gaussian", Pure: "Wishart"}[type(row.plan.event)]


def cells(row: StudyRow) -> list[str]:
    """One line of the table."""
    errors = [f"{row.spectral_error:.3f}", f"{row.captured:.3f}"]
    if row.plan is None:
        return ["inf", "", "none (clipping only)", "0", *errors]
    given, deviation = row.plan.guarantee, row.plan.scales["standard deviation off the diagonal"]
    return [f"{given.epsilon:g}", f"{given.delta:g}", kind(row), f"{deviation:,.0f}", *errors]
