"""How much of the logistic loss of labels a few features explain, for one user.

Labels s_i = 1 or -1, features z_i shortened to norm `row_norm`, heads v of norm at most `head_norm`:

    L(v) = sum of log(1 + exp(-s_i z_i.v)) + ridge |v|^2.

Explained is log 2 - L(v) / m, the mean loss of v = 0 less that of the head found; it is at most log 2, and at most
row_norm head_norm since the loss has slope 1 (the range xi L_f C of Theorem 5.1 in the paper). The head comes from a
fixed number of damped Newton steps. It need not be the best one for this to hold.
"""

import math
from typing import NamedTuple

import numpy as np

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, solve_factorized

_NEWTON_STEPS = 6
_LONGEST_STEP = 2.0


class LogisticHeads(NamedTuple):
    """Public numbers of the regressions: a ridge, and the bounds on features (L_f) and heads (C)."""

    ridge: float
    row_norm: float
    head_norm: float


class Scratch(NamedTuple):
    """Of one regression: labeled features s_i z_i, second derivatives, their Cholesky factor, a step, the head."""

    Z: FloatArray
    A: FloatArray
    L: FloatArray
    step: FloatArray
    v: FloatArray


@compiled
def new_scratch(most: int, k: int) -> Scratch:
    """For up to `most` records and k features."""
    return Scratch(np.empty((most, k)), np.empty((k, k)), np.empty((k, k)), np.empty(k), np.empty(k))


@compiled
def explain_labels(
    rows: FloatArray, answers: FloatArray, m: int, W: FloatArray, heads: LogisticHeads, work: Scratch
) -> float:
    """Mean loss that the features W^T x explain of the first m > 0 records; answers above 0 are the label 1."""
    _find_features(rows, answers, m, W, heads.row_norm, work.Z)
    work.v[:] = 0.0
    for _ in range(_NEWTON_STEPS):
        if not _find_step(m, heads.ridge, work):
            break
        _shorten(work.step, _LONGEST_STEP)
        for a in range(len(work.v)):
            work.v[a] += work.step[a]
        _shorten(work.v, heads.head_norm)
    return math.log(2.0) - _mean_loss(work.Z, m, heads.ridge, work.v)


@compiled
def _find_features(
    rows: FloatArray, answers: FloatArray, m: int, W: FloatArray, row_norm: float, Z: FloatArray
) -> None:
    """Fill Z with s_i W^T x_i, shortened to `row_norm`; with zeros where float64 does not hold the norm."""
    d, k = W.shape
    for i in range(m):
        squared = 0.0
        for a in range(k):
            value = 0.0
            for p in range(d):
                value += rows[i, p] * W[p, a]
            Z[i, a] = value
            squared += value * value
        norm = math.sqrt(squared)
        factor = row_norm / max(norm, row_norm)
        for a in range(k):
            signed = Z[i, a] if answers[i] > 0.0 else -Z[i, a]
            Z[i, a] = factor * signed if norm < math.inf else 0.0


@compiled
def _find_step(m: int, ridge: float, work: Scratch) -> bool:
    """Fill `step` with the Newton step from v; False if floating point cannot solve for it."""
    Z, A, g, v = work.Z, work.A, work.step, work.v
    A[:] = 0.0
    for a in range(len(v)):
        g[a] = -2.0 * ridge * v[a]
    for i in range(m):
        margin = 0.0
        for a in range(len(v)):
            margin += Z[i, a] * v[a]
        wrong = 1.0 / (1.0 + math.exp(min(margin, 700.0)))  # probability of the other label
        for a in range(len(v)):
            g[a] += wrong * Z[i, a]
            for b in range(a + 1):
                A[a, b] += wrong * (1.0 - wrong) * Z[i, a] * Z[i, b]
    if not factorize(A, 2.0 * ridge, work.L):
        return False
    solve_factorized(work.L, g)
    return True


@compiled
def _shorten(v: FloatArray, norm_bound: float) -> None:
    squared = 0.0
    for x in v:
        squared += x * x
    norm = math.sqrt(squared)
    if norm > norm_bound:
        for a in range(len(v)):
            v[a] *= norm_bound / norm


@compiled
def _mean_loss(Z: FloatArray, m: int, ridge: float, v: FloatArray) -> float:
    """L(v) / m."""
    loss = 0.0
    for a in range(len(v)):
        loss += ridge * v[a] * v[a]
    for i in range(m):
        margin = 0.0
        for a in range(len(v)):
            margin += Z[i, a] * v[a]
        loss += math.log1p(math.exp(-abs(margin))) - min(margin, 0.0)
    return loss / m
