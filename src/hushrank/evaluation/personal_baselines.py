"""What could be predicted for people with a few records each, without privacy: references for private representations.

Local      every user alone: ridge regression with the penalty of smallest leave-one-out error, or averaged over
           penalties by the user's own evidence.
Pooled     one ridge regression for all.
Shared     y = <x, U v_j> + noise with v_j Gaussian: U, law of heads and noise by EM (fit_shared), or known
           (true_model, the oracle).

None is private. Users are codes 0, 1, ..., and every function returns coefficients of shape (n_users, n_features), zero
or the mean head for users without records.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import FloatArray, compiled
from hushrank.parameters import check_integer

Codes = NDArray[np.integer]
Reals = NDArray[np.floating]

RATIOS: FloatArray = np.geomspace(1e4, 1e-4, 25)
"""Penalties of local ridge over the mean square of a user's rows, the largest first: ties go to it."""

_SMALLEST = 1e-8  # of a variance, for oracles of data without noise
_NEWTON_STEPS = 20


def fit_local_ridge(X: Reals, y: Reals, users: Codes, n_users: int, penalties: FloatArray | None = None) -> FloatArray:
    """Ridge regression of each user alone, with the penalty of the smallest leave-one-out error of that user.

    Parameters
    ----------
    X, y, users : ndarrays of shapes (n_records, n_features), (n_records,) and (n_records,)
    n_users : int
    penalties : ndarray, optional
        To choose from; one is used as it is. By default RATIOS of the mean square of the user's rows.

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([2.0, 3.0, 5.0])
    >>> fit_local_ridge(X, y, np.zeros(3, int), 2).round(2)
    array([[2., 3.],
           [0., 0.]])
    """
    return _fit_local(X, y, users, n_users, penalties, False)


def fit_local_evidence(X: Reals, y: Reals, users: Codes, n_users: int) -> FloatArray:
    """Ridge regressions of each user alone, averaged over RATIOS by their evidence: nothing is shared or released.

    The evidence is that of Gaussian coefficients, with the variance of the noise integrated out under 1/variance.
    """
    return _fit_local(X, y, users, n_users, None, True)


def fit_pooled_ridge(X: Reals, y: Reals) -> FloatArray:
    """One ridge regression for all records, of shape (n_features,), with the penalty of least leave-one-out error."""
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    values, axes = np.linalg.eigh(X.T @ X)
    Z = X @ axes
    right = Z.T @ y
    best, error = np.zeros(X.shape[1]), np.inf
    for penalty in RATIOS * max(float(values.mean()), 1e-200):
        weights = 1.0 / (np.maximum(values, 0.0) + penalty)
        residuals = (y - Z @ (weights * right)) / np.maximum(1.0 - (Z * Z) @ weights, 1e-12)
        if float(residuals @ residuals) < error:
            best, error = axes @ (weights * right), float(residuals @ residuals)
    return best


@dataclass(frozen=True, slots=True)
class SharedModel:
    """A representation and the law of heads; it predicts from the posterior of each user.

    Attributes
    ----------
    embedding : ndarray of shape (n_features, n_components)
    mean : ndarray of shape (n_components,)
    covariance : ndarray of shape (n_components, n_components)
        Of heads.
    noise : float
        Variance of an answer about its mean.
    labels : bool
        Whether answers are labels, 0 or 1, with logistic probabilities.
    """

    embedding: FloatArray
    mean: FloatArray
    covariance: FloatArray
    noise: float
    labels: bool = False

    def coefficients(self, X: Reals, y: Reals, users: Codes, n_users: int) -> FloatArray:
        """U times the posterior mean of every head, or its mode for labels."""
        solve = _label_heads if self.labels else _posterior
        return solve(self, X @ self.embedding, y, users, n_users)[0] @ self.embedding.T


def true_model(embedding: FloatArray, heads: FloatArray, noise: float, *, labels: bool = False) -> SharedModel:
    """The oracle: the true representation, with mean and covariance of the true heads and their noise (a deviation)."""
    k = embedding.shape[1]
    covariance = np.cov(heads.T).reshape(k, k)
    return SharedModel(embedding, heads.mean(axis=0), covariance, max(noise**2, _SMALLEST), labels)


