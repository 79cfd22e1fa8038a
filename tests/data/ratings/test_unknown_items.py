"""Why items are unknown: ids from 1, ids beyond a count, texts, other spellings."""

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.unknown_items import MOST_KEPT, WatchedCatalogue, say_cause


def asked(items, ids, as_texts=False):
    """A watched catalogue after somebody asked for ids."""
    watched, plain = WatchedCatalogue(Catalogue(items)), Catalogue(items)
    if as_texts:
        texts = pa.array([str(one).encode() for one in ids], pa.large_binary())
        assert np.array_equal(watched.positions_of_texts(texts), plain.positions_of_texts(texts))
    else:
        assert np.array_equal(watched.positions(ids), plain.positions(ids))
    return watched


@pytest.mark.parametrize("as_texts", [False, True])
def test_ids_from_1_are_told(as_texts):
    name, text = say_cause(asked(100, [*range(1, 101)], as_texts))
    assert name == "ids_from_1" and text.startswith("ids start at 1: --items 100 knows 0..99, item 100 is left out")


@pytest.mark.parametrize("as_texts", [False, True])
def test_ids_beyond_a_count_are_told(as_texts):
    name, text = say_cause(asked(100, [0, 5, 100, 20_917], as_texts))
    assert name == "ids_beyond_count" and "between 100 and 20917" in text


def test_texts_in_the_place_of_numbers_are_told():
    assert say_cause(asked(100, ["tt7", "tt9"], as_texts=True))[0] == "text_ids"


@pytest.mark.parametrize(
    ("known", "given", "cause"),
    [
        (["Tea", "Jam"], ["tea", "jam"], "other_case"),
        (["m007", "m012"], ["m7", "m12"], "zero_padded"),
        (["tt0007", "tt0012"], ["7", "12"], "prefixed"),
        (["Tea", "Jam"], ["oil", "rye"], ""),
        (["Tea", "Jam"], ["Tea", "Jam"], ""),
    ],
)
def test_other_spellings_are_told(known, given, cause):
    assert say_cause(asked(known, given))[0] == cause


def test_known_ids_and_a_list_of_ids_have_no_cause():
    assert say_cause(asked(100, [0, 99])) == ("", "") and say_cause(asked([3, 5, 9], [4])) == ("", "")


def test_what_is_kept_is_bounded_and_odd_bytes_are_shown_as_escapes():
    assert len(asked(3, [*range(5000)]).kept) == MOST_KEPT
    watched = WatchedCatalogue(Catalogue(["a"]))
    watched.positions_of_texts(pa.array([b"\xff\x1b", b"", None], pa.large_binary()))
    assert "\\xff\x1b" in watched.kept and say_cause(watched) == ("", "")


def test_unsigned_ids_are_looked_up():
    watched = WatchedCatalogue(Catalogue(3))
    assert watched.positions(pa.array([2**64 - 1, 2, 3], pa.uint64())).tolist() == [-1, 2, -1]
    assert watched.largest == 2**64 - 1
