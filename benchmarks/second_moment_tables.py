"""Tables for the benchmarks of second moments, and what is known of each without noise; nothing in them is private.

Most are generated, of kinds that differ in where the mean is, how long the tails of the row norms are, and how much of
the variance few directions have. Columns of wine, breast cancer and diabetes are scaled to [0, 1] by their range, which
stands for knowing it. School and MNIST are not part of the project and read from a folder.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from hushrank.evaluation.synthetic import load_digits, power_law_rows

LOOSE = 100.0  # a bound on rows that nobody thought about, over the largest norm


class Table:
    """Rows, and their true covariance and bound.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    has_zero_mean : bool
        Whether there is nothing to be gained by a center.
    n_components : int
        At most half of the columns are asked for.
    """

    def __init__(self, X: np.ndarray, *, has_zero_mean: bool = False, n_components: int = 5) -> None:
        self.X, self.has_zero_mean = X, has_zero_mean
        self.n_components = min(n_components, X.shape[1] // 2)

    @cached_property
    def row_norm(self) -> float:
        """The largest norm of a row: a bound as tight as can be."""
        return float(np.linalg.norm(self.X, axis=1).max())

    @cached_property
    def covariance(self) -> np.ndarray:
        """Around the true mean."""
        return np.cov(self.X.T.astype(np.float64), bias=True)

    @cached_property
    def correlations(self) -> np.ndarray:
        """The same of columns in units of their deviations."""
        return np.corrcoef(self.X.T.astype(np.float64))

    @cached_property
    def best(self) -> float:
        """The largest variance that as many directions have as are asked for."""
        return float(np.linalg.eigvalsh(self.covariance)[-self.n_components :].sum())

    @cached_property
    def best_of_correlations(self) -> float:
        """The same for columns in units of their deviations."""
        return float(np.linalg.eigvalsh(self.correlations)[-self.n_components :].sum())

    def captured(self, components: np.ndarray) -> float:
        """Variance along components over the largest possible one: tr(V S V^T) / best."""
        return float(np.sum(components @ self.covariance * components)) / self.best

    def captured_of_correlations(self, components: np.ndarray) -> float:
        """The same for columns in units of their deviations."""
        return float(np.sum(components @ self.correlations * components)) / self.best_of_correlations

    def error(self, matrix: np.ndarray) -> float:
        """Frobenius error of a covariance over the norm of the truth."""
        return float(np.linalg.norm(matrix - self.covariance) / np.linalg.norm(self.covariance))


def power_law(mean: float = 0.0) -> np.ndarray:
    """Rows of norm 1, variances proportional to 1/i, around a point at a distance `mean` from the origin."""
    X = power_law_rows(20_000, 50, seed=7)
    direction = np.random.default_rng(9).standard_normal(X.shape[1])
    return X + mean * direction / np.linalg.norm(direction)


def heavy() -> np.ndarray:
    """Directions as in `power_law`, norms with the tail of Student's law with 3 degrees of freedom."""
    X = power_law()
    return X * np.sqrt(3 / np.random.default_rng(8).chisquare(3, len(X)))[:, np.newaxis]


def clusters() -> np.ndarray:
    """Six groups of different size, far from the origin and from each other."""
    rng = np.random.default_rng(101)
    middles = 2 * rng.standard_normal((6, 30)) + 1
    groups = rng.choice(6, 4000, p=(0.4, 0.2, 0.15, 0.1, 0.1, 0.05))
    return middles[groups] + 0.5 * rng.standard_normal((4000, 30))


def lognormal() -> np.ndarray:
    """Incomes: positive and skewed, from three positive and skewed factors."""
    rng = np.random.default_rng(102)
    factors, loadings = np.exp(0.8 * rng.standard_normal((8000, 3))), np.abs(rng.standard_normal((3, 20)))
    return factors @ loadings + 0.3 * np.exp(0.5 * rng.standard_normal((8000, 20)))


def purchases() -> np.ndarray:
    """Small counts of 80 articles, most of them zero, from five baskets."""
    rng = np.random.default_rng(103)
    baskets, tastes = rng.dirichlet(np.full(80, 0.3), 5), rng.dirichlet(np.full(5, 0.5), 10_000)
    return rng.poisson(6 * tastes @ baskets).astype(np.float64)


