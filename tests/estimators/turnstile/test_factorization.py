"""Factorizations: what they hold, what a file of them keeps, and files that claim more than was paid for."""

import pickle

import numpy as np
import pytest

import hushrank as hr
from forgery_support import forge, in_array, in_header, take_apart, together
from hushrank.exceptions import InvalidParameter, ModelFileError, NotFitted
from hushrank.privacy.events import Gaussian, Pure, to_dict
from hushrank.privacy.words import in_words

SHAPE = (30, 20)
TERMS = {"shape": SHAPE, "rank": 2, "epsilon": 1.0, "delta": 1e-6}
KINDS = {
    "plain": {},
    "pure": {"delta": 0.0},
    "Gaussian": {"unit": "frobenius"},
    "signs": {"unit": "row", "operator": "sparse_sign"},
    "Gaussian core": {"unit": "rank1", "kind": "three_sketch", "sketch_sizes": (8, 12)},
    "core": {"kind": "figure1", "sketch_sizes": (8, 12), "operator": "srht"},
    "full": {"kind": "full", "unit": "frobenius", "neighbors": "replace"},
    "pan-private": {"pan_private": True},
    "pure and pan-private": {"pan_private": True, "delta": 0.0},
    "promised": {"unit": "user", "user_totals": "promised", "integers": "int32"},
}


def make(**changes):
    rows, columns = np.divmod(np.arange(600), 20)
    return hr.TurnstileSketch(**{**TERMS, **changes}).update(rows, columns, np.sin(rows) * np.cos(columns))


@pytest.fixture(scope="module")
def found():
    return make(epsilon=500.0).factorize()


# What it holds


def test_a_factorization_is_one(found):
    assert found.U.shape == (30, 2) and found.s.shape == (2,) and found.Vt.shape == (2, 20)
    assert found.U.T @ found.U == pytest.approx(np.eye(2), abs=1e-9)
    assert found.Vt @ found.Vt.T == pytest.approx(np.eye(2), abs=1e-9)
    assert found.s[0] >= found.s[1] >= 0.0 and found.s[0] > 1.0
    assert found.n_above_noise == np.count_nonzero(found.s) >= 1


def test_entries_are_those_of_the_product(found):
    product = (found.U * found.s) @ found.Vt
    rows, columns = np.divmod(np.arange(600), 20)
    assert found.entries(rows, columns) == pytest.approx(product.ravel(), abs=1e-12)
    assert found.entries(rows[:0], columns[:0]).shape == (0,)
    assert found.entries([29], np.array([19], np.uint8)) == pytest.approx(product[29, 19])


@pytest.mark.parametrize(
    ("rows", "cols", "message"),
    [
        ([30], [0], "rows of Factorization must be integers from 0 to 29; got 'others'"),
        ([0], [-1], "cols of Factorization must be integers from 0 to 19; got 'others'"),
        ([0.0], [0], "rows of Factorization must be integers"),
        ([0, 1], [0], "cols of Factorization must be as many as rows, 2; got '1 columns'"),
        ([[0]], [0], "rows of Factorization must be a vector"),
    ],
)
def test_places_that_are_none_are_refused(found, rows, cols, message):
    with pytest.raises(InvalidParameter, match=message):
        found.entries(rows, cols)


def test_it_holds_no_secret_and_can_be_copied(found):
    assert set(vars(found)) - set(found._parameters()) == {
        "U_",
        "s_",
        "Vt_",
        "levels_",
        "noise_",
        "release_",
        "privacy_",
    }
    copy = pickle.loads(pickle.dumps(found))
    assert np.array_equal(copy.U, found.U) and copy.privacy_ == found.privacy_
    assert found.ledger is None and repr(found).startswith("Factorization of a TurnstileSketch(shape=(30, 20)")
    assert str(found.privacy_) in repr(found)


def test_before_a_release_there_is_nothing():
    empty = hr.Factorization(**TERMS)
    for name in ("U", "s", "Vt", "n_above_noise"):
        with pytest.raises(NotFitted, match="this Factorization has released nothing yet"):
            getattr(empty, name)
    with pytest.raises(NotFitted):
        empty.save("nowhere")


def test_its_epsilon_is_what_was_spent():
    """A file whose guarantee is weaker than its parameters ask for would be refused."""
    sketch = make()
    first, second = sketch.factorize(), sketch.factorize()
    assert first.epsilon == 1.0 >= first.privacy_.epsilon
    assert second.epsilon == second.privacy_.epsilon > 1.4 and sketch.epsilon == 1.0


# Files


@pytest.mark.parametrize("kind", KINDS)
def test_saved_factorizations_keep_their_guarantee(kind, tmp_path):
    sketch = make(**KINDS[kind])
    for number in range(1, 5):
        released = sketch.factorize()
        released.save(tmp_path / "model")
        loaded = hr.load(tmp_path / "model")
        assert type(loaded) is hr.Factorization and loaded.privacy_ == released.privacy_
        assert loaded.release_ == number and str(loaded.privacy_) == str(released.privacy_)
        for name in ("U", "s", "Vt", "levels_"):
            assert np.array_equal(getattr(loaded, name), getattr(released, name))
        assert loaded._parameters() == {**released._parameters(), "random_state": None}


