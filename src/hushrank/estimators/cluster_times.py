"""What a fit takes on a cluster, from what it takes on one machine: the lines that `plan(..., workers=k)` adds.

Shared     workers have one thread each. They read files, bring people's rows together where people have many, and sum.
Alone      the caller draws noise, finds eigenvectors and waits; the scheduler hands out tasks, one after the other.
Added up   sums go from worker to worker, in rounds; matrices of items once a worker or for every `TOGETHER_BYTES`, and
           in shares, so that all workers add at the same time.

Files are taken to fall into enough pieces for all workers. Networks are not in it: `MOVED` over what all of them carry
in a second comes on top. docs/scale.md has what was measured, and what it gives on paper for very large data.
"""

import math
from dataclasses import dataclass

WORKER_MEMORY, CALLER_MEMORY = "memory of each worker, about (GB)", "memory of the caller, about (GB)"
READING, SUMMING, WAITING = "  of which reading and grouping", "  of which sums over people", "  of which not shared"
MOVED = "moved between workers, about (GB)"

# As in hushrank.engine: rows and most number of places, bytes of people for a task with a large matrix, tasks of a
# worker that reads files, sums that are added at a time, and shares of a matrix. As in hushrank.data: rows that are
# packed at a time, and rows of a place that are joined in memory; more of them go through temporary files.
PLACE_ROWS, MOST_PLACES, TOGETHER_BYTES, TASKS_A_WORKER, FAN_IN, SHARES = 2**22, 2**13, 2**31, 8, 8, 16
PACKED_ROWS, JOINED_ROWS = 2**20, 2**24

_COPIES = 3.0  # of sums that are added to others: theirs, its own, and both together
_ADDED = 1.0  # of a matrix, most that a worker has beside its own: shares of others, and of the sum of all


@dataclass(frozen=True, slots=True)
class ClusterTimes:
    """Seconds and bytes that benchmarks/bench_cluster_constants.py measured, with Dask's p2p shuffle.

    On one machine with two cores: Parquet files in the cache of the system, one or two workers that are processes.

    Attributes
    ----------
    read_row, read_number : float
        Seconds of a row of a file, and of each of its numbers, every time it is read.
    move_row, move_byte : float
        Seconds to pack, move and join a row, and for each of its bytes.
    parcel, parcel_bytes : float
        More seconds and bytes of one parcel, of those who are packed at a time for one place.
    fit, sum_pass, task : float
        Seconds that nobody shares: of a fit, of a pass, of a task.
    sum_byte : float
        Seconds of a byte of sums that goes to another worker and is added there.
    block_byte : float
        Seconds of a byte of sums that a worker clears and adds for every block of people.
    product : float
        Seconds of a product of two ratings of a user, in a second moment of items.
    worker_bytes, caller_bytes : float
        Memory of processes that have loaded everything.
    buffer_bytes : float
        Most that Dask holds on a worker of what is on its way, as its configuration has it: half for the disk, half for
        other workers.
    """

    read_row: float = 30e-9
    read_number: float = 15e-9
    move_row: float = 400e-9
    move_byte: float = 15e-9
    parcel: float = 18e-6
    parcel_bytes: float = 480.0
    fit: float = 1.0
    sum_pass: float = 0.035
    task: float = 3.6e-3
    sum_byte: float = 1.8e-9
    block_byte: float = 0.085e-9
    product: float = 2.7e-9
    worker_bytes: float = 0.44e9
    caller_bytes: float = 0.39e9
    buffer_bytes: float = 0.2e9


