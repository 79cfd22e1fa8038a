"""The best items of many users: products a block of users and items at a time, of which only the best are kept.

Memory holds a block of scores for each thread, whatever the number of users and items. A user's items are those with
the largest predictions in falling order, equal ones in the order of the catalogue; neither the blocks nor the number
of threads decide what is found.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.grouping import UserBlock
from hushrank.linalg.quantize import compiled
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]
Positions = NDArray[np.int64]

USERS_AT_ONCE = 256
ITEMS_AT_ONCE = 4096  # a multiple of what BLAS computes together, so that products have the bits of a single one

_TOGETHER = 64  # predictions that are compared with the worst of the best at a time


@dataclass(frozen=True, slots=True)
class Predictor:
    """Predictions shift + scale * (base_j + w_j . z), or without shift and scale where these are None.

    Attributes
    ----------
    base : ndarray of shape (n_items,)
    W : ndarray of shape (n_items, n_columns)
    units : pair of floats or None
        Shift and scale, which is positive.
    """

    base: FloatArray
    W: FloatArray
    units: tuple[float, float] | None = None


def best_items(
    predictor: Predictor, coefficients: FloatArray, n: int, seen: UserBlock | None = None, threads: int = 1
) -> tuple[Positions, FloatArray]:
    """Positions and predictions of each user's `n` best items, best first.

    Parameters
    ----------
    predictor : Predictor
    coefficients : ndarray of shape (n_users, n_columns)
    n : int
        At most the number of items.
    seen : UserBlock, optional
        Items that are left out. Where fewer than `n` are left, the last places hold seen ones, with -inf.
    threads : int

    Examples
    --------
    >>> predictor = Predictor(np.array([0.0, 2.0, 1.0, 2.0]), np.zeros((4, 1)))
    >>> best_items(predictor, np.zeros((1, 1)), 3)
    (array([[1, 3, 2]]), array([[2., 2., 1.]]))
    """
    n_users = len(coefficients)
    places, values = np.empty((n_users, n), np.int64), np.empty((n_users, n))

    def find(start: int) -> None:
        part = slice(start, start + USERS_AT_ONCE)
        _find_best(predictor, coefficients[part], None if seen is None else (seen, start), places[part], values[part])

    _run(find, range(0, n_users, USERS_AT_ONCE), threads)
    return places, values


def largest_of(scores: FloatArray, n: int) -> Positions:
    """Columns of the `n` largest scores of each row, in falling order; equal ones in the order of the columns."""
    if n < scores.shape[1]:
        candidates = np.sort(np.argpartition(-scores, n - 1, axis=1)[:, :n], axis=1)
    else:
        candidates = np.tile(np.arange(scores.shape[1]), (len(scores), 1))
    order = np.argsort(-np.take_along_axis(scores, candidates, axis=1), axis=1, kind="stable")
    return np.take_along_axis(candidates, order, axis=1)


def _run(work: Callable[[int], None], starts: range, threads: int) -> None:
    """Do all of the work, on so many threads with one thread of BLAS each."""
    with one_blas_thread() as limit:
        if threads <= 1 or len(starts) <= 1:
            for start in starts:
                work(start)
            return
        with ThreadPoolExecutor(min(threads, len(starts)), "hushrank", initializer=limit) as pool:
            for _ in pool.map(work, starts):
                pass


def _find_best(
    predictor: Predictor,
    coefficients: FloatArray,
    seen: tuple[UserBlock, int] | None,
    places: Positions,
    values: FloatArray,
) -> None:
    """Fill `places` and `values` for some users; `seen` has the first of them at a position of its own."""
    n_items, at_once = len(predictor.base), min(ITEMS_AT_ONCE, len(predictor.base))
    is_scaled = predictor.units is not None
    shift, scale = predictor.units or (0.0, 1.0)
    room, found = np.empty((len(coefficients), at_once)), np.zeros(len(coefficients), np.int64)
    if seen is not None:
        block, first_user = seen
        pointers = block.indptr[first_user : first_user + len(coefficients) + 1].copy()
    for first in range(0, n_items, at_once):
        W, base = predictor.W[first : first + at_once], predictor.base[first : first + at_once]
        products = room if len(W) == at_once else np.empty((len(coefficients), len(W)))
        np.matmul(coefficients, W.T, out=products)
        if seen is not None:
            _leave_out(block.items, block.indptr[first_user + 1 :], pointers, first, products)
        _keep_best(products, base, is_scaled, shift, scale, first, places, values, found)
    _sort_heaps(places, values)


@compiled
def _leave_out(
    items: NDArray[np.int32], ends: Positions, pointers: Positions, first: int, products: FloatArray
) -> None:
    """Set the products of seen items to -inf; `pointers` go on to each user's first item behind the block."""
    stop = first + products.shape[1]
    for user in range(len(products)):
        at = pointers[user]
        while at < ends[user] and items[at] < stop:
            products[user, items[at] - first] = -np.inf
            at += 1
        pointers[user] = at


