"""Trace regression by Algorithms 1 and 2 of Zha as printed, for benchmarks and their attacks only.

The paper is "Near-optimal differentially private low-rank trace regression with guaranteed private initialization".
**It is not private**, whatever its epsilon says: its sensitivities are maxima over replacements that follow the model,
and hold with high probability only. `outlier_moves_projector` is a record that moves a projector 20 times as far.
Algorithm 1 also puts symmetric noise on a matrix that is not symmetric; `antisymmetric_leak` reads what has none. The
method's event is therefore NonPrivate, and `METHODS` has the reason.

How the paper was read, where it leaves a choice:

- Isotropic measurements: Lambda is the identity, C_u = C_l = 1. Entries are measured by sqrt(d1 d2) e_i e_j^T.
- The absolute constants C_2 and C_3 of the sensitivities are 1. sigma_1, sigma_r and sigma_xi are those of the truth.
- Theorem 3 gives (2 epsilon, 2 delta) for both algorithms, so each runs with half of what is asked for.
- log(3 / delta) in Algorithm 1 as printed, though its proof has 3.75; (E_V)_ij = (E_U)_ji is read as symmetric noise of
  its own, and the largest index of E_Sigma as r.
- Algorithm 2: eta = 1/2, l* = log n rounded up, and noise of the variance that it prints, twice that of its proof.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.evaluation.trace_data import TraceRecords
from hushrank.privacy import accountant
from hushrank.privacy.events import Event, NonPrivate
from hushrank.privacy.guarantee import Budget, Guarantee

Array = NDArray[Any]

ETA = 0.5


class Sensitivities(NamedTuple):
    """Delta^(1) of projectors and Delta^(2) of the core (Theorem 1), and Delta_l of a step (Theorem 3)."""

    projector: float
    core: float
    step: float


class Start(NamedTuple):
    """What Algorithm 1 releases: subspaces, the core between them, and their product, which is the first matrix."""

    U: Array
    V: Array
    core: Array

    @property
    def matrix(self) -> Array:
        """U core V^T."""
        return self.U @ self.core @ self.V.T


class PaperFit(NamedTuple):
    """An estimate, the initialization that it starts from, and what both are worth: nothing is guaranteed."""

    coef: Array
    start: Array
    guarantee: Guarantee


def printed_sensitivities(data: TraceRecords, rank: int) -> Sensitivities:
    """The sensitivities of Theorems 1 and 3 with constants of 1, from the truth."""
    n, (d1, d2) = len(data.y), data.coef.shape
    largest, smallest = (float(value) / _unit(data) for value in np.linalg.svd(data.coef)[1][[0, rank - 1]])
    core = (math.sqrt(rank) * largest + data.noise) * math.sqrt(rank) / n * math.log(n)
    step = ETA / n * (data.noise + smallest) * math.sqrt(rank * (d1 + d2) * math.log(n))
    return Sensitivities(core / smallest, core, step)


def algorithm_1_scale(sensitivity: float, epsilon: float, delta: float) -> float:
    """Standard deviation of the noise of one of the three releases of Algorithm 1, each at a third of the budget."""
    return math.sqrt(18.0 * math.log(3.0 / delta)) * sensitivity / epsilon


def algorithm_1(
    data: TraceRecords, rank: int, sensitivities: Sensitivities, epsilon: float, delta: float, rng: np.random.Generator
) -> Start:
    """The private initialization."""
    L = _gather(data, data.y) / len(data.y)
    U, _, V = _svd(L, rank)
    scale = algorithm_1_scale(sensitivities.projector, epsilon, delta)
    U, V = (_svd(Q @ Q.T + _symmetric(len(Q), scale, rng), rank)[0] for Q in (U, V))
    noise = _symmetric(rank, algorithm_1_scale(sensitivities.core, epsilon, delta), rng)
    return Start(U, V, U.T @ L @ V + noise)


def algorithm_2(
    data: TraceRecords, M: Array, rank: int, sensitivity: float, epsilon: float, delta: float, rng: np.random.Generator
) -> Array:
    """Riemannian gradient steps from a first matrix, with noise that is projected to the tangent space."""
    n = len(data.y)
    steps = math.ceil(math.log(n))
    scale = sensitivity * steps / epsilon * math.sqrt(2.0 * math.log(1.25 * steps / delta))
    for _ in range(steps):
        U, s, V = _svd(M, rank)
        M = (U * s) @ V.T
        change = scale * rng.standard_normal(M.shape) - ETA * _gather(data, _predict(data, M) - data.y) / n
        left = U @ (U.T @ change)
        U, s, V = _svd(M + left + (change - left) @ V @ V.T, rank)
        M = (U * s) @ V.T
    return M


def algorithms_1_and_2(
    data: TraceRecords, rank: int, epsilon: float, delta: float, rng: np.random.Generator
) -> PaperFit:
    """Both algorithms, each with half of epsilon and delta."""
    sensitivities, half = printed_sensitivities(data, rank), (epsilon / 2.0, delta / 2.0)
    start = algorithm_1(data, rank, sensitivities, *half, rng).matrix
    coef = algorithm_2(data, start, rank, sensitivities.step, *half, rng)
    event, budget = _not_private(epsilon, delta), Budget(epsilon, delta, unit="record")
    given = accountant.guarantee(event, budget, numerics="idealized")
    return PaperFit(_unit(data) * coef, _unit(data) * start, given)


def outlier_moves_projector(
    data: TraceRecords, rank: int, *, answer: float = 50.0, size: float = 10.0
) -> tuple[float, float]:
    """How far the projector U U^T moves if the first record is replaced, and the sensitivity that is claimed.

    The new record has y = `answer` and a measurement of Frobenius norm `size`: along a left singular direction just
    outside of the first `rank`, and the right one of the least value inside.
    """
    L = _gather(data, data.y) / len(data.y)
    U, _, Vt = np.linalg.svd(L)
    first = _gather(data, np.where(np.arange(len(data.y)) == 0, data.y, 0.0))
    moved = L + (answer * size * np.outer(U[:, rank], Vt[rank - 1]) - first) / len(data.y)
    before, after = (Q @ Q.T for Q in (_svd(L, rank)[0], _svd(moved, rank)[0]))
    return float(np.linalg.norm(after - before)), printed_sensitivities(data, rank).projector


def antisymmetric_leak(
    data: TraceRecords, rank: int, epsilon: float, delta: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Largest error of the antisymmetric part of the released core, and the noise that each entry of the core has.

    Algorithm 1 counts the subspaces as released before the core; between them the exact core is U^T L V.
    """
    sensitivities = printed_sensitivities(data, rank)
    U, V, core = algorithm_1(data, rank, sensitivities, epsilon / 2.0, delta / 2.0, rng)
    exact = U.T @ (_gather(data, data.y) / len(data.y)) @ V
    error = float(np.abs((core - core.T) - (exact - exact.T)).max())
    return error, algorithm_1_scale(sensitivities.core, epsilon / 2.0, delta / 2.0)


