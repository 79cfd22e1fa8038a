"""Collections of Dask as streams of blocks: what is known of their types comes first, then one partition at a time.

Read here, partitions are computed one after the other; a piece of such a stream is one partition, which is computed
where the piece is read. Nothing of Dask is imported before somebody brings an object of it.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hushrank.data.source import Piece
from hushrank.exceptions import InvalidParameter

_KINDS = "a dask DataFrame, Series or array"
_SIZED = "a dask array of rows, whose other sizes are known"
_ALIGNED = "dask collections of as many partitions as X, or an array with chunks of known length"


def is_lazy_collection(data: Any) -> bool:
    """Whether `data` is an object of Dask that is not computed yet."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(data))


def lazy_records(X: Any, y: Any, users: Any, owner: str) -> tuple["LazyBlocks", Any, Any]:
    """Records of Dask as a stream, with y and users as they stand beside one: names of columns, or parts of blocks.

    X may be a pair of collections.
    """
    parts = {"y": y, "users": users}
    lazy = {name: part for name, part in parts.items() if is_lazy_collection(part)}
    odd = [name for name, part in parts.items() if not (name in lazy or part is None or isinstance(part, str))]
    if lazy and not odd:  # beside a part there are no names
        odd = [name for name, part in parts.items() if isinstance(part, str)]
    if odd or list(lazy) == ["users"] or (isinstance(X, tuple) and not lazy):  # a pair has no columns for answers
        name = odd[0] if odd else "y"
        requirement = "of Dask as X is, or the name of a column, both of y and users"
        raise InvalidParameter(owner, name, requirement, type(parts[name]).__name__)
    blocks = LazyBlocks(
        *(X if isinstance(X, tuple) else (X,)), *lazy.values(), owner=owner, is_pair=isinstance(X, tuple)
    )
    return (blocks, None, None) if lazy else (blocks, y, users)


def is_lazy_pair(data: Any) -> bool:
    """Whether `data` is a tuple of two objects of Dask."""
    return isinstance(data, tuple) and len(data) == 2 and all(map(is_lazy_collection, data))


class LazyBlocks:
    """Partitions of a dask DataFrame or array, or tuples of those of several that belong together.

    A function without arguments that returns the blocks anew each time, as streams of blocks have it. The first block
    is an empty one that has the types of all.

    Parameters
    ----------
    *collections : dask DataFrame, Series or array
        An array has all columns in one chunk, or is brought into that form.
    owner : str
        Who asks, for error messages.
    is_pair : bool
        Whether the first two are a pair in every block.
    """

    def __init__(self, *collections: Any, owner: str, is_pair: bool = False) -> None:
        names = [*["X"] * (1 + is_pair), "y", "users"][: len(collections)]
        first, *others = (_check_kind(one, name, owner) for one, name in zip(collections, names, strict=True))
        aligned = [first, *(_align(one, first, name, owner) for one, name in zip(others, names[1:], strict=True))]
        self._form = _Form(is_pair)
        self._meta = self._form.block(*map(_empty_like, aligned))
        self._partitions = list(zip(*_partitions_together(aligned), strict=True))
        self._lengths = _lengths_of(first)

    def __call__(self) -> Iterator[Any]:
        """The blocks, computed one after the other by whatever scheduler Dask uses."""
        import dask

        yield self._meta
        for partition in self._partitions:
            yield self._form.block(*dask.compute(*partition))

    def pieces(self, make: Callable[[Any], Any]) -> list[Piece]:
        """A piece for each partition; `make`, which can be pickled, makes a source or origin of a stream of blocks."""
        lengths: Sequence[int | None] = self._lengths or [None] * len(self._partitions)
        read = partial(_read_given, make, self._meta, self._form)
        return [Piece(read, needs, n_rows) for needs, n_rows in zip(self._partitions, lengths, strict=True)]


@dataclass(frozen=True, slots=True)
class _Form:
    """How values that belong together make a block."""

    is_pair: bool

    def block(self, *values: Any) -> Any:
        parts = ((values[0], values[1]), *values[2:]) if self.is_pair else values
        return parts if len(parts) > 1 else parts[0]


class GivenBlocks:
    """The types of all blocks, and one block; a function without arguments that returns both."""

    def __init__(self, *blocks: Any) -> None:
        self._blocks = blocks

    def __call__(self) -> Iterator[Any]:
        """The blocks."""
        return iter(self._blocks)


def _read_given(make: Callable[[Any], Any], meta: Any, form: _Form, *values: Any) -> Any:
    return make(GivenBlocks(meta, form.block(*values)))


def _is_array(collection: Any) -> bool:
    # Of the class: a frame may have a column of this name, and what is delayed has any attribute.
    return hasattr(type(collection), "rechunk")


def _check_kind(collection: Any, name: str, owner: str) -> Any:
    """A frame, or an array that is cut along its rows alone."""
    if _is_array(collection):
        if collection.ndim == 0 or np.isnan(collection.shape[1:]).any():
            raise InvalidParameter(owner, name, _SIZED, f"shape {collection.shape}")
        return collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
    is_frame = all(hasattr(type(collection), one) for one in ("npartitions", "divisions", "to_delayed"))
    if not is_frame or collection.ndim == 0:
        raise InvalidParameter(owner, name, _KINDS, type(collection).__name__)
    return collection


def _align(collection: Any, first: Any, name: str, owner: str) -> Any:
    """A collection whose partitions belong to those of the first."""
    lengths = _lengths_of(collection), _lengths_of(first)
    if None not in lengths and lengths[0] != lengths[1]:
        if collection.shape[0] != first.shape[0]:
            raise InvalidParameter(owner, name, _ALIGNED, f"shape {collection.shape}")
        collection = collection.rechunk({0: first.chunks[0]})
    if _n_partitions(collection) != _n_partitions(first):
        raise InvalidParameter(owner, name, _ALIGNED, f"{_n_partitions(collection)} partitions")
    return collection


def _n_partitions(collection: Any) -> int:
    return len(collection.chunks[0]) if _is_array(collection) else int(collection.npartitions)


def _partitions_together(collections: Sequence[Any]) -> list[list[Any]]:
    """Partitions of all of them, not computed; Dask may join those of a frame of which few columns are read."""
    for optimize in (True, False):
        found = [list(np.ravel(one.to_delayed(optimize_graph=optimize))) for one in collections]
        if len({len(partitions) for partitions in found}) == 1:
            break
    return found


def _lengths_of(collection: Any) -> list[int] | None:
    """Rows of each partition, where they are known."""
    lengths = collection.chunks[0] if _is_array(collection) else (np.nan,)
    return None if np.isnan(lengths).any() else [int(length) for length in lengths]


def _empty_like(collection: Any) -> Any:
    """A partition without rows."""
    if _is_array(collection):
        return np.empty((0, *collection.shape[1:]), collection.dtype)
    from dask.dataframe.utils import make_meta

    return make_meta(collection)
