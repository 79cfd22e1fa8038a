"""What people like in common: the mean of the users' slopes on popularity and public features, before item means.

Statistics every user's own slopes z, along directions in which columns do not vary together, and how far this user's
           ratings tell them: 1 - P_aa, P their posterior covariance. Both are shortened together, which changes their
           ratio little.
Post       slopes drawn to zero as far as evidence asks for: a line that item means start from.
Why        Sums by item have noise for every item. What many items have in common is asked of the users themselves, one
           number for each column, and is known when there is next to nothing known about single items.
Recipe     `feature_recipe.FEATURES`.
Privacy    docs/privacy/completion.md, Lemma 9.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.item_means import OWN_COLUMNS, Census, Line, slope_variances, user_columns
from hushrank.estimators.completion.rating_kernels import Regression
from hushrank.estimators.completion.recipes import Prior
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import sum_slopes
from hushrank.linalg.spectral import fix_signs
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]

FIRST_SLOPE = OWN_COLUMNS - 1
"""Of the columns of users: popularity, and after it the features."""


def release_common_slopes(releases: RatingReleases, census: Census, prior: Prior) -> Line:
    """The line in popularity and features that people's ratings follow on average."""
    W = user_columns(np.zeros(releases.n_items), census, prior)
    axes = principal_axes(W[:, FIRST_SLOPE:], census.rating_shares)
    W[:, FIRST_SLOPE:] = W[:, FIRST_SLOPE:] @ axes
    model = Regression(np.full(releases.n_items, census.center), W, prior.noise)
    k = len(axes)
    lattice = releases.vector_lattice(FEATURES.common_norm * math.sqrt(k), FEATURES.common_share)
    sums = releases.release(releases.total(sum_slopes, (model, FIRST_SLOPE, lattice)), lattice)
    told = np.clip(sums[k:], FEATURES.least_told * releases.n_people, releases.n_people)
    slopes = draw_to_zero(sums[:k] / told, (lattice.scale / told) ** 2)
    deviations = np.sqrt(slope_variances(census.items, prior))
    return Line(W[:, FIRST_SLOPE:] @ slopes, census.items.projection @ (deviations * (axes @ slopes)[1:]))


def principal_axes(X: FloatArray, shares: FloatArray) -> FloatArray:
    """Orthogonal directions along which columns do not vary together over ratings, in the columns of a matrix.

    Slopes along them can be told one by one. Several columns that say the same would each be given all of it. The
    model of a user is the same: own slopes have the same variance along all directions.
    """
    with one_blas_thread():
        _, axes = np.linalg.eigh(X.T @ (shares[:, None] * X))
    return np.ascontiguousarray(fix_signs(axes.T).T)  # of either sign by LAPACK


def draw_to_zero(estimates: FloatArray, variances: FloatArray) -> FloatArray:
    """Numbers from estimates with errors, where a share of the numbers have mean 0 and one variance, the others are 0.

    Share and variance are those of largest evidence; all are zeros where none are clearly more likely than that.
    """
    ratios = {
        (share, variance): share / (1 - share) * np.exp(_log_ratios(estimates, variances, variance))
        for share in FEATURES.common_parts
        for variance in FEATURES.common_variances
    }
    evidences = {key: float(np.sum(np.log1p(ratio) + np.log(1 - key[0]))) for key, ratio in ratios.items()}
    best = max(evidences, key=lambda key: evidences[key])
    if evidences[best] < FEATURES.common_evidence:
        return np.zeros(len(estimates))
    chances = ratios[best] / (1 + ratios[best])
    return np.asarray(chances * estimates * best[1] / (best[1] + variances))


def _log_ratios(estimates: FloatArray, variances: FloatArray, variance: float) -> FloatArray:
    """How much more likely each estimate is if its number has this variance than if it is 0, as a logarithm."""
    total = variances + variance
    logs = (np.log(variances / total) + estimates**2 * (1 / variances - 1 / total)) / 2
    return np.minimum(logs, 500.0)  # as sure as can be, and still a float
