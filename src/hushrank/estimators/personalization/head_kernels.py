"""What one user makes of this user's records, given a public subspace: a head, what it leaves, and a gradient.

Model      y_i = <x_i, B v> + noise with a head v ~ N(0, S); B is public, (d, k). With z_i = B^T x_i the posterior of
           the head is Gaussian for the squared loss, and taken as Gaussian about its mode (Laplace) for the logistic.
Gradient   of the log marginal likelihood in B, times the variance of the noise: sum_i x_i a_i^T with
           a_i = r_i v - w_i Sigma z_i, where r_i is the residual, Sigma the posterior covariance of the head and w_i
           the weight of record i (1 for the squared loss). In-sample heads need no other records: the second term
           removes what they explain of their own noise.
Records    one that is not finite, or whose products are not, counts as absent.
Bits       fixed order, no fastmath: those of a user depend on nothing but this user's records and public numbers.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, invert_factorized, solve_factorized

Numbers = NDArray[Any]  # float32 or float64

_NEWTON_STEPS = 12
_LONGEST_STEP = 2.0  # of a Newton step, in standard deviations of the prior
_SHORT_STEP = 1e-6
_LEAST_WEIGHT = 1e-6
_LARGEST_LOGIT = 30.0


class RecordArrays(NamedTuple):
    """Records of the users of a block, as in `UserRecordBlock`; those of user j lie at indptr[j] : indptr[j + 1]."""

    indptr: NDArray[np.int64]
    X: Numbers
    y: FloatArray


class HeadModel(NamedTuple):
    """What every user fits this user's records with; public.

    Attributes
    ----------
    subspace : ndarray of shape (k, d)
        B^T: the products of its rows with x are z.
    mean : ndarray of shape (k,)
        Prior mean of a head; a head is what is added to it. Zero for labels.
    precision : ndarray of shape (k, k)
        Inverse of the prior covariance of a head.
    noise : float
        Variance of the noise; 1 for the logistic loss.
    is_logistic : bool
        Whether answers are labels: above 0, or not.
    """

    subspace: FloatArray
    mean: FloatArray
    precision: FloatArray
    noise: float
    is_logistic: bool


class Workspace(NamedTuple):
    """Scratch of one user's regression.

    Attributes
    ----------
    Z : ndarray of shape (most records, k)
        Products of the usable records, in their order.
    rows : ndarray of shape (most records,)
        Where these records are.
    residuals, weights, answers : ndarray of shape (most records,)
    A, L, spread : ndarray of shape (k, k)
        Posterior precision times the noise, its Cholesky factor, and the inverse: the covariance over the noise.
    head, column : ndarray of shape (k,)
    """

    Z: FloatArray
    rows: NDArray[np.int64]
    residuals: FloatArray
    weights: FloatArray
    answers: FloatArray
    A: FloatArray
    L: FloatArray
    spread: FloatArray
    head: FloatArray
    column: FloatArray


class Fit(NamedTuple):
    """One user's regression in three numbers: usable records, their sum of squared residuals, information left over.

    The last is the sum of the weights less the degrees of freedom that the head has taken.
    """

    n_records: int
    squares: float
    information: float


@compiled
def most_records(indptr: NDArray[np.int64]) -> int:
    """Records of the user who has most."""
    most = 0
    for j in range(len(indptr) - 1):
        most = max(most, indptr[j + 1] - indptr[j])
    return most


@compiled
def new_workspace(indptr: NDArray[np.int64], k: int) -> Workspace:
    """A workspace for any user of a block, for heads of k numbers."""
    m = most_records(indptr)
    return Workspace(
        np.empty((m, k)), np.empty(m, np.int64), np.empty(m), np.empty(m), np.empty(m),
        np.empty((k, k)), np.empty((k, k)), np.empty((k, k)), np.empty(k), np.empty(k),
    )  # fmt: skip


@compiled
def inner_product(X: Numbers, i: int, B: FloatArray, a: int) -> float:
    """Product of row i of X and row a of B in float64, in four interleaved parts that a processor adds at once."""
    d = B.shape[1]
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    stop = d - d % 4
    for p in range(0, stop, 4):
        first += np.float64(X[i, p]) * B[a, p]
        second += np.float64(X[i, p + 1]) * B[a, p + 1]
        third += np.float64(X[i, p + 2]) * B[a, p + 2]
        fourth += np.float64(X[i, p + 3]) * B[a, p + 3]
    for p in range(stop, d):
        first += np.float64(X[i, p]) * B[a, p]
    return (first + second) + (third + fourth)


@compiled
def find_products(records: RecordArrays, j: int, model: HeadModel, first: int, every: int, work: Workspace) -> int:
    """Fill Z, rows and answers, less what the mean head predicts, with the usable records of user j; their number.

    Of the user's records those from `first` on are taken, one of `every`.
    """
    X, y, subspace, mean = records.X, records.y, model.subspace, model.mean
    Z, rows, answers, n = work.Z, work.rows, work.answers, 0
    for i in range(records.indptr[j] + first, records.indptr[j + 1], every):
        answer, size = y[i], 0.0
        if model.is_logistic and answer == answer:
            answer = 1.0 if answer > 0.0 else 0.0
        for a in range(len(subspace)):
            product = inner_product(X, i, subspace, a)
            Z[n, a] = product
            size += product * product
            answer -= product * mean[a]
        if answer * answer + size < math.inf:
            rows[n], answers[n] = i, answer
            n += 1
    return n


@compiled
def fit_head(records: RecordArrays, j: int, model: HeadModel, work: Workspace) -> Fit:
    """Fill the workspace with the regression of user j on all records: head, residuals, weights, spread."""
    return fit_chosen(records, j, model, 0, 1, work)


@compiled
def fit_chosen(records: RecordArrays, j: int, model: HeadModel, first: int, every: int, work: Workspace) -> Fit:
    """The same on the records from `first` on, one of `every`."""
    return solve_head(find_products(records, j, model, first, every, work), model, work)


@compiled
def solve_head(n: int, model: HeadModel, work: Workspace) -> Fit:
    """The regression on the first n products of the workspace.

    A user without usable records, or whose equations cannot be solved in floating point, has none: zeros.
    """
    is_solved = _fit_labels(n, model, work) if model.is_logistic else _fit_squares(n, model, work)
    if n == 0 or not is_solved:
        work.head[:] = 0.0
        return Fit(0, 0.0, 0.0)
    invert_factorized(work.L, 0, work.spread)
    residuals, weights, Z, spread = work.residuals, work.weights, work.Z, work.spread
    squares, information = 0.0, 0.0
    for i in range(n):
        squares += residuals[i] * residuals[i]
        information += weights[i] * (1.0 - weights[i] * quadratic_form(Z, i, spread))
    if not squares < math.inf:
        work.head[:] = 0.0
        return Fit(0, 0.0, 0.0)
    return Fit(n, squares, max(information, 0.0))


@compiled
def quadratic_form(Z: FloatArray, i: int, S: FloatArray) -> float:
    """z^T S z for row i of Z."""
    k, total = len(S), 0.0
    for a in range(k):
        for b in range(k):
            total += Z[i, a] * S[a, b] * Z[i, b]
    return total


@compiled
def _weigh_precision(n: int, model: HeadModel, work: Workspace) -> bool:
    """Fill A with sum w z z^T + noise S^-1 and L with its Cholesky factor; False if that fails."""
    A, Z, weights, precision = work.A, work.Z, work.weights, model.precision
    for a in range(len(A)):
        for b in range(a + 1):
            total = model.noise * precision[a, b]
            for i in range(n):
                total += weights[i] * Z[i, a] * Z[i, b]
            A[a, b] = total
            A[b, a] = total
    return factorize(A, 0.0, work.L)


@compiled
def _fit_squares(n: int, model: HeadModel, work: Workspace) -> bool:
    """Ridge regression of the answers on Z."""
    head, Z, answers, residuals, weights = work.head, work.Z, work.answers, work.residuals, work.weights
    k = len(head)
    for i in range(n):
        weights[i] = 1.0
    for a in range(k):
        head[a] = 0.0
        for i in range(n):
            head[a] += Z[i, a] * answers[i]
    if not _weigh_precision(n, model, work):
        return False
    solve_factorized(work.L, head)
    for i in range(n):
        fitted = 0.0
        for a in range(k):
            fitted += Z[i, a] * head[a]
        residuals[i] = answers[i] - fitted
    return True


@compiled
def _fit_labels(n: int, model: HeadModel, work: Workspace) -> bool:
    """Mode of the logistic posterior, by Newton steps of bounded length from zero."""
    head, step, Z, residuals, precision = work.head, work.column, work.Z, work.residuals, model.precision
    k = len(head)
    for a in range(k):
        head[a] = 0.0
    for _ in range(_NEWTON_STEPS):
        weigh_labels(n, work)
        if not _weigh_precision(n, model, work):
            return False
        for a in range(k):
            slope = 0.0
            for i in range(n):
                slope += Z[i, a] * residuals[i]
            for b in range(k):
                slope -= precision[a, b] * head[b]
            step[a] = slope
        solve_factorized(work.L, step)
        length = _prior_length(step, precision)
        factor = min(1.0, _LONGEST_STEP / length) if length > 0.0 else 1.0
        for a in range(k):
            head[a] += factor * step[a]
        if not length > _SHORT_STEP:
            break
    weigh_labels(n, work)
    return _weigh_precision(n, model, work)


@compiled
def _prior_length(v: FloatArray, precision: FloatArray) -> float:
    """Length of v in standard deviations of the prior."""
    total = 0.0
    for a in range(len(v)):
        for b in range(len(v)):
            total += v[a] * precision[a, b] * v[b]
    return math.sqrt(max(total, 0.0))


@compiled
def weigh_labels(n: int, work: Workspace) -> None:
    """Fill residuals y - p and weights p (1 - p) of a logistic regression with the current head."""
    head, Z, answers, residuals, weights = work.head, work.Z, work.answers, work.residuals, work.weights
    for i in range(n):
        logit = 0.0
        for a in range(len(head)):
            logit += Z[i, a] * head[a]
        probability = 1.0 / (1.0 + math.exp(-min(max(logit, -_LARGEST_LOGIT), _LARGEST_LOGIT)))
        residuals[i] = answers[i] - probability
        weights[i] = max(probability * (1.0 - probability), _LEAST_WEIGHT)
