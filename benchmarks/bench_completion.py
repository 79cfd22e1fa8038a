"""Private matrix completion of synthetic matrices of rank 5: every method at one guarantee, and as published.

Data as in Section 6 of Wang, Zhao and Kolar (2023): n = 100 items, |Omega| = r m log m, delta = 1e-5, replace one user.
Errors are mean squared errors on what is not observed, over those of EM without privacy (with the true variance of the
noise) on the same draws; for noiseless data, the errors themselves. Entries are bounded by 8, a public number. The
methods of the library have fixed settings; those "as published" have the noise of their papers and settings chosen
on one validation draw, and their epsilon is no guarantee because they read the share of observed entries for free.
"""

import logging
import math
import statistics
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from measure import table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from dplmc_paper import METHODS as PUBLISHED
from dplmc_paper import published_errors
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.options import AlternatingLeastSquares, FactoredGradient
from hushrank.evaluation.synthetic import low_rank_matrix
from recorded import save
from references import em

TITLE = "Private matrix completion of synthetic matrices"
RANK, N_ITEMS, DELTA, BOUND = 5, 100, 1e-5, 8.0
DRAWS = {5000: 20, 10000: 5, 15000: 20}  # by the number of users; 10000 is for the figures only
PUBLISHED_DRAWS = 5
EPSILONS = (2.0, 5.0, 10.0, 20.0)
LIMITS = {5000: (1.25, 1.07, 1.03, 1.02), 15000: (1.06, 1.03, 1.02, 1.02)}
NOISELESS_LIMITS = {5000: (2e-5, "", "", "")}
RANKS, RANK_CELLS, RANK_DRAWS = (2, 5, 8), ((15000, 5.0), (10000, 10.0)), 5
ENGINE = LocalEngine(threads=1)
METHODS = {
    "default": "spectral",
    "als": AlternatingLeastSquares(),
    "factored gradient": FactoredGradient(),
    "factored gradient, ridge": FactoredGradient(user_solve="ridge"),
}
REFERENCES = ("EM without privacy", "predict zero")


class Cell(NamedTuple):
    """One method on some draws of one kind of data; epsilon is infinite without privacy."""

    m: int
    rank: int
    noise: float
    method: str
    epsilon: float
    draws: int


def measure(cell: Cell) -> list[float]:
    """Errors on the draws of a cell."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    if cell.method in PUBLISHED:
        return published_errors(cell.method, cell.m, cell.rank, cell.noise, cell.epsilon, range(cell.draws))
    return [_error(cell, seed) for seed in range(cell.draws)]


def _error(cell: Cell, seed: int) -> float:
    matrix = low_rank_matrix(cell.m, N_ITEMS, cell.rank, noise=cell.noise, seed=seed)
    if cell.method == "predict zero":
        return matrix.error(np.zeros_like(matrix.truth))
    if cell.method == "EM without privacy":
        return matrix.error(em(matrix.observed, cell.rank, cell.noise if cell.noise else 1e-4))
    model = PrivateCompletion(
        cell.rank,
        epsilon=cell.epsilon,
        delta=DELTA,
        rating_range=(-BOUND, BOUND),
        offsets=False,
        method=METHODS[cell.method],
        engine=ENGINE,
    )
    return matrix.error(model.fit(matrix.observed).predict(matrix.observed))


def measure_all(cells: list[Cell]) -> dict[Cell, list[float]]:
    """Errors of all cells; times are not measured here, so that all cores may be used."""
    with ProcessPoolExecutor() as pool:
        return dict(zip(cells, pool.map(measure, cells), strict=True))


def errors() -> list[str]:
    """The table of ratios, and the series of the figures."""
    cells = []
    for noise in (1.0, 0.0):
        for m, draws in DRAWS.items():
            cells += [Cell(m, RANK, noise, name, math.inf, draws) for name in REFERENCES]
            cells += [Cell(m, RANK, noise, name, e, draws) for name in METHODS for e in EPSILONS]
            cells += [Cell(m, RANK, noise, name, e, PUBLISHED_DRAWS) for name in PUBLISHED for e in EPSILONS]
    found, rows, series = measure_all(cells), [], []
    for noise in (1.0, 0.0):
        for m in DRAWS:
            mine = {(cell.method, cell.epsilon): found[cell] for cell in cells if (cell.m, cell.noise) == (m, noise)}
            rows += _rows(m, noise, mine)
            for name in (*METHODS, *PUBLISHED):
                means = [statistics.mean(mine[name, epsilon]) for epsilon in EPSILONS]
                series.append({"m": m, "noise": noise, "method": name, "epsilon": EPSILONS, "mean": means})
            for name in REFERENCES:
                series.append({"m": m, "noise": noise, "method": name, "mean": statistics.mean(mine[name, math.inf])})
    save("completion", series)
    return table(("data", "method", *(f"epsilon {e:g} (limit)" for e in EPSILONS)), rows)


def _rows(m: int, noise: float, found: dict[tuple[str, float], list[float]]) -> list[tuple[str, ...]]:
    """Lines of one kind of data: ratios to EM on the same draws where there is noise, else errors."""
    kind, rows = f"m = {m}, {'noisy' if noise else 'noiseless'}", []
    without = np.array(found["EM without privacy", math.inf])
    for name in (*METHODS, *PUBLISHED):
        asked = (LIMITS if noise else NOISELESS_LIMITS).get(m, ("",) * 4) if name == "default" else ("",) * 4
        cells = []
        for epsilon, limit in zip(EPSILONS, asked, strict=True):
            values = np.array(found[name, epsilon])
            ratios = values / without[: len(values)]
            error = ratios.std(ddof=1) / math.sqrt(len(ratios))
            shown = f"{ratios.mean():.3f} +- {error:.3f}" if noise else f"{values.mean():.2e}"
            cells.append(f"{shown} ({limit})" if limit else shown)
        rows.append((kind, name, *cells))
    zero = statistics.mean(found["predict zero", math.inf])
    rows.append((kind, f"EM without privacy {without.mean():.4g}, predict zero {zero:.4g}", "", "", "", ""))
    return rows


def ranks() -> list[str]:
    """Mean squared errors as the rank of the matrix varies, noisy: after Figure 3 of the paper."""
    names = ("default", "factored gradient", *(name for name in PUBLISHED if "private" in name))
    cells = [
        Cell(m, rank, 1.0, name, epsilon, RANK_DRAWS) for m, epsilon in RANK_CELLS for name in names for rank in RANKS
    ]
    found, rows, series = measure_all(cells), [], []
    for m, epsilon in RANK_CELLS:
        for name in names:
            means = [statistics.mean(found[Cell(m, rank, 1.0, name, epsilon, RANK_DRAWS)]) for rank in RANKS]
            rows.append((f"m = {m}, epsilon {epsilon:g}", name, *(f"{mean:.4f}" for mean in means)))
            series.append({"m": m, "epsilon": epsilon, "method": name, "rank": RANKS, "mean": means})
    save("completion_rank", series)
    return table(("data, noisy", "method", *(f"rank {rank}" for rank in RANKS)), rows)


def run() -> list[str]:
    """Measure and return Markdown."""
    return [*errors(), "", *ranks()]


if __name__ == "__main__":
    print("\n".join(run()))
