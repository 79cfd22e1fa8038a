"""The paper's lower bounds and packing numbers on unitary orbits: rates, not bounds.

Each holds up to a universal constant that the paper does not give, so its value proves nothing about one data set. They
show how error must grow with dimension, rank and epsilon; forecasts use `hushrank.bounds.orbit` instead.

References
----------
Mangoubi, Wu, Kale, Thakurta, Vishnoi: Private Matrix Approximation and Geometry of Unitary Orbits, COLT 2022.
"""

import numpy as np

from hushrank.bounds.arguments import Numbers, check_falling
from hushrank.parameters import check_integer, check_real


def frobenius_lower_rate(eigenvalues: Numbers, rank: int, epsilon: float) -> float:
    """Rate, not a bound: squared Frobenius error that no pure algorithm beats, up to a universal constant.

    Theorem 2.4, Corollaries 2.5 and 2.6 with the constant set to 1, for rows of norm 1, where the spectrum is that of
    M; the worst M of that spectrum errs at least so much with probability 1/2. The proof needs small epsilon.

    Examples
    --------
    >>> frobenius_lower_rate([10.0, 10.0, 0.0, 0.0], 2, 1.0)  # d / max(100 epsilon, d) times 2 (10 - 0)^2
    8.0
    """
    owner = "frobenius_lower_rate"
    gamma = check_falling(eigenvalues, "eigenvalues", owner)
    rank = check_integer(rank, "rank", owner, minimum=1, maximum=len(gamma))
    epsilon, d = check_real(epsilon, "epsilon", owner, above=0), len(gamma)
    i = np.arange(1, d // 2 + 1)
    spread = float((i * (gamma[: d // 2] - gamma[::-1][: d // 2]) ** 2).max(initial=0.0))
    return float((gamma[rank:] ** 2).sum() + d / max(gamma[0] ** 2 * epsilon, d) * spread)


def packing_number_log_rate(
    eigenvalues: Numbers, separation: float, constant: float, *, radius: float | None = None
) -> float:
    """Rate, not a bound: log of how many points of a unitary orbit are `separation` apart in Frobenius norm.

    Theorem 2.7. `constant` is the universal constant of the paper, whose value is not known: c of inequality (3) for
    the whole orbit; with `radius`, C of inequality (2) for the part of the orbit within that distance of a point.

    Examples
    --------
    >>> packing_number_log_rate([1.0, 0.0], 1.0, np.e)  # 2 i (d - j + 1) log(constant), i = 1, j = 2
    2.0
    """
    owner = "packing_number_log_rate"
    values = check_falling(eigenvalues, "eigenvalues", owner)
    separation = check_real(separation, "separation", owner, above=0)
    constant = check_real(constant, "constant", owner, above=0)
    i, j = np.triu_indices(len(values), 1)
    above, below, gap = i + 1.0, len(values) - j.astype(float), values[i] - values[j]
    above, below, gap = above[gap > 0], below[gap > 0], gap[gap > 0]
    width = np.sqrt(np.minimum(above, below))
    if radius is None:
        ratio = constant * width * gap / separation
    else:
        reach = np.minimum(check_real(radius, "radius", owner, above=0), values[0] * width)
        ratio = reach * (gap / values[0]) / (2 * constant * separation)
    return float((2 * above * below * np.log(ratio)).max(initial=0.0))
