"""What a user makes of a released model and this user's ratings: predictions, recommendations, similar items.

All of it is the user's own computation: the model is public, and these ratings do not enter it.
"""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.identifiers import IdTable
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.item_features import ItemFeatures
from hushrank.data.ratings.rating_range import check_rating_range
from hushrank.estimators.completion.explanations import Reasons, reasons_for
from hushrank.estimators.completion.histories import find_items, read_histories, read_pairs
from hushrank.estimators.completion.item_means import OWN_COLUMNS
from hushrank.estimators.completion.known_items import restore_features
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.parameters import find_new_items
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.top_items import Predictor, best_items, largest_of
from hushrank.exceptions import InvalidParameter

FloatArray = NDArray[np.float64]
Columns = Mapping[str, str] | None


class Recommendations(NamedTuple):
    """Items in falling order of their scores.

    Attributes
    ----------
    items : ndarray of shape (n,) or (n_users, n)
        Ids.
    scores : ndarray of the same shape
        Predicted ratings; for implicit feedback, scores that order the items.
    users : ndarray of shape (n_users,) or None
        Whose they are: ids of a table in the order of their first appearance, numbers of the rows of a matrix; None
        for one person. ``dict(zip(top.users, top.items))`` gives each user's items by id.
    reasons : list or None
        If asked for: what speaks for each item, a tuple of names of public features, such as ("Comedy", "Film-Noir");
        empty where no feature does. A list of items, or for several users a list of such lists.
    by : str or None
        Of similar items: by what they are similar, "factors", "factors that are noise", "features" or "nothing".
    """

    items: NDArray[Any]
    scores: FloatArray
    users: NDArray[Any] | None = None
    reasons: list[Any] | None = None
    by: str | None = None


