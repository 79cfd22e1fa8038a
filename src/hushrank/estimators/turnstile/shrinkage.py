"""How much of a noisy sketch is signal: singular values of a noisy matrix, and coefficients in a noisy basis.

Functions of released arrays and of the known scale of their noise alone. They return zero where nothing stands above
the noise: the edge of the singular values of pure noise is known.
"""

import math

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ALONE, TOGETHER = 6.0, 3.0
"""How far above the edge of pure noise a singular value must be, in units of its fluctuation (Tracy-Widom).

Noise alone passed 6 of them in none of 10^5 simulated matrices of eight shapes from (1, 1) to (10, 10) and (1, 1000),
and 3 in fewer than one of 1000. Where only what passes in two sketches with independent noise counts, 3 will do.
"""

_SAFETY = 2.0  # standard deviations that are added to an estimate of the noise
_ROUNDING = 1e-13  # of an energy


def noise_edge(noise: float, n_rows: int, n_columns: int, margin: float = TOGETHER) -> float:
    """A value that the largest singular value of independent normal noise hardly exceeds; see `ALONE`, `TOGETHER`.

    Examples
    --------
    >>> round(noise_edge(1.0, 400, 100, 0.0), 12)
    30.0
    """
    a, b = math.sqrt(n_rows), math.sqrt(n_columns)
    return noise * (a + b + 0.5 * margin * math.cbrt(1.0 / a + 1.0 / b))


def shrink_values(values: FloatArray, noise: float, shape: tuple[int, int]) -> FloatArray:
    """Singular values of a signal from those of signal plus noise: the shrinkage of least Frobenius error.

    Gavish and Donoho, Optimal shrinkage of singular values, 2017; and zero where noise alone may have made them.

    Examples
    --------
    >>> shrink_values(np.array([100.0, 40.0, 20.0]), 1.0, (400, 100)).round(1)
    array([94.9, 25.6,  0. ])
    """
    longer, shorter = math.sqrt(max(shape)), math.sqrt(min(shape))
    is_above = values > noise_edge(noise, *shape, ALONE)
    seen = np.where(is_above, values, np.inf)
    upper, lower = (noise * (longer + side * shorter) / seen for side in (1.0, -1.0))
    shrunk: FloatArray = np.where(is_above, values, 0.0) * np.sqrt((1.0 - upper**2) * (1.0 - lower**2))
    return shrunk


def left_regression(
    SU: FloatArray, W: FloatArray, energies: FloatArray, expected_rest: float, noise: float
) -> FloatArray:
    """L of shape (r, v) such that L W estimates B, where W = S (U B + rest) + noise and SU = S U is known.

    The estimate is that of least mean square error among linear ones, under a prior that is between the guess and what
    one step of expectation maximization makes of it. The rest counts as noise. It is estimated from what W has outside
    of SU, and two standard deviations are added: B is shrunk too much where few rows are left to see the rest.

    Parameters
    ----------
    SU : ndarray of shape (v, r)
        With v > r.
    W : ndarray of shape (v, n)
    energies : ndarray of shape (r,)
        Guess of the squared norms of the rows of B.
    expected_rest : float
        Guess of the energy that the rest has in a row of W. It counts as r rows do.
    noise : float
        Standard deviation of the noise of W.
    """
    (v, r), n = SU.shape, W.shape[1]
    free, known = v - r, n * noise * noise
    Q, R = scipy.linalg.qr(SU, mode="economic")
    rest, n_equal = _rest_outside(Q, W, noise)
    rest = (free * rest + r * max(rest, expected_rest)) / v
    total = (known + rest) * (1.0 + _SAFETY * math.sqrt(2.0 / (free * n_equal)))
    left, values, _ = scipy.linalg.svd(Q.T @ W, full_matrices=False)
    is_above = values > noise_edge(noise, n, r, TOGETHER)
    left, values = left[:, is_above], values[is_above]
    weights = _learned_weights(R, left * values, energies, total, free / v)
    found: FloatArray = (weights @ left) @ (left.T @ Q.T)
    return found


def _rest_outside(Q: FloatArray, W: FloatArray, noise: float) -> tuple[float, float]:
    """Energy of a row of W outside of Q beyond the noise, and how many columns of equal variance would look like it.

    Rows of W outside of Q are normal with one covariance C, of which trace(C) and trace(C^2) are estimated without
    bias; the number is trace(C)^2 / trace(C^2).
    """
    n, free = W.shape[1], len(Q) - Q.shape[1]
    G = W @ W.T
    G -= Q @ (Q.T @ G)
    G -= (G @ Q) @ Q.T
    trace, squares, known = max(float(np.trace(G)), 0.0), float(np.sum(G * G)), n * noise * noise
    rest = max(trace / free - known, 0.0)
    total = known + rest
    spread = n * noise**4 + 2.0 * noise * noise * rest + rest * rest  # the most: all of the rest in one direction
    if free > 1:
        measured = (free * squares - trace * trace) / (free * (free - 1) * (free + 2))
        spread = min(spread, max(measured, total * total / n))
    return rest, max(total * total / spread, 1.0) if spread > 0.0 else float(n)


def _learned_weights(R: FloatArray, seen: FloatArray, energies: FloatArray, total: float, share: float) -> FloatArray:
    """Weights for R B + noise with the Gram matrix `seen seen^T`; `share` of the prior is learned from it."""
    prior = np.diag(energies)
    weights = _weights(prior, R, total)
    learned = weights @ (seen @ seen.T) @ weights.T + prior - weights @ R @ prior
    prior = share * learned + (1.0 - share) * prior
    return _weights((prior + prior.T) / 2.0, R, total)


def _weights(prior: FloatArray, R: FloatArray, total: float) -> FloatArray:
    crossed = prior @ R.T
    gram = R @ crossed
    floor = max(total, _ROUNDING * float(np.trace(gram)), 1e-200)
    return np.asarray(np.linalg.solve(gram + floor * np.eye(len(R)), crossed.T).T, np.float64)
