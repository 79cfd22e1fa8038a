"""Model files changed at random, from fixed seeds: each is refused, or loads to a model that could be honest.

Could be honest: it is saved and loaded again as it is, answers queries, and has neither a seed nor a place. A number in
an array that was changed to another number makes another model; no loader can tell.
"""

import copy
import itertools
import os
import tracemalloc
import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

import hushrank
from forgery_support import RATINGS, from_member, honest_files, peak_of_loading, put_together, take_apart, to_member
from hushrank.base import NEVER_SAVED
from hushrank.data.ratings.item_features import ItemFeatures
from hushrank.estimators.completion.methods import Spectral
from hushrank.exceptions import ModelFileError
from mutation_support import KINDS, mutate

N_FILES, N_PARTS = 20_000, 10
QUICK_PARTS = 4  # by `make test`: as many as draw every option of every change; the others by `make audit`
N_ITEMS = 20_000


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return honest_files(tmp_path_factory.mktemp("honest"))


@pytest.fixture(scope="module")
def largest(tmp_path_factory):
    """An honest file of 2 MB, larger than all that are made of the others, and the memory that loading it takes."""
    path = tmp_path_factory.mktemp("largest") / "model"
    ids = [f"i{j:05d}" for j in range(N_ITEMS)]
    terms = {"rating_range": (0, 1), "method": Spectral(top_items=64), "random_state": 1}
    ratings = sp.random(60, N_ITEMS, density=0.002, format="csr", random_state=1)
    hushrank.PrivateCompletion(4, epsilon=5.0, delta=1e-6, items=ids, **terms).fit(ratings).save(path)
    tracemalloc.start()
    try:
        return path, peak_of_loading(path)[0]
    finally:
        tracemalloc.stop()


def learned(model):
    """Everything but the parameters, in a form that can be compared."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in model._learned().items()
    }


def parameters(model):
    values = model.get_params(deep=False).items()
    return {name: comparable(value) for name, value in values}


def comparable(value):
    if isinstance(value, ItemFeatures):
        return value.columns, value.values.tolist(), value.typical.tolist()
    return value.tolist() if isinstance(value, np.ndarray) else value


def describe(model):
    return type(model), learned(model), parameters(model)


def ask(model):
    """Everything that compiled code or BLAS does with a loaded model; numbers may be huge, answers may overflow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model, hushrank.PrivateCompletion):
            own = RATINGS[:3, : len(model.items_)] if len(model.items_) <= 12 else {model.items_[-1]: 1.0}
            if len(model.items_) < 12 or isinstance(own, dict):
                own = {model.items_[-1]: 1.0, model.items_[0]: 0.0}
            assert model.predict(own).shape[-1] == len(model.items_)
            top = model.recommend(own, 3, explain=True)
            assert len(top.reasons) == len(top.items) and len(model.feature_names_) == len(set(model.feature_names_))
            model.similar_items(model.items_[0], 2)
            if hasattr(model, "feature_map_") and model.feature_map_.size:
                new = "new" if model.items_.dtype == object else 10**6
                assert model.add_items(new).predict({new: 1.0}).shape == (len(model.items_) + 1,)
        elif isinstance(model, hushrank.PrivatePCA):
            rows = np.ones((2, model.n_features_in_))
            assert model.inverse_transform(model.transform(rows)).shape == rows.shape
        assert repr(model)


def load_within(path, limit):
    """The model, or None if it was refused; no more memory than `limit` was taken on the way."""
    tracemalloc.start()
    try:
        peak, model = peak_of_loading(path)
    finally:
        tracemalloc.stop()
    assert peak <= limit
    return model


def load_untraced(path):
    try:
        return hushrank.load(path)
    except ModelFileError:  # any other error ends the test
        return None


def check_could_be_honest(model, again):
    assert all(not getattr(model, hidden) for hidden in NEVER_SAVED)
    assert model.privacy_.epsilon <= model.epsilon * (1 + 1e-9)
    ask(model)
    model.save(again)
    copy = type(model).load(again)
    assert learned(copy) == learned(model) and parameters(copy) == parameters(model)