class Recommender:
    """Queries of a fitted model.

    A subclass has the parameters and learned attributes below, and a method `_learned` that raises before the fit.
    """

    feedback: str
    rating_range: Any
    unobserved_weight: float
    new_items: Any
    item_factors_: FloatArray
    item_features_: FloatArray
    item_means_: FloatArray
    item_counts_: FloatArray
    ridge_: float
    strength_: FloatArray
    items_: NDArray[Any]
    _learned: Any
    _threads: int

    def fold_in(self, own_ratings: Any, *, columns: Columns = None) -> FloatArray:
        """A user's coefficients of the item features and factors, from the user's own ratings.

        Parameters
        ----------
        own_ratings : dict of ratings by item id, tuple (items, ratings), table, or matrix of several users
            A table has the columns item and rating (implicit feedback: item), and user if it is about several users;
            every row must then have a user. Unknown items are ignored, ratings are clipped to the range.
        columns : dict, optional
            What these columns are called where they have other names, such as {"item": "movieId"}.

        Returns
        -------
        ndarray of shape (n_features + rank,), or (n_users, n_features + rank)
            Users have the order of the rows of a matrix, or of the first appearance of their ids in a table.
        """
        model = self._model()
        histories = self._histories(own_ratings, columns)
        coefficients = model.fold_in(histories.block)
        return coefficients[0] if histories.is_single else coefficients

    def predict(self, own_ratings: Any, items: Any = None, *, columns: Columns = None) -> FloatArray:
        """Predicted ratings of items, by default of the whole catalogue; a user without ratings gets the item means.

        Returns an array of shape (n_items,), or (n_users, n_items) for several users: in the order of the rows of a
        matrix, or of the first appearance of their ids in a table. `columns` as in `fold_in`.
        """
        model, histories = self._model(), self._histories(own_ratings, columns)
        chosen = np.arange(len(self.items_)) if items is None else self._positions(items)
        coefficients = model.fold_in(histories.block)  # with all items, then scored with those asked for
        predicted = self._to_ratings(model.at(chosen).scores(coefficients))
        return predicted[0] if histories.is_single else predicted

    def recommend(
        self,
        own_ratings: Any,
        n: int = 10,
        exclude_seen: bool = True,
        explain: bool = False,
        *,
        columns: Columns = None,
    ) -> Recommendations:
        """The `n` items with the highest predictions, without those rated already unless asked for.

        Answers for several users carry their ids, see `Recommendations`. Where a user has seen so many items that fewer
        than `n` are left, one person gets fewer; among several users the last places of such a user hold items that
        were seen, with score -inf. `explain` adds what of the public features of an item this user likes, by the user's
        own slopes on them; there are no reasons where the model has no features or found them useless. `columns` as in
        `fold_in`.
        """
        model, histories = self._model(), self._histories(own_ratings, columns)
        n = min(self._check_n(n), len(self.items_))
        features = restore_features(self._learned()) if explain else None
        coefficients, predictor = model.fold_in(histories.block), Predictor(model.base, model.W, self._units)
        seen = histories.block if exclude_seen else None
        positions, values = best_items(predictor, coefficients, n, seen, self._threads)
        reasons = self._reasons(features, coefficients, positions) if explain else []
        values, items = self._clip(values), self.items_[positions]
        if histories.is_single:
            left = ~np.isneginf(values[0])
            told = [why for why, kept in zip(reasons[0], left, strict=True) if kept] if explain else None
            return Recommendations(items[0][left], values[0][left], reasons=told)
        return Recommendations(items, values, histories.users, reasons if explain else None)

    def _reasons(
        self, features: ItemFeatures | None, coefficients: FloatArray, best: NDArray[np.int64]
    ) -> list[list[Reasons]]:
        """What speaks for each user's items."""
        if features is None:
            return [[()] * best.shape[1] for _ in best]
        n_own = 0 if self._is_implicit else OWN_COLUMNS
        along = self._learned()["feature_map_"][1:, 1 + n_own : 1 + self.item_features_.shape[1]]
        slopes = coefficients[:, n_own : n_own + along.shape[1]] @ along.T
        return [reasons_for(features, own, items) for own, items in zip(slopes, best, strict=True)]

    def similar_items(self, item: Any, n: int = 10) -> Recommendations:
        """Items whose factors point the same way, by cosine.

        For an item without factors, such as a new one, those with like public features; all scores are 0 where there is
        neither. `by` of the result says which it was, and a warning where the answer means nothing.
        """
        features = restore_features(self._learned())
        position = int(self._positions([item])[0])
        vectors, by = self.item_factors_, "factors" if getattr(self, "n_significant_", 1) else "factors that are noise"
        if not vectors[position].any():
            by = "nothing" if features is None else "features"
            vectors = vectors if features is None else PublicItems.of(features.values, len(vectors)).G
        if by not in ("factors", "features"):
            warnings.warn(f"item {item!r} is similar to others by {by}: the order means nothing", stacklevel=2)
        norms = np.linalg.norm(vectors, axis=1)
        unit = vectors / np.where(norms > 0, norms, 1.0)[:, None]
        cosines = unit @ unit[position]
        cosines[position] = -np.inf
        best = largest_of(cosines[None], min(self._check_n(n), len(self.items_) - 1))[0]
        return Recommendations(self.items_[best], cosines[best], by=by)

    def predict_ratings(self, history: Any, pairs: Any, *, columns: Columns = None) -> FloatArray:
        """One prediction for each row of `pairs`, in order.

        Parameters
        ----------
        history : table with columns user, item and rating (implicit feedback: user and item)
            What is known about the users. Those without history get item means.
        pairs : table with columns user and item
            Items outside the catalogue are predicted like a typical item.
        columns : dict, optional
            What these columns are called, in both tables, where they have other names.
        """
        model, histories, owner = self._model(), self._histories(history, columns), type(self).__name__
        if histories.ids is None:
            raise InvalidParameter(owner, "history", "a table with a column 'user'", type(history).__name__)
        users, items = read_pairs(pairs, owner, columns)
        if pa.null() not in (users.type, histories.ids.type) and users.type != histories.ids.type:
            raise InvalidParameter(
                owner, "pairs", f"users of type {histories.ids.type} as in the history", str(users.type)
            )
        known = IdTable()
        known.add(histories.ids)
        codes, positions = known.find(users), find_items(items, self._catalogue, owner, "pairs")
        typical = model.counts / model.counts.sum()
        W, base = np.vstack([model.W, typical @ model.W]), np.append(model.base, typical @ model.base)
        Z = np.vstack([model.fold_in(histories.block), np.zeros(W.shape[1])])  # the last row: nothing is known
        scores = base[positions] + np.einsum("ij,ij->i", Z[codes], W[positions])
        return self._to_ratings(scores)

    @property
    def n_significant_(self) -> int:
        """Factors that stand above the noise."""
        if not len(self.strength_):
            raise AttributeError("n_significant_: nothing tells how far factors of this method stand above the noise")
        return int(np.count_nonzero(self.strength_ > 1.0))

    @property
    def _half_range(self) -> float:
        """Half of the range of ratings."""
        return 1.0 if self._is_implicit else (float(self.rating_range[1]) - float(self.rating_range[0])) / 2.0

    @property
    def _is_implicit(self) -> bool:
        return bool(self.feedback == "implicit")

    def _model(self) -> CompletionModel:
        """The released model in its own units."""
        self._learned()
        weight = self.unobserved_weight if self._is_implicit else 0.0
        is_new = find_new_items(self.new_items, self._catalogue, type(self).__name__) if weight else None
        return CompletionModel(
            self._from_ratings(self.item_means_),
            self.item_features_,
            self.item_factors_,
            self.ridge_,
            self.item_counts_,
            weight,
            is_new=is_new,
        )

    @property
    def _catalogue(self) -> Catalogue:
        """The ids of the fit and their positions: made by the fit, or by the first query of a loaded model."""
        items, made = getattr(self, "_made_catalogue", (None, None))
        if made is None or items is not self.items_:
            made = Catalogue(self.items_.tolist() if self.items_.dtype == object else self.items_)
            self._made_catalogue = (self.items_, made)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what follows from the ids and the parameters."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_made_catalogue", "_made_public")}

    def _histories(self, own_ratings: Any, columns: Columns = None) -> Any:
        limits = None if self._is_implicit else check_rating_range(self.rating_range, type(self).__name__)
        return read_histories(own_ratings, self._catalogue, limits, type(self).__name__, columns)

    def _positions(self, items: Any) -> NDArray[np.int64]:
        positions = find_items(items, self._catalogue, type(self).__name__, "items")
        if (positions < 0).any():
            n_unknown = int((positions < 0).sum())
            raise InvalidParameter(type(self).__name__, "items", "items of the catalogue", f"{n_unknown} others")
        return positions

    def _check_n(self, n: Any) -> int:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InvalidParameter(type(self).__name__, "n", "an integer >= 1", n)
        return int(n)

    @property
    def _units(self) -> tuple[float, float] | None:
        """What ratings are of numbers between -1 and 1: a shift, and a scale; None for implicit feedback."""
        if self._is_implicit:
            return None
        low, high = map(float, self.rating_range)
        return low / 2 + high / 2, high / 2 - low / 2

    def _to_ratings(self, scaled: FloatArray, *, clip: bool = True) -> FloatArray:
        """Predictions in the units of the ratings."""
        if self._units is None:
            return scaled
        shift, scale = self._units
        ratings = shift + scale * scaled
        return self._clip(ratings) if clip else ratings

    def _clip(self, ratings: FloatArray) -> FloatArray:
        """Predictions within the range; -inf, which marks items that are left out, stays."""
        if self._is_implicit:
            return ratings
        low, high = map(float, self.rating_range)
        return np.where(np.isneginf(ratings), ratings, np.clip(ratings, low, high))

    def _from_ratings(self, ratings: FloatArray) -> FloatArray:
        if self._units is None:
            return ratings
        shift, scale = self._units
        return (ratings - shift) / scale