def lower(name, factor):
    def change(header, members):
        header["content"]["guarantee"][name] *= factor

    return change


def of_the_guarantee(**changes):
    return lambda header, members: header["content"]["guarantee"].update(changes)


FORGED = {
    "half of epsilon": lower("epsilon", 0.5),
    "a smaller delta": lower("delta", 0.1),
    "a cheap event": of_the_guarantee(event=to_dict(Gaussian(1e6))),
    "a cheap pure event": of_the_guarantee(event=to_dict(Pure(1e-3)), epsilon=1e-3, delta=0.0),
    "the event of one release": of_the_guarantee(event=to_dict(make().plan().event), epsilon=0.5),
    "another unit": of_the_guarantee(unit="row"),
    "another relation": of_the_guarantee(neighbors="replace"),
    "another premise": of_the_guarantee(premise="all is well"),
    "more than was asked for": in_header("parameters", "epsilon", value=0.5),
    "a seed": in_header("parameters", "random_state", value=1),
    "another shape": in_header("parameters", "shape", value=[31, 20]),
    "another rank": in_header("parameters", "rank", value=1),
    "sizes that are none": in_header("parameters", "sketch_sizes", value=[1, 1]),
    "huge sizes": in_header("parameters", "shape", value=[2**40, 2**40]),
    "rising values": in_array("s_", np.array([1.0, 2.0])),
    "negative values": in_array("s_", np.array([1.0, -2.0])),
    "values that are none": in_array("s_", np.array([np.nan, np.nan])),
    "more values": in_array("s_", np.array([3.0, 2.0, 1.0])),
    "complex vectors": in_array("U_", np.zeros((30, 2), complex)),
    "four levels": in_array("levels_", np.ones(4)),
    "no noise": in_header("attributes", "noise_", value=0.0),
    "release 0": in_header("attributes", "release_", value=0),
    "a half release": in_header("attributes", "release_", value=1.5),
    "a sketch": in_header("class", value="TurnstileSketch"),
    "a sketch, and its file": together(
        in_header("class", value="TurnstileSketch"), in_header("attributes", "position", value=1)
    ),
}


@pytest.mark.parametrize("how", FORGED)
def test_forged_files_are_refused(how, tmp_path):
    sketch = make()
    sketch.factorize()
    sketch.factorize().save(tmp_path / "model")
    hr.load(tmp_path / "model")
    forge(tmp_path / "model", FORGED[how])
    with pytest.raises(ModelFileError):
        hr.load(tmp_path / "model")


def test_a_guarantee_does_not_lose_its_premise(tmp_path):
    for changes in (KINDS["Gaussian"], KINDS["promised"]):
        make(**changes).factorize().save(tmp_path / "model")
        assert take_apart((tmp_path / "model").read_bytes())[0]["content"]["guarantee"]["premise"]
        forge(tmp_path / "model", of_the_guarantee(premise=""))
        with pytest.raises(ModelFileError, match="takes something else for granted than its parameters"):
            hr.load(tmp_path / "model")


def test_a_random_release_cannot_pass_for_a_bounded_one(tmp_path):
    """Neither by its unit alone, nor by that of its guarantee as well: the premise tells."""
    in_parameters, in_guarantee = in_header("parameters", "unit", value="entry"), of_the_guarantee(unit="entry")
    for change, reason in (
        (in_parameters, "another relation or unit than its parameters"),
        (together(in_parameters, in_guarantee), "takes something else for granted than its parameters"),
    ):
        make(**KINDS["Gaussian"]).factorize().save(tmp_path / "model")
        forge(tmp_path / "model", change)
        with pytest.raises(ModelFileError, match=f"{reason}|its noise is not that of its guarantee"):
            hr.load(tmp_path / "model")


@pytest.mark.parametrize("unit", ["entry", "user", "row", "rank1", "frobenius"])
def test_the_guarantee_says_how_large_a_change_is_hidden(unit):
    found = hr.TurnstileSketch(**TERMS, unit=unit, bound=0.1).factorize()
    assert found.privacy_.bound == found.bound == 0.1 and "bound=0.1" in str(found.privacy_)
    words = in_words(found.privacy_)
    assert ("at most 0.1" in words) == (unit != "user") and "any one row were" not in words


def test_a_file_of_before_gets_its_bound_from_its_parameters(tmp_path):
    make(unit="row", bound=2.0).factorize().save(tmp_path / "found.hush")

    def without(header, members):
        assert header["content"]["guarantee"].pop("bound") == 2.0

    forge(tmp_path / "found.hush", without)
    assert hr.load(tmp_path / "found.hush").privacy_.bound == 2.0
    forge(tmp_path / "found.hush", in_header("guarantee", "bound", value=5.0))
    with pytest.raises(ModelFileError, match="hides changes of another size than its parameters"):
        hr.load(tmp_path / "found.hush")
