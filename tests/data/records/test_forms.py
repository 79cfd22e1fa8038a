"""Forms of measurements: the size of the matrix is public, agrees with the data, and is bounded."""

import numpy as np
import pytest

from hushrank.data.records import forms
from hushrank.data.records.forms import DESIGNS, check_design, check_shape, record_shape, settle_shape
from hushrank.exceptions import InvalidParameter

SIZE = (3, 4)


@pytest.mark.parametrize("design", ["Dense", "", None, 3, ["dense"], np.array(["dense"])], ids=repr)
def test_other_designs_are_refused(design):
    with pytest.raises(InvalidParameter, match=r"^design of A must be one of 'dense', 'rank_one', 'entry'; got"):
        check_design(design, "A")


def test_designs_are_known():
    for design in DESIGNS:
        check_design(design, "A")


@pytest.mark.parametrize("shape", [(3, 4), [3, 4], (np.int64(3), np.uint8(4))], ids=repr)
def test_sizes_become_integers(shape):
    found = check_shape(shape, "entry", "A")
    assert found == SIZE and all(type(size) is int for size in found)


BAD = [(3,), (3, 4, 5), 12, "34", b"34", (3, 4.0), (True, 4), (0, 4), (3, -1), (2**12, 2**12 + 1), (2**70, 1), {3, 4}]


@pytest.mark.parametrize("shape", BAD, ids=repr)
def test_other_sizes_are_refused_with_the_limit(shape):
    requirement = r"two integers \(n_rows, n_columns\) from 1 on, of a matrix of at most 16777216 entries"
    for design in DESIGNS:
        with pytest.raises(InvalidParameter, match=rf"^shape of A must be {requirement}; got "):
            check_shape(shape, design, "A")


def test_the_largest_size():
    assert check_shape((2**12, 2**12), "dense", "A") == (2**12, 2**12)
    assert settle_shape("dense", None, (2**12, 2**12), None, "A") == (2**12, 2**12)


def test_a_size_is_needed_where_no_data_could_tell_it():
    assert check_shape(None, "dense", "A") is None and check_shape(None, "rank_one", "A") is None
    with pytest.raises(InvalidParameter, match=r"^shape of A must be \(n_rows, n_columns\), the size of the matrix"):
        check_shape(None, "entry", "A")


def test_records_have_the_form_of_their_design():
    assert [record_shape(design, SIZE) for design in DESIGNS] == [(3, 4), (7,), (2,)]


TOLD = {
    "matrices": ("dense", None, (3, 4), None),
    "matrices that agree": ("dense", SIZE, (3, 4), None),
    "rows of entries": ("dense", SIZE, (12,), None),
    "a pair": ("rank_one", None, (7,), SIZE),
    "a pair that agrees": ("rank_one", SIZE, (7,), SIZE),
    "two in one": ("rank_one", SIZE, (7,), None),
    "indices": ("entry", SIZE, (2,), (1, 1)),
    "indices in one": ("entry", SIZE, (2,), None),
}


@pytest.mark.parametrize("kind", TOLD)
def test_the_size_is_given_or_told_by_the_form(kind):
    assert settle_shape(*TOLD[kind], "A") == SIZE


NEEDED = "shape of A must be (n_rows, n_columns), the size of the matrix, which these data do not tell; got None."
REFUSED = {
    "rows of entries alone": (("dense", None, (12,), None), NEEDED),
    "two in one alone": (("rank_one", None, (7,), None), NEEDED),
    "turned": (
        ("dense", (4, 3), (3, 4), None),
        "X of A must be measurements of the shape (4, 3); got 'those of (3, 4)'.",
    ),
    "a turned pair": (
        ("rank_one", (4, 3), (7,), (3, 4)),
        "X of A must be measurements of the shape (4, 3); got 'those of (3, 4)'.",
    ),
    "other entries": (
        ("dense", SIZE, (11,), None),
        "X of A must be the n_rows * n_columns entries of a matrix, 12 numbers, for each record and the shape (3, 4); "
        "got '11 numbers'.",
    ),
    "another sum": (
        ("rank_one", SIZE, (12,), None),
        "X of A must be the n_rows + n_columns numbers of x and z, 7 numbers, for each record and the shape (3, 4); "
        "got '12 numbers'.",
    ),
    "three indices": (
        ("entry", SIZE, (3,), None),
        "X of A must be the row and the column of an entry, 2 numbers, for each record and the shape (3, 4); "
        "got '3 numbers'.",
    ),
    "matrices of rank one": (
        ("rank_one", SIZE, (3, 4), None),
        "X of A must be the n_rows + n_columns numbers of x and z for each record; got 'matrices of (3, 4)'.",
    ),
    "matrices of entries": (
        ("entry", SIZE, (1, 2), None),
        "X of A must be the row and the column of an entry for each record; got 'matrices of (1, 2)'.",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_data_of_another_form_are_refused(kind):
    given, message = REFUSED[kind]
    with pytest.raises(InvalidParameter) as refusal:
        settle_shape(*given, "A")
    assert str(refusal.value) == message


@pytest.mark.parametrize(("design", "found", "parts"), [("dense", (3, 4), None), ("rank_one", (7,), SIZE)])
def test_sizes_of_data_have_the_same_limit(monkeypatch, design, found, parts):
    monkeypatch.setattr(forms, "MOST_ENTRIES", 11)
    with pytest.raises(InvalidParameter, match=r"^X of A must be measurements of a matrix of at most 11 entries; got"):
        settle_shape(design, None, found, parts, "A")
