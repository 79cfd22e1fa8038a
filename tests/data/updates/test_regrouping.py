"""Updates through parcels: those of a user come to one place, all of them, as they were given and in their order."""

import itertools
import logging

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.id_arrays import as_text, bytes_as_text
from hushrank.data.identifiers import IdTable
from hushrank.data.pieces import hold
from hushrank.data.updates.entries import Entries
from hushrank.data.updates.reading import read_updates
from hushrank.data.updates.regrouping import UpdateGrouping
from hushrank.data.updates.source import Updates, has_user
from piece_support import sent
from regrouping_support import IDS, Places, write_files

SHAPE = (4, 3)


def table_of(ids, n_rows=120, seed=0):
    """Updates of these users, some outside of the matrix or not finite, numbered by their deltas."""
    rng = np.random.default_rng(seed)
    deltas = np.arange(n_rows) + 0.5
    deltas[rng.random(n_rows) < 0.1] = np.nan
    users = ids.take(pa.array(rng.integers(0, len(ids), n_rows)))
    return pa.table(
        {"row": rng.integers(-1, 5, n_rows), "column": rng.integers(0, 3, n_rows), "delta": deltas, "user": users}
    )


def updates_of(data):
    return read_updates(data, shape=SHAPE, owner="A", needs_users=True)


def histories(chunks_of_sources):
    """Updates of each user in their order, as bits; every source has users of its own."""
    found = []
    for chunks in chunks_of_sources:
        table, own = IdTable(), {}
        for chunk in chunks:
            for user, *update in zip(
                table.add(as_text(chunk.users)), chunk.rows, chunk.columns, chunk.deltas, strict=True
            ):
                if user >= 0:
                    own.setdefault(user, []).append(b"".join(number.tobytes() for number in update))
        found += own.values()
    return sorted(found)


def moved(updates, enough=1, **options):
    """The updates at their places; pieces are joined in their order."""
    origins = updates._origin.pieces(enough)
    return Places(UpdateGrouping(SHAPE), origins, seed=None, **options)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("ids", IDS)
def test_updates_of_files_keep_their_users_numbers_and_order(tmp_path, kind, ids):
    ids_of_file = IDS[ids].cast(pa.large_string()) if kind == "csv" and ids != "str" else IDS[ids]
    updates = updates_of(write_files(tmp_path / "x", table_of(ids_of_file), kind))
    n_nobody = sum(np.sum(~has_user(chunk.users)) for chunk in updates.chunks())
    for n_places, most, enough in ((1, 10**6, 10**6), (3, 1, 1), (50, 7, 20)):
        groups = moved(updates, enough, n_places=n_places, most=most)
        parts = list(groups.parts())
        assert histories(part.source().chunks(9) for part in parts) == histories([updates.chunks()])
        assert groups.notes() == n_nobody and groups.n_people() == 120 - n_nobody
        assert all(pa.types.is_large_string(part.updates.users.type) for part in parts)


def test_pieces_are_updates(tmp_path, caplog):
    updates = updates_of(write_files(tmp_path / "x", table_of(IDS["int64"]), "csv"))
    parts = sent(moved(updates, n_places=50).pieces())
    assert all(isinstance(part, Updates) and part.n_samples and part.has_users and part.can_repeat for part in parts)
    assert histories(part.chunks() for part in parts) == histories([updates.chunks()])
    assert all(part.shape == SHAPE and part.pieces() is None and part.sizes == updates.sizes for part in parts)
    with caplog.at_level(logging.INFO, "hushrank"):
        valid = [
            sorted(delta for one in sources for block in one.blocks() for delta in block.deltas)
            for sources in (parts, [updates])
        ]
    assert valid[0] == valid[1] and len(valid[0]) > 0


@given(
    st.lists(
        st.tuples(st.sampled_from(["7", "07", " 7.0", "a", "b", "", None]), st.integers(-5, 5), st.floats()),
        max_size=30,
    ),
    st.lists(st.integers(0, 30), max_size=5),
    st.sampled_from([1, 3, 50]),
    st.sampled_from([1, 4, 10**6]),
)
@settings(deadline=None, max_examples=60)
def test_any_updates_in_any_pieces(rows, edges, n_places, most):
    users, indices, deltas = ([row[j] for row in rows] for j in range(3))
    edges = sorted([0, len(rows), *(edge for edge in edges if edge <= len(rows))])
    whole = Entries(
        np.array(indices, np.int64),
        np.array(indices, np.int64),
        np.array(deltas, np.float64),
        pa.array(users, pa.large_string()),
    )
    parts = [
        Entries(*(one[a:b] for one in (whole.rows, whole.columns, whole.deltas, whole.users)))
        for a, b in itertools.pairwise(edges)
    ]
    groups = Places(UpdateGrouping(SHAPE), [hold(part) for part in parts], n_places, most, None)
    assert histories(part.source().chunks() for part in groups.parts()) == histories([whole.chunks(7)])
    assert groups.n_people() + groups.notes() == len(rows)


def test_integers_and_texts_are_one_user():
    """What a reader makes of a column of one piece must not part a user."""
    columns = [
        pa.array([7, 2**40]),
        pa.array([7, 2**40], pa.uint64()),
        pa.array(["7", "x"], pa.large_string()),
        bytes_as_text([b"07.0", b"\xff"]),
        pa.nulls(2),
    ]
    pieces = [hold(Entries(np.array([k, k]), np.zeros(2, np.int64), np.ones(2), ids)) for k, ids in enumerate(columns)]
    for n_places in (1, 50):
        groups = Places(UpdateGrouping(SHAPE), pieces, n_places, seed=None)
        lengths = [len(own) for own in histories(part.source().chunks() for part in groups.parts())]
        assert sorted(lengths) == [1, 1, 2, 4] and groups.notes() == 2


def test_no_updates():
    groups = Places(UpdateGrouping(SHAPE), [], 2, seed=None)
    assert groups.n_people() == groups.notes() == 0 and groups.pieces() == []
    [part, _] = groups.parts()
    assert list(part.source().chunks()) == [] and part.source().n_samples == 0 and part.n_bytes == 0
