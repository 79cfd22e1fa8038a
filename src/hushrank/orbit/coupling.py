"""Exact draws for every complex law: monotone coupling from the past on the polytope of Gelfand-Tsetlin patterns.

Chain      The state is a pattern, as depths e = levels_j - x^(m)_j, with density exp(-sum_{m<d} r_m sum_j e_{m,j}),
           r_m = tilts_m - tilts_{m+1}. One site given the others is an exponential variable of rate r_m on [lo, hi],
               lo = max(e_{m+1,j}, e_{m-1,j-1} - gap_{j-1}),  hi = min(e_{m+1,j+1} + gap_j, e_{m-1,j}),
           gap_j = levels_j - levels_{j+1}; a sweep renews all sites, rows of one parity and then the others.
Order      Both kinds of update below grow with lo and hi when the uniforms are kept. The patterns lie between
           e = 0 and e_{m,j} = levels_j - levels_{j+d-m}; if the chains from these two, started at time -T, are equal at
           time 0, then so is the chain that was started in the infinite past, and it has the law (Propp and Wilson
           1996). If not, T is doubled; the last T sweeps use the uniforms they used before.
Updates    `_quantile`: the inverse distribution function. Distances shrink but never vanish.
           `_first_candidate`: candidates are drawn from the law of the site on a range [start, end] that does not
           depend on the state. The first that lies in [lo, hi] is the value; if it lies outside, the range is cut
           there and the next is drawn from what remains; after 16, the quantile on [lo, hi]. It has the right law, for
           a candidate inside [lo, hi] has the law of the site there, whatever was rejected before. And it is monotone:
           intervals that agree on every cut so far share the next candidate p, and part when one of them takes p or
           the side below it and the other p or the side above. Close intervals take the same candidate almost always,
           so nearly equal chains become equal at once, and no tolerance is needed.
Cost       d^2 log d sweeps or fewer, of k d sites each; where T exceeds `limit`, use the rows sampler.
"""

import math

import numpy as np

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.linalg.quantize import compiled
from hushrank.orbit.law import Draw, FloatArray, OrbitLaw
from hushrank.orbit.pattern import Pattern, factor_from_pattern
from hushrank.privacy.noise.continuous import uniforms
from hushrank.privacy.noise.keystream import Keystream

# A round is 31 cheap sweeps, which bring the chains together, and one sweep of candidates, which makes them equal.
SWEEPS_PER_ROUND = 32
_CANDIDATES = 16
_UNIFORMS_PER_SITE = SWEEPS_PER_ROUND - 1 + _CANDIDATES + 1

_SMALLEST_EXPONENT = 1e-280


def draw(law: OrbitLaw, stream: Keystream, *, limit: int | None = 2**22) -> Draw:
    """Draw H by coupling from the past.

    Parameters
    ----------
    law : OrbitLaw
        Complex; any tilts and levels, ties included.
    stream : Keystream
    limit : int or None, default 2^22
        The largest number of sweeps to go back in time; None for no limit. The time to meet and the draw depend on each
        other: a draw that was given up, by this limit or by a clock, must not be repeated until one is fast enough,
        since that prefers the patterns that are reached fast. After a failure change the sampler, or lift the limit.

    Examples
    --------
    >>> law = OrbitLaw([3.0, 3.0, 1.0, 0.0], [1.0, 0.5, 0.5], is_complex=True)
    >>> X = draw(law, Keystream()).factor
    >>> np.linalg.eigvalsh(X.conj().T @ X).round(12)
    array([0.5, 0.5, 1. ])
    """
    if not law.is_complex:
        raise InvalidParameter("coupling.draw", "law", "a complex law", law)
    pattern, sweeps = _draw_pattern(law, stream, limit)
    return Draw(factor_from_pattern(pattern.rows, stream, pattern.differences), sweeps)


def _draw_pattern(law: OrbitLaw, stream: Keystream, limit: int | None) -> tuple[Pattern, int]:
    past = _Past(_n_sites(law) * _UNIFORMS_PER_SITE, stream)
    most = math.inf if limit is None else limit // SWEEPS_PER_ROUND
    rounds = _first_guess(law)
    while rounds <= most:
        chains = _run_from(law, rounds, past)
        if np.array_equal(chains[..., 0], chains[..., 1]):
            return Pattern(law.levels, chains[:, 1:-1, 0].copy()), rounds * SWEEPS_PER_ROUND
        rounds *= 2
    reason = (
        f"the extreme chains would have to start more than {limit} sweeps back; use the rows sampler or no limit, "
        "but do not repeat this one until it succeeds: draws that meet fast have another law"
    )
    raise SamplingFailed("coupling", reason)


def _n_sites(law: OrbitLaw) -> int:
    return sum(min(law.rank, m) for m in range(1, law.dimension))


def _first_guess(law: OrbitLaw) -> int:
    """Rounds to start with, fitted to measured times: enough for most draws.

    It decides on the time only, since every start from which the chains meet gives the same pattern.
    """
    d = law.dimension
    with np.errstate(over="ignore"):
        concentration = float(law.levels[0] * (law.tilts[0] - law.tilts[-1])) / d
    return math.ceil(d**2 * math.log(d + 1) * (0.8 - 1.1 / (concentration + 2)) / SWEEPS_PER_ROUND)


