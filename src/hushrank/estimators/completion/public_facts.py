"""What a recommender does with public facts about items: read before the charge, and new items added after a fit."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hushrank.archive.attributes import COLUMNS
from hushrank.data.id_arrays import to_array
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.item_features import ItemFeatures, read_item_features
from hushrank.estimators.completion.item_marks import unknown_deviation
from hushrank.estimators.completion.item_means import OWN_COLUMNS
from hushrank.estimators.completion.known_items import (
    describe_features,
    encode_new,
    restore_features,
    tell_new_items,
)
from hushrank.estimators.completion.parameters import build_catalogue, find_new_items
from hushrank.estimators.completion.recipes import ITEM_MEANS
from hushrank.exceptions import InvalidParameter

Public = tuple[ItemFeatures | None, NDArray[np.bool_]]


class PublicFacts:
    """Public features and new items of a recommender, before and after its fit.

    A subclass has the parameters below, and the methods of a `Recommender`.
    """

    items: Any
    item_features: Any
    new_items: Any
    rank: int
    items_: NDArray[Any]
    _learned: Any
    _parameters: Any
    _to_ratings: Any
    _is_implicit: Any
    _half_range: Any
    _catalogue: Any

    @property
    def feature_names_(self) -> list[str]:
        """Readable names of the public features of the items."""
        features = restore_features(self._learned())
        return [] if features is None else features.names

    @property
    def n_slopes_(self) -> int:
        """Columns of public features that users have own slopes on; 0 where features were found not to tell."""
        n_columns = self._learned()["item_features_"].shape[1]
        return int(n_columns if self._is_implicit else max(n_columns - OWN_COLUMNS, 0))

    def add_items(self, ids: Any, item_features: Any = None) -> Self:
        """A model that knows further items as well, by their public features; this one stays as it is.

        Post-processing: no data are read, nothing is charged, and the guarantee is the same. Items that nobody has
        rated are predicted by what their features tell, at the popularity of a typical item, and can be recommended and
        searched for. What is predicted for the others does not change.

        Parameters
        ----------
        ids : sequence of ids
            New ones, of the type of the catalogue's own.
        item_features : array, sparse matrix, table or None, default None
            As in the fit; an array has a row for each new id. Items without features have typical ones.

        Examples
        --------
        >>> from hushrank.estimators.completion.estimator import PrivateCompletion
        >>> from hushrank.evaluation.synthetic import synthetic_ratings
        >>> ratings = synthetic_ratings(500, 20, seed=1)
        >>> model = PrivateCompletion(2, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=20).fit(ratings.table())
        >>> larger = model.add_items([20, 21])
        >>> len(larger.items_), larger.predict({3: 5.0}, items=[21]).shape
        (22, (1,))
        """
        learned, owner = self._learned(), type(self).__name__
        if "feature_map_" not in learned or learned["feature_map_"].size == 0:
            requirement = "for a model with offsets, or of implicit feedback, that this version has fitted"
            raise InvalidParameter(owner, "add_items", requirement, "another one")
        added = self._check_added(ids)
        features = restore_features(learned)
        values = encode_new(features, item_features, added, owner)
        told, n_columns = tell_new_items(learned, values), 1 + learned["item_features_"].shape[1]
        means = self._to_ratings(told[:, 0])  # within the range
        is_new = find_new_items(self.new_items, self._catalogue, owner)
        next_to_nothing = ITEM_MEANS.new_count * float(learned["item_counts_"][~is_new].min())
        catalogue = Catalogue([*self.items_.tolist(), *to_array(added.ids).tolist()])  # int64 and uint64 may meet
        all_ids = to_array(catalogue.ids)
        grown = {
            "items_": all_ids,
            "item_means_": np.append(learned["item_means_"], means),
            "item_features_": np.vstack([learned["item_features_"], told[:, 1:n_columns]]),
            "item_factors_": np.vstack([learned["item_factors_"], told[:, n_columns:]]),
            "item_counts_": np.append(learned["item_counts_"], np.full(len(added), next_to_nothing)),
            COLUMNS: len(catalogue),
        }
        if "mean_deviation_" in learned:
            unknown = unknown_deviation(learned["mean_deviation_"], self._half_range)
            grown["mean_deviation_"] = np.append(learned["mean_deviation_"], np.full(len(added), unknown))
        if features is not None:
            features = ItemFeatures(features.columns, np.vstack([features.values, values]), features.typical)
        grown |= describe_features(features, len(catalogue))
        new_items = [*self.items_[is_new].tolist(), *to_array(added.ids).tolist()]
        terms = {"items": all_ids.tolist(), "item_features": features, "new_items": new_items}
        model = type(self)(**{**self._parameters(), **terms})
        model._keep({**learned, **grown})  # type: ignore[attr-defined]  # of every release
        return model

    def _check_added(self, ids: Any) -> Catalogue:
        """The new ids, of the type of the catalogue and none of them there yet."""
        owner = type(self).__name__
        try:
            added = Catalogue([ids] if isinstance(ids, str | int | np.integer) else ids)
            positions = self._catalogue.positions(added.ids)
        except InvalidParameter as error:
            raise InvalidParameter(owner, "ids", error.requirement, error.got) from error
        if (positions >= 0).any():
            requirement = "ids that the catalogue does not have yet"
            raise InvalidParameter(owner, "ids", requirement, f"{int((positions >= 0).sum())} that it has")
        return added

    def _check_source(self, source: Any, releases: Any) -> None:
        """Read what is public about the items, before the charge."""
        _, public = self._made_public = (self._public_terms(), self._read_public(self._catalogue_of(source)))
        features, _ = public
        for column, separator in () if features is None else features.joined:
            text = f"words of item_features are joined by |; column {column!r} seems to use {separator!r}."
            warnings.warn(text, stacklevel=5)
        for column in () if features is None else features.left_out:
            text = f"column {column!r} of item_features is left out: nearly every item has a text of its own."
            warnings.warn(text, stacklevel=5)

    def _take_public(self, catalogue: Catalogue) -> Public:
        """What was read before the charge; read again if another thread fits this object."""
        terms, public = self.__dict__.pop("_made_public", (None, None))
        if public is None or (len(public[1]), *map(id, terms)) != (len(catalogue), *map(id, self._public_terms())):
            return self._read_public(catalogue)
        taken: Public = public
        return taken

    def _n_public_columns(self) -> int:
        """Columns of the features that were read before the charge, none where there are none."""
        _, (features, _) = self.__dict__.get("_made_public", (None, (None, None)))
        return 0 if features is None else int(features.values.shape[1])

    def _public_terms(self) -> tuple[Any, ...]:
        return (self.items, self.item_features, self.new_items)

    def _read_public(self, catalogue: Catalogue) -> Public:
        """Features of the items, and which are new."""
        owner, given = type(self).__name__, self.item_features
        features = None if given is None else read_item_features(given, catalogue, owner)
        return features, find_new_items(self.new_items, catalogue, owner)

    def _catalogue_of(self, source: Any) -> Catalogue:
        """The catalogue, made once where the ratings were read."""
        made: Catalogue | None = getattr(source, "catalogue", None)
        return made or build_catalogue(source.n_items if self.items is None else self.items, type(self).__name__)
