"""Private representations of users with a few records each: error at fixed guarantees, beside all that one could do.

Replace one user; every method of the library at its defaults. Planted data are those of `shared_representation`: 5
records of each user to learn from and 5 fresh ones for heads, unless stated. Errors are exact population errors, or
their ratio to those of the oracle: the true representation with the posterior of the true law of heads, on the same
draws. The published methods have their own noise, and `personalization_paper` says what their epsilon is worth. School
is not part of the project: `python benchmarks/bench_personalization.py --data FOLDER` reads school.parquet there.
"""

import logging
import math
import statistics
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from measure import data_folder, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
import pyarrow.parquet as pq

import personalization_scale
from hushrank.engine.local import LocalEngine
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.personalization.options import AlternatingMinimization
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.personal_baselines import (
    SharedModel,
    fit_local_evidence,
    fit_local_ridge,
    fit_pooled_ridge,
    fit_shared,
    true_model,
)
from hushrank.evaluation.synthetic import SharedRepresentation, shared_representation
from personalization_paper import METHODS as PUBLISHED
from recorded import save

TITLE = "Private representations for personal models"
DELTA, WORKERS = 1e-6, 2
METHODS: dict[str, Any] = {
    "gradient (default)": "gradient",
    "altmin": "altmin",
    "altmin, form of the paper": AlternatingMinimization(right_side="seed"),
    "exponential": "exponential",
}
REFERENCES = ("local ridge", "pooled ridge", "shared, without privacy", "oracle", "predict zero")
EPSILONS = (0.25, 0.5, 1.0, 8.0)
RIVALS = ("gradient (default)", "altmin", "altmin, form of the paper", *PUBLISHED)
# Limits in units of 1e-4.
LIMITS = {"gradient (default)": (2.35, 2.08, 2.04, 2.02), "altmin": ("", "", 3.2, 2.4)}


class Plan(NamedTuple):
    """One kind of planted data, and what is fitted to each of its draws."""

    name: str
    users: int
    features: int
    components: int
    noise: float
    epsilons: tuple[float, ...] = (1.0,)
    limits: tuple[float, ...] = ()
    draws: int = 2
    methods: tuple[str, ...] = ("gradient (default)",)
    references: tuple[str, ...] = ("oracle", "predict zero")
    records: int = 5
    fresh: int = 5
    options: Mapping[str, Any] = {}

    def draw(self, seed: int) -> SharedRepresentation:
        """Data of one draw."""
        sizes = (self.users, self.features, self.components)
        terms = {"n_records": self.records, "n_fresh": self.fresh, "noise": self.noise, "seed": seed}
        return shared_representation(*sizes, **terms, **self.options)


Found = dict[tuple[str, float], float]
MAIN = Plan("", 20_000, 50, 2, 0.01, EPSILONS, (), 5, RIVALS, REFERENCES)
SMALL = [
    *(
        Plan("n = 5000, d = 20", 5000, 20, 2, s, (1.0,), (top,), 4)
        for s, top in ((0.01, 1.04), (0.5, 1.03), (1.0, 1.03))
    ),
    *(
        Plan("n = 5000, d = 100", 5000, 100, 2, s, (8.0,), (top,), 4)
        for s, top in ((0.01, 1.05), (0.5, 1.04), (1.0, 1.04))
    ),
    Plan("n = 50000, d = 100, k = 5", 50_000, 100, 5, 0.5, (1.0,), (1.03,), 1),
]
DESIGNS = {
    "Gaussian": {},
    "Student t5": {"distribution": "t5"},
    "condition 10": {"condition": 10.0},
    "unequal records": {"unequal": True},
    "all three": {"distribution": "t5", "condition": 10.0, "unequal": True},
}
SHAPES = [Plan(name, 20_000, 50, 2, s, (1.0,), (1.02,), options=o) for name, o in DESIGNS.items() for s in (0.1, 0.5)]
EXPONENTIAL = Plan("n = 5000, d = 8, k = 1", 5000, 8, 1, 0.1, (1.0, 4.0), (0.06, 0.022), 4, ("exponential",))
HOPELESS = Plan("n = 2000, d = 100, k = 5", 2000, 100, 5, 0.5, (1.0,), (1.10,), 5)
LABELS = Plan("", 20_000, 50, 2, 0.0, (0.5, 1.0, 4.0), records=10, fresh=20, options={"head_norm": 3.0, "labels": True})
SCHOOLS, SCHOOL_DELTA, SPLITS = 139, 1e-5, range(5)
SCHOOL_LIMITS = {1.0: 10.45, 5.0: 10.22, 20.0: 10.12}


