"""What noise of a known law does to the eigenvalues of a symmetric or Hermitian matrix, and how to see through it.

Model      M = A + N, or D^-1 (A + N) D^-1 with a diagonal D; eigenvalues of M are read, and nothing of A.
Law        N is Gaussian (GOE, GUE), or C (W1 - W2) with two independent Wishart matrices.
Formulas   docs/privacy/spectra.md: exact in the limit of many columns, with constants that were measured for few.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from hushrank.linalg.spectral import FloatArray, Matrix

# Threshold of a component, in widths of the edge: limit and slope in 1 / sqrt(dimension), real and complex. The limits
# are those of Tracy and Widom with 5 % above, rounded up; the slopes were measured (docs/privacy/spectra.md).
_LIMIT = {False: 1.0, True: -0.18}
_SLOPE = {False: 1.5, True: 0.4}
_SINGLE = 1.645  # deviations above zero, for a value without others to compare with
_LARGEST = 1e100  # of noise over a gap: eigenvalues that are equal


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """Law of a symmetric or Hermitian noise matrix that no rotation changes.

    Its self-energy rho, as a function of H = sum_j 1 / (z - lambda_j), is `scale * energy(scale * H)`.

    Attributes
    ----------
    kind : {"gaussian", "wishart"}
    scale : float >= 0
        Gaussian: root mean square of an entry off the diagonal (of its absolute value, if complex). Wishart: C.
    degrees : int
        Degrees of freedom of each Wishart matrix; not used for Gaussian noise.
    is_complex : bool

    Examples
    --------
    >>> NoiseLaw("gaussian", 2.0).diagonal_deviation
    2.828...
    >>> NoiseLaw("wishart", 1.0, degrees=4).energy(0.5)
    5.333...
    """

    kind: Literal["gaussian", "wishart"]
    scale: float
    degrees: int = 0
    is_complex: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ("gaussian", "wishart"):
            raise ValueError(f'kind of NoiseLaw must be "gaussian" or "wishart"; got {self.kind!r}.')
        if not 0 <= self.scale < math.inf:
            raise ValueError(f"scale of NoiseLaw must be a finite float >= 0; got {self.scale!r}.")
        if self.kind == "wishart" and self.degrees < 1:
            raise ValueError(f"degrees of NoiseLaw must be an integer >= 1; got {self.degrees!r}.")

    def energy(self, h: Any) -> Any:
        """Self-energy over `scale`, at h = scale * H, real or complex: h, or 2 m h / (1 - h^2)."""
        return h if self.kind == "gaussian" else 2 * self.degrees * h / (1 - h * h)

    def slope(self, h: Any) -> Any:
        """Derivative of `energy`."""
        return 1.0 + 0 * h if self.kind == "gaussian" else 2 * self.degrees * (1 + h * h) / (1 - h * h) ** 2

    def curvature(self, h: Any) -> Any:
        """Derivative of `slope`."""
        return 0 * h if self.kind == "gaussian" else 4 * self.degrees * h * (3 + h * h) / (1 - h * h) ** 3

    @property
    def diagonal_deviation(self) -> float:
        """Standard deviation of v^* N v for a fixed unit vector v."""
        return self.scale * math.sqrt((1 if self.is_complex else 2) * float(self.slope(0.0)))


@dataclass(frozen=True, slots=True)
class Edge:
    """Where the eigenvalues of noise alone end, as the number of columns grows.

    Attributes
    ----------
    position : float
        The limit of the largest eigenvalue.
    width : float
        Unit of its fluctuations: the largest eigenvalue is near position + width * (a Tracy-Widom variable).
    h : float
        scale * H at the edge, with H weighted by the profile.
    """

    position: float
    width: float
    h: float


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What released components say of the matrix without noise; arrays of shape (n_components,).

    Attributes
    ----------
    variances : ndarray
        x_i: expected value of u_i^* A u_i along the released vector u_i.
    values : ndarray
        theta_i: estimates of the true eigenvalues.
    alignment : ndarray
        c_i^2 in [0, 1]: expected squared cosine of a released vector with the true one.
    deviations : ndarray
        Standard deviation of each estimate in `values`; 1.96 of them on both sides hold the true one in 95 % of cases.
    """

    variances: FloatArray
    values: FloatArray
    alignment: FloatArray
    deviations: FloatArray


