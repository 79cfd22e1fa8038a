"""The prior of heads that is published with the subspace: mean, covariance, and the variance of the noise.

Releases   1 the sum over users of (f, 1)(f, 1)^T and the posterior covariance of f, where f = S^-1/2 v is shortened to
           2 sqrt(k): a step of EM; 2 the sum of the users' gains
           (`gain_kernels`) for some scales of the covariance, shortened to norm 1.
Post       mean (James-Stein) and covariance of heads where the noise is small enough, scaled so that heads and noise
           together explain no more than the second moment of an answer, and then by the scale of the largest gain.
           Where no gain stands above its noise, nothing was learned and the covariance is zero: users are told so, and
           rely on their own records. Whitening is undone.
Privacy    docs/privacy/personalization.md, Lemmas 1, 3 and 5.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.personalization.head_kernels import HeadModel
from hushrank.estimators.personalization.recipe import GRADIENT
from hushrank.estimators.personalization.subspace import Subspace, clamp, orthonormalize, power
from hushrank.estimators.personalization.user_sums import HeadState, count_noise_levels, sum_gains, sum_heads
from hushrank.estimators.searches import Searches, octaves
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import AdaptiveReleases

FloatArray = NDArray[np.float64]

_MOST_DEVIATION = 0.25  # of an entry of the moments of f, beyond which they are not used
_VARIANCES = (0.05, 50.0)  # of f
_LEAST_NOISE = 1e-12  # of the second moment of an answer
_EXPLAINED = 1.2  # most of what is left beside the noise that heads may explain


@dataclass(frozen=True, slots=True, eq=False)
class HeadPrior:
    """What is released: coefficients of a user are U v with v ~ N(mean, covariance), in the coordinates of the data.

    Attributes
    ----------
    U : ndarray of shape (d, k)
        Orthonormal columns.
    mean : ndarray of shape (k,)
    covariance : ndarray of shape (k, k)
    noise : float
        Variance of an answer about its prediction; 1 for labels.
    check : Check or None
        None where a method has none.
    """

    U: FloatArray
    mean: FloatArray
    covariance: FloatArray
    noise: float
    check: "Check | None" = None


class Check(NamedTuple):
    """What the last check released: mean gains of the users, one for each scale, and the deviation of their noise.

    It is that of the first gain, and of the differences of the others to it.
    """

    gains: FloatArray
    deviation: float


def learn_prior(
    releases: AdaptiveReleases, searches: Searches, state: Subspace, second: float, share: float
) -> HeadPrior:
    """The prior of heads in the last subspace: its moments for this share, and the check with all that is left."""
    mean, S = np.zeros(len(state.S)), state.S
    if not state.is_logistic:  # a step of EM is too short for labels, whose first scale is a guess
        state = replace(state, noise=search_noise(searches, state, second, GRADIENT.last_octaves))
        mean, S = _learn_moments(releases, state, share)
        most = _EXPLAINED * max(second - state.noise, 0.02 * second)
        factor = min(1.0, most / max(float(np.trace(S) + mean @ mean), np.finfo(float).tiny))
        S, mean = S * factor, mean * math.sqrt(factor)
    state = replace(state, S=S)
    check = _check_heads(releases, state.head_model._replace(mean=mean))
    scales = GRADIENT.label_scales if state.is_logistic else GRADIENT.scales
    scale = best_scale(check, scales, _optimism(releases, state))
    with one_blas_thread():
        U, R = orthonormalize(state.whitening @ state.U)
        return HeadPrior(U, R @ mean * (scale > 0.0), symmetric(R @ S @ R.T) * scale, state.noise, check)


def search_noise(searches: Searches, state: Subspace, second: float, below: float) -> float:
    """The variance of the noise: a quantile of what the users' heads leave, about the last one or below by octaves."""
    window = octaves(state.noise, below, 1)
    found = searches.find(count_noise_levels, state.head_model, window, GRADIENT.noise_level)
    return max(found, _LEAST_NOISE * second)


def _learn_moments(releases: AdaptiveReleases, state: Subspace, share: float) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of heads; those of the state where they would be noise."""
    k = len(state.S)
    norm = 2.0 * math.sqrt(k)
    lattice = releases.gram_lattice(math.sqrt(norm * norm + 1.0 + math.sqrt(k)), share)
    public = HeadState(state.head_model, power(state.S, -0.5), norm, lattice)
    M = releases.release_symmetric(releases.total(sum_heads, public), lattice) / releases.n_people
    deviation = lattice.scale / releases.n_people
    if deviation < _MOST_DEVIATION:
        return _moments_of_heads(M, deviation, state.S)
    return np.zeros(k), state.S


def _check_heads(releases: AdaptiveReleases, model: HeadModel) -> Check:
    """Mean gains of the users, with all that is left of the budget."""
    scales = np.array(GRADIENT.label_scales if model.is_logistic else GRADIENT.scales)
    lattice = releases.vector_lattice(1.0)
    gains = releases.release(releases.total(sum_gains, (model, scales, lattice)), lattice) / releases.n_people
    gains[1:] += gains[0]
    return Check(gains, lattice.scale / releases.n_people)


def _optimism(releases: AdaptiveReleases, state: Subspace) -> float:
    """Gain that k (d - k) numbers of a subspace explain by themselves, of the records of those who taught it."""
    d, k = state.U.shape
    each = GRADIENT.label_optimism if state.is_logistic else GRADIENT.optimism
    return float(each * k * (d - k) / releases.n_people)


def best_scale(check: Check, scales: tuple[float, ...], optimism: float) -> float:
    """The scale of the covariance with the largest gain, or 0 where no gain stands above its noise and optimism."""
    deviations = np.full(len(scales), math.sqrt(2.0) * check.deviation)  # of a sum of two released numbers
    deviations[0] = check.deviation
    is_above = check.gains > GRADIENT.least_gain * deviations + optimism
    if not is_above.any() or GRADIENT.least_gain * check.deviation + optimism >= 1.0:  # no gain is above 1 but by noise
        return 0.0
    best = int(np.where(is_above, check.gains, -math.inf).argmax())
    is_first = is_above[0] and check.gains[0] + GRADIENT.better_gain * check.deviation > check.gains[best]
    return float(scales[0] if is_first else scales[best])


def _moments_of_heads(M: FloatArray, deviation: float, S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of heads from the moments of (f, 1)."""
    k, root = len(S), power(S, 0.5)
    energy = float((M[:k, k] ** 2).sum())
    mean = M[:k, k] * (max(0.0, energy - k * deviation**2) / max(energy, np.finfo(float).tiny))
    covariance = clamp(M[:k, :k] - np.outer(mean, mean), *_VARIANCES)
    return root @ mean, symmetric(root @ covariance @ root)


def symmetric(S: FloatArray) -> FloatArray:
    """The symmetric part of a matrix, which rounding has left a little off."""
    return (S + S.T) / 2