def _unit(data: TraceRecords) -> float:
    """Size of a measurement of one entry; answers are <X, M> with M = coef / unit."""
    return math.sqrt(data.coef.size) if data.design == "entry" else 1.0


def _predict(data: TraceRecords, M: Array) -> Array:
    """<X_i, M>."""
    if data.design == "dense":
        return data.X.reshape(len(data.y), -1) @ M.ravel().astype(data.X.dtype)
    if data.design == "rank_one":
        return np.einsum("ij,ij->i", data.X[0] @ M, data.X[1])
    return _unit(data) * M[data.X]


def _gather(data: TraceRecords, weights: Array) -> Array:
    """Sum of weights times X_i."""
    if data.design == "dense":
        flat = weights.astype(data.X.dtype) @ data.X.reshape(len(data.y), -1)
        return flat.reshape(data.coef.shape).astype(np.float64)
    if data.design == "rank_one":
        return (data.X[0] * weights[:, None]).T @ data.X[1]
    places = np.ravel_multi_index(data.X, data.coef.shape)
    return _unit(data) * np.bincount(places, weights, data.coef.size).reshape(data.coef.shape)


def _svd(M: Array, rank: int) -> tuple[Array, Array, Array]:
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    return U[:, :rank], s[:rank], Vt[:rank].T


def _symmetric(d: int, scale: float, rng: np.random.Generator) -> Array:
    """A symmetric matrix whose upper triangle, with the diagonal, is independent."""
    upper = np.triu(scale * rng.standard_normal((d, d)))
    return upper + np.triu(upper, 1).T


class Published(NamedTuple):
    """A published method, the event of its claim, and what stands between the claim and a guarantee."""

    fit: Callable[[TraceRecords, int, float, float, np.random.Generator], PaperFit]
    event: Callable[[float, float], Event]
    words: str


def _not_private(epsilon: float, delta: float) -> Event:
    return NonPrivate()


METHODS: dict[str, Published] = {
    "Algorithms 1 and 2 as published": Published(
        algorithms_1_and_2,
        _not_private,
        "not private: sensitivities hold for records that follow the model, while a record with answer 50 and a "
        "measurement of norm 10 moves a projector by 0.12 where 0.005 is claimed (n = 4000, singular values 1.5); the "
        "antisymmetric part of the core is released without noise; sigma_1, sigma_r and sigma_xi come from the truth",
    ),
}
