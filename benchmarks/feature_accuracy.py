"""Parts of bench_item_features: MovieLens-1M with genres and years, useless features, new items, time and memory."""

import statistics
import warnings
from functools import cache, partial
from pathlib import Path

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from bench_movielens import DELTA, ENGINE, RANK
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.item_features import read_item_features
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.evaluation.metrics import root_mean_squared_error
from rating_data import RANGE, RatingData, hold_out, load_movielens

SPLITS, EPSILONS, LIMITS = (81, 82, 83), (0.25, 1.0, 5.0, 20.0), (0.968, 0.919, 0.879, 0.857)
PAIRS, RANDOM_COLUMNS = 10, 200
NO_DATA = ["Not measured: name a folder with ml1m.parquet and ml1m_items.parquet by --data."]


@cache
def load(folder: Path) -> tuple[RatingData, pa.Table]:
    """Ratings, and the public table of the items by the same ids."""
    data = load_movielens(folder, "ml1m")
    codes = pc.dictionary_encode(pq.read_table(folder / "ml1m.parquet", columns=["item"])["item"].combine_chunks())
    items = pq.read_table(folder / "ml1m_items.parquet")
    order = pc.index_in(items["item"], codes.dictionary)
    return data, items.set_column(items.column_names.index("item"), "item", order.cast(pa.int64()))


def fit(train: RatingData, epsilon: float, **options: object) -> PrivateCompletion:
    """One private fit with the defaults."""
    terms = {"epsilon": epsilon, "delta": DELTA, "rating_range": RANGE, "items": train.n_items, "engine": ENGINE}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column 'title' of item_features is left out")
        return PrivateCompletion(RANK, **(terms | options)).fit(train.table())


def error(train: RatingData, test: RatingData, epsilon: float, **options: object) -> float:
    """Root mean squared error on held-out ratings."""
    predicted = fit(train, epsilon, **options).predict_ratings(train.table(), test.table())
    return root_mean_squared_error(predicted, test.ratings)


def shown(values: list[float]) -> str:
    """Mean and its standard error."""
    return f"{statistics.mean(values):.4f} +- {statistics.stdev(values) / len(values) ** 0.5:.4f}"


def ratings(folder: Path | None) -> list[str]:
    """Errors with and without features, and with other methods."""
    if folder is None:
        return NO_DATA
    data, items = load(folder)
    splits = [hold_out(data, 0.1, seed) for seed in SPLITS]
    rows = []
    for epsilon, limit in zip(EPSILONS, LIMITS, strict=True):
        cells = [
            shown([error(*split, epsilon, **options) for split in splits])
            for options in ({"item_features": items}, {}, {"item_features": items, "method": "als"}, {"method": "als"})
        ]
        rows.append((f"{epsilon:g}", limit, *cells))
    header = ("RMSE, mean of 3 splits; epsilon", "limit", "with features", "without", "als with", "als without")
    return table(header, rows)


def shuffled(features: np.ndarray, seed: int) -> np.ndarray:
    """The features of each item given to another one."""
    return features[np.random.default_rng(seed).permutation(len(features))]


def useless(folder: Path | None) -> list[str]:
    """Shuffled features over pairs of fits, and good ones beside random columns."""
    if folder is None:
        return NO_DATA
    data, items = load(folder)
    good = read_item_features(items, Catalogue(data.n_items), "benchmark").values
    rows = []
    for epsilon in EPSILONS:
        without, other, noisy, random, best = [], [], [], [], []
        for seed in range(PAIRS):
            split = hold_out(data, 0.1, SPLITS[seed % len(SPLITS)])
            columns = np.random.default_rng(seed).standard_normal((data.n_items, RANDOM_COLUMNS))
            without.append(error(*split, epsilon))
            other.append(error(*split, epsilon, item_features=shuffled(good, seed)))
            random.append(error(*split, epsilon, item_features=columns))
            if seed < len(SPLITS):
                best.append(error(*split, epsilon, item_features=good))
                noisy.append(error(*split, epsilon, item_features=np.hstack([good, columns])))
        costs = [[b - a for a, b in zip(without, worse, strict=True)] for worse in (other, random)]
        none = statistics.mean(without)
        kept = (none - statistics.mean(noisy)) / (none - statistics.mean(best))
        limits = (0.005 if epsilon < 1 else 0.002, 0.003)
        cells = [f"{shown(cost)} ({limit})" for cost, limit in zip(costs, limits, strict=True)]
        rows.append((f"{epsilon:g}", *cells, f"{kept:.0%} (50%)"))
    header = (
        f"epsilon; {PAIRS} pairs of fits", "RMSE with shuffled less without (limit)",
        f"with {RANDOM_COLUMNS} random columns less without (limit)",
        f"gain kept with genres, years and {RANDOM_COLUMNS} random columns, 3 splits",
    )  # fmt: skip
    return table(header, rows)


