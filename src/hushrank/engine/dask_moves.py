"""People's rows, moved on a cluster to one place for each person, by Dask's own shuffle (p2p).

Whoever reads a piece packs one parcel for every place (`hushrank.data.parcels`), Dask moves the parcels, and each place
joins what it gets. Ids decide the place, in their canonical form; they never leave the workers.
"""

import pickle
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from hushrank.data.parcels import Rows, pack, unpack
from hushrank.data.regrouping import Grouping, Part, source_of
from hushrank.data.source import Piece
from hushrank.engine.dask_tasks import Failure, Read, check_versions, own_versions, telling

MOST_PLACES = 2**13

_BROKEN = -1  # the number of a piece that could not be read; its parcel is the error


class DaskGroups:
    """People who are grouped on a cluster when something about them is first asked for, and stay there.

    Parameters
    ----------
    cluster : Cluster
    grouping : Grouping
    pieces : list of Piece
        Whose `read` gives origins.
    place_rows : int
        Rows that are enough for a place.
    """

    def __init__(self, cluster: Any, grouping: Grouping, pieces: list[Piece], place_rows: int) -> None:
        self._cluster, self._grouping, self._pieces = cluster, grouping, pieces
        self._n_places = _n_places(pieces, cluster.n_threads(), place_rows)  # also where workers come and go
        self._futures: list[Any] | None = None
        self._terms: Any = None  # without them Dask could not compute again what a lost worker had
        self._facts: list[tuple[int, int, Any]] = []

    def n_people(self) -> int:
        """Of all places."""
        self._settle()
        return sum(n_people for n_people, _, _ in self._facts)

    def notes(self) -> Any:
        """Of all places together."""
        self._settle()
        return reduce(add, (notes for _, _, notes in self._facts), self._grouping.join(iter(()), 0).notes())

    def parts(self) -> Iterator[Part]:
        """The people of one place after the other, brought here."""
        futures = self._settle()
        for number in range(len(futures)):
            yield self._cluster.again(lambda number=number: self._settle()[number].result(), self.forget)

    def pieces(self) -> list[Piece]:
        """The people of each place that has any."""
        futures = self._settle()
        pairs = zip(futures, self._facts, strict=True)
        return [Piece(source_of, (one,), n_people, n_bytes) for one, (n_people, n_bytes, _) in pairs if n_people]

    def forget(self) -> None:
        """Group them anew when they are asked for next: a cluster that lost too much cannot."""
        self._futures = None

    def _settle(self) -> list[Any]:
        """Parts on the cluster; they are made at the first call."""
        if self._futures is None:
            self._futures = self._cluster.again(self._make, self.forget)
        return self._futures

    def _make(self) -> list[Any] | Failure:
        from dask import delayed

        if not self._pieces:
            self._facts = []
            return []
        client = self._cluster.client
        futures = self._cluster.compute([delayed(join_place, pure=False)(*one) for one in self._moved()])
        facts = client.gather(client.map(tell_part, futures, pure=False))
        self._facts = facts
        return next((one for one in facts if isinstance(one, Failure)), list(futures))

    def _moved(self) -> list[tuple[Any, Any]]:
        """For each place, how its rows are joined, and a frame of their parcels; not computed yet."""
        import dask.dataframe as dd
        from dask import delayed

        n_places = self._n_places
        terms = self._cluster.broadcast((self._grouping, [piece.read for piece in self._pieces], own_versions()))
        self._terms = terms
        frames = [
            delayed(pack_piece, pure=False)(terms, number, list(piece.needs), n_places)
            for number, piece in enumerate(self._pieces)
        ]
        parcels = dd.from_delayed(frames, meta=_frame([], [], [], []), verify_meta=False)
        placed = parcels.set_index("place", divisions=list(range(n_places + 1)), shuffle_method="p2p")
        return [(terms, frame) for frame in placed.to_delayed()]


def _n_places(pieces: list[Piece], threads: int, place_rows: int) -> int:
    """As many as threads can work on at the same time, and more where many rows are known to be there.

    All threads have as many places as others. Of text files nobody knows how long they are: then there are as many
    places as files at least.
    """
    counts = [piece.n_entries for piece in pieces]
    known = [count for count in counts if count is not None]
    by_rows = sum(known) // place_rows if len(known) == len(counts) else len(counts)
    return int(min(threads * max(-(-by_rows // threads), 4), MOST_PLACES))


def pack_piece(terms: tuple[Grouping, list[Read], Any], number: int, values: Sequence[Any], n_places: int) -> Any:
    """A frame of parcels, one for each place that gets anything of this piece, or of the error that it raised."""
    packed = _pack(terms, number, values, n_places)
    if isinstance(packed, Failure):
        return _frame([0], [_BROKEN], [0], [pickle.dumps(packed)])
    parcels, n_left_out = packed
    # What is told about rows without an id goes to the first place.
    places = [place for place, parcel in enumerate(parcels) if parcel or (place == 0 and n_left_out)]
    left_out = [n_left_out if place == 0 else 0 for place in places]
    return _frame(places, [number] * len(places), left_out, [parcels[place] for place in places])


@telling
def _pack(terms: tuple[Grouping, list[Read], Any], number: int, values: Sequence[Any], n_places: int) -> Any:
    grouping, reads, versions = terms
    check_versions(versions)
    return pack(grouping.rows(reads[number](*values)), n_places)


@telling
def join_place(terms: tuple[Grouping, list[Read], Any], frame: Any) -> Any:
    """The people of one place, from parcels of all pieces in their order."""
    numbers, parcels = frame["piece"].to_numpy(), pa.array(frame["parcel"])
    order = np.argsort(numbers, kind="stable")
    if len(order) and numbers[order[0]] == _BROKEN:
        return pickle.loads(parcels[int(order[0])].as_buffer())
    return terms[0].join(_rows_of(parcels, order), int(frame["left_out"].sum()))


def _rows_of(parcels: Any, order: Any) -> Iterator[Rows]:
    for number in order:
        buffer = parcels[int(number)].as_buffer()
        if buffer is not None:
            yield from unpack(buffer)


@telling
def tell_part(part: Any) -> Any:
    """People, memory and notes of a part, for the client."""
    return part if isinstance(part, Failure) else (part.n_people, part.n_bytes, part.notes())


def _frame(places: list[int], numbers: list[int], left_out: list[int], parcels: list[bytes]) -> Any:
    """A table that Dask can move: a row is a parcel."""
    import pandas as pd

    binary = pd.ArrowDtype(pa.large_binary())
    integers = {"place": places, "piece": numbers, "left_out": left_out}
    columns = {name: np.array(values, np.int64) for name, values in integers.items()}
    return pd.DataFrame({**columns, "parcel": pd.array(pa.array(parcels, pa.large_binary()), dtype=binary)})