def fit_heads(data: SharedRepresentation, method: str, epsilon: float) -> np.ndarray:
    """Coefficients of all users from a private representation and their fresh records."""
    delta = 0.0 if method == "exponential" else DELTA
    model = PrivateRepresentation(
        data.embedding.shape[1],
        epsilon=epsilon,
        delta=delta,
        method=METHODS[method],
        loss="logistic" if data.labels else "squared",
        engine=LocalEngine(threads=1),
    ).fit(data.X, data.y, data.users)
    return coefficients(model, data.fresh_X, data.fresh_y, data.fresh_users, len(data.heads))


def coefficients(model: PrivateRepresentation, X: np.ndarray, y: np.ndarray, users: np.ndarray, n: int) -> np.ndarray:
    """Coefficients of users 0 to n - 1, fitted to these records."""
    heads = model.personalize(X, y, users=users)
    coef = np.zeros((n, X.shape[1]))
    coef[np.asarray(heads.users, dtype=np.int64)] = heads.coef_
    return coef


def published_heads(data: SharedRepresentation, method: str, epsilon: float, seed: int) -> np.ndarray:
    """The same for a published method: heads by least squares, as its paper has it."""
    U = PUBLISHED[method].fit(data, epsilon, DELTA, np.random.default_rng([seed, 1]))
    k = U.shape[1]
    model = SharedModel(U, np.zeros(k), 1e6 * np.eye(k), max(data.noise**2, 1e-8))
    return model.coefficients(data.fresh_X, data.fresh_y, data.fresh_users, len(data.heads))


def reference_heads(data: SharedRepresentation, name: str) -> np.ndarray:
    """Coefficients without privacy; local and pooled regressions take all records."""
    n, fresh = len(data.heads), (data.fresh_X, data.fresh_y, data.fresh_users)
    if name == "predict zero":
        return np.zeros(data.X.shape[1])
    if name == "oracle":
        return true_model(data.embedding, data.heads, data.noise, labels=data.labels).coefficients(*fresh, n)
    if name == "shared, without privacy":
        return fit_shared(data.X, data.y, data.users, n, data.embedding.shape[1]).coefficients(*fresh, n)
    X, y = np.vstack([data.X, data.fresh_X]), np.append(data.y, data.fresh_y)
    if name == "pooled ridge":
        return fit_pooled_ridge(X, y)
    return fit_local_ridge(X, y, np.append(data.users, data.fresh_users), n)