@pytest.mark.parametrize(
    "part", [*range(QUICK_PARTS), *(pytest.param(k, marks=pytest.mark.audit) for k in range(QUICK_PARTS, N_PARTS))]
)
def test_mutated_files_are_refused_or_could_be_honest(part, honest, largest, tmp_path):
    path, outcomes, names = tmp_path / "model", Counter(), list(honest)
    unchanged = {}
    for name in names:
        path.write_bytes(honest[name])
        unchanged[name] = describe(hushrank.load(path))
    for number in range(part, N_FILES, N_PARTS):
        name = names[number // N_PARTS % len(names)]
        data, kind = mutate(honest, name, np.random.default_rng([11, number]))
        assert len(data) < os.path.getsize(largest[0])
        path.write_bytes(data)
        # Tracing takes four times as long: every sixteenth file, and all that are not small.
        is_traced = number // N_PARTS % 16 == 0 or len(data) > 2**16
        model = load_within(path, 3 * largest[1]) if is_traced else load_untraced(path)
        outcomes[kind, model is None] += 1
        if model is not None and describe(model) != unchanged[name]:
            check_could_be_honest(model, tmp_path / "again")
    for kind in KINDS:  # neither all refused nor all harmless
        assert outcomes[kind, True] > 0.5 * outcomes[kind, False] > 0, outcomes


def bombs(files):
    """Files of up to 2 MB that are made to take as much memory as they can, by name."""
    header, members = take_apart(files["completion_text"])
    first = {**header, "version": 1}
    pairs = ["".join(pair) for pair in itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=2)]
    lists = {
        "short strings": pairs * 240,
        "floats": [1e9] * 70_000,
        "numbers": [999] * 190_000,
        "entries": {f"{i:05}": 1 for i in range(80_000)},
        "lists": [[]] * 4000,
        "text": "x" * 1_000_000,
    }
    for name, value in lists.items():
        content = {**header["content"], "attributes": {**header["content"]["attributes"], "items_": value}}
        yield f"header of {name}", put_together({**first, "content": content}, members)
    n = 40_000
    arrays = {name: from_member(data) for name, data in members.items()}
    arrays = {name: np.ones((n, *array.shape[1:])) if len(array) == 12 else array for name, array in arrays.items()}
    ids = b"".join(b"%05d" % i for i in range(n))
    keys = ("items_", "parameters.items")
    for name, text, step in (("ids", ids, 5), ("repeated ids", b"ab" * n, 2), ("empty ids", b"", 0)):
        column = {"text": np.frombuffer(text, np.uint8), "ends": step * np.arange(1, n + 1)}
        arrays |= {f"{key}.{part}.npy": value for key in keys for part, value in column.items()}
        content = copy.deepcopy(header["content"])
        del content["attributes"]["items_"]
        content["attributes"]["n_features_in_"] = n
        yield name, put_together({**header, "content": content}, {key: to_member(a) for key, a in arrays.items()})
    extra = {f"a{i}_.npy": to_member(np.zeros(0)) for i in range(1000)}
    yield "many arrays", put_together(header, {**members, **extra})
    yield (
        "a long center",
        put_together(header, {**members, "parameters.rating_range.npy": to_member(np.zeros(240_000))}),
    )


def test_files_that_are_made_to_take_memory_take_no_more_than_honest_ones(honest, largest, tmp_path):
    ratios = {}
    for name, data in bombs(honest):
        assert len(data) < 1.5 * os.path.getsize(largest[0])
        (tmp_path / "model").write_bytes(data)
        tracemalloc.start()
        ratios[name] = peak_of_loading(tmp_path / "model")[0] / largest[1]
        tracemalloc.stop()
    assert max(ratios.values()) <= 3, ratios
    assert max(ratios.values()) > 0.5  # or this tests nothing


LONG = 1_500_000
TEXTS_OF_FACTS = {
    "lists": ["[" + "[]," * (LONG // 3) + "[]]"],
    "lists between texts": ['["a",' + "[]," * (LONG // 3) + '"b"]'],
    "strings": ['["' + '","' * (LONG // 3) + '"]'],
    "numbers": ["[" + "1e9," * (LONG // 4) + "1]"],
    "a word": [f'["genre","word","{"x" * LONG}"]'],
    "depth": ["[" * LONG],
    "columns": [f'["{j}","number",""]' for j in range(60_000)],
}


@pytest.mark.parametrize("name", TEXTS_OF_FACTS)
def test_texts_about_facts_take_no_more_memory_than_honest_files(name, honest, largest, tmp_path):
    """They are JSON, and a file may hold long ones or many."""
    header, members = take_apart(honest["completion_features"])
    del header["content"]["attributes"]["feature_columns_"]
    texts = TEXTS_OF_FACTS[name]
    sizes = (("values", (12, 1)), ("typical", (1,)), ("map", (2, 11))) if len(texts) == 1 else ()
    members |= {f"feature_{part}_.npy": to_member(np.ones(shape)) for part, shape in sizes}
    members["feature_columns_.text.npy"] = to_member(np.frombuffer("".join(texts).encode(), np.uint8))
    members["feature_columns_.ends.npy"] = to_member(np.cumsum([len(text) for text in texts]))
    (tmp_path / "model").write_bytes(put_together(header, members))
    assert os.path.getsize(tmp_path / "model") < 1.5 * os.path.getsize(largest[0])
    tracemalloc.start()
    peak, model = peak_of_loading(tmp_path / "model")
    tracemalloc.stop()
    assert (model is not None) == (name == "a word")
    assert peak <= 3 * largest[1]
