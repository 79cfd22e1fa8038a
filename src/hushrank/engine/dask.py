"""Sums over people on a Dask cluster, with the bits of one machine.

Workers read pieces of the data by themselves, bound and add up what people contribute, and add up the sums of others,
all of it in integers. Only sums come back; noise is drawn where the fit was called, and never on a worker. Workers see
raw data and secret sums: they are as trusted as the machine that calls.
"""

import os
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hushrank.data.regrouping import Grouping
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Piece, Source
from hushrank.engine.dask_bundles import Held, bundle, gathered, read_held
from hushrank.engine.dask_clusters import Cluster, address_of, check_cluster, connect, kept_at
from hushrank.engine.dask_files import check_paths
from hushrank.engine.dask_moves import DaskGroups
from hushrank.engine.dask_sums import LARGE_FAN_IN, shared_sums, whole_sums
from hushrank.engine.dask_tasks import (
    Failure,
    HeldBlocks,
    Job,
    Sums,
    Work,
    from_sums,
    kernel_job,
    own_versions,
    sum_pieces,
)
from hushrank.engine.local import Advance, LocalEngine
from hushrank.engine.progress import show_progress
from hushrank.engine.protocol import IntegerArray, Kernel, SharedKernel, Totals
from hushrank.exceptions import HushrankError, StateMisuse
from hushrank.parameters import check_integer

PLACE_ROWS = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class _Leaves:
    """Tasks that sum up pieces, not computed yet.

    Attributes
    ----------
    tasks : list of Delayed
    workers : list of str or None
        The worker that each is for, if any.
    counts : list of int
        Entries of each, 0 if unknown.
    """

    tasks: list[Any]
    workers: list[str | None]
    counts: list[int]


