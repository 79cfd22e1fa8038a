"""Public facts in a fitted model: kept and restored as they were, applied to new items, refused where they disagree."""

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.item_features import read_item_features
from hushrank.estimators.completion.known_items import (
    ATTRIBUTES,
    check_features,
    describe_features,
    encode_new,
    map_features,
    restore_features,
    tell_new_items,
)
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.exceptions import InvalidParameter

TABLE = pa.table({"item": range(6), "genre": ["A|B", "B", "C|A", None, "A|B|C", "C"], "year": [1, 5, 9, 2, 4, 8]})
N_ITEMS, N_OWN = 7, 3
FEATURES = read_item_features(TABLE, Catalogue(N_ITEMS), "Owner")
N_COLUMNS = 5  # three words, a number and its square


def model_with(new_item_map, n_items=N_ITEMS):
    zeros = np.zeros(n_items)
    return CompletionModel(zeros, zeros[:, None], zeros[:, None], 1.0, zeros + 1.0, new_item_map=new_item_map)


def learned(features=FEATURES, shape=(1 + N_COLUMNS, 1 + N_OWN), **changes):
    """Attributes of a model about features."""
    return {**describe_features(features, N_ITEMS), "feature_map_": np.ones(shape), **changes}


# There and back


def test_features_are_restored_as_they_were():
    kept = describe_features(FEATURES, N_ITEMS)
    assert tuple(kept) == ATTRIBUTES and kept["feature_columns_"].dtype == object
    assert [np.shape(value) for value in kept.values()] == [(N_COLUMNS,), (N_ITEMS, N_COLUMNS), (N_COLUMNS,)]
    restored = restore_features(kept)
    assert restored.columns == FEATURES.columns and restored.names == ["A", "B", "C", "year", "year squared"]
    assert np.array_equal(restored.values, FEATURES.values) and np.array_equal(restored.typical, FEATURES.typical)


def test_no_features_are_kept_as_nothing():
    kept = describe_features(None, N_ITEMS)
    assert [np.shape(value) for value in kept.values()] == [(0,), (N_ITEMS, 0), (0,)]
    assert kept["feature_columns_"].dtype == object  # as a file gives it back
    assert restore_features(kept) is None and restore_features({}) is None  # the second is an older model


# The map of new items


def test_the_map_of_features_as_given_is_that_of_scaled_ones():
    items, rng = PublicItems.of(FEATURES.values, N_ITEMS), np.random.default_rng(1)
    table = rng.standard_normal((1 + N_COLUMNS, 1 + N_OWN))
    kept = learned(feature_map_=map_features(model_with(table), items, 1))
    # Scaled features are about the mean of all items, which is the typical value: others are filled with it.
    scaled = (FEATURES.values - FEATURES.typical) * items.scales
    assert tell_new_items(kept, FEATURES.values) == pytest.approx(table[0] + scaled @ table[1:], rel=1e-12, abs=1e-12)
    told = tell_new_items(kept, FEATURES.typical[None])
    assert np.array_equal(told, table[:1])  # nothing is added to the typical item
    assert map_features(model_with(None), items, 1).shape == (0, 0)


def test_without_features_all_new_items_are_typical():
    items = PublicItems.of(None, N_ITEMS)
    kept = learned(None, feature_map_=map_features(model_with(np.array([[0.5, 1.0, 2.0, 3.0]])), items, 1))
    assert tell_new_items(kept, np.zeros((2, 0))).tolist() == [[0.5, 1.0, 2.0, 3.0]] * 2


def test_columns_that_are_the_same_for_all_tell_nothing():
    features = read_item_features(np.array([[5.0, 1.0], [5.0, 2.0]]), Catalogue(2), "Owner")
    items = PublicItems.of(features.values, 2)
    table = map_features(model_with(np.ones((3, 2)), 2), items, 1)
    assert not table[1].any() and table[2].all()


def test_new_items_have_typical_features_where_none_are_given():
    new = Catalogue([70, 71])
    assert encode_new(None, None, new, "Owner").shape == (2, 0)
    assert encode_new(FEATURES, None, new, "Owner").tolist() == [FEATURES.typical.tolist()] * 2
    table = pa.table({"item": [71], "genre": ["B|Z"], "year": [5]})
    center = FEATURES.typical[3]
    expected = [FEATURES.typical.tolist(), [0, 1, 0, 5, (5 - center) ** 2]]
    assert encode_new(FEATURES, table, new, "Owner").tolist() == expected


def test_features_are_refused_where_the_fit_had_none():
    message = "item_features of Owner must be None for a model that was fitted without item features; got 'ndarray'."
    with pytest.raises(InvalidParameter) as refusal:
        encode_new(None, np.zeros((2, 1)), Catalogue([70, 71]), "Owner")
    assert str(refusal.value) == message


# Attributes that disagree


def test_honest_attributes_pass():
    check_features(learned(), N_OWN)
    check_features(learned(None, (1, 1 + N_OWN)), N_OWN)
    check_features(learned(None, (0, 0)), N_OWN)  # no place for features: without offsets
    check_features({}, N_OWN)  # a model of an older version


def changed(name, change):
    return {name: change(describe_features(FEATURES, N_ITEMS)[name])}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (learned(shape=(0, 0)), r"feature_map_ has the shape \(0, 0\) instead of \(6, 4\)"),
        (learned(shape=(6, 5)), r"feature_map_ has the shape \(6, 5\) instead of \(6, 4\)"),
        (learned(shape=(4, 6)), "feature_map_ has the shape"),
        (learned(shape=(1, 4)), "feature_map_ has the shape"),
        (learned(shape=(7, 4)), "feature_map_ has the shape"),
        (learned(None, (2, 4)), r"feature_map_ has the shape \(2, 4\) instead of \(1, 4\)"),
        (learned(None, (0, 4)), "feature_map_ has the shape"),
        (learned(**changed("feature_columns_", lambda a: a[:0])), "have different sizes"),
        (learned(None, (1, 4), feature_values_=np.zeros((N_ITEMS, 1))), "have different sizes"),
        (learned(None, (1, 4), feature_typical_=np.zeros(1)), "have different sizes"),
        (learned(**changed("feature_columns_", lambda a: a[:4])), "the values of its item features have the shape"),
        (learned(**changed("feature_values_", lambda a: a[:, 1:])), "the values of its item features have the shape"),
        (learned(**changed("feature_typical_", lambda a: a[1:])), "the typical values of its item features have the"),
        (learned(**changed("feature_columns_", lambda a: a[::-1])), "in an order that no fit gives"),
        (learned(**changed("feature_typical_", lambda a: a + 100)), "outside of their values"),
        (describe_features(FEATURES, N_ITEMS), "it has item features and no map of them"),
        (describe_features(None, N_ITEMS), "it has item features and no map of them"),
        ({"feature_typical_": np.zeros(0)}, "it has item features and no map of them"),
    ],
)
def test_attributes_that_no_fit_gives_are_refused(attributes, message):
    with pytest.raises(ValueError, match=message):
        check_features(attributes, N_OWN)


@pytest.mark.parametrize("missing", ATTRIBUTES)
def test_a_map_without_its_features_is_refused(missing):
    attributes = {name: value for name, value in learned().items() if name != missing}
    with pytest.raises((ValueError, KeyError)):  # a file is refused whatever a check raises
        check_features(attributes, N_OWN)
