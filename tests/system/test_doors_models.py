"""The door of model files, by name: what strangers tried, each with all checksums right, and is refused by now.

test_doors_mutations tries what nobody thought of.
"""

import json
import os
import time
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

import hushrank
from forgery_support import (
    forge,
    from_member,
    honest_files,
    in_array,
    in_header,
    peak_of_loading,
    put_together,
    take_apart,
    to_member,
    together,
    with_head,
)
from hushrank.exceptions import ModelFileError


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Files of honest models, as bytes by name."""
    return honest_files(tmp_path_factory.mktemp("honest"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hush"


def refuse(path, data, change, message=""):
    """The file is honest before the change, and refused in one line that names it afterwards."""
    path.write_bytes(data)
    cls = type(hushrank.load(path))
    forge(path, change)
    for read in (hushrank.load, cls.load):
        with pytest.raises(ModelFileError, match=message) as refusal:
            read(path)
        assert str(path) in str(refusal.value) and "\n" not in str(refusal.value)


# Attacks: arrays


def test_ids_for_items_that_are_not_there(path, honest):
    """Compiled code looked a rating of item 2,999,999 up in arrays of 12: it read far out of bounds, or crashed."""
    more = in_array("items_", np.arange(3_000_000))
    for items in (None, 12, 3_000_000):
        change = together(more, in_header("parameters", "items", value=items))
        refuse(path, honest["completion"], change, r"items_ has the shape \(3000000,\) instead of \(12,\)")


def test_sizes_that_agree_with_the_ids_only(path, honest):
    change = together(
        in_array("items_", np.arange(100_000)),
        in_header("parameters", "items", value=100_000),
        in_header("attributes", "n_features_in_", value=100_000),
    )
    refuse(path, honest["completion"], change, "has the shape .* instead of")


NAMES = (
    "pca", "pca_gaussian", "covariance", "covariance_complex", "low_rank", "low_rank_drawn", "completion",
    "completion_features", "completion_features_text",
)  # fmt: skip


def filled(data):
    """Members of a file that are arrays of numbers with something in them."""
    return [name for name, member in take_apart(data)[1].items() if from_member(member).size]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none(path, honest, name, value):
    for member in filled(honest[name]):
        if member != "items_.npy":
            refuse(path, honest[name], _spoil(member, value), "not (all )?finite")


def _spoil(member, value):
    def change(header, members):
        array = from_member(members[member])
        array.flat[-1] = value
        members[member] = to_member(array)

    return change


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", ["longer", "shorter", "flat", "column", "empty"])
def test_wrong_shapes(path, honest, name, way):
    ways = {
        "longer": lambda a: np.concatenate([a, a[:1]]),
        "shorter": lambda a: a[:-1],
        "flat": lambda a: a.ravel() if a.ndim > 1 else a[:, None],
        "column": lambda a: a[..., None],
        "empty": lambda a: a[:0],
    }
    members = take_apart(honest[name])[1]
    for member in filled(honest[name]):
        value = ways[way](from_member(members[member]))
        if member == "strength_.npy" and way == "empty" and "completion" in name:
            continue  # a recommender whose method tells nothing about it has none
        message = "ha(s|ve) the shape|strength_ is not that of all factors"
        refuse(path, honest[name], in_array(member.removesuffix(".npy"), value), message)


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i8", "<c16", "<U8", "|b1", "|O"])
def test_wrong_types(path, honest, dtype):
    for name in ("pca", "completion_features"):
        for member, data in take_apart(honest[name])[1].items():
            if member != "items_.npy":
                value = from_member(data).astype(dtype)
                message = r"damaged: an array|(is|are) no array of float64"
                refuse(path, honest[name], in_array(member.removesuffix(".npy"), value), message)


@pytest.mark.parametrize("shape", ["(30000000,)", "(100000, 100000)", f"({2**62}, 4)", "(-1,)", "(" * 5000])
def test_shapes_that_the_bytes_do_not_have(path, honest, shape):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    refuse(path, honest["pca"], in_array("center_", with_head(text, bytes(32))), "is damaged: an array")


def test_limits_of_numbers(path, honest):
    data = honest["completion"]
    for name, value in (
        ("ridge_", -1.0),
        ("ridge_", True),
        ("n_factors_", -1),
        ("n_factors_", 3.0),
        ("n_factors_", 2**70),
    ):
        refuse(path, data, in_header("attributes", name, value=value), f"{name} (has|is)")
    refuse(path, data, in_header("attributes", "n_factors_", value=3), "n_factors_ is not the number of factors")
    refuse(path, data, in_array("item_counts_", np.zeros(12)), "item_counts_ has numbers that are not above 0")
    refuse(path, data, in_array("item_features_", np.zeros((12, 65))), "item_features_ has the shape")
    refuse(path, data, in_array("item_features_", np.zeros((12, 17))), r"feature_map_ has the shape .* of \(1, 21\)")
    for value in (0, -1, 1.0, None, "4", True):
        refuse(path, honest["pca"], in_header("attributes", "n_", value=value), "n_ (has|is)|has the shape")
        refuse(path, honest["pca"], in_header("attributes", "n_features_in_", value=value), "n_features_in_")
    refuse(
        path, honest["covariance"], in_array("eigenvalues_", np.array([1.0, -1e-9])), "eigenvalues_ has numbers below 0"
    )


def test_ids_that_are_not_those_of_the_catalogue(path, honest):
    text, plain = honest["completion_text"], honest["completion"]
    refuse(path, plain, in_array("items_", np.arange(12)[::-1].copy()), "items_ are not the ids of the catalogue")
    refuse(path, plain, in_array("items_", np.zeros(12, np.int64)), "items_ has 11 repeated ids")
    refuse(path, text, in_header("attributes", "items_", value=["film"] * 12), "items_ has 11 repeated ids")
    refuse(path, text, in_header("attributes", "items_", value=[1, *"abcdefghijk"]), "items_ is no vector of strings")
    refuse(path, text, in_header("attributes", "items_", value=["a", " a", *"cdefghijkl"]), "items of Priv")
    refuse(path, text, in_header("parameters", "items", value=list("abcdefghijkl")), "items_ are not the ids")
    refuse(
        path, plain, in_header("parameters", "items", value=2**31 - 1), "items is 2147483647 and there are 12 of them"
    )


@pytest.mark.parametrize("names", [list("abc"), list("abca"), ["a", "b", "c", 1], "abcd", [], None, [["a"]] * 4])
def test_names_of_columns_that_are_none(path, honest, names):
    refuse(path, honest["pca"], in_header("attributes", "feature_names_in_", value=names), "feature_names_in_ (has|is)")


# Attacks: public facts about items

COLUMN_TEXTS = [
    '["genre","word","Comedy"]', '["genre","word","Drama"]', '["genre","word","Horror"]', '["year","number",""]',
    '["year","square",""]',
]  # fmt: skip
ORDER, PARTS = "in an order that no fit gives", "does not have three parts"
WRITTEN = "is one that no fit writes"


def replaced(place, text):
    return [*COLUMN_TEXTS[:place], text, *COLUMN_TEXTS[place + 1 :]]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (COLUMN_TEXTS[::-1], ORDER),
        ([COLUMN_TEXTS[1], COLUMN_TEXTS[0], *COLUMN_TEXTS[2:]], ORDER),
        ([*COLUMN_TEXTS[:3], COLUMN_TEXTS[4], COLUMN_TEXTS[3]], ORDER),
        ([*COLUMN_TEXTS[3:], *COLUMN_TEXTS[:3]], "words with values outside"),  # a table could; these values say not
        (replaced(3, '["year","word","1990"]'), ORDER),
        (replaced(4, '["years","square",""]'), ORDER),
        (replaced(4, '["genre","number",""]'), ORDER),
        (replaced(0, '["genre","word","Comedy|Farce"]'), WRITTEN),
        (replaced(0, '["genre", "word", "Comedy"]'), PARTS),
        (replaced(0, '["genre","word",""]'), WRITTEN),
        (replaced(0, '["item","word","Comedy"]'), WRITTEN),
        (replaced(0, '["genre","cube",""]'), WRITTEN),
        (replaced(0, "Comedy"), PARTS),
        (replaced(0, ""), PARTS),
        (replaced(0, "[" * 5000), PARTS),
        (replaced(0, "9" * 5000), PARTS),
        (replaced(0, '["genre","word",1]'), PARTS),
        (replaced(0, COLUMN_TEXTS[1]), "repeated ids|order that no fit gives"),
        (COLUMN_TEXTS[:4], "have the shape"),
        ([*COLUMN_TEXTS, '["z","number",""]'], "have the shape"),
        ([], "have different sizes"),
        (["x"] * 4097, "feature_columns_ has the shape"),
        ([1, 2, 3, 4, 5], PARTS),
        ([None] * 5, PARTS),
        ([COLUMN_TEXTS], "are no list of texts"),
        ("genre", "does not fit this version of PrivateCompletion"),
        (7, "feature_columns_ has the shape"),
        (None, "feature_columns_ has the shape"),
        ({"a": 1}, "does not fit this version of PrivateCompletion"),
    ],
    ids=lambda value: "",
)
def test_texts_about_facts_that_no_fit_writes(path, honest, texts, message):
    assert take_apart(honest["completion_features"])[0]["content"]["attributes"]["feature_columns_"] == COLUMN_TEXTS
    refuse(path, honest["completion_features"], in_header("attributes", "feature_columns_", value=texts), message)


def in_place(name, place, number):
    """A change of one number of an array."""

    def change(header, members):
        array = from_member(members[f"{name}.npy"])
        array[place] = number
        members[f"{name}.npy"] = to_member(array)

    return change


@pytest.mark.parametrize("name", ["completion_features", "completion_features_text"])
def test_numbers_about_facts_that_no_fit_writes(path, honest, name):
    data = honest[name]
    for number in (1.5, -0.5, 1e90):
        refuse(path, data, in_place("feature_values_", (0, 0), number), r"words with values outside of \[0, 1\]")
    for number in (1e101, -1e101, 1.7e308):
        refuse(path, data, in_place("feature_values_", (0, 3), number), "not all finite and of size <= 1e")
        refuse(path, data, in_place("feature_typical_", 3, number), "not all finite and of size <= 1e")
    refuse(path, data, in_place("feature_typical_", 3, 1e90), "typical values .* are outside of their values")
    refuse(path, data, in_place("feature_typical_", 0, -0.1), "typical values .* are outside of their values")


@pytest.mark.parametrize("shape", [(0, 0), (1, 9), (6, 1), (9, 6), (7, 9), (6, 10), (4098, 9), (6, 67)])
def test_a_map_of_other_facts(path, honest, shape):
    change = in_array("feature_map_", np.ones(shape))
    refuse(path, honest["completion_features"], change, "feature_map_ has the shape")
    if shape != (0, 0):  # which says that nothing is known about new items
        refuse(path, honest["completion"], change, "feature_map_ has the shape")


def test_facts_that_are_partly_there(path, honest):
    names = ("feature_columns_", "feature_values_", "feature_typical_", "feature_map_")
    for name in names:
        for model in ("completion", "completion_features"):
            refuse(path, honest[model], _drop(name), "does not fit this version of PrivateCompletion")
    # All of them gone, a file is one of an older version; and no other model has them.
    path.write_bytes(honest["completion_features"])
    forge(path, together(*map(_drop, names)))
    assert hushrank.load(path).item_features is None
    change = in_array("feature_map_", np.ones((1, 4)))
    refuse(path, honest["pca"], change, "does not have the attributes of a PrivatePCA")


def _drop(name):
    def change(header, members):
        header["content"]["attributes"].pop(name, None)
        members.pop(f"{name}.npy", None)

    return change


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([4, 99], "new_items of PrivateCompletion must be ids of the catalogue"),
        ([4, 4], "new_items of PrivateCompletion must be different ids"),
        (["4"], "new_items of PrivateCompletion must be int ids"),
        (list(range(12)), "new_items of PrivateCompletion must be fewer than all items"),
        ([4.0], "new_items of PrivateCompletion must be"),
        ([None], "new_items of PrivateCompletion must be"),
        ([[4]], "new_items of PrivateCompletion must be"),
        (4, "new_items of PrivateCompletion must be"),
        ("4", "new_items of PrivateCompletion must be"),
        ({"4": 1}, "new_items of PrivateCompletion must be"),
    ],
    ids=lambda value: "",
)
def test_new_items_that_were_never_listed(path, honest, value, message):
    refuse(path, honest["completion_features"], in_header("parameters", "new_items", value=value), message)


def test_facts_are_no_parameter_of_a_file(path, honest):
    for model in ("completion", "completion_features"):
        for value in ([[1.0]], [], {}, "x", 1):
            change = in_header("parameters", "item_features", value=value)
            refuse(path, honest[model], change, "its item features are a parameter, where no file has them")

        def smuggle(header, members):
            members["parameters.item_features.npy"] = to_member(np.ones((12, 2)))

        refuse(path, honest[model], smuggle, "its item features are a parameter, where no file has them")


@pytest.mark.parametrize(("name", "value"), [("item_features", None), ("offsets", False)])
def test_facts_without_a_place_for_them(path, honest, name, value):
    """Null is what a file without the parameter means; without offsets there are no facts."""
    if name == "item_features":
        path.write_bytes(honest["completion_features"])
        forge(path, in_header("parameters", name, value=value))
        assert hushrank.load(path).feature_names_ == ["Comedy", "Drama", "Horror", "year", "year squared"]
    else:
        change = in_header("parameters", name, value=value)
        refuse(path, honest["completion_features"], change, "item_features of PrivateCompletion must be None without")


# Attacks: parameters


@pytest.mark.parametrize(("name", "value"), [("random_state", 7), ("verbose", 1), ("ledger", None), ("engine", None)])
def test_a_file_chooses_no_seed_and_no_place(path, honest, name, value):
    refuse(path, honest["pca"], in_header("parameters", name, value=value), f"it sets {name}, which no file may")


@pytest.mark.parametrize(
    ("model", "name", "value", "message"),
    [
        ("pca", "row_norm", -1.0, "row_norm of PrivatePCA must be"),
        ("pca", "row_norm", 10**400, "row_norm of PrivatePCA must be"),
        ("pca", "n_components", 5, "components_ has the shape"),
        ("pca", "n_components", True, "components_ has the shape"),
        ("pca", "mechanism", "gaussian", "delta of PrivatePCA must be > 0"),
        ("pca", "mechanism", "exponential", "does not have the attributes of a PrivatePCA"),
        ("pca", "field", "complex", "components_ is no array of complex128"),
        ("pca", "strategy", "joint", "strategy of PrivatePCA must be 'auto'"),
        ("pca", "center", [0.0], "center of PrivatePCA must be a vector of 4 numbers"),
        ("pca", "center", [[0.0] * 4], "center of PrivatePCA must be a vector"),
        ("pca", "neighbors", "add_remove", "another relation or unit"),
        ("pca", "epsilon", 0.5, "weaker than its parameters ask for"),
        ("pca", "epsilon", 100.0, "costs far less than its parameters ask for"),
        ("covariance", "rank", 3, "eigenvalues_ has the shape"),
        ("covariance", "n_max", 2**61, "n_max of PrivateCovariance must be"),
        ("low_rank", "eigenvalues", [1.0, -0.5], "eigenvalues of PrivateLowRank must be"),
        ("low_rank", "eigenvalues", 3, "has no len"),
        ("completion", "rank", 4, "item_factors_ has the shape"),
        ("completion", "rating_range", [5, 1], "rating_range of PrivateCompletion must be"),
        ("completion", "delta", 0.0, "delta of PrivateCompletion must be > 0"),
        ("completion", "method", {"name": "als", "sweeps": 10**9}, "sweeps of AlternatingLeastSquares must be"),
        ("completion", "method", "psychic", "method of PrivateCompletion must be"),
        ("completion", "n_users", 5.5, "n_users of PrivateCompletion must be"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_parameters_that_were_never_fitted(path, honest, model, name, value, message):
    refuse(path, honest[model], in_header("parameters", name, value=value), message)


def test_what_a_newer_version_added(path, honest):
    newer = "'more' was made by a newer version of hushrank"
    for keys in (("more",), ("parameters", "more"), ("guarantee", "more"), ("guarantee", "event", "more")):
        refuse(path, honest["low_rank"], in_header(*keys, value=1), newer)
    refuse(path, honest["completion_text"], in_header("parameters", "method", "more", value=1), newer)
    refuse(path, honest["pca"], lambda header, _: header.update(version=4), "was made by a newer version of hushrank")


# Attacks: the guarantee


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ("pca", {"epsilon": 0.01}, "promises more than its event gives"),
        ("pca_gaussian", {"epsilon": 0.5}, "promises more than its event gives"),
        ("pca_gaussian", {"delta": 0.0}, "promises more than its event gives"),
        ("pca", {"unit": "user"}, "another relation or unit"),
        ("completion", {"unit": "row"}, "another relation or unit"),
        ("completion", {"neighbors": "add_remove"}, "another relation or unit"),
        ("pca", {"epsilon": 9.0}, "weaker than its parameters ask for"),
        ("pca", {"epsilon": "inf", "event": {"type": "NonPrivate"}}, "weaker than its parameters ask for"),
        ("pca", {"event": {"type": "NonPrivate"}}, "its event is not private"),
        ("pca", {"epsilon": 0.0, "event": {"type": "Composed", "events": []}}, "costs far less"),
        ("completion", {"event": {"type": "Gaussian", "noise_multiplier": 1e6}, "epsilon": 1e-3}, "costs far less"),
        ("pca_drawn", {"numerics": "exact"}, "covers arithmetic that its mechanism does not"),
        ("pca", {"numerics": "perfect"}, "numerics of Guarantee must be"),
        ("pca", {"reproducible": 0}, "reproducible of Guarantee must be"),
        ("pca", {"epsilon": None}, "epsilon of Guarantee must be"),
        ("pca", {"event": {"type": "Gift"}}, "description of from_dict must be of a type in"),
    ],
)
def test_guarantees_that_contradict_their_event(path, honest, model, changes, message):
    refuse(path, honest[model], lambda header, _: header["content"]["guarantee"].update(changes), message)


def _repeated(event, depth):
    for _ in range(depth):
        event = {"type": "Repeated", "event": event, "count": 2**53}
    return event


@pytest.mark.parametrize(
    "event",
    [
        _repeated({"type": "Pure", "epsilon": 1e-300}, 40),
        _repeated({"type": "Gaussian", "noise_multiplier": 1e9}, 1),
        _repeated({"type": "Mixture", "epsilons": [0.0, 1.0], "deltas": [0.1, 0.0]}, 1),
        {"type": "Composed", "events": [{"type": "Pure", "epsilon": 1e-3 + i * 1e-9} for i in range(2000)]},
        {"type": "Composed", "events": [{"type": "Gaussian", "noise_multiplier": 9.0 + i} for i in range(2000)]},
        {"type": "Mixture", "epsilons": list(range(9000)), "deltas": [0.5] * 9000},
    ],
    ids=["a deep product", "many", "a table many times", "many pure", "many Gaussian", "a long table"],
)
def test_events_that_would_take_long_to_account_for(path, honest, event):
    for model in ("pca", "pca_gaussian"):
        path.write_bytes(honest[model])
        forge(path, in_header("guarantee", "event", value=event))
        start = time.process_time()
        with pytest.raises(ModelFileError):
            hushrank.load(path)
        assert time.process_time() - start < 2.0


# Attacks: the file


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_small_file_does_not_take_much_memory(path, honest, compression):
    """300 kB of deflated zeros took 950 MB."""
    header, members = take_apart(honest["completion"])
    members["item_factors_.npy"] = to_member(np.zeros(4_000_000))
    path.write_bytes(put_together(header, members, compression))
    tracemalloc.start()
    try:
        peak, model = peak_of_loading(path)
    finally:
        tracemalloc.stop()
    assert model is None and peak < 2**20 + 3 * path.stat().st_size


@pytest.mark.parametrize("text", ["[" * 10**5, "[" * 10**5 + "]" * 10**5, '{"a":' * 10**5, "9" * 5000, "1e999", "NaN"])
@pytest.mark.parametrize("keys", [("guarantee", "event"), ("parameters", "row_norm"), ("attributes", "n_")])
def test_json_that_breaks_parsers(path, honest, keys, text):
    header, members = take_apart(honest["pca"])
    in_header(*keys, value="HERE")(header, members)
    forged = json.loads(json.dumps(header))
    path.write_bytes(put_together(forged, members))
    whole, parts = take_apart(path.read_bytes())
    path.write_bytes(put_together(json.dumps(whole, sort_keys=True).replace('"HERE"', text).encode(), parts))
    with pytest.raises(ModelFileError, match=r"model.hush (is|does)"):
        hushrank.load(path)


def test_objects_are_never_unpickled(path, honest, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "boom"),)

    refuse(path, honest["pca"], in_array("center_", np.array([Bomb()] * 4, object)), "is damaged: an array")
    assert not (tmp_path / "boom").exists()


def test_members_that_nobody_asked_for(path, honest):
    for name in ("extra_.npy", "fit.npy", "__class__.npy", "parameters.verbose.npy", "privacy_.npy"):

        def change(header, members, name=name):
            members[name] = to_member(np.zeros(4))

        refuse(
            path, honest["pca"], change, r"does not have the attributes|which no file may|newer version|two guarantees"
        )
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("center_.npy", to_member(np.zeros(4)))
    with pytest.raises(ModelFileError):
        hushrank.load(path)


def test_paths_of_all_kinds_and_one_line_for_what_is_no_file(path, honest, tmp_path):
    path.write_bytes(honest["pca"])
    for read in (hushrank.load, hushrank.PrivatePCA.load):
        assert np.array_equal(read(str(path)).components_, read(path).components_)
        for wrong in (tmp_path, tmp_path / "missing", tmp_path / "a\0b", os.devnull):
            with pytest.raises(ModelFileError) as refusal:
                read(wrong)
            assert str(wrong) in str(refusal.value) and "\n" not in str(refusal.value)
        with pytest.raises(ModelFileError, match=r"holds a 'PrivatePCA', not a PrivateCovariance\.$"):
            hushrank.PrivateCovariance.load(path)
