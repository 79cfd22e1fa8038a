"""What is public about the items of a fit: numbers about them, scaled for regressions, and which of them are new.

Everything here is a function of public numbers, and of relevances that were released.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PublicItems:
    """Scaled features of the items of a catalogue.

    Attributes
    ----------
    G : ndarray of shape (n_items, n_columns)
        Centered columns of mean squared row norm 1: those of two values on one scale, so that rare ones stay small, and
        the others with the mean variance of those.
    projection : ndarray of shape (n_columns, n_slopes)
        G @ projection are the columns that users have slopes on, of mean squared row norm 1 as well.
    scales : ndarray of shape (n_columns,)
        Of the columns of G, less their means, over those that were given; 0 for a constant one.
    is_new : ndarray of shape (n_items,)
        Items that nobody can have rated.
    """

    G: FloatArray
    projection: FloatArray
    scales: FloatArray
    is_new: NDArray[np.bool_]

    @classmethod
    def of(cls, values: FloatArray | None, n_items: int, is_new: NDArray[np.bool_] | None = None) -> "PublicItems":
        """Scale features as they were given; None has no columns."""
        is_new = np.zeros(n_items, np.bool_) if is_new is None else is_new
        X = np.zeros((n_items, 0)) if values is None else values
        X = X - X.mean(axis=0)
        deviations = X.std(axis=0)
        varies = deviations > 1e-12 * np.maximum(np.abs(X).max(axis=0, initial=0.0), np.finfo(float).tiny)
        scales = np.where(varies, 1.0 / np.where(varies, deviations, 1.0), 0.0)
        is_binary = np.array([is_two_valued(x) for x in X.T], np.bool_)
        if is_binary.any():  # not one by one: a word of one item in a hundred would get entries of 10
            ranges = np.where(is_binary, np.ptp(X, axis=0), 1.0)
            level = float(np.sqrt(np.mean((deviations / ranges)[is_binary] ** 2)))
            scales = np.where(is_binary, 1.0 / ranges, scales * level)
        G = X * scales
        norm = root_mean_norm(G)
        scales, G = scales / norm, G / norm
        return cls(G, _leading_directions(G, np.ones(G.shape[1])), scales, is_new)

    @property
    def slopes(self) -> FloatArray:
        """Columns that users have slopes on."""
        with one_blas_thread():
            columns: FloatArray = self.G @ self.projection
        return columns

    @property
    def n_slopes(self) -> int:
        """How many of them there are."""
        return int(self.projection.shape[1])

    def without_slopes(self) -> "PublicItems":
        """The same for means alone."""
        return replace(self, projection=self.projection[:, :0])

    def weighted(self, weights: FloatArray) -> "PublicItems":
        """The same with slopes on the leading directions of columns that are weighted first."""
        return replace(self, projection=_leading_directions(self.G, weights))


def is_two_valued(x: FloatArray) -> bool:
    """Whether a centered column has two values, or those and its mean, which items without a value have."""
    values = np.unique(x)
    return len(values) == 2 or (len(values) == 3 and bool(abs(values[1]) <= 1e-9 * (values[2] - values[0])))


def root_mean_norm(G: FloatArray) -> float:
    """Root of the mean squared norm of the rows; 1 where it is zero."""
    norm = float(np.sqrt((G**2).sum() / max(len(G), 1)))
    return norm if norm > 0.0 else 1.0


def _leading_directions(G: FloatArray, weights: FloatArray) -> FloatArray:
    """At most so many directions as there may be slopes, along the leading axes of G times weights, not whitened."""
    if not G.shape[1] or not weights.any() or not G.any():
        return np.zeros((G.shape[1], 0))
    if (weights > 0).sum() <= FEATURES.most_slopes:
        directions = np.diag(weights)[:, weights > 0]
    else:
        with one_blas_thread():
            weighted = G * weights
            _, Q = np.linalg.eigh(weighted.T @ weighted)
        directions = weights[:, None] * Q[:, ::-1][:, : FEATURES.most_slopes]
    with one_blas_thread():
        columns = G @ directions
    kept = (columns**2).sum(axis=0) > 0.0
    projected: FloatArray = directions[:, kept] / root_mean_norm(columns)
    return projected
