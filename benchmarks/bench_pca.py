"""Private PCA and rank-k approximation at one guarantee: accuracy of every mechanism, time, memory, other libraries.

Neighbors: replace one row. The baseline adds Laplace noise to every entry of the upper triangle in floating point, with
the best known L1 sensitivity sqrt(d (d + 3) / 2) B^2; it stands for what is done without a matrix mechanism. The values
in brackets are those of an independent implementation in floating point, with 10 draws of the joint exponential
mechanism and 40 of everything else. Two of the latter were measured again with more draws: on digits, 0.248 became
0.236 (1000 draws, Wishart as published, epsilon 0.5) and 0.980 became 0.978 (1500 draws, two-sided Wishart, epsilon 5).
"""

import logging
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
from sklearn.decomposition import PCA

from data_sets import centered_digits, power_law
from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.evaluation.synthetic import power_law_rows
from hushrank.linalg.spectral import top_eigenpairs
from peers import peers_table, published_wishart
from recorded import save

TITLE = "Private principal components at a fixed guarantee"
DRAWS, SLOW_DRAWS = 200, 100
RANK_DRAWS = 20
N_COMPONENTS = 5
ENGINE = LocalEngine(threads=1)
EXPONENTIAL = {
    "exponential, complex": {"mechanism": "exponential", "field": "complex"},
    "exponential, real": {"mechanism": "exponential"},
    "exponential, sequential": {"mechanism": "exponential", "strategy": "sequential"},
}
JOINT = ("exponential, complex", "exponential, real")
DATA: dict[str, Callable[[], np.ndarray]] = {
    "power law, n = 20000, d = 50": power_law,
    "digits, n = 1797, d = 64": centered_digits,
    "digits ten times, n = 17970, d = 64": partial(centered_digits, 10),
}


class Cell(NamedTuple):
    """One row of the table: data, epsilon, draws of the joint mechanism, and values to compare with, as `methods`."""

    data: str
    epsilon: float
    joint_draws: int
    references: tuple[float, ...]


POWER, DIGITS, TEN_TIMES = DATA
# Where a joint draw needs coupling from the past, and so takes a fraction of a second, there are fewer of them.
CELLS = (
    Cell(POWER, 0.1, SLOW_DRAWS, (0.580, 0.659, 0.374, 0.372, 0.718, 0.791)),
    Cell(POWER, 0.25, DRAWS, (0.805, 0.879, 0.609, 0.627, 0.923, 0.960)),
    Cell(POWER, 0.5, DRAWS, (0.904, 0.948, 0.764, 0.814, 0.986, 0.991)),
    Cell(POWER, 1.0, DRAWS, (0.951, 0.976, 0.879, 0.940, 0.997, 0.998)),
    Cell(POWER, 5.0, DRAWS, (0.990, 0.995, 0.976, 0.998, 1.000, 1.000)),
    Cell(DIGITS, 0.5, DRAWS, (0.205, 0.228, 0.169, 0.166, 0.236, 0.310)),
    Cell(DIGITS, 1.0, SLOW_DRAWS, (0.346, 0.412, 0.194, 0.191, 0.419, 0.593)),
    Cell(DIGITS, 2.0, DRAWS, (0.598, 0.705, 0.297, 0.263, 0.766, 0.859)),
    Cell(DIGITS, 5.0, DRAWS, (0.828, 0.900, 0.614, 0.585, 0.964, 0.978)),
    Cell(TEN_TIMES, 0.25, DRAWS, (0.674, 0.778, 0.373, 0.304, 0.840, 0.905)),
    Cell(TEN_TIMES, 1.0, DRAWS, (0.916, 0.956, 0.796, 0.843, 0.993, 0.995)),
)
# Largest allowed error of the default over that of the best matrix of rank 5, by epsilon.
RANK_LIMITS = {0.25: 1.19, 1.0: 1.03, 4.0: 1.005}


