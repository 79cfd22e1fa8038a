"""Components of the correlation matrix where columns have different units: raw, with exact and with guessed bounds.

Exact bounds are the smallest and largest entry of a column. Guessed ones contain them: the half width of each column is
too large by a factor between 1 and 10, or 1 and 100, drawn log-uniformly; "moved" also moves the middle, as far as they
still contain the column. A new guess is drawn for every fit. Four components; "after" and "private" are the values of
`standardize`, and raw columns are bounded by the largest norm of a row.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from measure import table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from hushrank.estimators.second_moment.pca import PrivatePCA
from means import mean_of
from second_moment_accuracy import ENGINE, FEW_ROWS, FITS_OF_FEW_ROWS
from second_moment_tables import Table, bundled, mixed

EPSILON, DELTA = 1.0, 1e-6
FITS = 40
TABLES: dict[str, Callable[[], np.ndarray]] = {
    "mixed": mixed,
    "wine": partial(bundled, "wine"),
    "breast cancer": partial(bundled, "breast_cancer"),
    "diabetes": partial(bundled, "diabetes", scaled=False),
}
GUESSES = {"exact bounds": (1.0, False), "10x": (10.0, False), "100x": (100.0, False), "10x, moved": (10.0, True)}
WAYS = ("after", "private")


def guess_bounds(X: np.ndarray, most: float, is_moved: bool, rng: np.random.Generator) -> np.ndarray:
    """Bounds of the columns that are up to `most` times too wide."""
    low, high = X.min(axis=0), X.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    wide = half * most ** rng.uniform(size=len(half))
    middle = middle + is_moved * (wide - half) * rng.uniform(-1, 1, len(half))
    # Rounding must not make bounds of no width, or leave the extremes of the column outside.
    return np.column_stack([np.minimum(middle - wide, low), np.maximum(middle + wide, high)])


def captured(data: Table, standardize: str | None, guess: tuple[float, bool] | None, rng: np.random.Generator) -> float:
    """What one fit captures of the correlation matrix."""
    terms = {"row_norm": data.row_norm} if guess is None else {"column_bounds": guess_bounds(data.X, *guess, rng)}
    budget = {"epsilon": EPSILON, "delta": DELTA, "center": "private", "engine": ENGINE}
    model = PrivatePCA(data.n_components, standardize=standardize, **terms, **budget).fit(data.X)
    return data.captured_of_correlations(model.components_)


def run(folder: Path | None) -> list[str]:
    """Measure and return Markdown."""
    rng, rows = np.random.default_rng(0), []
    ways = [(None, None), ("after", None), *((way, guess) for guess in GUESSES.values() for way in WAYS)]
    for name, make in TABLES.items():
        data = Table(make(), n_components=4)
        fits = FITS_OF_FEW_ROWS if len(data.X) < FEW_ROWS else FITS
        found = [mean_of(partial(captured, data, way, guess, rng), fits) for way, guess in ways]
        rows.append((f"{name}, {data.X.shape[0]} x {data.X.shape[1]}", *found, fits))
    names = (f"{guess}, {way}" for guess in GUESSES for way in WAYS)
    header = (f"correlations captured, delta {DELTA:g}, epsilon {EPSILON:g}", "raw", "raw, after", *names, "fits")
    return table(header, rows)
