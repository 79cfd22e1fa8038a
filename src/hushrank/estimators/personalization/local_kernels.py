"""A user's own coefficients from the released prior and the user's own records: local, and free of any budget.

Priors     theta ~ N(U v0, U S U^T + tau^2 (I - U U^T)) for some tau^2, 0 among them: coefficients in the subspace, or
           a way out of it; and theta ~ N(0, tau^2 I), which knows nothing of the subspace. Each gives an estimate and
           the evidence of the user's own records for it, with the variance of the noise integrated out (labels:
           Laplace's approximation); estimates are averaged by evidence.
Why        a user with many records leaves a subspace that does not fit, and one that is useless falls back to a ridge
           regression of this user's own. Where the subspace is right, the average costs next to nothing.
Algebra    with features phi_i whose products are the prior covariance of the predictions, w ~ N(0, I) has the mode of a
           small ridge or logistic regression, and theta - U v0 = C X^T (residuals / noise) for the prior covariance C.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.personalization.gradient_kernels import multiply
from hushrank.estimators.personalization.head_kernels import RecordArrays
from hushrank.estimators.personalization.moment_kernels import is_usable
from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.linalg.ridge import factorize, solve_factorized

_PSEUDO_RECORDS = 4.0  # what the released variance of the noise counts beside the user's own records
_LEAST_NOISE = 1e-6  # of the mean square of the answers
_UNKNOWN_NOISE = 0.1  # of the mean square of the answers, for priors that know nothing of the released model
_JITTER = 1e-10
_NEWTON_STEPS = 25
_LONGEST_STEP = 3.0
_LABEL_VARIANCE = 4.0  # of a logit, in place of the mean square of the answers


class LocalPrior(NamedTuple):
    """What is released, as the user's own regression takes it.

    Attributes
    ----------
    subspace : ndarray of shape (k, d)
        U^T.
    center : ndarray of shape (d,)
        U v0.
    covariance, root : ndarray of shape (k, k)
        S and S^1/2.
    noise : float
        Released variance; priors that know nothing of the subspace take a share of the user's own mean square.
    ratios, log_weights : ndarray of shape (n_priors,)
        tau^2 as a ratio to the mean square of the answers over that of the records, and the log prior weights.
    is_shared : ndarray of shape (n_priors,)
        Which of the priors know the subspace.
    is_logistic : bool
    """

    subspace: FloatArray
    center: FloatArray
    covariance: FloatArray
    root: FloatArray
    noise: float
    ratios: FloatArray
    log_weights: FloatArray
    is_shared: NDArray[np.bool_]
    is_logistic: bool


class Estimate(NamedTuple):
    """Residuals over the noise of one regression, and its log evidence."""

    pulls: FloatArray
    log_evidence: float


@compiled
def local_coefficients(records: RecordArrays, prior: LocalPrior) -> FloatArray:
    """Coefficients of every user of a block, of shape (n_users, d); those of the mean head without records."""
    n_users, d = len(records.indptr) - 1, len(prior.center)
    coefficients = np.empty((n_users, d))
    for j in range(n_users):
        X, y = _usable_records(records, j, prior.is_logistic)
        coefficients[j] = prior.center
        if len(y):
            _average_priors(X, y, prior, coefficients[j])
    return coefficients


@compiled
def _usable_records(records: RecordArrays, j: int, is_logistic: bool) -> tuple[FloatArray, FloatArray]:
    """Records of user j that are finite, in float64; labels as 0 and 1."""
    first, stop = records.indptr[j], records.indptr[j + 1]
    X, y, n = np.empty((stop - first, records.X.shape[1])), np.empty(stop - first), 0
    for i in range(first, stop):
        if abs(records.y[i]) < math.inf and is_usable(records.X, i):
            X[n] = records.X[i]
            y[n] = (1.0 if records.y[i] > 0.0 else 0.0) if is_logistic else records.y[i]
            n += 1
    return X[:n], y[:n]


@compiled
def _average_priors(X: FloatArray, y: FloatArray, prior: LocalPrior, coefficients: FloatArray) -> None:
    """Add to the center what the user's records say, averaged over all priors."""
    n, (k, d) = len(y), prior.subspace.shape
    Z, error = np.zeros((n, k)), y.copy()
    multiply(X, prior.subspace.T.copy(), Z)
    if not prior.is_logistic:  # the mean head of labels is zero
        for i in range(n):
            for p in range(d):
                error[i] -= X[i, p] * prior.center[p]
    answer_square = _LABEL_VARIANCE if prior.is_logistic else max(_mean_square(y), 1e-300)
    record_square = max(np.sum(X * X) / n, 1e-300)
    own_noise = 1.0 if prior.is_logistic else _UNKNOWN_NOISE * answer_square
    shared_noise = 1.0 if prior.is_logistic else max(prior.noise, _LEAST_NOISE * answer_square)
    n_priors = len(prior.ratios)
    moves, evidence = np.zeros((n_priors, d)), np.empty(n_priors)
    for t in range(n_priors):
        variance = prior.ratios[t] * answer_square / record_square
        own = prior if prior.is_shared[t] else _without_subspace(prior, variance)
        features, target = _features(X, Z, own, variance), error if prior.is_shared[t] else y
        # The released variance holds what the subspace leaves, which others do not leave.
        noise = shared_noise if prior.is_shared[t] else own_noise
        fit = _fit_labels(features, target) if prior.is_logistic else _fit_squares(features, target, noise)
        evidence[t] = prior.log_weights[t] + fit.log_evidence
        _move(X, Z, fit.pulls, own, variance, moves[t])
        if not prior.is_shared[t]:
            for p in range(d):
                moves[t, p] -= prior.center[p]
    best, total = -math.inf, 0.0
    for t in range(n_priors):
        best = max(best, evidence[t]) if evidence[t] == evidence[t] else best
    for t in range(n_priors):
        evidence[t] = math.exp(evidence[t] - best) if evidence[t] == evidence[t] and best > -math.inf else 0.0
        total += evidence[t]
    for t in range(n_priors):
        if evidence[t] > 0.0:
            for p in range(d):
                coefficients[p] += evidence[t] / total * moves[t, p]