def cold(folder: Path | None) -> list[str]:
    """Errors on a random tenth of the items, of which no ratings are left, listed as new; and on the others."""
    if folder is None:
        return NO_DATA
    data, items = load(folder)
    rows, means = [], []
    found: dict[tuple[float, str], list[float]] = {}
    for seed in SPLITS:
        is_cold = np.zeros(data.n_items, bool)
        is_cold[np.random.default_rng(seed).permutation(data.n_items)[: data.n_items // 10]] = True
        train, test = hold_out(data.part(~is_cold[data.items]), 0.1, seed)
        late, new = data.part(is_cold[data.items]), np.flatnonzero(is_cold)
        means.append(root_mean_squared_error(_user_means(train)[late.users], late.ratings))
        for epsilon in EPSILONS:
            terms = {
                "with features": {"item_features": items, "new_items": new},
                "not listed": {"item_features": items},
                "without features": {"new_items": new},
            }
            for name, options in terms.items():
                model = fit(train, epsilon, **options)
                for part, wanted in (("new", late), ("others", test)):
                    predicted = model.predict_ratings(train.table(), wanted.table())
                    error = root_mean_squared_error(predicted, wanted.ratings)
                    found.setdefault((epsilon, f"{name}, {part}"), []).append(error)
    names = [f"{name}, {part}" for part in ("new", "others") for name in terms]
    for epsilon in EPSILONS:
        rows.append((f"{epsilon:g}", *(f"{statistics.mean(found[epsilon, name]):.4f}" for name in names)))
    average = [statistics.mean(statistics.mean(found[e, name]) for e in EPSILONS) for name in names]
    rows.append(("mean", *(f"{value:.4f}" for value in average)))
    text = f"The users' own means have {statistics.mean(means):.4f} on the new items (limit: that + 0.005)."
    return [*table(("RMSE, mean of 3 splits; epsilon", *names), rows), "", text]


def _user_means(train: RatingData) -> np.ndarray:
    sums = np.bincount(train.users, train.ratings, minlength=train.n_users)
    return sums / np.maximum(np.bincount(train.users, minlength=train.n_users), 1)


def times(folder: Path | None) -> list[str]:
    """CPU time and memory of a fit with genres, years and their squares (20 columns), beside one without."""
    if folder is None:
        return NO_DATA
    data, items = load(folder)
    train, _ = hold_out(data, 0.1, SPLITS[0])
    likes = train.part(train.ratings >= 4)
    calls = {}
    for epsilon in EPSILONS[1:]:
        for name, options in (("without", {}), ("with features", {"item_features": items})):
            calls[f"{name}, epsilon {epsilon:g}"] = partial(fit, train, epsilon, **options)
            implicit = {"feedback": "implicit", "rating_range": None, **options}
            calls[f"implicit, {name}, epsilon {epsilon:g}"] = partial(fit, likes, epsilon, **implicit)
    seconds = median_seconds(calls, 5)
    rows = []
    for name, call in calls.items():
        base = seconds[name.replace("with features", "without")]
        rows.append((name, f"{seconds[name]:.2f}", f"{seconds[name] / base:.2f}", f"{peak_megabytes(call):.0f}"))
    return table(("MovieLens-1M, one thread", "CPU s", "ratio to without (at most 2.5)", "peak MB"), rows)


def matrix(data: RatingData) -> csr_array:
    """Users and items as a sparse matrix of ones."""
    return csr_array((np.ones(len(data.users)), (data.users, data.items)), shape=(data.n_users, data.n_items))
