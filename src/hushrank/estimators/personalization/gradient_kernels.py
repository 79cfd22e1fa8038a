"""Gradients of users in the tangent space of the subspace, their normalizers, and the sums of both.

User j contributes G_j = (I - U U^T) W sum_i x_i a_i^T S^-1/2, the gradient of `head_kernels` in whitened coordinates
and in units of the prior, and N_j = n_j f f^T with f = S^-1/2 v and n_j the information that the head has left over.
Both are shortened by one factor, the smallest that either bound asks for, before they are rounded and added.
"""

import math
from typing import NamedTuple

import numpy as np

from hushrank.estimators.personalization.head_kernels import (
    Fit,
    HeadModel,
    RecordArrays,
    Workspace,
    fit_head,
    new_workspace,
)
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Bound, IntegerArray, Positions, add_contribution, quantize_row

_LITTLE_INFORMATION = 0.02  # records; below it a head explains all that there is


class Tangent(NamedTuple):
    """Where gradients live; public.

    Attributes
    ----------
    root : ndarray of shape (k, k)
        S^-1/2 of the prior of heads.
    projection : ndarray of shape (d, d)
        W (I - U U^T): sums of records to the left of it become tangent vectors in whitened coordinates.
    """

    root: FloatArray
    projection: FloatArray


class TangentWorkspace(NamedTuple):
    """Scratch of one user's gradient.

    Attributes
    ----------
    moments, gradient : ndarray of shape (k, d)
        Sum of the records times their coefficients, and its projection.
    scaled : ndarray of shape (k,)
        f = S^-1/2 v.
    """

    moments: FloatArray
    gradient: FloatArray
    scaled: FloatArray


@compiled
def multiply(M: FloatArray, P: FloatArray, product: FloatArray) -> None:
    """Fill `product` with M P, four rows of P at a time: a processor does several columns at once."""
    (k, d), width = M.shape, P.shape[1]
    stop = d - d % 4
    for a in range(k):
        for q in range(width):
            product[a, q] = 0.0
        for p in range(0, stop, 4):
            first, second, third, fourth = M[a, p], M[a, p + 1], M[a, p + 2], M[a, p + 3]
            for q in range(width):
                left, right = first * P[p, q] + second * P[p + 1, q], third * P[p + 2, q] + fourth * P[p + 3, q]
                product[a, q] += left + right
        for p in range(stop, d):
            first = M[a, p]
            for q in range(width):
                product[a, q] += first * P[p, q]


@compiled
def noise_levels(records: RecordArrays, model: HeadModel) -> FloatArray:
    """Every user's unbiased variance of the noise, sum of squared residuals over the information left; 0 for none."""
    n_users = len(records.indptr) - 1
    levels, work = np.zeros(n_users), new_workspace(records.indptr, len(model.subspace))
    for j in range(n_users):
        fit = fit_head(records, j, model, work)
        if fit.n_records == 0:
            continue
        if fit.information >= _LITTLE_INFORMATION:
            levels[j] = fit.squares / fit.information
        else:  # as an EM step would: residuals and what the posterior leaves open
            spent = fit.n_records - fit.information
            levels[j] = (fit.squares + model.noise * spent) / fit.n_records
    return levels


@compiled
def find_gradient(
    records: RecordArrays, fit: Fit, model: HeadModel, tangent: Tangent, work: Workspace, scratch: TangentWorkspace
) -> None:
    """Fill the gradient and f of the user whose regression is in the workspace."""
    moments, scaled, root, X = scratch.moments, scratch.scaled, tangent.root, records.X
    head, pull, spread, Z = work.head, work.column, work.spread, work.Z
    k, d = moments.shape
    for a in range(k):
        scaled[a] = 0.0
        for b in range(k):
            scaled[a] += root[a, b] * head[b]
        for p in range(d):
            moments[a, p] = 0.0
    for i in range(fit.n_records):
        row, residual, weight = work.rows[i], work.residuals[i], work.weights[i] * model.noise
        for a in range(k):
            pull[a] = 0.0
            for b in range(k):
                pull[a] += weight * spread[a, b] * Z[i, b]
        for a in range(k):
            coefficient = residual * scaled[a]
            for b in range(k):
                coefficient -= root[a, b] * pull[b]
            for p in range(d):
                moments[a, p] += coefficient * np.float64(X[row, p])
    multiply(moments, tangent.projection, scratch.gradient)