def check_falling(values: Any, owner: str) -> FloatArray:
    """`values` as a vector of finite numbers in falling order, or ValueError."""
    vector: FloatArray = np.asarray(values, np.float64)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all() or (vector[1:] > vector[:-1]).any():
        raise ValueError(f"values of {owner} must be finite eigenvalues in falling order.")
    return vector


def component_weights(vectors: Matrix, profile: FloatArray) -> FloatArray:
    """Weights w_j = sum_a profile_a |u_ja|^2 of eigenvectors u_j, the columns, where noise has a profile D^-2.

    Examples
    --------
    >>> component_weights(np.eye(2), np.array([4.0, 0.25]))
    array([4.  , 0.25])
    """
    weights: FloatArray = np.sum(np.abs(vectors) ** 2 * profile[:, np.newaxis], axis=0)
    return weights


def spectral_edge(law: NoiseLaw, profile: FloatArray) -> Edge:
    """Edge of D^-1 N D^-1 with profile_a = D_a^-2; ones for N itself.

    With y = z / rho and F(y) = sum_a p_a / (y - p_a), the noise ends at the least z, where z = scale * y * sqrt(F) for
    Gaussian noise and scale * y * sqrt(F (2 m + F)) for Wishart noise; z^2 is convex in y.

    Examples
    --------
    >>> spectral_edge(NoiseLaw("gaussian", 1.0), np.ones(100)).position
    20.0
    """
    p = _check_positive(profile, len(profile), "profile", "spectral_edge")
    largest = float(p.max())
    p = p / largest
    m = float(law.degrees)
    rest = 1.0 + _edge_distance(law, p) - p  # y - p_a
    F = float(np.sum(p / rest))
    h = math.sqrt(F if law.kind == "gaussian" else F / (2 * m + F))
    energy, slope, curvature = law.energy(h), law.slope(h), law.curvature(h)
    # z''(h) over twice the squared derivative of sum_a 1 / (z - rho p_a): the square root at the edge of the density
    first, second = (float(np.sum(p**k / (energy * rest) ** 2)) for k in (1, 2))
    third = float(np.sum((p / (energy * rest)) ** 3))
    cube = (curvature * second + 2 * slope**2 * third) / (2 * slope**2 * first**3)
    unit = law.scale * largest
    return Edge(unit * energy * float(rest[0] + p[0]), unit * math.cbrt(cube), h)


def _edge_distance(law: NoiseLaw, p: FloatArray) -> float:
    """y - 1 at the edge, for a profile with largest entry 1."""
    d, m = len(p), law.degrees
    if p.min() == 1.0:
        return 1.0 if law.kind == "gaussian" else 2 * d / (math.sqrt(m * m + 4 * m * d) - m)

    def derivative(r: float) -> float:  # of z^2 in y, up to a positive factor
        a = p / (1.0 + r - p)
        rising = float(np.sum(p * (1 - a * a)))
        return rising if law.kind == "gaussian" else m * rising - float(np.sum(p * (1 + a)) * np.sum(a * a))

    # Signs at both ends: at most p_1 (1 - 1 / r^2) + d - 1 < 0, and r^2 - 1 >= (1 + 1 / r) d / m.
    return float(brentq(derivative, 0.9 / math.sqrt(d), 1.0 if law.kind == "gaussian" else 1.0 + d / m))


def count_significant(values: FloatArray, law: NoiseLaw, profile: FloatArray | None = None) -> int:
    """Number of leading components that stand above what noise alone would show.

    Counts i = 1, 2, ... while lambda_i - mean(lambda_i .. lambda_d) exceeds the edge by a few of its widths. The last
    value has no others to compare with: it counts when it exceeds zero by 1.645 deviations. If A is a multiple of the
    identity, the probability of a count above zero is at most 5 % (for a single column: if A = 0).

    Parameters
    ----------
    values : ndarray of shape (d,)
        All eigenvalues of M in falling order.
    law : NoiseLaw
    profile : ndarray of shape (d,) or None, default None
        D_a^-2 in the order of the columns, where M = D^-1 (A + N) D^-1; not the weights of components.

    Examples
    --------
    >>> count_significant(np.array([9.0, 5.0, 0.3, -0.2, -0.4]), NoiseLaw("gaussian", 0.2))
    2
    """
    vector = check_falling(values, "count_significant")
    d = len(vector)
    p = np.ones(d) if profile is None else _check_positive(profile, d, "profile", "count_significant")
    edge = spectral_edge(law, p)
    q = p / p.max()
    dimension = float(q.sum() ** 2 / np.sum(q * q))
    threshold = edge.position + edge.width * (_LIMIT[law.is_complex] - _SLOPE[law.is_complex] / math.sqrt(dimension))
    means = np.cumsum(vector[::-1])[::-1] / np.arange(d, 0, -1)
    is_above = vector - means > threshold
    is_above[-1] = vector[-1] > _SINGLE * law.diagonal_deviation * p.max()
    return d if is_above.all() else int(np.argmin(is_above))


