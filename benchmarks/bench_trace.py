"""Private trace regression: error at fixed guarantees, its rates, what it does to other data than it was made for.

Delta is 1e-5, one record is replaced, the matrix has singular values 2 and 1, dense measurements are Gaussian and noise
has deviation 0.5, unless stated; the estimator is at its defaults. Errors are medians of 5 draws of the Frobenius norm
of the error over that of the truth. `trace_series` measures the rates, which are those of the figures of
docs/guide/trace.md, and `trace_scale` reads records from a disk.
"""

import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

import trace_scale
from recorded import save
from trace_paper import METHODS as PUBLISHED
from trace_series import (
    CURVES,
    DATA_SETS,
    FIRST_SEED,
    FITS,
    LIMIT,
    METHODS,
    OURS,
    RIVAL,
    RUNS,
    WORKERS,
    Cell,
    Errors,
    fit_ours,
    forecast,
    measure_cells,
    series_of,
    slope_of,
    spread_factor,
)

TITLE = "Private trace regression"
DRAWS, TIMED, FRESH = 5, 3, 5000
# Cells with a limit on the relative error.
LIMITS = {
    "dense, d = 20, n = 2e4": (Cell(20_000), 0.026),
    "dense, d = 20, n = 1e5": (Cell(100_000), 0.009),
    "dense, d = 40, n = 2e4": (Cell(20_000, (40, 40)), 0.050),
    "dense, d = 40, n = 1e5": (Cell(100_000, (40, 40)), 0.015),
    "rank_one, d = 100, n = 1e5": (Cell(100_000, (100, 100), design="rank_one"), 0.035),
    "entry, d = 100, n = 1e6": (Cell(1_000_000, (100, 100), design="entry"), 0.009),
}
SHOWN_MEMORY = "dense, d = 40, n = 2e4"
COMPARED = {"dense": METHODS, "rank_one": (OURS, LIMIT, RIVAL), "entry": (OURS, LIMIT, RIVAL)}
EPSILONS = (0.5, 1.0, 2.0, 5.0)
# By d and n: what a prototype without learned covariances, intercepts and scales had; None where nobody measured.
NOTES = {
    (20, 5_000): (0.640, 0.114, 0.045, 0.034),
    (20, 20_000): (0.033, 0.020, 0.018, 0.017),
    (40, 5_000): (3.22, None, 0.325, 0.056),
    (40, 20_000): (0.308, 0.037, None, 0.024),
}
SIGNALS, LIMIT_FLAT = (1.0, 3.0, 10.0, 30.0), 1.25


class Variant(NamedTuple):
    """Other data or other parameters, and what they may cost: the error over that of a base."""

    cell: Cell
    limit: float | str = ""


_BASE, _STRETCHED, _DIAGONAL = "as above", {"condition": 10.0}, {"condition": 10.0, "diagonal": True}
_GIVEN, _FUNCTION = {"design_covariance": "given"}, {"design_covariance": "function"}
VARIANTS = {
    _BASE: Variant(Cell(20_000)),
    "condition 10, Kronecker, given as a pair": Variant(Cell(20_000, law=_STRETCHED, terms=_GIVEN), 1.5),
    "condition 10, Kronecker, given as a function": Variant(Cell(20_000, law=_STRETCHED, terms=_FUNCTION), 1.5),
    "condition 10, Kronecker, learned (default)": Variant(Cell(20_000, law=_STRETCHED)),
    "condition 10, diagonal, given as an array": Variant(Cell(20_000, law=_DIAGONAL, terms=_GIVEN), 1.5),
    "condition 10, diagonal, learned (default)": Variant(Cell(20_000, law=_DIAGONAL)),
    "isotropic, and so stated": Variant(Cell(20_000, terms={"design_covariance": "identity"})),
    "rank 3 fitted to rank 2": Variant(Cell(20_000, fitted_rank=3)),
    "rank 1 fitted to rank 2, from the best of rank 1": Variant(Cell(20_000, fitted_rank=1)),
    "noise of Student's law t3": Variant(Cell(20_000, law={"noise_law": "t3"}), 2.0),
    "label privacy": Variant(Cell(20_000, terms={"privacy": "label"})),
    "add_remove": Variant(Cell(20_000, terms={"neighbors": "add_remove"})),
}


class Extreme(NamedTuple):
    """Data of other kinds; measurements and answers times a factor, answers with an offset."""

    cell: Cell
    x_factor: float = 1.0
    y_factor: float = 1.0
    offset: float = 0.0


