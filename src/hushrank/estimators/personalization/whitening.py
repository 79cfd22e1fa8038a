"""Private whitening: a matrix W such that the records W x have about equal variance in all directions.

Release    the sum of the users' mean second moments, each shortened to a quantile of their Frobenius norms.
Post       James-Stein towards a multiple of the identity, eigenvalues no lower than what the noise can tell from zero:
           directions below the noise are never stretched.
Privacy    docs/privacy/personalization.md, Lemmas 1 (search) and 2 (moments).
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.personalization.recipe import GRADIENT, X_OCTAVES
from hushrank.estimators.personalization.user_sums import count_moment_norms, sum_moments
from hushrank.estimators.searches import Searches, octaves
from hushrank.linalg.spectral import eigenbasis
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import AdaptiveReleases

FloatArray = NDArray[np.float64]

_LEAST_EIGENVALUE = 0.02  # of the mean eigenvalue
_NOISE_RADII = 2.0  # of the semicircle law of the noise


def learn_whitening(
    releases: AdaptiveReleases, searches: Searches, n_features: int, x_scale: float, share: float
) -> FloatArray:
    """The symmetric matrix W, of shape (n_features, n_features)."""
    # A moment of records of variance x_scale^2 in every direction has a norm between sqrt(d) and d times that.
    low, high = octaves(x_scale * x_scale, 2 * X_OCTAVES, 2 * X_OCTAVES)
    window = (low, high * n_features)
    bound = searches.find(count_moment_norms, None, window, GRADIENT.moment_level, is_long=True)
    lattice = releases.gram_lattice(math.sqrt(bound), share)
    total = releases.total(sum_moments, lattice)
    M = releases.release_symmetric(total, lattice) / releases.n_people
    return inverse_root(M, lattice.scale / releases.n_people)


def inverse_root(M: FloatArray, deviation: float) -> FloatArray:
    """W = (shrunken M)^-1/2 of a symmetric matrix with noise of this deviation off its diagonal."""
    d = len(M)
    level = float(np.trace(M)) / d
    if not level > 0.0:  # noise alone: nothing is known of the directions, nor of the scale
        level = max(float(np.abs(np.diag(M)).mean()), np.finfo(float).tiny)
        return np.eye(d) / math.sqrt(level)
    rest = M - level * np.eye(d)
    energy, noise = float((rest * rest).sum()), float(d * deviation) ** 2
    kept = max(0.0, energy - noise) / max(energy, np.finfo(float).tiny)
    values, Q = eigenbasis(level * np.eye(d) + kept * rest)
    floor = max(_LEAST_EIGENVALUE * level, min(level, _NOISE_RADII * deviation * math.sqrt(d)))
    with one_blas_thread():
        W: FloatArray = (Q / np.sqrt(np.maximum(values, floor))) @ Q.T
    return (W + W.T) / 2
