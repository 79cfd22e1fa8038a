"""Memory and time of a fit, from public numbers: constants of rows in memory, measured for 100 to 1500 columns.

They are good to a factor of two or so. The time of a joint draw of several directions depends on the data, from
milliseconds to minutes (docs/guide/orbit.md), and is not told. Files that must be parsed take longer.
"""

from dataclasses import dataclass

from hushrank.estimators.fit_times import tell_resources

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
    numbers = float(work.width * (2 if work.is_complex else 1))
    # Totals of every thread, then the release with its noise; and what LAPACK takes for eigenvectors.
    matrices = max(4 * threads + 1, 10 if work.is_pure else 8) + 2
    return 8.0 * numbers**2 * matrices


def seconds(n_samples: int, work: Work) -> float:
    """CPU time of a fit."""
    numbers = float(work.width * (2 if work.is_complex else 1))
    read = 1e-9 * work.passes * n_samples * work.n_features
    return read + 5e-11 * n_samples * numbers**2 + 3e-10 * numbers**3 + 1e-2


def fit_resources(n_samples: int, work: Work) -> dict[str, float]:
    """What `plan` states, for rows in memory, of which no copies are made."""
    n_bytes = _matrix_bytes(work, _THREADS) + _THREADS * _PART_BYTES
    told = tell_resources(seconds=None if work.is_drawn else seconds(n_samples, work), n_bytes=n_bytes)
    return told | {"times the rows are read": float(work.passes)}
