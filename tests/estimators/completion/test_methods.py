"""The methods by name: bounds of all of them in a whole fit, options in files, what is refused."""

import itertools
import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from completion_support import RELATIONS, Replay, adverse_people, largest_loss, make_people, make_releases
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.estimators.completion.als import AlternatingLeastSquares
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.factored_gradient import FactoredGradient
from hushrank.estimators.completion.methods import (
    METHODS,
    CatalogueParam,
    MethodParam,
    Spectral,
    learn_model,
    to_options,
)
from hushrank.exceptions import InvalidParameter

N_ITEMS = 12
PEOPLE = make_people(40, N_ITEMS, seed=2, n_ratings=6.0)
CHANGED = {
    "spectral": Spectral(top_items=5),
    "als": AlternatingLeastSquares(sweeps=1, max_ratings=4, bounding="tail"),
    "factored_gradient": FactoredGradient(steps=2, start="random", user_solve="ridge"),
}
MODES = {"ratings": (True, None), "matrix": (False, None), "implicit": (True, 1.0)}


def modes_of(method):
    return [mode for mode in MODES if mode != "implicit" or METHODS[method].supports_implicit]


CASES = [(method, mode) for method in METHODS for mode in modes_of(method)]


def learner(options, mode, rank=2):
    offsets, unobserved = MODES[mode]
    return lambda releases: learn_model(options, releases, rank, offsets=offsets, unobserved=unobserved)


# 1. Sensitivity


@pytest.mark.parametrize(("method", "mode"), CASES)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_whatever_the_method(monkeypatch, method, mode, neighbors):
    replay, people = Replay(monkeypatch), [adverse_people(N_ITEMS)["opposed"], *PEOPLE[1:]]
    terms = {"neighbors": neighbors, "epsilon": 5.0, "is_implicit": mode == "implicit"}
    assert largest_loss(replay, learner(to_options(method), mode), people, N_ITEMS, **terms) > 0.05
    kinds = {release.mechanism for release in replay.made}
    assert {"spectral": "hollow", "als": "symmetric_stack", "factored_gradient": "symmetric"}[method] in kinds


@pytest.mark.parametrize(("method", "mode"), CASES)
def test_other_options_and_any_released_values_are_as_safe(monkeypatch, method, mode):
    replay = Replay(monkeypatch, distortion=3.0, seed=1)
    run, is_implicit = learner(CHANGED[method], mode), mode == "implicit"
    assert largest_loss(replay, run, PEOPLE, N_ITEMS, is_implicit=is_implicit) > 0.02


@pytest.mark.parametrize(("method", "mode"), CASES)
def test_every_method_makes_a_model(method, mode):
    releases = make_releases(PEOPLE, N_ITEMS, epsilon=5.0, is_implicit=mode == "implicit")
    model = learner(to_options(method), mode)(releases)
    assert 0.0 <= releases.left < 1.0
    assert model.factors.shape[0] == model.base.shape[0] == model.counts.shape[0] == N_ITEMS
    assert all(np.isfinite(part).all() for part in (model.W, model.base, model.counts)) and model.ridge > 0
    assert model.features.shape[1] == (3 if mode == "ratings" else 0)
    assert model.unobserved == (1.0 if mode == "implicit" else 0.0)


# 4. Options


@pytest.mark.parametrize("method", METHODS)
def test_options_survive_a_file(method):
    param = MethodParam(words=tuple(METHODS))
    for value in (method, to_options(method), CHANGED[method]):
        param.check(value, "method", "PrivateCompletion")
        assert param.from_json(json.loads(json.dumps(param.to_json(value)))) == value
    assert to_options(CHANGED[method]) is CHANGED[method] and isinstance(to_options(method), METHODS[method])


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_model_remembers_its_options(method, tmp_path):
    terms = {"epsilon": 5.0, "delta": 1e-6, "rating_range": (-1, 1), "method": CHANGED[method]}
    model = PrivateCompletion(2, **terms).fit(np.eye(N_ITEMS))
    model.save(tmp_path / "model")
    assert PrivateCompletion.load(tmp_path / "model").method == CHANGED[method]


@pytest.mark.parametrize("value", [None, 3, [2, 5, 9], ["tea", "jam"], np.array([4, 1]), Catalogue([7, 8])])
def test_catalogues_survive_a_file(value):
    param = CatalogueParam()
    param.check(value, "items", "PrivateCompletion")
    back = param.from_json(json.loads(json.dumps(param.to_json(value))))
    if value is None:
        assert back is None
    else:
        assert (back if isinstance(back, Catalogue) else Catalogue(back)) == (
            value if isinstance(value, Catalogue) else Catalogue(value)
        )


# 5. Refusals


@pytest.mark.parametrize("value", [object(), "ALS", None, Spectral, 3, {"name": "als"}])
def test_other_methods_are_refused_with_a_list(value):
    message = r"^method of PrivateCompletion must be one of Spectral\(...\), AlternatingLeastSquares\(...\), Factored"
    with pytest.raises(InvalidParameter, match=message):
        PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(0, 1), method=value).fit(np.eye(3))


@pytest.mark.parametrize("value", [3, 1 << 16, 2.5, True, "all"])
def test_wrong_numbers_of_top_items_are_refused(value):
    with pytest.raises(InvalidParameter, match=r"^top_items of Spectral must be an int"):
        Spectral(top_items=value)


def test_wrong_catalogues_are_refused():
    for value in CatalogueParam().wrong_values():
        with pytest.raises(InvalidParameter, match=r"^items of Owner must be .*, or None for a matrix; got"):
            CatalogueParam().check(value, "items", "Owner")


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
        MethodParam(words=tuple(METHODS)).from_json(saved)


def test_missing_options_have_their_defaults():
    assert MethodParam(words=tuple(METHODS)).from_json({"name": "spectral"}) == Spectral()


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


def test_names_of_methods_are_their_options():
    assert list(METHODS) == ["spectral", "als", "factored_gradient"]
    assert len({kind.__name__ for kind in METHODS.values()}) == 3
    assert [METHODS[method].supports_implicit for method in METHODS] == [True, True, False]
    assert len(list(itertools.chain.from_iterable(map(modes_of, METHODS)))) == len(CASES) == 8
