"""Normal equations of the subspace, one user at a time: Algorithm 2 of the paper, with whole users bounded.

User j fits a head v to every other of this user's records, and with the rest contributes A_j = (X^T X) (x) (v v^T), of
shape (d k, d k), and b_j = X^T r v^T with r the residuals, or the answers themselves. Records are whitened. Both are
shortened by one factor, the smallest that either bound asks for.

Halves     records lie in a canonical order, so that every other one is taken and not the first half: those differ.
Integers   A_j is the sum of products of integer rows, which makes it positive semidefinite exactly (`moment_kernels`).
"""

import math
from typing import NamedTuple

import numpy as np

from hushrank.estimators.personalization.gradient_kernels import all_rows, multiply
from hushrank.estimators.personalization.head_kernels import (
    HeadModel,
    RecordArrays,
    Workspace,
    fit_chosen,
    most_records,
    new_workspace,
)
from hushrank.estimators.personalization.moment_kernels import (
    MomentBound,
    is_usable,
    round_rows,
    squared_moment_norm,
)
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.scatter import Bound, IntegerArray, add_contribution

MOST_ROWS = 4096  # of one user in the equations; heads are fitted to all others


class Equations(NamedTuple):
    """Which equations are meant; public.

    Attributes
    ----------
    model : HeadModel
        What users fit heads with.
    whitening : ndarray of shape (d, d)
    is_residual : bool
        Whether the right side is made of residuals, or of answers.
    """

    model: HeadModel
    whitening: FloatArray
    is_residual: bool


class OwnEquations(NamedTuple):
    """One user's part: how many rows, norms of both sides."""

    n_rows: int
    left: float
    right: float


class Scratch(NamedTuple):
    """Scratch of one user: whitened rows, their targets, the Gram matrix, X^T r and the right side."""

    raw: FloatArray
    rows: FloatArray
    targets: FloatArray
    gram: FloatArray
    moment: FloatArray
    right: FloatArray


@compiled
def new_scratch(records: RecordArrays, k: int) -> Scratch:
    """Scratch for any user of a block."""
    m, d = min(most_records(records.indptr), MOST_ROWS), records.X.shape[1]
    return Scratch(np.empty((1, d)), np.empty((m, d)), np.empty(m), np.empty((d, d)), np.empty(d), np.empty((d, k)))


@compiled
def find_equations(
    records: RecordArrays, j: int, equations: Equations, work: Workspace, scratch: Scratch
) -> OwnEquations:
    """Fill the scratch with the rows, the targets and the right side of user j, and the workspace with the head."""
    model, (d, k), n = equations.model, scratch.right.shape, 0
    fit = fit_chosen(records, j, model, 0, 2, work)
    if fit.n_records == 0:
        return OwnEquations(0, 0.0, 0.0)
    for i in range(records.indptr[j] + 1, records.indptr[j + 1], 2):
        if n == len(scratch.rows):  # of a user with very many records, which could take all memory
            break
        if not (abs(records.y[i]) < math.inf and is_usable(records.X, i)):
            continue
        for p in range(d):
            scratch.raw[0, p] = np.float64(records.X[i, p])
        multiply(scratch.raw, equations.whitening, scratch.rows[n : n + 1])
        scratch.targets[n] = records.y[i]
        if equations.is_residual:
            for a in range(k):
                product = 0.0
                for p in range(d):
                    product += scratch.raw[0, p] * model.subspace[a, p]
                scratch.targets[n] -= product * work.head[a]
        n += 1
    scratch.moment[:] = 0.0
    for i in range(n):
        for p in range(d):
            scratch.moment[p] += scratch.rows[i, p] * scratch.targets[i]
    head, moment = 0.0, 0.0
    for a in range(k):
        head += work.head[a] * work.head[a]
    for p in range(d):
        moment += scratch.moment[p] * scratch.moment[p]
        for a in range(k):
            scratch.right[p, a] = scratch.moment[p] * work.head[a]
    left = math.sqrt(squared_moment_norm(scratch.rows, n, scratch.gram)) * head
    return OwnEquations(n, left, math.sqrt(moment * head))


@compiled
def equation_sizes(records: RecordArrays, equations: Equations) -> tuple[FloatArray, FloatArray]:
    """Norms of every user's left and right side; zeros for a user without usable records."""
    n_users, k = len(records.indptr) - 1, len(equations.model.subspace)
    left, right = np.zeros(n_users), np.zeros(n_users)
    work, scratch = new_workspace(records.indptr, k), new_scratch(records, k)
    for j in range(n_users):
        own = find_equations(records, j, equations, work, scratch)
        left[j], right[j] = own.left, own.right
    return left, right


@compiled
def add_equations(
    records: RecordArrays,
    equations: Equations,
    left_bound: MomentBound,
    right_bound: Bound,
    integers: FloatArray,
    right: IntegerArray,
) -> int:
    """Fill `integers` with rows whose products add up to the left sides, and add the right sides; the number of rows.

    `integers` has d k columns, entry (p, a) of the subspace in column p k + a.
    """
    n_users, (d, k), filled = len(records.indptr) - 1, right.shape, 0
    work, scratch = new_workspace(records.indptr, k), new_scratch(records, k)
    rows, gram = np.empty((len(scratch.rows), d * k)), np.empty((d * k, d * k))
    every = all_rows(d)
    for j in range(n_users):
        own = find_equations(records, j, equations, work, scratch)
        if own.n_rows == 0 or not own.left + own.right < math.inf:
            continue
        factor = min(1.0, left_bound.norm / max(own.left, left_bound.norm))
        factor = min(factor, right_bound.norm / max(own.right, right_bound.norm))
        for i in range(own.n_rows):
            for p in range(d):
                for a in range(k):
                    rows[i, p * k + a] = math.sqrt(factor) * scratch.rows[i, p] * work.head[a]
        if round_rows(rows, own.n_rows, 1.0, factor * own.left, left_bound, gram, integers[filled:]):
            filled += own.n_rows
        for p in range(d):
            for a in range(k):
                scratch.right[p, a] *= factor
        add_contribution(scratch.right, d, every, right_bound, right)
    return filled