class _Past:
    """The uniforms of each round of the past: the same whenever they are asked for.

    What is kept is one secret key a round, drawn from the stream of the release.
    """

    def __init__(self, size: int, stream: Keystream) -> None:
        self._size, self._stream = size, stream
        self._keys: list[bytes] = []

    def uniforms(self, age: int) -> FloatArray:
        """Uniforms of the round that ends `age` rounds before time 0."""
        while len(self._keys) <= age:
            self._keys.append(self._stream.words(4).tobytes())
        return uniforms(self._size, Keystream.from_key(self._keys[age]))


def _run_from(law: OrbitLaw, rounds: int, past: _Past) -> FloatArray:
    """The two extreme chains at time 0, started `rounds` rounds before."""
    chains, rates, gaps = _extremes(law), _rates(law), _gaps(law)
    reach = chains[..., 1].copy()
    for age in range(rounds - 1, -1, -1):
        _advance(chains, rates, gaps, reach, past.uniforms(age))
    return chains


def _rates(law: OrbitLaw) -> FloatArray:
    """r_m = tilts_m - tilts_{m+1} at index m; there are no sites in rows 0 and d."""
    rates = np.zeros(law.dimension + 1)
    with np.errstate(over="ignore"):  # an infinite rate keeps a site at its lower end
        rates[1:-1] = law.tilts[:-1] - law.tilts[1:]
    return rates


def _gaps(law: OrbitLaw) -> FloatArray:
    """levels_j - levels_{j+1} at index j + 1; the last falls to the eigenvalue zero."""
    gaps = np.zeros(law.rank + 1)
    gaps[1:] = law.levels - np.append(law.levels[1:], 0.0)
    return gaps


def _extremes(law: OrbitLaw) -> FloatArray:
    """Smallest and largest depths, of shape (d + 1, k + 2, 2): row m, column j + 1, chain.

    The margins make the ends of a site's interval right at the border: no site left of column 0, none right of column
    m - 1 in row m < k, and the eigenvalue zero, of depth zero below the level zero, in column k from row k on.
    """
    d, k = law.dimension, law.rank
    chains = np.zeros((d + 1, k + 2, 2))
    padded = np.append(law.levels, np.zeros(d))
    for m in range(d + 1):
        n = min(k, m)
        chains[m, 1 : n + 1, 1] = padded[:n] - padded[d - m : d - m + n]
        chains[m, n + 1 :] = np.inf if m < k else 0.0
    chains[:, 0] = -np.inf
    return chains


@compiled
def _advance(chains: FloatArray, rates: FloatArray, gaps: FloatArray, reach: FloatArray, uniform: FloatArray) -> None:
    """One round of sweeps of both chains, in place."""
    d, k = chains.shape[0] - 1, chains.shape[1] - 2
    at = 0
    for sweep in range(SWEEPS_PER_ROUND):
        used = 1 if sweep < SWEEPS_PER_ROUND - 1 else _CANDIDATES + 1
        for parity in range(2):
            for m in range(d - 1 - parity, 0, -2):
                for j in range(1, min(k, m) + 1):
                    shared = uniform[at : at + used]
                    at += used
                    lo, hi = _interval(chains, gaps, m, j, 0)
                    lo_above, hi_above = _interval(chains, gaps, m, j, 1)
                    value = above = _update(lo, hi, rates[m], reach[m, j], shared)
                    if lo_above != lo or hi_above != hi:
                        # Rounding may turn the order around by a last digit.
                        above = max(value, _update(lo_above, hi_above, rates[m], reach[m, j], shared))
                    chains[m, j, 0], chains[m, j, 1] = value, above


@compiled
def _interval(chains: FloatArray, gaps: FloatArray, m: int, j: int, chain: int) -> tuple[float, float]:
    """Where site j of row m may lie, given the rows beside it."""
    lo = max(chains[m + 1, j, chain], chains[m - 1, j - 1, chain] - gaps[j - 1])
    hi = min(chains[m + 1, j + 1, chain] + gaps[j], chains[m - 1, j, chain])
    return lo, hi


@compiled
def _update(lo: float, hi: float, rate: float, reach: float, uniform: FloatArray) -> float:
    """A value of density exp(-rate e) on [lo, hi], nondecreasing in lo and in hi."""
    if len(uniform) == 1:
        return _quantile(lo, hi, rate, uniform[0])
    return _first_candidate(lo, hi, rate, reach, uniform)


@compiled
def _first_candidate(lo: float, hi: float, rate: float, reach: float, uniform: FloatArray) -> float:
    """The first candidate in [lo, hi], a part of [0, reach]; nondecreasing in lo and in hi."""
    if not hi > lo:
        return lo
    start, end = 0.0, reach
    for i in range(len(uniform) - 1):
        candidate = _quantile(start, end, rate, uniform[i])
        if candidate < lo:
            start = candidate
        elif candidate > hi:
            end = candidate
        else:
            return candidate
    return _quantile(lo, hi, rate, uniform[-1])


@compiled
def _quantile(lo: float, hi: float, rate: float, u: float) -> float:
    """The u-quantile of the density exp(-rate e) on [lo, hi]; lo if the interval is empty by rounding."""
    width = hi - lo
    if not width > 0.0:
        return lo
    exponent = rate * width
    if exponent < _SMALLEST_EXPONENT:
        value = lo + u * width
    else:
        value = lo - math.log1p(u * math.expm1(-exponent)) / rate
    return min(max(value, lo), hi)
