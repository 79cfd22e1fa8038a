"""Releases by the exponential mechanism on orbits, from one second-moment matrix: execution and post-processing.

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

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.second_moment.orbit_plan import OrbitPlan
from hushrank.linalg.spectral import Matrix, eigenbasis, gram_of_columns
from hushrank.linalg.threads import one_blas_thread
from hushrank.orbit.basis import canonical_vectors, real_part_factor, top_of_real_part
from hushrank.orbit.deflation import draw_directions
from hushrank.orbit.dispatch import draw_orbit
from hushrank.orbit.law import OrbitLaw
from hushrank.privacy.mechanisms.exponential import choose, release_eigenvalues
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.source import NoiseSource

FloatArray = NDArray[np.float64]

_DTYPES: dict[Field, Any] = {Field.REAL: np.float64, Field.COMPLEX: np.complex128}

# Levels that are smaller than the top one by more than this are taken for zero; levels are public or released.
_SMALLEST_RATIO = 2.0**-60


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


def release_orbit(M: Matrix, plan: OrbitPlan, noise: NoiseSource) -> OrbitSample:
    """Execute the releases in the order of `steps`; everything returned is a function of what they release."""
    with one_blas_thread():  # the bits do not depend on the number of threads
        return _release(M, plan, noise)


def _release(M: Matrix, plan: OrbitPlan, noise: NoiseSource) -> OrbitSample:
    levels, basis = plan.levels, eigenbasis(M) if plan.is_joint or plan.levels is None else None
    if plan.eigenvalues is not None:
        assert basis is not None
        levels = release_eigenvalues(basis[0][: plan.rank], plan.eigenvalues, noise)
    assert levels is not None
    positive = levels[levels > _SMALLEST_RATIO * levels[0]]
    relative = positive / levels[0] if positive.size else positive  # the law depends on rate times levels alone
    if plan.is_joint:
        draw = partial(_draw_joint, basis, relative, plan)
    else:
        draw = partial(_draw_sequence, M, relative, plan)
    sample = choose(draw, relative if plan.is_joint else relative[:1], plan.draws, noise)
    return _complete(levels, sample, len(M), plan)


def _draw_joint(basis: Any, levels: FloatArray, plan: OrbitPlan, rate: float, stream: Keystream) -> Any:
    """Eigenvalues, eigenvectors and a factor of H, or of its real part."""
    values, vectors = basis
    if len(levels) == len(values) and levels[-1] == levels[0]:  # there is one such matrix, whatever the data
        identity = np.eye(len(values), dtype=_DTYPES[plan.field])
        return levels, identity, identity * np.sqrt(levels)
    factor = vectors @ draw_orbit(OrbitLaw(rate * values, levels, plan.is_complex), stream).factor
    if not plan.keeps_real_part:
        rows = canonical_vectors(factor, levels)
        return levels, rows, rows.T * np.sqrt(levels)
    tops, rows = top_of_real_part(factor, len(levels))
    return tops, rows, real_part_factor(factor)


def _draw_sequence(M: Matrix, levels: FloatArray, plan: OrbitPlan, rate: float, stream: Keystream) -> Any:
    rows = draw_directions(M, len(levels), rate, stream, is_complex=plan.is_complex)
    return levels, rows, rows.T * np.sqrt(levels)


def _complete(levels: FloatArray, sample: Any, n_features: int, plan: OrbitPlan) -> OrbitSample:
    """The sample in the units of the levels, with zeros for levels of zero: shapes depend on nothing private."""
    dtype = _DTYPES[plan.field]
    values, vectors = np.zeros(plan.rank), np.zeros((plan.rank, n_features), dtype)
    if sample is None:
        return OrbitSample(levels, values, vectors, np.zeros((n_features, 1), dtype))
    drawn, rows, factor = sample
    values[: len(drawn)], vectors[: len(rows)] = levels[0] * drawn, rows
    return OrbitSample(levels, values, vectors, np.sqrt(levels[0]) * factor)
