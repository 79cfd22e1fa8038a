"""What matrix completion releases, and what a user makes of it: item parameters, and predictions from one's ratings."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimators.completion.fold_in import fold_in_users
from hushrank.estimators.completion.item_marks import NO_MARKS, Marks
from hushrank.estimators.completion.rating_kernels import RatingArrays
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CompletionModel:
    """The released model, in units where ratings lie in [-1, 1].

    A user's prediction for item j is base_j + w_j . z with w_j = (features_j, factors_j) and z the solution of
    (W_o^T W_o + unobserved W^T W + ridge I) z = W_o^T (y_o - base_o) for this user's ratings y_o. New items are left
    out of W^T W: that nobody has chosen them tells nothing.

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
    new_item_map : ndarray of shape (1 + n_columns, 1 + n_features + n_factors) or None
        Base, features and factors of an item that nobody has rated: the first row, plus the rows below times the public
        features of the item as `PublicItems` scales them. None where nothing is known about new items.
    is_new : ndarray of shape (n_items,) or None
        New items; None for none.
    marks : Marks
        How far all of it stands above its noise.
    """

    base: FloatArray
    features: FloatArray
    factors: FloatArray
    ridge: float
    counts: FloatArray
    unobserved: float = 0.0
    new_item_map: FloatArray | None = None
    is_new: NDArray[np.bool_] | None = None
    marks: Marks = NO_MARKS

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
        Z = np.zeros((len(block), W.shape[1]))
        fold_in_users(RatingArrays(block.indptr, block.items, block.values), self.base, W, self.prior, Z)
        return Z

    @property
    def prior(self) -> FloatArray:
        """What is added to the Gram matrix of every user's columns."""
        W = self.W
        known = W if self.is_new is None else W[~self.is_new]
        prior: FloatArray = self.ridge * np.eye(W.shape[1])
        if self.unobserved:
            with one_blas_thread():
                prior += self.unobserved * (known.T @ known)
        return prior

    def at(self, items: NDArray[np.int64]) -> "CompletionModel":
        """The parameters of some items alone, for their scores."""
        parts = {name: getattr(self, name)[items] for name in ("base", "features", "factors", "counts")}
        return replace(self, **parts)

    def with_new(self, G: FloatArray, is_new: NDArray[np.bool_]) -> "CompletionModel":
        """The same, with new items as their public features G tell."""
        if self.new_item_map is None or not is_new.any():
            return self
        with one_blas_thread():
            told = self.new_item_map[0] + G[is_new] @ self.new_item_map[1:]
        base, features, factors = self.base.copy(), self.features.copy(), self.factors.copy()
        n = 1 + features.shape[1]
        expected = told[:, 0] if self.unobserved else np.clip(told[:, 0], -1.0, 1.0)
        base[is_new], features[is_new], factors[is_new] = expected, told[:, 1:n], told[:, n:]
        return replace(self, base=base, features=features, factors=factors)

    def scores(self, coefficients: FloatArray) -> FloatArray:
        """Predictions for all items, a row for each row of coefficients."""
        with one_blas_thread():
            predicted: FloatArray = self.base + coefficients @ self.W.T
        return predicted


class FactorLearner(Protocol):
    """Learns item factors for a model that has everything else."""

    def __call__(self, model: CompletionModel, share: float) -> FloatArray:
        """Factors of shape (n_items, rank), for at most this share of the budget; `model` has none yet."""
