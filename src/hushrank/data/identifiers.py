"""Ids, int64, uint64 or str, as consecutive codes: an exact hash table, made once and looked up a block at a time.

Ids are compared in their canonical form (see `text_values`), byte by byte after their hashes, so two of them never
share a code. Hashes alone would merge two users one day, and with them what the guarantee protects.
"""

from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.text_values import Texts, canonical_texts
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.quantize import compiled

Number = TypeVar("Number", bound=np.generic)
Codes = NDArray[np.int32]
Bytes = NDArray[np.uint8]

_MOST_IDS = 2**31 - 1
_LOOK_AHEAD = 256


class IdTable:
    """Ids of one type, each with a code in the order of their first appearance.

    Examples
    --------
    >>> table = IdTable()
    >>> table.add(pa.array(["tea", None, "jam", "tea"])).tolist()
    [0, -1, 1, 0]
    >>> table.find(pa.array(["jam", "oil"])).tolist(), len(table)
    ([1, -1], 2)
    """

    __slots__ = ("_bytes", "_kind", "_n_ids", "_slots", "_starts")

    def __init__(self) -> None:
        self._kind: str | None = None
        self._n_ids = 0
        # Upper half of a slot: of the hash; lower half: code + 1, or 0 if it is empty.
        self._slots: NDArray[np.uint64] = np.zeros(2, np.uint64)
        # Where the bytes of each code start, and those of the last one end.
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64)
        self._bytes: Bytes = np.zeros(1, np.uint8)  # longer than what is used: one more may be read

    def add(self, ids: pa.Array) -> Codes:
        """Code of each id, -1 for nulls and empty texts; ids not seen before get the next codes.

        Parameters
        ----------
        ids : Arrow array of integers, string, large string, binary or large binary
            Of the kind of the ids before: signed or unsigned integers, or texts.
        """
        starts, data, valid = self._to_bytes(ids)
        self._make_room(len(ids), int(starts[-1] - starts[0]))
        codes = np.empty(len(ids), np.int32)
        self._n_ids = _add(starts, data, valid, self._slots, self._starts, self._bytes, self._n_ids, codes)
        return codes

    def find(self, ids: pa.Array) -> Codes:
        """Code of each id, -1 for nulls and for ids that were not added."""
        codes = np.empty(len(ids), np.int32)
        _find(*self._to_bytes(ids), self._slots, self._starts, self._bytes, codes)
        return codes

    def __len__(self) -> int:
        return self._n_ids

    def _to_bytes(self, ids: pa.Array) -> Texts:
        """Where the bytes of each id start, the bytes, and which ids are not null."""
        if pa.types.is_null(ids.type):
            return np.zeros(len(ids) + 1, np.int64), np.empty(0, np.uint8), np.zeros(len(ids), np.bool_)
        kind = _kind_of(ids.type)
        if self._kind not in (None, kind):  # 2^64 - 1 and -1 have the same bits
            raise TypeError(f"ids of one table must be of one kind; got {kind} after {self._kind}.")
        self._kind = kind
        if kind == "text":
            return canonical_texts(ids)
        valid = ids.is_valid().to_numpy(zero_copy_only=False)
        wide = ids.cast(pa.uint64() if kind == "unsigned" else pa.int64())
        values = wide.fill_null(0).to_numpy(zero_copy_only=False)
        return np.arange(len(ids) + 1) * 8, np.ascontiguousarray(values).view(np.uint8), valid

    def _make_room(self, n_more: int, n_more_bytes: int) -> None:
        """Grow so that so many new ids fit, and half of the slots stay empty."""
        n_ids, n_bytes = self._n_ids + n_more, int(self._starts[self._n_ids]) + n_more_bytes
        if n_ids > _MOST_IDS:
            raise MemoryError(f"more than {_MOST_IDS} ids in one table.")
        if len(self._slots) < 2 * n_ids:
            slots = np.zeros(1 << (2 * n_ids - 1).bit_length(), np.uint64)
            _move_slots(self._slots, slots)
            self._slots = slots
        if len(self._starts) <= n_ids:
            self._starts = _grown(self._starts, n_ids + 1)
        if len(self._bytes) <= n_bytes:
            self._bytes = _grown(self._bytes, n_bytes + 1)


def places_of(ids: pa.Array, n_places: int) -> Codes:
    """A place between 0 and n_places - 1 for each id, by the hash of its canonical form; -1 for nulls and empty texts.

    All records of one person go to one place, whoever computes it. Two people may share one.

    Examples
    --------
    >>> places = places_of(pa.array(["7", "x", None, " 7.0 "]), 1000)
    >>> bool(places[0] == places[3]), int(places[2])
    (True, -1)
    """
    places = np.empty(len(ids), np.int32)
    _find_places(*IdTable()._to_bytes(ids), n_places, places)
    return places


def code_everybody(ids: pa.Array, given: str, name: str, owner: str) -> tuple[Codes, pa.Array]:
    """Code of each id in the order of their first appearance, and the ids of these codes, for those who want an answer.

    All are answered or all are refused: a missing id, and an id in two spellings, of which one would find no answer.
    `given`, `name` and `owner` say what the ids were given in, which parameter it was and who asks.
    """
    codes = IdTable().add(ids)
    if (codes < 0).any():
        raise InvalidParameter(owner, name, f"{given} with a user in every row", "a row without one")
    _, first = np.unique(codes, return_index=True)
    users = ids.take(pa.array(first))
    if not ids.equals(users.take(pa.array(codes))):
        requirement = f"{given} with one spelling of every user (7, 07 and 7.0 are one)"
        raise InvalidParameter(owner, name, requirement, "two spellings of one user")
    return codes, users