def flat() -> np.ndarray:
    """No direction has more variance than another; the mean is 1 in every column."""
    return 1 + np.random.default_rng(104).standard_normal((5000, 25))


def few() -> np.ndarray:
    """A small table: 400 rows, 6 columns, three directions, a mean."""
    rng = np.random.default_rng(105)
    return rng.standard_normal((400, 3)) @ rng.standard_normal((3, 6)) + 0.3 * rng.standard_normal((400, 6)) + 2


def centered() -> np.ndarray:
    """Four directions in noise, the mean exactly zero."""
    rng = np.random.default_rng(106)
    X = rng.standard_normal((3000, 4)) @ rng.standard_normal((4, 60)) + 0.5 * rng.standard_normal((3000, 60))
    return X - X.mean(axis=0)


def votes() -> np.ndarray:
    """Zeros and ones, from two directions and an offset for every column."""
    rng = np.random.default_rng(107)
    logits = rng.standard_normal((6000, 2)) @ rng.standard_normal((2, 40)) + rng.standard_normal(40)
    return (rng.random((6000, 40)) < 1 / (1 + np.exp(-logits))).astype(np.float64)


def sensors() -> np.ndarray:
    """Signals whose neighbors are alike, with offsets; in one row of a hundred the noise is 40 times as large."""
    rng = np.random.default_rng(108)
    distances = np.abs(np.subtract.outer(np.arange(32), np.arange(32)))
    mean, noise = rng.uniform(-2, 2, 32), rng.multivariate_normal(np.zeros(32), np.exp(-distances / 6), 15_000)
    noise[rng.random(15_000) < 0.01] *= 40
    return mean + noise


def mixed() -> np.ndarray:
    """Four factors in noise, in 20 columns of units between 0.01 and 100 and with offsets of some units."""
    rng = np.random.default_rng(109)
    X = rng.standard_normal((3000, 4)) @ rng.standard_normal((4, 20)) + 0.7 * rng.standard_normal((3000, 20))
    return (X + rng.uniform(-2, 2, 20)) * 10.0 ** rng.uniform(-2, 2, 20)


def bundled(name: str, **options: bool) -> np.ndarray:
    """A table that comes with scikit-learn."""
    from sklearn import datasets

    return np.asarray(getattr(datasets, f"load_{name}")(**options).data, np.float64)


def to_unit_range(X: np.ndarray) -> np.ndarray:
    """Columns moved and scaled to [0, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / (high - low)


def school(folder: Path) -> np.ndarray:
    """Features of 15,362 pupils, constant columns left out."""
    read = pq.read_table(folder / "school.parquet")
    X = np.column_stack([read[name].to_numpy() for name in read.column_names if name.startswith("x")])
    return X[:, X.std(axis=0) > 0].astype(np.float64)


def mnist(folder: Path) -> np.ndarray:
    """70,000 images of 784 pixels between 0 and 1, in single precision."""
    pixels = pq.read_table(folder / "mnist.parquet", columns=["pixels"])["pixels"].to_pylist()
    return np.frombuffer(b"".join(pixels), np.uint8).reshape(-1, 784).astype(np.float32) / 255


TABLES: dict[str, Callable[[], Table]] = {
    "digits": lambda: Table(load_digits()),
    "wine": lambda: Table(to_unit_range(bundled("wine"))),
    "breast cancer": lambda: Table(to_unit_range(bundled("breast_cancer"))),
    "diabetes": lambda: Table(to_unit_range(bundled("diabetes"))),
    "power": lambda: Table(power_law(), has_zero_mean=True),
    "power3": lambda: Table(power_law(3.0)),
    "heavy": lambda: Table(heavy(), has_zero_mean=True),
    "clusters": lambda: Table(clusters()),
    "lognormal": lambda: Table(lognormal()),
    "purchases": lambda: Table(purchases()),
    "flat": lambda: Table(flat()),
    "few": lambda: Table(few()),
    "centered": lambda: Table(centered(), has_zero_mean=True),
    "votes": lambda: Table(votes()),
    "sensors": lambda: Table(sensors()),
}


def all_tables(folder: Path | None) -> dict[str, Callable[[], Table]]:
    """The tables above, and school if there is a folder to read it from."""
    return TABLES if folder is None else TABLES | {"school": lambda: Table(school(folder))}
