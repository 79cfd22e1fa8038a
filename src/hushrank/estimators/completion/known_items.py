"""Public facts about items in a fitted recommender: kept with the model, and applied to items that come later.

All of it is public input, or post-processing of what was released.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.item_features import ItemFeatures
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.exceptions import InvalidParameter

FloatArray = NDArray[np.float64]

COLUMN_TEXTS = "feature_columns_"
ATTRIBUTES = (COLUMN_TEXTS, "feature_values_", "feature_typical_")


def describe_features(features: ItemFeatures | None, n_items: int) -> dict[str, Any]:
    """Learned attributes that hold public features."""
    if features is None:
        values = (np.empty(0, object), np.zeros((n_items, 0)), np.zeros(0))
    else:
        values = (np.array([*features.to_texts(), None], object)[:-1], features.values, features.typical)
    return dict(zip(ATTRIBUTES, values, strict=True))


def restore_features(learned: Mapping[str, Any]) -> ItemFeatures | None:
    """Public features from the learned attributes of a model; None if it has none. ValueError if no fit gives these."""
    if len(learned.get(COLUMN_TEXTS, ())) == 0:
        return None
    texts, values, typical = (learned[name] for name in ATTRIBUTES)
    return ItemFeatures.from_texts(texts.tolist(), values, typical)


def map_features(model: CompletionModel, items: PublicItems, rank: int) -> FloatArray:
    """`CompletionModel.new_item_map` for features as they were given, less the typical ones; nothing if it has none.

    Factors that were not found are zero, up to `rank` of them.
    """
    if model.new_item_map is None:
        return np.zeros((0, 0))
    others = np.zeros((len(model.new_item_map), rank - model.factors.shape[1]))
    return np.asarray(np.hstack([model.new_item_map, others]) * np.append(1.0, items.scales)[:, None])


def check_features(learned: Mapping[str, Any], n_columns: int) -> None:
    """Raise ValueError where attributes about features contradict each other; `n_columns` are features and factors."""
    if "feature_map_" not in learned:
        if any(name in learned for name in ATTRIBUTES):
            raise ValueError("it has item features and no map of them")
        return
    features = restore_features(learned)
    n_features = 0 if features is None else len(features.columns)
    sizes = {len(learned[COLUMN_TEXTS]), learned["feature_values_"].shape[1], len(learned["feature_typical_"])}
    if sizes != {n_features}:
        raise ValueError("its attributes about item features have different sizes")
    found, expected = learned["feature_map_"].shape, (1 + n_features, 1 + n_columns)
    if found != expected and not (found == (0, 0) and n_features == 0):
        raise ValueError(f"feature_map_ has the shape {found} instead of {expected}")


def tell_new_items(learned: Mapping[str, Any], values: FloatArray) -> FloatArray:
    """Base, columns and factors of items that nobody has rated, from their public features."""
    told: FloatArray = learned["feature_map_"][0] + (values - learned["feature_typical_"]) @ learned["feature_map_"][1:]
    return told


def encode_new(features: ItemFeatures | None, given: Any, catalogue: Any, owner: str) -> FloatArray:
    """Features of new items, as those of the fit are encoded; typical ones where none are given."""
    if features is None:
        if given is not None:
            requirement = "None for a model that was fitted without item features"
            raise InvalidParameter(owner, "item_features", requirement, type(given).__name__)
        return np.zeros((len(catalogue), 0))
    if given is None:
        return np.tile(features.typical, (len(catalogue), 1))
    return features.encode(given, catalogue, owner)