_STATED = {"x_scale": 100.0, "y_scale": 1000.0}
EXTREMES = {
    "300 records": Extreme(Cell(300)),
    "1000 records": Extreme(Cell(1_000)),
    "epsilon 0.05": Extreme(Cell(20_000, epsilon=0.05)),
    "epsilon 50": Extreme(Cell(20_000, epsilon=50.0)),
    "d = 3": Extreme(Cell(20_000, (3, 3))),
    "200 x 5": Extreme(Cell(20_000, (200, 5))),
    "x times 100, y times 1e3 plus 500": Extreme(Cell(20_000), 100.0, 1e3, 500.0),
    "x times 100, y times 1e3 plus 5e3": Extreme(Cell(20_000), 100.0, 1e3, 5e3),
    "the same, scales stated": Extreme(Cell(20_000, terms=_STATED), 100.0, 1e3, 5e3),
    "entries, 100 x 100, popularity 1": Extreme(Cell(100_000, (100, 100), design="entry", law={"popularity": 1.0})),
    "entries, 100 x 100, 2000 records": Extreme(Cell(2_000, (100, 100), design="entry")),
    "x and z of rank one, 1000 records": Extreme(Cell(1_000, design="rank_one")),
    "measurements of Student's law t5": Extreme(Cell(20_000, law={"distribution": "t5"})),
    "measurements are signs": Extreme(Cell(20_000, law={"distribution": "sign"})),
    "answers are pure noise": Extreme(Cell(20_000, values=(0.0, 0.0))),
    "pure noise, rank one": Extreme(Cell(20_000, values=(0.0, 0.0), design="rank_one")),
    "pure noise, entries, 100 x 100": Extreme(Cell(20_000, (100, 100), values=(0.0, 0.0), design="entry")),
}
LIMIT_EXTREME = 1.02


def median(draws: Sequence[Errors], name: str) -> float:
    """Median error over draws; of a draw with many runs the first."""
    return statistics.median(draw[name][0] for draw in draws)


def limits(draws: int = DRAWS) -> list[str]:
    """Cells with a limit, beside other ways."""
    rows, cells = [], [cell for cell, _ in LIMITS.values()]
    found = measure_cells(cells, COMPARED, draws)
    for (name, (cell, limit)), errors in zip(LIMITS.items(), found, strict=True):
        norm, expected = float(np.linalg.norm(cell.values)), forecast(cell)[0]
        if cell.design == "entry":
            norm *= float(np.sqrt(np.prod(cell.shape)))
        others = [f"{median(errors, other) / norm:.4f}" if other in errors[0] else "" for other in METHODS[1:]]
        here = expected * spread_factor(cell) / float(np.linalg.norm(cell.values))
        ours = f"{median(errors, OURS) / norm:.4f} ({limit:g})"
        rows.append((name, ours, *others, f"{expected:.4f} ({here:.4f})"))
    header = ("relative error, epsilon 1", "ours (limit)", *METHODS[1:], "forecast (for singular values 2 and 1)")
    [published] = PUBLISHED.values()
    return [
        *table(header, rows),
        "",
        f"The paper's: {published.words}.",
        "A forecast knows the least singular value over the noise, and takes all others for equal to it.",
    ]


def times(names: Sequence[str] = tuple(LIMITS), repetitions: int = TIMED) -> list[str]:
    """CPU seconds of a fit and of one without privacy, and memory beyond the data."""
    rows, rng = [], np.random.default_rng(0)
    for name in names:
        cell, _ = LIMITS[name]
        data = cell.draw(FIRST_SEED)
        calls = {method: partial(FITS[method], cell, data, rng) for method in (OURS, LIMIT)}
        seconds = median_seconds(calls, repetitions)
        memory = [f"{peak_megabytes(call):.1f}" if name == SHOWN_MEMORY else "" for call in calls.values()]
        ratio = seconds[OURS] / seconds[LIMIT]
        rows.append((name, f"{seconds[OURS]:.2f}", f"{seconds[LIMIT]:.2f}", f"{ratio:.1f}", *memory))
    return table(("one thread", "CPU s", "without privacy", "ratio", "peak MB", "peak MB without privacy"), rows)


def other_epsilons(draws: int = DRAWS) -> list[str]:
    """Small data and other budgets."""
    keys = [(d, n, epsilon) for d, n in NOTES for epsilon in EPSILONS]
    found = measure_cells([Cell(n, (d, d), epsilon) for d, n, epsilon in keys], METHODS, draws)
    rows, norm = [], float(np.linalg.norm(Cell(1).values))
    for (d, n, epsilon), errors in zip(keys, found, strict=True):
        cell, noted = Cell(n, (d, d), epsilon), NOTES[d, n][EPSILONS.index(epsilon)]
        ours = f"{median(errors, OURS) / norm:.4f}" + (f" ({noted:g})" if noted else "")
        others = [f"{median(errors, name) / norm:.4f}" for name in METHODS[1:]]
        here = forecast(cell)[0] * spread_factor(cell) / norm
        rows.append((f"d = {d}, n = {n}", f"{epsilon:g}", ours, *others, f"{here:.4f}"))
    return table(("relative error", "epsilon", "ours (prototype)", *METHODS[1:], "forecast"), rows)


