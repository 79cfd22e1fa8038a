"""Answers without privacy, and simple private ones, to compare private matrix completion with."""

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.implicit_candidates import POPULARITY, Candidates
from hushrank.estimators.completion.implicit_counts import count_again
from hushrank.estimators.completion.item_means import release_census, release_means, user_columns
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.recipes import RATINGS, Prior
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.linalg.hollow import top_hollow_eigenpairs

FloatArray = NDArray[np.float64]


def em(observed: FloatArray, rank: int, noise: float, n_iterations: int = 20) -> FloatArray:
    """Predictions of the EM algorithm for factors with Gaussian users and known variance of the noise, no privacy.

    It starts from the leading eigenvectors of the second moment, diagonal imputed; NaN marks what is not observed.
    """
    mask = ~np.isnan(observed)
    Y, M = np.where(mask, observed, 0.0), mask.astype(np.float64)
    m, p = len(Y), mask.mean()
    S = Y.T @ Y / (m * p * p)
    np.fill_diagonal(S, 0.0)
    Q, values, _ = top_hollow_eigenpairs(S, rank, 0.0, rounds=30, cut=0.0)
    V = Q * np.sqrt(values)
    for _ in range(n_iterations):
        U, covariances = _posterior(V, Y, M, noise)
        moments = (U[:, :, None] * U[:, None, :] + covariances).reshape(m, -1)
        A = (M.T @ moments).reshape(-1, rank, rank)
        V = np.linalg.solve(A, (Y.T @ U)[:, :, None])[:, :, 0]
    return _posterior(V, Y, M, noise)[0] @ V.T


def _posterior(V: FloatArray, Y: FloatArray, M: FloatArray, noise: float) -> tuple[FloatArray, FloatArray]:
    """Means and covariances of the users' factors."""
    n, rank = V.shape
    products = (V[:, :, None] * V[:, None, :]).reshape(n, -1)
    inverse = np.linalg.inv((M @ products).reshape(-1, rank, rank) + noise * np.eye(rank))
    return np.einsum("iab,ib->ia", inverse, Y @ V), noise * inverse


def private_means(releases: RatingReleases) -> CompletionModel:
    """The baseline: item means from the whole budget and the user's own offset, no slopes and no factors."""
    census, prior = release_census(releases), Prior()
    means = release_means(releases, census, prior, releases.left, RATINGS.mean_rounds)
    offset = user_columns(means.means, census, prior)[:, :1]
    nothing = np.zeros((releases.n_items, 0))
    return CompletionModel(census.center + means.means, offset, nothing, prior.noise, census.counts)


def private_popularity(releases: RatingReleases, unobserved: float) -> CompletionModel:
    """The baseline for implicit feedback: the same list for everybody, by counts that have the whole budget.

    But for 1 %, for the quantile of the numbers of items that weights users.
    """
    census = count_again(releases, release_census(releases, with_center=False))
    return Candidates.of(census, unobserved, unobserved).model(POPULARITY)
