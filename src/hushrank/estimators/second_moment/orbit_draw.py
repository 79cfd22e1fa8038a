"""Releases by the exponential mechanism on orbits, from one second-moment matrix: plan, execution, post-processing.

Statistic  M = sum over rows of y y^*, exactly, on the lattice of the rows.
Release    1 where the eigenvalues of H are not public, those of M with Laplace noise, clipped at 0;
           2 joint: H = U diag(levels) U^* with density exp(rate <M, H>); real H of rank 2 or more are drawn as complex
             ones, of which the real part is kept; or
             sequential: directions one after the other, each with an equal part of epsilon.
Post       eigenvectors, and the matrix of the rank asked for.
Privacy    docs/privacy/orbit.md, Theorems 2, 5 and 6.
Source     Mangoubi, Wu, Kale, Thakurta, Vishnoi (2022), Algorithms 1 and 2. We differ: exact samplers double the rate;
           the rate has the noisy top eigenvalue, and noisy eigenvalues are clipped at 0 (their proof needs both).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.spectral import Matrix, eigenbasis, gram_of_columns
from hushrank.linalg.threads import one_blas_thread
from hushrank.orbit.basis import canonical_vectors, real_part_factor, top_of_real_part
from hushrank.orbit.deflation import draw_directions
from hushrank.orbit.dispatch import draw_orbit
from hushrank.orbit.law import OrbitLaw
from hushrank.privacy.events import Event, Pure, Repeated
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.exponential import ScoreLattice, choose, release_eigenvalues, score_lattice
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.planning import Step, draw_step, eigenvalues_step
from hushrank.privacy.rational import float_at_most

FloatArray = NDArray[np.float64]

_DTYPES: dict[Field, Any] = {Field.REAL: np.float64, Field.COMPLEX: np.complex128}

# A slow joint draw takes 1e-7 to 3e-7 s times rank times columns^3 (benchmarks/RESULTS.md), some several times that:
# minutes up to this number.
JOINT_WORK = 10**9
# Levels that are smaller than the top one by more than this are taken for zero; levels are public or released.
_SMALLEST_RATIO = 2.0**-60


@dataclass(frozen=True, slots=True, eq=False)
class OrbitReleases:
    """Public numbers of the releases.

    Attributes
    ----------
    rank : int
    levels : ndarray of shape (rank,) or None
        Public eigenvalues of H; None if they are released.
    eigenvalues : ScoreLattice or None
        Of the release of eigenvalues.
    draws : ScoreLattice
        Of the draw, or of all draws.
    is_joint : bool
        Whether all directions are drawn at once.
    """

    rank: int
    levels: FloatArray | None
    eigenvalues: ScoreLattice | None
    draws: ScoreLattice
    is_joint: bool

    @property
    def field(self) -> Field:
        """Of the result."""
        return self.draws.field

    @property
    def is_rounded(self) -> bool:
        """Whether a complex H is drawn and its real part kept."""
        return self.is_joint and self.rank > 1 and self.field is Field.REAL

    @property
    def is_complex(self) -> bool:
        """Whether what is drawn is complex."""
        return self.is_rounded or self.field is Field.COMPLEX

    def steps(self) -> tuple[Step, ...]:
        """The releases in the order of their execution."""
        way = "one joint draw" if self.is_joint else f"{self.rank} draws one after the other"
        draw = draw_step("directions", f"exponential mechanism, {way}", self.draws, self.rank if self.is_joint else 1)
        if self.eigenvalues is None:
            return (draw,)
        return eigenvalues_step("eigenvalues", self.eigenvalues, self.rank), draw


@dataclass(frozen=True, slots=True, eq=False)
class OrbitSample:
    """What was released.

    Attributes
    ----------
    levels : ndarray of shape (rank,)
        Eigenvalues that were public or released, in falling order; some may be zero.
    values : ndarray of shape (rank,)
        Top eigenvalues of `matrix()`: the levels, or, where a real part was kept, numbers of no larger sum.
    vectors : ndarray of shape (rank, n_features)
        Their eigenvectors as rows; zero for levels of zero.
    factor : ndarray of shape (n_features, any)
        The whole of H, or of its real part, as factor factor^*.
    """

    levels: FloatArray
    values: FloatArray
    vectors: Matrix
    factor: Matrix

    def matrix(self) -> Matrix:
        """H, or its real part; then its rank is up to twice the rank asked for."""
        return gram_of_columns(self.factor)


def plan_orbit(
    events: Mapping[str, Event],
    *,
    levels: FloatArray | None,
    rank: int,
    strategy: str,
    field: Field,
    row_norm: float,
    neighbors: Neighbors,
    n_features: int,
    n_max: int,
) -> OrbitReleases:
    """Public numbers of all releases.

    `events` has a pure one for "vectors", and one for "eigenvalues" unless they are public; `strategy` is "joint",
    "sequential" or "auto" (joint where rank times columns^3 is at most 10^9).
    """
    vectors = events["vectors"]
    assert isinstance(vectors, Pure)
    is_joint = rank == 1 or strategy == "joint" or (strategy == "auto" and rank * n_features**3 <= JOINT_WORK)
    event: Pure | Repeated = Pure(vectors.epsilon, bounded_range=True)
    if not is_joint:
        event = Repeated(Pure(float_at_most(Fraction(vectors.epsilon) / rank), bounded_range=True), rank)
    make = partial(score_lattice, field=field, n_features=n_features, n_max=n_max)
    draws = make(row_norm, event, neighbors, rank=rank if is_joint else 1)
    spectrum = make(row_norm, events["eigenvalues"], neighbors, rank=rank) if "eigenvalues" in events else None
    return OrbitReleases(rank, levels, spectrum, draws, is_joint)


def release_orbit(M: Matrix, releases: OrbitReleases, noise: NoiseSource) -> OrbitSample:
    """Execute the releases in the order of `steps`; everything returned is a function of what they release."""
    with one_blas_thread():  # the bits do not depend on the number of threads
        return _release(M, releases, noise)


def _release(M: Matrix, releases: OrbitReleases, noise: NoiseSource) -> OrbitSample:
    levels, basis = releases.levels, eigenbasis(M) if releases.is_joint or releases.levels is None else None
    if releases.eigenvalues is not None:
        assert basis is not None
        levels = release_eigenvalues(basis[0][: releases.rank], releases.eigenvalues, noise)
    assert levels is not None
    positive = levels[levels > _SMALLEST_RATIO * levels[0]]
    relative = positive / levels[0] if positive.size else positive  # the law depends on rate times levels alone
    if releases.is_joint:
        draw = partial(_draw_joint, basis, relative, releases)
    else:
        draw = partial(_draw_sequence, M, relative, releases)
    sample = choose(draw, relative if releases.is_joint else relative[:1], releases.draws, noise)
    return _complete(levels, sample, len(M), releases)


def _draw_joint(basis: Any, levels: FloatArray, releases: OrbitReleases, rate: float, stream: Keystream) -> Any:
    """Eigenvalues, eigenvectors and a factor of H, or of its real part."""
    values, vectors = basis
    if len(levels) == len(values) and levels[-1] == levels[0]:  # there is one such matrix, whatever the data
        identity = np.eye(len(values), dtype=_DTYPES[releases.field])
        return levels, identity, identity * np.sqrt(levels)
    factor = vectors @ draw_orbit(OrbitLaw(rate * values, levels, releases.is_complex), stream).factor
    if not releases.is_rounded:
        rows = canonical_vectors(factor, levels)
        return levels, rows, rows.T * np.sqrt(levels)
    tops, rows = top_of_real_part(factor, len(levels))
    return tops, rows, real_part_factor(factor)


def _draw_sequence(M: Matrix, levels: FloatArray, releases: OrbitReleases, rate: float, stream: Keystream) -> Any:
    rows = draw_directions(M, len(levels), rate, stream, is_complex=releases.is_complex)
    return levels, rows, rows.T * np.sqrt(levels)


def _complete(levels: FloatArray, sample: Any, n_features: int, releases: OrbitReleases) -> OrbitSample:
    """The sample in the units of the levels, with zeros for levels of zero: shapes depend on nothing private."""
    dtype = _DTYPES[releases.field]
    values, vectors = np.zeros(releases.rank), np.zeros((releases.rank, n_features), dtype)
    if sample is None:
        return OrbitSample(levels, values, vectors, np.zeros((n_features, 1), dtype))
    drawn, rows, factor = sample
    values[: len(drawn)], vectors[: len(rows)] = levels[0] * drawn, rows
    return OrbitSample(levels, values, vectors, np.sqrt(levels[0]) * factor)
