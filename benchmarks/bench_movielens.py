"""Private recommenders on MovieLens at fixed guarantees: error against baselines, time and memory, recall.

Replace one user, delta = 1e-6, rank 8, all settings at their defaults; 10 % of every user's ratings held out, mean of
three splits. The baseline spends the whole budget on item means and adds each user's own offset. The data are not part
of the project: `python benchmarks/bench_movielens.py --data FOLDER` reads ml1m.parquet and ml100k.parquet there.
"""

import logging
import statistics
from functools import partial
from pathlib import Path

from measure import data_folder, median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
from scipy.sparse import csr_array

from hushrank.data.ratings.reading import UserBlock, read_ratings
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.histories import join_blocks
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.evaluation.baselines import fit_em
from hushrank.evaluation.metrics import recall_at_k, root_mean_squared_error
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.noise.source import NoiseSource
from rating_data import RANGE, RatingData, hold_out, load_movielens
from recorded import save
from references import private_means

TITLE = "Private recommenders on MovieLens"
RANK, DELTA, SPLITS = 8, 1e-6, (1, 2, 3)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
LIMITS = {"ml1m": {1.0: 0.955, 5.0: 0.900, 20.0: 0.870}, "ml100k": {1.0: 1.022, 5.0: 0.966, 20.0: 0.926}}
ENGINE = LocalEngine(threads=1)


def fit(train: RatingData, epsilon: float, **options: object) -> PrivateCompletion:
    """One private fit."""
    terms = {"epsilon": epsilon, "delta": DELTA, "rating_range": RANGE, "items": train.n_items, "engine": ENGINE}
    return PrivateCompletion(options.pop("rank", RANK), **(terms | options)).fit(train.table())


def private_error(train: RatingData, test: RatingData, epsilon: float, **options: object) -> float:
    """Root mean squared error of one private fit on held-out ratings."""
    predicted = fit(train, epsilon, **options).predict_ratings(train.table(), test.table())
    return root_mean_squared_error(predicted, test.ratings)


def baseline_error(train: RatingData, test: RatingData, epsilon: float) -> float:
    """The same for private item means and own offsets."""
    rows = read_ratings(train.table(), owner="baseline", items=train.n_items, rating_range=RANGE)
    budget = Budget(epsilon, DELTA, "replace", "user")
    total = partial(ENGINE.total, rows)
    terms = (calibrate(budget), budget.neighbors, 2**26, NoiseSource(), total)
    releases = RatingReleases(*terms, n_people=rows.n_users, n_items=train.n_items)
    model = private_means(releases)
    scores = model.scores(model.fold_in(grouped(train)))
    return root_mean_squared_error(to_ratings(scores[test.users, test.items]), test.ratings)


def grouped(train: RatingData) -> UserBlock:
    """The ratings of all users as one block, in the order of their ids."""
    return join_blocks(list(read_ratings(matrix(train, train.ratings), owner="reference", rating_range=RANGE).blocks()))


def matrix(data: RatingData, values: np.ndarray) -> csr_array:
    """Users and items as a sparse matrix."""
    return csr_array((values, (data.users, data.items)), shape=(data.n_users, data.n_items))


def to_ratings(scaled: np.ndarray) -> np.ndarray:
    """Predictions in [-1, 1] as ratings."""
    return sum(RANGE) / 2 + (RANGE[1] - RANGE[0]) / 2 * np.clip(scaled, -1, 1)


def em_error(train: RatingData, test: RatingData) -> float:
    """Error of EM without privacy."""
    block = grouped(train)
    predicted = fit_em(block, train.n_items, RANK).predict(block, test.users, test.items)
    return root_mean_squared_error(to_ratings(predicted), test.ratings)


