"""Memory and time of a sketch: of an update, of a factorization, and of both for a number of updates.

Lines through streams of 200,000 and a million updates of matrices of 1000 x 1000 to 100,000 x 50,000, at rank 5 to 50
and widths by default.
"""

import math
from dataclasses import dataclass

from hushrank.estimators.cluster_times import ClusterWork, Grouped
from hushrank.estimators.fit_times import CPU_TIME, MEMORY, MICRO, NUMBER_BYTES
from hushrank.estimators.turnstile.layout import AS_PRINTED, Layout

UPDATE_TIME, FACTORIZATION_TIME = "CPU time of an update, about (us)", "CPU time of a factorization, about (s)"

_NANO = 1e-9
_BATCH = 2**22  # updates at a time
_CACHED_BYTES = 2**21  # arrays above this are updated in sorted batches
_FEW_BYTES = 5e5
# Nanoseconds of an update: in any case, for a sign, a number of a dense operator, an array whose updates are sorted,
# what a dense core needs beside, and a counter of its user; and of a product in a dense core.
_ANY, _SIGN, _CORE_SIGN, _SORTED, _DENSE_CORE, _COUNTED, _PRODUCT = 60.0, 5.0, 12.0, 30.0, 100.0, 300.0, 2.0
_NUMBER = {"gaussian": 0.45, "srht": 1.1}
# Bytes of an update: as an integer, sorted, ordered by row for a dense core, and with the id of its user.
_INTEGER_BYTES, _SORTED_BYTES, _ORDERED_BYTES, _USER_BYTES = 9.0, 24.0, 45.0, 45.0
_COPIES = 2.9  # of the state in a factorization, as numbers of 8 bytes
# On a cluster: of an update with its user, in three numbers and a short text; and states that every task may have.
_SENT = Grouped(moved=44.0, joined=150.0, held=40.0)
_SMALL_STATE_BYTES = 2**26


@dataclass(frozen=True, slots=True)
class StreamWork:
    """What a sketch computes.

    Attributes
    ----------
    layout : Layout
    kind : str
    rank : int
    integer_bytes : int
        Of the state.
    counts_users : bool
    """

    layout: Layout
    kind: str
    rank: int
    integer_bytes: int
    counts_users: bool

    @property
    def n_sorted(self) -> int:
        """Arrays that are too large for a cache."""
        arrays = (array for array in self.layout.arrays if array.name != "core")
        return sum(math.prod(array.shape) * self.integer_bytes > _CACHED_BYTES for array in arrays)

    @property
    def core_width(self) -> int:
        """Of a core of dense operators; 0 where there is none."""
        cores = [array.shape[0] for array in self.layout.arrays if array.name == "core"]
        return cores[0] if cores and self.layout.operator != "sparse_sign" else 0


def stream_resources(work: StreamWork, n_updates: int | None = None) -> dict[str, float]:
    """What `plan` states, and with a number of updates what `check` does."""
    update, release = _update_seconds(work), _factorization_seconds(work)
    told = {MEMORY: _bytes(work, n_updates or 0) / 1e6, UPDATE_TIME: update / MICRO, FACTORIZATION_TIME: release}
    if n_updates is not None:
        told[CPU_TIME] = n_updates * update + _core_seconds(work, n_updates) + release
    return told


def cluster_work(work: StreamWork, n_updates: int) -> ClusterWork:
    """What workers share: each adds updates to a state of its own. Where users are counted, this is done twice."""
    state = work.integer_bytes * work.layout.n_cells
    is_large, totals = state > _SMALL_STATE_BYTES, NUMBER_BYTES * work.layout.n_cells
    counted = _NANO * (_ANY + _COUNTED) * n_updates if work.counts_users else 0.0
    return ClusterWork(
        n_rows=n_updates,
        n_numbers=4 if work.counts_users else 3,
        passes=2 if work.counts_users else 1,
        shared=n_updates * _update_seconds(work) + _core_seconds(work, n_updates) + counted,
        alone=_factorization_seconds(work),
        totals=0.0 if is_large else totals,
        summed=0.0 if is_large else totals,
        matrix=totals if is_large else 0.0,
        n_matrices=1.0,
        block=_update_bytes(work) * min(n_updates, _BATCH) + work.layout.stored_bytes,
        caller=_bytes(work, 0),
        grouped=_SENT if work.counts_users else None,
    )


def _update_seconds(work: StreamWork) -> float:
    """CPU time of one of many updates, but for the products of a dense core."""
    layout = work.layout
    nanoseconds = _ANY + _SORTED * work.n_sorted + _COUNTED * work.counts_users + _DENSE_CORE * (work.core_width > 0)
    for array in layout.arrays if layout.operator else ():
        if layout.operator == "sparse_sign":
            is_core = array.name == "core"
            nanoseconds += _CORE_SIGN * layout.per_column**2 if is_core else _SIGN * layout.per_column
        else:
            nanoseconds += _NUMBER[layout.operator] * array.shape[1]
    return _NANO * nanoseconds


def _core_seconds(work: StreamWork, n_updates: int) -> float:
    """A dense core is updated by whole rows: as many as a batch has updates, at most."""
    n_rows = work.layout.arrays[0].shape[0]
    n_lines = sum(min(n_rows, size) for size in _batches(n_updates))
    return _NANO * _PRODUCT * work.core_width**2 * n_lines


def _batches(n_updates: int) -> list[int]:
    whole, rest = divmod(n_updates, _BATCH)
    return [_BATCH] * whole + [rest]


def _factorization_seconds(work: StreamWork) -> float:
    """Noise of every cell, then leading singular vectors."""
    arrays = work.layout.arrays
    if not work.layout.operator:  # products of a Krylov space
        n_products = 18.0 * (work.rank + 10) * work.layout.n_cells
        return 2e-3 + _NANO * (25.0 * work.layout.n_cells + 0.2 * n_products)
    squares = float(sum(array.shape[0] * array.shape[1] ** 2 for array in arrays))
    return 2e-3 + _NANO * (25.0 * work.layout.n_cells + (0.5 if work.kind in AS_PRINTED else 0.05) * squares)


def _bytes(work: StreamWork, n_updates: int) -> float:
    """Peak memory: the state with a batch of updates, or a release with its noise, if that is more; and operators."""
    state, batch = work.integer_bytes * work.layout.n_cells, min(n_updates, _BATCH)
    release = _COPIES * NUMBER_BYTES * work.layout.n_cells
    return _FEW_BYTES + work.layout.stored_bytes + max(state + _update_bytes(work) * batch, release)


def _update_bytes(work: StreamWork) -> float:
    """Of an update of a batch."""
    arranged = max(_SORTED_BYTES * (work.n_sorted > 0), _ORDERED_BYTES * (work.core_width > 0))  # one after the other
    return _INTEGER_BYTES + arranged + _USER_BYTES * work.counts_users
