"""From released sketches to a factorization: post-processing, for every kind of sketch.

Ours take the leading directions of one sketch, as many as stand above its noise, and their coefficients from another,
by a regression that knows the noise (`shrinkage`); where nothing stands above the noise, singular values are zero. Its
constants were chosen on planted and count matrices of 2000 x 1500 and on 36 small matrices of many spectra and shapes,
with Gaussian sketches of widths down to one, at noise from none to thirty times the signal. On 1000 other random
matrices with widths of at least the rank, the error of no mean of three draws was above 1.013 of that of zero, and of
no single draw above 1.04. Signs of one per column, with empty rows, were added after they had failed there.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hushrank.estimators.turnstile.shrinkage import left_regression, noise_edge, shrink_values
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.threads import one_blas_thread
from hushrank.parameters import check_integer

FloatArray = NDArray[np.float64]
Apply = Callable[[FloatArray], FloatArray]

_ROUNDING = 1e-7  # of singular values by their squares
_NOTHING = 1e-12  # of the largest singular value: rounding errors of a matrix of smaller rank
_LARGEST_EXPONENT = 100  # fourth powers of numbers up to 2^100 are far from overflow, and of 2^-100 from underflow
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_KRYLOV_STEPS, _KRYLOV_EXTRA = 8, 10  # as accurate as the whole decomposition where a value stands above the noise


class Factors(NamedTuple):
    """U diag(s) Vt: orthonormal columns and rows, and singular values in falling order, none of them negative.

    There are always as many as the rank that was asked for, all finite. The entry of largest magnitude in a column of U
    is positive. Where a singular value is zero, its vectors mean nothing.
    """

    U: FloatArray
    s: FloatArray
    Vt: FloatArray


def decode_two(
    columns: FloatArray, rows: FloatArray, apply_S: Apply, rank: int, noise: float, row_noise: float | None = None
) -> Factors:
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
        Standard deviation of the noise of `columns`.
    row_noise : float, optional
        That of `rows`, if it is another.
    """
    (m, t), (v, n) = columns.shape, rows.shape
    row_noise = noise if row_noise is None else row_noise
    rank, exponent = _check_rank(rank, m, n), _exponent(columns, rows)
    columns, rows = _scale(columns, exponent), _scale(rows, exponent)
    noise, row_noise = _scale_noise(noise, exponent), _scale_noise(row_noise, exponent)
    with one_blas_thread():
        U, energies = _leading(columns, min(rank, _most_directions(t, v)), noise)
        SU, is_used = _apply(apply_S, U)
        U, SU, rows = _within(U, t, is_used), _within(SU[is_used], t, is_used), _take(rows, is_used)
        if not U.shape[1]:
            return _nothing(m, n, rank)
        v = len(SU)
        prior, rest = _prior(energies, U.shape[1], m, noise, _rest_of(SU, rows, row_noise))
        B = left_regression(SU, rows, prior, rest / v, row_noise) @ rows
        left, s, Vt = scipy.linalg.svd(B, full_matrices=False)
        return _complete(U @ left, s, Vt, rank, exponent)


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
    rank, exponent = _check_rank(rank, m, n), _exponent(columns, rows, core)
    columns, rows, core = (_scale(array, exponent) for array in (columns, rows, core))
    noise, core_noise = _scale_noise(noise, exponent), _scale_noise(core_noise, exponent)
    with one_blas_thread():
        most = min(rank, _most_directions(t, v))
        (U, left_energies), (V, right_energies) = (_leading(Y, most, noise) for Y in (columns, rows.T))
        (SU, left_used), (TV, right_used) = _apply(apply_S, U), _apply(apply_T, V)
        U, SU = _within(U, t, left_used), _within(SU[left_used], t, left_used)
        V, TV = _within(V, t, right_used), _within(TV[right_used], t, right_used)
        core = _take(_take(core, left_used).T, right_used).T
        if not U.shape[1] or not V.shape[1]:
            return _nothing(m, n, rank)
        prior, rest = _prior(left_energies, U.shape[1], m, noise, _rest_of(SU, core, core_noise))
        inside = core @ scipy.linalg.qr(TV, mode="economic")[0]
        L = left_regression(SU, inside, prior, rest / len(SU), core_noise)
        prior, rest = _prior(right_energies, V.shape[1], n, noise, _rest_of(TV, core.T, core_noise))
        remaining = core_noise * float(np.sqrt(np.sum(L * L) / len(L)))
        R = left_regression(TV, (L @ core).T, prior, rest / len(TV), remaining)
        left, s, right = scipy.linalg.svd(L @ core @ R.T, full_matrices=False)
        return _complete(U @ left, s, right @ V.T, rank, exponent)