def entrywise_laplace(gram: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Components of the baseline above, for rows of norm at most 1."""
    d = len(gram)
    noise = np.triu(rng.laplace(scale=math.sqrt(d * (d + 3) / 2) / epsilon, size=(d, d)))
    return top_eigenpairs(gram + noise + np.triu(noise, 1).T, N_COMPONENTS)[1]


def private_pca(X: np.ndarray, epsilon: float, **options: Any) -> np.ndarray:
    """Components of one fit."""
    terms = {"row_norm": 1.0, "radius": "public", "epsilon": epsilon, "engine": ENGINE}
    return PrivatePCA(N_COMPONENTS, **terms, **options).fit(X).components_


def methods(X: np.ndarray, epsilon: float, rng: np.random.Generator) -> dict[str, Callable[[], np.ndarray]]:
    """Components by every mechanism; all but the last have delta = 0."""
    gram = X.T @ X
    fit = partial(private_pca, X, epsilon)
    return {
        **{name: partial(fit, **options) for name, options in EXPONENTIAL.items()},
        "entrywise Laplace": partial(entrywise_laplace, gram, epsilon, rng),
        "Wishart as published (not private)": partial(published_wishart, gram, 1.0, epsilon, N_COMPONENTS, rng),
        "two-sided Wishart (default)": fit,
        "Gaussian, delta = 1e-6": partial(fit, delta=1e-6),
    }


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Mean of independent values and its standard error."""
    sample = np.array(list(values))
    return float(sample.mean()), float(sample.std(ddof=1)) / math.sqrt(len(sample))


def shares(components: Callable[[], np.ndarray], gram: np.ndarray, draws: int) -> tuple[float, float]:
    """Captured variance over the largest possible one, for real or complex rows V: tr(V M V^*) / best."""
    best = float(np.linalg.eigvalsh(gram)[-N_COMPONENTS:].sum())
    drawn = (components() for _ in range(draws))
    return mean_and_error(float(np.vdot(V, V @ gram).real) / best for V in drawn)


def compared(mean: float, error: float, draws: int, reference: float, reference_draws: int) -> str:
    """A cell of the table, with a remark if the mean is below the reference by more than two standard errors."""
    reference_error = error * math.sqrt(draws / reference_draws)
    is_below = mean < reference - 0.0005 - 2 * math.hypot(error, reference_error)  # references have three digits
    return f"{mean:.4f} +- {error:.4f} ({reference:.3f}){' below' if is_below else ''}"


def captured() -> list[str]:
    """Mean of many fits for each guarantee and mechanism."""
    rng, rows, series = np.random.default_rng(0), [], {}
    data = {name: make() for name, make in DATA.items()}
    for cell in CELLS:
        X = data[cell.data]
        calls, cells = methods(X, cell.epsilon, rng), []
        for name, reference in zip(calls, (*cell.references, None), strict=True):
            draws = cell.joint_draws if name in JOINT else DRAWS
            mean, error = shares(calls[name], X.T @ X, draws)
            if reference is None:
                cells.append(f"{mean:.4f} +- {error:.4f}")
            else:
                cells.append(compared(mean, error, draws, reference, 10 if name in JOINT else 40))
            points = series.setdefault((cell.data, name), [])
            points.append((cell.epsilon, round(mean, 5), round(error, 5), draws))
        rows.append((cell.data, f"{cell.epsilon:g}", *cells))
    names = ("epsilon", "mean", "standard_error", "draws")
    columns = ((key, dict(zip(names, zip(*points, strict=True), strict=True))) for key, points in series.items())
    save("captured_variance", [{"data": data, "method": method, **column} for (data, method), column in columns])
    return table(("top-5 variance captured", "epsilon", *calls), rows)


def low_rank() -> list[str]:
    """Frobenius error of rank 5, eigenvalues released, over that of the best approximation; power-law rows."""
    X = power_law()
    gram = X.T @ X
    best = float(np.linalg.norm(np.linalg.eigvalsh(gram)[:-N_COMPONENTS]))
    rows = []
    for epsilon, limit in RANK_LIMITS.items():
        cells = []
        for options in ({}, *EXPONENTIAL.values()):
            terms = {"row_norm": 1.0, "radius": "public", "epsilon": epsilon, "engine": ENGINE}
            model = PrivateLowRank(N_COMPONENTS, **terms, **options)
            errors = (float(np.linalg.norm(gram - model.fit(X).matrix_)) / best for _ in range(RANK_DRAWS))
            cells.append("{:.4f} +- {:.4f}".format(*mean_and_error(errors)))
        rows.append((f"{epsilon:g}", f"{limit:g}", *cells))
    header = ("error of rank 5 / best, epsilon", "limit of the default", "two-sided Wishart (default)", *EXPONENTIAL)
    return table(header, rows)


def costs() -> list[str]:
    """CPU time and peak memory of one fit, one thread, relative to scikit-learn."""
    rows = []
    for n, d in ((20_000, 1000), (200_000, 100)):
        X = power_law_rows(n, d, seed=1)
        calls = {
            "scikit-learn PCA(covariance_eigh)": lambda X=X: PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(X),
            "PrivatePCA, delta = 0": lambda X=X: private_pca(X, 1.0),
            "PrivatePCA, delta = 1e-6": lambda X=X: private_pca(X, 1.0, delta=1e-6),
        }
        seconds = median_seconds(calls, 7)
        first = next(iter(seconds.values()))
        for name, call in calls.items():
            allowed = (16 * 8 * d * d + 64e6) / 1e6
            memory = f"{peak_megabytes(call):.0f} (allowed {allowed:.0f})"
            rows.append((f"{n} x {d}", name, f"{seconds[name]:.3f}", f"{seconds[name] / first:.2f}", memory))
    return table(("rows x columns", "method", "CPU s", "ratio", "peak MB above the input"), rows)


def run() -> list[str]:
    """Measure and return Markdown."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)  # rounding makes some rows longer than 1
    return [*captured(), "", *low_rank(), "", *costs(), "", *peers_table()]


if __name__ == "__main__":
    print("\n".join(run()))
