"""People's rows on their way to one place each: parcels of ids and numbers, as bytes.

Where rows of one person lie in many parts of the data, whoever reads a part makes one parcel for every place, and all
rows of a person are in parcels for the same one, see `places_of`. Numbers keep their bits. Parcels of one part, opened
in the order in which they were packed, have the rows of each person in the order of that part.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.identifiers import places_of

# Ids as an Arrow array, and arrays of numbers: vectors, or matrices with a row for each id.
Rows = tuple[pa.Array, Sequence[NDArray[Any]]]

PACKED_ROWS, PACKED_BYTES = 2**20, 2**28  # that are sorted by place at a time


def pack(
    batches: Iterable[Rows], n_places: int, most: int = PACKED_ROWS, most_bytes: int = PACKED_BYTES
) -> tuple[list[bytes], int]:
    """A parcel for each place, empty where nobody belongs there, and how many rows have no id; these are left out.

    Parameters
    ----------
    batches : iterable of pairs
        Ids of one kind, and arrays of numbers; as many and of the same widths in every batch.
    n_places : int
    most, most_bytes : int
        Rows, or bytes of them, that are sorted at a time.

    Examples
    --------
    >>> rows = (pa.array([3, None, 5]), [np.array([0.5, 1.5, 2.5])])
    >>> parcels, n_left_out = pack([rows], n_places=4)
    >>> sorted(number for parcel in parcels for _, (numbers,) in unpack(parcel) for number in numbers.tolist())
    [0.5, 2.5]
    >>> n_left_out
    1
    """
    sinks = [pa.BufferOutputStream() for _ in range(n_places)]
    waiting: list[Rows] = []
    n_waiting = n_bytes = n_left_out = 0
    for ids, arrays in batches:
        waiting.append((ids, arrays))
        n_waiting, n_bytes = n_waiting + len(ids), n_bytes + ids.nbytes + sum(array.nbytes for array in arrays)
        if n_waiting >= most or n_bytes >= most_bytes:
            n_left_out += _send(waiting, sinks)
            waiting, n_waiting, n_bytes = [], 0, 0
    if waiting:
        n_left_out += _send(waiting, sinks)
    return [sink.getvalue().to_pybytes() for sink in sinks], n_left_out


def unpack(parcel: Any) -> Iterator[Rows]:
    """Ids and arrays of a parcel, bytes or an Arrow buffer; the arrays must not be written to."""
    reader = pa.BufferReader(parcel)
    while reader.tell() < reader.size():
        with pa.ipc.open_stream(reader) as stream:
            for batch in stream:
                yield batch.column(0), [_to_numbers(column) for column in batch.columns[1:]]


def narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the narrowest type that holds all of them; NaN is one number, and zero has no sign.

    Examples
    --------
    >>> [narrow(np.array(one)).dtype.name for one in ([1.0, 5.0], [0.5, np.nan], [0.1], [70000, -1])]
    ['int8', 'float32', 'float64', 'int32']
    """
    types = _OF_FLOATS if numbers.dtype.kind == "f" else _OF_INTEGERS
    for dtype in types:
        with np.errstate(all="ignore"):  # signaling NaNs, and numbers that do not fit
            narrower = numbers.astype(dtype)
            if np.array_equal(narrower, numbers, equal_nan=True):
                return narrower
    return numbers


_OF_FLOATS, _OF_INTEGERS = (np.int8, np.float32), (np.int8, np.int16, np.int32)


def _send(waiting: list[Rows], sinks: list[pa.BufferOutputStream]) -> int:
    """Write rows to the parcels of their places, each in its order; how many have none."""
    ids = _narrow_ids(_join_ids([ids for ids, _ in waiting]))
    places = places_of(ids, len(sinks))
    few = places.astype(np.int16) if len(sinks) < 2**15 else places  # sorted by counting
    order = np.argsort(few, kind="stable")
    ends = np.cumsum(np.bincount(places + 1, minlength=len(sinks) + 1))
    columns = [np.concatenate(parts)[order] for parts in zip(*(arrays for _, arrays in waiting), strict=True)]
    names = [str(j) for j in range(1 + len(columns))]
    batch = pa.RecordBatch.from_arrays([ids.take(pa.array(order)), *map(_to_arrow, columns)], names)
    for place, sink in enumerate(sinks):
        start, stop = int(ends[place]), int(ends[place + 1])
        if stop > start:
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch.slice(start, stop - start))
    return int(ends[0])


def _join_ids(parts: list[pa.Array]) -> pa.Array:
    """Ids of one kind as one array; a part in which nobody has an id has no type of its own."""
    types = {part.type for part in parts} - {pa.null()}
    return pa.concat_arrays([part.cast(min(types, key=str)) if types else part for part in parts])


def _narrow_ids(ids: pa.Array) -> pa.Array:
    """The same ids; integers as int32, if that holds all of them: they are one kind of ids."""
    if ids.type != pa.int64():
        return ids
    try:
        return ids.cast(pa.int32())
    except pa.ArrowInvalid:
        return ids


def _to_arrow(numbers: NDArray[Any]) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(numbers).reshape(-1))
    return flat if numbers.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, numbers.shape[1])


def _to_numbers(column: pa.Array) -> NDArray[Any]:
    if not pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.to_numpy())
    return np.asarray(column.flatten().to_numpy()).reshape(len(column), column.type.list_size)
