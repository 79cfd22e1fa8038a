"""The method and public facts about items as parameters: what is accepted, refused, and what survives a file."""

import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.item_features import read_item_features
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.options import METHODS, AlternatingLeastSquares, FactoredGradient, Spectral
from hushrank.estimators.completion.parameters import (
    CatalogueParam,
    CompletionMethodParam,
    FeaturesParam,
    NewItemsParam,
    build_catalogue,
    find_new_items,
)
from hushrank.exceptions import InvalidParameter

METHOD = CompletionMethodParam(words=tuple(METHODS))


@pytest.mark.parametrize(
    "value", [*METHODS, Spectral(top_items=5), AlternatingLeastSquares(sweeps=1), FactoredGradient(start="random")]
)
def test_methods_survive_a_file(value):
    METHOD.check(value, "method", "PrivateCompletion")
    assert METHOD.from_json(json.loads(json.dumps(METHOD.to_json(value)))) == value


def test_missing_options_have_their_defaults():
    assert METHOD.from_json({"name": "spectral"}) == Spectral()


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"name": "psychic"}, "method is none of .*; others were made by a newer version of hushrank"),
        ({"name": ["als"]}, "method is none of"),
        ([1], "method is none of"),
        (None, "method is none of"),
        ({"name": "als", "color": 1}, "'color' was made by a newer version of hushrank"),
        ({"name": "als", "sweeps": -1}, "sweeps of AlternatingLeastSquares must be"),
    ],
)
def test_options_from_a_file_are_checked(saved, message):
    with pytest.raises(ValueError, match=message):
        METHOD.from_json(saved)


@pytest.mark.parametrize("value", [object(), "ALS", None, Spectral, 3, {"name": "als"}])
def test_other_methods_are_refused_with_a_list(value):
    message = r"^method of PrivateCompletion must be one of Spectral\(...\), AlternatingLeastSquares\(...\), Factored"
    with pytest.raises(InvalidParameter, match=message):
        PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(0, 1), method=value).fit(np.eye(3))


@pytest.mark.parametrize("value", [None, 3, [2, 5, 9], ["tea", "jam"], np.array([4, 1]), Catalogue([7, 8])])
def test_catalogues_survive_a_file(value):
    param = CatalogueParam()
    param.check(value, "items", "PrivateCompletion")
    back = param.from_json(json.loads(json.dumps(param.to_json(value))))
    if value is None:
        assert back is None
    else:
        assert Catalogue(back) == (value if isinstance(value, Catalogue) else Catalogue(value))


def test_wrong_catalogues_are_refused():
    for value in CatalogueParam().wrong_values():
        with pytest.raises(InvalidParameter, match=r"^items of Owner must be .*, or None for a matrix; got"):
            CatalogueParam().check(value, "items", "Owner")
            build_catalogue(value, "Owner")


def test_a_count_is_checked_without_making_so_many_ids():
    tracemalloc.start()
    CatalogueParam().check(2**31 - 1, "items", "Owner")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("value", [["a", "\ud800"], pa.array([b"a", b"\xff"]).view(pa.string())], ids=["half", "bytes"])
def test_ids_that_are_no_text_are_refused_before_a_fit(value):
    with pytest.raises(InvalidParameter, match=r"^items of PrivateCompletion must be .* or None for a matrix; got"):
        PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(0, 1), items=value).fit(np.eye(2))


def test_arrays_that_are_no_vectors_are_no_catalogue():
    for value in (np.array(3), np.zeros((2, 2), np.int64), pd.DataFrame({"item": [1, 2]})):
        with pytest.raises(InvalidParameter, match=r"^items of Owner must be int64 or str ids in a list"):
            CatalogueParam().check(value, "items", "Owner")


# Features of items.

FEATURES = FeaturesParam(later=True, default=None)
TABLE = pa.table({"item": [0, 1], "year": [1990, 2000]})


