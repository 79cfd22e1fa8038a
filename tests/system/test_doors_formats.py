"""Stored formats: files of every format so far open and hold what they held; docs/privacy/formats.md has the rule."""

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hushrank
from forgery_support import forge, take_apart
from hushrank.exceptions import InvalidParameter, LedgerError, ModelFileError
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated, from_dict, to_dict
from hushrank.privacy.guarantee import Guarantee
from hushrank.privacy.ledger.currency import Terms, canonical

GOLDEN = Path(__file__).parents[1] / "stored" / "golden"

# File -> format, class, digest of the learned arrays, learned numbers, parameters, guarantee.
CAP = Gaussian(0.9800490003829367)
BEFORE, AFTER = Gaussian(13.359607674401072), Gaussian(4.453202558133691)
MODELS = {
    "completion": (
        1, "PrivateCompletion", "1641e740d74d6b77", {"n_factors_": 1, "ridge_": 0.1558897738366125},
        {"rank": 3, "items": 12, "rating_range": [1.0, 5.0], "method": "spectral", "offsets": True, "epsilon": 5.0},
        Guarantee(4.999999999785676, 1e-6, "replace", "user", CAP, "exact", True),
    ),
    "completion_str": (
        1, "PrivateCompletion", "e8455a3e6a11d694", {"n_factors_": 3, "ridge_": 1.0},
        {"rank": 3, "items": [f"film {j}" for j in range(12)], "feedback": "implicit", "unobserved_weight": 1.0},
        Guarantee(4.999999999785676, 1e-6, "replace", "user", CAP, "exact", True),
    ),
    "covariance": (
        1, "PrivateCovariance", "32ba8d062a24156d", {"n_": 70},
        {"rank": None, "center": [0.1, 0.0, 0.0, 0.0], "row_norm": 1.0, "n_max": 2**26, "mechanism": "auto"},
        Guarantee(1.0, 0.0, "add_remove", "row", Composed([Pure(0.02), Pure(0.98)]), "exact", True),
    ),
    "low_rank": (
        1, "PrivateLowRank", "5e80265a6862121e", {}, {"rank": None, "eigenvalues": [1.0, 0.5], "share": None},
        Guarantee(1.0, 0.0, "replace", "row", Pure(1.0), "exact", True),
    ),
    "pca": (
        1, "PrivatePCA", "7d1fa1574033f730", {"n_": 50}, {"n_components": 2, "center": "private", "delta": 1e-6},
        Guarantee(0.9999999999476437, 1e-6, "replace", "row", Composed([BEFORE, AFTER]), "exact", True),
    ),
    "pca_complex": (
        1, "PrivatePCA", "6245ee281bc7c07d", {}, {"n_components": 2, "field": "complex", "mechanism": "exponential"},
        Guarantee(1.0, 0.0, "replace", "row", Pure(1.0, bounded_range=True), "idealized", True),
    ),
    "pca_2": (
        2, "PrivatePCA", "98779ed97a6685dc", {"n_": 73}, {"n_components": 2, "neighbors": "add_remove"},
        Guarantee(
            0.9999999999476437, 1e-6, "add_remove", "row",
            Composed([Gaussian(29.872990912688675), BEFORE, Gaussian(4.503522828322039)]), "exact", True,
        ),
    ),
    "completion_text_2": (
        2, "PrivateCompletion", "d8c86fc6da174c8f", {"n_factors_": 0, "ridge_": 0.21617362373120672},
        {"items": [f"a film with a long name, number {j} ☕" for j in range(150)], "rating_range": [0.0, 1.0]},
        Guarantee(4.999999999785676, 1e-6, "replace", "user", CAP, "exact", True),
    ),
    "completion_text_3": (
        3, "PrivateCompletion", "2b1dfb2bfa9cd476", {"n_factors_": 1, "ridge_": 0.10570589624483735},
        {"items": [f"film {j} ☕" for j in range(40)], "rating_range": [1.0, 5.0]},
        Guarantee(4.999999999785676, 1e-6, "replace", "user", CAP, "exact", True),
    ),
}  # fmt: skip


def digest(model):
    """Of the names and bytes of all learned arrays."""
    found = hashlib.sha256()
    for name, value in sorted(vars(model).items()):
        if isinstance(value, np.ndarray) and name.endswith("_"):
            found.update(name.encode())
            found.update("\n".join(value).encode() if value.dtype == object else value.tobytes())
    return found.hexdigest()[:16]


