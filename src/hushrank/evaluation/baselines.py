"""What could be predicted without privacy: references that private recommenders are compared with. None is private.

Model      y_ij = center + m_j + o_i + f_j . u_i + noise, with m_j the mean of item j, o_i an offset of user i and
           factors f_j, u_i; in units where ratings lie in [-1, 1].
EM         coefficients of users and parameters of items are Gaussian given each other (variational Bayes), variances
           come from the data (Ilin and Raiko, "Practical approaches to principal component analysis in the presence of
           missing values", 2010). There is no knob to tune, and more factors than the data support do little harm.
"""

from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from hushrank.evaluation.em_kernels import Columns, add_users, solve_users
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import IntegerArray, Positions
from hushrank.parameters import check_integer

# Where EM starts, in half ranges squared.
_NOISE, _OFFSET, _MEAN, _FACTOR = 0.2, 0.05, 0.04, 0.005
_SMALLEST = 1e-9  # of a variance
_PRIOR_RATINGS = 5.0  # ratings at the mean of all that every item and user is given, for means that start a fit
_DENSE = 300


class Ratings(Sized, Protocol):
    """Ratings grouped by user, such as a `hushrank.data.ratings.reading.UserBlock`."""

    @property
    def indptr(self) -> IntegerArray:
        """Where the ratings of each user start and end."""

    @property
    def items(self) -> Positions:
        """Positions of items."""

    @property
    def values(self) -> NDArray[np.float32]:
        """Ratings in [-1, 1]."""


@dataclass(frozen=True, slots=True)
class RatingModel:
    """Parameters of items, learned without privacy.

    Attributes
    ----------
    center : float
        Mean of all ratings.
    means : ndarray of shape (n_items,)
        Item means, less the center.
    offset : float or None
        Standard deviation of the users' offsets; None if they have none.
    factors : ndarray of shape (n_items, rank)
        Factors of users have variance 1.
    spread : ndarray of shape (n_items, 1 + rank, 1 + rank)
        Posterior covariances of an item's mean and factors; zeros where they count as known.
    noise : float
        Variance of a rating about its prediction.
    """

    center: float
    means: FloatArray
    offset: float | None
    factors: FloatArray
    spread: FloatArray
    noise: float

    def predict(self, ratings: Ratings, users: NDArray[np.integer], items: NDArray[np.integer]) -> FloatArray:
        """Predictions in [-1, 1] for pairs of a row of `ratings`, from which coefficients come, and an item."""
        columns = self.columns()
        Z = np.zeros((len(ratings), columns.W.shape[1]))
        solve_users(ratings.indptr, ratings.items, ratings.values, columns, Z)
        scores = self.center + self.means[items] + np.einsum("ij,ij->i", Z[users], columns.W[items])
        return np.asarray(np.clip(scores, -1.0, 1.0))

    def columns(self) -> Columns:
        """What users regress their ratings on."""
        n_items, n_fixed = len(self.means), 0 if self.offset is None else 1
        offset = 0.0 if self.offset is None else self.offset
        W = np.hstack([np.full((n_items, n_fixed), offset), self.factors])
        shift = W * (self.center + self.means)[:, None]
        shift[:, n_fixed:] += self.spread[:, 1:, 0]
        products = W[:, :, None] * W[:, None, :]
        products[:, n_fixed:, n_fixed:] += self.spread[:, 1:, 1:]
        return Columns(W, shift, products, self.center, offset, n_fixed, self.noise)


def fit_item_means(ratings: Ratings, n_items: int) -> RatingModel:
    """Means of items, and of all ratings where an item has none; nothing about users."""
    counts = np.bincount(ratings.items, minlength=n_items)
    center = float(ratings.values.mean()) if len(ratings.values) else 0.0
    means = np.bincount(ratings.items, ratings.values - center, n_items) / np.maximum(counts, 1)
    return RatingModel(center, means, None, np.zeros((n_items, 0)), np.zeros((n_items, 1, 1)), 1.0)


def fit_em(ratings: Ratings, n_items: int, rank: int, n_iterations: int = 20, *, offsets: bool = True) -> RatingModel:
    """The rating model by EM, from a spectral start; every call gives the same result.

    Parameters
    ----------
    ratings : UserBlock
    n_items : int
        Length of the catalogue.
    rank : int
        Number of factors, at most the number of items; 0 for none.
    n_iterations : int, default 20
    offsets : bool, default True
        Whether there are center, item means and user offsets; False fits a matrix of low rank alone.

    Examples
    --------
    >>> from hushrank.data.ratings.reading import read_ratings
    >>> rows = [[1, 5, 1], [5, 1, 5]] * 20 + [[1, 5, np.nan]]
    >>> [block] = read_ratings(rows, owner="example", rating_range=(1, 5)).blocks()
    >>> fit_em(block, 3, rank=1).predict(block, np.array([40]), np.array([2])).round(1)
    array([-1.])
    """
    n_iterations = check_integer(n_iterations, "n_iterations", "fit_em", minimum=1)
    model = _start(ratings, n_items, rank, offsets)
    variances = np.array([_MEAN, *[_FACTOR] * rank])
    for _ in range(n_iterations):
        model, variances = _em_step(ratings, model, variances)
    return model


