"""DPLMC and DPALS with the noise that Wang, Zhao and Kolar (AISTATS 2023) print, to reproduce their Section 6.

**The epsilon here is not a guarantee.** Both methods read the share p of observed entries, and DPLMC the largest number
K of ratings of a user, from the data for free; noise is floating-point; settings are chosen on another draw of the same
law without accounting. `FactoredGradient` and `AlternatingLeastSquares` of the library pay for everything.

How Section 6 was read, where it leaves a choice:

- Data: each factor is scaled by one number, so that its longest row has norm 2 ("global" scaling); `low_rank_matrix`.
- Units: the steps are those of X / sqrt(m n), the normalization of the theorem, in which rows of the factors keep their
  size. Data scaled like this need steps above the printed ones, 0.05 to 0.3: the grid goes on to 3.
- Algorithm 2: tau = 1, and Sigma holds the singular values of X. Its epsilon is the printed one, 1 (0.2 where the total
  is 2), the rest goes to the steps, and each part has delta / 2.
- omega = 1 / (1 + K / p^2) and G = alpha_1 alpha_2 as printed.
- DPALS: row clip 2, entry clip 4, sensitivities sqrt(2 K) 2^2 and 2 sqrt(K) 2 * 4 for replacing a user with K ratings,
  half of the budget each, composed by Renyi DP as for DPLMC. Its penalties are not printed; they are part of the grid.
  With Algorithm 2 its rows are clipped to 2 * 4.
- Settings: the best on one validation draw, against its true matrix, for every cell. Grids are thinned to values that
  wider ones chose on that draw.
- Figure 3 does not say how it starts: with Algorithm 2.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.evaluation.synthetic import LowRankMatrix, low_rank_matrix

Array = NDArray[Any]
Settings = Mapping[str, float]

N_ITEMS, DELTA, VALIDATION_SEED = 100, 1e-5, 1000
ROW_CLIP, ENTRY_CLIP = 2.0, 4.0


def _grid(**choices: Iterable[float]) -> list[Settings]:
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


DPLMC_GRID = _grid(steps=(20, 40, 60), step_size=(0.3, 1.0, 3.0), user_norm=(2.0, 3.0), item_norm=(2.0,))
DPALS_GRID = _grid(
    sweeps=(1, 2, 4), max_ratings=(50,), ridge=(0.1, 1.0, 3.0), item_ridge=(30.0, 300.0, 1000.0, 10000.0)
)


def start_epsilon(epsilon: float) -> float:
    """What the paper spends on Algorithm 2."""
    return 0.2 if epsilon == 2.0 else 1.0


def renyi_mu(epsilon: float, delta: float) -> float:
    """Root of the sum of (sensitivity / scale)^2 that the paper's conversion from Renyi DP allows (its Appendix A)."""
    return math.sqrt(2.0) * (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta)))


def dplmc_paper(
    Y: Array,
    M: Array,
    rank: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    private_start: bool,
    settings: Settings,
) -> Array:
    """Predictions of Algorithm 1; Y holds zeros where the mask M does."""
    (m, n), p, steps = Y.shape, float(M.mean()), int(settings["steps"])
    a1, a2, eta = settings["user_norm"], settings["item_norm"], settings["step_size"]
    G, omega = a1 * a2, 1.0 / (1.0 + M.sum(axis=1).max() / p**2)
    if private_start:
        delta /= 2
        U, V = _algorithm_2(Y, p, rank, G, start_epsilon(epsilon), delta, rng)
        epsilon -= start_epsilon(epsilon)
    else:
        U, V = 0.5 * rng.standard_normal((m, rank)), 0.5 * rng.standard_normal((n, rank))
    # Theorem 5.1; larger by sqrt(2) or more than the sensitivities need.
    unit = math.sqrt(steps * (math.log(1 / delta) + epsilon)) / epsilon
    nu1, nu2 = a1**2 * math.sqrt(8 / omega) * unit, 4 * a1 * G * unit / math.sqrt(1 - omega)
    U, V = _shorten(U.astype(Y.dtype), a1), _shorten(V, a2)
    for _ in range(steps):
        W = V.astype(Y.dtype)
        E = U @ W.T
        E -= Y
        E *= M
        R = (U.T @ U + _symmetric(rng, rank, nu1)) / m - V.T @ V / n
        gradient = (E.T @ (U * _factors(E, G)) + nu2 * rng.standard_normal((n, rank))) / (p * m)
        V = _shorten(V - eta * gradient + eta / 2 * V @ R, a2)
        U = _shorten((U - eta / (p * n) * (E @ W) - eta / 2 * U @ R).astype(Y.dtype), a1)
    return U @ V.T.astype(Y.dtype)