def test_every_golden_file_is_listed():
    assert {path.stem for path in GOLDEN.glob("*.hush")} == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_golden_models_open_and_hold_what_they_held(name):
    version, kind, arrays, numbers, parameters, guarantee = MODELS[name]
    path = GOLDEN / f"{name}.hush"
    assert take_apart(path.read_bytes())[0]["version"] == version
    model = hushrank.load(path)
    assert type(model).__name__ == kind and digest(model) == arrays and model.privacy_ == guarantee
    assert {key: getattr(model, key) for key in numbers} == numbers
    assert {key: getattr(model, key) for key in parameters} == parameters


@pytest.mark.parametrize("name", MODELS)
def test_golden_models_are_saved_in_the_format_of_today(name, tmp_path):
    model = hushrank.load(GOLDEN / f"{name}.hush")
    model.save(tmp_path / "model")
    again = hushrank.load(tmp_path / "model")
    assert digest(again) == digest(model) and again.privacy_ == model.privacy_
    assert again.get_params() == model.get_params()
    assert take_apart((tmp_path / "model").read_bytes())[0]["version"] == 3


OF_ROWS = [name for name in MODELS if not name.startswith("completion")]
SIZES = {"covariance": (70, 4), "low_rank": (50, 4), "pca": (50, 4), "pca_complex": (50, 4), "pca_2": (73, 4)}


@pytest.mark.parametrize("name", OF_ROWS)
def test_golden_models_of_rows_have_a_public_radius(name, tmp_path):
    """They were made before a radius could be private, which is the default since."""
    names = {"radius_", "alignment_", "n_significant_", "explained_variance_interval_", "eigenvalue_interval_"}
    assert "radius" not in take_apart((GOLDEN / f"{name}.hush").read_bytes())[0]["content"]["parameters"]
    model = hushrank.load(GOLDEN / f"{name}.hush")
    assert model.radius == "public" and not names & set(vars(model))
    plan = model.plan((SIZES[name][0], model.n_features_in_))  # what it would release again is what it released
    assert plan.event == model.privacy_.event and plan.guarantee.numerics == model.privacy_.numerics
    model.save(tmp_path / "model")
    assert take_apart((tmp_path / "model").read_bytes())[0]["content"]["parameters"]["radius"] == "public"
    again = hushrank.load(tmp_path / "model")
    assert again.radius == "public" and set(vars(again)) == set(vars(model))
    assert "radius='public'" in repr(again)


@pytest.mark.parametrize("name", OF_ROWS)
def test_a_golden_model_does_not_become_one_of_a_private_radius(name, tmp_path):
    path = Path(shutil.copy(GOLDEN / f"{name}.hush", tmp_path / "model"))

    def claim(header, _):
        header["content"]["parameters"]["radius"] = "private"

    forge(path, claim)
    with pytest.raises(ModelFileError, match="it does not have the attributes of a"):
        hushrank.load(path)


@pytest.mark.filterwarnings("ignore:item .* is similar to others by:UserWarning")  # some have no factors
def test_golden_models_answer():
    rows = np.arange(8.0).reshape(2, 4)
    table = pd.DataFrame(rows, columns=list("abcd"))
    assert hushrank.load(GOLDEN / "pca.hush").transform(table).shape == (2, 2)
    assert hushrank.load(GOLDEN / "pca_complex.hush").transform(rows + 1j).shape == (2, 2)
    with pytest.raises(ValueError, match="feature names"):
        hushrank.load(GOLDEN / "pca.hush").transform(table[list("dcba")])
    items = {"completion": 3, "completion_str": "film 3", "completion_text_2": "a film with a long name, number 3 ☕"}
    for name, item in items.items():
        model = hushrank.load(GOLDEN / f"{name}.hush")
        assert np.isfinite(model.predict({item: 1.0})).all()
        assert item not in model.recommend({item: 1.0}, n=5).items.tolist()
        assert item not in model.similar_items(item, n=5).items.tolist()
    scores = hushrank.load(GOLDEN / "completion.hush").predict({3: 5.0, 4: 1.0})
    assert scores[:3] == pytest.approx([3.1152492317675566, 3.0174614952599623, 3.4688954631846065], rel=1e-9)


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("completion")])
def test_golden_recommenders_have_no_facts_about_items_and_say_so(name, tmp_path):
    """They were made before items could have features: nothing is known about items that nobody has rated."""
    model = hushrank.load(GOLDEN / f"{name}.hush")
    model.save(tmp_path / "model")
    own = {model.items_[3]: 1.0}
    for one in (model, hushrank.load(tmp_path / "model")):
        assert one.item_features is None and one.new_items is None and one.feature_names_ == []
        assert not {"feature_columns_", "feature_values_", "feature_typical_", "feature_map_"} & set(vars(one))
        assert one.recommend(own, 3, explain=True).reasons == [()] * 3
        with pytest.raises(InvalidParameter, match=r"^add_items of PrivateCompletion must be for a model .* that this"):
            one.add_items(["a new one" if one.items_.dtype == object else 1000])


