r"""How much a draw of the exponential mechanism on an orbit loses: proved bounds, with their constants.

Law        H = U diag(levels, 0, ..., 0) U^* with density exp(rate <M, H>) against the invariant law, drawn exactly.
Loss       best <M, H> on the orbit less the <M, H> of the draw.
Bounds     hold as stated, for every M: docs/privacy/orbit_bounds.md has the proofs. What the paper states up to an
           unknown constant is in `hushrank.bounds.orbit_rates`, and no forecast uses it.

References
----------
Mangoubi, Wu, Kale, Thakurta, Vishnoi: Private Matrix Approximation and Geometry of Unitary Orbits, COLT 2022.
"""

import math

import numpy as np
from scipy.special import gammaincinv

from hushrank.bounds.arguments import FloatArray, Numbers, check_falling, count_changed_rows
from hushrank.parameters import check_integer, check_real


def orbit_dimension(dimension: int, levels: Numbers, *, is_complex: bool) -> int:
    """Dimension of the orbit of diag(levels, 0, ..., 0) as a real manifold.

    One for every pair of different eigenvalues among all `dimension` of them, zeros included; twice that when complex.

    Examples
    --------
    >>> orbit_dimension(5, [1.0, 1.0], is_complex=False), orbit_dimension(5, [2.0, 1.0], is_complex=True)
    (6, 14)
    """
    spectrum = _spectrum(dimension, levels, "orbit_dimension")
    _, counts = np.unique(spectrum, return_counts=True)
    pairs = (len(spectrum) ** 2 - int((counts**2).sum())) // 2
    return pairs * (2 if is_complex else 1)


def expected_score_loss(
    dimension: int, levels: Numbers, rate: float, *, is_complex: bool, trace: float | None = None
) -> float:
    """Bound on the expected loss (Theorems 1, 2 and 3 of the note).

    Parameters
    ----------
    dimension : int
        d, the size of M.
    levels : array-like of shape (k,)
        The nonzero eigenvalues of H, positive. The real orbit needs equal ones (a multiple of a projection).
    rate : float
        The c of the density exp(c <M, H>), above 0.
    is_complex : bool
        Whether the draw is unitary or real orthogonal. A real M with a complex draw counts as complex.
    trace : float, optional
        Public bound on the trace of a positive semidefinite M, e.g. n_samples row_norm^2. With it the bound is never
        above the loss of a draw that ignores M.

    Returns
    -------
    float
        Complex: half the dimension of the orbit over the rate, which is exact in the limit of a large rate. Real: the
        same with a correction that vanishes, relatively, for large dimension.

    Examples
    --------
    >>> expected_score_loss(10, [1.0, 1.0], 4.0, is_complex=True)  # k (d - k) / rate
    4.0
    >>> expected_score_loss(10, [1.0, 1.0], 4.0, is_complex=True, trace=2.5)  # 2.5 (1 - k/d)
    2.0
    """
    owner = "expected_score_loss"
    rate = check_real(rate, "rate", owner, above=0)
    spectrum = _spectrum(dimension, levels, owner)
    half, surplus = _half_dimension(dimension, levels, is_complex)
    bound = _chernoff(half, surplus) / rate
    if trace is None:
        return bound
    return min(bound, check_real(trace, "trace", owner, minimum=0) * float(spectrum[0] - spectrum.mean()))


def score_loss_quantile(
    dimension: int, levels: Numbers, rate: float, probability: float, *, is_complex: bool, trace: float | None = None
) -> float:
    """Bound on the loss that holds with the stated probability (Theorems 1 and 2 of the note).

    Complex: the quantile of a Gamma variable whose shape is half the dimension of the orbit. Real: a Chernoff bound.
    Parameters as in `expected_score_loss`; `probability` lies strictly between 0 and 1.

    Examples
    --------
    >>> round(score_loss_quantile(10, [1.0, 1.0], 4.0, 0.95, is_complex=True), 3)
    5.774
    """
    owner = "score_loss_quantile"
    rate = check_real(rate, "rate", owner, above=0)
    probability = check_real(probability, "probability", owner, above=0, below=1)
    spectrum = _spectrum(dimension, levels, owner)
    half, surplus = _half_dimension(dimension, levels, is_complex)
    if half == 0:
        return 0.0
    scaled = (
        float(gammaincinv(half, probability)) if is_complex else _chernoff(half, surplus - math.log1p(-probability))
    )
    if trace is None:
        return scaled / rate
    return min(scaled / rate, check_real(trace, "trace", owner, minimum=0) * float(spectrum[0] - spectrum[-1]))