def slopes(draws: int = DATA_SETS, runs: int = RUNS) -> list[str]:
    """Slopes of the privacy part; the series are those of the figures, and are recorded for them."""
    rows = []
    for name, curve in CURVES.items():
        found = measure_cells(curve.cells, METHODS, draws, runs)
        series = series_of(curve, found)
        save(curve.figure, series)
        parts = ", ".join(f"{part:.4f}" for part in series[-1]["mean"])
        value, spread = slope_of(curve.x, found)
        ends = f"{curve.x[0]:g} to {curve.x[-1]:g}"
        rows.append((name, ends, parts, f"{value:.2f} ± {spread:.2f}", f"{curve.slope:g} ± 0.2"))
    return table(("privacy part against", "from", "privacy part", "slope", "limits"), rows)


def signals(draws: int = DATA_SETS, runs: int = RUNS) -> list[str]:
    """Absolute error against the singular values, which it must not depend on."""
    rows = []
    for name in ("signal_to_noise stated", "default"):
        terms = [{} if name == "default" else {"signal_to_noise": signal / 0.5} for signal in SIGNALS]
        cells = [Cell(20_000, values=(s, s), terms=own) for s, own in zip(SIGNALS, terms, strict=True)]
        found = measure_cells(cells, (OURS,), draws, runs)
        errors = [statistics.median(e for draw in own for e in draw[OURS]) for own in found]
        flat = f"{max(errors) / min(errors):.3f} ({LIMIT_FLAT})"
        rows.append((name, *(f"{error:.4f}" for error in errors), flat))
    names = (f"both singular values {signal:g}" for signal in SIGNALS)
    return table(("absolute error, d = 20, n = 2e4, epsilon 1", *names, "largest over smallest (limit)"), rows)


def variants(draws: int = DRAWS) -> list[str]:
    """What other covariances, ranks, noise and neighbors cost."""
    found = measure_cells([variant.cell for variant in VARIANTS.values()], (OURS, LIMIT), draws)
    bases = {name: median(found[0], name) for name in (OURS, LIMIT)}
    rows, norm = [], float(np.linalg.norm(Cell(1).values))
    for (name, variant), errors in zip(VARIANTS.items(), found, strict=True):
        ours, limit = median(errors, OURS), median(errors, LIMIT)
        ratios = f"{ours / bases[OURS]:.2f}", variant.limit, f"{limit / bases[LIMIT]:.2f}"
        rows.append((name, f"{ours / norm:.4f}", f"{limit / norm:.4f}", *ratios))
    header = ("d = 20, n = 2e4, epsilon 1", "ours", LIMIT, "ours over the first row", "limit", f"{LIMIT}, the same")
    return table(header, rows)


def predict_fresh(extreme: Extreme, seed: int) -> tuple[float, float, float]:
    """Prediction errors over the spread of fresh answers: of a fit, of its intercept alone, and of the truth."""
    cell, data = extreme.cell, extreme.cell.draw(seed, more=FRESH)
    y = extreme.y_factor * data.y + extreme.offset
    old, new = (_part(data.X, part, extreme.x_factor) for part in (slice(cell.n), slice(cell.n, None)))
    model, answers = fit_ours(cell, replace(data, X=old, y=y[: cell.n])), y[cell.n :]
    errors = (float(np.sqrt(np.mean((guess - answers) ** 2))) for guess in (model.predict(new), model.intercept_))
    whole, alone, truth = (error / float(answers.std()) for error in (*errors, extreme.y_factor * cell.noise))
    return whole, alone, truth


def _part(X: Any, part: slice, factor: float) -> Any:
    return tuple(side[part] for side in X) if isinstance(X, tuple) else factor * X[part]


def extremes(draws: int = DRAWS) -> list[str]:
    """Prediction errors beside that of the best constant, which is 1."""
    jobs = [(extreme, FIRST_SEED + draw) for extreme in EXTREMES.values() for draw in range(draws)]
    with ProcessPoolExecutor(WORKERS) as pool:
        found = iter(list(pool.map(predict_fresh, *zip(*jobs, strict=True))))
    rows = []
    for name in EXTREMES:
        errors, alone, truth = zip(*(next(found) for _ in range(draws)), strict=True)
        largest = f"{max(errors):.4f} ({LIMIT_EXTREME})"
        rows.append((name, f"{statistics.median(errors):.4f}", largest, f"{max(alone):.4f}", f"{truth[0]:.4f}"))
    header = ("prediction error, the best constant = 1", "median", "largest (limit)")
    return table((*header, "largest of the released intercept alone", "the truth"), rows)


def run() -> list[str]:
    """Measure and return Markdown."""
    parts = (times, limits, other_epsilons, slopes, signals, variants, extremes, trace_scale.run)
    shown = {part: part() for part in parts}  # times first, while nothing else runs
    order = (limits, times, *parts[2:])
    words = {
        slopes: f"Rates: singular values 3, noise 0.5, d = 16, n = 6e4, epsilon 0.3 but for what varies; {DATA_SETS} "
        f"data sets with {RUNS} runs each.",
        extremes: f"Data of other kinds: d = 20, n = 2e4, epsilon 1 but for what is stated; {FRESH} fresh "
        f"records, {DRAWS} draws.",
    }
    return [line for part in order for line in (*((words[part], "") if part in words else ()), *shown[part], "")][:-1]


if __name__ == "__main__":
    print("\n".join(run()))