@compiled
def squared_length(G: FloatArray) -> float:
    """Sum of squares of a matrix."""
    total = 0.0
    for a in range(G.shape[0]):
        for p in range(G.shape[1]):
            total += G[a, p] * G[a, p]
    return total


@compiled
def new_scratch(k: int, d: int) -> TangentWorkspace:
    """Scratch for gradients of shape (k, d)."""
    return TangentWorkspace(np.empty((k, d)), np.empty((k, d)), np.empty(k))


@compiled
def gradient_sizes(records: RecordArrays, model: HeadModel, tangent: Tangent) -> tuple[FloatArray, FloatArray]:
    """Norm of every user's gradient and of every user's normalizer; 0 for a user without usable records."""
    n_users, (k, d) = len(records.indptr) - 1, model.subspace.shape
    norms, sizes = np.zeros(n_users), np.zeros(n_users)
    work, scratch = new_workspace(records.indptr, k), new_scratch(k, d)
    for j in range(n_users):
        fit = fit_head(records, j, model, work)
        if fit.n_records:
            find_gradient(records, fit, model, tangent, work, scratch)
            norms[j] = math.sqrt(squared_length(scratch.gradient))
            sizes[j] = fit.information * _squared_norm(scratch.scaled)
    return norms, sizes


@compiled
def _squared_norm(v: FloatArray) -> float:
    total = 0.0
    for a in range(len(v)):
        total += v[a] * v[a]
    return total


@compiled
def add_gradients(
    records: RecordArrays,
    model: HeadModel,
    tangent: Tangent,
    bound: Bound,
    normalizer_bound: Bound,
    total: IntegerArray,
    normalizer: IntegerArray,
) -> None:
    """Add every user's gradient, (k, d), and normalizer, (k, k), shortened by one factor and rounded.

    The norm of `normalizer_bound` is that of a row whose product with itself is the normalizer: the square root of the
    bound on N_j.
    """
    n_users, (k, d) = len(records.indptr) - 1, model.subspace.shape
    work, scratch = new_workspace(records.indptr, k), new_scratch(k, d)
    rows, integers = all_rows(k), np.empty(k, np.int64)
    for j in range(n_users):
        fit = fit_head(records, j, model, work)
        if fit.n_records == 0:
            continue
        find_gradient(records, fit, model, tangent, work, scratch)
        norm, size = math.sqrt(squared_length(scratch.gradient)), fit.information * _squared_norm(scratch.scaled)
        if not norm + size < math.inf:
            continue
        factor = min(1.0, bound.norm / max(norm, bound.norm), normalizer_bound.norm**2 / max(size, 1e-300))
        for a in range(k):
            for p in range(d):
                scratch.gradient[a, p] *= factor
            scratch.scaled[a] *= math.sqrt(factor * fit.information)
        add_contribution(scratch.gradient, k, rows, bound, total)
        if quantize_row(scratch.scaled, k, normalizer_bound, integers):
            add_outer_product(integers, normalizer)


@compiled
def all_rows(n: int) -> Positions:
    """0 to n - 1: a contribution to every row of a total."""
    rows = np.empty(n, np.int32)
    for a in range(n):
        rows[a] = a
    return rows


@compiled
def add_outer_product(y: IntegerArray, total: IntegerArray) -> None:
    """Add y y^T."""
    for a in range(len(y)):
        for b in range(len(y)):
            total[a, b] += y[a] * y[b]