@compiled
def _without_subspace(prior: LocalPrior, variance: float) -> LocalPrior:
    """The prior with the same variance in all directions."""
    k = len(prior.subspace)
    S, root = np.eye(k) * variance, np.eye(k) * math.sqrt(variance)
    weights = (prior.ratios, prior.log_weights, prior.is_shared)
    return LocalPrior(prior.subspace, prior.center, S, root, prior.noise, *weights, prior.is_logistic)


@compiled
def _mean_square(y: FloatArray) -> float:
    total = 0.0
    for i in range(len(y)):
        total += y[i] * y[i]
    return total / len(y)


@compiled
def _features(X: FloatArray, Z: FloatArray, prior: LocalPrior, variance: float) -> FloatArray:
    """Rows whose products are the prior covariance of the predictions: k columns, or the fewer of records and d."""
    n, (k, d) = len(X), prior.subspace.shape
    ZR = np.zeros((n, k))
    multiply(Z, prior.root, ZR)
    if variance == 0.0:
        return ZR
    if n > d:  # X C^1/2, with the symmetric root U S^1/2 U^T + tau (I - U U^T)
        tau = math.sqrt(variance)
        rows = np.zeros((n, d))
        multiply(ZR - tau * Z, prior.subspace, rows)
        return rows + tau * X
    K, L = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for t in range(i + 1):
            inside, shared, whole = 0.0, 0.0, 0.0
            for a in range(k):
                inside += Z[i, a] * Z[t, a]
                shared += ZR[i, a] * ZR[t, a]
            for p in range(d):
                whole += X[i, p] * X[t, p]
            K[i, t] = shared + variance * (whole - inside)
    trace = 0.0
    for i in range(n):
        trace += K[i, i]
    factorize(K, _JITTER * trace / n + 1e-300, L)
    return L


