"""What a page holds: the released model and public facts, each number where it belongs, and nothing else."""

import base64
import json

import numpy as np
import pytest

from feature_support import KINDS, N_ITEMS, kinds
from hushrank.estimators.completion.rounding import round_model
from hushrank.web.model_data import MOST_KNOWN, has_tastes, model_data, to_base64
from web_support import HUGE, MAKERS, TEXTS, recommender


def data_of(kind, titles=None, precision="float16"):
    return model_data(round_model(recommender(kind), precision), titles)


def numbers(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


@pytest.mark.parametrize("kind", MAKERS)
def test_it_is_json_of_the_released_model(kind):
    model, data = recommender(kind), json.loads(json.dumps(data_of(kind), allow_nan=False))
    n_items = len(model.items_)
    assert data["ids"] == [str(item) for item in model.items_.tolist()] and data["titles"] is None
    assert data["range"] == (None if model.feedback == "implicit" else list(model.rating_range))
    assert len(numbers(data["base"], "<f4")) == n_items and data["ridge"] == model.ridge_
    scales = np.array(data["columns"]["scales"])
    columns = numbers(data["columns"]["codes"], "<f2").astype(float).reshape(n_items, len(scales)) * scales
    W = np.hstack([model.item_features_, model.item_factors_])
    assert columns == pytest.approx(W[:, W.any(axis=0)], rel=1e-3, abs=1e-3 * scales.max(initial=0.0))
    assert sorted(data["order"]) == list(range(min(n_items, MOST_KNOWN)))
    assert (np.diff(model.item_counts_[data["order"]]) <= 0).all()
    assert data["newItems"] == ([3, 17] if "new" in kind else [])
    assert data["unobserved"] == (1.0 if model.feedback == "implicit" else 0.0)


def test_ids_are_texts_with_all_their_digits():
    assert data_of("huge ids")["ids"][1] == str(HUGE[1]) and data_of("texts as ids")["ids"] == TEXTS


def test_codes_have_the_precision_that_was_asked_for():
    half, whole = (data_of("ratings", precision=precision)["columns"] for precision in ("float16", "int8"))
    assert (half["precision"], whole["precision"]) == ("float16", "int8")
    assert len(base64.b64decode(half["codes"])) == 2 * len(base64.b64decode(whole["codes"]))


def test_columns_of_zeros_are_left_out_where_they_change_nothing():
    model = recommender("more factors than there are")
    assert 0 < model.n_factors_ < 20
    assert len(data_of("more factors than there are")["columns"]["scales"]) == 3 + model.n_factors_
    rounded = round_model(model)
    rounded.model.ridge_ = 0.0  # then they decide that nothing can be solved
    assert len(model_data(rounded, None)["columns"]["scales"]) == 3 + 20


def test_features_are_told_by_their_names():
    found = data_of("features")["features"]
    assert found["names"][:4] == list(KINDS) and found["names"][4:] == ["year", "year squared"]
    assert found["kinds"] == ["word"] * 4 + ["number", "square"]
    counts, words = numbers(found["counts"], "<u2"), numbers(found["words"], "<u2")
    assert counts.tolist() == [1] * N_ITEMS and words.tolist() == kinds().tolist()
    assert found["values"] is None and found["typical"][:4] == [0.25] * 4
    assert [one["column"] for one in found["numbers"]] == [4, 5]
    assert found["nSlopes"] > 0 and found["firstSlope"] == 3
    assert len(numbers(found["along"], "<f4")) == found["nSlopes"] * 6
    assert data_of("implicit with features")["features"]["firstSlope"] == 0


def test_what_has_no_names_is_not_told():
    assert data_of("an embedding")["features"] is None and data_of("ratings")["features"] is None


def test_titles_that_several_items_have_are_told_apart():
    titles = ["Same", "Other", "Same", *map(str, range(3, N_ITEMS))]
    assert data_of("ratings", titles)["titles"][:3] == ["Same (0)", "Other", "Same (2)"]
    titles[1] = "Same (2)"
    told = data_of("ratings", titles)["titles"]
    assert len(set(told)) == N_ITEMS and told[:3] == ["Same (0)", "Same (2) (1)", "Same (2) (2)"]


def test_items_of_noise_are_named():
    assert len(data_of("hardly any budget")["unsure"]) > N_ITEMS / 2
    assert data_of("ratings")["unsure"] == []


def test_tastes_come_from_factors_or_from_slopes_on_features():
    assert data_of("ratings")["hasTastes"] and data_of("implicit")["hasTastes"] and data_of("features")["hasTastes"]
    assert not data_of("hardly any budget")["hasTastes"]
    model = recommender("features")
    flat = type(model)(**model._parameters())
    flat._keep({**model._learned(), "strength_": np.zeros_like(model.strength_)})
    assert has_tastes(flat)  # by its slopes


def test_bytes_are_little_endian():
    assert to_base64(np.array([1, 256]), "<u4") == base64.b64encode(bytes([1, 0, 0, 0, 0, 1, 0, 0])).decode()
