"""What a model file says and what it may say: one check for saving and loading, and room for later versions."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hushrank import __version__
from hushrank.archive.attributes import COLUMNS, Attribute
from hushrank.archive.columns import from_arrays, to_arrays
from hushrank.archive.models import NEVER_SAVED, describe_model, restore_model
from hushrank.base import Param
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.exceptions import ModelFileError

X = np.random.default_rng(0).standard_normal((30, 4))


def pca(cls=PrivatePCA, **parameters):
    return cls(2, **{"row_norm": 1.0, "epsilon": 1.0, **parameters})


def there_and_back(model):
    """The model as a file would give it back, its content and its columns."""
    content, written = describe_model(model)
    columns = from_arrays({name: array for key, value in written.items() for name, array in to_arrays(key, value)})
    return restore_model(type(model), "file", content, columns), content, columns


def test_a_file_says_what_was_learned_and_how():
    loaded, content, columns = there_and_back(pca(random_state=1, radius="public").fit(X))
    assert set(content) == {"class", "hushrank", "parameters", "attributes", "guarantee"}
    assert (content["class"], content["hushrank"]) == ("PrivatePCA", __version__)
    assert not set(NEVER_SAVED) & set(content["parameters"])
    assert content["attributes"] == {"n_": 30, "n_features_in_": 4, "n_significant_": loaded.n_significant_}
    variances = {"explained_variance_", "explained_variance_ratio_", "explained_variance_interval_", "alignment_"}
    assert set(columns) == {"components_", "center_", *variances}
    assert loaded.privacy_.reproducible and loaded.random_state is None
    loaded, content, columns = there_and_back(pca(random_state=1).fit(X))
    assert set(content["attributes"]) == {"n_", "n_features_in_", "n_significant_", "radius_"}
    assert content["attributes"]["radius_"] == loaded.radius_ and content["parameters"]["radius"] == "private"
    assert set(columns) == {"components_", "center_", *variances}


# Long lists are columns, so the header stays small


def test_short_lists_stay_in_the_header():
    items = [f"film {j}" for j in range(4)]
    model = PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(0, 1), items=items).fit(np.eye(4))
    loaded, content, _ = there_and_back(model)
    assert content["attributes"]["items_"] == items == loaded.items and "items" not in content["parameters"]
    assert content["parameters"]["rating_range"] == [0.0, 1.0]


LONG = {
    "text": [f"a rather long name of film {j} é" for j in range(300)],
    "int64": [5 * j - 7 for j in range(5000)],
    "uint64": [2**63 - 2500 + j for j in range(5000)],  # NumPy alone would make floats of them
}


@pytest.mark.parametrize("kind", LONG)
def test_long_catalogues_are_columns(kind):
    items = LONG[kind]
    terms = {"rating_range": (0, 1), "method": "als", "offsets": False}
    model = PrivateCompletion(1, epsilon=1.0, delta=1e-6, items=items, **terms).fit(np.eye(3, len(items)))
    loaded, content, columns = there_and_back(model)
    assert "items" not in content["parameters"] and "items_" not in content["attributes"]
    assert "items_" in columns and "parameters.items" not in columns  # the ids are there once
    assert loaded.items_.tolist() == items == list(loaded.items) and loaded.items_.dtype == model.items_.dtype
    assert np.array_equal(loaded.predict({items[3]: 1.0}), model.predict({items[3]: 1.0}))


def test_long_vectors_and_names_are_columns():
    d = 600
    table = pd.DataFrame(np.eye(3, d), columns=[f"column {j}" for j in range(d)])
    levels = np.linspace(2.0, 1.0, d)
    model = PrivateLowRank(eigenvalues=levels, row_norm=1.0, epsilon=1.0, center=levels / 1000).fit(table)
    loaded, content, columns = there_and_back(model)
    assert {"parameters.center", "parameters.eigenvalues", "feature_names_in_"} <= set(columns)
    assert len(repr(content)) < 4096
    assert np.array_equal(loaded.eigenvalues, levels) and np.array_equal(loaded.center, levels / 1000)
    assert loaded.feature_names_in_.tolist() == list(table.columns) and loaded.feature_names_in_.dtype == object


# Parameters that a file holds as learned attributes alone

FACTS = pa.table({"item": range(4), "kind": ["a", "b", "a", None], "size": [1, 5, 2, 9]})
NAMES = {"feature_columns_", "feature_values_", "feature_typical_", "feature_map_"}


def recommender(**terms):
    return PrivateCompletion(1, **{"epsilon": 1.0, "delta": 1e-6, "rating_range": (0, 1), "items": 4, **terms})


def test_told_parameters_are_made_of_learned_attributes():
    model = recommender(item_features=FACTS, new_items=[2]).fit(np.eye(4))
    loaded, content, columns = there_and_back(model)
    assert "item_features" not in content["parameters"] and content["parameters"]["new_items"] == [2]
    assert content["attributes"]["feature_columns_"] == [
        '["kind","word","a"]', '["kind","word","b"]', '["size","number",""]', '["size","square",""]',
    ]  # fmt: skip
    assert set(columns) >= NAMES - {"feature_columns_"}
    assert loaded.item_features.names == ["a", "b", "size", "size squared"] and loaded.new_items == [2]
    assert np.array_equal(loaded.item_features.values, model.feature_values_)
    again, same, same_columns = there_and_back(loaded)
    assert same == content and same_columns.keys() == columns.keys()
    assert np.array_equal(again.feature_map_, model.feature_map_)
    plain, content, _ = there_and_back(recommender().fit(np.eye(4)))
    assert plain.item_features is None and plain.new_items is None
    assert not {"item_features", "new_items"} & set(content["parameters"])


def test_many_columns_of_facts_are_a_column_of_the_file():
    words = [f"a rather long word {k:03d}" for k in range(200)]
    table = pa.table({"item": [0, 1], "tags": [words, words]})
    loaded, content, columns = there_and_back(recommender(item_features=table).fit(np.eye(4)))
    assert "feature_columns_" in columns and "feature_columns_" not in content["attributes"]
    assert len(repr(content)) < 4096
    assert loaded.feature_names_ == words and loaded.feature_columns_.dtype == object


def without(content, columns, names):
    attributes = {name: value for name, value in content["attributes"].items() if name not in names}
    return {**content, "attributes": attributes}, {name: value for name, value in columns.items() if name not in names}


def test_a_file_of_before_there_were_facts_has_none():
    content, columns = describe_model(recommender(item_features=FACTS).fit(np.eye(4)))
    assert {name for name in (*content["attributes"], *columns) if name.startswith("feature_")} == NAMES
    old = restore_model(PrivateCompletion, "file", *without(content, columns, NAMES))
    assert old.item_features is None and not NAMES & set(vars(old))
    for name in NAMES:  # some of them without the others are no file of any version
        with pytest.raises(ModelFileError):
            restore_model(PrivateCompletion, "file", *without(content, columns, {name}))


@pytest.mark.parametrize("value", [[[1.0]], [], {}, "facts.csv", 0, True, {"columns": []}], ids=repr)
def test_a_told_parameter_is_in_no_file(value):
    content, columns = describe_model(recommender(item_features=FACTS).fit(np.eye(4)))
    changed = {**content, "parameters": {**content["parameters"], "item_features": value}}
    with pytest.raises(ModelFileError, match="its item features are a parameter, where no file has them"):
        restore_model(PrivateCompletion, "file", changed, columns)


def test_facts_that_were_changed_after_the_fit_are_not_saved():
    model = recommender(item_features=FACTS).fit(np.eye(4))
    model.feature_values_ = model.feature_values_ + 1e200
    with pytest.raises(ModelFileError, match="this PrivateCompletion cannot be saved: the values of its item features"):
        describe_model(model)
    model = recommender(item_features=FACTS).fit(np.eye(4)).set_params(new_items=[9])
    with pytest.raises(ModelFileError, match="this PrivateCompletion cannot be saved: new_items of PrivateCompletion"):
        describe_model(model)
    # The parameter is what a next fit will be given; the file has what this one was given.
    model = recommender(item_features=FACTS).fit(np.eye(4)).set_params(item_features=np.eye(4))
    assert there_and_back(model)[0].feature_names_ == ["a", "b", "size", "size squared"]


# Versions


class Later(PrivatePCA):
    """The same estimator after a parameter was added."""

    _params: ClassVar = {**PrivatePCA._params, "color": Param(words=("red", "blue"), later=True, default="red")}

    def __init__(self, n_components, *, row_norm=None, epsilon, delta=0.0, radius="private", center=None,
                 center_norm=None, mechanism="auto", field="real", strategy="auto", column_bounds=None,
                 standardize=None, select_columns=None, neighbors="replace", n_samples=None, n_max=2**26, ledger=None,
                 random_state=None, engine=None, verbose=0, color="red"):  # fmt: skip
        super().__init__(
            n_components, row_norm=row_norm, epsilon=epsilon, delta=delta, radius=radius, center=center,
            center_norm=center_norm, mechanism=mechanism, field=field, strategy=strategy, column_bounds=column_bounds,
            standardize=standardize, select_columns=select_columns, neighbors=neighbors, n_samples=n_samples,
            n_max=n_max, ledger=ledger, random_state=random_state, engine=engine, verbose=verbose,
        )  # fmt: skip
        self.color = color


def described(model, cls):
    content, columns = describe_model(model)
    return {**content, "class": cls.__name__}, columns


def test_an_added_parameter_has_its_default_in_old_files():
    assert restore_model(Later, "file", *described(pca().fit(X), Later)).color == "red"


def test_an_added_parameter_is_written_only_where_it_says_something():
    old = restore_model(PrivatePCA, "file", *described(pca(Later).fit(X), PrivatePCA))
    assert old.epsilon == 1.0
    content, columns = described(pca(Later, color="blue").fit(X), PrivatePCA)
    with pytest.raises(ModelFileError, match=r"its parameter 'color' was made by a newer version of hushrank\.$"):
        restore_model(PrivatePCA, "file", content, columns)
    assert restore_model(Later, "file", {**content, "class": "Later"}, columns).color == "blue"


def test_a_missing_parameter_has_its_default_or_is_refused():
    content, columns = describe_model(pca().fit(X))
    del content["parameters"]["n_max"]
    assert restore_model(PrivatePCA, "file", content, columns).n_max == 2**26
    without = {name: value for name, value in content["parameters"].items() if name != "epsilon"}
    with pytest.raises(ModelFileError, match="its parameter 'epsilon' is missing"):
        restore_model(PrivatePCA, "file", {**content, "parameters": without}, columns)
    del content["parameters"]["row_norm"]
    with pytest.raises(ModelFileError, match="row_norm of PrivatePCA must be a finite float > 0 unless column_bounds"):
        restore_model(PrivatePCA, "file", content, columns)


# Parameters and attributes that were added where the old behavior is not the default: Param.absent, Attribute.later

SURE = {"alignment_", "explained_variance_interval_", "n_significant_"}


def without_additions(content, columns):
    """The file of the same model by a version that knew a public radius only."""
    parameters = {name: value for name, value in content["parameters"].items() if name != "radius"}
    attributes = {name: value for name, value in content["attributes"].items() if name not in SURE}
    kept = {name: value for name, value in columns.items() if name not in SURE}
    return {**content, "parameters": parameters, "attributes": attributes}, kept


def test_a_file_without_the_radius_has_a_public_one_and_no_attributes_of_later():
    model = pca(radius="public", random_state=1).fit(X)
    old = restore_model(PrivatePCA, "file", *without_additions(*describe_model(model)))
    assert old.radius == "public" and not SURE & set(vars(old)) and not hasattr(old, "radius_")
    assert np.array_equal(old.components_, model.components_) and old.privacy_ == model.privacy_
    assert np.array_equal(old.transform(X), model.transform(X))
    # It is saved as what it is, with the radius that it has, and loaded again.
    again, content, columns = there_and_back(old)
    assert content["parameters"]["radius"] == "public" and not SURE & (set(content["attributes"]) | set(columns))
    assert again.get_params() == old.get_params() and set(vars(again)) == set(vars(old))
    # What it would do again is what it did.
    assert again.plan((30, 4)) == model.plan((30, 4)) and again.plan((30, 4)).event == model.privacy_.event
    again.random_state = 1
    assert np.array_equal(again.fit(X).components_, model.components_) and set(vars(again)) >= SURE


def test_an_old_file_is_no_file_of_a_private_radius():
    """The parameter that is absent is never read as the default of today, in which no such file was written."""
    content, columns = without_additions(*describe_model(pca().fit(X)))
    with pytest.raises(ModelFileError, match="it does not have the attributes of a PrivatePCA"):  # radius_ is too much
        restore_model(PrivatePCA, "file", content, columns)


@pytest.mark.parametrize(
    ("radius", "change", "message"),
    [
        ("private", {"radius_": None}, "it does not have the attributes of a PrivatePCA"),
        ("private", {"radius_": 0.0}, "radius_"),
        ("private", {"radius_": -1.0}, "radius_"),
        ("private", {"radius_": "1"}, "radius_"),
        ("public", {"radius_": 1.0}, "it does not have the attributes of a PrivatePCA"),
        ("public", {"n_significant_": -1}, "n_significant_"),
        ("public", {"n_significant_": 0.5}, "n_significant_"),
        ("public", {"scale_": 1.0}, "it does not have the attributes of a PrivatePCA"),
    ],
)
def test_attributes_that_do_not_fit_the_radius_are_refused(radius, change, message):
    content, columns = describe_model(pca(radius=radius).fit(X))
    attributes = {name: value for name, value in {**content["attributes"], **change}.items() if value is not None}
    with pytest.raises(ModelFileError, match=message):
        restore_model(PrivatePCA, "file", {**content, "attributes": attributes}, columns)


@pytest.mark.parametrize("radius", ["private", "public"])
def test_a_file_of_one_radius_is_not_read_as_one_of_the_other(radius):
    content, columns = describe_model(pca(radius=radius).fit(X))
    other = {"private": "public", "public": "private"}[radius]
    for value in (other, "secret", None, 1):
        with pytest.raises(ModelFileError):
            changed = {**content["parameters"], "radius": value}
            restore_model(PrivatePCA, "file", {**content, "parameters": changed}, columns)


@pytest.mark.parametrize("radius", ["private", "public"])
@pytest.mark.parametrize("missing", sorted(SURE))
def test_each_attribute_of_later_may_be_missing_and_no_other(missing, radius):
    content, columns = describe_model(pca(radius=radius).fit(X))

    def restored(name):
        attributes = {key: value for key, value in content["attributes"].items() if key != name}
        kept = {key: value for key, value in columns.items() if key != name}
        return restore_model(PrivatePCA, "file", {**content, "attributes": attributes}, kept)

    assert not hasattr(restored(missing), missing)
    for name in {*content["attributes"], *columns} - SURE:
        with pytest.raises(ModelFileError):
            restored(name)


def test_models_with_scales_and_chosen_columns_come_back():
    wide = np.random.default_rng(0).standard_normal((200, 60)) * np.linspace(3, 0.01, 60)
    terms = {"row_norm": None, "column_bounds": [(-9.0, 9.0 + j) for j in range(60)], "epsilon": 10.0}
    model = pca(**terms, standardize="private", select_columns="private", center="private").fit(wide)
    loaded = there_and_back(model)[0]
    assert np.array_equal(loaded.scale_, model.scale_) and loaded.scale_.shape == (60,)
    assert np.array_equal(loaded.selected_columns_, model.selected_columns_) and len(model.selected_columns_) == 50
    assert np.array_equal(loaded.transform(wide), model.transform(wide)) and loaded.radius_ == model.radius_
    assert np.asarray(loaded.column_bounds).tolist() == np.asarray(terms["column_bounds"]).tolist()
    assert loaded.plan((200, 60)) == model.plan((200, 60))


# Refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class": "PrivateCovariance"}, r"^file holds a 'PrivateCovariance', not a PrivatePCA\.$"),
        ({"class": "\x1b[31m\n" * 99}, r"^file holds a '[^\n\x1b]{,59}, not a PrivatePCA\.$"),
        ({"hushrank": 1}, "it names no version of hushrank"),
        ({"parameters": [1]}, "its header has another structure"),
        ({"attributes": None}, "its header has another structure"),
        ({"attributes": {"n_": 30}}, "it does not have the attributes of a PrivatePCA"),
        ({"attributes": {"n_": 30, "n_features_in_": 4, "center_": 1.0}}, "it has two values of one name"),
        ({"attributes": {"n_": 30, "n_features_in_": 4, "privacy_": 1.0}}, "it has two guarantees"),
        ({"guarantee": {}}, "description of Guarantee must be"),
        ({"more": 1}, "its entry 'more' was made by a newer version of hushrank"),
    ],
)
def test_other_contents_are_refused(change, message):
    content, columns = describe_model(pca().fit(X))
    with pytest.raises(ModelFileError, match=message) as refusal:
        restore_model(PrivatePCA, "file", {**content, **change}, columns)
    assert str(refusal.value).startswith("file ") and "\n" not in str(refusal.value)


def test_a_missing_entry_is_refused():
    content, columns = describe_model(pca().fit(X))
    for name in content:
        with pytest.raises(ModelFileError, match=rf"'{name}' is missing|holds a None"):
            restore_model(PrivatePCA, "file", {key: value for key, value in content.items() if key != name}, columns)


@pytest.mark.parametrize(
    "parameters", [{"epsilon": 0.5}, {"row_norm": -1.0}, {"n_components": 3}, {"neighbors": "add_remove"}]
)
def test_a_model_that_would_not_be_loaded_is_not_saved(parameters):
    model = pca().fit(X).set_params(**parameters)
    with pytest.raises(
        ModelFileError, match=r"^this PrivatePCA cannot be saved: .*; were its parameters changed after its fit\?$"
    ):
        describe_model(model)


def test_a_class_that_only_names_its_attributes_cannot_be_saved():
    class Vague(PrivatePCA):
        _learns = tuple(pca()._learns)

    with pytest.raises(ModelFileError, match="Vague names its attributes without saying what they are"):
        describe_model(pca(Vague).fit(X))


def test_numbers_of_numpy_are_saved_as_numbers():
    class Counting(PrivatePCA):
        @property
        def _learns(self):
            return {**super()._learns, "weight_": Attribute(float), "sums_": Attribute(float, (COLUMNS,))}

        def _fit(self, rows, releases, noise, total):
            learned = super()._fit(rows, releases, noise, total)
            return {**learned, "n_": np.int32(30), "weight_": np.float64(0.5), "sums_": np.zeros(4)}

    loaded = there_and_back(pca(Counting).fit(X))[0]
    assert (type(loaded.n_), type(loaded.weight_), loaded.weight_) == (int, float, 0.5)
