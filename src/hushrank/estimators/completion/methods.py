"""The methods of private matrix completion, by name or with options of their own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.als import learn_als
from hushrank.estimators.completion.factored_gradient import learn_factored_gradient
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import AlternatingLeastSquares, Spectral
from hushrank.estimators.completion.spectral_implicit import learn_implicit, learn_implicit_with
from hushrank.estimators.completion.spectral_matrix import learn_matrix, learn_matrix_with
from hushrank.estimators.completion.spectral_ratings import learn_ratings, learn_ratings_with
from hushrank.privacy.adaptive import UserReleases

FloatArray = NDArray[np.float64]


def learn_model(
    options: Any, releases: UserReleases, rank: int, *, offsets: bool, unobserved: float | None
) -> CompletionModel:
    """Learn with the whole budget; `unobserved` is the weight of all items for implicit feedback, else None."""
    if isinstance(options, Spectral):
        if unobserved is not None:
            return learn_implicit(releases, rank, options.top_items, unobserved)
        learn = learn_ratings if offsets else learn_matrix
        return learn(releases, rank, options.top_items)
    run = learn_als if isinstance(options, AlternatingLeastSquares) else learn_factored_gradient

    def learn_factors(model: CompletionModel, share: float) -> FloatArray:
        return run(releases, rank, model, options, share)

    if unobserved is not None:
        return learn_implicit_with(releases, learn_factors, unobserved)
    return learn_ratings_with(releases, learn_factors) if offsets else learn_matrix_with(releases, learn_factors)