def errors(folder: Path, name: str) -> list[str]:
    """Errors of the default, the baseline and the other methods."""
    data = load_movielens(folder, name)
    splits = [hold_out(data, 0.1, seed) for seed in SPLITS]
    rows, series = [], []
    for epsilon in EPSILONS:
        default = [private_error(*split, epsilon) for split in splits]
        baseline = [baseline_error(*split, epsilon) for split in splits]
        others = [
            statistics.mean(private_error(*split, epsilon, method=method) for split in splits)
            if epsilon in LIMITS[name]
            else float("nan")
            for method in ("als", "factored_gradient")
        ]
        forecast = PrivateCompletion(RANK, epsilon=epsilon, delta=DELTA, rating_range=RANGE)
        band = " to ".join(f"{v:.2f}" for v in forecast.plan((data.n_users, data.n_items)).forecast.values())
        limit = LIMITS[name].get(epsilon)
        worst = max(a - b for a, b in zip(default, baseline, strict=True))
        mean, spread = statistics.mean(default), max(default) - min(default)
        shown = [f"{value:.4f}" if value == value else "" for value in (statistics.mean(baseline), *others)]
        rows.append((f"{epsilon:g}", limit or "", f"{mean:.4f}", f"{spread:.4f}", *shown, f"{worst:+.4f}", band))
        series.append((epsilon, round(mean, 5), round(statistics.mean(baseline), 5)))
    reference = statistics.mean(em_error(*split) for split in splits)
    names = ("epsilon", "default", "baseline")
    save(f"movielens_{name}", [dict(zip(names, zip(*series, strict=True), strict=True)) | {"without": reference}])
    header = (
        f"{name}, RMSE, epsilon", "limit", "default", "largest less smallest", "private means + offset", "als",
        "factored_gradient", "default less baseline, worst split", "forecast band",
    )  # fmt: skip
    return [*table(header, rows), "", f"Without privacy (EM, rank {RANK}): {reference:.4f}."]


def recall(folder: Path) -> list[str]:
    """Recall at 20 of implicit feedback: ratings of 4 and 5 of MovieLens-1M, 20 % of every user's held out."""
    data = load_movielens(folder, "ml1m")
    train, test = hold_out(data.part(data.ratings >= 4), 0.2, 1)
    wanted = [set(part.tolist()) for part in np.split(test.items[np.argsort(test.users, kind="stable")],
              np.cumsum(np.bincount(test.users, minlength=data.n_users))[:-1])]  # fmt: skip
    history = matrix(train, np.ones(len(train.users)))
    popular = np.bincount(train.items, minlength=data.n_items).astype(np.float64)
    seen = history.toarray() > 0
    by_popularity = np.argsort(-np.where(seen, -1.0, popular), axis=1)[:, :20]
    rows = [("popularity, without privacy", "", f"{recall_at_k(by_popularity, wanted):.4f}")]
    for method, rank in (("spectral", 32), ("als", 32)):
        for epsilon in (1.0, 5.0, 20.0):
            model = fit(train, epsilon, rank=rank, method=method, feedback="implicit", rating_range=None)
            found = recall_at_k(model.recommend(history, n=20).items, wanted)
            rows.append((f"{method}, rank {rank}", f"{epsilon:g}", f"{found:.4f}"))
    return table(("MovieLens-1M, implicit feedback", "epsilon", "recall at 20"), rows)


def costs(folder: Path) -> list[str]:
    """CPU time and memory of a whole fit at epsilon 20 beside a fit without privacy."""
    data = load_movielens(folder, "ml1m")
    train, _ = hold_out(data, 0.1, 1)
    calls = {
        "EM without privacy, rank 8": lambda: fit_em(grouped(train), train.n_items, RANK),
        "default, epsilon 20": lambda: fit(train, 20.0),
        "default, epsilon 5": lambda: fit(train, 5.0),
        "default, epsilon 1": lambda: fit(train, 1.0),
    }
    seconds = median_seconds(calls, 3)
    first = next(iter(seconds.values()))
    rows = [
        (name, f"{seconds[name]:.2f}", f"{seconds[name] / first:.2f}", f"{peak_megabytes(call):.0f}")
        for name, call in calls.items()
    ]
    return table(("MovieLens-1M, one thread", "CPU s", "ratio (at most 3)", "peak MB"), rows)


def run() -> list[str]:
    """Measure and return Markdown."""
    folder = data_folder()
    if folder is None:
        return ["Not measured: name a folder with ml1m.parquet and ml100k.parquet by --data."]
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    return [*errors(folder, "ml1m"), "", *errors(folder, "ml100k"), "", *recall(folder), "", *costs(folder)]


if __name__ == "__main__":
    print("\n".join(run()))
