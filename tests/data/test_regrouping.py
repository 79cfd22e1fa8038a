"""What parts and groups have in common: a part is read where it lies, and everything that travels can."""

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data.pieces import hold
from hushrank.data.ratings.regrouping import RatingGrouping
from hushrank.data.records.origins import Batch
from hushrank.data.records.regrouping import RecordGrouping
from hushrank.data.regrouping import source_of
from hushrank.data.source import Source
from hushrank.data.updates.regrouping import UpdateGrouping
from hushrank.data.updates.source import UpdateChunk
from regrouping_support import Places, travel


class Given:
    """An origin of one kind of batch, whatever it is asked for."""

    def __init__(self, *parts):
        self._parts = parts

    def batches(self, *unused):
        return iter(self._parts)

    chunks = batches


IDS = pa.array(["ann", None, "bob", "ann"], pa.large_string())
KINDS = {
    "ratings": (RatingGrouping(5, (1, 5)), (IDS, np.array([0, 1, 4, 2]), np.array([1.0, 2.0, 3.0, 4.0]))),
    "implicit": (RatingGrouping(5, None), (IDS, np.array([0, 1, 4, 2]), np.ones(4))),
    "records": (RecordGrouping((2,), np.dtype(np.float32)), Batch(np.ones((4, 2), np.float32), np.arange(4.0), IDS)),
    "updates": (UpdateGrouping((3, 3)), UpdateChunk(np.arange(4), np.arange(4), np.ones(4), IDS)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_places", [1, 50])
def test_parts_are_read_where_they_lie(kind, n_places):
    grouping, batch = KINDS[kind]
    groups = Places(grouping, [hold(Given(batch)), hold(Given())], n_places)
    parts = list(groups.parts())
    assert len(parts) == n_places
    assert groups.n_people() == (3 if kind == "updates" else 2) == sum(part.n_people for part in parts)
    assert sum(part.n_bytes for part in parts) > 0
    for part in parts:
        source = source_of(travel(part))
        assert isinstance(source, Source) and source.n_samples == part.n_people
        assert sum(map(len, source.blocks())) <= part.n_people and len(source.empty_block()) == 0
        assert (
            source.pieces() is None and source.regrouped(None) is source and bool(source.sizes) == (kind == "updates")
        )
    held = [piece.read() for piece in groups.pieces()]
    assert sum(source.n_samples for source in held) == groups.n_people() and all(source.n_samples for source in held)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_show_no_data(kind):
    grouping, batch = KINDS[kind]
    [part] = Places(grouping, [hold(Given(batch))], 1).parts()
    assert "ann" not in repr(part) and "array" not in repr(part) and "array" not in repr(grouping)


@pytest.mark.parametrize("kind", KINDS)
def test_groupings_are_plain_values(kind):
    grouping = KINDS[kind][0]
    assert travel(grouping) == grouping and hash(travel(grouping)) == hash(grouping)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pieces", [[], [hold(Given())]], ids=["no piece", "no rows"])
def test_nothing_makes_parts_of_nobody(kind, pieces):
    groups = Places(KINDS[kind][0], pieces, 3)
    assert groups.n_people() == 0 and groups.pieces() == []
    assert [len(block) for part in groups.parts() for block in part.source().blocks()] == []
