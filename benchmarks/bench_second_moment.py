"""PrivatePCA and PrivateCovariance with a private radius, beside the same with a public one, at fixed guarantees.

Neighbors: replace one row. "Public" means radius="public", rows shortened to the largest norm of the table; covariances
of it are those of `released_` without its negative part. "Private" means the defaults, with row_norm at the same norm,
or 100 times as large. Captured is tr(V S V^T) / best, S the true covariance around the mean and V 5 components (half of
the columns, where that is less). Every number is a mean over fits with its standard error; MISSED is said of means.

`python benchmarks/bench_second_moment.py --data FOLDER` puts the results into RESULTS.md; with `--only NAME` one part,
NAME one of limits, tables, scales, sure, wide, times. Without a folder, MNIST, school and KOS are left out.
"""

import argparse
import logging
import math
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from measure import data_folder, replace_part, replace_section, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

import second_moment_scales
import second_moment_sure
import second_moment_wide
from bench_pca import mean_and_error
from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.linalg.spectral import project_psd
from recorded import save
from second_moment_tables import LOOSE, TABLES, Table, all_tables, mnist

TITLE = "Private second moments with a private radius"
FITS, FITS_OF_FEW_ROWS, FEW_ROWS, SLOW_FITS, AGAIN_FITS = 30, 60, 1000, 20, 300
EPSILONS, DELTAS = (0.25, 1.0, 4.0), (0.0, 1e-6)
CURVE_EPSILONS, FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (1.0, 3.0, 10.0, 30.0, 100.0)
ENGINE = LocalEngine(threads=1)
PUBLIC, PUBLIC_CENTER, PRIVATE, CENTER, LOOSE_CENTER = METHODS = (
    "public", "public, center", "private", "private, center", "private, center, row_norm 100x",
)  # fmt: skip
LOSS_LIMIT, CENTER_LIMIT, ZERO_MEAN_LIMIT, ERROR_LIMIT = 0.03, 0.02, 0.06, 0.3


class Cell(NamedTuple):
    """A table at one guarantee."""

    name: str
    delta: float
    epsilon: float

    def __str__(self) -> str:
        return f"{self.name}, delta {self.delta:g}, epsilon {self.epsilon:g}"


Mean = tuple[float, float]
# Cells with a limit on what a private center captures.
LIMITS = {
    Cell("digits", 1e-6, 1.0): 0.91,
    Cell("breast cancer", 0.0, 1.0): 0.56,
    Cell("power3", 0.0, 0.25): 0.84,
    Cell("heavy", 1e-6, 1.0): 0.98,
    Cell("MNIST", 1e-6, 0.1): 0.89,
    Cell("MNIST", 0.0, 1.0): 0.72,
}


def options_of(method: str) -> dict[str, Any]:
    """Parameters of a method."""
    return {
        "radius": "public" if method.startswith("public") else "private",
        "center": "private" if "center" in method else None,
    }


def captured(data: Table, cell: Cell, method: str, factor: float = 1.0) -> float:
    """What the components of one fit capture."""
    row_norm = data.row_norm * (LOOSE if method == LOOSE_CENTER else factor)
    terms = {"row_norm": row_norm, "epsilon": cell.epsilon, "delta": cell.delta, "engine": ENGINE}
    return data.captured(PrivatePCA(data.n_components, **terms, **options_of(method)).fit(data.X).components_)


def covariance_error(data: Table, cell: Cell, method: str) -> float:
    """Relative error of the covariance of one fit."""
    terms = {"row_norm": data.row_norm, "epsilon": cell.epsilon, "delta": cell.delta, "engine": ENGINE}
    model = PrivateCovariance(**terms, **options_of(method)).fit(data.X)
    return data.error(project_psd(model.released_)[0] if method == PUBLIC_CENTER else model.covariance_)


def mean_of(call: Callable[[], float], fits: int) -> Mean:
    """Mean of many fits, and its error."""
    return mean_and_error(call() for _ in range(fits))


def fits_of(data: Table) -> int:
    """More where few rows make fits cheap and different from each other."""
    return FITS if len(data.X) >= FEW_ROWS else FITS_OF_FEW_ROWS


def shown(mean: Mean) -> str:
    """A mean and its error."""
    return "{:.3f} +- {:.3f}".format(*mean)


def verdict(is_kept: bool) -> str:
    """Whether a limit is kept."""
    return "ok" if is_kept else "MISSED"


def less(first: Mean, second: Mean) -> Mean:
    """Difference of two independent means."""
    return first[0] - second[0], math.hypot(first[1], second[1])


