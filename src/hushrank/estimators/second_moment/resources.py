"""Memory and time of a fit, from public numbers: constants of rows in memory, measured for 100 to 1500 columns.

They are good to a factor of two or so. The time of a joint draw of several directions depends on the data, from
milliseconds to minutes (docs/guide/orbit.md), and is not told. Files that must be parsed take longer.
"""

from dataclasses import dataclass

from hushrank.estimators.cluster_times import ClusterWork
from hushrank.estimators.fit_times import NUMBER_BYTES, tell_resources

_BLOCK_BYTES = 2**25
_PART_BYTES = 1e6  # of a block that is quantized, a part at a time
_THREADS = 2


@dataclass(frozen=True, slots=True)
class Work:
    """What a fit computes.

    Attributes
    ----------
    n_features : int
        Columns that are read.
    width : int
        Columns of the second moment.
    passes : int
        Times that the rows are read.
    is_complex, is_pure : bool
    is_drawn : bool
        Whether several directions are drawn at once.
    """

    n_features: int
    width: int
    passes: int
    is_complex: bool
    is_pure: bool
    is_drawn: bool


def memory_bytes(work: Work, threads: int) -> float:
    """Most memory of a fit beyond the rows, in bytes: with blocks of rows that must be converted for every thread."""
    return _matrix_bytes(work, threads) + 2 * threads * _BLOCK_BYTES


def _matrix_bytes(work: Work, threads: int) -> float:
    numbers = _numbers(work)
    # Totals of every thread, then the release with its noise; and what LAPACK takes for eigenvectors.
    matrices = max(4 * threads + 1, 10 if work.is_pure else 8) + 2
    return NUMBER_BYTES * numbers**2 * matrices


def _numbers(work: Work) -> float:
    """Of a row of the second moment."""
    return float(work.width * (2 if work.is_complex else 1))


def seconds(n_samples: int, work: Work) -> float:
    """CPU time of a fit."""
    return _shared_seconds(n_samples, work) + _lone_seconds(work)


def _shared_seconds(n_samples: int, work: Work) -> float:
    """Of the sums over rows."""
    return 1e-9 * work.passes * n_samples * work.n_features + 5e-11 * n_samples * _numbers(work) ** 2


def _lone_seconds(work: Work) -> float:
    """Of noise and eigenvectors."""
    return 3e-10 * _numbers(work) ** 3 + 1e-2


def fit_resources(n_samples: int, work: Work) -> dict[str, float]:
    """What `plan` states, for rows in memory, of which no copies are made."""
    n_bytes = _matrix_bytes(work, _THREADS) + _THREADS * _PART_BYTES
    told = tell_resources(seconds=None if work.is_drawn else seconds(n_samples, work), n_bytes=n_bytes)
    return told | {"times the rows are read": float(work.passes)}


def cluster_work(n_samples: int, work: Work) -> ClusterWork:
    """What workers share: rows are read from files in every pass, and the last one sums the second moment."""
    numbers, totals = work.n_features * (2 if work.is_complex else 1), NUMBER_BYTES * _numbers(work) ** 2
    return ClusterWork(
        n_rows=n_samples,
        n_numbers=numbers,
        passes=work.passes,
        shared=_shared_seconds(n_samples, work),
        alone=None if work.is_drawn else _lone_seconds(work),
        totals=totals,
        summed=totals,
        block=2.0 * _BLOCK_BYTES,
        caller=_matrix_bytes(work, 1),
    )
