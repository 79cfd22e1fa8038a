"""Memory and time of a fit, from public numbers: constants of rows in memory, measured for 100 to 1500 columns.

They are good to a factor of two or so. Draws of the exponential mechanism take longer (docs/guide/orbit.md), and so do
files that must be parsed.
"""

from dataclasses import dataclass

_BLOCK_BYTES = 2**25
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
    is_complex, is_pure, is_drawn : bool
    """

    n_features: int
    width: int
    passes: int
    is_complex: bool
    is_pure: bool
    is_drawn: bool


def memory_bytes(work: Work, threads: int) -> float:
    """Peak memory of a fit beyond the rows, in bytes."""
    numbers = float(work.width * (2 if work.is_complex else 1))
    # Totals of every thread, then the release with its noise; and what LAPACK takes for eigenvectors.
    matrices = max(4 * threads + 1, 10 if work.is_pure else 8) + 2
    return 8.0 * numbers**2 * matrices + 2 * threads * _BLOCK_BYTES


def seconds(n_samples: int, work: Work) -> float:
    """CPU time of a fit."""
    numbers = float(work.width * (2 if work.is_complex else 1))
    read = 1e-9 * work.passes * n_samples * work.n_features
    return read + 5e-11 * n_samples * numbers**2 + 3e-10 * numbers**3 + 5e-3


def fit_resources(n_samples: int, work: Work) -> dict[str, float]:
    """What `plan` states."""
    return {
        "memory beyond the rows (MB)": memory_bytes(work, _THREADS) / 1e6,
        "CPU time, about (s)": seconds(n_samples, work),
        "times the rows are read": float(work.passes),
    }
