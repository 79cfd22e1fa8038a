"""What matrix completion releases, and what a user makes of it: item parameters, and predictions from one's ratings."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimators.completion.fold_in import fold_in_users
from hushrank.estimators.completion.rating_kernels import RatingArrays
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CompletionModel:
    """The released model, in units where ratings lie in [-1, 1].

    A user's prediction for item j is base_j + w_j . z with w_j = (features_j, factors_j) and z the solution of
    (W_o^T W_o + unobserved W^T W + ridge I) z = W_o^T (y_o - base_o) for this user's ratings y_o.

    Attributes
    ----------
    base : ndarray of shape (n_items,)
        Prediction without ratings.
    features : ndarray of shape (n_items, n_features)
        Columns for offsets and slopes.
    factors : ndarray of shape (n_items, n_factors)
    ridge : float
    counts : ndarray of shape (n_items,)
        Released numbers of ratings, weighted, or ones where none were released.
    unobserved : float
        Weight of all items, rated or not.
    """

    base: FloatArray
    features: FloatArray
    factors: FloatArray
    ridge: float
    counts: FloatArray
    unobserved: float = 0.0

    @property
    def W(self) -> FloatArray:
        """All columns."""
        return np.hstack([self.features, self.factors])

    def check_start(self, rank: int, owner: str) -> None:
        """Refuse a model that a method of this rank cannot start from."""
        if self.factors.shape[1] not in (0, rank):
            raise InvalidParameter(owner, "start", f"a model without factors or with {rank}", self.factors.shape)

    def fold_in(self, block: UserBlock) -> FloatArray:
        """Coefficients of every user of a block; zeros for a user without ratings."""
        W = self.W
        with one_blas_thread():
            prior = self.unobserved * (W.T @ W) + self.ridge * np.eye(W.shape[1])
        Z = np.zeros((len(block), W.shape[1]))
        fold_in_users(RatingArrays(block.indptr, block.items, block.values), self.base, W, prior, Z)
        return Z

    def at(self, items: NDArray[np.int64]) -> "CompletionModel":
        """The parameters of some items alone, for their scores."""
        base, features, factors, counts = (
            part[items] for part in (self.base, self.features, self.factors, self.counts)
        )
        return CompletionModel(base, features, factors, self.ridge, counts, self.unobserved)

    def scores(self, coefficients: FloatArray) -> FloatArray:
        """Predictions for all items, a row for each row of coefficients."""
        with one_blas_thread():
            predicted: FloatArray = self.base + coefficients @ self.W.T
        return predicted


class FactorLearner(Protocol):
    """Learns item factors for a model that has everything else."""

    def __call__(self, model: CompletionModel, share: float) -> FloatArray:
        """Factors of shape (n_items, rank), for at most this share of the budget; `model` has none yet."""
