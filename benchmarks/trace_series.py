"""Measure the figures of docs/guide/trace.md into benchmarks/results.json; `make figures` draws them.

Errors are Frobenius norms of the error of a matrix with all singular values 3, from dense Gaussian measurements with
noise of deviation 0.5, at delta = 1e-5: roots of mean squares over data sets and runs. The privacy part of an error is
the root of its square less w times the square of the error without privacy, where w is what clipping adds to a
variance. Nothing here is private: only somebody who knows the truth can compare.
"""

import logging
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import measure  # noqa: F401  (before NumPy: it fixes the threads)

import numpy as np  # isort: skip

from hushrank.engine.local import LocalEngine
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.estimators.trace.forecast import clipped_variance
from hushrank.estimators.trace.recipe import RECIPES
from hushrank.evaluation.trace_baselines import (
    RIVAL_SHARES,
    full_matrix_descent,
    trace_regression_without_privacy,
)
from hushrank.evaluation.trace_data import TraceRecords, trace_records
from recorded import save
from trace_paper import METHODS as PUBLISHED

DELTA, WORKERS, FIRST_SEED = 1e-5, 2, 7000
DATA_SETS, RUNS = 8, 2
OURS, LIMIT, RIVAL, PAPER = "ours", "without privacy", "full-matrix descent", "the paper's, not private"
METHODS = (OURS, LIMIT, RIVAL, PAPER)
ENTRY_SHARES = (0.1,) + (0.06,) * 15  # of the rival: with the few steps of the other designs it does not arrive


class Cell(NamedTuple):
    """One kind of data and a budget.

    Attributes
    ----------
    n, shape, rank, noise, values, design, law
        Of `trace_records`: `values` are singular values, and `law` has further parameters.
    epsilon : float
    terms : mapping
        Further parameters of `PrivateTraceRegression`. A covariance "given" is that of the data.
    fitted_rank : int or None
        If another rank than that of the truth is fitted.
    """

    n: int
    shape: tuple[int, int] = (20, 20)
    epsilon: float = 1.0
    rank: int = 2
    noise: float = 0.5
    values: tuple[float, ...] = (2.0, 1.0)
    design: str = "dense"
    law: Mapping[str, Any] = {}
    terms: Mapping[str, Any] = {}
    fitted_rank: int | None = None

    @property
    def fits(self) -> int:
        """The rank that is fitted."""
        return self.rank if self.fitted_rank is None else self.fitted_rank

    @property
    def n_parameters(self) -> int:
        """Dimension of the matrices of this rank."""
        return self.rank * (sum(self.shape) - self.rank)

    def draw(self, seed: int, more: int = 0) -> TraceRecords:
        """Records of one draw, some more than asked for."""
        given = {"design": self.design, "noise": self.noise, "singular_values": self.values, **self.law}
        return trace_records(self.n + more, self.shape, self.rank, seed=seed, **given)

    def estimator(self, **terms: Any) -> PrivateTraceRegression:
        """The estimator at its defaults but for what the cell and the caller state."""
        given = {"epsilon": self.epsilon, "delta": DELTA, "design": self.design, "shape": self.shape}
        return PrivateTraceRegression(self.fits, **{**given, "engine": LocalEngine(threads=1), **self.terms, **terms})


