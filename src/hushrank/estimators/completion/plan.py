"""Parameters of `PrivateCompletion` and its plan: one Gaussian release as the cap of all, of which shares are spent.

The estimator and the command line both use this; nothing here needs numba or scikit-learn.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from hushrank.archive.attributes import COLUMNS
from hushrank.base import Param, PrivateRelease, Sizes
from hushrank.data.ratings.rating_range import check_rating_range
from hushrank.estimators.cluster_times import ClusterWork
from hushrank.estimators.completion.choice_forecast import expect_choice_factors, forecast_choices
from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.forecast import (
    expect_matrix_factors,
    expect_ratings,
    forecast_matrix,
    forecast_ratings,
)
from hushrank.estimators.completion.guesses import (
    GUESSES,
    IMPLICIT_GUESSES,
    MATRIX_GUESSES,
    SHARES,
    default_guesses,
)
from hushrank.estimators.completion.options import METHODS, Spectral, to_options
from hushrank.estimators.completion.parameters import (
    CatalogueParam,
    CompletionMethodParam,
    FeaturesParam,
    NewItemsParam,
    build_catalogue,
)
from hushrank.estimators.completion.resources import RatingWork, cluster_work, fit_resources
from hushrank.estimators.user_budget import USER_PARAMS, SharedBudget, check_user_count, plan_shared_budget
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Budget, Unit
from hushrank.privacy.guesses import Guess


class CompletionPlanner(PrivateRelease):
    """Parameters and plan of `PrivateCompletion`."""

    _unit: ClassVar[Unit] = Unit.USER
    _is_adaptive: ClassVar[bool] = True
    _sizes: ClassVar[Mapping[str, Param]] = {
        "n_users": Param(int, minimum=1, option="users", help="Number of users, or a public guess of it."),
        "n_items": Param(int, minimum=1, option=None),  # the catalogue tells it
    }
    _schema: ClassVar[Mapping[str, str]] = {COLUMNS: "n_items"}
    _guesses: ClassVar[Mapping[str, Guess]] = GUESSES
    _counted: ClassVar[str] = "factors"
    _params: ClassVar[Mapping[str, Param]] = {
        "rank": Param(int, minimum=1, help="Largest number of factors; fewer where data support fewer."),
        "rating_range": Param(
            np.ndarray,
            optional=True,
            default=None,
            help="Public range of the ratings; others are clipped. Required unless feedback is implicit.",
            metavars=("LOW", "HIGH"),
        ),
        "items": CatalogueParam(
            default=None,
            help="Public catalogue: a count, for ids 0, 1, ..., or a CSV or Parquet file with the ids in the column "
            "item (or in its only column).",
        ),
        "item_features": FeaturesParam(
            later=True,
            default=None,
            help="Public facts about the items, free of budget: a CSV or Parquet file with the column item and columns "
            "of numbers, categories or words joined by |. Never compute them from the ratings.",
        ),
        "new_items": NewItemsParam(
            later=True,
            default=None,
            help="Items that nobody can have rated yet, predicted by --item-features: a CSV or Parquet file with their "
            "ids in the column item.",
        ),
        "method": CompletionMethodParam(
            words=tuple(METHODS), default="spectral", help="spectral is the most accurate."
        ),
        "offsets": Param(bool, default=True, help="Item means and user offsets, or a matrix of low rank alone."),
        "feedback": Param(
            words=("explicit", "implicit"),
            default="explicit",
            help="implicit: every listed pair counts as 1, and there are no ratings.",
        ),
        "unobserved_weight": Param(
            float,
            above=1e-9,
            below=1e9,
            default=1.0,
            help="With implicit feedback: weight of all items beside those of the user.",
        ),
        **USER_PARAMS,
        "delta": Param(float, minimum=0, below=1, help="Far below 1 / number of users, > 0."),
    }

    rank: int
    epsilon: float
    delta: float
    rating_range: Any
    items: Any
    item_features: Any
    new_items: Any
    method: Any
    offsets: bool
    feedback: str
    unobserved_weight: float
    n_users: int | None
    n_max: int

    @property
    def _is_implicit(self) -> bool:
        return self.feedback == "implicit"

    def _known_sizes(self) -> dict[str, int]:
        known = {} if self.n_users is None else {"n_users": int(self.n_users)}
        if isinstance(self.items, int | np.integer):
            known["n_items"] = int(self.items)
        elif self.items is not None:
            known["n_items"] = len(build_catalogue(self.items, type(self).__name__))
        return known

    def _check_parameters(self) -> Budget:
        budget, owner = super()._check_parameters(), type(self).__name__
        if budget.is_pure:
            requirement = "> 0, because its sums over users have Gaussian noise (0 would need far more of it)"
            raise InvalidParameter(owner, "delta", requirement, self.delta)
        check_user_count(self.n_users, budget.neighbors, owner)
        if not (self.offsets or self._is_implicit):
            for name in ("item_features", "new_items"):  # a matrix of low rank alone has no place for them
                if getattr(self, name) is not None:
                    requirement = "None without offsets, unless feedback is implicit"
                    raise InvalidParameter(owner, name, requirement, type(getattr(self, name)).__name__)
        if not self._is_implicit:
            check_rating_range(self.rating_range, owner)
        elif not to_options(self.method).supports_implicit:
            requirement = "'spectral' or 'als' for implicit feedback"
            raise InvalidParameter(owner, "method", requirement, self.method)
        return budget

    def _plan(self, budget: Budget, sizes: Sizes) -> SharedBudget:
        n_items = sizes["n_items"]
        if self.rank > n_items:
            requirement = f"at most the number of items, {n_items}"
            raise InvalidParameter(type(self).__name__, "rank", requirement, self.rank)
        to_options(self.method).check_size(n_items, self.rank)
        return plan_shared_budget(budget, type(self).__name__)

    def _notes(self, releases: SharedBudget, sizes: Sizes) -> Iterator[str]:
        """What the forecast leaves out: it was calibrated with the default method and without features."""
        if not isinstance(to_options(self.method), Spectral):
            yield "the forecast is that of method 'spectral': others have none of their own"
        if self.item_features is not None:
            yield "the forecast is without item features; those that tell about tastes lower the error"

    def _resources(self, releases: SharedBudget, sizes: Sizes) -> dict[str, float]:
        n_ratings = sizes.get("n_ratings")  # in plans it is not public
        return {} if n_ratings is None else fit_resources(self._work(releases, sizes, n_ratings))

    def _cluster_work(self, releases: SharedBudget, sizes: Sizes, **guesses: float) -> ClusterWork | None:
        """With as many ratings as users are guessed to have."""
        each = (self._default_guesses(sizes) | guesses)["ratings_per_user"]
        return cluster_work(self._work(releases, sizes, math.ceil(each * sizes["n_users"])))

    def _work(self, releases: SharedBudget, sizes: Sizes, n_ratings: int) -> RatingWork:
        mu, options = 1.0 / releases.event.noise_multiplier, to_options(self.method)
        counts = (sizes["n_users"], sizes["n_items"], n_ratings, int(self.rank), self._n_public_columns())
        return RatingWork(*counts, mu, options, bool(self.offsets), self._is_implicit)

    def _n_public_columns(self) -> int:
        """Columns of public features, which an estimator has counted: here as many as users may have slopes on."""
        return 0 if self.item_features is None else FEATURES.most_slopes

    @property
    def _guessed(self) -> Mapping[str, Guess]:
        """The guesses that forecasts of this kind of data use."""
        return IMPLICIT_GUESSES if self._is_implicit else GUESSES if self.offsets else MATRIX_GUESSES

    def _default_guesses(self, sizes: Sizes) -> dict[str, float]:
        return default_guesses(sizes["n_items"], self._guessed)

    def _check_guesses(self, sizes: Sizes, guesses: Mapping[str, Any] | None) -> dict[str, float]:
        stated = super()._check_guesses(sizes, guesses)
        values = {**self._default_guesses(sizes), **stated}
        if self._guessed is GUESSES and sum(values[name] for name in SHARES) >= 1.0:
            requirement = f"such that {', '.join(SHARES)} are below 1 together: nobody rates without noise"
            raise InvalidParameter(type(self).__name__, "guesses", requirement, dict(stated))
        return stated

    def _forecast(self, releases: SharedBudget, sizes: Sizes, **guesses: float) -> dict[str, float]:
        public = (releases, sizes["n_users"], sizes["n_items"])
        if self._is_implicit:
            return forecast_choices(*public, guesses)
        if not self.offsets:
            return forecast_matrix(*public, guesses)
        half_range = (self.rating_range[1] - self.rating_range[0]) / 2
        return forecast_ratings(*public, self.rank, half_range, guesses)

    def _expect_count(self, releases: SharedBudget, sizes: Sizes, **guesses: float) -> float | None:
        public = (releases, sizes["n_users"], sizes["n_items"], self.rank, guesses)
        if self._is_implicit:
            return float(expect_choice_factors(*public))
        return expect_ratings(*public).factors if self.offsets else float(expect_matrix_factors(*public))