TIMES = ClusterTimes()


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows that are brought together by person and stay with the workers, in bytes of a row.

    Attributes
    ----------
    moved : float
        On its way.
    joined : float
        While the rows of a place are joined, in all; of rows beyond `JOINED_ROWS`, what has come and what is kept.
    held : float
        Afterwards.
    """

    moved: float
    joined: float
    held: float

    def place_bytes(self, n_rows: float) -> float:
        """Of a place with so many rows, while they are joined."""
        beyond = max(n_rows - JOINED_ROWS, 0.0)
        return self.joined * (n_rows - beyond) + min(2.0 * self.moved + self.held, self.joined) * beyond


@dataclass(frozen=True, slots=True)
class ClusterWork:
    """What a fit asks of a cluster, from public numbers and guesses.

    Attributes
    ----------
    n_rows, n_numbers : float
        Rows, ratings, records or updates, and numbers of each.
    passes : float
        Sums over everybody.
    shared : float
        CPU seconds of these, on one thread and with data in memory.
    alone : float or None
        Seconds of the caller; None where nobody can say, and then no time is told.
    totals, summed : float
        Bytes of the largest sums that every task has, and of those of all passes together.
    blocks : float
        Blocks of people for which a worker clears and adds them.
    matrix, n_matrices : float
        Bytes of sums that are made once a worker, and in how many passes they are.
    state : float
        Bytes of what workers are told, in all passes.
    block : float
        Bytes that a worker has in hand while it reads.
    caller : float
        Bytes of the caller.
    grouped : Grouped or None
        None where every row is a person, or need not be with others: then files are read in every pass.
    """

    n_rows: float
    n_numbers: float
    passes: float
    shared: float
    alone: float | None
    totals: float = 0.0
    summed: float = 0.0
    blocks: float = 0.0
    matrix: float = 0.0
    n_matrices: float = 0.0
    state: float = 0.0
    block: float = 0.0
    caller: float = 0.0
    grouped: Grouped | None = None

    def n_places(self, workers: int) -> int:
        """Where people are brought together."""
        by_rows = workers * math.ceil(self.n_rows // PLACE_ROWS / workers)
        return int(min(max(by_rows, TASKS_A_WORKER // 2 * workers), MOST_PLACES))

    def n_tasks(self, workers: int) -> int:
        """Of a pass."""
        return self.n_places(workers) if self.grouped else TASKS_A_WORKER * workers

    def n_matrix_sums(self, workers: int) -> float:
        """Matrices of one pass that are made and then added up."""
        held = self.grouped.held * self.n_rows if self.grouped else 0.0
        return min(max(float(workers), math.ceil(held / TOGETHER_BYTES)), max(self.n_tasks(workers), workers))

    def share(self, workers: int) -> float:
        """Of all people, those of the worker who has most."""
        if not self.grouped:
            return 1.0 / workers
        n_places = self.n_places(workers)
        return math.ceil(n_places / workers) / n_places

    def n_parcels(self, workers: int) -> float:
        """That are packed: one for every place, again and again."""
        return math.ceil(self.n_rows / PACKED_ROWS) * self.n_places(workers) if self.grouped else 0.0

    def tell(self, workers: int) -> dict[str, float]:
        """Time and memory with so many workers, by name and unit, as `plan` prints them."""
        return tell_cluster(self, workers)


def time_with(workers: int) -> str:
    """The name of the line that tells the time.

    Examples
    --------
    >>> time_with(1), time_with(8)
    ('time with 1 worker, about (s)', 'time with 8 workers, about (s)')
    """
    return f"time with {workers} {'worker' if workers == 1 else 'workers'}, about (s)"


def tell_cluster(work: ClusterWork, workers: int, times: ClusterTimes = TIMES) -> dict[str, float]:
    """Time and memory with so many workers, by name, in the order in which they are printed."""
    told: dict[str, float] = {}
    if work.alone is not None:
        parts = {
            READING: reading_seconds(work, workers, times),
            SUMMING: summing_seconds(work, workers, times),
            WAITING: work.alone + waiting_seconds(work, workers, times),
        }
        told = {time_with(workers): sum(parts.values()), **parts}
    told |= {WORKER_MEMORY: worker_bytes(work, workers, times) / 1e9}
    told |= {CALLER_MEMORY: (times.caller_bytes + work.caller) / 1e9}
    return told | ({MOVED: moved_bytes(work, workers, times) / 1e9} if work.grouped else {})


def reading_seconds(work: ClusterWork, workers: int, times: ClusterTimes = TIMES) -> float:
    """To read files, in every pass unless rows are brought together and stay."""
    read = work.n_rows * (times.read_row + times.read_number * work.n_numbers)
    if work.grouped is None:
        return work.passes * read / workers
    a_row = times.move_row + times.move_byte * work.grouped.moved
    return (read + times.parcel * work.n_parcels(workers)) / workers + a_row * work.n_rows * work.share(workers)


def summing_seconds(work: ClusterWork, workers: int, times: ClusterTimes = TIMES) -> float:
    """To bound what people contribute and to add it up, on each worker."""
    return (work.shared + times.block_byte * work.blocks * work.summed) * work.share(workers)


def waiting_seconds(work: ClusterWork, workers: int, times: ClusterTimes = TIMES) -> float:
    """What no more workers make shorter: public numbers go out, tasks are handed out, and sums are added in rounds."""
    n_tasks, n_sums = work.n_tasks(workers), work.n_matrix_sums(workers)
    n_moved = work.n_rows / PLACE_ROWS if work.grouped else 0.0  # tasks of pieces, which are of half as many rows each
    handed_out = times.fit + times.sum_pass * work.passes
    handed_out += times.task * (n_tasks * (work.passes + 2.0 * bool(work.grouped)) + 4.0 * n_moved)
    told = work.state * (1.0 + math.log2(workers))
    small = work.summed * (n_tasks / workers + FAN_IN * math.log(n_tasks, FAN_IN))
    rounds = FAN_IN * math.log(workers, FAN_IN) / SHARES
    large = work.matrix * work.n_matrices * (n_sums / workers + rounds)
    return handed_out + times.sum_byte * (told + small + large)


def worker_bytes(work: ClusterWork, workers: int, times: ClusterTimes = TIMES) -> float:
    """Of a worker: its people, and a place while it is joined, or what it has in hand in a pass if that is more."""
    n_sums = work.n_matrix_sums(workers) / workers
    summing = max((FAN_IN + _COPIES) * work.totals, (_ADDED + max(n_sums, 1.0)) * work.matrix) + work.block
    if work.grouped is None:
        return times.worker_bytes + summing
    held = work.grouped.held * work.n_rows * work.share(workers)
    joining = work.grouped.place_bytes(work.n_rows / work.n_places(workers))
    coming = min(work.grouped.moved * work.n_rows * work.share(workers), times.buffer_bytes)
    return times.worker_bytes + held + max(summing, joining + coming)


def moved_bytes(work: ClusterWork, workers: int, times: ClusterTimes = TIMES) -> float:
    """Of rows on their way to their places, by all workers together."""
    moved = 0.0 if work.grouped is None else work.grouped.moved
    return moved * work.n_rows + times.parcel_bytes * work.n_parcels(workers)
