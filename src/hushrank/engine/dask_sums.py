"""Sums on their way from worker to worker: large ones fall into shares, which are added up apart.

Whoever adds shares has a few of them in hand beside its own sums, and not several matrices of items at a time; and all
workers add at the same time. Each share is cut off where the sums are: Dask would rather send all of them to somebody
who has nothing to do.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from hushrank.engine.dask_clusters import Cluster
from hushrank.engine.dask_tasks import Failure, telling

Watch = Callable[[list[Any]], None]

SHARES = 16
"""Into how many shares sums fall that are made once a worker."""

FAN_IN = 8
"""Small sums, or shares of large ones, that are added at a time."""


@telling
def share_of(sums: Any, number: int, n_shares: int) -> Any:
    """One share of all arrays, without a copy; before the arrays comes what `joined` needs."""
    if isinstance(sums, Failure):
        return sums
    is_tuple, *arrays = sums
    edges = [(array.size * number // n_shares, array.size * (number + 1) // n_shares) for array in arrays]
    shares = [array.reshape(-1)[start:stop] for array, (start, stop) in zip(arrays, edges, strict=True)]
    return [(is_tuple, [array.shape for array in arrays]), *shares]


@telling
def add_sums(*sums: Any) -> Any:
    """What several tasks have added up, modulo 2^64."""
    failed = next((one for one in sums if isinstance(one, Failure)), None)
    if failed is not None:
        return failed
    form, *first = sums[0]
    totals = [array.copy() for array in first]
    for _, *arrays in sums[1:]:
        for total, array in zip(totals, arrays, strict=True):
            np.add(total, array, out=total)
    return [form, *totals]


def joined(shares: Iterable[Any]) -> Any:
    """Sums whose shares come one after the other; nobody needs to have all of them."""
    remaining = iter(shares)
    first = next(remaining)
    if isinstance(first, Failure):
        return first
    is_tuple, shapes = first[0]
    flat, filled = [np.empty(prod(shape), np.int64) for shape in shapes], [0] * len(shapes)
    for share in itertools.chain([first], remaining):
        if isinstance(share, Failure):
            return share
        for j, part in enumerate(share[1:]):
            flat[j][filled[j] : filled[j] + part.size] = part
            filled[j] += part.size
    return [is_tuple, *(array.reshape(shape) for array, shape in zip(flat, shapes, strict=True))]


def add_up(sums: list[Any]) -> Any:
    """A tree of additions, not computed yet."""
    from dask import delayed

    while len(sums) > 1:
        groups = [sums[start : start + FAN_IN] for start in range(0, len(sums), FAN_IN)]
        sums = [delayed(add_sums, pure=False)(*group) if len(group) > 1 else group[0] for group in groups]
    return sums[0]


def small_sums(cluster: Cluster, leaves: list[Any], watch: Watch | None) -> Any:
    """What tasks give, added up.

    Parameters
    ----------
    cluster : Cluster
    leaves : list of Delayed
    watch : callable, optional
        Gets the futures of the leaves; they stay in memory until it is known that they are not needed.
    """
    futures = cluster.compute([*(leaves if watch else ()), add_up(leaves)])
    root = futures.pop()
    if watch:
        watch(futures)
    futures.clear()
    with _cancelled_if_stopped([root]):
        return root.result()


def large_sums(cluster: Cluster, leaves: list[Any], holders: list[str | None], watch: Watch | None) -> Any:
    """The same of arrays of which a worker should not have many; leaves are computed by those who hold their data."""
    from distributed import wait

    pending = [cluster.compute([leaf], holder)[0] for leaf, holder in zip(leaves, holders, strict=True)]
    with _cancelled_if_stopped(pending):
        if watch:
            watch(pending)
        with cluster.client.as_current():
            wait(pending)
        held_by = cluster.client.who_has(pending)
        shares = [_cut(cluster, sums, held_by.get(sums.key)) for sums in pending]
        roots = cluster.compute([add_up(list(same)) for same in zip(*shares, strict=True)])
        pending[:] = roots
        del shares, roots  # workers need not keep what was added up, and what has come
        return joined(_results_of(pending))


def _cut(cluster: Cluster, sums: Any, holders: Any) -> list[Any]:
    """All shares of a future."""
    where = {"workers": list(holders), "allow_other_workers": True} if holders else {}
    shares: list[Any] = cluster.client.map(
        share_of, [sums] * SHARES, range(SHARES), n_shares=SHARES, pure=False, **where
    )
    return shares


def _results_of(futures: list[Any]) -> Iterator[Any]:
    """One after the other, until none is left."""
    while futures:
        yield futures[0].result()
        del futures[0]


@contextmanager
def _cancelled_if_stopped(futures: list[Any]) -> Iterator[None]:
    try:
        yield
    except BaseException:  # also KeyboardInterrupt
        for future in futures:
            future.cancel()
        raise
