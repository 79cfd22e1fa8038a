"""The error of private rank-k approximation from noisy eigenvalues and one draw from their orbit: proved bounds.

Theorem 2.3 of the paper with its constants. docs/privacy/orbit_bounds.md, Theorem 6, has the proof; the draw itself is
the subject of `hushrank.bounds.orbit`.

References
----------
Mangoubi, Wu, Kale, Thakurta, Vishnoi: Private Matrix Approximation and Geometry of Unitary Orbits, COLT 2022.
"""

import math

from scipy.special import gammaincinv

from hushrank.bounds.arguments import FloatArray, Numbers, check_falling, count_changed_rows
from hushrank.parameters import check_integer, check_real


def expected_frobenius_error(
    eigenvalues: Numbers, rank: int, epsilons: tuple[float, float], *, row_norm: float, neighbors: str
) -> float:
    """Bound on the expected squared Frobenius error of private rank-k approximation (Theorem 2.3; Theorem 6).

    Laplace noise on the top `rank` eigenvalues, clipped at 0 and sorted, for `epsilons[0]`; then one complex draw H
    with those levels for `epsilons[1]`. When M is real, the real part of H obeys the same bound.

    Parameters
    ----------
    eigenvalues : array-like of shape (d,)
        Spectrum of M, nonnegative: a public guess when planning.

    Examples
    --------
    >>> expected_frobenius_error([100.0, 1.0], 1, (1.0, 1.0), row_norm=1.0, neighbors="add_remove")
    204.0
    """
    owner = "expected_frobenius_error"
    gamma, noise, unit = _rank_k_scales(eigenvalues, rank, epsilons, row_norm, neighbors, owner)
    # The mean of the largest positive part of `rank` independent Laplace variables of scale 1.
    rise = sum((1 - 0.5**j) / j for j in range(1, rank + 1))
    loss = _distinct_pairs(len(gamma), rank) * unit * (gamma[0] + noise * rise)
    return float((gamma[rank:] ** 2).sum() + 2 * rank * noise**2 + 2 * loss)


def frobenius_error_quantile(
    eigenvalues: Numbers,
    rank: int,
    epsilons: tuple[float, float],
    probability: float,
    *,
    row_norm: float,
    neighbors: str,
) -> float:
    """Squared Frobenius error not exceeded with the stated probability; see `expected_frobenius_error`.

    Examples
    --------
    >>> plan = {"row_norm": 1.0, "neighbors": "add_remove"}
    >>> round(frobenius_error_quantile([100.0, 1.0], 1, (1.0, 1.0), 0.95, **plan), 1)
    779.6
    """
    owner = "frobenius_error_quantile"
    failure = 1 - check_real(probability, "probability", owner, above=0, below=1)
    gamma, noise, unit = _rank_k_scales(eigenvalues, rank, epsilons, row_norm, neighbors, owner)
    largest = noise * math.log(2 * rank / failure)  # half of the failure to the eigenvalues, half to the draw
    pairs = _distinct_pairs(len(gamma), rank)
    scaled = float(gammaincinv(pairs, 1 - failure / 2)) if pairs else 0.0
    return float((gamma[rank:] ** 2).sum() + rank * largest**2 + 2 * scaled * unit * (gamma[0] + largest))


def _distinct_pairs(dimension: int, rank: int) -> int:
    """Pairs of different eigenvalues when the nonzero ones all differ."""
    return rank * (2 * dimension - rank - 1) // 2


def _rank_k_scales(
    eigenvalues: Numbers,
    rank: int,
    epsilons: tuple[float, float],
    row_norm: float,
    neighbors: str,
    owner: str,
) -> tuple[FloatArray, float, float]:
    """Spectrum of M in falling order, Laplace scale of its eigenvalues, and 1 / (rate top) of the draw."""
    gamma = check_falling(eigenvalues, "eigenvalues", owner)
    check_integer(rank, "rank", owner, minimum=1, maximum=len(gamma))
    change = count_changed_rows(neighbors, owner) * check_real(row_norm, "row_norm", owner, above=0) ** 2
    values_epsilon, vectors_epsilon = (check_real(epsilon, "epsilons", owner, above=0) for epsilon in epsilons)
    return gamma, change / values_epsilon, change / vectors_epsilon
