"""Principal axes of a released second moment, and how sure they are, from the release alone.

Statistic  none: this is post-processing of M = A + N, N of known law.
Axes       eigenvectors of M as it was released; eigenvalues shrunk by what the noise adds to them.
Sureness   docs/privacy/spectra.md: expected squared cosine with the true direction, intervals of the true eigenvalues,
           and how many components stand above what noise alone would show.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import isotonic_regression

from hushrank.archive.attributes import Attribute
from hushrank.estimators.second_moment.released import SecondMoment
from hushrank.linalg.noise_spectra import component_weights, count_significant, diagnose
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.shrinkage import shrink_eigenvalues
from hushrank.linalg.spectral import (
    Matrix,
    all_eigenvalues,
    eigenbasis,
    eigenvalues_and_top,
    fix_signs,
    gram_of_columns,
)

_NORMAL = 1.96  # deviations on both sides of an interval of 95 %


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """The top components of a release.

    Attributes
    ----------
    vectors : ndarray of shape (n_components, n_coordinates)
        Orthonormal rows.
    values : ndarray of shape (n_components,)
        Released eigenvalues.
    variances : ndarray of shape (n_components,)
        Expected variance along each released vector: falling, not below 0.
    intervals : ndarray of shape (n_components, 2)
        Of the true eigenvalues, 95 %; not below 0.
    alignment : ndarray of shape (n_components,)
        Expected squared cosine of a released vector with the true one.
    n_significant : int
        Leading components that stand above the noise.
    """

    vectors: Matrix
    values: FloatArray
    variances: FloatArray
    intervals: FloatArray
    alignment: FloatArray
    n_significant: int


def find_axes(moment: SecondMoment, n_components: int, divisor: float, units: FloatArray | None = None) -> Axes:
    """Axes of the released matrix over `divisor`, its coordinates divided by `units` (public or released)."""
    assert moment.law is not None and isinstance(moment.matrix, np.ndarray)
    law = replace(moment.law, scale=moment.law.scale / divisor)
    matrix: Matrix = moment.matrix / divisor
    if units is None:
        values, vectors = eigenvalues_and_top(matrix, n_components)
        profile, weights = None, None
    else:
        values, columns = eigenbasis(matrix / np.outer(units, units))
        profile = 1.0 / units**2
        weights = component_weights(columns, profile)
        vectors = fix_signs(columns[:, :n_components].T)
    found = diagnose(
        values, law, n_components, weights=weights, extra=_error_of_the_mean(moment, vectors, divisor, units)
    )
    spread = _NORMAL * found.deviations
    intervals = np.maximum(np.column_stack([found.values - spread, found.values + spread]), 0.0)
    variances = np.maximum(isotonic_regression(found.variances, increasing=False).x, 0.0)
    significant = min(count_significant(values, law, profile), n_components)
    return Axes(vectors, values[:n_components], variances, intervals, found.alignment, significant)


def _error_of_the_mean(
    moment: SecondMoment, vectors: Matrix, divisor: float, units: FloatArray | None
) -> FloatArray | None:
    """Deviation that the error of the released mean m adds along each vector u: of 2 n Re <u, m> <error, u>."""
    if moment.mean is None:
        return None
    scale = np.ones(len(moment.mean)) if units is None else units
    along = np.abs(vectors.conj() @ (moment.mean / scale))
    error = np.sqrt(moment.mean_variance * np.sum(np.abs(vectors) ** 2 / scale**2, axis=1))
    factor = (
        np.sqrt(2.0) if np.iscomplexobj(vectors) else 2.0
    )  # of a complex error, half lies in the direction that counts
    spread: FloatArray = factor * (moment.n_samples / divisor) * along * error
    return spread


def shrunk_eigenvalues(moment: SecondMoment, divisor: float, values: FloatArray | None = None) -> FloatArray:
    """Eigenvalues of the released matrix over `divisor`, without what the noise adds to them."""
    assert moment.law is not None and isinstance(moment.matrix, np.ndarray)
    released = all_eigenvalues(moment.matrix / divisor) if values is None else values
    return shrink_eigenvalues(released, replace(moment.law, scale=moment.law.scale / divisor))


def shrunk_matrix(moment: SecondMoment, rank: int | None, divisor: float) -> Matrix:
    """The released matrix over `divisor` with shrunk eigenvalues, of rank at most `rank`."""
    assert isinstance(moment.matrix, np.ndarray)
    values, columns = eigenbasis(moment.matrix / divisor)
    kept = shrunk_eigenvalues(moment, divisor, values)[: len(values) if rank is None else rank]
    return gram_of_columns(columns[:, : len(kept)] * np.sqrt(kept))


def column_units(moment: SecondMoment) -> FloatArray:
    """Root mean squares of the coordinates: of the diagonal of the release, at least the deviation of its noise."""
    assert moment.law is not None and isinstance(moment.matrix, np.ndarray)
    n = moment.n_samples
    least = moment.law.diagonal_deviation / n
    units: FloatArray = np.sqrt(np.maximum(np.diagonal(moment.matrix).real / n, max(least, np.finfo(float).tiny)))
    return units


def to_correlations(matrix: Matrix) -> Matrix:
    """A positive semidefinite matrix with ones on its diagonal, but for columns of no variance."""
    deviations = np.sqrt(np.diagonal(matrix).real)
    scaled = np.where(deviations > 0, 1.0 / np.where(deviations > 0, deviations, 1.0), 0.0)
    correlations: Matrix = matrix * np.outer(scaled, scaled)
    np.fill_diagonal(correlations, (deviations > 0).astype(np.float64))
    return correlations


def sureness(size: str | int, interval: str) -> dict[str, Attribute]:
    """The learned attributes that say how sure components are, by name; older models do not have them."""
    return {
        "alignment_": Attribute(float, (size,), minimum=0, later=True),
        interval: Attribute(float, (size, 2), minimum=0, later=True),
        "n_significant_": Attribute(int, minimum=0, later=True),
    }
