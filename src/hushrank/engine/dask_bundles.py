"""Which task of a pass reads which pieces."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hushrank.data.source import Piece
from hushrank.engine.dask_clusters import Cluster
from hushrank.engine.dask_tasks import HeldBlocks

HELD_BYTES = 2**24  # of blocks that are sent to a worker at a time
TOGETHER_BYTES = 2**31  # of people who were brought together, for one task

_TASKS_A_THREAD = 8  # of a pass: enough to share out evenly, few enough for the scheduler


class Held(tuple[Any, ...]):
    """Blocks of data on their way to a worker; nobody prints them."""

    def __repr__(self) -> str:
        return f"{len(self)} blocks"


def read_held(empty: Any, blocks: Sequence[Any]) -> HeldBlocks:
    """What reads blocks where they were sent."""
    return HeldBlocks(blocks, empty)


def gathered(blocks: Iterator[Any]) -> Iterator[list[Any]]:
    """Blocks, several at a time where they are small."""
    held: list[Any] = []
    n_bytes = 0
    for block in blocks:
        held.append(block)
        n_bytes += _bytes_of(block)
        if n_bytes >= HELD_BYTES:
            yield held
            held, n_bytes = [], 0
    if held:
        yield held


def _bytes_of(block: Any) -> int:
    """Bytes of an array, or of the arrays of a record."""
    if isinstance(block, np.ndarray):
        return block.nbytes
    names = getattr(type(block), "__slots__", ()) or vars(block)
    return sum(int(getattr(getattr(block, name), "nbytes", 0)) for name in names)


def bundle(cluster: Cluster, pieces: list[Piece], is_shared: bool) -> list[tuple[list[int], str | None]]:
    """Which pieces a task reads: several of files, one of those that lie in memory. And the worker it is for, if any.

    Where totals are too large for many tasks, a worker has one task for all that it holds, or for as much as may be in
    memory at once. What is not computed yet is a task of its own even then, for whoever will compute it.
    """
    numbers = list(range(len(pieces)))
    workers = cluster.workers() if is_shared else []
    if not any(piece.needs for piece in pieces):
        if not workers:
            return [(part, None) for part in _even(numbers, 1 if is_shared else _TASKS_A_THREAD * cluster.n_threads())]
        parts = _even(numbers, len(workers))
        return list(zip(parts, workers[: len(parts)], strict=True))
    needs = [need for piece in pieces for need in piece.needs]
    if not is_shared or not all(hasattr(type(need), "status") for need in needs):  # what is delayed has any attribute
        return [([number], None) for number in numbers]
    holders = cluster.client.who_has(needs)
    by_worker: dict[str | None, list[int]] = {}
    for number in numbers:
        held_by = holders.get(pieces[number].needs[0].key) or workers or (None,)
        by_worker.setdefault(held_by[0], []).append(number)
    return [(part, worker) for worker, held in by_worker.items() for part in _limited(held, pieces)]


def _limited(numbers: list[int], pieces: list[Piece]) -> Iterator[list[int]]:
    """Lists of no more memory than may be taken at once, unless of one piece."""
    part: list[int] = []
    for number in numbers:
        if part and sum(pieces[one].n_bytes for one in (*part, number)) > TOGETHER_BYTES:
            yield part
            part = []
        part.append(number)
    yield part


def _even(numbers: list[int], most: int) -> list[list[int]]:
    """Consecutive numbers in at most so many lists of about equal length."""
    n_lists = min(most, len(numbers))
    edges = [len(numbers) * number // n_lists for number in range(n_lists + 1)]
    return [numbers[start:stop] for start, stop in itertools.pairwise(edges)]
