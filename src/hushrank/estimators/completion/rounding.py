"""A recommender with rounded parameters: small enough for a page, and how far its predictions are from those before.

All of it is post-processing of the released model; visitors are made up, by a rule.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hushrank.estimators.completion.top_items import largest_of
from hushrank.exceptions import InvalidParameter

FloatArray = NDArray[np.float64]

PRECISIONS = ("float16", "int8")
_LARGEST_CODE = {"float16": 1.0, "int8": 127.0}

_VISITORS, _MOST_SCORES = 64, 2**24  # scores of all visitors at once
_OWN_RATINGS, _TOP = 10, 10
_GOLDEN = (5.0**0.5 - 1.0) / 2.0  # its multiples are spread evenly


@dataclass(frozen=True, slots=True, eq=False)
class RoundedColumns:
    """A matrix in few bytes: codes times the scale of their column.

    Attributes
    ----------
    codes : ndarray of shape (n_items, n_columns), float16 or int8
    scales : ndarray of shape (n_columns,)
    """

    codes: NDArray[Any]
    scales: FloatArray

    @classmethod
    def of(cls, columns: FloatArray, precision: str) -> "RoundedColumns":
        """The nearest ones; the entry of a column that is largest in size becomes the largest code.

        Examples
        --------
        >>> RoundedColumns.of(np.array([[0.5, 0.0], [-2.0, 0.0]]), "int8").values.round(3).tolist()
        [[0.504, 0.0], [-2.0, 0.0]]
        """
        largest = _LARGEST_CODE[precision]
        scales = np.abs(columns).max(axis=0, initial=0.0) / largest
        numbers = np.clip(columns / np.where(scales > 0.0, scales, 1.0), -largest, largest)
        codes = np.rint(numbers).astype(np.int8) if precision == "int8" else numbers.astype(np.float16)
        return cls(codes, scales)

    @property
    def values(self) -> FloatArray:
        """The matrix, in float64."""
        return self.codes.astype(np.float64) * self.scales


class RoundedModel(NamedTuple):
    """A model with rounded parameters.

    Attributes
    ----------
    model : PrivateCompletion
        Item means in float32, columns of features and factors in few bytes; everything else as it was.
    base : ndarray of shape (n_items,), float32
        Predictions without ratings, in units where ratings lie in [-1, 1].
    columns : RoundedColumns
        Of features and factors side by side.
    """

    model: Any
    base: NDArray[np.float32]
    columns: RoundedColumns


class RoundingError(NamedTuple):
    """How far predictions of a rounded model are from those of the model itself, for made-up visitors.

    Attributes
    ----------
    largest, typical : float
        Largest difference and root of the mean squared one, in units of the ratings.
    kept : float
        Share of the ten best items that stay among the ten best.
    visitors : int
    """

    largest: float
    typical: float
    kept: float
    visitors: int


def round_model(model: Any, precision: str = "float16") -> RoundedModel:
    """A fitted recommender with rounded item parameters; the one given stays as it is.

    Parameters
    ----------
    model : PrivateCompletion
    precision : {"float16", "int8"}
        Of features and factors: two bytes a number, or one.

    Examples
    --------
    >>> from hushrank.estimators.completion.estimator import PrivateCompletion
    >>> from hushrank.evaluation.synthetic import synthetic_ratings
    >>> ratings = synthetic_ratings(500, 20, seed=1)
    >>> model = PrivateCompletion(2, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=20).fit(ratings.table())
    >>> rounded = round_model(model)
    >>> rounded.columns.codes.dtype, rounded.model.privacy_ == model.privacy_
    (dtype('float16'), True)
    """
    if precision not in PRECISIONS:
        raise InvalidParameter("round_model", "precision", f"one of {', '.join(map(repr, PRECISIONS))}", precision)
    learned = model._learned()
    released = model._model()
    base = released.base.astype(np.float32)
    columns = RoundedColumns.of(released.W, precision)
    features, factors = np.split(columns.values, [released.features.shape[1]], axis=1)
    rounded = type(model)(**model._parameters())
    means = model._to_ratings(base.astype(np.float64), clip=False)
    rounded._keep({**learned, "item_means_": means, "item_features_": features, "item_factors_": factors})
    return RoundedModel(rounded, base, columns)


def measure_rounding(model: Any, rounded: Any) -> RoundingError:
    """Predictions of both models for made-up visitors with a few ratings each, of many and of few people's items."""
    n_items = len(model.items_)
    n_visitors = max(min(_VISITORS, _MOST_SCORES // n_items), 1)
    histories = _made_up(n_visitors, n_items, model)
    both = [one._model() for one in (model, rounded)]
    blocks = [one._histories(histories).block for one in (model, rounded)]
    scores = [one.scores(one.fold_in(block)) for one, block in zip(both, blocks, strict=True)]
    differences = np.abs(scores[1] - scores[0])
    top = [largest_of(found, min(_TOP, n_items)) for found in scores]
    kept = [np.isin(before, after).mean() for before, after in zip(*top, strict=True)]
    largest, typical = float(differences.max()), float(np.sqrt(np.mean(differences**2)))
    in_ratings = model._half_range
    return RoundingError(in_ratings * largest, in_ratings * typical, float(np.mean(kept)), n_visitors)


def _made_up(n_visitors: int, n_items: int, model: Any) -> scipy.sparse.csr_array:
    """Ratings of made-up visitors: every other one knows popular items only, and opinions go up and down."""
    popular = np.argsort(-model.item_counts_, kind="stable")
    n_own = min(_OWN_RATINGS, n_items)
    low, high = (1.0, 1.0) if model._is_implicit else map(float, model.rating_range)
    rows, places, ratings = [], [], []
    for visitor in range(n_visitors):
        within = n_items if visitor % 2 else min(n_items, 20 * n_own)
        steps = np.arange(visitor * n_own, (visitor + 1) * n_own)
        known = np.unique((within * np.modf(steps * _GOLDEN)[0]).astype(np.int64))
        likes = (known * 7 + visitor) % 5 / 4.0
        rows += [visitor] * len(known)
        places += popular[known].tolist()
        ratings += (low + (high - low) * likes).tolist()
    return scipy.sparse.csr_array((ratings, (rows, places)), shape=(n_visitors, n_items))
