"""What private components capture and how far private covariances are off, with a private and with a public radius.

"Public" is radius="public": rows are shortened to row_norm, the largest norm of the table; its covariance is that of
`released_` without the negative part. "Private" are the defaults, with the same row_norm or one 100 times as large.
Captured is tr(V S V^T) / best, S the true covariance around the mean and V 5 components, or half as many as there are
columns. Limits are on means; the largest of many losses is measured again, because being the largest is partly luck.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from measure import table

from hushrank.engine.local import LocalEngine  # isort: skip  (after measure, which fixes the threads)
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE
from hushrank.estimators.second_moment.spending import Setting
from hushrank.linalg.spectral import project_psd
from hushrank.privacy.calibration import event_for
from hushrank.privacy.guarantee import Budget, Neighbors
from means import Mean, mean_of, recorded_series, verdict
from recorded import save
from second_moment_tables import LOOSE, TABLES, Table, all_tables, mnist

FITS, FEW_ROWS, FITS_OF_FEW_ROWS = 20, 1000, 60
# A search for a radius goes astray once in hundreds of fits: limits are held against more of them where that is cheap.
FITS_OF_LIMITS, LARGE = 200, 10**7
AGAIN, FITS_AGAIN = 3, 200
EPSILONS, DELTAS = (0.25, 1.0, 4.0), (0.0, 1e-6)
CURVE_EPSILONS, CURVE_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (1.0, 3.0, 10.0, 30.0, 100.0)
ENGINE = LocalEngine(threads=1)
LOSS_LIMIT, CENTER_LIMIT, ZERO_MEAN_LIMIT, RATIO_LIMIT = 0.03, 0.02, 0.06, 0.3


class Method(NamedTuple):
    """How a model is fitted: the words for it, its parameters, and row_norm over the largest norm."""

    words: str
    options: dict[str, Any]
    factor: float = 1.0


_CENTER = {"center": "private"}
PUBLIC, PUBLIC_CENTER = Method("public", {"radius": "public"}), Method("public, center", {"radius": "public"} | _CENTER)
PRIVATE, CENTER = Method("private", {}), Method("private, center", _CENTER)
LOOSE_CENTER = Method("private, center, row_norm 100x", _CENTER, LOOSE)
METHODS = (PUBLIC, PUBLIC_CENTER, PRIVATE, CENTER)


class Cell(NamedTuple):
    """A table at one guarantee."""

    name: str
    delta: float
    epsilon: float

    def __str__(self) -> str:
        return f"{self.name}, delta {self.delta:g}, epsilon {self.epsilon:g}"

    def terms(self, data: Table, method: Method) -> dict[str, Any]:
        """Parameters of a fit."""
        row_norm = method.factor * data.row_norm
        return {"row_norm": row_norm, "epsilon": self.epsilon, "delta": self.delta, "engine": ENGINE} | method.options


# What components around a private center must capture.
LIMITS = {
    Cell("digits", 1e-6, 1.0): 0.91,
    Cell("breast cancer", 0.0, 1.0): 0.56,
    Cell("power3", 0.0, 0.25): 0.84,
    Cell("heavy", 1e-6, 1.0): 0.98,
    Cell("MNIST", 1e-6, 0.1): 0.89,
    Cell("MNIST", 0.0, 1.0): 0.72,
}


def captured(data: Table, cell: Cell, method: Method) -> float:
    """What the components of one fit capture."""
    return data.captured(PrivatePCA(data.n_components, **cell.terms(data, method)).fit(data.X).components_)


def covariance_error(data: Table, cell: Cell, method: Method) -> float:
    """Relative Frobenius error of the covariance of one fit."""
    model = PrivateCovariance(**cell.terms(data, method)).fit(data.X)
    is_public = method.options.get("radius") == "public"
    return data.error(project_psd(model.released_)[0] if is_public else model.covariance_)


def fits_of(data: Table) -> int:
    """More where few rows make fits cheap and different from each other."""
    return FITS_OF_FEW_ROWS if len(data.X) < FEW_ROWS else FITS


def limits(folder: Path | None) -> list[str]:
    """Cells with a limit, and series for figures."""
    makers = TABLES if folder is None else TABLES | {"MNIST": lambda: Table(mnist(folder))}
    made = {name: makers[name]() for name in {cell.name for cell in LIMITS} & makers.keys()}
    rows = []
    for cell, limit in LIMITS.items():
        if cell.name not in made:
            rows.append((cell, limit, "no --data", *[""] * 5))
            continue
        data = made[cell.name]
        fits = FITS if data.X.size > LARGE else FITS_OF_LIMITS
        found = [mean_of(partial(captured, data, cell, method), fits) for method in METHODS]
        rows.append((cell, limit, *found, verdict(found[-1].value >= limit), fits))
    header = ("captured", f"limit of {CENTER.words}", *(method.words for method in METHODS), "", "fits")
    return [*table(header, rows), "", *curves(TABLES["digits"]())]


def curves(data: Table) -> list[str]:
    """Digits at other budgets, and with bounds that are too large."""
    series, lines = [], []
    for delta in DELTAS:
        cells, rows = [Cell("digits", delta, epsilon) for epsilon in CURVE_EPSILONS], []
        for method in METHODS:
            found = [mean_of(partial(captured, data, cell, method), FITS) for cell in cells]
            series.append(recorded_series(found, method=method.words, delta=delta, epsilon=CURVE_EPSILONS))
            rows.append((method.words, *found))
        names = (f"digits, delta {delta:g}, captured at epsilon", *(f"{epsilon:g}" for epsilon in CURVE_EPSILONS))
        lines += [*table(names, rows), ""]
    save("second_moment_epsilon", series)
    cell, rows, series = Cell("digits", 1e-6, 1.0), [], []
    for method in METHODS:
        looser = [method._replace(factor=factor) for factor in CURVE_FACTORS]
        found = [mean_of(partial(captured, data, cell, loose), FITS) for loose in looser]
        series.append(recorded_series(found, method=method.words, factor=CURVE_FACTORS))
        rows.append((method.words, *found))
    save("second_moment_row_norm", series)
    names = (f"{cell}, captured with row_norm over the largest norm", *(f"{factor:g}" for factor in CURVE_FACTORS))
    return [*lines, *table(names, rows), "", f"Means of {FITS} fits."]


class Found(NamedTuple):
    """What is known of a cell: captured by the words of a method, errors of covariances, and kinds of it."""

    captured: dict[str, Mean]
    error: tuple[Mean, Mean]
    has_zero_mean: bool
    is_sure: bool

    @property
    def ratio(self) -> float:
        """The error of a private radius over that of a public one."""
        return self.error[1].value / self.error[0].value

    @property
    def modest_ratio(self) -> float:
        """The same over the error of a public one or of the matrix of zeros, which is 1, whichever is less."""
        return self.error[1].value / min(1.0, self.error[0].value)


def tables(folder: Path | None) -> list[str]:
    """Every table at every guarantee, and the largest losses."""
    makers, cells, rows = all_tables(folder), {}, []
    for name, make in makers.items():
        data = make()
        for cell in (Cell(name, delta, epsilon) for delta in DELTAS for epsilon in EPSILONS):
            found = cells[cell] = measure_cell(data, cell)
            errors = (f"{error.value:.3g} +- {error.error:.1g}" for error in found.error)
            rows.append((cell, *found.captured.values(), *errors, f"{found.ratio:.2f}", fits_of(data)))
    words = (method.words for method in (*METHODS, LOOSE_CENTER))
    header = ("captured", *words, f"covariance error, {PUBLIC_CENTER.words}", CENTER.words, "ratio", "fits")
    return [*table(header, rows), "", *summary(cells), "", *losses(cells, makers)]


def measure_cell(data: Table, cell: Cell) -> Found:
    """All methods on one table at one guarantee."""
    fits = fits_of(data)
    shares = {m.words: mean_of(partial(captured, data, cell, m), fits) for m in (*METHODS, LOOSE_CENTER)}
    first, second = (mean_of(partial(covariance_error, data, cell, m), fits) for m in (PUBLIC_CENTER, CENTER))
    setting = Setting(event_for(Budget(cell.epsilon, cell.delta)), Neighbors.REPLACE, *data.X.shape)
    return Found(shares, (first, second), data.has_zero_mean, setting.is_sure(RADIUS_RECIPE.wide_radius))


def summary(cells: Mapping[Cell, Found]) -> list[str]:
    """Means over all cells."""
    ratio, modest = (
        math.exp(statistics.fmean(math.log(getattr(found, name)) for found in cells.values()))
        for name in ("ratio", "modest_ratio")
    )
    kept = (RATIO_LIMIT, verdict(ratio <= RATIO_LIMIT))
    rows = [
        ("covariance error, private over public, geometric mean", f"{ratio:.3f}", *kept),
        ("the same, over public or zeros, whichever is nearer", f"{modest:.3f}", "", ""),
        ("cells where private is further off than public", sum(found.ratio > 1 for found in cells.values()), "", ""),
        ("cells where private is no nearer than zeros", sum(f.error[1].value >= 1 for f in cells.values()), "", ""),
        ("the same, public", sum(found.error[0].value >= 1 for found in cells.values()), "", ""),
    ]
    for method in (*METHODS, LOOSE_CENTER):
        mean = statistics.fmean(found.captured[method.words].value for found in cells.values())
        rows.append((f"captured, {method.words}, mean", f"{mean:.3f}", "", ""))
    return table((f"over {len(cells)} cells; covariances with a center", "", "limit", ""), rows)


def losses(cells: Mapping[Cell, Found], makers: Mapping[str, Callable[[], Table]]) -> list[str]:
    """Cells that lose most by a loose row_norm, by a private center and against a public radius, measured again."""
    zero_mean = {cell for cell, found in cells.items() if found.has_zero_mean and not cell.delta and cell.epsilon < 1}
    sure = {cell for cell, found in cells.items() if found.is_sure}
    questions = (
        ("by row_norm 100x, search sure", CENTER, LOOSE_CENTER, sure, LOSS_LIMIT),
        ("by row_norm 100x, search unsure", CENTER, LOOSE_CENTER, cells.keys() - sure, LOSS_LIMIT),
        ("by a center", PRIVATE, CENTER, cells.keys() - zero_mean, CENTER_LIMIT),
        ("by a center, rows of mean zero", PRIVATE, CENTER, zero_mean, ZERO_MEAN_LIMIT),
        ("against public", PUBLIC, CENTER, cells.keys(), None),
    )
    rows = [row for question in questions for row in largest_losses(cells, makers, *question)]
    header = ("captured is lost", "cell", "first", f"again, {FITS_AGAIN} fits", "limit", "")
    note = (
        "The search for a radius is sure where rows times the strength of its budget are as many as `recipe` asks for."
    )
    return [*table(header, rows), "", note]


def largest_losses(
    cells: Mapping[Cell, Found],
    makers: Mapping[str, Callable[[], Table]],
    words: str,
    before: Method,
    after: Method,
    among: Iterable[Cell],
    limit: float | None,
) -> list[tuple[object, ...]]:
    """Rows of the table of losses for one question."""
    first = {cell: cells[cell].captured[before.words].less(cells[cell].captured[after.words]) for cell in among}
    rows = []
    for cell in sorted(first, key=lambda cell: -first[cell].value)[:AGAIN]:
        data = makers[cell.name]()
        one, other = (mean_of(partial(captured, data, cell, method), FITS_AGAIN) for method in (before, after))
        again = one.less(other)
        rows.append(
            (words, cell, first[cell], again, limit or "", "" if limit is None else verdict(again.value <= limit))
        )
    return rows
