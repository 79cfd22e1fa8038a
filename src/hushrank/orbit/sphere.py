"""Rank 1: unit vectors with density exp(-x^* diag(costs) x), real or complex, by rejection.

Proposal   x = y / |y|, y_i normal with variance 1 / Omega_i, Omega = 1 + 2 costs / (beta b), beta = 1 real, 2 complex:
           the angular central Gaussian, density |Omega|^(beta/2) (x^* Omega x)^(-beta d/2) against the uniform law.
Envelope   with u = x^* diag(costs) x, exp(-u) <= C (1 + 2u / (beta b))^(-beta d/2), equality at u = beta (d - b) / 2:
           log C = (beta/2) (b - d + d log(d/b)), for every b > 0. The b with sum_i 1 / (b + 2 costs_i / beta) = 1
           is the best one: about 0.9 / sqrt(d) of the proposals are accepted whatever the costs, more for small ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit.law import Draw, Factor, FloatArray, OrbitLaw
from hushrank.privacy.noise.continuous import exponentials, normals
from hushrank.privacy.noise.keystream import Keystream

LARGEST_COST = 1e300  # leaves room for the factors of the formulas
_FIRST_BATCH = 8
_BATCH_ENTRIES = 1 << 18  # numbers per batch of proposals: 2 MB


class AngularEnvelope:
    """What the angular central Gaussian proposals of all ranks share."""

    __slots__ = ()
    is_complex: bool
    scales: FloatArray

    @property
    def beta(self) -> int:
        """Real numbers per entry."""
        return 2 if self.is_complex else 1


@dataclass(frozen=True, slots=True, eq=False)
class SphereEnvelope(AngularEnvelope):
    """Angular central Gaussian proposals for exp(-x^* diag(costs) x), and their bound.

    Attributes
    ----------
    costs : ndarray of shape (d,)
        The smallest is 0.
    is_complex : bool
        Whether x is complex.
    b : float
        The parameter of the proposals and of the bound.
    scales : ndarray of shape (d,)
        1 / sqrt(Omega): standard deviations of the proposals before normalization.
    log_constant : float
        log C.
    """

    costs: FloatArray
    is_complex: bool
    b: float
    scales: FloatArray
    log_constant: float

    def log_ratio(self, u: FloatArray) -> FloatArray:
        """Logarithm of the acceptance probability of proposals with u = x^* diag(costs) x; never above 0."""
        half = self.beta * len(self.costs) / 2.0
        ratio: FloatArray = half * np.log1p(2.0 * u / (self.beta * self.b)) - u - self.log_constant
        return ratio


def sphere_envelope(costs: ArrayLike, is_complex: bool, *, b: float | None = None) -> SphereEnvelope:
    """Set up the proposals for exp(-x^* diag(costs) x).

    Parameters
    ----------
    costs : array-like of shape (d,)
        Finite and spread over at most 1e300, in any order. Only differences count: the smallest is set to 0.
    is_complex : bool
        Whether x is complex.
    b : float, optional
        Positive; by default the best one. Every b gives the same law and another acceptance.

    Examples
    --------
    >>> envelope = sphere_envelope([0.0, 6.0, 6.0], is_complex=False)
    >>> round(envelope.b, 6), round(float(np.sum(1 / (envelope.b + 2 * envelope.costs))), 9)
    (1.178908, 1.0)
    """
    a = check_costs(costs, "sphere_envelope")
    beta, d = 2 if is_complex else 1, len(a)
    if b is not None and not 0 < b < math.inf:
        raise InvalidParameter("sphere_envelope", "b", "a number > 0", b)
    b = _best_parameter(2.0 * a / beta) if b is None else float(b)
    scales = 1.0 / np.sqrt(1.0 + 2.0 * a / (beta * b))
    return SphereEnvelope(a, is_complex, b, scales, beta / 2.0 * (b - d + d * math.log(d / b)))


def check_costs(costs: ArrayLike, owner: str) -> FloatArray:
    """Costs as a vector whose smallest entry is 0."""
    a = np.array(costs, np.float64)
    if a.ndim != 1 or not a.size or not (np.abs(a) <= LARGEST_COST).all():
        raise InvalidParameter(owner, "costs", f"a vector of numbers of size at most {LARGEST_COST}", costs)
    shifted: FloatArray = a - a.min()
    return shifted


def _best_parameter(s: FloatArray) -> float:
    """The b in [1, d] with sum_i 1 / (b + s_i) = 1; the sum is at least 1 at b = 1 because one s_i is 0."""
    d = float(len(s))

    def excess(b: float) -> float:
        return float(np.sum(1.0 / (b + s))) - 1.0

    # All costs zero, or so small that the sum at b = d rounds to 1.
    return d if excess(d) >= 0.0 else float(brentq(excess, 1.0, d))


def draw(law: OrbitLaw, stream: Keystream, *, limit: int | None = 10**6) -> Draw:
    """Draw from a law of rank 1; `limit` counts proposals, None sets none.

    Examples
    --------
    >>> law = OrbitLaw([9.0, 1.0, 0.0], [4.0], is_complex=True)
    >>> factor = draw(law, Keystream()).factor
    >>> factor.shape, round(float(np.linalg.norm(factor)), 12)
    ((3, 1), 2.0)
    """
    if law.rank != 1:
        raise InvalidParameter("sphere.draw", "law", "of rank 1", f"rank {law.rank}")
    vector, tries = draw_vector(law.costs, law.is_complex, stream, limit=limit)
    return Draw(math.sqrt(law.levels[0]) * vector[:, np.newaxis], tries)


def draw_vector(
    costs: ArrayLike, is_complex: bool, stream: Keystream, *, limit: int | None = 10**6
) -> tuple[Factor, int]:
    """Draw a unit vector with density exp(-x^* diag(costs) x), and count the proposals that it took."""
    return draw_within(sphere_envelope(costs, is_complex), stream, limit=limit)


def draw_within(envelope: SphereEnvelope, stream: Keystream, *, limit: int | None = 10**6) -> tuple[Factor, int]:
    """`draw_vector` for an envelope that serves several draws."""
    entries = envelope.beta * len(envelope.costs)
    found = first_accepted(lambda n: propose(envelope, n, stream), stream, entries=entries, limit=limit)
    if found is None:
        reason = f"none of {limit} proposals was accepted, about sqrt(d) are expected: use a larger limit"
        raise SamplingFailed("sphere", reason)
    parts, tries = found
    y = parts[0] + 1j * parts[1] if envelope.is_complex else parts[0]
    return y / np.linalg.norm(y), tries


def propose(envelope: SphereEnvelope, n: int, stream: Keystream) -> tuple[FloatArray, FloatArray]:
    """`n` proposals before normalization, real and imaginary parts apart, and their log ratios."""
    deviates = normals((n, envelope.beta, len(envelope.costs)), stream)
    deviates *= envelope.scales
    # |y|^2 and y^* diag(costs) y. A coordinate of cost 0 has scale 1 and normals are never 0, so that |y| > 0.
    # Costs are multiplied in after the scales: costs / Omega <= beta b / 2 neither overflows nor loses digits.
    weights = np.stack([np.ones_like(envelope.costs), envelope.costs], axis=1)
    norms, scores = (np.square(deviates).sum(axis=1) @ weights).T
    return deviates, envelope.log_ratio(scores / norms)


def first_accepted(
    propose: Callable[[int], tuple[Factor, FloatArray]], stream: Keystream, *, entries: int, limit: int | None
) -> tuple[Factor, int] | None:
    """First accepted proposal and how many were looked at until then, or None if `limit` of them were rejected.

    Batches double, so that at most about twice the needed work is done; what stands behind the first accepted
    proposal is discarded unseen, so that the law is that of proposals made one by one.

    Parameters
    ----------
    propose : callable
        Takes a number n, returns n proposals and their log ratios.
    entries : int
        Numbers per proposal: bounds the memory of a batch.
    limit : int or None
        None tries until one is accepted.
    """
    tries, most = 0, max(1, _BATCH_ENTRIES // entries)
    while limit is None or tries < limit:
        size = min(max(_FIRST_BATCH, tries), most, most if limit is None else limit - tries)
        proposals, log_ratios = propose(size)
        accepted = np.flatnonzero(is_accepted(log_ratios, stream))
        if accepted.size:
            return proposals[accepted[0]], tries + int(accepted[0]) + 1
        tries += size
    return None


def is_accepted(log_ratios: FloatArray, stream: Keystream) -> NDArray[np.bool_]:
    """Which proposals are accepted, each with probability exp(log ratio)."""
    accepted: NDArray[np.bool_] = exponentials(log_ratios.shape, stream) > -log_ratios
    return accepted
