"""Built-in data for demonstrations, tests and benchmarks; never private."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def load_digits() -> NDArray[np.float64]:
    """The 1797 images of scikit-learn's digits: rows of 64 pixels between 0 and 16."""
    from sklearn.datasets import load_digits as load  # scikit-learn is slow to import, and only this needs it

    return np.asarray(load().data, np.float64)


def power_law_rows(n_samples: int, n_features: int, *, seed: int) -> NDArray[np.float64]:
    """Rows of N(0, diag(1/i)), rotated at random and shortened to unit norm where they are longer."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    X: NDArray[np.float64] = rng.standard_normal((n_samples, n_features)) / np.sqrt(np.arange(1, n_features + 1))
    X = X @ rotation.T
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    return X


@dataclass(frozen=True)
class SyntheticRatings:
    """Ratings of made-up users, in no particular order.

    Attributes
    ----------
    users, items : ndarray of shape (n_ratings,)
        Ids, counted from 0.
    ratings : ndarray of shape (n_ratings,)
        Whole numbers between 1 and 5.
    """

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    ratings: NDArray[np.float64]

    def table(self) -> Any:
        """The ratings as an Arrow table with the columns user, item and rating."""
        import pyarrow as pa

        return pa.table({"user": self.users, "item": self.items, "rating": self.ratings})

    def split(self, share: float, *, seed: int) -> tuple["SyntheticRatings", "SyntheticRatings"]:
        """Two parts at random, the second with about `share` of the ratings."""
        held_out = np.random.default_rng(seed).random(len(self.users)) < share
        parts = (
            SyntheticRatings(self.users[rows], self.items[rows], self.ratings[rows]) for rows in (~held_out, held_out)
        )
        first, second = parts
        return first, second


def synthetic_ratings(
    n_users: int, n_items: int, *, seed: int, ratings_per_user: float = 60.0, rank: int = 4
) -> SyntheticRatings:
    """Ratings with popular and rare items, busy and quiet users, good and bad items, generous users and tastes.

    Tastes (`rank` of them) decide both what a user chooses and how it is rated.

    Examples
    --------
    >>> ratings = synthetic_ratings(500, 80, seed=0)
    >>> float(ratings.ratings.min()), float(ratings.ratings.max())
    (1.0, 5.0)
    """
    rng = np.random.default_rng(seed)
    popularity = 1.0 / (np.arange(n_items) + 5.0 + 0.02 * n_items)
    rng.shuffle(popularity)
    user_tastes, item_tastes = rng.standard_normal((n_users, rank)), rng.standard_normal((n_items, rank))
    item_tastes /= np.sqrt(rank)
    quality = 0.35 * rng.standard_normal(n_items) + 0.15 * np.log(popularity / popularity.mean())
    generosity, activity = 0.4 * rng.standard_normal(n_users), rng.lognormal(-0.4, 0.9, n_users)
    users, items, ratings = [], [], []
    for i in range(n_users):
        liking = item_tastes @ user_tastes[i]
        n = min(max(int(ratings_per_user * activity[i]), 2), n_items)
        # The largest of log weight + Gumbel noise: a draw without replacement.
        keys = np.log(popularity) + 0.7 * liking + rng.gumbel(size=n_items)
        own = np.argpartition(-keys, n - 1)[:n]
        raw = 3.5 + quality[own] + generosity[i] + 0.5 * liking[own] + 0.7 * rng.standard_normal(n)
        users.append(np.full(n, i))
        items.append(own)
        ratings.append(np.clip(np.rint(raw), 1.0, 5.0))
    shuffled = rng.permutation(sum(map(len, users)))
    joined = (np.concatenate(part)[shuffled] for part in (users, items, ratings))
    return SyntheticRatings(*joined)


@dataclass(frozen=True)
class LowRankMatrix:
    """A matrix of low rank, some entries of it with noise, and which.

    Attributes
    ----------
    truth : ndarray of shape (n_users, n_items)
    observed : ndarray of shape (n_users, n_items)
        Noisy entries, NaN where there is none.
    """

    truth: NDArray[np.float64]
    observed: NDArray[np.float64]

    def error(self, predicted: NDArray[np.float64]) -> float:
        """Mean squared error on the entries that are not observed."""
        return float(((predicted - self.truth) ** 2)[np.isnan(self.observed)].mean())


def low_rank_matrix(n_users: int, n_items: int, rank: int, *, noise: float, seed: int) -> LowRankMatrix:
    """A product of Gaussian factors with rank * n_users * log(n_users) entries observed, in Gaussian noise.

    Both factors are scaled by one number each so that their longest row has norm 2.
    """
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((n_users, rank)), rng.standard_normal((n_items, rank))
    for factor in (U, V):
        factor *= 2.0 / np.linalg.norm(factor, axis=1).max()
    truth = U @ V.T
    n_observed = min(int(rank * n_users * np.log(n_users)), truth.size)
    mask = np.zeros(truth.size, bool)
    mask[rng.permutation(truth.size)[:n_observed]] = True
    noisy = truth + np.sqrt(noise) * rng.standard_normal(truth.shape)
    return LowRankMatrix(truth, np.where(mask.reshape(truth.shape), noisy, np.nan))
