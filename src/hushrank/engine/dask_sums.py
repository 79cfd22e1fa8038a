"""Sums on their way from worker to worker: large ones fall into shares, which are added up apart.

Whoever adds shares has a few of them in hand beside its own sums, and not several matrices of items at a time; and all
workers add at the same time. Each share is cut off where the sums are: Dask would rather send all of them to somebody
who has nothing to do.

A task that is run again may find other data, where somebody changed them meanwhile. Shares of two runs are no sums of
either: each run has a number, and the shares of a total must have the same ones.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from hushrank.engine.dask_clusters import Cluster, kept_at
from hushrank.engine.dask_tasks import Failure, telling

Watch = Callable[[list[Any]], None]

SHARES = 16
"""Into how many shares sums fall that are made once a worker."""

FAN_IN, LARGE_FAN_IN = 8, 2
"""Small sums or shares, and whole large sums, that are added at a time."""

_RUNS = 2**64


class TornSums(RuntimeError):
    """Shares are of several runs of a task; all is begun anew, as after other losses of a cluster."""


@telling
def share_of(sums: Any, number: int, n_shares: int) -> Any:
    """One share of all arrays, without a copy; before the arrays comes what `joined` needs."""
    if isinstance(sums, Failure):
        return sums
    (is_tuple, run), *arrays = sums
    if any(array.dtype != np.int64 for array in arrays):
        raise TypeError("large sums must be int64.")
    edges = [(array.size * number // n_shares, array.size * (number + 1) // n_shares) for array in arrays]
    shares = [array.reshape(-1)[start:stop] for array, (start, stop) in zip(arrays, edges, strict=True)]
    return [((is_tuple, [array.shape for array in arrays]), run), *shares]


@telling
def add_sums(*sums: Any) -> Any:
    """What several tasks have added up, modulo 2^64, and likewise the numbers of their runs."""
    failed = next((one for one in sums if isinstance(one, Failure)), None)
    if failed is not None:
        return failed
    (form, _), *first = sums[0]
    totals = [array.copy() for array in first]
    for _, *arrays in sums[1:]:
        for total, array in zip(totals, arrays, strict=True):
            np.add(total, array, out=total)
    return [(form, sum(run for (_, run), *_ in sums) % _RUNS), *totals]


def joined(shares: Iterable[Any]) -> Any:
    """Sums whose shares come one after the other; nobody needs to have all of them."""
    remaining = iter(shares)
    first = next(remaining)
    if isinstance(first, Failure):
        return first
    (is_tuple, shapes), run = first[0]
    flat, filled = [np.empty(prod(shape), np.int64) for shape in shapes], [0] * len(shapes)
    for share in itertools.chain([first], remaining):
        if isinstance(share, Failure):
            return share
        if share[0][1] != run:
            raise TornSums
        for j, part in enumerate(share[1:]):
            flat[j][filled[j] : filled[j] + part.size] = part
            filled[j] += part.size
    return [(is_tuple, run), *(array.reshape(shape) for array, shape in zip(flat, shapes, strict=True))]


def add_up(sums: list[Any], fan_in: int = FAN_IN) -> Any:
    """A tree of additions, not computed yet."""
    from dask import delayed

    while len(sums) > 1:
        groups = [sums[start : start + fan_in] for start in range(0, len(sums), fan_in)]
        sums = [delayed(add_sums, pure=False)(*group) if len(group) > 1 else group[0] for group in groups]
    return sums[0]


def whole_sums(cluster: Cluster, leaves: list[Any], watch: Watch | None, fan_in: int = FAN_IN) -> Any:
    """What tasks give, added up.

    Parameters
    ----------
    cluster : Cluster
    leaves : list of Delayed
    watch : callable, optional
        Gets the futures of the leaves.
    fan_in : int, default 8
        How many are added at a time.
    """
    with _begun(cluster, leaves, [add_up(leaves, fan_in)], watch) as [root]:
        return root.result()


def shared_sums(cluster: Cluster, leaves: list[Any], workers: list[str], watch: Watch | None) -> Any:
    """The same in shares, for arrays of which a worker should not have many; leaves are kept at these workers."""
    shares = [_cut(leaf, worker) for leaf, worker in zip(leaves, workers, strict=True)]
    roots = [add_up(list(same)) for same in zip(*shares, strict=True)]
    with _begun(cluster, leaves, roots, watch) as futures:
        return joined(_results_of(futures))


def _cut(leaf: Any, worker: str) -> list[Any]:
    from dask import delayed

    with kept_at(worker):
        return [delayed(share_of, pure=False)(leaf, number, SHARES) for number in range(SHARES)]


def _results_of(futures: list[Any]) -> Iterator[Any]:
    """One after the other; workers need not keep what has come."""
    while futures:
        yield futures[0].result()
        del futures[0]


@contextmanager
def _begun(cluster: Cluster, leaves: list[Any], roots: list[Any], watch: Watch | None) -> Iterator[list[Any]]:
    """Futures of roots, all in one graph; whoever stops, also by KeyboardInterrupt, cancels them."""
    futures = cluster.compute([*roots, *(leaves if watch else ())])
    if watch:
        watch(futures[len(roots) :])
    del futures[len(roots) :]  # sums that were added up need not be kept
    try:
        yield futures
    except BaseException:
        for future in futures:
            future.cancel()
        raise
