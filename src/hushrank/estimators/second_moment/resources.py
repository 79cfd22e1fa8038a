"""Memory and time of a fit, from public numbers: measured constants, good to a factor of two or so."""

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
    numbers = work.width * (2 if work.is_complex else 1)
    matrices = 3.0 * threads + (16.0 if work.is_pure else 9.0)
    return 8.0 * numbers**2 * matrices + threads * _BLOCK_BYTES


def seconds(n_samples: int, work: Work) -> float:
    """CPU time of a fit."""
    numbers = float(work.width * (2 if work.is_complex else 1))
    read = 1.5e-9 * work.passes * n_samples * work.n_features
    return read + 5e-11 * n_samples * numbers**2 + 5e-10 * numbers**3


def fit_resources(n_samples: int, work: Work) -> dict[str, float]:
    """What `plan` states."""
    return {
        "memory beyond the rows (MB)": memory_bytes(work, _THREADS) / 1e6,
        "CPU time, about (s)": seconds(n_samples, work),
        "times the rows are read": float(work.passes),
    }