def dpals_paper(
    Y: Array,
    M: Array,
    rank: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    private_start: bool,
    settings: Settings,
) -> Array:
    """Predictions of private alternating least squares (Chien et al. 2021) with the clips of Section 6."""
    n, sweeps, K, ridge = Y.shape[1], int(settings["sweeps"]), int(settings["max_ratings"]), settings["ridge"]
    V = 0.5 * rng.standard_normal((n, rank))
    if private_start:
        delta /= 2
        V = _algorithm_2(Y, float(M.mean()), rank, ROW_CLIP * ENTRY_CLIP, start_epsilon(epsilon), delta, rng)[1]
        epsilon -= start_epsilon(epsilon)
    mu = renyi_mu(epsilon, delta) / math.sqrt(2 * sweeps)
    gram_scale = math.sqrt(2 * K) * ROW_CLIP**2 / mu
    right_scale = 2 * math.sqrt(K) * ROW_CLIP * ENTRY_CLIP / mu
    kept = _sample(M, K, rng)
    clipped = np.clip(Y, -ENTRY_CLIP, ENTRY_CLIP) * kept
    for _ in range(sweeps):
        U = _shorten(_solve_users(V, Y, M, ridge), ROW_CLIP).astype(Y.dtype)
        A = (kept.T @ _products(U)).reshape(n, rank, rank).astype(np.float64)
        noise = rng.standard_normal((n, rank, rank))
        A += gram_scale * (noise + noise.transpose(0, 2, 1)) / 2
        b = clipped.T @ U + right_scale * rng.standard_normal((n, rank))
        w, Q = np.linalg.eigh(A)
        V = np.einsum(
            "nab,nb->na", Q, np.einsum("nab,na->nb", Q, b) / (np.maximum(w, 0) + ridge + settings["item_ridge"])
        )
    return _shorten(_solve_users(V, Y, M, ridge), ROW_CLIP).astype(Y.dtype) @ V.T.astype(Y.dtype)


def _algorithm_2(
    Y: Array, p: float, rank: int, G: float, epsilon: float, delta: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """User and item factors from a noisy second moment, with the printed nu_0."""
    m, n = Y.shape
    rows = _shorten(Y, G)
    A = rows.T @ rows + _symmetric(rng, n, 4 * G**2 * math.sqrt(math.log(1 / delta)) / epsilon)
    w, Q = np.linalg.eigh(A / (p * p * m * n))
    singular, Q = np.sqrt(np.maximum(w[-rank:], 1e-12)), Q[:, -rank:]
    return rows @ Q.astype(Y.dtype) / (p * np.sqrt(singular * n)), Q * np.sqrt(singular * n)


def _shorten(A: Array, bound: float) -> Array:
    return A * _factors(A, bound)


def _factors(A: Array, bound: float) -> Array:
    """What rows are multiplied by to have norm at most `bound`."""
    norms = np.sqrt(np.einsum("ij,ij->i", A, A))[:, None]
    return np.minimum(1.0, bound / np.maximum(norms, 1e-12)).astype(A.dtype)


def _symmetric(rng: np.random.Generator, k: int, scale: float) -> Array:
    """A symmetric matrix whose upper triangle, with the diagonal, is independent."""
    upper = np.triu(scale * rng.standard_normal((k, k)))
    return upper + np.triu(upper, 1).T


def _products(U: Array) -> Array:
    return (U[:, :, None] * U[:, None, :]).reshape(len(U), -1)


def _solve_users(V: Array, Y: Array, M: Array, ridge: float) -> Array:
    rank, W = V.shape[1], V.astype(Y.dtype)
    A = (M @ _products(W)).reshape(-1, rank, rank) + ridge * np.eye(rank)
    return np.linalg.solve(A, (Y @ W).astype(np.float64)[:, :, None])[:, :, 0]


def _sample(M: Array, K: int, rng: np.random.Generator) -> Array:
    """The mask of at most K ratings of every user, chosen at random."""
    keys = np.where(M > 0, rng.random(M.shape, dtype=np.float32), np.float32(-1))
    least = np.partition(keys, M.shape[1] - K, axis=1)[:, M.shape[1] - K, None]
    return ((keys >= least) & (M > 0)).astype(M.dtype)


Method = Callable[..., Array]
# Name -> (method, whether it starts with Algorithm 2, settings to choose from).
METHODS: dict[str, tuple[Method, bool, list[Settings]]] = {
    "DPLMC as published, random start": (dplmc_paper, False, DPLMC_GRID),
    "DPLMC as published, private start": (dplmc_paper, True, DPLMC_GRID),
    "DPALS as published, random start": (dpals_paper, False, DPALS_GRID),
    "DPALS as published, private start": (dpals_paper, True, DPALS_GRID),
}


def published_errors(name: str, m: int, rank: int, noise: float, epsilon: float, seeds: Iterable[int]) -> list[float]:
    """Mean squared errors on unobserved entries, one a seed, at the settings that are best on the validation draw."""
    settings = choose_settings(name, m, rank, noise, epsilon)
    return [
        _error(name, low_rank_matrix(m, N_ITEMS, rank, noise=noise, seed=seed), rank, epsilon, settings, 1 + seed)
        for seed in seeds
    ]


def choose_settings(name: str, m: int, rank: int, noise: float, epsilon: float) -> Settings:
    """The settings of a method with the smallest error on the validation draw."""
    draw = low_rank_matrix(m, N_ITEMS, rank, noise=noise, seed=VALIDATION_SEED)
    return min(METHODS[name][2], key=lambda settings: _error(name, draw, rank, epsilon, settings, VALIDATION_SEED))


def _error(name: str, draw: LowRankMatrix, rank: int, epsilon: float, settings: Settings, noise_seed: int) -> float:
    method, private_start, _ = METHODS[name]
    M = (~np.isnan(draw.observed)).astype(np.float32)
    Y = np.nan_to_num(draw.observed).astype(np.float32)
    rng = np.random.default_rng([noise_seed, 1])  # apart from the generator of the draw
    return draw.error(method(Y, M, rank, epsilon, DELTA, rng, private_start, settings))