@pytest.mark.parametrize(
    "value",
    [None, np.zeros((2, 1)), np.eye(2, dtype=bool), scipy.sparse.eye_array(2), TABLE, TABLE.to_batches()[0],
     pd.DataFrame({"item": [0]}), pl.DataFrame({"x": [0]}), read_item_features(TABLE, Catalogue(2), "Owner")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_features_are_told_by_their_type_and_no_parameter_of_a_file(value):
    FEATURES.check(value, "item_features", "Owner")
    assert FEATURES.to_json(value) is None and FEATURES.from_json(None) is None


@pytest.mark.parametrize(
    "value",
    [*FeaturesParam().wrong_values(), pl.LazyFrame({"item": [0]}), pd.Series([1])],
    ids=lambda value: type(value).__name__,
)
def test_wrong_features_are_refused(value):
    with pytest.raises(InvalidParameter, match=r"^item_features of Owner must be a (2-D array or|table in memory)"):
        FEATURES.check(value, "item_features", "Owner")


@pytest.mark.parametrize("saved", [[[1.0]], {}, 0, "", np.zeros((2, 1))], ids=lambda value: type(value).__name__)
def test_a_file_with_features_as_a_parameter_is_refused(saved):
    with pytest.raises(ValueError, match="its item features are a parameter, where no file has them"):
        FEATURES.from_json(saved)


def test_no_features_and_no_new_items_need_nothing_that_learns():
    code = """import sys
from hushrank.estimators.completion.parameters import FeaturesParam, NewItemsParam
for line in (FeaturesParam(), NewItemsParam()):
    line.check(None, "any", "Owner"); line.to_json(None)
sys.exit(bool({"numba", "pyarrow", "narwhals"} & set(sys.modules)))"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# New items.

NEW = NewItemsParam(later=True, default=None)
SHOP = Catalogue(["tea", "jam", "007"])


@pytest.mark.parametrize(
    ("value", "catalogue", "saved", "expected"),
    [
        (None, SHOP, None, [False, False, False]),
        ([], SHOP, [], [False, False, False]),
        (["jam"], SHOP, ["jam"], [False, True, False]),
        (("7", "tea"), SHOP, ["7", "tea"], [True, False, True]),
        (pd.Series(["jam"], dtype="string"), SHOP, ["jam"], [False, True, False]),
        (pd.Series([], dtype="string"), SHOP, [], [False, False, False]),
        (pl.Series(["jam"]), SHOP, ["jam"], [False, True, False]),
        (pd.Index(["jam"]), SHOP, ["jam"], [False, True, False]),
        (pa.array(["jam"]), SHOP, ["jam"], [False, True, False]),
        (Catalogue(["jam"]), SHOP, ["jam"], [False, True, False]),
        (np.array([2, 0], np.int8), Catalogue(3), [2, 0], [True, False, True]),
        (range(1, 3), Catalogue(3), [1, 2], [False, True, True]),
        ([2**64 - 1], Catalogue([2**64 - 1, 1]), [2**64 - 1], [True, False]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_new_items_are_found_and_survive_a_file(value, catalogue, saved, expected):
    NEW.check(value, "new_items", "Owner")
    assert NEW.to_json(value) == saved
    back = NEW.from_json(json.loads(json.dumps(NEW.to_json(value))))
    for ids in (value, back):
        found = find_new_items(ids, catalogue, "Owner")
        assert found.dtype == bool and found.tolist() == expected


@pytest.mark.parametrize("value", NewItemsParam().wrong_values(), ids=lambda value: type(value).__name__)
def test_what_can_be_no_ids_is_refused(value):
    message = r"^new_items of Owner must be ids of the catalogue in a list, array or column, or None; got"
    with pytest.raises(InvalidParameter, match=message):
        NEW.check(value, "new_items", "Owner")
    with pytest.raises(InvalidParameter, match=message):
        find_new_items(value, SHOP, "Owner")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["tea", "oil", "rye"], r"ids of the catalogue; got \"2 others, such as 'oil'\"\.$"),
        (["tea", "tea"], r"different ids \(7, 07 and 7.0 are one\), or None; got '1 repeated'\.$"),
        (["7", "07"], r"different ids \(7, 07 and 7.0 are one\), or None; got '1 repeated'\.$"),
        (["tea", None], r"ids that are set and not empty, or None; got '1 others'\.$"),
        ([1], r"str ids as in the catalogue; got 'int64'\.$"),
        ([1, "a"], r"int64 or str ids, not both, or None; got 'list'\.$"),
        ([1.5], r"int64 or str ids, or None; got 'double'\.$"),
        ([["nested"]], r"int64 or str ids, or None; got 'list<"),
        ({"tea"}, r"int64 or str ids in a list, array or column, or None; got 'set'\.$"),
        (pa.array([b"\xff"]).view(pa.string()), r"ids that are Unicode text, or None; got 'StringArray'\.$"),
        (["jam", "7", "tea"], r"fewer than all items of the catalogue; got 'all 3'\.$"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_unsuitable_new_items_are_refused(value, message):
    with pytest.raises(InvalidParameter, match=f"^new_items of Owner must be {message}"):
        find_new_items(value, SHOP, "Owner")
