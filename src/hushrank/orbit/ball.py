"""Complex projections of rank k with density exp(-<diag(costs), P>), by the matrix-ball chart.

Chart      P = X X^*, X = [(1 - Y^* Y)^(1/2); Y] with Y a (d - k) x k matrix of operator norm at most 1: the uniform
           law of P is Lebesgue measure of Y, and <diag(costs), P> = sum_{j <= k} costs_j + sum_ij rates_ij |Y_ij|^2
           with rates_ij = costs_{k+i} - costs_j. So Y has independent complex normal entries of variance
           1 / rates_ij, conditioned on the norm.
Sampler    each column from its law on the unit ball, which is exact by `sphere` in dimension d - k + 1 or by rejection
           where the normal law is narrow; then all columns are rejected together if the norm exceeds 1. Nearly
           everything is accepted once the rates exceed a few times d.
"""

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit.law import Draw, FloatArray, OrbitLaw
from hushrank.orbit.sphere import SphereEnvelope, check_costs, draw_within, sphere_envelope
from hushrank.privacy.noise.continuous import normals
from hushrank.privacy.noise.keystream import Keystream

ComplexArray = NDArray[np.complex128]

# A column whose mean squared norm is below this is proposed as it is: by Markov at least 30% are inside the ball.
_NARROW = 0.7


def draw(law: OrbitLaw, stream: Keystream, *, limit: int | None = 10**4) -> Draw:
    """Draw from a complex law with equal levels; `limit` counts matrices Y, None sets none.

    Examples
    --------
    >>> law = OrbitLaw([90.0, 80.0, 0.0, 0.0], [1.0, 1.0], is_complex=True)
    >>> X = draw(law, Keystream()).factor
    >>> bool(np.allclose(X.conj().T @ X, np.eye(2), rtol=0, atol=1e-12))
    True
    """
    if not (law.is_complex and law.is_projection):
        raise InvalidParameter("ball.draw", "law", "complex with equal levels", law)
    k, root = law.rank, math.sqrt(law.levels[0])
    if k == law.dimension:
        return Draw(root * np.eye(k, dtype=np.complex128), 0)  # the only projection
    columns = _Columns(_rates(law.costs, k))
    for tries in itertools.count(1) if limit is None else range(1, limit + 1):
        Y = columns.draw(stream)
        values, vectors = np.linalg.eigh(Y.conj().T @ Y)
        if values[-1] <= 1.0:
            top = (vectors * np.sqrt(1.0 - values)) @ vectors.conj().T
            return Draw(root * np.vstack([top, Y]), tries)
    reason = f"the columns of {limit} matrices were never jointly inside the ball: use rows or coupling"
    raise SamplingFailed("ball", reason)


def _rates(costs: FloatArray, k: int) -> FloatArray:
    rates: FloatArray = costs[k:, np.newaxis] - costs[:k]
    return rates


class _Columns:
    """Independent columns of Y, each from its own law on the unit ball."""

    def __init__(self, rates: FloatArray) -> None:
        # Rates near zero count as small ones, without an overflow.
        narrow = np.sum(1.0 / np.maximum(rates, 1e-3), axis=0) < _NARROW
        self.shape = rates.shape
        self.narrow: NDArray[np.intp] = np.flatnonzero(narrow)
        self.deviations: FloatArray = np.sqrt(0.5 / rates[:, self.narrow]).T
        self.envelopes: dict[int, SphereEnvelope] = {
            int(j): sphere_envelope(np.append(0.0, rates[:, j]), is_complex=True) for j in np.flatnonzero(~narrow)
        }

    def draw(self, stream: Keystream) -> ComplexArray:
        """All columns, once."""
        Y = np.empty(self.shape, np.complex128)
        for j, envelope in self.envelopes.items():
            # A uniform vector of the complex sphere without its first entry is uniform in the ball.
            Y[:, j] = draw_within(envelope, stream)[0][1:]
        missing = np.arange(len(self.narrow))
        while missing.size:
            parts = normals((2, missing.size, self.shape[0]), stream) * self.deviations[missing]
            is_inside = np.square(parts).sum(axis=(0, 2)) <= 1.0
            real, imaginary = parts[:, is_inside]
            Y[:, self.narrow[missing[is_inside]]] = (real + 1j * imaginary).T
            missing = missing[~is_inside]
        return Y


def log_gaussian_partition(costs: ArrayLike, rank: int) -> float:
    """Upper bound of log Z, Z = E exp(-<diag(costs), P>) over uniform complex projections P of rank `rank`.

    log Z is this number plus log P(||Y|| <= 1), where Y has independent complex normal entries of variance
    1 / rates_ij; the probability is nearly 1 for concentrated laws. Infinite where a rate is 0.

    Parameters
    ----------
    costs : array-like of shape (d,)
        Finite, in rising order.
    rank : int
        k, between 1 and d.

    Examples
    --------
    >>> exact = (1 - np.exp(-50.0)) / 50.0
    >>> bool(abs(log_gaussian_partition([0.0, 50.0], 1) - np.log(exact)) < 1e-12)
    True
    """
    raw = np.asarray(costs, np.float64)
    a, k = check_costs(raw, "log_gaussian_partition"), rank
    if (np.diff(a) < 0).any() or not 1 <= k <= len(a):
        raise InvalidParameter("log_gaussian_partition", "costs", f"at least {k} numbers in rising order", costs)
    rates, j = _rates(a, k), np.arange(k)
    if not rates.all():
        return math.inf
    # prod pi / rates_ij over the volume pi^((d - k) k) prod_{j < k} Gamma(k - j) / Gamma(d - j) of the ball.
    log_volume = gammaln(k - j) - gammaln(len(a) - j)
    return float(-np.log(rates).sum() - log_volume.sum() - raw[:k].sum())