def limits(folder: Path | None) -> list[str]:
    """Cells that must be reached, and series for figures."""
    rows = []
    makers = TABLES | ({} if folder is None else {"MNIST": lambda: Table(mnist(folder))})
    made = {name: makers[name]() for name in {cell.name for cell in LIMITS} & makers.keys()}
    for cell, limit in LIMITS.items():
        if cell.name not in made:
            rows.append((cell.name, f"{cell.delta:g}", f"{cell.epsilon:g}", limit, "not measured: no --data"))
            continue
        data = made[cell.name]
        fits = SLOW_FITS if len(data.X) > 50_000 else 2 * fits_of(data)
        found = {method: mean_of(partial(captured, data, cell, method), fits) for method in METHODS[:4]}
        is_reached = found[CENTER][0] >= limit
        cells = (*map(shown, found.values()), verdict(is_reached), fits)
        rows.append((cell.name, f"{cell.delta:g}", f"{cell.epsilon:g}", limit, *cells))
    header = ("captured", "delta", "epsilon", f"limit of {CENTER}", *METHODS[:4], "", "fits")
    return [*table(header, rows), "", *curves()]


def curves() -> list[str]:
    """What digits show at other budgets, and with bounds that are too large."""
    data = TABLES["digits"]()
    series, lines = [], []
    for delta in DELTAS:
        rows = {method: [mean_of(partial(captured, data, Cell("digits", delta, epsilon), method), FITS)
                         for epsilon in CURVE_EPSILONS] for method in METHODS[:4]}  # fmt: skip
        series += [entry(rows[m], method=m, delta=delta, epsilon=CURVE_EPSILONS) for m in rows]
        names = (f"digits, delta = {delta:g}, captured by epsilon", *(f"{epsilon:g}" for epsilon in CURVE_EPSILONS))
        lines += [*table(names, ((method, *map(shown, found)) for method, found in rows.items())), ""]
    save("second_moment_epsilon", series)
    cell = Cell("digits", 1e-6, 1.0)
    rows = {method: [mean_of(partial(captured, data, cell, method, factor), FITS) for factor in FACTORS]
            for method in METHODS[:4]}  # fmt: skip
    save("second_moment_row_norm", [entry(rows[m], method=m, factor=FACTORS) for m in rows])
    names = (f"{cell}, captured by row_norm over the largest norm", *(f"{factor:g}" for factor in FACTORS))
    return [*lines, *table(names, ((method, *map(shown, found)) for method, found in rows.items()))]


def entry(found: Iterable[Mean], **terms: Any) -> dict[str, Any]:
    """One recorded series."""
    means, errors = zip(*found, strict=True)
    return {**terms, "mean": [round(m, 5) for m in means], "standard_error": [round(e, 5) for e in errors]}


def tables(folder: Path | None) -> list[str]:
    """Every table at every budget: what is captured, errors of covariances, and what must not be lost."""
    makers = all_tables(folder)
    found: dict[Cell, dict[str, Mean]] = {}
    errors: dict[Cell, tuple[Mean, Mean]] = {}
    zero_mean = set()
    rows = []
    for name, make in makers.items():
        data = make()
        fits = fits_of(data)
        if data.has_zero_mean:
            zero_mean.add(name)
        for delta in DELTAS:
            for epsilon in EPSILONS:
                cell = Cell(name, delta, epsilon)
                found[cell] = {method: mean_of(partial(captured, data, cell, method), fits) for method in METHODS}
                first, second = (mean_of(partial(covariance_error, data, cell, m), fits) for m in (PUBLIC_CENTER, CENTER))
                errors[cell] = first, second
                ratio = f"{second[0] / first[0]:.3f}"
                of_covariance = (f"{first[0]:.3g} +- {first[1]:.1g}", f"{second[0]:.3g} +- {second[1]:.1g}", ratio)
                size = "{} x {}".format(*data.X.shape)
                rows.append((f"{name}, {size}", f"{delta:g}", f"{epsilon:g}", *map(shown, found[cell].values()), *of_covariance, fits))
    header = (
        "captured", "delta", "epsilon", *METHODS, f"error of the covariance, {PUBLIC_CENTER}", CENTER, "ratio", "fits",
    )  # fmt: skip
    return [*table(header, rows), "", *losses(found, errors, zero_mean, makers)]


def losses(found, errors, zero_mean, makers) -> list[str]:  # noqa: ANN001
    """The largest losses."""
    return []


class Part(NamedTuple):
    """A part of the results: its heading and what makes its lines."""

    heading: str
    measure: Callable[[Path | None], list[str]]


PARTS = {
    "limits": Part("What must be reached", limits),
    "tables": Part("All tables", tables),
    "scales": Part("Columns of different units", second_moment_scales.run),
    "sure": Part("How sure components are", second_moment_sure.run),
    "wide": Part("Wide and sparse: words of documents", second_moment_wide.run),
    "times": Part("Time and memory", second_moment_wide.times),
}


def run() -> list[str]:
    """Measure and return Markdown."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    folder, lines = data_folder(), []
    for part in PARTS.values():
        lines += [f"### {part.heading}", "", *part.measure(folder), ""]
    return lines[:-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_known_args()[0].only
