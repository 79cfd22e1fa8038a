"""Parts of bench_item_features: implicit feedback with features, and beside private popularity on generated data."""

import statistics
from functools import partial
from pathlib import Path

from measure import table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
from scipy.sparse import csr_array

from bench_movielens import DELTA, ENGINE
from feature_accuracy import EPSILONS, NO_DATA, SPLITS, load, matrix, shown
from hushrank.data.ratings.reading import read_ratings
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.histories import join_blocks
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.evaluation.metrics import recall_at_k
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.noise.source import NoiseSource
from rating_data import RatingData, hold_out
from references import private_popularity

RANK, LIST = 32, 20
LIMITS = (0.205, 0.225, 0.280, 0.312)
N, N_EVENTS, KINDS, DRAWS = 1900, 60_000, ((0.8, 2.0), (1.0, 1.0), (1.2, 0.5)), 20
FIRST_DRAW = 401  # draws below were looked at before constants were final
GENERATED_EPSILONS = (0.25, 1.0, 5.0)


def wanted_items(test: RatingData) -> list[set[int]]:
    """Items of each user that were held out."""
    order = np.argsort(test.users, kind="stable")
    ends = np.cumsum(np.bincount(test.users, minlength=test.n_users))[:-1]
    return [set(part.tolist()) for part in np.split(test.items[order], ends)]


def fit(history: csr_array, epsilon: float, **options: object) -> PrivateCompletion:
    """One private fit to lists of items."""
    terms = {"epsilon": epsilon, "delta": DELTA, "feedback": "implicit", "engine": ENGINE}
    return PrivateCompletion(RANK, **(terms | options)).fit(history)


def recall(model: PrivateCompletion, history: csr_array, wanted: list[set[int]]) -> float:
    """Recall at 20 of held-out items."""
    return recall_at_k(model.recommend(history, n=LIST).items, wanted)


def popularity_recall(history: csr_array, wanted: list[set[int]], epsilon: float) -> float:
    """The same for a list by popularity, bought with the whole budget."""
    rows = read_ratings(history, owner="baseline", is_implicit=True)
    budget = Budget(epsilon, DELTA, "replace", "user")
    terms = (calibrate(budget), budget.neighbors, 2**26, NoiseSource(), partial(ENGINE.total, rows))
    model = private_popularity(RatingReleases(*terms, n_people=rows.n_users, n_items=rows.n_items), 1.0)
    scores = model.scores(model.fold_in(join_blocks(list(rows.blocks()))))
    scores[history.nonzero()] = -np.inf
    return recall_at_k(np.argsort(-scores, axis=1, kind="stable")[:, :LIST], wanted)


def movielens(folder: Path | None) -> list[str]:
    """Recall on ratings of 4 and 5 of MovieLens-1M, 20 % of every user's held out."""
    if folder is None:
        return NO_DATA
    data, items = load(folder)
    features = items.select(["item", "genres", "year"])
    likes, rows = data.part(data.ratings >= 4), []
    splits = [hold_out(likes, 0.2, seed) for seed in SPLITS]
    for epsilon, limit in zip(EPSILONS, LIMITS, strict=True):
        cells: list[list[float]] = [[], [], [], []]
        for train, test in splits:
            history, wanted = matrix(train), wanted_items(test)
            cells[0].append(recall(fit(history, epsilon, item_features=features), history, wanted))
            cells[1].append(recall(fit(history, epsilon), history, wanted))
            cells[2].append(popularity_recall(history, wanted, epsilon))
            cells[3].append(recall(fit(history, epsilon, method="als", item_features=features), history, wanted))
        rows.append((f"{epsilon:g}", limit, *map(shown, cells)))
    names = ("with features", "without", "private popularity, whole budget", "als with features")
    return table((f"recall at {LIST}, mean of 3 splits; epsilon", "limit", *names), rows)


def draw_events(power: float, taste: float, seed: int) -> tuple[csr_array, list[set[int]]]:
    """A history and later choices of 1,900 users: Zipf popularity, activity of very different size, Gaussian tastes."""
    rng = np.random.default_rng(seed)
    logs = -power * np.log(np.arange(1, N + 1))
    U, V = rng.standard_normal((N, 10)), rng.standard_normal((N, 10)) / np.sqrt(10)
    activity = rng.lognormal(0.0, 1.2, N)
    sizes = np.clip(np.round(activity / activity.sum() * N_EVENTS).astype(int), 2, N // 2)
    users, items, later = [], [], []
    for i in range(N):
        keys = logs + taste * (V @ U[i]) + rng.gumbel(size=N)
        own = rng.permutation(np.argpartition(-keys, sizes[i] - 1)[: sizes[i]])
        n_later = max(round(0.2 * sizes[i]), 1)
        later.append(set(own[:n_later].tolist()))
        items.append(own[n_later:])
        users.append(np.full(sizes[i] - n_later, i))
    events = np.concatenate(items)
    return csr_array((np.ones(len(events)), (np.concatenate(users), events)), shape=(N, N)), later


def generated(folder: Path | None) -> list[str]:
    """Recall on generated data beside that of private popularity with the whole budget."""
    del folder
    rows = []
    for power, taste in KINDS:
        draws = [draw_events(power, taste, seed) for seed in range(FIRST_DRAW, FIRST_DRAW + DRAWS)]
        for epsilon in GENERATED_EPSILONS:
            own = [recall(fit(history, epsilon), history, wanted) for history, wanted in draws]
            popular = [popularity_recall(history, wanted, epsilon) for history, wanted in draws]
            difference = [a - b for a, b in zip(own, popular, strict=True)]
            means = (f"{statistics.mean(values):.4f}" for values in (own, popular))
            rows.append((f"Zipf {power:g}, taste {taste:g}", f"{epsilon:g}", *means, f"{shown(difference)} (-0.005)"))
    header = (
        f"{N:,} x {N:,}, {N_EVENTS // 1000}k events, {DRAWS} draws", "epsilon", "recall at 20",
        "private popularity, whole budget", "difference (limit)",
    )  # fmt: skip
    return table(header, rows)
