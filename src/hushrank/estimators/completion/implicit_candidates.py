"""Models of implicit feedback among which a check by recall chooses: popularity, with features, with factors, or both.

Statistic  sum over users of what each model finds of one half of the own items from the other half, less what
           popularity finds (`recall_kernels`).
Post       the best model, if it is better than popularity by more than the noise.
Recipe     `implicit_recipe.IMPLICIT`.
Privacy    docs/privacy/completion.md, Lemma 8.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.item_marks import Marks, check_strength
from hushrank.estimators.completion.item_means import Census
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.recall_kernels import RankedModels, sum_recall_gains
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import most_counted, place_items
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]

_NEGLIGIBLE = 1e-8  # length of a column that the others nearly span, over the longest


class Kind(NamedTuple):
    """What a model has beside popularity."""

    has_features: bool
    has_factors: bool


POPULARITY = Kind(False, False)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Models that differ in what they have beside popularity.

    Attributes
    ----------
    census : Census
    features : ndarray of shape (n_items, n_features)
        Orthogonal columns of one length that span popularity, and popularity times each public feature.
    from_public : ndarray of shape (1 + n_slopes, n_features)
        What makes a row of them of (1, slopes) times the popularity of the item.
    factors : ndarray of shape (n_items, n_factors)
    unobserved, ridge : float
        Of a user's regression.
    strength : ndarray of shape (n_factors,) or None
        How far factors stand above the noise, where a method tells.
    """

    census: Census
    features: FloatArray
    from_public: FloatArray
    factors: FloatArray
    unobserved: float
    ridge: float
    strength: FloatArray | None = None

    @classmethod
    def of(
        cls,
        census: Census,
        unobserved: float,
        ridge: float,
        factors: FloatArray | None = None,
        strength: FloatArray | None = None,
    ) -> "Candidates":
        """All models that there are with these counts and factors."""
        features, from_public = _popular_features(census)
        factors = np.zeros((len(features), 0)) if factors is None else factors
        return cls(census, features, from_public, factors, unobserved, ridge, strength)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What there is to choose from, popularity first."""
        featured = (False, True)[: 1 + (self.features.shape[1] > 0)]
        factored = (False, True)[: 1 + (self.factors.shape[1] > 0)]
        return tuple(Kind(a, b) for b in factored for a in featured)

    def model(self, kind: Kind) -> CompletionModel:
        """The model of this kind."""
        counts, nothing = self.census.counts, np.zeros((len(self.features), 0))
        features = self.features if kind.has_features else nothing
        factors = self.factors if kind.has_factors else nothing
        new_items = self._new_item_map(features.shape[1], factors)
        marks = Marks(self.census.deviation, strength=self.strength)
        return CompletionModel(
            self._base, features, factors, self.ridge, counts, self.unobserved, new_items, marks=marks
        )

    def choose(self, releases: RatingReleases) -> CompletionModel:
        """The model that finds most of the users' own items, if it finds clearly more than popularity.

        Everything that is left is spent on the question, if there is one.
        """
        kinds = self.kinds
        if len(kinds) == 1:
            return self.model(POPULARITY)
        lattice = releases.vector_lattice(IMPLICIT.check_norm * math.sqrt(len(kinds) - 1))
        total = releases.total(sum_recall_gains, (self.ranked(releases.n_people), lattice))
        gains = releases.release(total, lattice)
        if self.strength is None and self.factors.shape[1]:  # the check tells where the method does not
            has_factors = np.array([kind.has_factors for kind in kinds[1:]])
            found = check_strength(gains, has_factors, lattice.scale, self.factors.shape[1])
            return replace(self, strength=found)._chosen(gains, lattice.scale)
        return self._chosen(gains, lattice.scale)

    def _chosen(self, gains: FloatArray, deviation: float) -> CompletionModel:
        kinds, best = self.kinds, int(np.argmax(gains))
        return self.model(kinds[1 + best] if gains[best] > IMPLICIT.check_deviations * deviation else POPULARITY)

    def ranked(self, n_people: float) -> RankedModels:
        """The models as the check compares them."""
        U = np.ascontiguousarray(np.hstack([self.features, self.factors]))
        n_items, ends = len(U), (0, self.features.shape[1], U.shape[1])
        with one_blas_thread():
            penalty = self.unobserved * (U.T @ U)
        firsts = np.array([ends[not kind.has_features and kind.has_factors] for kind in self.kinds], np.int64)
        stops = np.array([ends[2 if kind.has_factors else kind.has_features] for kind in self.kinds], np.int64)
        listed: NDArray[np.bool_] = np.any(self.factors != 0.0, axis=1)
        listed[most_counted(self.census.counts, IMPLICIT.most_listed)] = True
        chosen = np.flatnonzero(listed)
        return RankedModels(
            base=self._base,
            U=U,
            penalty=penalty,
            ridge=float(self.ridge),
            firsts=firsts,
            stops=stops,
            listed=chosen.astype(np.int32),
            places=place_items(chosen, n_items),
            columns=np.ascontiguousarray(U[chosen].T),
            length=IMPLICIT.length_of_list(n_items),
            one_in=_one_in(n_people, stops - firsts, len(chosen)),
        )

    @property
    def _base(self) -> FloatArray:
        """Popularity, which orders items where nothing else does."""
        base: FloatArray = IMPLICIT.popularity_weight * self.census.counts / self.census.counts.max()
        return base

    def _new_item_map(self, n_features: int, factors: FloatArray) -> FloatArray:
        """Base, features and factors of an item as popular as a typical one, by its public features."""
        items = self.census.items
        known = ~items.is_new if not items.is_new.all() else items.is_new
        popularity = popularity_of(self.census)
        typical = float(popularity[known].mean())
        made = np.zeros((1 + items.G.shape[1], 1 + n_features + factors.shape[1]))
        made[0, 0] = self._base[known].mean()
        rows = np.hstack([self.from_public[:, :n_features], _explain_factors(popularity, items.slopes, factors)])
        made[0, 1:] = typical * rows[0]
        with one_blas_thread():
            made[1:, 1:] = typical * (items.projection @ rows[1:])
        return made


def _explain_factors(popularity: FloatArray, slopes: FloatArray, factors: FloatArray) -> FloatArray:
    """Coefficients of popularity times (1, slopes) that the factors of known items have, by a ridge regression.

    Without them, items without history would have no factors, and never be listed beside items that have.
    """
    X = popularity[:, None] * np.column_stack([np.ones(len(slopes)), slopes])
    with one_blas_thread():
        A, right = X.T @ X, X.T @ factors
    ridge = max(IMPLICIT.new_item_ridge * float(np.trace(A)) / len(A), np.finfo(float).tiny)
    found: FloatArray = np.linalg.solve(A + ridge * np.eye(len(A)), right).astype(np.float64, copy=False)
    return found


def popularity_of(census: Census) -> FloatArray:
    """Counts for features to multiply: less a deviation, so that noise alone makes no item popular; 0 of new items."""
    counts = np.maximum(census.released - census.deviation, IMPLICIT.least_popularity * census.deviation)
    return np.where(census.items.is_new, 0.0, counts)


def _popular_features(census: Census) -> tuple[FloatArray, FloatArray]:
    slopes, n_items = census.items.slopes, len(census.counts)
    if not slopes.shape[1]:
        return np.zeros((n_items, 0)), np.zeros((1, 0))
    columns = popularity_of(census)[:, None] * np.column_stack([np.ones(n_items), slopes])
    with one_blas_thread():
        Q, sizes, P = np.linalg.svd(columns, full_matrices=False)
    kept, scale = sizes > _NEGLIGIBLE * sizes[0], IMPLICIT.feature_scale
    return np.ascontiguousarray(scale * Q[:, kept]), scale * P[kept].T / sizes[kept]


def _one_in(n_people: float, widths: NDArray[np.int64], n_listed: int) -> int:
    """Of so many users one is asked, that the check takes seconds for any number of them."""
    products = 2.0 * sum(k * (n_listed + k * k / 6) for k in widths.tolist())  # of a user: scores, and a factorization
    asked = max(IMPLICIT.most_products / max(products, 1.0), IMPLICIT.fewest_asked)
    return int(max(n_people / asked, 1.0))