def decode_figure1(
    columns: FloatArray, rows: FloatArray, core: FloatArray, apply_S: Apply, apply_T: Apply, rank: int
) -> Factors:
    """Factorization from three sketches as the paper prints it: truncated in the sketched space, no shrinkage."""
    rank, exponent = _check_rank(rank, len(columns), rows.shape[1]), _exponent(columns, rows, core)
    columns, rows, core = (_scale(array, exponent) for array in (columns, rows, core))
    with one_blas_thread():
        U, V = (scipy.linalg.qr(Y, mode="economic")[0] for Y in (columns, rows.T))  # step 1
        left, right = _pseudo_inverse(apply_S(U)), _pseudo_inverse(apply_T(V))  # step 2
        a, s, b = scipy.linalg.svd(left[1].T @ core @ right[1], full_matrices=False)
        small = left[0] @ ((a[:, :rank] * s[:rank]) @ b[:rank]) @ right[0].T
        a, s, b = scipy.linalg.svd(small, full_matrices=False)  # step 3
        return _complete(U @ a[:, :rank], s[:rank], b[:rank] @ V.T, rank, exponent)


def decode_figure3(columns: FloatArray, rows: FloatArray, apply_S: Apply, rank: int) -> Factors:
    """Factorization from two sketches as the paper prints it (with the sketches in the places of its proof)."""
    rank, exponent = _check_rank(rank, len(columns), rows.shape[1]), _exponent(columns, rows)
    columns, rows = _scale(columns, exponent), _scale(rows, exponent)
    with one_blas_thread():
        U = scipy.linalg.qr(columns, mode="economic")[0]  # step 2
        inverse, basis = _pseudo_inverse(apply_S(U))  # step 3
        a, s, b = scipy.linalg.svd(basis.T @ rows, full_matrices=False)
        left, s, right = scipy.linalg.svd(inverse @ (a[:, :rank] * s[:rank]), full_matrices=False)  # step 4
        return _complete(U @ left, s, right @ b[:rank], rank, exponent)


def decode_full(M: FloatArray, rank: int, noise: float) -> Factors:
    """Factorization of a matrix with noise: its leading singular vectors, and values shrunk for the known noise."""
    rank, exponent = _check_rank(rank, *M.shape), _exponent(M)
    M, noise = _scale(M, exponent), _scale_noise(noise, exponent)
    with one_blas_thread():
        U, values, Vt = _leading_triplets(M, rank)
        return _complete(U, shrink_values(values, noise, M.shape), Vt, rank, exponent)


