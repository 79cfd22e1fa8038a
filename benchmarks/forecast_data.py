"""Ratings that forecasts are calibrated on and tested on, with the guesses that their description allows.

Calibration: eleven kinds of ratings by `made_ratings`. Test, never used to choose a constant: three sets by
`hushrank.evaluation.synthetic.synthetic_ratings`, another generator. MovieLens is read from a folder.
"""

from dataclasses import dataclass

import numpy as np

from hushrank.evaluation.synthetic import synthetic_ratings
from rating_data import RatingData

ROUNDING = 1 / 12  # variance that rounding to whole ratings adds
ACTIVITY = 0.8


@dataclass(frozen=True)
class Kind:
    """A kind of ratings from 1 to 5: sizes, ratings per user, tastes, and deviations of what ratings are made of."""

    n_users: int
    n_items: int
    per_user: float
    rank: int
    item: float
    user: float
    taste: float
    noise: float
    selection: float = 0.5
    power: float = 0.8

    @property
    def guesses(self) -> dict[str, float]:
        """What the description says about shares of the variance."""
        squares = np.array([self.item**2, self.user**2, self.taste**2, self.noise**2 + ROUNDING])
        item, user, taste, _ = squares / squares.sum()
        shares = {"item_share": item, "user_share": user, "factor_share": taste}
        return {**shares, "factors": self.rank, "choice": self.selection, "popularity": self.power}


CALIBRATION = {
    "300 x 50": Kind(300, 50, 15, 3, 0.5, 0.4, 0.7, 0.6),
    "1,000 x 200": Kind(1000, 200, 30, 4, 0.4, 0.4, 0.3, 0.9),
    "3,000 x 300": Kind(3000, 300, 60, 4, 0.5, 0.4, 0.5, 0.8),
    "5,000 x 1,000": Kind(5000, 1000, 100, 6, 0.45, 0.4, 0.45, 0.8),
    "20,000 x 1,000": Kind(20000, 1000, 30, 5, 0.5, 0.5, 0.5, 0.9),
    "10,000 x 3,000": Kind(10000, 3000, 60, 6, 0.5, 0.4, 0.7, 0.6),
    "2,000 x 2,000": Kind(2000, 2000, 150, 5, 0.45, 0.45, 0.45, 0.8, power=1.0),
    "6,000 x 100": Kind(6000, 100, 20, 2, 0.3, 0.3, 0.8, 0.7, selection=0.0),
    "8,000 x 500": Kind(8000, 500, 150, 8, 0.4, 0.4, 0.6, 0.6, selection=1.0),
    "1,000 x 1,500": Kind(1000, 1500, 100, 5, 0.45, 0.4, 0.4, 0.85, power=1.1),
    "4,000 x 400": Kind(4000, 400, 10, 3, 0.5, 0.5, 0.3, 1.0),
}


def made_ratings(kind: Kind, seed: int) -> RatingData:
    """Ratings of this kind; tastes have variances that fall like 1, 1/2, 1/3, ... and decide what is rated as well."""
    rng = np.random.default_rng(seed)
    log_popularity = -kind.power * np.log(np.arange(kind.n_items) + 2.0 + 0.01 * kind.n_items)
    weights = 1.0 / np.arange(1, kind.rank + 1)
    tastes = rng.standard_normal((kind.n_items, kind.rank)) * np.sqrt(weights / weights.sum())
    quality, own_mean = kind.item * rng.standard_normal(kind.n_items), kind.user * rng.standard_normal(kind.n_users)
    activity = rng.lognormal(-(ACTIVITY**2) / 2, ACTIVITY, kind.n_users)
    users, items, ratings = [], [], []
    for i in range(kind.n_users):
        liking = tastes @ rng.standard_normal(kind.rank)
        n = int(min(max(round(kind.per_user * activity[i]), 2), kind.n_items))
        keys = log_popularity + kind.selection * liking + rng.gumbel(size=kind.n_items)
        own = np.argsort(-keys)[:n]
        raw = 3.4 + quality[own] + own_mean[i] + kind.taste * liking[own] + kind.noise * rng.standard_normal(n)
        users.append(np.full(n, i))
        items.append(own)
        ratings.append(np.clip(np.rint(raw), 1.0, 5.0))
    order = rng.permutation(sum(map(len, users)))
    parts = (np.concatenate(part)[order] for part in (users, items, ratings))
    return RatingData(*parts, kind.n_users, kind.n_items)


# (users, items, ratings per user, tastes) of `synthetic_ratings`
UNSEEN = {"900 x 250": (900, 250, 35, 3), "6,000 x 800": (6000, 800, 50, 5), "15,000 x 1,200": (15000, 1200, 30, 6)}
SEED, OTHER_SEED, OTHER_USERS = 8, 99, 3000


def unseen_ratings(name: str) -> tuple[RatingData, dict[str, float]]:
    """One of the sets that nothing was calibrated on, and what is known of its generator.

    Its description: qualities have variance .1225 and what popularity adds, .02; generosity .16, tastes .25, noise .49
    and rounding. Ratings per user and their deviation, which clipping to the range makes smaller, are of another draw.
    """
    n_users, n_items, per_user, rank = UNSEEN[name]
    terms = {"ratings_per_user": per_user, "rank": rank}
    made = synthetic_ratings(n_users, n_items, seed=SEED, **terms)
    other = synthetic_ratings(OTHER_USERS, n_items, seed=OTHER_SEED, **terms)
    squares = np.array([0.1425, 0.16, 0.25, 0.49 + ROUNDING])
    item, user, taste, _ = squares / squares.sum()
    guesses = {
        "ratings_per_user": len(other.users) / OTHER_USERS,
        "deviation": float(other.ratings.std()) / 4,
        **{"item_share": item, "user_share": user, "factor_share": taste},
        **{"factors": rank, "choice": 0.7, "popularity": 1.0},
    }
    return RatingData(made.users, made.items, made.ratings, n_users, n_items), guesses
