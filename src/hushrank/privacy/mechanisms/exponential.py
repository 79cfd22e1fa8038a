"""The exponential mechanism with score <M, H>, and Laplace noise on eigenvalues: pure privacy, without a noisy matrix.

Statistic  M = sum over people of y y^*, |y| <= row_norm; score <M, H> of a matrix H with eigenvalues levels >= 0.
Release    H with density proportional to exp(rate <M, H>), drawn by a sampler that the caller brings;
           the top eigenvalues of M plus Laplace noise, where levels are not public.
Privacy    docs/privacy/orbit.md: Lemma 1 and Theorem 2 (draw), Lemma 3 (eigenvalues), Lemma 4 (rounding).
Numerics   "idealized": the sampler and the eigendecomposition work in floating point. What rounding can do to the
           score is charged to epsilon; that draws lie on the grid of float64 is not (docs/limits.md).
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX, check_integer, check_real
from hushrank.privacy.events import Event, Pure, Repeated
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.fields import Field, parse_field
from hushrank.privacy.mechanisms.scales import check_lattice_kind, rows_changed
from hushrank.privacy.noise.continuous import laplaces
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.rational import float_at_least, float_at_most

FloatArray = NDArray[np.float64]
Drawn = TypeVar("Drawn")
Number = TypeVar("Number", float, Fraction)

ROW_BITS = 18  # rows become integer vectors of squared norm at most 4^18
_ROUNDOFF = Fraction(1, 2**53)
_SMALLEST = 1e-100  # norm and epsilon, and the inverse of the largest: rates, costs and scores then fit float64


def score_range(top_level: Number, row_norm: Number, neighbors: Neighbors) -> Number:
    """Width of the interval in which <M - M', H> lies between neighbors, for eigenvalues of H in [0, top_level].

    Adding y y^* moves the score by y^* H y in [0, top_level row_norm^2]; replacing a row moves it by the difference of
    two such numbers, in an interval twice as wide (orbit.md, Lemma 1).
    """
    return rows_changed(neighbors) * top_level * row_norm * row_norm


def eigenvalues_sensitivity(row_norm: Number, neighbors: Neighbors) -> Number:
    """Largest L1 change of the eigenvalues of M between neighbors (orbit.md, Lemma 3)."""
    return rows_changed(neighbors) * row_norm * row_norm


@dataclass(frozen=True, slots=True)
class ScoreLattice:
    """Public numbers of draws with score <M, H>, or of eigenvalues of M.

    Attributes
    ----------
    event : Pure, or Repeated(Pure) for several draws one after the other
    neighbors : Neighbors
    field : Field
        Of the rows, and of H.
    row_norm : float
        Bound on the L2 norm of one person's row.
    squared_bound : int
        Bound on the squared norm of an integer row; the quantizer checks it in integers.
    spectral_error : float
        What rounding may change in M, as a spectral norm, for up to n_max people; it is charged to epsilon.
    """

    event: Pure | Repeated
    neighbors: Neighbors
    field: Field
    row_norm: float
    squared_bound: int
    spectral_error: float

    def __post_init__(self) -> None:
        owner = "score_lattice"
        _check_draws(self.event, owner)
        settled = {
            "neighbors": parse_neighbors(self.neighbors, owner),
            "field": parse_field(self.field, owner),
            "row_norm": _check_size(self.row_norm, "row_norm", owner),
            "squared_bound": check_integer(self.squared_bound, "squared_bound", owner, minimum=1, maximum=4**ROW_BITS),
            "spectral_error": check_real(self.spectral_error, "spectral_error", owner, minimum=0),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def unit(self) -> float:
        """Size of one unit of the integer total in the squared units of the data."""
        return self.row_norm * self.row_norm / self.squared_bound

    @property
    def draw_event(self) -> Pure:
        """Of one draw."""
        part = self.event.event if isinstance(self.event, Repeated) else self.event
        assert isinstance(part, Pure)
        return part

    @property
    def epsilon(self) -> float:
        """Of one draw."""
        return self.draw_event.epsilon

    def rate(self, levels: ArrayLike) -> float:
        """Factor of the score in the exponent of one draw, rounded down: epsilon over the range of the score.

        Levels are finite, not negative and not all zero: the range of Lemma 1 is that of such ones.
        """
        exact = [Fraction(level) for level in check_levels(levels, "ScoreLattice.rate")]
        if not any(exact):
            raise InvalidParameter("ScoreLattice.rate", "levels", "numbers of which one is above zero", levels)
        width = score_range(max(exact), Fraction(self.row_norm), self.neighbors)
        # Each of the two scores is off by at most sum(levels) spectral_error, to either side (Lemma 4).
        rate = Fraction(self.epsilon) / (width + 4 * sum(exact) * Fraction(self.spectral_error))
        if rate > Fraction(sys.float_info.max):
            raise InvalidParameter("ScoreLattice.rate", "levels", "so large that the rate fits float64", levels)
        return float_at_most(rate)

    def laplace_scale(self, n_values: int) -> float:
        """Scale of the noise on `n_values` eigenvalues, rounded up."""
        check_integer(n_values, "n_values", "ScoreLattice.laplace_scale", minimum=1)
        sensitivity = eigenvalues_sensitivity(Fraction(self.row_norm), self.neighbors)
        return float_at_least((sensitivity + 2 * n_values * Fraction(self.spectral_error)) / Fraction(self.epsilon))


def score_lattice(
    row_norm: float,
    event: Event,
    neighbors: Neighbors | str,
    *,
    field: Field | str = Field.REAL,
    n_features: int,
    rank: int,
    n_max: int = DEFAULT_N_MAX,
) -> ScoreLattice:
    """Plan draws with score <M, H> for H of this rank, or the release of as many eigenvalues; reads nothing private."""
    owner = "score_lattice"
    bound = _check_size(row_norm, "row_norm", owner)
    d = check_integer(n_features, "n_features", owner, minimum=1)
    k = check_integer(rank, "rank", owner, minimum=1, maximum=d)
    limit = check_integer(n_max, "n_max", owner, minimum=1)
    executable = _check_draws(event, owner)
    draws = event.count if isinstance(event, Repeated) else 1
    error = rounding_error(d, limit, draws) * Fraction(bound) ** 2
    if 16 * k * error > Fraction(bound) ** 2:
        most = int(limit * Fraction(bound) ** 2 / (16 * k * error))
        requirement = f"at most {most} for {d} columns and rank {k}, so that rounding costs little"
        raise InvalidParameter(owner, "n_max", requirement, n_max)
    relation, numbers = parse_neighbors(neighbors, owner), parse_field(field, owner)
    return ScoreLattice(executable, relation, numbers, bound, 4**ROW_BITS, float_at_least(error))


def _check_draws(event: Event, owner: str) -> Pure | Repeated:
    """One pure draw, or several one after the other, of an epsilon that float64 can compute with."""
    part = event.event if isinstance(event, Repeated) else event
    if not isinstance(event, Pure | Repeated) or not isinstance(part, Pure):
        raise InvalidParameter(owner, "event", "Pure(epsilon) or Repeated(Pure(epsilon), count)", event)
    if not _SMALLEST <= part.epsilon <= 1 / _SMALLEST:
        raise InvalidParameter(owner, "event", f"one of epsilon from {_SMALLEST:g} to {1 / _SMALLEST:g}", event)
    return event


def _check_size(value: float, name: str, owner: str) -> float:
    number = check_real(value, name, owner, above=0)
    if not _SMALLEST <= number <= 1 / _SMALLEST:
        raise InvalidParameter(owner, name, f"from {_SMALLEST:g} to {1 / _SMALLEST:g}", value)
    return number


def check_levels(levels: ArrayLike, owner: str) -> list[float]:
    """The eigenvalues of H as floats; refuse what is negative or not finite, for which no range of scores is proved."""
    array = np.atleast_1d(np.asarray(levels))
    floats = array.astype(np.float64) if array.ndim == 1 and array.dtype.kind in "iuf" else np.array([np.nan])
    if not np.isfinite(floats).all() or (floats < 0).any():
        raise InvalidParameter(owner, "levels", "finite numbers >= 0 in one dimension", levels)
    return list(floats.tolist())


def rounding_error(n_features: int, n_max: int, n_draws: int) -> Fraction:
    """Spectral error of M over row_norm^2: one rounding to float64 and, for each draw, an eigendecomposition.

    LAPACK states its backward error as a modest multiple of the unit roundoff times |M|; the multiple taken here is
    8 d.
    """
    return _ROUNDOFF * n_max * (1 + 8 * n_features * n_draws)


def choose(
    sampler: Callable[[float, Keystream], Drawn], levels: ArrayLike, lattice: ScoreLattice, noise: NoiseSource
) -> Drawn | None:
    """Draw with density exp(rate <M, H>): the sampler knows M, gets the rate, and returns a function of H alone.

    None where all levels are zero, so that H is zero as well; the event is executed and logged even so. Levels that are
    negative or not finite are refused before anything is drawn or logged.
    """
    check_lattice_kind(lattice, ScoreLattice, "choose")
    rate = lattice.rate(levels) if any(check_levels(levels, "choose")) else None
    stream = noise.begin(lattice.event, lattice.neighbors, numerics="idealized")
    return None if rate is None else sampler(rate, stream)


def release_eigenvalues(values: FloatArray, lattice: ScoreLattice, noise: NoiseSource) -> FloatArray:
    """Release eigenvalues of M, a vector of floats, with Laplace noise: in falling order and never below zero."""
    owner = "release_eigenvalues"
    check_lattice_kind(lattice, ScoreLattice, owner)
    # The loss of Laplace noise spans twice epsilon, which no event of bounded range allows.
    if lattice.draw_event.bounded_range:
        raise InvalidParameter(owner, "event", "Pure(epsilon) without bounded range", lattice.event)
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind != "f" or not values.size:
        raise InvalidParameter(owner, "values", "a vector of at least one float", type(values).__name__)
    stream = noise.begin(lattice.event, lattice.neighbors, numerics="idealized")
    noisy = values + lattice.laplace_scale(len(values)) * laplaces(len(values), stream)
    return np.maximum(np.sort(noisy)[::-1], 0.0)
