"""Projections of rank k with density exp(-<diag(costs), P>), real or complex, by rejection; for low concentration.

Proposal   P = projection onto the columns of Omega^(-1/2) G, G a d x k normal matrix, Omega = 1 + 2 costs / (beta b):
           matrix angular central Gaussian, density |Omega|^(beta k/2) |X^* Omega X|^(-beta d/2) for P = X X^*.
Envelope   with s_1 <= ... <= s_k the eigenvalues of X^* diag(costs) X, the log ratio of target and proposal is
           sum_j phi(s_j), phi(u) = -u + (beta d/2) log(1 + 2u / (beta b)), increasing up to u* = beta (d - b) / 2 and
           decreasing after it. Interlacing, costs_j <= s_j <= costs_{d-k+j}, bounds it by
           log C = sum_j phi(clip(u*, costs_j, costs_{d-k+j})), for every b > 0.
Rounding   costs may be large and spread, and then s_j is only known to many units: everything is taken relative to
           its value at P_0 = diag(1, ..., 1, 0, ..., 0) and computed from T = X_2 X_1^-1 without cancellation.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit.law import Draw, Factor, FloatArray, OrbitLaw
from hushrank.orbit.sphere import AngularEnvelope, check_costs, first_accepted
from hushrank.privacy.noise.continuous import normals
from hushrank.privacy.noise.keystream import Keystream

_GRID_SIZE, _GRIDS = 64, 3  # of the search for b: each grid spans the neighbors of the best point before


@dataclass(frozen=True, slots=True, eq=False)
class StiefelEnvelope(AngularEnvelope):
    """Matrix angular central Gaussian proposals for exp(-<diag(costs), P>), and their bound.

    Attributes
    ----------
    costs : ndarray of shape (d,)
        In rising order; the first is 0.
    rank : int
        k.
    is_complex : bool
        Whether P is complex.
    b : float
        The parameter of the proposals and of the bound.
    scales : ndarray of shape (d,)
        1 / sqrt(Omega): standard deviations of the rows of the proposals.
    log_constant : float
        log C - sum_{j <= k} phi(costs_j), never below 0.
    """

    costs: FloatArray
    rank: int
    is_complex: bool
    b: float
    scales: FloatArray
    log_constant: float

    def log_ratio(self, excess: FloatArray, log_growth: FloatArray) -> FloatArray:
        """Logarithm of the acceptance probability of proposals; never above 0.

        Parameters
        ----------
        excess : ndarray
            <diag(costs), P> - sum_{j <= k} costs_j.
        log_growth : ndarray
            log |X^* Omega X| - sum_{j <= k} log Omega_j.
        """
        half = self.beta * len(self.costs) / 2.0
        ratio: FloatArray = half * log_growth - excess - self.log_constant
        return ratio


def stiefel_envelope(costs: ArrayLike, rank: int, is_complex: bool, *, b: float | None = None) -> StiefelEnvelope:
    """Set up the proposals for exp(-<diag(costs), P>).

    Parameters
    ----------
    costs : array-like of shape (d,)
        Finite, in rising order. Only differences count: the first is set to 0.
    rank : int
        Between 1 and d - 1.
    is_complex : bool
        Whether P is complex.
    b : float, optional
        Positive; by default nearly the best one. Every b gives the same law and another acceptance.

    Examples
    --------
    >>> stiefel_envelope([0.0, 0.0, 0.0], 2, is_complex=True).log_constant
    0.0
    """
    a = check_costs(costs, "stiefel_envelope")
    if (np.diff(a) < 0).any():
        raise InvalidParameter("stiefel_envelope", "costs", "in rising order", costs)
    if not 1 <= rank < len(a):
        raise InvalidParameter("stiefel_envelope", "rank", f"between 1 and {len(a) - 1}", rank)
    beta = 2 if is_complex else 1
    b = _best_parameter(a, rank, beta) if b is None else float(b)
    scales = 1.0 / np.sqrt(1.0 + 2.0 * a / (beta * b))
    return StiefelEnvelope(a, rank, is_complex, b, scales, float(_log_constant(a, rank, beta, np.array([b]))[0]))


def _log_constant(a: FloatArray, k: int, beta: int, b: FloatArray) -> FloatArray:
    """sum_j phi(u_j) - phi(costs_j) at the clipped maximizers u_j >= costs_j, for each entry of b."""
    low, high, b = a[:k], a[-k:], b[:, np.newaxis]
    step = np.clip(beta * (len(a) - b) / 2.0, low, high) - low
    constant: FloatArray = np.sum(beta * len(a) / 2.0 * np.log1p(step / (beta * b / 2.0 + low)) - step, axis=1)
    return constant


def _best_parameter(a: FloatArray, k: int, beta: int) -> float:
    """A b that nearly minimizes log C - (beta k/2) log |Omega|: grids around the best point of the one before."""
    low, high = math.log(1e-3), math.log(max(1e4 * len(a), a[-1]))
    for _ in range(_GRIDS):
        grid = np.linspace(low, high, _GRID_SIZE)
        b = np.exp(grid)
        log_omega = np.log1p(2.0 * a / (beta * b[:, np.newaxis]))
        base = len(a) * log_omega[:, :k].sum(axis=1) - k * log_omega.sum(axis=1)
        best = int(np.argmin(_log_constant(a, k, beta, b) + beta / 2.0 * base))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, _GRID_SIZE - 1)]
    return float(b[best])


def draw(law: OrbitLaw, stream: Keystream, *, limit: int | None = 10**6) -> Draw:
    """Draw from a law with equal levels; `limit` counts proposals, None sets none.

    Examples
    --------
    >>> law = OrbitLaw([2.0, 1.0, 0.0, 0.0], [1.0, 1.0], is_complex=False)
    >>> X = draw(law, Keystream()).factor
    >>> bool(np.allclose(X.T @ X, np.eye(2), rtol=0, atol=1e-12))
    True
    """
    if not law.is_projection:
        raise InvalidParameter("stiefel.draw", "law", "one with equal levels", law.levels)
    k, d = law.rank, law.dimension
    if 2 * k <= d:
        basis, tries = _draw_basis(law.costs, k, law.is_complex, stream, limit)
    elif k < d:
        # 1 - P has rank d - k < k and the costs in reverse: smaller matrices, more acceptance (k = d - 1: as `sphere`).
        other, tries = _draw_basis((law.costs[-1] - law.costs)[::-1], d - k, law.is_complex, stream, limit)
        basis = np.linalg.qr(other[::-1], mode="complete").Q[:, d - k :]
    else:
        basis, tries = np.eye(d, dtype=np.complex128) if law.is_complex else np.eye(d), 0  # the only projection
    return Draw(math.sqrt(law.levels[0]) * basis, tries)


def _draw_basis(
    costs: FloatArray, k: int, is_complex: bool, stream: Keystream, limit: int | None
) -> tuple[Factor, int]:
    """Orthonormal basis of the range of P, and the number of proposals that it took."""
    envelope = stiefel_envelope(costs, k, is_complex)
    entries = envelope.beta * len(costs) * k
    found = first_accepted(lambda n: propose(envelope, n, stream), stream, entries=entries, limit=limit)
    if found is None:
        instead = "ball, rows or coupling" if is_complex else "two-sided Wishart noise or a complex law"
        reason = f"none of {limit} proposals was accepted, the law is too concentrated: use {instead}"
        raise SamplingFailed("stiefel", reason)
    transposed, tries = found
    return np.linalg.qr(np.vstack([np.eye(k), transposed.T])).Q, tries


def propose(envelope: StiefelEnvelope, n: int, stream: Keystream) -> tuple[Factor, FloatArray]:
    """Transposes, k x (d - k), of T = X_2 X_1^-1 of `n` proposals, and their log ratios.

    P = [1; T] (1 + T^* T)^-1 [1, T^*], and T = D_2 W D_1^-1 with W = G_2 G_1^-1, D = Omega^(-1/2).
    """
    k, d = envelope.rank, len(envelope.costs)
    G = normals((n, k, d), stream)  # transposed: the k columns of a proposal are its rows here
    if envelope.is_complex:
        G = G + 1j * normals((n, k, d), stream)
    W = np.linalg.solve(G[:, :, :k], G[:, :, k:])
    T = W * (envelope.scales[k:] / envelope.scales[:k, np.newaxis])
    # Singular vectors V of T, and T V row by row: P_ii = sum_m |(T V)_im|^2 / (1 + s_m^2) for i > k and
    # 1 - P_jj = sum_m |V_jm|^2 s_m^2 / (1 + s_m^2) for j <= k, all terms positive, and large costs meet small rows.
    V, s, _ = np.linalg.svd(T, full_matrices=False)
    shrink = 1.0 / (1.0 + s**2)
    entered = np.einsum("nmi,nm->ni", np.abs(np.conj(np.swapaxes(V, 1, 2)) @ T) ** 2, shrink)
    left = np.einsum("njm,nm->nj", np.abs(V) ** 2, s**2 * shrink)
    pivot = envelope.costs[k - 1]
    excess = entered @ (envelope.costs[k:] - pivot) + left @ (pivot - envelope.costs[:k])
    log_growth = np.log1p(np.linalg.svd(W, compute_uv=False) ** 2).sum(axis=1) - np.log1p(s**2).sum(axis=1)
    return T, envelope.log_ratio(excess, log_growth)
