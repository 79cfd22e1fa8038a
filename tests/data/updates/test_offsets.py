"""Offsets: how much was read, as JSON and back, and nothing that was never written by us."""

import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.data.updates.offsets import Offset
from hushrank.exceptions import InvalidParameter


@given(st.lists(st.tuples(st.binary(), st.integers(0, 3)), max_size=6))
def test_an_offset_does_not_depend_on_the_pieces(pieces):
    offset = Offset()
    for piece, n_records in pieces:
        offset = offset.after(np.frombuffer(piece, np.uint8), min(n_records, len(piece)))
    whole = b"".join(piece for piece, _ in pieces)
    n_records = sum(min(n, len(piece)) for piece, n in pieces)
    assert offset == Offset(len(whole), n_records, zlib.crc32(whole))
    assert Offset.from_dict(json.loads(json.dumps(offset.to_dict()))) == offset


GOOD = {"bytes": 9, "records": 2, "checksum": 7}


@pytest.mark.parametrize(
    "stored",
    [None, 5, [], "x", {}, {"bytes": 1}, GOOD | {"more": 1}, [9, 2, 7], {"bytes": 9, "records": 2, "crc": 7}],
    ids=repr,
)
def test_other_forms_are_refused(stored):
    with pytest.raises(
        InvalidParameter, match="stored of Offset must be a dictionary of bytes, records, checksum; got"
    ):
        Offset.from_dict(stored)


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("value", [-1, 2**63, 1.0, "1", None, True, np.int64(1), [1]], ids=repr)
def test_other_numbers_are_refused(name, value):
    with pytest.raises(InvalidParameter, match=f"^{name} of Offset must be an integer from 0 to"):
        Offset.from_dict(GOOD | {name: value})


def test_numbers_that_contradict_each_other_are_refused():
    for numbers in ((1, 2, 0), (0, 0, 5), (0, 1, 0)):
        with pytest.raises(InvalidParameter, match=r"^numbers of Offset must be of no more records than bytes"):
            Offset(*numbers)
    assert Offset.from_dict(GOOD) == Offset(9, 2, 7) and Offset() == Offset(0, 0, 0)
    with pytest.raises(InvalidParameter, match=r"^checksum of Offset"):
        Offset(9, 2, 2**32)
