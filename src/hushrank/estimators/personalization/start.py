"""Where the subspace starts: the leading directions of the users' mean products y x.

Release    the sum of s s^T over users, s the mean of y W x times sqrt(m / (m + d)), shortened to a quantile.
Post       with whitened records E s s^T is proportional to U E[v v^T] U^T plus a multiple of the identity: its top
           eigenvectors are U. Eigenvalues are corrected for the bulk that noise makes (spiked model).
Privacy    docs/privacy/personalization.md, Lemmas 1 (search) and 3 (products): rows, so that the matrix is positive
           semidefinite and one user changes it by sqrt(2) and not by 2 times the bound.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.personalization.recipe import GRADIENT, Y_OCTAVES
from hushrank.estimators.personalization.subspace import Subspace, clamp, orthonormalize
from hushrank.estimators.personalization.user_sums import (
    Products,
    count_mean_squares,
    count_product_norms,
    sum_products,
)
from hushrank.estimators.searches import Searches, octaves
from hushrank.linalg.spectral import eigenbasis, fix_signs
from hushrank.privacy.adaptive import AdaptiveReleases

FloatArray = NDArray[np.float64]

_LEAST_COSINE = 0.02  # squared, that a direction is believed to have
_LEAST_SHAPE = 1e-3  # of a variance, of the largest one
_EXPLAINED = 0.8  # of the answers' second moment by heads, where a fit starts
_LEAST_NOISE = 0.2
_LABEL_VARIANCE = 4.0  # of all heads together, where a fit to labels starts
_LEAST_VARIANCE, _MOST_VARIANCE = 1e-6, 4.0  # of a head, in second moments of an answer
_MOST_LABEL_VARIANCE = 100.0


def learn_start(
    releases: AdaptiveReleases,
    searches: Searches,
    whitening: FloatArray,
    n_components: int,
    y_scale: float,
    share: float,
    *,
    is_logistic: bool,
) -> tuple[Subspace, float]:
    """The first subspace, and the second moment of an answer (1 for labels)."""
    d, products = len(whitening), Products(is_logistic, whitening)
    size = 0.25 if is_logistic else y_scale * y_scale
    low, high = octaves(size, 2 * Y_OCTAVES, 2 * Y_OCTAVES)
    bound = searches.find(count_product_norms, products, (low, high * d), GRADIENT.product_level, is_long=True)
    lattice = releases.gram_lattice(math.sqrt(bound), share)
    M = releases.release_symmetric(releases.total(sum_products, (products, lattice)), lattice)
    U, variances, cosines = leading_directions(M / releases.n_people, n_components)
    shape = variances / variances.sum()
    if is_logistic:
        return Subspace(whitening, U, np.diag(shape) * _LABEL_VARIANCE, 1.0, True), 1.0
    second = searches.find(count_mean_squares, None, (low, high), GRADIENT.square_level, is_long=True)
    S = clamp_heads(np.diag(shape) * _EXPLAINED * second, second, is_logistic=False)
    # In steps of 1/256: a search goes on from here, and its points must not have the last bits of a decomposition.
    left = math.ceil(256.0 * max(_LEAST_NOISE, 1.0 - _EXPLAINED * float((cosines * shape).sum()))) / 256.0
    noise = second * left
    return Subspace(whitening, U, S, noise, False), second


def leading_directions(M: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Top k eigenvectors, as columns, their eigenvalues without noise, and squared cosines to the true directions.

    The other eigenvalues tell the noise: they lie about their median within the radius of its semicircle.
    """
    values, Q = eigenbasis(M)
    bulk, tiny = values[k:], np.finfo(float).tiny
    center = float(np.median(bulk)) if len(bulk) else 0.0
    squared_radius = float(((bulk - center) ** 2).mean()) if len(bulk) else 0.0
    spikes = values[:k] - center
    inside = np.sqrt(np.maximum(spikes**2 - 4.0 * squared_radius, 0.0))
    variances = np.where(inside > 0.0, (spikes + inside) / 2.0, math.sqrt(squared_radius))
    variances = np.maximum(variances, _LEAST_SHAPE * max(float(variances.max()), tiny))
    cosines = np.clip(1.0 - squared_radius / np.maximum(variances**2, tiny), _LEAST_COSINE, 1.0)
    return orthonormalize(fix_signs(Q[:, :k].T).T)[0], variances, cosines


def clamp_heads(S: FloatArray, second: float, *, is_logistic: bool) -> FloatArray:
    """A covariance of heads with variances that answers of this second moment allow."""
    most = _MOST_LABEL_VARIANCE if is_logistic else _MOST_VARIANCE * second
    return clamp(S, _LEAST_VARIANCE * second, most)
