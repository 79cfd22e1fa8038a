"""Private FedRep and private alternating minimization with the noise that their papers print, for benchmarks only.

FedRep is that of Snedeker, Zhou and Bassily (ICML 2025); altmin is Algorithms 1 to 3 of Jain, Rush, Smith, Song and
Thakurta (NeurIPS 2021). **The epsilon here is not a guarantee of this library**: noise is floating-point everywhere,
and `METHODS` says in words what else a method reads for free. Where its printed claim is false, its event is
NonPrivate.

How the papers were read, where they leave a choice:

- FedRep as coded by its authors: T = 5, step 2.5, per-user gradients clipped to 10 in Frobenius norm, noise
  sqrt(48) 10 sqrt(T log(1/delta)) / (n epsilon) on their mean; heads by least squares on the same records as the
  gradient; the start takes the whole second moment without clipping and without noise (their formula cancels to zero;
  the U-statistic that it stands for is used here).
- FedRep with a private start: the algorithm of the paper, which gives half of epsilon and delta to the start; clip
  (R^2 + 1) d for unit heads and noise of deviation R, with the constant sqrt(48) of the steps.
- Altmin: T = 5 disjoint blocks of users. Of the training records, the first half (rounded up) is for heads, the rest
  for the release. The proofs count m records a user, a quarter of them in a release: here m is 4 times that part.
  Clips eta = mu sqrt(lambda_k d k) and zeta = sigma + mu sqrt(k lambda_k), with the true mu, lambda_k and sigma, and
  neither constants nor logarithms: the least noise that the proofs allow. The noisy Gram matrix is usually indefinite
  and its minimum does not exist; eigenvalues are floored at the spectral norm of the noise.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.bounds.representation import printed_noise_multiplier
from hushrank.evaluation.synthetic import SharedRepresentation
from hushrank.privacy.events import Event, Gaussian, NonPrivate

Array = NDArray[Any]
Records = tuple[Array, Array]

STEPS, STEP_SIZE, CLIP, CONSTANT = 5, 2.5, 10.0, math.sqrt(48.0)


def fedrep_as_coded(data: SharedRepresentation, epsilon: float, delta: float, rng: np.random.Generator) -> Array:
    """Embedding by private FedRep as its authors coded it."""
    X, y = _by_user(data)
    return _fedrep_steps(X, y, _top(_pair_moment(X, y, math.inf), _rank(data)), epsilon, delta, rng)


def fedrep_private_start(data: SharedRepresentation, epsilon: float, delta: float, rng: np.random.Generator) -> Array:
    """Embedding by private FedRep with the private start of the paper, at half of the budget."""
    X, y = _by_user(data)
    n, _, d = X.shape
    clip = (data.noise**2 + 1.0) * d
    scale = CONSTANT * clip * math.sqrt(math.log(2 / delta)) / (n * epsilon / 2)
    U = _top(_pair_moment(X, y, clip) + _symmetric(rng, d, scale), _rank(data))
    return _fedrep_steps(X, y, U, epsilon / 2, delta / 2, rng)


def _fedrep_steps(X: Array, y: Array, U: Array, epsilon: float, delta: float, rng: np.random.Generator) -> Array:
    n = len(X)
    scale = CONSTANT * CLIP * math.sqrt(STEPS * math.log(1 / delta)) / (n * epsilon)
    for _ in range(STEPS):
        heads = _least_squares(X @ U, y)
        residuals = np.einsum("jmd,jd->jm", X, heads @ U.T) - y
        left = np.einsum("jmd,jm->jd", X, residuals) / X.shape[1]  # a user's gradient is left times its head
        factors = _factors(np.linalg.norm(left, axis=1) * np.linalg.norm(heads, axis=1), CLIP)
        noisy = (left * factors[:, None]).T @ heads / n + scale * rng.standard_normal(U.shape)
        U = np.linalg.qr(U - STEP_SIZE * noisy)[0]
    return U


def altmin(data: SharedRepresentation, epsilon: float, delta: float, rng: np.random.Generator) -> Array:
    """Embedding by Algorithms 1 to 3 with their printed noise; start and steps have (epsilon, delta) each."""
    X, y = _by_user(data)
    k, half = _rank(data), (X.shape[1] + 1) // 2
    smallest = float(np.linalg.eigvalsh(data.heads.T @ data.heads / len(X))[0])
    longest = float(np.linalg.norm(data.heads, axis=1).max())  # mu sqrt(k lambda_k)
    eta, zeta = longest * math.sqrt(X.shape[2]), data.noise + longest
    multiplier = printed_noise_multiplier(epsilon, delta)
    U = _algorithm_3(X, y, k, zeta, multiplier, rng)
    for block in np.array_split(np.arange(len(X)), STEPS):
        heads = _least_squares(X[block, :half] @ U, y[block, :half], ridge=1e-9 * smallest)
        U = _algorithm_2((X[block, half:], y[block, half:]), heads, (eta, zeta), multiplier, rng)
    return U


def _algorithm_3(X: Array, y: Array, k: int, zeta: float, multiplier: float, rng: np.random.Generator) -> Array:
    """The private start: symmetrized products of neighboring records, of unit x and clipped y."""
    pairs = X.shape[1] // 2
    m = 2 * pairs  # the records that it uses
    rows = X / np.linalg.norm(X, axis=2, keepdims=True) * np.clip(y, -zeta, zeta)[:, :, None]
    left, right = rows[:, 0:m:2].reshape(-1, X.shape[2]), rows[:, 1:m:2].reshape(-1, X.shape[2])
    M = left.T @ right
    return _top((M + M.T) / 2 + _symmetric(rng, X.shape[2], multiplier * zeta**2 * m), k)


def _algorithm_2(
    records: Records, heads: Array, clips: tuple[float, float], multiplier: float, rng: np.random.Generator
) -> Array:
    """The private step: noisy Gram matrix and right side of vec(x v^T), solved for all of U."""
    (X, y), (eta, zeta), k = records, clips, heads.shape[1]
    (n, part, d), m = X.shape, 4 * X.shape[1]
    W = (X[:, :, :, None] * heads[:, None, None, :]).reshape(n * part, d * k)
    W *= np.minimum(1.0, eta / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300))
    scale = multiplier * m * eta**2 / 2
    values, axes = np.linalg.eigh(W.T @ W + _symmetric(rng, d * k, scale))
    right = W.T @ np.clip(y, -zeta, zeta).ravel() + multiplier * m * eta * zeta / 2 * rng.standard_normal(d * k)
    floored = np.maximum(values, 2 * scale * math.sqrt(d * k))
    return np.linalg.qr((axes @ ((axes.T @ right) / floored)).reshape(d, k))[0]


def _by_user(data: SharedRepresentation) -> Records:
    """Training records as arrays of shapes (n_users, m, d) and (n_users, m); everybody has as many."""
    n = len(data.heads)
    return data.X.reshape(n, -1, data.X.shape[1]).astype(np.float64), data.y.reshape(n, -1).astype(np.float64)


def _rank(data: SharedRepresentation) -> int:
    return data.embedding.shape[1]


def _pair_moment(X: Array, y: Array, clip: float) -> Array:
    """Mean over users of the mean of y x y' x'^T over different records, shortened to the Frobenius norm `clip`."""
    Z, (n, m, d) = X * y[:, :, None], X.shape
    sums, gram = Z.sum(axis=1), Z @ Z.transpose(0, 2, 1)
    # The squared norm of s s^T - sum z z^T, times (m (m - 1))^2.
    squares = (sums**2).sum(axis=1) ** 2 - 2 * (gram.sum(axis=2) ** 2).sum(axis=1) + (gram**2).sum(axis=(1, 2))
    factors = _factors(np.sqrt(np.maximum(squares, 0.0)) / (m * (m - 1)), clip) / (n * m * (m - 1))
    weighted = (Z * factors[:, None, None]).reshape(-1, d)
    return (sums * factors[:, None]).T @ sums - weighted.T @ Z.reshape(-1, d)


def _least_squares(Z: Array, y: Array, ridge: float = 0.0) -> Array:
    transposed = Z.transpose(0, 2, 1)
    return np.linalg.solve(transposed @ Z + ridge * np.eye(Z.shape[2]), transposed @ y[:, :, None])[:, :, 0]


def _factors(norms: Array, bound: float) -> Array:
    """What shortens things of these norms to `bound`."""
    return np.minimum(1.0, bound / np.maximum(norms, 1e-300))


def _top(M: Array, k: int) -> Array:
    return np.linalg.eigh((M + M.T) / 2)[1][:, -k:]


def _symmetric(rng: np.random.Generator, d: int, scale: float) -> Array:
    """A symmetric matrix whose upper triangle, with the diagonal, is independent."""
    upper = np.triu(scale * rng.standard_normal((d, d)))
    return upper + np.triu(upper, 1).T


class Published(NamedTuple):
    """A published method, the event of its claim, and what stands between the claim and a guarantee."""

    fit: Callable[[SharedRepresentation, float, float, np.random.Generator], Array]
    event: Callable[[float, float], Event]
    words: str


def _not_private(epsilon: float, delta: float) -> Event:
    return NonPrivate()


def _fedrep_event(epsilon: float, delta: float) -> Event:
    """What the printed noise amounts to when one user is replaced: a mean of clipped vectors changes by 2 clip / n."""
    mu = 2 * (epsilon / 2) / (CONSTANT * math.sqrt(math.log(2 / delta)))
    return Gaussian(1 / math.hypot(mu, mu))


METHODS: dict[str, Published] = {
    "FedRep as published": Published(
        fedrep_as_coded,
        _not_private,
        "not private: the start is the exact second moment of the data, without clipping and without noise",
    ),
    "FedRep, private start": Published(
        fedrep_private_start,
        _fedrep_event,
        "its epsilon holds, with room to spare, but for floating-point noise",
    ),
    "altmin as published": Published(
        altmin,
        _not_private,
        "not private as run: both clips take norms of heads and noise from the truth, which the proofs assume known",
    ),
}