def _kind_of(dtype: pa.DataType) -> str:
    if pa.types.is_integer(dtype):
        return "unsigned" if pa.types.is_uint64(dtype) else "signed"
    return "text"


def _grown(array: NDArray[Number], size: int) -> NDArray[Number]:
    """A copy with room for at least `size` entries, and at least half as many again as before."""
    copy: NDArray[Number] = np.zeros(max(size, len(array) + len(array) // 2), array.dtype)
    copy[: len(array)] = array
    return copy


@compiled
def _hash(data: Bytes, start: int, stop: int) -> np.uint64:
    """A 64-bit hash (FNV-1a, then the last mixing steps of MurmurHash3) of some bytes."""
    h = np.uint64(0xCBF29CE484222325)
    for k in range(start, stop):
        h = (h ^ np.uint64(data[k])) * np.uint64(0x100000001B3)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@compiled
def _find_places(
    starts: NDArray[np.int64], data: Bytes, valid: NDArray[np.bool_], n_places: int, places: Codes
) -> None:
    """Fill `places`."""
    for i in range(len(places)):
        places[i] = -1
        if valid[i]:
            # By the lower half: by the upper one tables find their slots, and at one place these would be few.
            lower = _hash(data, starts[i], starts[i + 1]) & np.uint64(0xFFFFFFFF)
            places[i] = np.int64(lower % np.uint64(n_places))


@compiled
def _look_ahead(
    starts: NDArray[np.int64],
    data: Bytes,
    slots: NDArray[np.uint64],
    known_starts: NDArray[np.int64],
    known: Bytes,
    tags: NDArray[np.uint64],
) -> int:
    """Fill `tags`, and load what the next ids will be compared with: together, which is faster than one by one."""
    mask = np.uint64(len(slots) - 1)
    n_ids, seen = len(starts) - 1, 0
    peeked = np.empty(n_ids, np.int64)
    for i in range(n_ids):
        tags[i] = _hash(data, starts[i], starts[i + 1]) >> np.uint64(32)
    for i in range(n_ids):
        peeked[i] = np.int64(slots[tags[i] & mask] & np.uint64(0xFFFFFFFF))
    for i in range(n_ids):
        peeked[i] = known_starts[max(peeked[i] - 1, 0)]
    for i in range(n_ids):
        seen += known[peeked[i]]
    return seen


@compiled
def _slot_of(
    data: Bytes,
    start: int,
    stop: int,
    tag: np.uint64,
    slots: NDArray[np.uint64],
    known_starts: NDArray[np.int64],
    known: Bytes,
) -> np.uint64:
    """The slot with the id, or the empty one where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = tag & mask
    while slots[slot] != np.uint64(0):
        if slots[slot] >> np.uint64(32) == tag:
            code = np.int64(slots[slot] & np.uint64(0xFFFFFFFF)) - 1
            first, length = known_starts[code], stop - start
            if known_starts[code + 1] - first == length:
                k = 0
                while k < length and known[first + k] == data[start + k]:
                    k += 1
                if k == length:
                    break
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled
def _add(
    starts: NDArray[np.int64],
    data: Bytes,
    valid: NDArray[np.bool_],
    slots: NDArray[np.uint64],
    known_starts: NDArray[np.int64],
    known: Bytes,
    n_ids: int,
    codes: Codes,
) -> int:
    """Fill `codes`, adding ids to the table where there is room for them; the new number of ids."""
    tags = np.empty(_LOOK_AHEAD, np.uint64)
    for i in range(len(codes)):
        if i % _LOOK_AHEAD == 0:
            _look_ahead(starts[i : i + _LOOK_AHEAD + 1], data, slots, known_starts, known, tags)
        codes[i] = -1
        if valid[i]:
            tag = tags[i % _LOOK_AHEAD]
            slot = _slot_of(data, starts[i], starts[i + 1], tag, slots, known_starts, known)
            if slots[slot] == np.uint64(0):
                first = known_starts[n_ids]
                for k in range(starts[i], starts[i + 1]):
                    known[first + k - starts[i]] = data[k]
                known_starts[n_ids + 1] = first + starts[i + 1] - starts[i]
                n_ids += 1
                slots[slot] = (tag << np.uint64(32)) | np.uint64(n_ids)
            codes[i] = np.int64(slots[slot] & np.uint64(0xFFFFFFFF)) - 1
    return n_ids


@compiled
def _find(
    starts: NDArray[np.int64],
    data: Bytes,
    valid: NDArray[np.bool_],
    slots: NDArray[np.uint64],
    known_starts: NDArray[np.int64],
    known: Bytes,
    codes: Codes,
) -> None:
    """Fill `codes` from the table."""
    tags = np.empty(_LOOK_AHEAD, np.uint64)
    for i in range(len(codes)):
        if i % _LOOK_AHEAD == 0:
            _look_ahead(starts[i : i + _LOOK_AHEAD + 1], data, slots, known_starts, known, tags)
        codes[i] = -1
        if valid[i]:
            tag = tags[i % _LOOK_AHEAD]
            slot = _slot_of(data, starts[i], starts[i + 1], tag, slots, known_starts, known)
            codes[i] = np.int64(slots[slot] & np.uint64(0xFFFFFFFF)) - 1


@compiled
def _move_slots(slots: NDArray[np.uint64], larger: NDArray[np.uint64]) -> None:
    """Put the ids of a table into a larger one, by their hashes."""
    mask = np.uint64(len(larger) - 1)
    for content in slots:
        if content != np.uint64(0):
            slot = (content >> np.uint64(32)) & mask
            while larger[slot] != np.uint64(0):
                slot = (slot + np.uint64(1)) & mask
            larger[slot] = content
