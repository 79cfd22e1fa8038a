"""Exact draws for concentrated complex laws with well separated levels, from independent exponential variables.

Law        Column j of the pattern starts at x^(d)_j = levels_j and falls by e_{m,j} = x^(m)_j - x^(m-1)_j >= 0 for
           m = d, ..., j + 1, so that x^(m)_j = levels_j - (e_{m+1,j} + ... + e_{d,j}). In these coordinates the density
           exp(sum_{m<d} (tilts_m - tilts_{m+1}) sum_{j<=m} x^(m)_j) of the pattern is
           const exp(-sum_{j<m} (tilts_j - tilts_m) e_{m,j}): the differences of tilts from row j to row m - 1 add up.
           The map has determinant +-1, hence the e are independent exponential variables of rates tilts_j - tilts_m,
           conditioned on the other half of the interlacing, x^(m-1)_j >= x^(m)_{j+1}.
Draw       Propose independent exponentials until the condition holds. The first accepted proposal has exactly the law.
Cost       k d exponentials a proposal. Nearly all are accepted if the gaps between levels, and the last level, are
           large against sum_m 1 / (tilts_j - tilts_m); of equal levels, none.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit.law import Draw, FloatArray, OrbitLaw
from hushrank.orbit.pattern import Pattern, factor_from_pattern
from hushrank.privacy.noise.continuous import exponentials
from hushrank.privacy.noise.keystream import Keystream

_LARGEST_BATCH = 64


def draw(law: OrbitLaw, stream: Keystream, *, limit: int | None = 1000) -> Draw:
    """Draw H by proposals at the largest pattern; `limit` is the largest number of proposals, None for no end.

    Examples
    --------
    >>> law = OrbitLaw([900.0, 500.0, 0.0], [1.0, 0.5], is_complex=True)
    >>> X = draw(law, Keystream()).factor
    >>> bool(np.allclose(X.conj().T @ X, np.diag(law.levels)))
    True
    """
    if not law.is_complex:
        raise InvalidParameter("vertex.draw", "law", "a complex law", law)
    _check_rates(law)
    most, tries = math.inf if limit is None else limit, 0
    while tries < most:
        depths = _propose(law, int(min(1 + tries, _LARGEST_BATCH, most - tries)), stream)
        accepted = np.flatnonzero(_is_interlacing(law, depths))
        if len(accepted):
            pattern = Pattern(law.levels, depths[accepted[0]])
            return Draw(factor_from_pattern(pattern.rows, stream, pattern.differences), tries + int(accepted[0]) + 1)
        tries += len(depths)
    raise SamplingFailed("vertex", f"none of {limit} proposals interlaced; use the coupling sampler")


def _check_rates(law: OrbitLaw) -> None:
    fall = min(law.rank, law.dimension - 1)
    if (law.tilts[:fall] == law.tilts[1 : fall + 1]).any():
        reason = f"two of the first {fall + 1} tilts are equal, so that a rate is zero; use the coupling sampler"
        raise SamplingFailed("vertex", reason)
    if (law.levels[1:] == law.levels[:-1]).any():
        raise SamplingFailed("vertex", "levels are equal and no proposal can interlace; use the coupling sampler")


def _propose(law: OrbitLaw, n: int, stream: Keystream) -> FloatArray:
    """Depths below the largest pattern, of shape (n, d + 1, k): in row m, the falls from row m + 1 on added up."""
    d, k = law.dimension, law.rank
    depths = np.zeros((n, d + 1, k))
    falls = exponentials((n, d, k), stream)
    # Rates that overflow make a fall of zero and denormal ones an infinite fall, which is never accepted.
    with np.errstate(over="ignore"):
        rates = law.tilts[:k] - law.tilts[:, np.newaxis]
        exists = np.arange(k) < np.arange(d)[:, np.newaxis]
        falls = np.where(exists, falls / np.where(exists, rates, 1.0), 0.0)
        depths[:, :d] = np.cumsum(falls[:, ::-1], axis=1)[:, ::-1]
    return depths


def _is_interlacing(law: OrbitLaw, depths: FloatArray) -> NDArray[np.bool_]:
    """Whether x^(m)_j >= x^(m+1)_{j+1} in each proposal, where x^(m+1)_{k+1} = 0."""
    d, k = law.dimension, law.rank
    gaps = law.levels - np.append(law.levels[1:], 0.0)
    bounds = np.full((len(depths), d, k), np.inf)
    bounds[:, :, : k - 1] = depths[:, 1:, 1:]
    bounds[:, k:, k - 1] = 0.0
    exists = np.arange(k) < np.arange(d)[:, np.newaxis]
    ok: NDArray[np.bool_] = ((depths[:, :d] <= bounds + gaps) | ~exists).all(axis=(1, 2))
    return ok
