"""Scores of candidate representations: how much of a user's loss each of them explains, as bounded integers.

A user with records (x_i, y_i), i = 1..m, scores a candidate U (d x k, orthonormal) by the loss that the best head v on
the features z_i = U^T x_i explains,

    (L(0) - min over v of L(v)) / m, clipped to [0, range_bound],    L(v) = sum of (y_i - z_i.v)^2 + ridge |v|^2,

in units where x and y are divided by their public scales, or by the logistic loss that it explains of the labels y > 0
(`logistic_scores`). The same score is the quality of Algorithm 4 of the paper up to its sign and L(0), which no
candidate changes: since v = 0 is a head, it moves within a range of a quarter of the sensitivity stated there.

Records that are not finite count as absent; without records a user scores 0. A score is a function of the candidate and
of one user's records alone, in a fixed order of operations. Its bound is checked in integers.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.data.records.blocks import UserRecordBlock
from hushrank.estimators.personalization.head_kernels import RecordArrays, most_records
from hushrank.estimators.personalization.logistic_scores import LogisticHeads, explain_labels, new_scratch
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.privacy.mechanisms.selection import SelectionLattice

IntegerArray = NDArray[np.int64]

_LANES = 64  # candidates that are scored side by side: their numbers fit the nearest cache


@dataclass(frozen=True, slots=True, eq=False)
class CandidateState:
    """Public state of `score_candidates`.

    Attributes
    ----------
    candidates : ndarray of shape (n_candidates, n_features, rank)
    lattice : SelectionLattice
        Bound of a score, in the units above and as an integer.
    is_logistic : bool
        Whether answers are labels: above 0, or not.
    ridge : float > 0
    x_scale, y_scale : float > 0
    row_norm, head_norm : float > 0
        Of the logistic loss.
    """

    candidates: FloatArray
    lattice: SelectionLattice
    is_logistic: bool = False
    ridge: float = 0.05
    x_scale: float = 1.0
    y_scale: float = 1.0
    row_norm: float = 4.0
    head_norm: float = 4.0


class Limit(NamedTuple):
    """A score of `bound` or more becomes the integer `integer`."""

    bound: float
    integer: int


def score_candidates(block: UserRecordBlock, state: CandidateState) -> IntegerArray:
    """Sum over the users of a block of their integer scores, for each candidate."""
    n, d, _ = state.candidates.shape
    if block.X.ndim != 2 or block.X.shape[1] != d:
        raise InvalidParameter("score_candidates", "X", f"of {d} columns", f"shape {block.X.shape}")
    total = np.zeros(n, np.int64)
    records = RecordArrays(block.indptr, block.X, block.y)
    limit = Limit(state.lattice.range_bound, state.lattice.integer_bound)
    if state.is_logistic:
        heads = LogisticHeads(state.ridge, state.row_norm, state.head_norm)
        _add_logistic(records, state.candidates / state.x_scale, heads, limit, total)
    else:
        _add_squared(records, _in_lanes(state.candidates / state.x_scale), state.ridge, state.y_scale, limit, total)
    return total


def _in_lanes(candidates: FloatArray) -> FloatArray:
    """Candidates side by side, shape (n_groups, d, k, lanes), the last group filled up with zeros.

    The compiler then works on several at once, each in the same order of operations.
    """
    n, d, k = candidates.shape
    n_groups = -(-n // _LANES)
    lanes = np.zeros((n_groups * _LANES, d, k))
    lanes[:n] = candidates
    return np.ascontiguousarray(lanes.reshape(n_groups, _LANES, d, k).transpose(0, 2, 3, 1))


@compiled
def to_integer(score: float, limit: Limit) -> int:
    """A score as an integer in [0, limit.integer]; 0 where it is not a number or negative."""
    if not score > 0.0:
        return 0
    if score >= limit.bound:
        return limit.integer
    return min(int(np.rint(score / limit.bound * limit.integer)), limit.integer)


@compiled
def _read_user(records: RecordArrays, j: int, y_scale: float, rows: FloatArray, answers: FloatArray) -> int:
    """Copy the records of user j that are finite to the first rows of `rows` and `answers`; how many there are."""
    m = 0
    for i in range(records.indptr[j], records.indptr[j + 1]):
        is_finite = abs(records.y[i]) < math.inf
        for p in range(rows.shape[1]):
            x = np.float64(records.X[i, p])
            is_finite &= abs(x) < math.inf
            rows[m, p] = x
        answers[m] = records.y[i] / y_scale
        m += is_finite
    return m


@compiled
def _add_squared(
    records: RecordArrays, groups: FloatArray, ridge: float, y_scale: float, limit: Limit, total: IntegerArray
) -> None:
    """Add all users' scores under the squared loss; `groups` are those of `_in_lanes`."""
    n_groups, d, k, _ = groups.shape
    most = most_records(records.indptr) + 1
    rows, answers = np.empty((most, d)), np.empty(most)
    G, h, z = np.empty((d, d)), np.empty(d), np.empty((max(d, k), _LANES))
    A, g, explained = np.empty((k, k, _LANES)), np.empty((k, _LANES)), np.empty(_LANES)
    for j in range(len(records.indptr) - 1):
        m = _read_user(records, j, y_scale, rows, answers)
        if m > d:
            _reduce_rows(rows, answers, m, G, h)
        for i in range(n_groups if m > 0 else 0):
            if m > d:
                _project_gram(G, h, groups[i], z, A, g)
            else:
                _project_rows(rows, answers, m, groups[i], z, A, g)
            _explain(A, g, ridge, explained)
            for c in range(min(_LANES, len(total) - i * _LANES)):
                total[i * _LANES + c] += to_integer(explained[c] / m, limit)