def fit_shared(
    X: Reals, y: Reals, users: Codes, n_users: int, n_components: int, *, n_iterations: int = 300, tol: float = 1e-5
) -> SharedModel:
    """Representation, law of heads and noise by EM, from a spectral start; every call gives the same result.

    It ends when no direction of the representation turns by a sine above `tol` in one iteration.

    Examples
    --------
    >>> from hushrank.evaluation.synthetic import shared_representation
    >>> data = shared_representation(500, 6, 1, n_records=4, noise=0.1, seed=0)
    >>> model = fit_shared(data.X, data.y, data.users, 500, 1)
    >>> bool(abs(model.embedding.T @ data.embedding)[0, 0] > 0.999)
    True
    """
    check_integer(n_components, "n_components", "fit_shared", minimum=1, maximum=X.shape[1])
    check_integer(n_iterations, "n_iterations", "fit_shared", minimum=1)
    rows, answers = np.asarray(X, np.float64), np.asarray(y, np.float64)
    model = _start(rows, answers, users, n_users, n_components)
    for _ in range(n_iterations):
        before, model = model.embedding, _em_step(model, rows, answers, users, n_users)
        if np.linalg.norm(model.embedding - before @ (before.T @ model.embedding), 2) < tol:
            break
    return model


def _start(X: FloatArray, y: FloatArray, users: Codes, n_users: int, k: int) -> SharedModel:
    """Top eigenvectors of the second moment of mean(y x) of users, for whitened x; half of the answers is noise."""
    values, axes = np.linalg.eigh(X.T @ X / max(len(X), 1))
    whiten = (axes / np.sqrt(np.maximum(values, 1e-6 * values[-1]))) @ axes.T
    order, counts = np.argsort(users, kind="stable"), np.bincount(users, minlength=n_users)
    present = counts > 0
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])[present]
    sums = np.add.reduceat((X * y[:, None])[order], starts, axis=0) @ whiten
    top = np.linalg.eigh((sums / (counts[present] + X.shape[1])[:, None]).T @ sums)[1][:, -k:]
    embedding, R = np.linalg.qr(whiten @ top)
    square = float(np.mean(y**2))
    return SharedModel(embedding, np.zeros(k), R @ R.T * square / (2 * k) + 1e-12 * np.eye(k), square / 2 + 1e-12)


def _em_step(model: SharedModel, X: FloatArray, y: FloatArray, users: Codes, n_users: int) -> SharedModel:
    """One iteration; the representation is free and made orthonormal afterwards, which speeds EM up."""
    heads, spread, explained = _posterior(model, X @ model.embedding, y, users, n_users)
    moments = heads[:, :, None] * heads[:, None, :] + spread
    (d, k), present = model.embedding.shape, np.bincount(users, minlength=n_users) > 0
    A = np.empty((d, k, d, k))
    for a in range(k):
        for b in range(a, k):
            A[:, a, :, b] = A[:, b, :, a] = X.T @ (X * moments[users, a, b][:, None])
    right = X.T @ (y[:, None] * heads[users])
    ridge = 1e-12 * float(np.trace(A.reshape(d * k, d * k)))
    solved = np.linalg.solve(A.reshape(d * k, d * k) + ridge * np.eye(d * k), right.ravel()).reshape(d, k)
    residuals = y - np.einsum("ij,ij->i", X @ model.embedding, heads[users])
    mean = heads[present].mean(axis=0)
    covariance = moments[present].mean(axis=0) - np.outer(mean, mean)
    embedding, R = np.linalg.qr(solved)
    return replace(
        model,
        embedding=embedding,
        mean=R @ mean,
        covariance=R @ covariance @ R.T,
        noise=max(float(residuals @ residuals + explained) / len(y), _SMALLEST * float(np.mean(y**2)), 1e-300),
    )


def _posterior(
    model: SharedModel, Z: Reals, y: Reals, users: Codes, n_users: int
) -> tuple[FloatArray, FloatArray, float]:
    """Means and covariances of heads given z = U^T x, and the sum of z^T covariance z over all records."""
    precision = model.noise * np.linalg.inv(model.covariance)
    gram, right = _sums(Z, np.ones(len(Z)), y, users, n_users)
    inverse = np.linalg.inv(gram + precision)
    heads = np.einsum("iab,ib->ia", inverse, right + precision @ model.mean)
    return heads, model.noise * inverse, model.noise * float(np.einsum("iab,iab->", inverse, gram))


