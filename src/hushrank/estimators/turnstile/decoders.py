"""From released sketches to a factorization: post-processing, for every kind of sketch.

Ours take the leading directions of one sketch, as many as stand above its noise, and their coefficients from another,
by a regression that knows the noise (`shrinkage`); where nothing stands above the noise, singular values are zero. Its
constants were chosen on planted and count matrices of 2000 x 1500 and on 36 small matrices of many spectra and shapes,
with widths down to one, at noise from none to thirty times the signal.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from hushrank.estimators.turnstile.shrinkage import left_regression, noise_edge, shrink_values
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]
Apply = Callable[[FloatArray], FloatArray]

_ROUNDING = 1e-7  # of singular values by their squares
_NOTHING = 1e-12  # of the largest singular value: rounding errors of a matrix of smaller rank
_MOST_DENSE = 1500  # rows or columns of which all singular values are computed


class Factors(NamedTuple):
    """U diag(s) Vt: orthonormal columns and rows, and singular values in falling order, none of them negative."""

    U: FloatArray
    s: FloatArray
    Vt: FloatArray


def decode_two(columns: FloatArray, rows: FloatArray, apply_S: Apply, rank: int, noise: float) -> Factors:
    """Factorization from two sketches.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, t)
        A Phi^T with noise.
    rows : ndarray of shape (v, n_columns)
        S A with noise.
    apply_S : callable
        M -> S M; columns of S have norm 1, in expectation.
    rank : int
    noise : float
        Standard deviation of the noise of both.
    """
    (m, t), (v, n) = columns.shape, rows.shape
    with one_blas_thread():
        U, energies = _leading(columns, min(rank, n, _most_directions(t, v)), noise)
        if not U.shape[1]:
            return _complete(np.zeros((m, 0)), np.zeros(0), np.zeros((0, n)), rank)
        SU = apply_S(U)
        prior, rest = _prior(energies, U.shape[1], m, noise, _rest_of(SU, rows, noise))
        B = left_regression(SU, rows, prior, rest / v, noise) @ rows
        left, s, Vt = scipy.linalg.svd(B, full_matrices=False)
        return _complete(U @ left, s, Vt, rank)


def decode_three(
    columns: FloatArray,
    rows: FloatArray,
    core: FloatArray,
    apply_S: Apply,
    apply_T: Apply,
    rank: int,
    noise: float,
    core_noise: float,
) -> Factors:
    """Factorization from two sketches of width t and the core S A T^T of shape (v, v), with noise of its own."""
    (m, t), n, v = columns.shape, rows.shape[1], len(core)
    with one_blas_thread():
        most = _most_directions(t, v)
        (U, left_energies), (V, right_energies) = (_leading(Y, min(rank, most), noise) for Y in (columns, rows.T))
        if not U.shape[1] or not V.shape[1]:
            return _complete(np.zeros((m, 0)), np.zeros(0), np.zeros((0, n)), rank)
        SU, TV = apply_S(U), apply_T(V)
        prior, rest = _prior(left_energies, U.shape[1], m, noise, _rest_of(SU, core, core_noise))
        inside = core @ scipy.linalg.qr(TV, mode="economic")[0]
        L = left_regression(SU, inside, prior, rest / v, core_noise)
        prior, rest = _prior(right_energies, V.shape[1], n, noise, _rest_of(TV, core.T, core_noise))
        remaining = core_noise * float(np.sqrt(np.sum(L * L) / len(L)))
        R = left_regression(TV, (L @ core).T, prior, rest / v, remaining)
        left, s, right = scipy.linalg.svd(L @ core @ R.T, full_matrices=False)
        return _complete(U @ left, s, right @ V.T, rank)


def decode_figure1(
    columns: FloatArray, rows: FloatArray, core: FloatArray, apply_S: Apply, apply_T: Apply, rank: int
) -> Factors:
    """Factorization from three sketches as the paper prints it: truncated in the sketched space, no shrinkage."""
    with one_blas_thread():
        U, V = (scipy.linalg.qr(Y, mode="economic")[0] for Y in (columns, rows.T))
        left, right = _pseudo_inverse(apply_S(U)), _pseudo_inverse(apply_T(V))
        inner = left[1].T @ core @ right[1]
        a, s, b = scipy.linalg.svd(inner, full_matrices=False)
        small = left[0] @ ((a[:, :rank] * s[:rank]) @ b[:rank]) @ right[0].T
        a, s, b = scipy.linalg.svd(small, full_matrices=False)
        return _complete(U @ a[:, :rank], s[:rank], b[:rank] @ V.T, rank)


def decode_figure3(columns: FloatArray, rows: FloatArray, apply_S: Apply, rank: int) -> Factors:
    """Factorization from two sketches as the paper prints it (with the sketches in the places of its proof)."""
    with one_blas_thread():
        U = scipy.linalg.qr(columns, mode="economic")[0]
        inverse, basis = _pseudo_inverse(apply_S(U))
        a, s, b = scipy.linalg.svd(basis.T @ rows, full_matrices=False)
        small = inverse @ (a[:, :rank] * s[:rank])
        left, s, right = scipy.linalg.svd(small, full_matrices=False)
        return _complete(U @ left, s, right @ b[:rank], rank)


def decode_full(M: FloatArray, rank: int, noise: float) -> Factors:
    """Factorization of a matrix with noise: its leading singular vectors, and values shrunk for the known noise."""
    with one_blas_thread():
        if min(M.shape) <= max(_MOST_DENSE, 4 * rank):
            U, values, Vt = scipy.linalg.svd(M, full_matrices=False)
        else:
            start = np.ones(min(M.shape)) / np.sqrt(min(M.shape))
            U, values, Vt = svds(M, k=rank, v0=start, tol=1e-4)
            U, values, Vt = U[:, ::-1], values[::-1], Vt[::-1]
        return _complete(U[:, :rank], shrink_values(values[:rank], noise, M.shape), Vt[:rank], rank)


def _most_directions(t: int, v: int) -> int:
    """So many that both sketches have something left to see the rest of the matrix."""
    return max(min(v - 1, (t + v - 2) // 2), 0)


def _leading(Y: FloatArray, most: int, noise: float) -> tuple[FloatArray, FloatArray]:
    """Leading left directions above the noise, at most so many, and the energies of all, in falling order."""
    m, t = Y.shape
    energies, right = scipy.linalg.eigh(Y.T @ Y)
    energies, right = np.maximum(energies[::-1], 0.0), right[:, ::-1]
    values = np.sqrt(energies)
    edge = max(noise_edge(noise, m, t), _ROUNDING * float(values[0]))
    r = min(most, m, t, int(np.count_nonzero(values > edge)))
    U: FloatArray = scipy.linalg.qr(Y @ right[:, :r], mode="economic")[0] if r else np.zeros((m, 0))
    return U, energies


def _rest_of(SU: FloatArray, W: FloatArray, noise: float) -> float:
    """Energy of the matrix outside of U, as far as a sketch W = S A shows it beyond its noise."""
    v, r = SU.shape
    Q = scipy.linalg.qr(SU, mode="economic")[0]
    outside = float(np.sum(W * W)) - float(np.sum((Q.T @ W) ** 2))
    return max(outside / (v - r) - W.shape[1] * noise * noise, 0.0) * v


def _prior(energies: FloatArray, r: int, m: int, noise: float, other_rest: float) -> tuple[FloatArray, float]:
    """Energies of the matrix along the r leading directions, and outside of them, from all energies of its sketch."""
    t = len(energies)
    own_rest = max(float(energies[r:].sum()) / (t - r) - m * noise * noise, 0.0) * t if t > r else 0.0
    rest = ((t - r) * own_rest + 2.0 * max(own_rest, other_rest)) / (t - r + 2.0)  # as if two more had been seen
    floor = rest / t + m * noise * noise
    leading = energies[:r]
    prior: FloatArray = np.maximum(leading - floor, 0.0) ** 2 / np.maximum(leading, 1e-300)
    return prior, own_rest if t > r else other_rest


def _pseudo_inverse(SU: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P and Q with orthonormal columns such that P Q^T is the pseudo-inverse of SU."""
    left, values, right = scipy.linalg.svd(SU, full_matrices=False)
    kept = values > _ROUNDING * max(float(values[0]), 1e-300)
    return right[kept].T / values[kept], left[:, kept]


def _complete(U: FloatArray, s: FloatArray, Vt: FloatArray, rank: int) -> Factors:
    """All `rank` components: the missing ones with singular value zero, and signs by the largest entry of U."""
    U, Vt = _orthonormal(U, rank), _orthonormal(Vt.T, rank).T
    values = np.zeros(rank)
    values[: len(s)] = np.where(s > _NOTHING * np.max(s, initial=0.0), s, 0.0)
    largest = U[np.argmax(np.abs(U), axis=0), np.arange(rank)]
    signs = np.where(largest < 0.0, -1.0, 1.0)
    return Factors(U * signs, values, Vt * signs[:, None])


def _orthonormal(basis: FloatArray, rank: int) -> FloatArray:
    """The columns of a basis, and as many more, orthogonal to them, as there should be."""
    n, missing = len(basis), rank - basis.shape[1]
    if not missing:
        return basis
    more = scipy.linalg.qr(np.hstack([basis, np.eye(n, missing)]), mode="economic")[0]
    return np.hstack([basis, more[:, basis.shape[1] :]])
