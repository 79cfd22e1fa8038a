"""Private recommenders: matrix completion under user-level joint differential privacy.

Statistic  sums over users of bounded contributions to item parameters, chosen by `method`.
Release    item parameters only. A user's own factor is computed from them and the user's own ratings, by the user.
Post       predictions, recommendations and similar items.
Privacy    docs/privacy/completion.md, Theorem 1 (adaptive releases) and Theorem 2 (joint privacy).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute
from hushrank.base import Sizes
from hushrank.data.findings import Check, Look
from hushrank.data.id_arrays import to_array
from hushrank.data.ratings.checking import look_at_ratings
from hushrank.data.ratings.feature_texts import MOST_COLUMNS
from hushrank.data.ratings.rating_range import check_rating_range
from hushrank.data.ratings.reading import Ratings, read_ratings
from hushrank.data.source import Source
from hushrank.estimator import PrivateEstimator
from hushrank.estimators.completion.known_items import check_features, describe_features, map_features, restore_features
from hushrank.estimators.completion.methods import learn_model
from hushrank.estimators.completion.options import to_options
from hushrank.estimators.completion.parameters import MOST_IDS, build_catalogue, find_new_items
from hushrank.estimators.completion.plan import CompletionPlanner
from hushrank.estimators.completion.probe import completion_probe
from hushrank.estimators.completion.public_facts import PublicFacts
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.queries import Recommender
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.user_budget import SharedBudget
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.probes import NoiseProbe

_MOST_FEATURES = 64  # columns for offsets and slopes; the methods have 3 of their own, and up to 33 for features


class PrivateCompletion(Recommender, PublicFacts, CompletionPlanner, PrivateEstimator):
    """A recommender learned from private ratings.

    What is published, item means and item factors, is differentially private for every user: it hardly changes if all
    ratings of one user are replaced. A user's own factor never leaves the user: `predict` and `recommend` take the
    user's ratings and compute it on the spot (joint differential privacy).

    Parameters
    ----------
    rank : int
        Largest number of factors, at most the number of items. Where the data support fewer, the others are zero.
    epsilon, delta : float
        Privacy budget of one user, both above 0; `delta` far below one over the number of users.
    rating_range : pair (lowest, highest)
        Public range of the ratings; others are clipped to it. Not needed for implicit feedback.
    items : int or sequence of ids
        The public catalogue: a count, for ids 0, 1, ..., or different ids (int or str). Required for tables, because
        which items exist must not be read off the data; a matrix has its columns.
    item_features : array, sparse matrix, table or None, default None
        Public facts about the items, such as categories, a year or an embedding of a text; they cost no budget. An
        array or matrix has a row for each item of the catalogue, a table a column item with ids. Texts are categories,
        or words joined by "|". They must be public: features computed from the ratings themselves void the guarantee.
    new_items : sequence of ids or None, default None
        Items of the catalogue that nobody can have rated yet, a public list: they are predicted by their features, and
        not as if nobody wanted them. See also `add_items`.
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
    feature_columns_, feature_values_, feature_typical_ : ndarrays of shape (n,), (n_items, n) and (n,)
        Public features: what each of n columns stands for, the columns, and what an item without features has.
    feature_map_ : ndarray of shape (1 + n, 1 + n_features + rank)
        Mean, columns and factors, in units where ratings lie in [-1, 1], of an item that nobody has rated: the first
        row for typical features, the others for what features add. Nothing where `offsets` is False.
    item_counts_ : ndarray of shape (n_items,)
        Noisy weighted numbers of ratings; ones where the method needs none.
    n_factors_ : int
        Factors that are not zero.
    strength_ : ndarray of shape (rank,), or (0,)
        How far each factor stands above the noise: 1 is what noise alone exceeds in 5 % of the fits, 0 a factor that
        was not kept. Methods other than "spectral" have one number for all of their factors; empty where nothing tells,
        for those methods without offsets.
    n_significant_ : int
        Factors with a strength above 1. Not where `strength_` is empty, nor for models of an older version.
    mean_deviation_ : ndarray of shape (n_items,)
        How far noise may have moved an item mean: about one deviation. Zeros without offsets and for implicit feedback.
    count_deviation_ : float
        Standard deviation of the noise of `item_counts_`; 0 where there are none. All four are computed from the
        release alone.
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

    _learns: ClassVar[Mapping[str, Attribute]] = {
        "item_factors_": Attribute(float, (COLUMNS, "rank")),
        "item_features_": Attribute(float, (COLUMNS, range(_MOST_FEATURES + 1))),
        "item_means_": Attribute(float, (COLUMNS,)),
        "item_counts_": Attribute(float, (COLUMNS,), above=0),
        "n_factors_": Attribute(int, minimum=0),
        "ridge_": Attribute(float, minimum=0),
        "items_": Attribute(int | str, (COLUMNS,)),
        "feature_columns_": Attribute(str, (range(MOST_COLUMNS + 1),), later=True),
        "feature_values_": Attribute(float, (COLUMNS, range(MOST_COLUMNS + 1)), later=True),
        "feature_typical_": Attribute(float, (range(MOST_COLUMNS + 1),), later=True),
        "feature_map_": Attribute(float, (range(MOST_COLUMNS + 2), range(_MOST_FEATURES + 2 + MOST_IDS)), later=True),
        "strength_": Attribute(float, (range(MOST_IDS + 1),), minimum=0, later=True),
        "mean_deviation_": Attribute(float, (COLUMNS,), minimum=0, later=True),
        "count_deviation_": Attribute(float, minimum=0, later=True),
    }
    _repeated: ClassVar[Mapping[str, str]] = {"items": "items_"}

    def __init__(
        self,
        rank: int,
        *,
        epsilon: float,
        delta: float,
        rating_range: tuple[float, float] | None = None,
        items: Any = None,
        item_features: Any = None,
        new_items: Any = None,
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
        self.item_features = item_features
        self.new_items = new_items
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

    def fit(self, X: Any, y: Any = None, *, columns: Mapping[str, str] | None = None) -> Self:
        """Learn from private ratings and release the model.

        Parameters
        ----------
        X : table, path, sparse matrix or array
            A pandas, polars, pyarrow or other eager table with the columns user, item and rating (implicit feedback:
            user and item); the path of a CSV, TSV (also .gz, .zst) or Parquet file, or of a folder of them; a
            SciPy sparse matrix of users and items whose stored entries are the ratings; or an array with NaN for no
            rating. Ratings that are not finite or of unknown items are ignored, others are clipped to the range,
            several of one item count as their mean; the log "hushrank", for the data holder only, has how many.
        y : ignored
        columns : dict, optional
            What the columns of a table or file are called where they have other names, such as
            ``{"user": "userId", "item": "movieId"}``. Other columns are ignored.

        Returns
        -------
        self
        """
        return self._fit_data(X, columns)

    def check(self, X: Any, y: Any = None, *, columns: Mapping[str, str] | None = None) -> Check:
        """Try `fit` on these ratings and spend nothing; see `PrivateEstimator.check`. NOT PRIVATE."""
        return self._check_data(X, columns)

    def _read(self, *data: Any) -> Source:
        (X, columns), owner = (*data, None)[:2], type(self).__name__
        ratings = read_ratings(
            X,
            owner=owner,
            items=None if self.items is None else build_catalogue(self.items, owner),
            rating_range=self.rating_range,
            n_users=self.n_users,
            is_implicit=self._is_implicit,
            columns=columns,
        )
        if isinstance(X, Source):  # it was read before, perhaps with another catalogue or range
            self._check_read(ratings)
        return ratings

    @classmethod
    def _told_parameters(cls, learned: Mapping[str, Any]) -> dict[str, Any]:
        return {"item_features": restore_features(learned)}

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        n_items, items = learned[COLUMNS], learned[COLUMNS] if self.items is None else self.items
        if isinstance(items, int) and items != n_items:  # before so many ids are made
            raise ValueError(f"items is {items} and there are {n_items} of them")
        if not np.array_equal(to_array(build_catalogue(items, type(self).__name__).ids), learned["items_"]):
            raise ValueError("items_ are not the ids of the catalogue")
        find_new_items(self.new_items, build_catalogue(items, type(self).__name__), type(self).__name__)
        check_features(learned, learned["item_features_"].shape[1] + self.rank)
        if learned["n_factors_"] != int(np.any(learned["item_factors_"] != 0.0, axis=0).sum()):
            raise ValueError("n_factors_ is not the number of factors")
        if len(learned.get("strength_", ())) not in (0, self.rank):
            raise ValueError("strength_ is not that of all factors")

    def _check_read(self, source: Any) -> None:
        """Refuse ratings that were read with another catalogue or range."""
        owner = type(self).__name__
        if self.items is not None:
            catalogue = build_catalogue(self.items, owner)
            if len(catalogue) != source.n_items or getattr(source, "catalogue", None) not in (None, catalogue):
                raise InvalidParameter(owner, "items", f"the {source.n_items} ids of the ratings", repr(catalogue))
        limits = None if self._is_implicit else check_rating_range(self.rating_range, owner)
        if isinstance(source, Ratings) and source.rating_range != limits:
            raise InvalidParameter(owner, "rating_range", f"{source.rating_range}, as that of the ratings", limits)

    def _look(self, source: Any, releases: SharedBudget) -> Look:
        return look_at_ratings(source, None if self.n_users is None else int(self.n_users))

    def _noise_probe(self, releases: SharedBudget, sizes: Sizes) -> NoiseProbe | None:
        if self.new_items is not None:  # whose counts show nothing
            return None
        terms = (to_options(self.method), releases.event, releases.neighbors, sizes["n_items"], self._to_ratings)
        return completion_probe(*terms, has_counts=self.offsets or self._is_implicit, n_users=self.n_users)

    def _fit(self, source: Any, releases: SharedBudget, noise: Any, total: Any) -> dict[str, Any]:
        n_users, n_items = None, source.n_items
        if releases.neighbors is Neighbors.REPLACE:
            n_users = source.n_users if self.n_users is None else int(self.n_users)
        catalogue = self._catalogue_of(source)
        features, is_new = self._take_public(catalogue)
        items = PublicItems.of(None if features is None else features.values, n_items, is_new)
        spending = RatingReleases(
            releases.event, releases.neighbors, self.n_max, noise, total, n_people=n_users, n_items=n_items, items=items
        )
        weight = self.unobserved_weight if self._is_implicit else None
        model = learn_model(to_options(self.method), spending, self.rank, offsets=self.offsets, unobserved=weight)
        factors = np.zeros((n_items, self.rank))
        factors[:, : model.factors.shape[1]] = model.factors
        ids = to_array(catalogue.ids)
        self._made_catalogue = (ids, catalogue)  # for queries, as long as these are the items of the model
        return {
            "item_factors_": factors,
            "item_features_": model.features,
            "item_means_": self._to_ratings(model.base, clip=False),
            "item_counts_": model.counts,
            "n_factors_": int(np.any(factors != 0.0, axis=0).sum()),
            "ridge_": float(model.ridge),
            "items_": ids,
            **describe_features(features, n_items),
            "feature_map_": map_features(model, items, self.rank),
            "strength_": model.marks.strengths(factors),
            "mean_deviation_": model.marks.mean_deviations(n_items, self._half_range),
            "count_deviation_": float(model.marks.count_deviation),
        }
