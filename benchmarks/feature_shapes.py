"""Parts of bench_item_features: ratings that most users give to most items, and the number of factors asked for."""

import statistics
from pathlib import Path
from unittest.mock import patch

from measure import table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from bench_movielens import DELTA, ENGINE
from hushrank.data.ratings.reading import read_ratings
from hushrank.estimators.completion import spectral_ratings
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.histories import join_blocks
from hushrank.evaluation.baselines import fit_em
from hushrank.evaluation.synthetic import synthetic_ratings

N_USERS, N_ITEMS, RANK, SHARE, HALF_RANGE, DRAWS = 5000, 100, 8, 0.75, 4.0, 20
FIRST_DRAW = 2000  # draws below were looked at before constants were final
RANKS = (1, 2, 4, 8, 16, 32)


def dense_ratings(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratings of rank 8 with noise as large as the signal, and which three quarters of them are known."""
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((N_USERS, RANK)), rng.standard_normal((N_ITEMS, RANK))
    signal = U @ V.T / np.sqrt(RANK)
    noisy = signal + signal.std() * rng.standard_normal(signal.shape)
    return np.clip(noisy, -HALF_RANGE, HALF_RANGE), rng.random(signal.shape) < SHARE


def dense(folder: Path | None) -> list[str]:
    """Errors of the default, of the same without any constant in its rows, and of EM without privacy."""
    del folder
    found: dict[tuple[float, str], list[float]] = {}
    for seed in range(FIRST_DRAW, FIRST_DRAW + DRAWS):
        ratings, is_known = dense_ratings(seed)
        known = np.where(is_known, ratings, np.nan)
        for epsilon in (1.0, 5.0):
            for name in ("default", "constant 0"):
                found.setdefault((epsilon, name), []).append(_error(known, ratings, epsilon, name, seed))
        found.setdefault((0.0, "em"), []).append(_em_error(known, ratings))
    without, rows = statistics.mean(found[0.0, "em"]), []
    for epsilon in (1.0, 5.0):
        default, zero = (np.array(found[epsilon, name]) for name in ("default", "constant 0"))
        change = 100 * (default / zero - 1)
        cells = f"{change.mean():+.2f} +- {change.std(ddof=1) / np.sqrt(DRAWS):.2f} % (0.3 %)"
        rows.append((f"{epsilon:g}", f"{default.mean():.4f}", f"{zero.mean():.4f}", cells, f"{without:.4f}",
                     f"{100 * (default.mean() / without - 1):+.1f} %"))  # fmt: skip
    header = (
        f"{N_ITEMS} items, {N_USERS} users, {DRAWS} draws; epsilon", "default", "constant 0", "difference (limit)",
        "EM without privacy", "distance to it",
    )  # fmt: skip
    return table(header, rows)


def _error(known: np.ndarray, ratings: np.ndarray, epsilon: float, name: str, seed: int) -> float:
    """Both variants have the same noise, from a seed: their difference is smaller than its spread."""
    terms = {"epsilon": epsilon, "delta": DELTA, "rating_range": (-HALF_RANGE, HALF_RANGE), "engine": ENGINE}
    model = PrivateCompletion(RANK, **terms, random_state=seed)
    if name == "default":
        model.fit(known)
    else:  # as if a rating told nothing by being there
        with patch.object(spectral_ratings, "what_rating_tells", lambda releases, _: np.zeros(releases.n_items)):
            model.fit(known)
    return _distance(model.predict(known), known, ratings)


def _em_error(known: np.ndarray, ratings: np.ndarray) -> float:
    source = read_ratings(known, owner="reference", rating_range=(-HALF_RANGE, HALF_RANGE))
    block = join_blocks(list(source.blocks()))
    users, items = np.nonzero(np.isnan(known))
    predicted = np.full(known.shape, np.nan)
    predicted[users, items] = HALF_RANGE * np.clip(fit_em(block, N_ITEMS, RANK).predict(block, users, items), -1, 1)
    return _distance(predicted, known, ratings)


def _distance(predicted: np.ndarray, known: np.ndarray, ratings: np.ndarray) -> float:
    return float(np.sqrt(((predicted - ratings)[np.isnan(known)] ** 2).mean()))


def ranks(folder: Path | None) -> list[str]:
    """Factors that are kept as more are asked for, 20,000 users and 300 items, epsilon 50."""
    del folder
    rows = []
    for per_user in (10, 20, 40):
        ratings = synthetic_ratings(20_000, 300, seed=11, ratings_per_user=per_user, rank=4).table()
        kept = []
        for rank in RANKS:
            terms = {"epsilon": 50.0, "delta": DELTA, "rating_range": (1, 5), "items": 300, "engine": ENGINE}
            kept.append(PrivateCompletion(rank, **terms).fit(ratings).n_factors_)
        rows.append((per_user, *kept))
    return table(("factors kept; ratings a user", *(f"rank {rank}" for rank in RANKS)), rows)
