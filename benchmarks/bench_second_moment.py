"""Error of private second-moment matrices at one guarantee, beside a simple private baseline and no privacy at all.

Neighbors: replace one row. The baseline adds Laplace noise to every entry of the upper triangle in floating point, with
the best known L1 sensitivity sqrt(d (d + 3) / 2) B^2; it stands for what is done without a matrix mechanism.
"""

import math

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from hushrank.evaluation.metrics import captured_variance, relative_spectral_error
from hushrank.evaluation.synthetic import load_digits, power_law_rows
from hushrank.linalg.lattice import integer_gram
from hushrank.privacy.calibration import event_for
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice, release_gram
from hushrank.privacy.noise.source import NoiseSource

TITLE = "Private second moments at a fixed guarantee"
DRAWS = 200
N_COMPONENTS = 5


def hushrank_release(X: np.ndarray, lattice: GramLattice) -> np.ndarray:
    """Quantize, sum and release."""
    return release_gram(integer_gram(X, lattice.row_norm, lattice.squared_bound), lattice, NoiseSource())


def clipped_gram(X: np.ndarray, row_norm: float) -> np.ndarray:
    """X^T X of clipped rows, in float64."""
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    clipped = X * np.minimum(1.0, row_norm / np.maximum(norms, 1e-300))[:, np.newaxis]
    return clipped.T @ clipped


def entrywise_laplace(X: np.ndarray, row_norm: float, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """The baseline above."""
    d = X.shape[1]
    noise = np.triu(rng.laplace(scale=math.sqrt(d * (d + 3) / 2) * row_norm**2 / epsilon, size=(d, d)))
    return clipped_gram(X, row_norm) + noise + np.triu(noise, 1).T


def run() -> list[str]:
    """Measure and return a Markdown table."""
    rng, rows = np.random.default_rng(0), []
    data = {
        "power law, n = 20000, d = 50": (power_law_rows(20_000, 50, seed=0), 1.0),
        "digits, n = 1797, d = 64": (load_digits(), 64.0),
    }
    for name, (X, row_norm) in data.items():
        true = X.T @ X
        for epsilon in (0.25, 1.0):
            budgets = Budget(epsilon), Budget(epsilon, 1e-6)  # plans read no data and are made beforehand
            pure, approximate = (gram_lattice(row_norm, event_for(budget)) for budget in budgets)
            calls = {
                "none (clipping only)": lambda X=X, B=row_norm: clipped_gram(X, B),
                "entrywise Laplace, float": lambda X=X, B=row_norm, e=epsilon: entrywise_laplace(X, B, e, rng),
                "two-sided Wishart, exact": lambda X=X, lattice=pure: hushrank_release(X, lattice),
                "symmetric Gaussian, exact": lambda X=X, lattice=approximate: hushrank_release(X, lattice),
            }
            guarantees = ("", f"({epsilon:g}, 0)", f"({epsilon:g}, 0)", f"({epsilon:g}, 1e-6)")
            seconds = median_seconds(calls, 15)
            for guarantee, (method, call) in zip(guarantees, calls.items(), strict=True):
                released = [call() for _ in range(DRAWS if guarantee else 1)]
                captured = np.array([captured_variance(R, true, N_COMPONENTS) for R in released])
                error = np.mean([relative_spectral_error(R, true) for R in released])
                spread = f" +- {captured.std() / math.sqrt(len(captured)):.4f}" if guarantee else ""
                ratio = seconds[method] / seconds["none (clipping only)"]
                memory = f"{peak_megabytes(call):.1f}"
                rows.append(
                    (name, guarantee, method, f"{captured.mean():.4f}{spread}", f"{error:.4f}", f"{ratio:.2f}", memory)
                )
    header = ("data", "(epsilon, delta)", "noise", "top-5 variance captured", "spectral error", "time ratio", "peak MB")
    return table(header, rows)


if __name__ == "__main__":
    print("\n".join(run()))