@compiled
def _keep_best(
    products: FloatArray,
    base: FloatArray,
    is_scaled: bool,
    shift: float,
    scale: float,
    first: int,
    places: Positions,
    values: FloatArray,
    found: Positions,
) -> None:
    """Put predictions into each user's heap of the best so far, the worst of them at its top.

    Items come in the order of the catalogue, so that one that is as good as the worst never takes its place.
    """
    n, width = places.shape[1], len(base)
    for user in range(len(products)):
        row, heap, heap_places = products[user], values[user], places[user]
        for start in range(0, width, _TOGETHER):
            stop, n_better = min(start + _TOGETHER, width), 0
            if found[user] == n:  # mostly none is better: a loop that the compiler makes vectors of
                worst = heap[0]
                for j in range(start, stop):
                    n_better += _predict(base[j], row[j], is_scaled, shift, scale) > worst
                if n_better == 0:
                    continue
            for j in range(start, stop):
                value = _predict(base[j], row[j], is_scaled, shift, scale)
                if found[user] < n:
                    _rise(heap, heap_places, found[user], value, first + j)
                    found[user] += 1
                elif value > heap[0]:
                    _sink(heap, heap_places, n, 0, value, first + j)


@compiled
def _predict(base: float, product: float, is_scaled: bool, shift: float, scale: float) -> float:
    value = base + product
    return shift + scale * value if is_scaled else value


@compiled
def _is_worse(value: float, place: int, other: float, other_place: int) -> bool:
    return value < other or (value == other and place > other_place)


@compiled
def _rise(heap: FloatArray, places: Positions, at: int, value: float, place: int) -> None:
    """Put an item at the end of a heap and let it rise above better ones."""
    while at > 0:
        above = (at - 1) // 2
        if not _is_worse(value, place, heap[above], places[above]):
            break
        heap[at], places[at] = heap[above], places[above]
        at = above
    heap[at], places[at] = value, place


@compiled
def _sink(heap: FloatArray, places: Positions, size: int, at: int, value: float, place: int) -> None:
    """Put an item at a place of a heap of this size and let it sink below worse ones."""
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _is_worse(heap[below + 1], places[below + 1], heap[below], places[below]):
            below += 1
        if not _is_worse(heap[below], places[below], value, place):
            break
        heap[at], places[at] = heap[below], places[below]
        at = below
    heap[at], places[at] = value, place


@compiled
def _sort_heaps(places: Positions, values: FloatArray) -> None:
    """Bring each user's heap into falling order: the worst goes to the end, again and again."""
    for user in range(len(values)):
        heap, heap_places = values[user], places[user]
        for size in range(len(heap) - 1, 0, -1):
            value, place = heap[size], heap_places[size]
            heap[size], heap_places[size] = heap[0], heap_places[0]
            _sink(heap, heap_places, size, 0, value, place)
