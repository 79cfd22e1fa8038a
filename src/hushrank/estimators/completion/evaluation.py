"""How good a released recommender is, as a private release of its own: errors and recall on held-out ratings.

Statistic  sums over users of squared errors, recalls and counts, all bounded by public numbers.
Release    one vector, with Gaussian or Laplace noise; its quotients are what people read.
Privacy    docs/privacy/evaluation.md
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from hushrank.archive.attributes import Attribute
from hushrank.base import Sizes
from hushrank.data.findings import Check, Look
from hushrank.data.ratings.checking import look_at_ratings
from hushrank.data.ratings.leave_out import LeaveOut
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.source import Source
from hushrank.estimator import PrivateEstimator
from hushrank.estimators.completion.evaluation_plan import BASELINE, MODEL, EvaluationPlanner, EvaluationRelease
from hushrank.estimators.completion.held_out_ratings import (
    HeldOutRatings,
    check_recommender,
    make_recommender_contest,
    rating_width,
    read_for,
)
from hushrank.estimators.completion.held_out_sums import (
    constant_scorer,
    make_contest,
    sum_numbers,
)
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.noisy_ratios import NoisyRatio, noisy_ratio
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.vector import GaussianLattice, release_vector
from hushrank.privacy.probes import NoiseProbe, laplace_level, normal_level

NAMES = {MODEL: "the model", BASELINE: "its item means and popularity"}


class PaidScore(NamedTuple):
    """What was released about one of those who are compared.

    Attributes
    ----------
    name : str
    rmse : NoisyRatio or None
        Root mean squared error in the units of the ratings, with its interval; None for implicit feedback.
    recall : NoisyRatio
    """

    name: str
    rmse: NoisyRatio | None
    recall: NoisyRatio


class PrivateEvaluation(EvaluationPlanner, PrivateEstimator):
    """Errors and recall of a recommender on held-out ratings, published with privacy for every user.

    The recommender must be public already, as a fitted `PrivateCompletion` with its own guarantee is. What is measured
    here is a further release about the same users: the two budgets add up (`hushrank.evaluate` says to what).

    Parameters
    ----------
    epsilon, delta : float
        Privacy budget of one user for these numbers alone; delta = 0 asks for a pure guarantee.
    k : int, default 10
        Length of the lists that recall is about.
    held_out : float, default 0.2
        Share of every user's ratings that is held out: at least one of a user with two or more ratings.
    most_held_out : int, default 5
        Ratings of one user that are held out at most.
    split_seed : int, default 0
        Public. Which ratings are held out depends on it and on the user's own ratings.
    baselines : bool, default True
        Measure also what the release alone predicts, without a user's own ratings: released item means, and a list by
        released popularity. Without, the noise is smaller by a third.
    feedback : "explicit" or "implicit", default "explicit"
        As that of the recommender.
    n_users, neighbors, n_max
        As in `PrivateCompletion`.
    ledger, random_state, engine, verbose
        As in `PrivatePCA`.

    Attributes
    ----------
    released_ : ndarray
        Noisy sums over users: squared errors in squared widths of the range, number of ratings, recalls, number of
        users with anything to find. Everything else is computed from them.
    rating_width_ : float
        Highest less lowest rating, which is public; 1 for implicit feedback.
    privacy_ : Guarantee
        What this release promises, beside that of the recommender.

    Examples
    --------
    >>> from hushrank.estimators.completion.estimator import PrivateCompletion
    >>> from hushrank.evaluation.synthetic import synthetic_ratings
    >>> ratings = synthetic_ratings(2000, 60, seed=1).table()
    >>> model = PrivateCompletion(4, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=60).fit(ratings)
    >>> paid = PrivateEvaluation(epsilon=2.0, delta=1e-6).fit(ratings, model)
    >>> [score.name for score in paid.scores()]
    ['the model', 'its item means and popularity']
    >>> error = paid.scores()[0].rmse
    >>> bool(error.low < error.value < error.high), error.is_noise
    (True, False)
    """

    _learns: ClassVar[Mapping[str, Attribute]] = {
        "released_": Attribute(float, (range(2, 7),)),
        "rating_width_": Attribute(float, above=0),
    }

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float = 0.0,
        k: int = 10,
        held_out: float = 0.2,
        most_held_out: int = 5,
        split_seed: int = 0,
        baselines: bool = True,
        feedback: str = "explicit",
        n_users: int | None = None,
        neighbors: str = "replace",
        n_max: int = DEFAULT_N_MAX,
        ledger: Any = None,
        random_state: int | None = None,
        engine: Any = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.k = k
        self.held_out = held_out
        self.most_held_out = most_held_out
        self.split_seed = split_seed
        self.baselines = baselines
        self.feedback = feedback
        self.n_users = n_users
        self.neighbors = neighbors
        self.n_max = n_max
        self.ledger = ledger
        self.random_state = random_state
        self.engine = engine
        self.verbose = verbose

    def fit(self, X: Any, model: Any = None) -> Self:
        """Measure a public recommender on private ratings and release the result.

        Parameters
        ----------
        X : ratings
            In any form that the `fit` of the recommender takes; of the same items.
        model : fitted PrivateCompletion
            Its guarantee stands beside that of this release.

        Returns
        -------
        self
        """
        return self._fit_data(X, model)

    def check(self, X: Any, model: Any = None) -> Check:
        """Try `fit` on these ratings without spending anything, as the checks of all estimators do. NOT PRIVATE."""
        return self._check_data(X, model)

    def scores(self) -> list[PaidScore]:
        """The quotients of the released sums, with intervals that hold what they are without noise in 95 % of cases."""
        learned = self._learned()
        releases = self._plan(self._check_parameters(), {})
        is_gaussian = isinstance(releases.lattice, GaussianLattice)
        sums = dict(zip(releases.names, zip(learned["released_"], releases.scales, strict=True), strict=True))

        def ratio(top: str, bottom: str) -> NoisyRatio:
            (value, scale), (count, count_scale) = sums[top], sums[bottom]
            return noisy_ratio(value, count, scale, count_scale, is_gaussian=is_gaussian)

        scores = []
        for name in self._compared:
            rmse = None
            if self.feedback == "explicit":
                squares, width = ratio(f"squared errors, {name}", "held-out ratings"), learned["rating_width_"]
                rmse = NoisyRatio(*(width * math.sqrt(one) for one in (squares.value, squares.low, squares.high)))
            recall = ratio(f"recall, {name}", "users with anything to find")
            scores.append(PaidScore(NAMES[name], rmse, recall))
        return scores

    @property
    def _rule(self) -> LeaveOut:
        return LeaveOut(float(self.held_out), int(self.most_held_out), int(self.split_seed))

    def _read(self, *data: Any) -> Source:
        owner = type(self).__name__
        X, *others = data
        if isinstance(X, HeldOutRatings):
            return X
        recommender: Any = others[0] if others else None
        check_recommender(recommender, owner)
        if recommender.feedback != self.feedback:
            requirement = f"{recommender.feedback!r}, as that of the model"
            raise InvalidParameter(owner, "feedback", requirement, self.feedback)
        ratings = read_for(recommender, X, self.n_users, owner)
        contest = make_recommender_contest(recommender, self._rule, self.k, baselines=self.baselines)
        return HeldOutRatings(ratings, contest, rating_width(recommender))

    def _look(self, source: Any, releases: EvaluationRelease) -> Look:
        return look_at_ratings(source.ratings, None if self.n_users is None else int(self.n_users))

    def _fit(self, source: Any, releases: EvaluationRelease, noise: Any, total: Any) -> dict[str, Any]:
        released = release_vector(total(sum_numbers, (source.contest, releases)), releases.lattice, noise)
        if releases.lattice.neighbors == Neighbors.REPLACE:
            released += releases.center * (source.n_users if self.n_users is None else int(self.n_users))
        return {"released_": released / releases.rates, "rating_width_": float(source.rating_width)}

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        n_sums = len(self._plan(self._check_parameters(), {}).names)
        if len(learned["released_"]) != n_sums:
            raise ValueError(f"released_ has {len(learned['released_'])} sums instead of {n_sums}")

    def _noise_probe(self, releases: EvaluationRelease, sizes: Sizes) -> NoiseProbe | None:
        if self.n_users is not None:  # of so many people the data would have to be
            return None
        nobody = np.full((1, 2), np.nan)
        ratings = read_ratings(nobody, owner=type(self).__name__, rating_range=(0, 1))
        nothing = CompletionModel(np.zeros(2), np.empty((2, 0)), np.empty((2, 0)), 1.0, np.ones(2))
        others = (constant_scorer(nothing.base, nothing.base),) if self.baselines else ()
        contest = make_contest(nothing, self._rule, self.k, has_errors=self.feedback == "explicit", others=others)
        level = normal_level if isinstance(releases.lattice, GaussianLattice) else laplace_level

        def levels(model: Any) -> dict[str, float]:
            return {"sums": level(model.released_ * releases.rates, releases.lattice.scale)}

        return NoiseProbe(HeldOutRatings(ratings, contest, 1.0), levels)
