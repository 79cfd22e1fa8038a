"""Public candidates for a representation: orthonormal d x k matrices, spread everywhere or around the last choice.

They look random and depend on no data but on what was released before. Numbers come from a counter that is mixed by
the finalizer of SplitMix64 (Steele, Lea and Flood, 2014), so that every round has numbers of its own.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_ROUND_BITS = 40  # a round uses fewer than 2^40 numbers


def spread_candidates(n_candidates: int, shape: tuple[int, int]) -> FloatArray:
    """Candidates of the first round, spread evenly over all subspaces; the same in every fit.

    Returns
    -------
    ndarray of shape (n_candidates, d, k)
        Orthonormal columns.
    """
    d, k = shape
    normals = ndtri(scatter_uniforms(0, n_candidates * d * k)).reshape(n_candidates, d, k)
    return _orthonormalize(normals)


def nearby_candidates(center: FloatArray, n_candidates: int, radius: float, number: int) -> FloatArray:
    """Candidates of a later round: `center` itself, which comes first, and others around it.

    Parameters
    ----------
    center : ndarray of shape (d, k)
        Orthonormal columns.
    n_candidates : int
    radius : float
        Largest root mean square of the tangents of the k angles to the center. Smaller ones are equally frequent, so
        that candidates are denser near the center.
    number : int >= 1
        Of the round: each has its own directions.
    """
    d, k = center.shape
    uniforms = scatter_uniforms(number, n_candidates * (d * k + 1))
    lengths = radius * math.sqrt(k) * uniforms[:n_candidates, None, None]
    directions = ndtri(uniforms[n_candidates:]).reshape(n_candidates, d, k)
    with one_blas_thread():
        directions -= center @ (center.T @ directions)
    norms = np.sqrt(np.sum(directions * directions, axis=(1, 2), keepdims=True))
    # Where k = d nothing but rounding errors is left of the directions, and every candidate is the center.
    moves = directions * (lengths / norms) if k < d else 0.0 * directions
    candidates = _orthonormalize(center + moves)
    candidates[0] = center
    return candidates


def scatter_uniforms(number: int, size: int) -> FloatArray:
    """Numbers in (0, 1) that look independent and uniform, the same for all data; `number` names the round."""
    counters = np.arange(1, size + 1, dtype=np.uint64) + np.uint64(number << _ROUND_BITS)
    words = counters * np.uint64(_GOLDEN)
    for shift, factor in _MIX:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    words ^= words >> np.uint64(31)
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _orthonormalize(matrices: FloatArray) -> FloatArray:
    with one_blas_thread():
        Q: FloatArray = np.linalg.qr(matrices)[0]
    return Q