def expected_pca_loss(
    n_features: int, n_components: int, n_samples: int, epsilon: float, *, neighbors: str, is_complex: bool
) -> float:
    """Bound on the expected loss of captured variance by orbit PCA, as a share of n_samples row_norm^2.

    The rate is epsilon / (2 row_norm^2) for replace and epsilon / row_norm^2 for add_remove; row_norm cancels.

    Examples
    --------
    >>> expected_pca_loss(10, 2, 1000, 1.0, neighbors="replace", is_complex=True)  # 2 k (d - k) / (n epsilon)
    0.032
    """
    owner = "expected_pca_loss"
    n_features = check_integer(n_features, "n_features", owner, minimum=1)
    n_samples = check_integer(n_samples, "n_samples", owner, minimum=1)
    n_components = check_integer(n_components, "n_components", owner, minimum=1, maximum=n_features)
    rate = check_real(epsilon, "epsilon", owner, above=0) / count_changed_rows(neighbors, owner)
    levels = np.ones(n_components)
    return expected_score_loss(n_features, levels, rate, is_complex=is_complex, trace=n_samples) / n_samples


def covering_number_log(dimension: int, rank: int, top: float, radius: float, *, is_complex: bool) -> float:
    """Bound on the log of how many spectral-norm balls cover an orbit: (2) d k log(1 + 4 top / radius) (Lemma 4).

    The paper's Lemma C.3 has 8 in the place of 4; `top` is the largest level.

    Examples
    --------
    >>> round(covering_number_log(3, 1, 1.0, 4.0, is_complex=True) / math.log(2), 12)
    6.0
    """
    owner = "covering_number_log"
    top, radius = check_real(top, "top", owner, above=0), check_real(radius, "radius", owner, above=0)
    return _parameters(dimension, rank, is_complex, owner) * math.log1p(4 * top / radius)


def covering_loss_bound(
    dimension: int, rank: int, top: float, rate: float, trace: float, probability: float, *, is_complex: bool
) -> float:
    """Theorem 2.2 of the paper with its constants: a loss not exceeded with the stated probability (Theorem 5).

    It holds on every orbit, and is the only bound here for real orbits with unequal levels; wherever
    `score_loss_quantile` applies, that one is smaller. The value at probability 0 bounds the expected loss.

    Parameters
    ----------
    dimension, rank : int
        Size of M, and number of nonzero levels.
    top : float
        The largest level.
    rate, is_complex
        As in `expected_score_loss`.
    trace : float
        Bound on the trace of M, which must be positive semidefinite.
    probability : float
        In [0, 1).

    Examples
    --------
    >>> bound = covering_loss_bound(10, 2, 1.0, 4.0, 100.0, 0.95, is_complex=True)
    >>> bound > score_loss_quantile(10, [1.0, 1.0], 4.0, 0.95, is_complex=True)
    True
    """
    owner = "covering_loss_bound"
    top, rate = check_real(top, "top", owner, above=0), check_real(rate, "rate", owner, above=0)
    trace = check_real(trace, "trace", owner, above=0)
    probability = check_real(probability, "probability", owner, minimum=0, below=1)
    # min over r of rate r + m log(1 + a/r), with a = 4 top trace: r (r + a) = a m / rate.
    a, m = 4 * top * trace, _parameters(dimension, rank, is_complex, owner)
    r = 2 * (m / rate) / (1 + math.sqrt(1 + 4 * (m / rate) / a))
    bound = r + (m * math.log1p(a / r) - math.log1p(-probability)) / rate
    return min(bound, top * trace)


def _spectrum(dimension: int, levels: Numbers, owner: str) -> FloatArray:
    """All eigenvalues of H in falling order, zeros included."""
    dimension = check_integer(dimension, "dimension", owner, minimum=1)
    check_integer(len(levels), "length of levels", owner, minimum=1, maximum=dimension)
    return np.append(check_falling(levels, "levels", owner, above=0), np.zeros(dimension - len(levels)))


def _half_dimension(dimension: int, levels: Numbers, is_complex: bool) -> tuple[float, float]:
    """N and log A of the bound E exp(t rate loss) <= A (1 - t)^-N: Theorem 1 (complex) and Theorem 2 (real)."""
    half = orbit_dimension(dimension, levels, is_complex=is_complex) / 2
    if is_complex:
        return half, 0.0
    if min(levels) != max(levels):
        raise ValueError("levels of a real orbit must be equal; covering_loss_bound holds for others.")
    d, k = dimension, len(levels)
    return half, math.log(math.pi) / 2 + math.lgamma((d + 1) / 2) - math.lgamma((k + 1) / 2) - math.lgamma(
        (d - k + 1) / 2
    )


def _chernoff(half: float, surplus: float) -> float:
    """Root x >= N of x - N - N log(x/N) = surplus: Chernoff's tail exp(surplus - ...) of the bound A (1 - t)^-N."""
    if half == 0 or surplus <= 0:
        return half
    from scipy.optimize import brentq  # slow to import, and a plan seldom needs it

    excess = surplus / half
    top = 1 + excess + math.sqrt(2 * excess)  # u - 1 - log u >= excess there
    return half * float(brentq(lambda u: u - 1 - math.log(u) - excess, 1.0, top, xtol=1e-14, rtol=1e-14))


def _parameters(dimension: int, rank: int, is_complex: bool, owner: str) -> int:
    dimension = check_integer(dimension, "dimension", owner, minimum=1)
    return (2 if is_complex else 1) * dimension * check_integer(rank, "rank", owner, minimum=1, maximum=dimension)
