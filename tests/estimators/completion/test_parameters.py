"""The method and the catalogue as parameters: what is accepted, what is refused, and what survives a file."""

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.options import METHODS, AlternatingLeastSquares, FactoredGradient, Spectral
from hushrank.estimators.completion.parameters import CatalogueParam, CompletionMethodParam, build_catalogue
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