def _start(ratings: Ratings, n_items: int, rank: int, offsets: bool) -> RatingModel:
    """Shrunk item means, and factors along eigenvectors of the residuals' second moment without its diagonal."""
    rank = check_integer(rank, "rank", "RatingModel", minimum=0, maximum=n_items)
    counts = np.bincount(ratings.items, minlength=n_items)
    center, means = 0.0, np.zeros(n_items)
    residuals = ratings.values.astype(np.float64)
    if offsets and len(residuals):
        center = float(residuals.mean())
        means = np.bincount(ratings.items, residuals - center, n_items) / (counts + _PRIOR_RATINGS)
        residuals -= center + means[ratings.items]
        numbers, users = np.diff(ratings.indptr), np.repeat(np.arange(len(ratings)), np.diff(ratings.indptr))
        residuals -= (np.bincount(users, residuals, len(ratings)) / (numbers + _PRIOR_RATINGS))[users]
    shape = np.maximum(counts, 1.0) ** -0.25  # neither popular nor rare items prevail
    rows = (residuals * shape[ratings.items], ratings.items, ratings.indptr)
    R = scipy.sparse.csr_array(rows, shape=(len(ratings), n_items))
    factors = _top_eigenvectors(R, rank) * np.where(counts > 0, 1.0 / (np.maximum(counts, 1) * shape), 0.0)[:, None]
    mean_squares = counts @ factors**2 / max(int(counts.sum()), 1)
    factors *= np.sqrt(_FACTOR / np.maximum(mean_squares, np.finfo(float).tiny))
    offset = float(np.sqrt(_OFFSET)) if offsets else None
    return RatingModel(center, means, offset, factors, np.zeros((n_items, 1 + rank, 1 + rank)), _NOISE)


def _top_eigenvectors(R: scipy.sparse.csr_array, rank: int) -> FloatArray:
    """Of R^T R with zeros on the diagonal, which holds the noise of single ratings."""
    n_items = R.shape[1]
    if rank == 0:
        return np.zeros((n_items, 0))
    squares = np.asarray(R.multiply(R).sum(axis=0)).ravel()
    if n_items <= max(_DENSE, 4 * rank):
        return np.linalg.eigh((R.T @ R).toarray() - np.diag(squares))[1][:, -rank:]
    hollow = LinearOperator((n_items, n_items), matvec=lambda x: R.T @ (R @ x) - squares * x, dtype=np.float64)
    vectors: FloatArray = eigsh(hollow, k=rank, which="LA", v0=np.ones(n_items), tol=1e-3)[1]
    return vectors


def _em_step(ratings: Ratings, model: RatingModel, variances: FloatArray) -> tuple[RatingModel, FloatArray]:
    """One iteration, and the variances of item means and factors that go with it."""
    sums, n_fixed = _sum_over_users(ratings, model), 0 if model.offset is None else 1
    first = 1 - n_fixed
    solution, spread = np.zeros_like(sums.right), np.zeros_like(sums.gram)
    inverse = np.linalg.inv(sums.gram[:, first:, first:] + np.diag(model.noise / variances[first:]))
    spread[:, first:, first:] = model.noise * inverse
    solution[:, first:] = np.einsum("jab,jb->ja", inverse, sums.right[:, first:])
    variances = (solution**2 + np.einsum("jaa->ja", spread)).mean(axis=0)
    # Coefficients of users are given variance 1 again, which speeds EM up (Liu, Rubin and Wu, 1998).
    scales = np.sqrt(sums.second / max(int((np.diff(ratings.indptr) > 0).sum()), 1))
    stretch = np.append(1.0, scales[n_fixed:])
    updated = replace(
        model,
        means=solution[:, 0].copy(),
        offset=None if model.offset is None else model.offset * float(scales[0]),
        factors=solution[:, 1:] * stretch[1:],
        spread=spread * stretch[:, None] * stretch,
        noise=max(_squared_error(model, sums) / max(len(ratings.items), 1), _SMALLEST),
    )
    return updated, np.maximum(variances * stretch**2, _SMALLEST)


class _Sums(NamedTuple):
    """Sums over users: for every item the moments of x = (1, u), u the factors of a user, and of x times the target."""

    gram: FloatArray
    right: FloatArray
    second: FloatArray
    targets: float


def _squared_error(model: RatingModel, sums: _Sums) -> float:
    """Expected sum of (target - w . x)^2 over all ratings, w the mean and factors of the item."""
    w = np.column_stack([model.means, model.factors])
    moments = w[:, :, None] * w[:, None, :] + model.spread
    return sums.targets - 2 * float((w * sums.right).sum()) + float((sums.gram * moments).sum())


def _sum_over_users(ratings: Ratings, model: RatingModel) -> _Sums:
    columns = model.columns()
    n_items, width = len(model.means), 1 + model.factors.shape[1]
    gram, right, second = np.zeros((n_items, width, width)), np.zeros((n_items, width)), np.zeros(columns.W.shape[1])
    targets = add_users(ratings.indptr, ratings.items, ratings.values, columns, gram, right, second)
    return _Sums(gram, right, second, targets)