def _leading_triplets(M: FloatArray, rank: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leading singular triplets: of a small matrix by LAPACK, of a large one from a block Krylov space.

    The space starts at sums of every so many rows with signs of no regularity, so that it depends on nothing but M.
    """
    width = rank + _KRYLOV_EXTRA
    if 2 * (_KRYLOV_STEPS + 1) * width >= min(M.shape):
        U, values, Vt = scipy.linalg.svd(M, full_matrices=False)
        return U[:, :rank], values[:rank], Vt[:rank]
    places = np.arange(len(M))
    groups = np.zeros((len(M), width))
    groups[places, places % width] = np.where((places // width) * _GOLDEN % 1.0 < 0.5, 1.0, -1.0)
    blocks = [scipy.linalg.qr(M.T @ groups, mode="economic")[0]]
    for _ in range(_KRYLOV_STEPS):
        blocks.append(scipy.linalg.qr(M.T @ (M @ blocks[-1]), mode="economic")[0])
    Q = scipy.linalg.qr(np.hstack(blocks), mode="economic")[0]
    U, values, Vt = scipy.linalg.svd(M @ Q, full_matrices=False)
    return U[:, :rank], values[:rank], Vt[:rank] @ Q.T


def _most_directions(t: int, v: int) -> int:
    """So many that both sketches have something left to see the rest of the matrix."""
    return max(min(v - 1, (t + v - 2) // 2), 0)


def _apply(apply: Apply, U: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """S U, and which rows of S are not empty: those of sparse signs may be, and would look like rows without a rest."""
    probe = 0.5 + np.arange(len(U)) * _GOLDEN % 1.0  # of no regularity: no few of them cancel
    sketched = apply(np.column_stack([U, probe]))
    return sketched[:, :-1], sketched[:, -1] != 0.0


def _within(columns: FloatArray, t: int, is_used: NDArray[np.bool_]) -> FloatArray:
    """No more columns than the rows that are used allow."""
    return columns[:, : _most_directions(t, int(np.count_nonzero(is_used)))]


def _take(W: FloatArray, is_used: NDArray[np.bool_]) -> FloatArray:
    return W if is_used.all() else W[is_used]


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
    inside = scipy.linalg.qr(SU, mode="economic")[0].T @ W
    outside = float(np.einsum("ij,ij->", W, W)) - float(np.einsum("ij,ij->", inside, inside))
    return float(v * max(outside / (v - r) - W.shape[1] * noise * noise, 0.0))


def _prior(energies: FloatArray, r: int, m: int, noise: float, other_rest: float) -> tuple[FloatArray, float]:
    """Energies of the matrix along the r leading directions, and outside of them, from all energies of its sketch."""
    t = len(energies)
    own_rest = max(float(energies[r:].sum()) / (t - r) - m * noise * noise, 0.0) * t if t > r else 0.0
    rest = ((t - r) * own_rest + 2.0 * max(own_rest, other_rest)) / (t - r + 2.0)  # as if two more had been seen
    floor = rest / t + m * noise * noise
    leading = energies[:r]
    prior: FloatArray = np.maximum(leading - floor, 0.0) ** 2 / leading
    return prior, own_rest if t > r else other_rest


def _pseudo_inverse(SU: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P, and Q with orthonormal columns, such that P Q^T is the pseudo-inverse of SU."""
    left, values, right = scipy.linalg.svd(SU, full_matrices=False)
    kept = values > _NOTHING * float(values[0])
    return right[kept].T / values[kept], left[:, kept]


def _nothing(m: int, n: int, rank: int) -> Factors:
    return _complete(np.zeros((m, 0)), np.zeros(0), np.zeros((0, n)), rank, 0)


def _complete(U: FloatArray, s: FloatArray, Vt: FloatArray, rank: int, exponent: int) -> Factors:
    """All `rank` components in the units of the sketches: the missing ones with singular value zero."""
    U, Vt = _orthonormal(U, rank), _orthonormal(Vt.T, rank).T
    values = np.zeros(rank)
    values[: len(s)] = np.where(s > _NOTHING * np.max(s, initial=0.0), s, 0.0)
    with np.errstate(over="ignore"):
        values = np.minimum(np.ldexp(values, exponent), np.finfo(float).max)
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


def _check_rank(rank: int, m: int, n: int) -> int:
    return check_integer(rank, "rank", "Factors", minimum=1, maximum=min(m, n))


def _exponent(*arrays: FloatArray) -> int:
    """Power of two by which arrays are divided; zero unless fourth powers of their entries may be out of range."""
    largest = float(np.max([max(array.max(), -array.min()) for array in arrays]))
    if not math.isfinite(largest):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise InvalidParameter("Factors", "sketches", "made of finite numbers", f"arrays of shapes {shapes}")
    exponent = math.frexp(largest)[1]
    return exponent if abs(exponent) > _LARGEST_EXPONENT else 0


def _scale(array: FloatArray, exponent: int) -> FloatArray:
    scaled: FloatArray = np.ldexp(array, -exponent) if exponent else array
    return scaled


def _scale_noise(noise: float, exponent: int) -> float:
    """At most a number that is above all entries and whose fourth power is in range."""
    with np.errstate(over="ignore"):
        return min(float(np.ldexp(noise, -exponent)), math.ldexp(1.0, 2 * _LARGEST_EXPONENT))