@compiled
def _fit_squares(features: FloatArray, error: FloatArray, noise: float) -> Estimate:
    """Ridge regression with unit prior variances."""
    n, q = features.shape
    A, L, w = np.zeros((q, q)), np.zeros((q, q)), np.zeros(q)
    for i in range(n):
        for a in range(q):
            w[a] += features[i, a] * error[i] / noise
            for b in range(a + 1):
                A[a, b] += features[i, a] * features[i, b] / noise
    if not factorize(A, 1.0, L):
        return Estimate(np.zeros(n), -math.inf)
    solve_factorized(L, w)
    pulls, squares, log_det = np.empty(n), 0.0, 0.0
    for a in range(q):
        squares += noise * w[a] * w[a]
        log_det += math.log(L[a, a])
    for i in range(n):
        fitted = 0.0
        for a in range(q):
            fitted += features[i, a] * w[a]
        squares += (error[i] - fitted) ** 2
        pulls[i] = (error[i] - fitted) / noise
    # The variance of the noise is integrated out, with `noise` as so many records.
    known = _PSEUDO_RECORDS * noise
    log_evidence = 0.5 * _PSEUDO_RECORDS * math.log(known) - log_det
    log_evidence -= 0.5 * (_PSEUDO_RECORDS + n) * math.log(known + squares)
    return Estimate(pulls, log_evidence)


@compiled
def _fit_labels(features: FloatArray, labels: FloatArray) -> Estimate:
    """Logistic regression with unit prior variances, by Newton steps of bounded length, and Laplace's evidence."""
    n, q = features.shape
    A, L, w, step = np.zeros((q, q)), np.zeros((q, q)), np.zeros(q), np.zeros(q)
    pulls, log_evidence = np.zeros(n), -math.inf
    for _ in range(_NEWTON_STEPS):
        A[:, :] = 0.0
        likelihood, log_det, length = 0.0, 0.0, 0.0
        for a in range(q):
            step[a] = -w[a]
            likelihood -= 0.5 * w[a] * w[a]
        for i in range(n):
            logit = 0.0
            for a in range(q):
                logit += features[i, a] * w[a]
            probability = 1.0 / (1.0 + math.exp(-min(max(logit, -500.0), 500.0)))
            pulls[i] = labels[i] - probability
            signed = logit if labels[i] > 0.5 else -logit
            likelihood -= max(-signed, 0.0) + math.log1p(math.exp(-abs(signed)))
            for a in range(q):
                step[a] += features[i, a] * pulls[i]
                for b in range(a + 1):
                    A[a, b] += probability * (1.0 - probability) * features[i, a] * features[i, b]
        if not factorize(A, 1.0, L):
            return Estimate(np.zeros(n), -math.inf)
        for a in range(q):
            log_det += math.log(L[a, a])
        log_evidence = likelihood - log_det
        solve_factorized(L, step)
        for a in range(q):
            length += step[a] * step[a]
        if not length > 1e-16:
            break
        factor = min(1.0, _LONGEST_STEP / math.sqrt(length))
        for a in range(q):
            w[a] += factor * step[a]
    return Estimate(pulls, log_evidence)


@compiled
def _move(
    X: FloatArray, Z: FloatArray, pulls: FloatArray, prior: LocalPrior, variance: float, move: FloatArray
) -> None:
    """Fill `move` with C X^T pulls, C = U S U^T + variance (I - U U^T)."""
    k, d = prior.subspace.shape
    inside = np.zeros(k)
    for i in range(len(pulls)):
        for a in range(k):
            inside[a] += Z[i, a] * pulls[i]
        if variance > 0.0:
            for p in range(d):
                move[p] += variance * pulls[i] * X[i, p]
    for a in range(k):
        pulled = -variance * inside[a]
        for b in range(k):
            pulled += prior.covariance[a, b] * inside[b]
        for p in range(d):
            move[p] += pulled * prior.subspace[a, p]
