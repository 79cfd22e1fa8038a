"""Private matrix completion of synthetic matrices of rank 5: every method at one guarantee, and as published.

Data as in Section 6 of Wang, Zhao and Kolar (2023): n = 100 items, |Omega| = r m log m, delta = 1e-5, replace one user.
Errors are mean squared errors on what is not observed, over those of EM without privacy (with the true variance of the
noise) on the same draws; for noiseless data, the errors themselves. Entries are bounded by 8, a public number. The
methods of the library have fixed settings; those "as published" have the noise of their papers and settings chosen
on one validation draw, and their epsilon is no guarantee because they read the share of observed entries for free.
"""

import logging
import statistics

from measure import table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from dplmc_paper import METHODS as PUBLISHED
from dplmc_paper import published_errors
from hushrank.engine.local import LocalEngine
from hushrank.estimators.als import AlternatingLeastSquares
from hushrank.estimators.completion import PrivateCompletion
from hushrank.estimators.factored_gradient import FactoredGradient
from hushrank.evaluation.synthetic import LowRankMatrix, low_rank_matrix
from recorded import save
from references import em

TITLE = "Private matrix completion of synthetic matrices"
RANK, N_ITEMS, DELTA, BOUND = 5, 100, 1e-5, 8.0
DRAWS = {5000: 20, 10000: 5, 15000: 20}  # by the number of users; 10000 is for the figures only
EPSILONS = (2.0, 5.0, 10.0, 20.0)
LIMITS = {5000: (1.25, 1.07, 1.03, 1.02), 15000: (1.06, 1.03, 1.02, 1.02)}
NOISELESS_LIMITS = {5000: (2e-5, "", "", "")}
RANKS, RANK_CELLS, RANK_DRAWS = (2, 4, 6, 8, 10), ((15000, 5.0), (10000, 10.0)), 5
ENGINE = LocalEngine(threads=1)
METHODS = {
    "default": "spectral",
    "als": AlternatingLeastSquares(),
    "factored gradient": FactoredGradient(),
    "factored gradient, ridge": FactoredGradient(user_solve="ridge"),
}


def error(matrix: LowRankMatrix, epsilon: float, method: object, rank: int = RANK) -> float:
    """Error of one private fit."""
    model = PrivateCompletion(
        rank,
        epsilon=epsilon,
        delta=DELTA,
        rating_range=(-BOUND, BOUND),
        offsets=False,
        method=method,
        engine=ENGINE,
    )
    return matrix.error(model.fit(matrix.observed).predict(matrix.observed))


def cell(m: int, noise: float) -> dict[tuple[str, float], list[float]]:
    """Errors of all methods on all draws, by method and epsilon; epsilon is infinite for those without privacy."""
    found: dict[tuple[str, float], list[float]] = {}
    for seed in range(DRAWS[m]):
        matrix = low_rank_matrix(m, N_ITEMS, RANK, noise=noise, seed=seed)
        without = matrix.error(em(matrix.observed, RANK, noise if noise else 1e-4))
        found.setdefault(("EM without privacy", np.inf), []).append(without)
        found.setdefault(("predict zero", np.inf), []).append(matrix.error(np.zeros_like(matrix.truth)))
        for epsilon in EPSILONS:
            for name, method in METHODS.items():
                found.setdefault((name, epsilon), []).append(error(matrix, epsilon, method))
    for name in PUBLISHED:
        for epsilon in EPSILONS:
            found[name, epsilon] = published_errors(name, m, RANK, noise, epsilon, range(DRAWS[m]))
    return found


def errors() -> list[str]:
    """Two tables, and the series of figures."""
    rows, series = [], []
    for noise in (1.0, 0.0):
        for m in DRAWS:
            found = cell(m, noise)
            without = np.array(found["EM without privacy", np.inf])
            for name in (*METHODS, *PUBLISHED):
                values = [np.array(found[name, epsilon]) / (without if noise else 1.0) for epsilon in EPSILONS]
                shown = [f"{v.mean():.3f} +- {v.std(ddof=1) / len(v) ** 0.5:.3f}" if noise else f"{v.mean():.2e}"
                         for v in values]  # fmt: skip
                asked = (LIMITS if noise else NOISELESS_LIMITS).get(m, ("",) * 4)
                limits = asked if name == "default" else ("",) * 4
                cells = [f"{s} ({limit})" if limit else s for s, limit in zip(shown, limits, strict=True)]
                rows.append((f"m = {m}, {'noisy' if noise else 'noiseless'}", name, *cells))
                means = [float(np.mean(found[name, epsilon])) for epsilon in EPSILONS]
                series.append({"m": m, "noise": noise, "method": name, "epsilon": EPSILONS, "mean": means})
            for name in ("EM without privacy", "predict zero"):
                mean = statistics.mean(found[name, np.inf])
                series.append({"m": m, "noise": noise, "method": name, "mean": mean})
                rows.append((f"m = {m}, {'noisy' if noise else 'noiseless'}", f"{name}: {mean:.4g}", "", "", "", ""))
    save("completion", series)
    return table(("data", "method", *(f"epsilon {e:g} (limit)" for e in EPSILONS)), rows)


def ranks() -> list[str]:
    """Mean squared errors as the rank of the matrix varies, noisy: the seed's Figure 3."""
    rows, series = [], []
    names = ("default", "factored gradient", *(name for name in PUBLISHED if "private" in name))
    for m, epsilon in RANK_CELLS:
        found: dict[str, list[float]] = {name: [] for name in names}
        for rank in RANKS:
            draws = [low_rank_matrix(m, N_ITEMS, rank, noise=1.0, seed=seed) for seed in range(RANK_DRAWS)]
            for name in names:
                if name in METHODS:
                    values = [error(matrix, epsilon, METHODS[name], rank) for matrix in draws]
                else:
                    values = published_errors(name, m, rank, 1.0, epsilon, range(RANK_DRAWS))
                found[name].append(statistics.mean(values))
        for name, means in found.items():
            rows.append((f"m = {m}, epsilon {epsilon:g}", name, *(f"{mean:.4f}" for mean in means)))
            series.append({"m": m, "epsilon": epsilon, "method": name, "rank": RANKS, "mean": means})
    save("completion_rank", series)
    return table(("data, noisy", "method", *(f"rank {rank}" for rank in RANKS)), rows)


def run() -> list[str]:
    """Measure and return Markdown."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    return [*errors(), "", *ranks()]


if __name__ == "__main__":
    print("\n".join(run()))