def measure(plan: Plan, seed: int) -> Found:
    """Errors of all methods on one draw; log-losses for labels."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    data = plan.draw(seed)

    def error(coef: np.ndarray) -> float:
        return data.population_risks(coef)[0] if data.labels else data.population_error(coef)

    found = {(name, math.inf): error(reference_heads(data, name)) for name in plan.references}
    for method in plan.methods:
        for epsilon in plan.epsilons:
            is_published = method in PUBLISHED
            coef = published_heads(data, method, epsilon, seed) if is_published else fit_heads(data, method, epsilon)
            found[method, epsilon] = error(coef)
    return found


def measure_all(plans: list[Plan]) -> list[list[Found]]:
    """Errors of all plans, a list of draws for each; times are not measured here, so that all cores may be used."""
    jobs = [(plan, seed) for plan in plans for seed in range(plan.draws)]
    with ProcessPoolExecutor(WORKERS) as pool:
        found = iter(list(pool.map(measure, *zip(*jobs, strict=True))))
    return [[next(found) for _ in range(plan.draws)] for plan in plans]


def mean(draws: list[Found], method: str, epsilon: float = math.inf) -> float:
    """Mean error over draws."""
    return statistics.mean(found[method, epsilon] for found in draws)


def ratio(draws: list[Found], method: str, epsilon: float, reference: str) -> float:
    """Mean over draws of the error over that of a reference."""
    return statistics.mean(found[method, epsilon] / found[reference, math.inf] for found in draws)


def rivals(draws: list[Found]) -> list[str]:
    """All methods on one kind of data, and who wins."""
    rows, series = [], []
    for method in RIVALS:
        errors = [mean(draws, method, epsilon) for epsilon in EPSILONS]
        limits = LIMITS.get(method, ("",) * len(EPSILONS))
        shown = (f"{1e4 * e:.4g}" + (f" ({t})" if t else "") for e, t in zip(errors, limits, strict=True))
        guarantee = PUBLISHED[method].words if method in PUBLISHED else "as stated"
        rows.append((method, *shown, guarantee))
        series.append({"method": method, "epsilon": EPSILONS, "mean": errors})
    winners = [min(RIVALS, key=lambda method, e=epsilon: mean(draws, method, e)) for epsilon in EPSILONS]
    rows.append(("**smallest**", *winners, ""))
    for name in REFERENCES:
        rows.append((name, *[f"{1e4 * mean(draws, name):.4g}"] * len(EPSILONS), "none: not private"))
        series.append({"method": name, "mean": mean(draws, name)})
    save("personalization", series)
    header = ("1e4 x MSE, n = 20000, d = 50, k = 2, noise 0.01", *(f"epsilon {e:g} (limit)" for e in EPSILONS))
    return table((*header, "guarantee"), rows)


def ratios(plans: list[Plan], found: list[list[Found]]) -> list[str]:
    """Errors over those of the oracle, for many kinds of data."""
    rows = []
    for plan, draws in zip(plans, found, strict=True):
        for epsilon, limit in zip(plan.epsilons, plan.limits, strict=True):
            over = ratio(draws, plan.methods[0], epsilon, "oracle")
            nothing = ratio(draws, "predict zero", math.inf, "oracle")
            rows.append((plan.name, f"{plan.noise:g}", f"{epsilon:g}", f"{over:.4f}", limit, f"{nothing:.2f}"))
    return table(("data", "noise", "epsilon", "error over oracle", "limit", "predict zero over oracle"), rows)


def others(exponential: list[Found], hopeless: list[Found], labels: list[Found]) -> list[str]:
    """The pure mechanism, the regime where nothing can be learned, and labels."""
    rows = [
        (f"exponential, {EXPONENTIAL.name}, delta 0: MSE (oracle {mean(exponential, 'oracle'):.4f})", f"{epsilon:g}",
         f"{mean(exponential, 'exponential', epsilon):.4f}", limit)
        for epsilon, limit in zip(EXPONENTIAL.epsilons, EXPONENTIAL.limits, strict=True)
    ]  # fmt: skip
    over = ratio(hopeless, HOPELESS.methods[0], 1.0, "predict zero")
    rows.append((f"hopeless, {HOPELESS.name}, noise 0.5: MSE over that of predicting zero", "1", f"{over:.3f}", 1.10))
    for epsilon in LABELS.epsilons:
        excess = mean(labels, LABELS.methods[0], epsilon) - mean(labels, "oracle")
        name = f"labels, heads of norm 3: log-loss above the oracle's {mean(labels, 'oracle'):.4f} (zero: 0.6931)"
        rows.append((name, f"{epsilon:g}", f"{excess:.4f}", 0.010 if epsilon == 1.0 else ""))
    return table(("what", "epsilon", "measured", "limit"), rows)


def load_school(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, scaled scores and schools; two features are percentages, the others are 0 or 1."""
    columns = pq.read_table(folder / "school.parquet")
    X = np.column_stack([columns[f"x{j}"].to_numpy().astype(np.float64) for j in range(28)])
    X[:, 3:5] = X[:, 3:5] / 50.0 - 1.0
    return X, (columns["y"].to_numpy() - 35.5) / 34.5, columns["task"].to_numpy().astype(np.int64)


