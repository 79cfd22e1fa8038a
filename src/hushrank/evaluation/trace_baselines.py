"""What a private trace regression is compared with: least squares without privacy, and a simple private rival.

Answers are y_i = <X_i, M> + noise with M of low rank. Measurements X come in the three forms of
`hushrank.evaluation.trace_data.TraceRecords`. Both functions hold the data in memory and read them in chunks.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.linalg.fixed_rank import FixedRank, nearest_of_rank, shrink_singular_values, step_along
from hushrank.linalg.histogram import geometric_grid, integer_histogram
from hushrank.linalg.integer_sums import integer_sum
from hushrank.linalg.quantize import SumLattice, quantize_rows
from hushrank.parameters import DEFAULT_N_MAX, check_integer
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget, Unit
from hushrank.privacy.noise.source import NoiseSource

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]
Shape = tuple[int, int]
Map = Callable[[FloatArray], FloatArray]

RIVAL_SHARES = (0.3, 0.05, 0.15, 0.5)
"""Shares of the budget of the rival: of its start, and of its steps."""

_SEARCH_SHARE = 0.1  # of the share of a step, for its clip bound
_CHUNK_VALUES = 1 << 18
_FIRST_WINDOW = 2.0**-20, 2.0**20  # where the first clip bound is searched for


def trace_regression_without_privacy(
    X: Any, y: Any, design: str, shape: Shape, rank: int, *, steps: int = 500, tol: float = 1e-7
) -> FloatArray:
    """Least squares over matrices of this rank. NOT PRIVATE.

    A spectral start, then Riemannian conjugate gradients with exact line searches, in coordinates in which rows and
    columns of X have unit second moments. It ends when a step is shorter than `tol` of the matrix.

    Parameters
    ----------
    X, y, design :
        As in `TraceRecords`.
    shape : pair of int
    rank : int
    steps : int
        Most steps.
    tol : float

    Returns
    -------
    coef : ndarray of `shape`

    Examples
    --------
    >>> from hushrank.evaluation.trace_data import trace_records
    >>> data = trace_records(2000, (6, 5), 2, noise=0.0, seed=0)
    >>> coef = trace_regression_without_privacy(data.X, data.y, "dense", (6, 5), 2)
    >>> data.relative_error(coef) < 1e-6
    True
    """
    _check(design, shape, rank, "trace_regression_without_privacy")
    sums = _SUMS[design](X, np.asarray(y, np.float64), shape)
    left, right = (_inverse_root(gram) for gram in sums.grams)

    def normal(M: FloatArray) -> FloatArray:
        return np.asarray(left @ sums.normal(left @ M @ right) @ right)

    point = _descend(normal, left @ sums.moment @ right, rank, steps, tol)
    return np.asarray(left @ point.matrix @ right)


def full_matrix_descent(
    X: Any,
    y: Any,
    design: str,
    shape: Shape,
    rank: int,
    *,
    epsilon: float,
    delta: float,
    shares: Sequence[float] = RIVAL_SHARES,
    level: float = 0.5,
    noise: NoiseSource | None = None,
) -> FloatArray:
    """The simple private rival: gradient steps with noise on all d1 d2 entries, each cut to the rank afterwards.

    Every record's gradient is shortened to the quantile `level` of their norms, which a noisy search finds, and the sum
    is divided by `level` times the number of records, which is public. Private for replaced records whatever numbers
    they hold; indices of entries must be inside of the matrix. X must be about isotropic, as steps have length 1.

    Parameters
    ----------
    X, y, design, shape, rank :
        As in `trace_regression_without_privacy`.
    epsilon, delta : float
    shares : sequence of float
        Of the budget: the first for the start, which is the mean of y X, the others for steps.
    level : float
        Between 0 and 1.
    noise : NoiseSource, optional
        Where the noise comes from and releases are logged.

    Returns
    -------
    coef : ndarray of `shape`
    """
    _check(design, shape, rank, "full_matrix_descent")
    budget, answers = Budget(epsilon, delta, unit=Unit.RECORD), np.asarray(y, np.float64)
    source = NoiseSource() if noise is None else noise
    releases = AdaptiveReleases(
        calibrate(budget), budget.neighbors, DEFAULT_N_MAX, source, _no_blocks, n_people=len(answers)
    )
    # In units in which measurements of entries are as large as those of the other designs.
    unit = float(np.sqrt(shape[0] * shape[1])) if design == "entry" else 1.0
    M, grid, weight = np.zeros(shape), geometric_grid(*_FIRST_WINDOW, 160), 1.0 / (level * len(answers))
    for number, share in enumerate(shares):
        with np.errstate(all="ignore"):  # answers may be anything
            residuals, norms = _gradients(X, answers, design, unit * M)
            bound = releases.quantile_of(integer_histogram(unit * norms, grid), grid, level, _SEARCH_SHARE * share)
            lattice = releases.vector_lattice(bound, (1.0 - _SEARCH_SHARE) * share)
            total = _integer_total(X, unit * residuals, design, shape, lattice)
        gradient = weight * releases.release(total, lattice).reshape(shape)
        U, s, V = nearest_of_rank(M - gradient, rank)
        M = (U * (s if number else shrink_singular_values(s, shape, weight * lattice.scale))) @ V.T
        grid = geometric_grid(bound * 2.0**-5.75, bound * 4.0, 32)  # residuals fall
    return np.asarray(unit * M)


def _check(design: str, shape: Shape, rank: int, owner: str) -> None:
    check_integer(rank, "rank", owner, minimum=1, maximum=min(shape))
    if design not in _SUMS:
        raise InvalidParameter(owner, "design", "one of " + ", ".join(map(repr, _SUMS)), design)


def _no_blocks(kernel: Any, state: Any) -> Any:
    raise AssertionError("not reached: totals are made outside of the releases")


# Descent over matrices of one rank


def _descend(normal: Map, moment: FloatArray, rank: int, steps: int, tol: float) -> FixedRank:
    """Minimize <M, normal(M)> / 2 - <M, moment> over matrices of this rank, by conjugate gradients."""
    start = nearest_of_rank(moment, rank)
    scale = _inner(start.matrix, moment) / max(_inner(start.matrix, normal(start.matrix)), np.finfo(float).tiny)
    point = start._replace(s=start.s * scale)
    image, direction, before = normal(point.matrix), np.zeros(moment.shape), np.zeros(moment.shape)
    for _ in range(steps):
        gradient = _tangent(image - moment, point)
        # Polak and Ribiere, never negative; what is left from the last step is projected to the new tangent space.
        change = _inner(gradient, gradient - _tangent(before, point))
        beta = max(change, 0.0) / max(_inner(before, before), np.finfo(float).tiny) if before.any() else 0.0
        direction = beta * _tangent(direction, point) - gradient
        if _inner(gradient, direction) >= 0.0:
            direction = -gradient
        curvature = _inner(direction, normal(direction))
        length = -_inner(gradient, direction) / max(curvature, np.finfo(float).tiny)
        point, image, length = _search(normal, moment, (point, image), direction, length)
        before = gradient
        if length * np.linalg.norm(direction) <= tol * np.linalg.norm(point.s):
            break
    return point


def _search(
    normal: Map, moment: FloatArray, state: tuple[FixedRank, FloatArray], direction: FloatArray, length: float
) -> tuple[FixedRank, FloatArray, float]:
    """A step of this length, exact for the tangent space, or shorter where the retraction loses too much."""
    point, image = state
    value = _inner(point.matrix, image) / 2.0 - _inner(point.matrix, moment)
    P = point.U.T @ direction
    Q = direction @ point.V - point.U @ (P @ point.V)
    for _ in range(20):
        new = step_along(point, length * P, length * Q)
        new_image = normal(new.matrix)
        if _inner(new.matrix, new_image) / 2.0 - _inner(new.matrix, moment) <= value + 1e-12 * abs(value):
            return new, new_image, length
        length /= 4.0
    return point, image, 0.0


def _tangent(G: FloatArray, point: FixedRank) -> FloatArray:
    """Projection of a matrix to the tangent space at a point."""
    P = point.U.T @ G
    return np.asarray(point.U @ P + (G @ point.V - point.U @ (P @ point.V)) @ point.V.T)


def _inner(A: FloatArray, B: FloatArray) -> float:
    return float(np.vdot(A, B))


# Records in chunks, and what least squares needs of them


def _parts(n: int, width: int) -> Iterator[slice]:
    step = max(_CHUNK_VALUES // width, 1)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _rows_of(X: Any, design: str, shape: Shape) -> Iterator[tuple[slice, FloatArray]]:
    """Measurements as rows of d1 d2 numbers, in chunks."""
    size = shape[0] * shape[1]
    for part in _parts(len(X if design == "dense" else X[0]), size):
        if design == "dense":
            yield part, np.asarray(X[part], np.float64).reshape(-1, size)
        else:
            x, z = (np.asarray(side[part], np.float64) for side in X)
            yield part, (x[:, :, None] * z[:, None, :]).reshape(-1, size)


class _Sums(NamedTuple):
    normal: Map  # of M: the sum of <X_i, M> X_i
    moment: FloatArray  # the sum of y_i X_i
    grams: tuple[FloatArray, FloatArray]  # second moments of rows and of columns, each up to a factor


def _dense_sums(X: Any, y: FloatArray, shape: Shape) -> _Sums:
    def normal(M: FloatArray) -> FloatArray:
        total = np.zeros(M.size)
        for _, rows in _rows_of(X, "dense", shape):
            total += (rows @ M.ravel()) @ rows
        return total.reshape(shape)

    moment, left, right = np.zeros(shape), np.zeros((shape[0],) * 2), np.zeros((shape[1],) * 2)
    for part, rows in _rows_of(X, "dense", shape):
        moment += (y[part] @ rows).reshape(shape)
        columns = np.swapaxes(rows.reshape(-1, *shape), 1, 2).reshape(-1, shape[0])
        left += columns.T @ columns
        right += rows.reshape(-1, shape[1]).T @ rows.reshape(-1, shape[1])
    return _Sums(normal, moment, (left, right))


def _rank_one_sums(X: Any, y: FloatArray, shape: Shape) -> _Sums:
    def blocks() -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        for part in _parts(len(y), sum(shape)):
            yield part, np.asarray(X[0][part], np.float64), np.asarray(X[1][part], np.float64)

    def normal(M: FloatArray) -> FloatArray:
        total = np.zeros(shape)
        for _, x, z in blocks():
            total += (x * np.einsum("ij,ij->i", x @ M, z)[:, None]).T @ z
        return total

    moment, left, right = np.zeros(shape), np.zeros((shape[0],) * 2), np.zeros((shape[1],) * 2)
    for part, x, z in blocks():
        moment += (x * y[part, None]).T @ z
        left += x.T @ x
        right += z.T @ z
    return _Sums(normal, moment, (left, right))


def _entry_sums(X: Any, y: FloatArray, shape: Shape) -> _Sums:
    """Numbers of records and sums of answers of every entry are all there is to know."""
    places, size = np.ravel_multi_index(X, shape), shape[0] * shape[1]
    counts = np.bincount(places, minlength=size).reshape(shape).astype(np.float64)
    moment = np.asarray(np.bincount(places, y, size), np.float64).reshape(shape)
    return _Sums(lambda M: counts * M, moment, (np.diag(counts.sum(axis=1)), np.diag(counts.sum(axis=0))))


_SUMS = {"dense": _dense_sums, "rank_one": _rank_one_sums, "entry": _entry_sums}


def _inverse_root(gram: FloatArray) -> FloatArray:
    """Inverse root of a second moment; directions that hardly occur are left as short as they are."""
    values, axes = np.linalg.eigh(gram)
    return np.asarray((axes / np.sqrt(np.maximum(values, 1e-6 * max(values[-1], np.finfo(float).tiny)))) @ axes.T)


# What the rival needs of them


def _gradients(X: Any, y: FloatArray, design: str, M: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Residuals <X_i, M> - y_i and the norms of the gradients, |residual| times the norm of X_i."""
    if design == "entry":
        residuals = M[X] - y
        return residuals, np.abs(residuals)
    predicted, norms = np.empty(len(y)), np.empty(len(y))
    for part, rows in _rows_of(X, design, M.shape):
        predicted[part], norms[part] = rows @ M.ravel(), np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return predicted - y, np.abs(predicted - y) * norms


def _integer_total(X: Any, residuals: FloatArray, design: str, shape: Shape, lattice: SumLattice) -> IntegerArray:
    """Sum of residuals times X_i, each shortened to the bound of the lattice and rounded, as a vector."""
    total = np.zeros(shape[0] * shape[1], np.int64)
    if design == "entry":
        rounded = quantize_rows(residuals[:, None], lattice.norm_bound, lattice.squared_bound)[:, 0]
        np.add.at(total, np.ravel_multi_index(X, shape), rounded.astype(np.int64))
    else:
        for part, rows in _rows_of(X, design, shape):
            total += integer_sum(residuals[part, None] * rows, lattice)
    return total
