"""What a model file says and what it may say: one check for saving and loading, and room for later versions."""

from typing import ClassVar

import numpy as np
import pandas as pd
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
    loaded, content, columns = there_and_back(pca(random_state=1).fit(X))
    assert set(content) == {"class", "hushrank", "parameters", "attributes", "guarantee"}
    assert (content["class"], content["hushrank"]) == ("PrivatePCA", __version__)
    assert not set(NEVER_SAVED) & set(content["parameters"])
    assert content["attributes"] == {"n_": 30, "n_features_in_": 4}
    assert set(columns) == {"components_", "explained_variance_", "explained_variance_ratio_", "center_"}
    assert loaded.privacy_.reproducible and loaded.random_state is None


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


# Versions


class Later(PrivatePCA):
    """The same estimator after a parameter was added."""

    _params: ClassVar = {**PrivatePCA._params, "color": Param(words=("red", "blue"), later=True, default="red")}

    def __init__(self, n_components, *, row_norm, epsilon, delta=0.0, center=None, center_norm=None, mechanism="auto",
                 field="real", strategy="auto", neighbors="replace", n_max=2**26, ledger=None, random_state=None,
                 engine=None, verbose=0, color="red"):  # fmt: skip
        super().__init__(
            n_components, row_norm=row_norm, epsilon=epsilon, delta=delta, center=center, center_norm=center_norm,
            mechanism=mechanism, field=field, strategy=strategy, neighbors=neighbors, n_max=n_max, ledger=ledger,
            random_state=random_state, engine=engine, verbose=verbose,
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
    del content["parameters"]["row_norm"]
    with pytest.raises(ModelFileError, match="its parameter 'row_norm' is missing"):
        restore_model(PrivatePCA, "file", content, columns)


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