# Ledgers

HEADS = {
    "patients-2026": "51e29b9a9a990dfc35b6842dfbb7a15034e1b036a2773ce22924d6f1fdbf3fb6",
    "ratings": "8a2469fceb6178b18b4ac1cf96bb7974fcb7823419c753494ae79175766d5ed9",
}
CHARGES = {
    "patients-2026": [Gaussian(5.0), Composed([Pure(0.1), Repeated(Gaussian(20.0), 3)])],
    "ratings": [Pure(0.25), Repeated(Pure(0.1, bounded_range=True), 2)],
}


@pytest.fixture
def ledger_path(tmp_path):
    return Path(shutil.copy(GOLDEN / "ledger.db", tmp_path / "ledger.db"))


def test_the_golden_ledger_opens_and_holds_what_it_held(ledger_path):
    with hushrank.Ledger(ledger_path) as ledger:
        assert ledger.verify() == HEADS
        for name, events in CHARGES.items():
            assert [entry.event for entry in ledger[name].history()[1:]] == events
        patients, ratings = ledger["patients-2026"], ledger["ratings"]
        assert (patients.budget.epsilon, patients.budget.delta, patients.budget.unit) == (3.0, 1e-6, "row")
        assert (ratings.budget.epsilon, ratings.budget.neighbors, ratings.budget.unit) == (1.0, "add_remove", "user")
        assert patients.spent().amount == 0.06320234854148024 and ratings.spent().amount == 0.45
        assert patients.left().epsilon == pytest.approx(2.740445488910565, rel=1e-9)


def test_the_golden_ledger_can_be_charged(ledger_path):
    with hushrank.Ledger(ledger_path) as ledger:
        account = ledger["ratings"]
        assert account.charge(Pure(0.1, bounded_range=True), note="new").number == 3
        assert account.charge(Repeated(Pure(0.1, bounded_range=True), 2), key="k").number == 2  # charged already
        assert account.verify(HEADS["ratings"]) == account.last().hash


def test_texts_that_are_hashed_have_not_changed(ledger_path):
    """Terms and events, read and written again: the same bytes, or every old hash would be wrong."""
    with sqlite3.connect(ledger_path) as connection:
        terms = [text for (text,) in connection.execute("SELECT terms FROM hushrank_dataset")]
        events = [text for (text,) in connection.execute("SELECT event FROM hushrank_history WHERE kind = 'charge'")]
    connection.close()
    assert len(terms) == 2 and len(events) == 4
    assert [Terms.from_text(text).to_text() for text in terms] == terms
    assert [canonical(to_dict(from_dict(json.loads(text)))) for text in events] == events


def test_a_ledger_of_a_newer_format_is_refused(ledger_path):
    with sqlite3.connect(ledger_path) as connection:
        connection.execute("UPDATE hushrank_ledger SET version = 2")
    connection.close()
    with hushrank.Ledger(ledger_path) as ledger, pytest.raises(LedgerError, match="has format 2"):
        ledger.names()


def test_a_model_of_a_newer_format_is_refused(tmp_path):
    path = Path(shutil.copy(GOLDEN / "pca.hush", tmp_path / "model"))
    forge(path, lambda header, _: header.update(version=4))
    with pytest.raises(
        ModelFileError, match=r"was made by a newer version of hushrank: format 4; this one reads up to 3"
    ):
        hushrank.load(path)


def test_what_old_versions_did_not_know_has_its_default(tmp_path):
    path = Path(shutil.copy(GOLDEN / "covariance.hush", tmp_path / "model"))

    def forget(header, _):
        del header["content"]["guarantee"]["reproducible"]
        for event in header["content"]["guarantee"]["event"]["events"]:
            del event["bounded_range"]
        for name in ("n_max", "field", "strategy", "center_norm"):
            del header["content"]["parameters"][name]

    forge(path, forget)
    model = hushrank.load(path)
    assert not model.privacy_.reproducible and model.privacy_.event == Composed([Pure(0.02), Pure(0.98)])
    assert (model.n_max, model.field, model.strategy, model.center_norm) == (2**26, "real", "auto", None)
