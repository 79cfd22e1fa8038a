"""People are brought to one place each by Dask's shuffle: everybody whole, counted, and told about once."""

import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

from cluster_support import write_parts
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.ratings.regrouping import RatingGrouping
from hushrank.data.source import Piece
from hushrank.engine.dask import DaskEngine
from hushrank.engine.dask_clusters import Cluster
from hushrank.engine.dask_moves import MOST_PLACES, _n_places, join_place, pack_piece, tell_part
from hushrank.engine.dask_tasks import Failure, own_versions
from hushrank.exceptions import InvalidParameter

TERMS = {"owner": "test", "items": 30, "rating_range": (1, 5)}


def ratings_table(n_users=60, n_ratings=700, seed=5):
    rng = np.random.default_rng(seed)
    users = [f"u{user}\n'\"," if user % 7 == 0 else str(user) for user in rng.integers(0, n_users, n_ratings)]
    users[5], users[6] = None, " "
    ratings = rng.integers(1, 6, n_ratings).astype(float)
    ratings[:3] = np.nan, np.inf, 99.0
    return pa.table({"user": users, "item": rng.integers(0, 33, n_ratings), "rating": ratings})


def people(source):
    """Everybody's ratings, in an order that does not depend on who came first."""
    found = []
    for block in source.blocks():
        for user in range(len(block)):
            own = slice(block.indptr[user], block.indptr[user + 1])
            found.append((block.items[own].tolist(), block.values[own].tolist()))
    return sorted(found)


@pytest.fixture
def folder(tmp_path):
    return write_parts(tmp_path / "ratings", ratings_table())


def test_everybody_is_whole_at_one_place(cluster, folder, caplog):
    local = read_ratings(folder, **TERMS)
    with caplog.at_level(logging.INFO, "hushrank"):
        expected = people(local)
        placed = DaskEngine(cluster, piece_rows=60, place_rows=20).place(read_ratings(folder, **TERMS))
        assert people(placed) == expected and placed.n_users == len(expected) == placed.n_samples
    told = [record.message for record in caplog.records if record.name == "hushrank"]
    assert len(told) == 2 and told[0] == told[1]
    sizes = [piece.n_entries for piece in placed.pieces()]
    assert len(sizes) > 8 and sum(sizes) == len(expected)


def test_nothing_is_read_before_it_is_asked_for(cluster, folder, tmp_path):
    placed = DaskEngine(cluster).place(read_ratings(folder, **TERMS))
    assert placed.n_samples is None and placed._groups._futures is None
    assert placed.n_items == 30 and placed.rating_range == (1.0, 5.0) and placed.sizes == {"n_items": 30}


def test_a_public_number_of_users_is_not_counted(cluster, folder):
    placed = DaskEngine(cluster).place(read_ratings(folder, **TERMS, n_users=1000))
    assert placed.n_users == 1000 and placed._groups._futures is None


def test_people_who_were_lost_are_brought_together_again(cluster, folder, monkeypatch):
    placed = DaskEngine(cluster, piece_rows=60).place(read_ratings(folder, **TERMS))
    expected = people(placed)
    before = placed._groups._futures
    placed.forget()
    monkeypatch.setattr(Cluster, "n_threads", lambda self: 7)  # other workers have come
    assert people(placed) == expected and placed._groups._futures is not before
    assert len(placed._groups._futures) == len(before)  # whoever has read half of the places can go on


def test_files_without_ratings_have_no_pieces(cluster, tmp_path):
    empty = write_parts(tmp_path / "none", ratings_table()[:0].cast(ratings_table().schema))
    placed = DaskEngine(cluster).place(read_ratings(empty, **TERMS))
    assert placed.n_users == 0 and placed.pieces() == [] and people(placed) == []


def test_a_damaged_file_is_told_in_one_line(cluster, folder, tmp_path):
    source = read_ratings(folder, **TERMS)
    path = tmp_path / "ratings" / "1.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    placed = DaskEngine(cluster).place(source)
    with pytest.raises(InvalidParameter, match=r"X of test must be a readable Parquet file; got '1.parquet: damaged"):
        placed.n_users  # noqa: B018


# Tasks.


class Numbers:
    """An origin of ratings of five users."""

    def batches(self):
        yield pa.array([1, 2, None, 1, 5, 4]), np.array([0, 1, 2, 3, 4, -1]), np.arange(1.0, 7.0)


def broken():
    raise InvalidParameter("test", "X", "readable", "nothing")


GROUPING = RatingGrouping(30, (1.0, 5.0))


def test_a_frame_has_a_row_for_every_place_that_gets_something():
    frame = pack_piece((GROUPING, [Numbers], own_versions()), 0, [], 50)
    assert frame["piece"].tolist() == [0] * len(frame) and frame["left_out"].sum() == 1
    assert 2 <= len(frame) <= 5 and frame["place"].is_unique


def test_parcels_are_joined_whatever_their_order():
    terms = GROUPING, [Numbers, Numbers], own_versions()
    frames = pd.concat([pack_piece(terms, number, [], 1) for number in (1, 0)], ignore_index=True)
    part = join_place(terms, frames)
    n_people, n_bytes, tally = tell_part(part)
    assert (n_people, tally.n_read, tally.n_without_user, tally.n_repeated) == (4, 12, 2, 4)
    assert n_bytes == 8 * 5 + 8 * len(part.users.items)


def test_a_piece_that_cannot_be_read_fails_its_first_place():
    terms = GROUPING, [Numbers, broken], own_versions()
    frames = pd.concat([pack_piece(terms, number, [], 3) for number in (0, 1)], ignore_index=True)
    failed = join_place(terms, frames[frames["place"] == 0])
    assert isinstance(failed, Failure) and isinstance(failed.error, InvalidParameter)
    assert tell_part(failed) is failed
    assert tell_part(join_place(terms, frames[frames["place"] == 1])) is not failed


def test_the_number_of_places_follows_from_rows_threads_and_files():
    def places(counts, place_rows=100):
        return _n_places([Piece(None, n_entries=count) for count in counts], 2, place_rows)

    assert places([10]) == 8 and places([5000, 5000]) == 100 and places([10**9]) == MOST_PLACES
    assert places([None] * 3) == 8 and places([None] * 41) == 42 and places([4701]) == 48