def _label_heads(
    model: SharedModel, Z: Reals, y: Reals, users: Codes, n_users: int
) -> tuple[FloatArray, FloatArray, float]:
    """Modes of the posterior by Newton steps of norm 2 at most, with Laplace's covariances."""
    precision = np.linalg.inv(model.covariance)
    heads, inverse = np.tile(model.mean, (n_users, 1)), np.empty(0)
    for _ in range(_NEWTON_STEPS):
        chance = 0.5 * (1.0 + np.tanh(0.5 * np.einsum("ij,ij->i", Z, heads[users])))
        gram, right = _sums(Z, chance * (1.0 - chance), y - chance, users, n_users)
        inverse = np.linalg.inv(gram + precision)
        step = np.einsum("iab,ib->ia", inverse, right - (heads - model.mean) @ precision)
        norms = np.linalg.norm(step, axis=1, keepdims=True)
        heads += step * np.minimum(1.0, 2.0 / np.maximum(norms, 1e-300))
        if float(norms.max(initial=0.0)) < 1e-9:
            break
    return heads, inverse, 0.0


def _sums(Z: Reals, weights: FloatArray, y: Reals, users: Codes, n_users: int) -> tuple[FloatArray, FloatArray]:
    """Sums over the records of each user of w z z^T and of y z."""
    k = Z.shape[1]
    gram, right = np.empty((n_users, k, k)), np.empty((n_users, k))
    for a in range(k):
        right[:, a] = np.bincount(users, y * Z[:, a], n_users)
        for b in range(a, k):
            gram[:, a, b] = gram[:, b, a] = np.bincount(users, weights * Z[:, a] * Z[:, b], n_users)
    return gram, right


def _fit_local(
    X: Reals, y: Reals, users: Codes, n_users: int, penalties: FloatArray | None, average: bool
) -> FloatArray:
    order = np.argsort(users, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(users, minlength=n_users))])
    choices = RATIOS if penalties is None else np.sort(np.asarray(penalties, np.float64))[::-1].copy()
    coef = np.zeros((n_users, X.shape[1]))
    rows, answers = np.ascontiguousarray(X[order], np.float64), np.ascontiguousarray(y[order], np.float64)
    _solve_alone(rows, answers, ends, choices, penalties is None, average, coef)
    return coef


@compiled
def _solve_alone(
    X: FloatArray,
    y: FloatArray,
    ends: NDArray[np.int64],
    choices: FloatArray,
    relative: bool,
    average: bool,
    coef: FloatArray,
) -> None:
    """Fill the rows of coef, with X_j = P diag(s) Q^T and its ridge regressions Q diag(s / (s^2 + penalty)) P^T y."""
    scores, weights = np.empty(len(choices)), np.empty(len(choices))
    for j in range(len(ends) - 1):
        rows, answers = X[ends[j] : ends[j + 1]], y[ends[j] : ends[j + 1]]
        scale = (rows * rows).sum() / max(len(rows), 1)
        if not scale > 0.0:
            continue
        P, s, Qt = np.linalg.svd(rows, full_matrices=False)
        projected, unit = P.T @ answers, scale if relative else 1.0
        for c in range(len(choices)):
            scores[c] = _score(P, s, projected, answers, unit * choices[c], average)
        if average:
            weights[:] = np.exp(scores - scores.max())
        else:
            weights[:] = 0.0
            weights[np.argmax(scores)] = 1.0
        weights /= weights.sum()
        for c in range(len(choices)):
            if weights[c] > 0.0:
                coef[j] += weights[c] * (Qt.T @ (s / (s * s + unit * choices[c]) * projected))


@compiled
def _score(
    P: FloatArray, s: FloatArray, projected: FloatArray, answers: FloatArray, penalty: float, average: bool
) -> float:
    """Log evidence of a penalty, or minus its leave-one-out error: residuals r_i / (1 - h_i), h the leverages."""
    kept = s * s / (s * s + penalty)
    if average:
        rest = max((answers * answers).sum() - (kept * projected * projected).sum(), 1e-300)
        return float(0.5 * np.log(1.0 - kept + 1e-300).sum() - 0.5 * len(answers) * np.log(rest))
    error = 0.0
    for i in range(len(answers)):
        residual = answers[i] - (P[i] * kept * projected).sum()
        left = max(1.0 - (P[i] * P[i] * kept).sum(), 1e-12)
        error += (residual / left) ** 2
    return float(-error)