class DaskEngine:
    """A Dask cluster: processes or threads on this machine, or any `distributed.Client`.

    Parameters
    ----------
    cluster : distributed.Client, str or None
        A client, the address of a scheduler, or "processes" or "threads" for a cluster on this machine that ends with
        this object. None is the current client and, where there is none, "processes".
    piece_rows : int, default 2**21
        Rows of a file that are enough for a task. It changes time and memory, never a result.
    place_rows : int, default 2**22
        Rows of people that are enough for one place, where they are brought together. It never changes a result.
    block_rows : int, default 8192
        Most rows per block of data that this process sends to workers, between 1 and 8192. It never changes a result.

    Examples
    --------
    >>> from hushrank.data.rows.reading import read_rows
    >>> def column_sums(block, factor):
    ...     return factor * block.sum(axis=0, dtype="int64")
    >>> DaskEngine("threads").total(read_rows([[1, 2], [3, 4]], owner="example"), column_sums, 10)
    array([40, 60])
    """

    def __init__(
        self,
        cluster: Any = None,
        *,
        piece_rows: int = PIECE_ROWS,
        place_rows: int = PLACE_ROWS,
        block_rows: int = MAX_BLOCK_ROWS,
    ) -> None:
        check_cluster(cluster, "DaskEngine")
        terms = {"piece_rows": piece_rows, "place_rows": place_rows, "block_rows": block_rows}
        for name, rows in terms.items():
            check_integer(rows, name, "DaskEngine", minimum=1)
        check_integer(block_rows, "block_rows", "DaskEngine", minimum=1, maximum=MAX_BLOCK_ROWS)
        self._address = address_of(cluster)  # also where the client is closed by then
        self._given, self._terms = cluster, {name: int(rows) for name, rows in terms.items()}
        self._connected: Cluster | None = None
        self._process = os.getpid()
        # Pieces of each source, and what reads them, as workers have it.
        self._ready: weakref.WeakKeyDictionary[Source, tuple[list[Piece], Any]] = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"DaskEngine({self._address!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A client belongs to a process; whoever gets a copy elsewhere connects anew.
        return partial(DaskEngine, **self._terms), (self._address,)

    def __copy__(self) -> "DaskEngine":
        return self

    def __deepcopy__(self, memo: Any) -> "DaskEngine":
        return self

    def check(self, owner: str = "DaskEngine") -> None:
        """Refuse a cluster that is out of reach, without workers, or whose workers would compute something else."""
        self._cluster(owner).check(owner)

    def place(self, source: Source, owner: str = "DaskEngine") -> Source:
        """A source of the same data that is read by workers; checks the cluster and what it sees, and reads nothing."""
        self.check(owner)
        self._ready.pop(source, None)  # what the caller has may have changed since
        placed = source.regrouped(partial(self.group, owner=owner), self._terms["piece_rows"])
        if placed is source:
            check_paths(self._cluster(owner), source.pieces(self._terms["piece_rows"]) or (), owner)
        return placed

    def group(self, grouping: Grouping, pieces: list[Piece], owner: str = "DaskEngine") -> DaskGroups:
        """People of pieces, whose `read` gives origins, brought to one place each when they are first asked for."""
        check_paths(self._cluster(owner), pieces, owner)
        return DaskGroups(self._cluster(owner), grouping, pieces, self._terms["place_rows"])

    def total(
        self,
        source: Source,
        kernel: Kernel[Totals] | SharedKernel,
        public_state: Any,
        *,
        verbose: int = 0,
        label: str = "",
    ) -> Totals:
        """Sum of kernel(block, public_state) over all blocks, modulo 2^64; see `LocalEngine.total`."""
        if not self._again(source, partial(self._pieces, source)):  # an empty block tells the shapes
            return LocalEngine(1).total(HeldBlocks([], source.empty_block()), kernel, public_state)
        job = kernel_job(kernel, public_state)
        with show_progress(source.n_samples, label, verbose) as advance:
            result: Totals = from_sums(self._run(source, job, advance if verbose else None))
        return result

    def fold(self, source: Source, work: Work, state: Any, *, once_a_worker: bool) -> tuple[IntegerArray, ...] | None:
        """Sums of work(source, state, threads), tuples of int64 arrays; None where there are no data.

        The source is some of the pieces, and has an iterator `sources()` over them. With `once_a_worker` there are as
        many sums as workers, for arrays that are large.
        """
        if not self._again(source, partial(self._pieces, source)):
            return None
        sums: tuple[IntegerArray, ...] = from_sums(self._run(source, Job(work, state, once_a_worker, own_versions())))
        return sums

    def each(self, source: Source, work: Work, state: Any) -> list[Any]:
        """What work(source, state, threads) gives for every piece; anything that can be pickled."""
        job = Job(work, state, False, own_versions())
        results: list[Any] = self._again(source, partial(self._results, source, job))
        return [from_sums(one) for one in results]

    def _again(self, source: Source, action: Callable[[], Any]) -> Any:
        return self._cluster("DaskEngine").again(action, partial(self._forget, source))

    def _run(self, source: Source, job: Job, advance: Advance | None = None) -> Sums:
        """Sums of a job over all pieces; tried again where the cluster lost what cannot be computed."""
        sums: Sums = self._again(source, partial(self._sums, source, job, advance))
        return sums

    def _results(self, source: Source, job: Job) -> Any:
        cluster = self._cluster("DaskEngine")
        results = cluster.client.gather(cluster.compute(self._leaves(source, job).tasks))
        return next((one for one in results if isinstance(one, Failure)), results)

    def _sums(self, source: Source, job: Job, advance: Advance | None) -> Any:
        leaves, cluster = self._leaves(source, job), self._cluster("DaskEngine")
        watch = partial(_watch, advance, leaves.counts) if advance else None
        if not job.uses_all_threads:
            return whole_sums(cluster, leaves.tasks, watch)
        workers = [worker for worker in leaves.workers if worker]
        if len(workers) < len(leaves.tasks):
            return whole_sums(cluster, leaves.tasks, watch, LARGE_FAN_IN)
        return shared_sums(cluster, leaves.tasks, workers, watch)

    def _leaves(self, source: Source, job: Job) -> _Leaves:
        from dask import delayed

        cluster, (pieces, reads) = self._cluster("DaskEngine"), self._prepare(source)
        public = cluster.broadcast(job)
        bundles = bundle(cluster, pieces, job.uses_all_threads)
        tasks = []
        for numbers, worker in bundles:
            needs = [list(pieces[number].needs) for number in numbers]
            with kept_at(worker):
                tasks.append(delayed(sum_pieces, pure=False)(public, reads, numbers, needs))
        counts = [sum(pieces[number].n_entries or 0 for number in numbers) for numbers, _ in bundles]
        return _Leaves(tasks, [worker for _, worker in bundles], counts)

    def _pieces(self, source: Source) -> list[Piece]:
        """Pieces that workers can read; of data that only this process has, blocks are sent to them, once."""
        return self._prepare(source)[0]

    def _prepare(self, source: Source) -> tuple[list[Piece], Any]:
        if source not in self._ready:
            pieces = source.pieces(self._terms["piece_rows"])
            pieces = list(self._send(source)) if pieces is None else pieces
            self._ready[source] = pieces, self._cluster("DaskEngine").broadcast([piece.read for piece in pieces])
        return self._ready[source]

    def _send(self, source: Source) -> Iterator[Piece]:
        cluster, read = self._cluster("DaskEngine"), partial(read_held, source.empty_block())
        for blocks in gathered(source.blocks(self._terms["block_rows"])):
            yield Piece(read, (cluster.send(Held(blocks)),), sum(map(len, blocks)))

    def _forget(self, source: Source) -> None:
        """Send, or group, data again: workers are gone, and the data with them."""
        was_ready = source in self._ready
        self._ready.pop(source, None)
        if was_ready and not source.can_repeat:
            raise HushrankError("workers of the cluster were lost, and with them data that can be read only once.")
        source.forget()

    def _cluster(self, owner: str) -> Cluster:
        if os.getpid() != self._process:
            raise StateMisuse("a DaskEngine was used after a fork: its client belongs to the process that made it.")
        if self._connected is None or not self._connected.is_open():  # the current client may be another one by now
            self._connected = connect(self._given, self, owner)
            self._ready.clear()
        return self._connected


def _watch(advance: Advance, counts: list[int], futures: list[Any]) -> None:
    for future, count in zip(futures, counts, strict=True):
        future.add_done_callback(partial(_advance, advance, count))


def _advance(advance: Advance, count: int, future: Any) -> None:
    advance(count)