def school_errors(folder: Path, seed: int) -> dict[str, float]:
    """Root mean squared errors, in points, on 30 % of the pupils of every school."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    X, y, users = load_school(folder)
    order = np.lexsort((np.random.default_rng(seed).random(len(y)), users))
    counts = np.bincount(users, minlength=SCHOOLS)
    place = np.empty(len(y), np.int64)
    place[order] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    test = place < np.round(0.3 * counts[users])
    train = (X[~test], y[~test], users[~test])
    fits = {
        "local ridge, penalty by leaving one out": fit_local_ridge(*train, SCHOOLS),
        "local evidence, nothing released": fit_local_evidence(*train, SCHOOLS),
        "pooled ridge": np.tile(fit_pooled_ridge(*train[:2]), (SCHOOLS, 1)),
        "shared, without privacy": fit_shared(*train, SCHOOLS, 2).coefficients(*train, SCHOOLS),
    }
    for penalty in (1.0, 3.0, 10.0, 30.0):
        fits[f"local ridge, penalty {penalty:g}"] = fit_local_ridge(*train, SCHOOLS, np.array([penalty]))
    for k in (1, 2):
        for epsilon in SCHOOL_LIMITS:
            terms = {"epsilon": epsilon, "delta": SCHOOL_DELTA, "engine": LocalEngine(threads=1)}
            model = PrivateRepresentation(k, **terms).fit(*train)
            fits[f"gradient, k = {k}, epsilon {epsilon:g}"] = coefficients(model, *train, SCHOOLS)
    predicted = {name: np.einsum("ij,ij->i", X[test], coef[users[test]]) for name, coef in fits.items()}
    return {name: 34.5 * root_mean_squared_error(part, y[test]) for name, part in predicted.items()}


def school(folder: Path | None) -> list[str]:
    """Scores of pupils, with schools as users."""
    if folder is None or not (folder / "school.parquet").exists():
        return ["School: not measured. Name a folder with school.parquet by --data."]
    with ProcessPoolExecutor(WORKERS) as pool:
        splits = list(pool.map(school_errors, [folder] * len(SPLITS), SPLITS))
    means = {name: statistics.mean(split[name] for split in splits) for name in splits[0]}
    alone = means["local evidence, nothing released"]
    limits = {f"gradient, k = 2, epsilon {e:g}": f"{min(top, alone + 0.1):.2f}" for e, top in SCHOOL_LIMITS.items()}
    rows = [(name, f"{error:.3f}", limits.get(name, "")) for name, error in means.items()]
    seen = (
        "Constants of the check and of the local priors were chosen while looking at School: these are no unseen test."
    )
    return [*table(("School, 139 users, delta 1e-5, 5 splits", "RMSE in points", "limit"), rows), "", seen]


def run() -> list[str]:
    """Measure and return Markdown."""
    main, *rest = measure_all([MAIN, *SMALL, *SHAPES, EXPONENTIAL, HOPELESS, LABELS])
    n = len(SMALL) + len(SHAPES)
    tables = (rivals(main), ratios(SMALL + SHAPES, rest[:n]), others(*rest[n:]), school(data_folder()))
    return [line for part in (*tables, personalization_scale.run()) for line in (*part, "")][:-1]


if __name__ == "__main__":
    print("\n".join(run()))
