"""The methods of private personalization: one table that says which options are learned by what."""

from collections.abc import Callable
from typing import Any

from hushrank.estimators.personalization.altmin import learn_altmin
from hushrank.estimators.personalization.exponential import learn_exponential
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.gradient import learn_gradient
from hushrank.estimators.personalization.head_prior import HeadPrior
from hushrank.estimators.personalization.options import (
    AlternatingMinimization,
    GradientSteps,
    MethodOptions,
    to_options,
)
from hushrank.privacy.adaptive import AdaptiveReleases

# learn(releases, shape, scales, options, is_logistic): a subspace and a prior of heads, with the whole budget.
Learn = Callable[..., HeadPrior]

# Class of the options -> what learns with adaptive shares. A new method is its own file, its options, and one line.
LEARNED_BY: dict[type[MethodOptions], Learn] = {GradientSteps: learn_gradient, AlternatingMinimization: learn_altmin}


def learn_representation(
    model: Any, plan: Any, noise: Any, total: Callable[..., Any], n_features: int, n_users: int | None
) -> HeadPrior:
    """Learn with the method, loss and scales of a model; `n_users` is None where it is secret."""
    options, shape = to_options(model.method), (n_features, int(model.n_components))
    scales = float(model.x_scale), float(model.y_scale)
    if isinstance(options, ExponentialSelection):
        terms = {"options": options, "loss": model.loss, "x_scale": scales[0], "y_scale": scales[1]}
        return learn_exponential(total, noise, plan.events, plan.neighbors, model.n_max, shape=shape, **terms)
    learn = next(LEARNED_BY[kind] for kind in type(options).__mro__ if kind in LEARNED_BY)
    releases = AdaptiveReleases(plan.event, plan.neighbors, model.n_max, noise, total, n_people=n_users)
    return learn(releases, shape, scales, options, is_logistic=model.loss == "logistic")
