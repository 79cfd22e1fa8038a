"""Memory and time of a trace regression, from the numbers that a record has and the entries of the matrix.

Lines through fits of 2000 to 200,000 records, of matrices of 8 x 8 to 150 x 150 (dense), 300 x 300 (rank one) and
1500 x 1500 (entries), of rank 2 to 5.
"""

from typing import NamedTuple

from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS
from hushrank.estimators.cluster_times import ClusterWork
from hushrank.estimators.fit_times import MICRO, NUMBER_BYTES, tell_resources

USUAL_THREADS = 2
_SMALL_BLOCK = 2048  # records, below which an engine makes no smaller blocks
_ENTRY = 0.6  # microseconds of an entry of the matrix, in all releases
_MATRICES = 6.5  # that are held at once
_PASSES, _STEP_PASSES = 12, 2  # over the records, beside the steps and in each of them
_SUMMED = 2.0  # sums of all entries, in passes beside those of the steps


class Line(NamedTuple):
    """Microseconds of a record, more for each of its numbers, for each of these and each component, and for each entry.

    `copies` and `words` say what a block takes: its numbers so many times, and so many words more for each record.
    """

    record: float
    number: float
    component: float
    entry: float
    copies: float
    words: float


LINES = {
    "dense": Line(6.0, 0.018, 0.014, 0.0, 1.0, 25.0),
    "rank_one": Line(2.0, 0.17, 0.04, 0.0053, 2.6, 25.0),
    "entry": Line(6.4, 0.0, 0.0, 0.0, 0.0, 26.0),
}


class MeasurementWork(NamedTuple):
    """What a fit computes."""

    n_samples: int
    n_rows: int
    n_columns: int
    rank: int
    design: str

    @property
    def numbers(self) -> int:
        """Numbers of a measurement."""
        sizes = {"dense": self.n_rows * self.n_columns, "rank_one": self.n_rows + self.n_columns, "entry": 2}
        return sizes[self.design]

    @property
    def entries(self) -> int:
        """Entries of the matrix."""
        return self.n_rows * self.n_columns


def fit_resources(work: MeasurementWork, threads: int) -> dict[str, float]:
    """What `plan` and `check` state."""
    return tell_resources(seconds=_seconds(work), n_bytes=_bytes(work, threads))


def _seconds(work: MeasurementWork) -> float:
    """CPU time of a fit."""
    return _shared_seconds(work) + _lone_seconds(work)


def _shared_seconds(work: MeasurementWork) -> float:
    """Of the sums over records."""
    line = LINES[work.design]
    a_record = line.record + work.numbers * (line.number + line.component * work.rank) + line.entry * work.entries
    return MICRO * a_record * work.n_samples


def _lone_seconds(work: MeasurementWork) -> float:
    """Of noise, and of steps along released gradients."""
    return 0.06 + MICRO * _ENTRY * work.entries


def _bytes(work: MeasurementWork, threads: int) -> float:
    """Peak memory beyond the records: a block for each thread, and the matrix with its noise."""
    line = LINES[work.design]
    most = min(MAX_BLOCK_ROWS, max(1, int(MAX_BLOCK_BYTES // (NUMBER_BYTES * work.numbers))))
    n_block = min(most, max(_SMALL_BLOCK, work.n_samples // (4 * threads)), work.n_samples)
    block = NUMBER_BYTES * n_block * (line.words + line.copies * work.numbers)
    return threads * block + NUMBER_BYTES * _MATRICES * work.entries


def cluster_work(work: MeasurementWork, most_steps: int) -> ClusterWork:
    """What workers share: records are read from files in every pass, of which each step has two."""
    totals, line = NUMBER_BYTES * work.entries, LINES[work.design]
    return ClusterWork(
        n_rows=work.n_samples,
        n_numbers=work.numbers + 1,
        passes=_PASSES + _STEP_PASSES * most_steps,
        shared=_shared_seconds(work),
        alone=_lone_seconds(work),
        totals=totals,
        summed=totals * (_SUMMED + most_steps),
        state=totals * _STEP_PASSES * most_steps,
        block=MAX_BLOCK_BYTES * (1.0 + line.copies),
        caller=totals * _MATRICES,
    )
