"""Built-in data for demonstrations, tests and benchmarks; never private."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNK_USERS = 4096
_GENRES = ("Comedy", "Drama", "Horror", "Western", "Romance", "Crime", "War", "Musical")


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
    item_tastes : ndarray of shape (n_items, rank)
        How much an item is to each taste.
    """

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    ratings: NDArray[np.float64]
    item_tastes: NDArray[np.float64]

    def table(self) -> Any:
        """The ratings as an Arrow table with the columns user, item and rating."""
        import pyarrow as pa

        return pa.table({"user": self.users, "item": self.items, "rating": self.ratings})

    def item_table(self) -> Any:
        """Public facts about the items as an Arrow table with the columns item and genres, words joined by "|".

        An item has the words of the tastes that it is much to: they tell about tastes, and not all of it.
        """
        import pyarrow as pa

        words = [_GENRES[k] if k < len(_GENRES) else f"Genre {k + 1}" for k in range(self.item_tastes.shape[1])]
        typical = np.sqrt((self.item_tastes**2).mean())
        genres = ["|".join(np.array(words)[own > 0.5 * typical]) or None for own in self.item_tastes]
        return pa.table({"item": np.arange(len(genres)), "genres": genres})

    def split(self, share: float, *, seed: int) -> tuple["SyntheticRatings", "SyntheticRatings"]:
        """Two parts at random, the second with about `share` of the ratings."""
        held_out = np.random.default_rng(seed).random(len(self.users)) < share
        parts = (
            SyntheticRatings(self.users[rows], self.items[rows], self.ratings[rows], self.item_tastes)
            for rows in (~held_out, held_out)
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
    all_users, all_items, all_ratings = (np.concatenate(part)[shuffled] for part in (users, items, ratings))
    return SyntheticRatings(all_users, all_items, all_ratings, item_tastes)


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


@dataclass(frozen=True)
class SharedRepresentation:
    """Records of made-up users whose answers depend on a few directions that all of them share.

    Assumption 4.1 of the paper: an answer is <x, U v_j> plus Gaussian noise. With labels, it is 1 with probability
    1 / (1 + exp(-<x, U v_j>)) and else 0.

    Attributes
    ----------
    X : ndarray of shape (n_records, n_features)
    y : ndarray of shape (n_records,)
    users : ndarray of shape (n_records,)
        Who has the record, counted from 0 and in rising order. Everybody has one at least.
    fresh_X, fresh_y, fresh_users : ndarrays
        Further records of the same users, as many for each, to fit heads to.
    embedding : ndarray of shape (n_features, n_components)
        The truth U, with orthonormal columns.
    heads : ndarray of shape (n_users, n_components)
        The truths v_j, all of one norm.
    covariance : ndarray of shape (n_features, n_features)
        Of x, whose mean is zero.
    noise : float
        Standard deviation of an answer about its mean; of no use with labels.
    labels : bool
    distribution : str
        Law of x before it is stretched: "gaussian", or "t5" for Student's with 5 degrees of freedom and variance 1.

    References
    ----------
    Jain, Rush, Smith, Song, Thakurta: Differentially Private Model Personalization, NeurIPS 2021.
    """

    X: NDArray[np.floating]
    y: NDArray[np.floating]
    users: NDArray[np.int64]
    fresh_X: NDArray[np.floating]
    fresh_y: NDArray[np.floating]
    fresh_users: NDArray[np.int64]
    embedding: NDArray[np.float64]
    heads: NDArray[np.float64]
    covariance: NDArray[np.float64]
    noise: float
    labels: bool
    distribution: str

    @property
    def coef(self) -> NDArray[np.float64]:
        """True coefficients U v_j, of shape (n_users, n_features)."""
        return self.heads @ self.embedding.T

    def population_error(self, coef: NDArray[np.floating]) -> float:
        """Exact mean squared error of predictions <x, coef_j> for new records, over all users; noise included.

        `coef` has a row for each user, or is one vector for all.
        """
        if self.labels:
            raise ValueError("population_error is for numbers; population_risks is for labels.")
        errors = np.broadcast_to(coef, self.coef.shape) - self.coef
        return float(np.einsum("ij,ij->", errors @ self.covariance, errors) / len(errors) + self.noise**2)

    def population_risks(self, coef: NDArray[np.floating], *, n_rows: int = 20, seed: int = 0) -> tuple[float, float]:
        """Expected log-loss and share of wrong labels, for `n_rows` new x of every user and their true probabilities.

        The same seed draws the same x, so that differences between coefficients are far more precise than each value.
        """
        if not self.labels:
            raise ValueError("population_risks is for labels; population_error is for numbers.")
        rng, root = np.random.default_rng([seed, 1]), _root(self.covariance)
        losses, wrong, n_users = 0.0, 0.0, len(self.heads)
        fitted = np.broadcast_to(coef, self.coef.shape)
        for start in range(0, n_users, _CHUNK_USERS):
            part = slice(start, min(start + _CHUNK_USERS, n_users))
            rows = part.stop - start
            X = _draw(rng, (rows * n_rows, len(root)), self.distribution, np.float64) @ root
            X = X.reshape(rows, n_rows, -1)
            chance = _logistic(np.einsum("ijk,ik->ij", X, self.coef[part]))
            score = np.einsum("ijk,ik->ij", X, fitted[part])
            losses += float((np.logaddexp(0.0, score) - chance * score).sum())
            wrong += float(np.where(score > 0, 1 - chance, chance).sum())
        return losses / (n_users * n_rows), wrong / (n_users * n_rows)


def shared_representation(
    n_users: int,
    n_features: int,
    n_components: int,
    *,
    n_records: int,
    noise: float,
    seed: int,
    n_fresh: int = 5,
    head_norm: float = 1.0,
    distribution: str = "gaussian",
    condition: float = 1.0,
    unequal: bool = False,
    labels: bool = False,
    dtype: type[np.floating] = np.float64,
) -> SharedRepresentation:
    """Records of users with a random representation, and heads of one norm in random directions.

    `n_records` are to learn from and `n_fresh` for heads. `condition` is the largest over the smallest variance of x
    along random axes, geometric between. With `unequal`, numbers of records are lognormal with median `n_records`,
    rounded, at least 1. `dtype` is that of X and y, numpy.float64 or numpy.float32. The rest: `SharedRepresentation`.

    Examples
    --------
    >>> data = shared_representation(300, 8, 2, n_records=5, noise=0.1, seed=0)
    >>> data.X.shape, data.fresh_X.shape, round(data.population_error(data.coef), 12)
    ((1500, 8), (1500, 8), 0.01)
    """
    rng = np.random.default_rng(seed)
    embedding, axes = (np.linalg.qr(rng.standard_normal((n_features, k)))[0] for k in (n_components, n_features))
    heads = rng.standard_normal((n_users, n_components))
    heads *= head_norm / np.linalg.norm(heads, axis=1, keepdims=True)
    covariance = (
        (axes * np.geomspace(1.0, 1.0 / condition, n_features)) @ axes.T if condition > 1 else np.eye(n_features)
    )
    shape = rng.lognormal(size=n_users) if unequal else np.ones(n_users)
    counts = np.maximum(1, np.rint(n_records * shape)).astype(np.int64)
    arrays: list[Any] = []
    for numbers in (counts, np.full(n_users, n_fresh)):
        users = np.repeat(np.arange(n_users), numbers)
        X = _draw(rng, (len(users), n_features), distribution, dtype)
        X = X @ _root(covariance).astype(dtype) if condition > 1 else X
        means = np.einsum("ij,ij->i", X @ embedding.astype(dtype), heads[users])
        y = rng.random(len(users)) < _logistic(means) if labels else means + noise * rng.standard_normal(len(users))
        arrays += [X, y.astype(dtype), users]
    truth: tuple[Any, ...] = (embedding, heads, covariance, noise, labels, distribution)
    return SharedRepresentation(*arrays, *truth)


def _draw(
    rng: np.random.Generator, shape: tuple[int, int], distribution: str, dtype: type[np.floating]
) -> NDArray[np.floating]:
    """Independent entries of mean 0 and variance 1."""
    if distribution not in ("gaussian", "t5"):
        raise ValueError(f"distribution must be 'gaussian' or 't5'; got {distribution!r}.")
    if distribution == "t5":
        return np.asarray(rng.standard_t(5, size=shape) / np.sqrt(5 / 3), dtype)
    return rng.standard_normal(shape, dtype=np.float32 if dtype is np.float32 else np.float64)


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    values, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.sqrt(values)) @ axes.T)


def _logistic(score: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * score)), np.float64)
