"""Second moments of users' heads, with what users do not know of their own heads, one user at a time."""

import math

import numpy as np

from hushrank.estimators.personalization.head_kernels import (
    Fit,
    HeadModel,
    RecordArrays,
    Workspace,
    fit_head,
    new_workspace,
)
from hushrank.estimators.personalization.moment_kernels import MomentBound, round_rows, squared_moment_norm
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize


@compiled
def quantize_heads(
    records: RecordArrays, model: HeadModel, root: FloatArray, norm: float, bound: MomentBound, integers: FloatArray
) -> int:
    """Fill `integers` with rows whose products add up to the users' moments of heads; how many rows there are.

    Those of a user are (f, 1) with f = S^-1/2 v shortened to a norm, and k rows (c, 0) whose products are the posterior
    covariance of f: the mean of f f^T alone would be too small by what users do not know of their own heads.
    """
    n_users, k, filled = len(records.indptr) - 1, len(model.subspace), 0
    work, rows, gram = new_workspace(records.indptr, k), np.empty((k + 1, k + 1)), np.empty((k + 1, k + 1))
    covariance, L = np.empty((k, k)), np.zeros((k, k))
    for j in range(n_users):
        fit = fit_head(records, j, model, work)
        rows[:, :] = 0.0
        rows[0, k] = 1.0
        _scale_head(work, root, norm, rows[0, :k])
        _scale_covariance(fit, model, work, root, covariance)
        if factorize(covariance, 0.0, L):
            for a in range(k):
                for b in range(a + 1):
                    rows[b + 1, a] = L[a, b]
        size = math.sqrt(squared_moment_norm(rows, k + 1, gram))
        if size < math.inf and round_rows(rows, k + 1, 1.0, size, bound, gram, integers[filled:]):
            filled += k + 1
    return filled


@compiled
def _scale_head(work: Workspace, root: FloatArray, norm: float, f: FloatArray) -> None:
    """Fill f with S^-1/2 v, shortened to a norm; zeros where it is not finite."""
    k, squares = len(f), 0.0
    for a in range(k):
        f[a] = 0.0
        for b in range(k):
            f[a] += root[a, b] * work.head[b]
        squares += f[a] * f[a]
    length = math.sqrt(squares)
    for a in range(k):
        f[a] = f[a] * min(1.0, norm / max(length, norm)) if length < math.inf else 0.0


@compiled
def _scale_covariance(fit: Fit, model: HeadModel, work: Workspace, root: FloatArray, covariance: FloatArray) -> None:
    """Fill the posterior covariance of f, which is at most that of the prior: the identity without records."""
    k = len(root)
    for a in range(k):
        for b in range(k):
            covariance[a, b] = 1.0 if a == b else 0.0
            if fit.n_records:
                total = 0.0
                for c in range(k):
                    for e in range(k):
                        total += root[a, c] * work.spread[c, e] * root[b, e]
                covariance[a, b] = model.noise * total
