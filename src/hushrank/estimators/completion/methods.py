"""The methods of private matrix completion: one protocol, and one table that says which options are learned by what."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.als import learn_als
from hushrank.estimators.completion.factored_gradient import learn_factored_gradient
from hushrank.estimators.completion.implicit_model import learn_implicit_around
from hushrank.estimators.completion.matrix_model import learn_matrix_around
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import (
    AlternatingLeastSquares,
    FactoredGradient,
    MethodOptions,
    Spectral,
)
from hushrank.estimators.completion.rating_model import learn_ratings_around
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.spectral_implicit import learn_implicit
from hushrank.estimators.completion.spectral_matrix import learn_matrix
from hushrank.estimators.completion.spectral_ratings import learn_ratings

FloatArray = NDArray[np.float64]
# learn(releases, rank, model, options, share): item factors for a model that has everything else.
LearnFactors = Callable[[RatingReleases, int, CompletionModel, Any, float], FloatArray]


class Method(Protocol):
    """A way to learn a model, with its options."""

    def learn(self, releases: RatingReleases, rank: int, *, offsets: bool, unobserved: float | None) -> CompletionModel:
        """Learn with the whole budget; `unobserved` is the weight of all items for implicit feedback, else None."""


@dataclass(frozen=True, slots=True)
class SpectralMethod:
    """The default: one recipe of its own for ratings, for a matrix without offsets and for implicit feedback."""

    options: Spectral

    def learn(self, releases: RatingReleases, rank: int, *, offsets: bool, unobserved: float | None) -> CompletionModel:
        """As `Method.learn`."""
        top_items = self.options.top_items
        if unobserved is not None:
            return learn_implicit(releases, rank, top_items, unobserved)
        return learn_ratings(releases, rank, top_items) if offsets else learn_matrix(releases, rank, top_items)


@dataclass(frozen=True, slots=True)
class FactorMethod:
    """A method that learns factors alone; everything around them is the same for all of these methods."""

    learn_factors: LearnFactors
    options: MethodOptions

    def learn(self, releases: RatingReleases, rank: int, *, offsets: bool, unobserved: float | None) -> CompletionModel:
        """As `Method.learn`."""

        def learn_factors(model: CompletionModel, share: float) -> FloatArray:
            return self.learn_factors(releases, rank, model, self.options, share)

        if unobserved is not None:
            return learn_implicit_around(releases, learn_factors, unobserved)
        around = learn_ratings_around if offsets else learn_matrix_around
        return around(releases, learn_factors)


# Class of the options -> the method that has them. A new method is its own file, its options, and one line here.
LEARNED_BY: dict[type[MethodOptions], Callable[[Any], Method]] = {
    Spectral: SpectralMethod,
    AlternatingLeastSquares: partial(FactorMethod, learn_als),
    FactoredGradient: partial(FactorMethod, learn_factored_gradient),
}


def learn_model(
    options: MethodOptions, releases: RatingReleases, rank: int, *, offsets: bool, unobserved: float | None
) -> CompletionModel:
    """Learn with the method of these options and the whole budget, as `Method.learn`."""
    make_method = next(LEARNED_BY[kind] for kind in type(options).__mro__ if kind in LEARNED_BY)
    model = make_method(options).learn(releases, rank, offsets=offsets, unobserved=unobserved)
    return model.with_new(releases.items.G, releases.items.is_new)
