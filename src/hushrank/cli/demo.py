"""`hushrank demo`: private principal components of scikit-learn's digits at several guarantees."""

import logging
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from hushrank.estimators.pca import PrivatePCA
from hushrank.evaluation.metrics import captured_variance
from hushrank.evaluation.synthetic import DIGITS_PIXEL_MAX, load_digits

# Public choices, made without looking at the images: no row of 64 pixels is longer than 8 times the largest value;
# half of that keeps most images whole.
ROW_NORM = 8 * DIGITS_PIXEL_MAX / 2
N_COMPONENTS = 5
GUARANTEES = [(epsilon, delta) for delta in (0.0, 1e-6) for epsilon in (0.5, 1.0, 2.0, 4.0)]


@click.command()
def command() -> None:
    """Private principal components of built-in data: a first result.

    The data are scikit-learn's digits (1797 images of 8 x 8 pixels). Every line is a fresh private fit with exact
    noise, compared with the components that would be found without privacy.
    """
    logging.getLogger("hushrank").setLevel(logging.ERROR)  # notes for the data holder; these data are public
    console = Console(highlight=False)
    X = load_digits()
    true = X.T @ X
    table = Table(
        title=f"{N_COMPONENTS} private principal components of {len(X)} digits, row_norm = {ROW_NORM:g}",
        title_justify="left",
    )
    for name in ("epsilon", "delta", "noise", "forecast", "measured", "captured"):
        table.add_column(name, justify="left" if name == "noise" else "right", no_wrap=True)
    with console.status("fitting ..."):
        for i, (epsilon, delta) in enumerate(GUARANTEES):
            last = i + 1 == len(GUARANTEES) or GUARANTEES[i + 1][1] != delta
            table.add_row(*cells(X, true, epsilon, delta), end_section=last)
    best = np.linalg.eigh(true)[1][:, -N_COMPONENTS:].T
    table.add_row("inf", "", "none", "", "", f"{captured_variance(best, true):.3f}")
    console.print(table)
    console.print(EXPLANATION)


def cells(X: Any, true: Any, epsilon: float, delta: float) -> list[str]:
    """One line of the table."""
    pca = PrivatePCA(N_COMPONENTS, row_norm=ROW_NORM, epsilon=epsilon, delta=delta)
    plan, model = pca.plan(X.shape), pca.fit(X)
    variances = np.einsum("ij,jk,ik->i", model.components_, true / len(X), model.components_)
    error = np.abs(model.explained_variance_ - variances).max()
    numbers = plan.forecast["spectral error of the covariance"], error
    noise = "Wishart" if delta == 0 else "Gaussian"
    captured = captured_variance(model.components_, true)
    return [f"{epsilon:g}", f"{delta:g}", noise, *(f"{number:.1f}" for number in numbers), f"{captured:.3f}"]


EXPLANATION = """\
[bold]noise[/bold]: two-sided Wishart (pure privacy, delta = 0) or symmetric Gaussian.
[bold]forecast[/bold]: spectral norm of the noise in the covariance, known before any data are read.
[bold]measured[/bold]: largest error of a released variance, shortened rows included.
[bold]captured[/bold]: variance along the 5 components, over the best possible.
Neighbors: replace one row. Noise is drawn and rounded exactly, so each guarantee holds for the \
arithmetic of the computer as well (docs/privacy).

Next: [bold]hushrank pca --help[/bold] for your own table, and [bold]hushrank plan pca --rows 1797 --columns 64 \
--components 5 --row-norm 64 --epsilon 1[/bold] to see what it would cost."""
