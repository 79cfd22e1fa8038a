"""Second moments of records and of users' mean products y x, one user at a time.

Moments    a user's X^T X / m is positive semidefinite. It enters a sum as integer rows whose products add up to an
           integer matrix of Frobenius norm at most T; the norm is checked on the integers, with a margin for the
           rounding of the check itself. Products of integer rows are positive semidefinite exactly, which the
           sensitivity needs.
Records    one that is not finite counts as absent.
"""

import math
from typing import NamedTuple

import numpy as np

from hushrank.estimators.personalization.gradient_kernels import multiply
from hushrank.estimators.personalization.head_kernels import Numbers, RecordArrays, inner_product, most_records
from hushrank.linalg.quantize import FloatArray, compiled

_ROUNDING = 2.0**-52


class MomentBound(NamedTuple):
    """How far a user's second moment may reach.

    Attributes
    ----------
    norm : float
        Frobenius norm that becomes `limit` integer units; a longer moment is shortened to it.
    limit : float
        Largest Frobenius norm of the integer matrix, at most 2^36.
    """

    norm: float
    limit: float


@compiled
def is_usable(X: Numbers, i: int) -> bool:
    """Whether record i has a finite sum of squares."""
    squares = 0.0
    for p in range(X.shape[1]):
        squares += np.float64(X[i, p]) * np.float64(X[i, p])
    return squares < math.inf


@compiled
def copy_usable(records: RecordArrays, j: int, rows: FloatArray) -> int:
    """Fill `rows` with the usable records of user j, and say how many there are."""
    n, d = 0, rows.shape[1]
    for i in range(records.indptr[j], records.indptr[j + 1]):
        if is_usable(records.X, i):
            for p in range(d):
                rows[n, p] = np.float64(records.X[i, p])
            n += 1
    return n


@compiled
def squared_moment_norm(rows: FloatArray, n: int, gram: FloatArray) -> float:
    """Squared Frobenius norm of the sum of x x^T over the first n rows; `gram` is scratch of shape (d, d).

    It is also that of the matrix of products of the rows, which is smaller where rows are few.
    """
    d, total = rows.shape[1], 0.0
    if n <= d:
        for i in range(n):
            diagonal = inner_product(rows, i, rows, i)
            total += diagonal * diagonal
            for t in range(i):
                product = inner_product(rows, i, rows, t)
                total += 2.0 * (product * product)
        return total
    gram[:, :] = 0.0
    for i in range(n):
        for p in range(d):
            factor = rows[i, p]
            for q in range(d):
                gram[p, q] += factor * rows[i, q]
    for p in range(d):
        for q in range(d):
            total += gram[p, q] * gram[p, q]
    return total


@compiled
def moment_norms(records: RecordArrays) -> FloatArray:
    """Frobenius norm of every user's X^T X / m; 0 for a user without usable records."""
    n_users, d = len(records.indptr) - 1, records.X.shape[1]
    rows, gram, norms = np.empty((most_records(records.indptr), d)), np.empty((d, d)), np.zeros(n_users)
    for j in range(n_users):
        n = copy_usable(records, j, rows)
        if n:
            norms[j] = math.sqrt(squared_moment_norm(rows, n, gram)) / n
    return norms


@compiled
def quantize_moments(records: RecordArrays, bound: MomentBound, integers: FloatArray) -> int:
    """Fill `integers` with integer rows whose products add up to the users' second moments; how many rows there are.

    Rows are held as float64. Those of a user add up to X^T X / m, shortened to the bound, in units of norm / limit.
    """
    n_users, d = len(records.indptr) - 1, records.X.shape[1]
    rows, gram, filled = np.empty((most_records(records.indptr), d)), np.empty((d, d)), 0
    for j in range(n_users):
        n = copy_usable(records, j, rows)
        if n == 0:
            continue
        own = integers[filled : filled + n]
        norm = math.sqrt(squared_moment_norm(rows, n, gram)) / n
        if norm < math.inf and round_rows(rows, n, float(n), norm, bound, gram, own):
            filled += n
    return filled


@compiled
def round_rows(
    rows: FloatArray, n: int, weight: float, norm: float, bound: MomentBound, gram: FloatArray, integers: FloatArray
) -> bool:
    """Fill `integers` with the first n rows, scaled and rounded; False if they cannot be brought within the bound.

    Meant is the sum of x x^T over `weight`, whose Frobenius norm is `norm`, shortened to the bound.
    """
    d = rows.shape[1]
    factor = math.sqrt(bound.limit / (weight * max(norm, bound.norm)))
    margin = 1.0 - (n * n + d * d + n * d + 8.0) * _ROUNDING
    for _ in range(2):
        for i in range(n):
            for p in range(d):
                integers[i, p] = np.rint(rows[i, p] * factor)
        if squared_moment_norm(integers, n, gram) <= bound.limit * bound.limit * margin:
            return True
        # Rounding moves the rows by at most sqrt(n d) / 2 together, and their moment by about that share of its root.
        factor *= max(1.0 - 2.0 * math.sqrt(n * d / bound.limit) - n * d / bound.limit, 0.0)
    return False


@compiled
def mean_products(records: RecordArrays, is_logistic: bool, whitening: FloatArray) -> FloatArray:
    """Every user's mean of y W x, times sqrt(m / (m + d)); labels count as 1/2 and -1/2."""
    n_users, d = len(records.indptr) - 1, records.X.shape[1]
    means, raw = np.zeros((n_users, d)), np.zeros((1, d))
    for j in range(n_users):
        n = 0
        raw[0, :] = 0.0
        for i in range(records.indptr[j], records.indptr[j + 1]):
            answer = records.y[i]
            if is_logistic and answer == answer:
                answer = 0.5 if answer > 0.0 else -0.5
            if abs(answer) < math.inf and is_usable(records.X, i):
                n += 1
                for p in range(d):
                    raw[0, p] += answer * np.float64(records.X[i, p])
        if n:
            scale = math.sqrt(n / (n + d)) / n
            for p in range(d):
                raw[0, p] *= scale
            multiply(raw, whitening, means[j : j + 1])
    return means


@compiled
def mean_squares(records: RecordArrays) -> FloatArray:
    """Every user's mean of y^2 over finite answers; 0 for none."""
    n_users = len(records.indptr) - 1
    means = np.zeros(n_users)
    for j in range(n_users):
        n, total = 0, 0.0
        for i in range(records.indptr[j], records.indptr[j + 1]):
            if abs(records.y[i]) < math.inf:
                n += 1
                total += records.y[i] * records.y[i]
        if n:
            means[j] = total / n
    return means


@compiled
def squared_norms(rows: FloatArray) -> FloatArray:
    """Sum of squares of every row."""
    squares = np.zeros(len(rows))
    for j in range(len(rows)):
        for p in range(rows.shape[1]):
            squares[j] += rows[j, p] * rows[j, p]
    return squares