@compiled
def _reduce_rows(rows: FloatArray, answers: FloatArray, m: int, G: FloatArray, h: FloatArray) -> None:
    """Fill G with X^T X and h with X^T y: what the squared loss knows of many records."""
    G[:] = 0.0
    h[:] = 0.0
    for i in range(m):
        for p in range(len(h)):
            h[p] += rows[i, p] * answers[i]
            for q in range(len(h)):
                G[p, q] += rows[i, p] * rows[i, q]


@compiled
def _project_rows(
    rows: FloatArray, answers: FloatArray, m: int, V: FloatArray, z: FloatArray, A: FloatArray, g: FloatArray
) -> None:
    """Fill A with Z^T Z (lower triangle) and g with Z^T y for the features Z = X V of every lane."""
    d, k, _ = V.shape
    A[:] = 0.0
    g[:] = 0.0
    for i in range(m):
        z[:k] = 0.0
        for p in range(d):
            x = rows[i, p]
            for a in range(k):
                for c in range(_LANES):
                    z[a, c] += x * V[p, a, c]
        for a in range(k):
            for c in range(_LANES):
                g[a, c] += z[a, c] * answers[i]
            for b in range(a + 1):
                for c in range(_LANES):
                    A[a, b, c] += z[a, c] * z[b, c]


@compiled
def _project_gram(G: FloatArray, h: FloatArray, V: FloatArray, z: FloatArray, A: FloatArray, g: FloatArray) -> None:
    """Fill A with V^T G V (lower triangle) and g with V^T h for every lane."""
    d, k, _ = V.shape
    A[:] = 0.0
    g[:] = 0.0
    for a in range(k):
        z[:d] = 0.0
        for p in range(d):
            for c in range(_LANES):
                g[a, c] += h[p] * V[p, a, c]
            for q in range(d):
                for c in range(_LANES):
                    z[p, c] += G[p, q] * V[q, a, c]
        for b in range(a + 1):
            for p in range(d):
                for c in range(_LANES):
                    A[a, b, c] += V[p, b, c] * z[p, c]


@compiled
def _explain(A: FloatArray, g: FloatArray, ridge: float, explained: FloatArray) -> None:
    """Fill `explained` with g^T (A + ridge I)^-1 g of every lane by Cholesky factors, which replace A and g.

    A lane that is not positive definite, which only numbers beyond float64 make, becomes NaN.
    """
    explained[:] = 0.0
    for a in range(len(g)):
        for b in range(a + 1):
            for e in range(b):
                for c in range(_LANES):
                    A[a, b, c] -= A[a, e, c] * A[b, e, c]
            for c in range(_LANES):
                A[a, b, c] = A[a, b, c] / A[b, b, c] if b < a else math.sqrt(A[a, a, c] + ridge)
        for b in range(a):
            for c in range(_LANES):
                g[a, c] -= A[a, b, c] * g[b, c]
        for c in range(_LANES):
            g[a, c] /= A[a, a, c]
            explained[c] += g[a, c] * g[a, c]


@compiled
def _add_logistic(
    records: RecordArrays, candidates: FloatArray, heads: LogisticHeads, limit: Limit, total: IntegerArray
) -> None:
    """Add all users' scores under the logistic loss."""
    n, d, k = candidates.shape
    most = most_records(records.indptr) + 1
    rows, answers, work = np.empty((most, d)), np.empty(most), new_scratch(most, k)
    for j in range(len(records.indptr) - 1):
        m = _read_user(records, j, 1.0, rows, answers)
        for c in range(n if m > 0 else 0):
            total[c] += to_integer(explain_labels(rows, answers, m, candidates[c], heads, work), limit)