def diagnose(
    values: FloatArray,
    law: NoiseLaw,
    n_components: int,
    weights: FloatArray | None = None,
    extra: FloatArray | None = None,
) -> Diagnosis:
    """True eigenvalues, alignment and variances of the leading components, from released eigenvalues alone.

    With H_i = sum_(j != i) w_j / (lambda_i - lambda_j), cut to its value at the edge, and Q_i the same with squares:
    theta_i = lambda_i - w_i rho(H_i), c_i^2 = 1 / (1 + w_i rho'(H_i) Q_i).

    Parameters
    ----------
    values : ndarray of shape (d,)
        All eigenvalues of M in falling order.
    law : NoiseLaw
    n_components : int
        Between 1 and d.
    weights : ndarray of shape (d,) or None, default None
        `component_weights` of all eigenvectors, where M = D^-1 (A + N) D^-1; None for ones.
    extra : ndarray of shape (n_components,) or None, default None
        Further standard deviation of each value, such as that of a center which was estimated.

    Examples
    --------
    >>> found = diagnose(np.array([10.0, 1.0, -1.0]), NoiseLaw("gaussian", 1.0), 1)
    >>> found.values.round(3), found.alignment.round(3), found.deviations.round(3)
    (array([9.798]), array([0.98]), array([1.429]))
    """
    vector = check_falling(values, "diagnose")
    d, k = len(vector), n_components
    if not 1 <= k <= d:
        raise ValueError(f"n_components of diagnose must be between 1 and {d}; got {n_components}.")
    w = np.ones(d) if weights is None else _check_positive(weights, d, "weights", "diagnose")
    more = np.zeros(k) if extra is None else np.asarray(extra, np.float64)
    if more.shape != (k,) or not (more >= 0).all():
        raise ValueError(f"extra of diagnose must be a vector of {k} numbers >= 0.")
    return _diagnose(vector, law, w, more)


def _diagnose(values: FloatArray, law: NoiseLaw, w: FloatArray, extra: FloatArray) -> Diagnosis:
    k, limit = len(extra), spectral_edge(law, w).h
    ratios, is_equal = _noise_over_gaps(values, law.scale, k)
    h = np.clip(np.sum(np.where(is_equal, 0.0, ratios) * w, axis=1), -limit, limit)
    energy, slope = law.energy(h), law.slope(h)
    alignment = 1 / (1 + w[:k] * slope * np.sum(ratios**2 * w, axis=1))
    unit = law.scale * w[:k]
    spread = np.hypot(unit * np.sqrt((1 if law.is_complex else 2) * slope), extra)
    with np.errstate(over="ignore"):  # eigenvalues that are equal tell nothing of their vectors
        deviations = spread / np.sqrt(alignment)
    return Diagnosis(values[:k] - unit * (energy + h * slope), values[:k] - unit * energy, alignment, deviations)


def _noise_over_gaps(values: FloatArray, scale: float, k: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """scale / (lambda_i - lambda_j) for i < k, 0 for j = i; and where eigenvalues i and j are equal."""
    gaps = values[:k, np.newaxis] - values
    is_equal = gaps == 0
    with np.errstate(over="ignore"):
        ratios = scale / np.where(is_equal, 1.0, gaps)
    ratios = np.clip(np.where(is_equal & (scale > 0), _LARGEST, ratios), -_LARGEST, _LARGEST)
    own = np.arange(k)
    ratios[own, own] = 0.0
    is_equal[own, own] = False
    return ratios, is_equal


def _check_positive(numbers: Any, d: int, name: str, owner: str) -> FloatArray:
    vector: FloatArray = np.asarray(numbers, np.float64)
    if vector.shape != (d,) or not (np.isfinite(vector) & (vector > 0)).all():
        raise ValueError(f"{name} of {owner} must be a vector of {d} finite numbers > 0.")
    return vector
