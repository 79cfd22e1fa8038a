"""Fields by their words, and the schema of a total over complex rows."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.mechanisms.fields import Field, check_hermitian_total, parse_field

SQUARE = np.zeros((2, 2), np.int64)


def test_fields_are_named_by_words():
    assert parse_field("real", "release") is parse_field(Field.REAL, "release") is Field.REAL
    assert parse_field("complex", "release") is Field.COMPLEX


@pytest.mark.parametrize("field", ["quaternion", "", None, 1, ["real"], np.array(["real"])])
def test_other_fields_are_refused(field):
    with pytest.raises(InvalidParameter, match=r'^field of release must be "real" or "complex"; got'):
        parse_field(field, "release")


def test_a_pair_of_matrices_becomes_contiguous_int64():
    parts = np.arange(9, dtype=np.int8).reshape(3, 3), np.arange(18).reshape(3, 6)[:, ::2]
    for checked, part in zip(check_hermitian_total(parts, "release"), parts, strict=True):
        assert checked.dtype == np.int64 and checked.flags.c_contiguous and np.array_equal(checked, part)


@pytest.mark.parametrize(
    "total",
    [
        SQUARE,
        [SQUARE, SQUARE],
        (SQUARE,),
        (SQUARE, SQUARE, SQUARE),
        (SQUARE, SQUARE.astype(float)),
        (SQUARE, SQUARE * 1j),
        (SQUARE, SQUARE[0]),
        (SQUARE[:1], SQUARE[:1]),
        (SQUARE, SQUARE[:1, :1]),
    ],
)
def test_other_totals_are_refused(total):
    with pytest.raises(InvalidParameter, match="total of release must be"):
        check_hermitian_total(total, "release")
