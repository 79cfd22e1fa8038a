"""Private PCA at one guarantee: variance captured, time and memory, beside the non-private answer and a baseline.

Neighbors: replace one row. The baseline adds Laplace noise to every entry of the upper triangle in floating point, with
the best known L1 sensitivity sqrt(d (d + 3) / 2) B^2; it stands for what is done without a matrix mechanism.
"""

import logging
import math

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
from sklearn.decomposition import PCA

from hushrank.engine.local import LocalEngine
from hushrank.estimators.pca import PrivatePCA
from hushrank.evaluation.metrics import captured_variance
from hushrank.evaluation.synthetic import load_digits, power_law_rows
from hushrank.linalg.spectral import top_eigenpairs

TITLE = "Private principal components at a fixed guarantee"
DRAWS = 200
N_COMPONENTS = 5
EPSILONS = (0.1, 0.25, 0.5, 1.0)


def clipped_gram(X: np.ndarray, row_norm: float) -> np.ndarray:
    """X^T X of clipped rows, in float64."""
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    clipped = X * np.minimum(1.0, row_norm / np.maximum(norms, 1e-300))[:, np.newaxis]
    return clipped.T @ clipped


def entrywise_laplace(gram: np.ndarray, row_norm: float, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Components of the baseline above."""
    d = len(gram)
    noise = np.triu(rng.laplace(scale=math.sqrt(d * (d + 3) / 2) * row_norm**2 / epsilon, size=(d, d)))
    return top_eigenpairs(gram + noise + np.triu(noise, 1).T, N_COMPONENTS)[1]


def private_pca(X: np.ndarray, row_norm: float, epsilon: float, delta: float) -> np.ndarray:
    """Components of one fit."""
    engine = LocalEngine(threads=1)
    return PrivatePCA(N_COMPONENTS, row_norm=row_norm, epsilon=epsilon, delta=delta, engine=engine).fit(X).components_


def captured() -> list[str]:
    """Mean of many fits for each guarantee."""
    rng, rows = np.random.default_rng(0), []
    data = {
        "power law, n = 20000, d = 50": (power_law_rows(20_000, 50, seed=0), 1.0),
        "digits, n = 1797, d = 64": (load_digits(), 64.0),
    }
    for name, (X, row_norm) in data.items():
        true, clipped = X.T @ X, clipped_gram(X, row_norm)
        best = captured_variance(top_eigenpairs(clipped, N_COMPONENTS)[1], true)
        rows.append((name, "none (clipping only)", *[f"{best:.4f}"] * len(EPSILONS)))
        methods = {
            "entrywise Laplace, delta = 0": lambda e, G=clipped, B=row_norm: entrywise_laplace(G, B, e, rng),
            "two-sided Wishart, delta = 0": lambda e, X=X, B=row_norm: private_pca(X, B, e, 0.0),
            "symmetric Gaussian, delta = 1e-6": lambda e, X=X, B=row_norm: private_pca(X, B, e, 1e-6),
        }
        for method, components in methods.items():
            cells = []
            for epsilon in EPSILONS:
                shares = np.array([captured_variance(components(epsilon), true) for _ in range(DRAWS)])
                cells.append(f"{shares.mean():.4f} +- {shares.std() / math.sqrt(DRAWS):.4f}")
            rows.append((name, method, *cells))
    return table(("top-5 variance captured", "noise", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)), rows)


def costs() -> list[str]:
    """CPU time and peak memory of one fit, one thread, relative to scikit-learn."""
    rows = []
    for n, d in ((20_000, 1000), (200_000, 100)):
        X = power_law_rows(n, d, seed=1)
        calls = {
            "scikit-learn PCA(covariance_eigh)": lambda X=X: PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(X),
            "PrivatePCA, delta = 0": lambda X=X: private_pca(X, 1.0, 1.0, 0.0),
            "PrivatePCA, delta = 1e-6": lambda X=X: private_pca(X, 1.0, 1.0, 1e-6),
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
    logging.getLogger("hushrank").setLevel(logging.ERROR)  # some digits are longer than row_norm, on purpose
    return [*captured(), "", *costs()]


if __name__ == "__main__":
    print("\n".join(run()))