def fit_ours(cell: Cell, data: TraceRecords) -> PrivateTraceRegression:
    """A private fit."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    given = {}
    if cell.terms.get("design_covariance") == "given":
        given["design_covariance"] = data.covariance
    elif cell.terms.get("design_covariance") == "function":
        A, B = (np.linalg.inv(factor) for factor in data.covariance)
        given["design_covariance"] = lambda X: A @ X @ B
    return cell.estimator(**given).fit(data.X, data.y)


def _fit_limit(cell: Cell, data: TraceRecords, rng: np.random.Generator) -> np.ndarray:
    return trace_regression_without_privacy(data.X, data.y, cell.design, cell.shape, cell.fits)


def _fit_rival(cell: Cell, data: TraceRecords, rng: np.random.Generator) -> np.ndarray:
    shares = ENTRY_SHARES if cell.design == "entry" else RIVAL_SHARES
    terms = {"epsilon": cell.epsilon, "delta": DELTA, "shares": shares}
    return full_matrix_descent(data.X, data.y, cell.design, cell.shape, cell.fits, **terms)


def _fit_paper(cell: Cell, data: TraceRecords, rng: np.random.Generator) -> np.ndarray:
    [published] = PUBLISHED.values()
    return published.fit(data, cell.fits, cell.epsilon, DELTA, rng).coef


FITS: dict[str, Callable[[Cell, TraceRecords, np.random.Generator], np.ndarray]] = {
    OURS: lambda cell, data, rng: fit_ours(cell, data).coef_,
    LIMIT: _fit_limit,
    RIVAL: _fit_rival,
    PAPER: _fit_paper,
}
Errors = dict[str, list[float]]


def target(cell: Cell, data: TraceRecords) -> np.ndarray:
    """The best matrix of the rank that is fitted."""
    U, s, Vt = np.linalg.svd(data.coef, full_matrices=False)
    return (U[:, : cell.fits] * s[: cell.fits]) @ Vt[: cell.fits]


def errors_of(cell: Cell, seed: int, methods: Sequence[str], runs: int) -> Errors:
    """Frobenius norms of the errors of some methods on one draw; one run of what has no noise."""
    data = cell.draw(seed)
    best, rng = target(cell, data), np.random.default_rng([seed, 1])
    return {
        name: [float(np.linalg.norm(FITS[name](cell, data, rng) - best)) for _ in range(1 if name == LIMIT else runs)]
        for name in methods
    }


def measure_cells(
    cells: Iterable[Cell], methods: Sequence[str] | Mapping[str, Sequence[str]], draws: int, runs: int = 1
) -> list[list[Errors]]:
    """Errors on all draws of all cells, by two processes at once; methods may depend on the design."""
    listed = list(cells)
    own = [methods[cell.design] if isinstance(methods, Mapping) else methods for cell in listed]
    jobs = [
        (cell, FIRST_SEED + draw, names, runs) for cell, names in zip(listed, own, strict=True) for draw in range(draws)
    ]
    with ProcessPoolExecutor(WORKERS) as pool:
        found = iter(list(pool.map(errors_of, *zip(*jobs, strict=True))))
    return [[next(found) for _ in range(draws)] for _ in listed]


def forecast(cell: Cell) -> tuple[float, float]:
    """Relative errors that `plan` expects for the true signal over noise, in all and without privacy."""
    plan = cell.estimator(signal_to_noise=cell.values[-1] / cell.noise).plan(n_samples=cell.n)
    whole, sample, _ = plan.forecast.values()
    return whole, sample


def spread_factor(cell: Cell) -> float:
    """From an error relative to a matrix with all singular values as small as the least one, to a norm."""
    return math.sqrt(cell.rank) * cell.values[-1]


def root_mean_square(numbers: Iterable[float]) -> float:
    """Of some errors."""
    return math.sqrt(statistics.mean(number**2 for number in numbers))


def privacy_part(draws: Sequence[Errors]) -> float:
    """What privacy adds to the error; NaN where it is lost in what the sample does."""
    whole = statistics.mean(error**2 for found in draws for error in found[OURS])
    limit = statistics.mean(error**2 for found in draws for error in found[LIMIT])
    part = whole - clipped_variance(RECIPES["dense"].level) * limit
    return math.sqrt(part) if part > 0.0 else math.nan


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the logarithms, by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def planted(n: int, d: int = 16, rank: int = 2, epsilon: float = 0.3, noise: float = 0.5) -> Cell:
    """A cell of the figures."""
    return Cell(n, (d, d), epsilon, rank, noise, (3.0,) * rank)


class Curve(NamedTuple):
    """Cells along an axis, and the slope that the privacy part must have within 0.2."""

    figure: str
    x: tuple[float, ...]
    cells: tuple[Cell, ...]
    slope: float


def _curves() -> dict[str, Curve]:
    sizes, epsilons = (20_000, 40_000, 80_000, 160_000), (0.1, 0.2, 0.4, 0.8)
    cells = tuple(planted(60_000, d, rank) for d, rank in ((8, 1), (8, 2), (16, 2), (16, 4), (24, 4)))
    return {
        "n": Curve("trace_records", sizes, tuple(map(planted, sizes)), -1.0),
        "epsilon": Curve("trace_epsilon", epsilons, tuple(planted(60_000, epsilon=e) for e in epsilons), -1.0),
        "parameters": Curve("trace_parameters", tuple(cell.n_parameters for cell in cells), cells, 1.0),
    }


CURVES = _curves()


class Slope(NamedTuple):
    """Slope of the privacy part of all data sets, and its standard error, from leaving out one of them at a time."""

    value: float
    deviation: float


def slope_of(x: Sequence[float], found: Sequence[Sequence[Errors]]) -> Slope:
    """The slope along a curve."""
    n_draws = len(found[0])
    without = [
        slope(x, [privacy_part([draw for i, draw in enumerate(draws) if i != left]) for draws in found])
        for left in range(n_draws if n_draws > 1 else 0)
    ]
    spread = math.sqrt((n_draws - 1) * statistics.pvariance(without)) if without else math.nan
    return Slope(slope(x, [privacy_part(draws) for draws in found]), spread)


def series_of(curve: Curve, found: Sequence[Sequence[Errors]]) -> list[dict[str, Any]]:
    """What a figure is drawn from: a series for each method, the forecast, and the privacy part with its slope."""
    series: list[dict[str, Any]] = []
    for name in METHODS:
        errors = [[error for draw in draws for error in draw[name]] for draws in found]
        means = [root_mean_square(numbers) for numbers in errors]
        spreads = [
            statistics.stdev(e**2 for e in numbers) / math.sqrt(len(numbers)) / (2.0 * mean)
            for numbers, mean in zip(errors, means, strict=True)
        ]
        series.append({"method": name, "x": curve.x, "mean": means, "standard_error": spreads})
    factors, expected = [spread_factor(cell) for cell in curve.cells], [forecast(cell) for cell in curve.cells]
    both = list(zip(factors, expected, strict=True))
    zero = [float(np.linalg.norm(cell.values)) for cell in curve.cells]
    series.append({"method": "forecast", "x": curve.x, "mean": [factor * whole for factor, (whole, _) in both]})
    series.append({"method": "answer zero", "x": curve.x, "mean": zero})
    noise = [factor * math.sqrt(whole**2 - sample**2) for factor, (whole, sample) in both]
    series.append({"method": "forecast of the privacy part", "x": curve.x, "mean": noise})
    parts, (value, spread) = [privacy_part(draws) for draws in found], slope_of(curve.x, found)
    slopes = {"slope": round(value, 3), "slope_error": round(spread, 3)}
    series.append({"method": "privacy part", "x": curve.x, "mean": parts, **slopes})
    return [{key: _rounded(value) for key, value in one.items()} for one in series]


def _rounded(value: Any) -> Any:
    return [float(f"{number:.4g}") for number in value] if isinstance(value, list) else value


def measure_curve(curve: Curve, draws: int = DATA_SETS, runs: int = RUNS) -> list[dict[str, Any]]:
    """Measure and return the series of one figure."""
    return series_of(curve, measure_cells(curve.cells, METHODS, draws, runs))


def main() -> None:
    """Measure and record everything."""
    for curve in CURVES.values():
        save(curve.figure, measure_curve(curve))


if __name__ == "__main__":
    main()
