"""Private recommenders: matrix completion under user-level joint differential privacy.

Statistic  sums over users of bounded contributions to item parameters, chosen by `method`.
Release    item parameters only. A user's own factor is computed from them and the user's own ratings, by the user.
Post       predictions, recommendations and similar items.
Privacy    docs/privacy/completion.md, Theorem 1 (adaptive releases) and Theorem 2 (joint privacy).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute
from hushrank.base import Param, PrivateEstimator
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.reading import Ratings, check_rating_range, read_ratings
from hushrank.data.rows.arrays import Rows
from hushrank.estimators.completion.forecast import forecast_completion
from hushrank.estimators.completion.histories import to_array
from hushrank.estimators.completion.methods import METHODS, CatalogueParam, MethodParam, learn_model, to_options
from hushrank.estimators.completion.probe import completion_probe
from hushrank.estimators.completion.queries import Recommender
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX
from hushrank.privacy.adaptive import UserReleases
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Budget, Neighbors, Unit
from hushrank.privacy.planning import Plan, Step
from hushrank.privacy.probes import NoiseProbe

_MOST_FEATURES = 16  # columns for offsets and slopes; the methods have 3 or none
_MOST_NOISE = 1e6  # with more, small shares of the budget leave no lattice unit to a user


@dataclass(frozen=True, slots=True)
class CompletionPlan:
    """The whole budget of a fit as one release, of which a filter hands out shares."""

    event: Gaussian
    neighbors: Neighbors

    def steps(self) -> tuple[Step, ...]:
        """One step: what its shares are spent on depends on released values."""
        scales = {"noise multiplier of the whole": self.event.noise_multiplier}
        return (Step("sums over users, one after another", "Gaussian noise, adaptive shares", self.event, scales),)


class PrivateCompletion(Recommender, PrivateEstimator):
    """A recommender learned from private ratings.

    What is published, item means and item factors, is differentially private for every user: it hardly changes if all
    ratings of one user are replaced. A user's own factor never leaves the user: `predict` and `recommend` take the own
    ratings and compute it on the spot (joint differential privacy).

    Parameters
    ----------
    rank : int
        Largest number of factors, at most the number of items. Where the data support fewer, the others are zero.
    epsilon, delta : float
        Privacy budget of one user, both above 0.
    rating_range : pair (lowest, highest)
        Public range of the ratings; others are clipped to it. Not needed for implicit feedback.
    items : int or sequence of ids
        The public catalogue: a count, for ids 0, 1, ..., or different ids (int or str). Required for tables, because
        which items exist must not be read off the data; a matrix has its columns.
    method : "spectral", "als", "factored_gradient" or options, default "spectral"
        "spectral" is the most accurate. Options are `Spectral(...)`, `AlternatingLeastSquares(...)` or
        `FactoredGradient(...)` from `hushrank.estimators.completion.methods`.
    offsets : bool, default True
        Whether ratings have item means and users an offset and slopes; False learns a matrix of low rank alone.
    feedback : "explicit" or "implicit", default "explicit"
        "implicit" takes every listed pair as 1 and everything else as weak evidence of 0; without offsets.
    unobserved_weight : float, default 1.0
        Implicit feedback only: weight of all items beside those of the user.
    n_users : int or None, default None
        Public number of users under "replace"; None takes the number of distinct ids in a table or of rows of a matrix.
    neighbors : "replace" or "add_remove", default "replace"
        Data sets are neighbors if one user's ratings are replaced by any others, or if one user is added or removed. In
        the second case the number of users is secret, and 2 % of the budget buy a noisy one.
    n_max : int, default 2**26
        Public bound on the number of users.
    ledger, random_state, engine, verbose
        As in `PrivatePCA`.

    Attributes
    ----------
    item_factors_ : ndarray of shape (n_items, rank)
        In units where ratings lie in [-1, 1].
    item_features_ : ndarray of shape (n_items, n_features)
        Columns for the users' offsets and slopes; none without offsets.
    item_means_ : ndarray of shape (n_items,)
        Predictions for a user without ratings; for implicit feedback, popularity.
    item_counts_ : ndarray of shape (n_items,)
        Noisy weighted numbers of ratings; ones where the method needs none.
    n_factors_ : int
        Factors that are not zero.
    ridge_ : float
        Ridge of the users' own regressions.
    items_ : ndarray of shape (n_items,)
        Ids of the catalogue.
    privacy_ : Guarantee
        What this fit promises; print it.

    Examples
    --------
    >>> from hushrank.evaluation.synthetic import synthetic_ratings
    >>> ratings = synthetic_ratings(2000, 100, seed=1)
    >>> model = PrivateCompletion(4, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=100).fit(ratings.table())
    >>> top = model.recommend({7: 5.0, 12: 1.0}, n=3)
    >>> len(top.items), bool((np.diff(top.scores) <= 0).all()), 7 in top.items
    (3, True, False)
    >>> model.privacy_.unit, model.privacy_.epsilon <= 5.0
    (<Unit.USER: 'user'>, True)
    """

    _unit: ClassVar[Unit] = Unit.USER
    _is_adaptive: ClassVar[bool] = True
    _learns: ClassVar[Mapping[str, Attribute]] = {
        "item_factors_": Attribute(float, (COLUMNS, "rank")),
        "item_features_": Attribute(float, (COLUMNS, range(_MOST_FEATURES + 1))),
        "item_means_": Attribute(float, (COLUMNS,)),
        "item_counts_": Attribute(float, (COLUMNS,), above=0),
        "n_factors_": Attribute(int, minimum=0),
        "ridge_": Attribute(float, minimum=0),
        "items_": Attribute(int | str, (COLUMNS,)),
    }
    _params: ClassVar[Mapping[str, Param]] = {
        "rank": Param(int, minimum=1),
        "rating_range": Param(np.ndarray, optional=True),
        "items": CatalogueParam(),
        "method": MethodParam(words=tuple(METHODS)),
        "offsets": Param(bool),
        "feedback": Param(words=("explicit", "implicit")),
        "unobserved_weight": Param(float, above=1e-9, below=1e9),
        "n_users": Param(int, minimum=1, maximum=1 << 40, optional=True),
        "n_max": Param(int, minimum=1, maximum=1 << 40),
    }

    def __init__(
        self,
        rank: int,
        *,
        epsilon: float,
        delta: float,
        rating_range: tuple[float, float] | None = None,
        items: Any = None,
        method: Any = "spectral",
        offsets: bool = True,
        feedback: str = "explicit",
        unobserved_weight: float = 1.0,
        n_users: int | None = None,
        neighbors: str = "replace",
        n_max: int = DEFAULT_N_MAX,
        ledger: Any = None,
        random_state: int | None = None,
        engine: Any = None,
        verbose: int = 0,
    ) -> None:
        self.rank = rank
        self.epsilon = epsilon
        self.delta = delta
        self.rating_range = rating_range
        self.items = items
        self.method = method
        self.offsets = offsets
        self.feedback = feedback
        self.unobserved_weight = unobserved_weight
        self.n_users = n_users
        self.neighbors = neighbors
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from private ratings and release the model.

        Parameters
        ----------
        X : table, path, sparse matrix or array
            A pandas, polars, pyarrow or other eager table with the columns user, item and rating (implicit feedback:
            user and item); the path of a CSV or Parquet file or of a folder of Parquet files with these columns; a
            SciPy sparse matrix of users and items whose stored entries are the ratings; or an array with NaN for no
            rating. Ratings that are not finite or of unknown items are ignored, others are clipped to the range,
            several of one item count as their mean; how many goes to the log "hushrank", for the data holder only.
        y : ignored

        Returns
        -------
        self
        """
        return super().fit(X)

    def plan(self, shape: tuple[int, int]) -> Plan:
        """Event, guarantee and error forecast of a fit, from parameters and public shape alone.

        Parameters
        ----------
        shape : (n_users, n_items)
            The number of users serves the forecast only: under "add_remove" give a public guess.
        """
        return super().plan(shape)

    def _read(self, X: Any) -> Rows:
        return read_ratings(
            X,
            owner=type(self).__name__,
            items=self.items,
            rating_range=self.rating_range,
            n_users=self.n_users,
            is_implicit=self._is_implicit,
        )

    def _check_parameters(self) -> Budget:
        budget, owner = super()._check_parameters(), type(self).__name__
        if budget.is_pure:
            requirement = "> 0, because its sums over users have Gaussian noise (0 would need far more of it)"
            raise InvalidParameter(owner, "delta", requirement, self.delta)
        if self.n_users is not None and budget.neighbors is Neighbors.ADD_REMOVE:
            requirement = "None under add_remove, where the number of users is secret and a noisy one is released"
            raise InvalidParameter(owner, "n_users", requirement, self.n_users)
        if not self._is_implicit:
            check_rating_range(self.rating_range, owner)
        elif not to_options(self.method).supports_implicit:
            requirement = "'spectral' or 'als' for implicit feedback"
            raise InvalidParameter(owner, "method", requirement, self.method)
        return budget

    def _plan(self, budget: Budget, n_features: int) -> CompletionPlan:
        if self.rank > n_features:
            requirement = f"at most the number of items, {n_features}"
            raise InvalidParameter(type(self).__name__, "rank", requirement, self.rank)
        to_options(self.method).check_size(n_features, self.rank)
        event = calibrate(budget)
        if event.noise_multiplier > _MOST_NOISE:
            requirement = f"so large that the noise multiplier is at most {_MOST_NOISE:g}"
            raise InvalidParameter(type(self).__name__, "epsilon", requirement, self.epsilon)
        return CompletionPlan(event, budget.neighbors)

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        n_items, items = learned[COLUMNS], learned[COLUMNS] if self.items is None else self.items
        if isinstance(items, int) and items != n_items:  # before so many ids are made
            raise ValueError(f"items is {items} and there are {n_items} of them")
        if not np.array_equal(to_array(_to_catalogue(items).ids), learned["items_"]):
            raise ValueError("items_ are not the ids of the catalogue")
        if learned["n_factors_"] != int(np.any(learned["item_factors_"] != 0.0, axis=0).sum()):
            raise ValueError("n_factors_ is not the number of factors")

    def _check_rows(self, rows: Rows, releases: CompletionPlan) -> None:
        """Refuse rows that are no ratings, and ratings that were read with another catalogue or range."""
        owner = type(self).__name__
        if not hasattr(type(rows), "n_users"):
            raise InvalidParameter(owner, "X", "ratings: a table, a matrix or the path of a file", type(rows).__name__)
        if self.items is not None:
            catalogue = _to_catalogue(self.items)
            if len(catalogue) != rows.n_features or getattr(rows, "catalogue", None) not in (None, catalogue):
                raise InvalidParameter(owner, "items", f"the {rows.n_features} ids of the ratings", repr(catalogue))
        limits = None if self._is_implicit else check_rating_range(self.rating_range, owner)
        if isinstance(rows, Ratings) and rows.rating_range != limits:
            raise InvalidParameter(owner, "rating_range", f"{rows.rating_range}, as that of the ratings", limits)

    def _forecast(self, releases: CompletionPlan, n_samples: int, n_features: int) -> dict[str, float]:
        half_range = 1.0 if self._is_implicit else (self.rating_range[1] - self.rating_range[0]) / 2
        has_offsets = self.offsets and not self._is_implicit
        return forecast_completion(releases.event, n_samples, n_features, half_range, has_offsets=has_offsets)

    def _noise_probe(self, plan: CompletionPlan, n_features: int) -> NoiseProbe | None:
        terms = (to_options(self.method), plan.event, plan.neighbors, n_features, self._to_ratings)
        return completion_probe(*terms, has_counts=self.offsets or self._is_implicit, n_users=self.n_users)

    def _fit(self, rows: Any, plan: CompletionPlan, noise: Any, total: Any) -> dict[str, Any]:
        n_users = None
        if plan.neighbors is Neighbors.REPLACE:
            n_users = rows.n_users if self.n_users is None else int(self.n_users)
        releases = UserReleases(plan.event, plan.neighbors, self.n_max, noise, total, rows.n_features, n_users)
        weight = self.unobserved_weight if self._is_implicit else None
        model = learn_model(to_options(self.method), releases, self.rank, offsets=self.offsets, unobserved=weight)
        factors = np.zeros((rows.n_features, self.rank))
        factors[:, : model.factors.shape[1]] = model.factors
        catalogue = _to_catalogue(rows.n_features if self.items is None else self.items)
        return {
            "item_factors_": factors,
            "item_features_": model.features,
            "item_means_": self._to_ratings(model.base, clip=False),
            "item_counts_": model.counts,
            "n_factors_": int(np.any(factors != 0.0, axis=0).sum()),
            "ridge_": float(model.ridge),
            "items_": to_array(catalogue.ids),
        }


def _to_catalogue(items: Any) -> Catalogue:
    return items if isinstance(items, Catalogue) else Catalogue(items)
