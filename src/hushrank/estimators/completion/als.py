"""Private matrix completion by alternating least squares (DPALS).

Statistics  in every sweep, for every item j, A_j = sum_i w_ij u_i u_i^T and b_j = sum_i w_ij r_ij u_i over users i,
            with |u_i| <= user_norm, clipped residuals r_ij and weights sum_j w_ij^2 <= max_ratings; for implicit
            feedback also G = sum_i u_i u_i^T.
Releases    the stack of all A_j, the matrix of all b_j, and G, each with Gaussian noise.
Post        item factors from A_j, b_j and G, by regression that knows the scale of the noise.
Privacy     docs/privacy/als.md, Lemmas 3 to 5 and Theorem 6.

Chien, Jain, Krichene, Rendle, Song, Thakurta and Zhang, "Private alternating least squares" (ICML 2021), with the
weights of Krichene, Jain, Song, Sundararajan, Thakurta and Zhang, "Multi-task differential privacy under distribution
skew" (ICML 2023). Users solve for their factors exactly and with all their ratings.
"""

import logging
import math
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.reading import UserBlock
from hushrank.estimators.completion import als_kernels as kernels
from hushrank.estimators.completion.gradient_kernels import scatter_normals
from hushrank.estimators.completion.item_products import add_item_products, order_by_item
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import AlternatingLeastSquares
from hushrank.linalg.integer_sums import integer_gram
from hushrank.linalg.positive_part import solve_positive_part
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import UserReleases
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, release_symmetric
from hushrank.privacy.mechanisms.symmetric_stack import release_symmetric_stack, stack_frobenius_sensitivity
from hushrank.privacy.mechanisms.vector import GaussianLattice, vector_l2_sensitivity

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]

_OWNER = "AlternatingLeastSquares"
_BOUNDINGS = {"uniform": kernels.UNIFORM, "tail": kernels.TAIL, "adaptive": kernels.ADAPTIVE}
_UNOBSERVED_SHARE = 0.05  # of the share of the matrices, for G
_STRIPES = 32  # of the items, each with its own lock
_ITEMS_AT_A_TIME = 1024
log = logging.getLogger("hushrank")


def gram_norm(max_ratings: int, user_norm: float) -> float:
    """Largest fourth root of sum_j |sqrt(w_j) u|^4 of a user (als.md, Lemma 3)."""
    return math.sqrt(math.sqrt(max_ratings)) * user_norm


def right_norm(max_ratings: int, user_norm: float, residual_bound: float) -> float:
    """Largest norm of (w_j r_j u)_j of a user (als.md, Lemma 4)."""
    return math.sqrt(max_ratings) * residual_bound * user_norm


def gram_sensitivity(max_ratings: int, user_norm: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of the stack (A_j)_j between neighbors (als.md, Lemma 3)."""
    return stack_frobenius_sensitivity(gram_norm(max_ratings, user_norm), neighbors)


def right_sensitivity(max_ratings: int, user_norm: float, residual_bound: float, neighbors: Neighbors) -> float:
    """Largest Frobenius change of the matrix (b_j)_j between neighbors (als.md, Lemma 4)."""
    return vector_l2_sensitivity(right_norm(max_ratings, user_norm, residual_bound), neighbors)


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """Public state of one sweep: what users need, and the lattices of its releases."""

    sweep: kernels.Sweep
    gram: SymmetricLattice
    right: GaussianLattice
    unobserved: SymmetricLattice | None


def learn_als(
    releases: UserReleases,
    rank: int,
    start: CompletionModel,
    options: AlternatingLeastSquares,
    share: float | None = None,
) -> FloatArray:
    """Learn item factors.

    Parameters
    ----------
    releases : UserReleases
    rank : int
        Between 1 and the number of items.
    start : CompletionModel
        Base, features, ridge and weight of all items in every user's regression, and counts, all public or released
        before. If it has factors, `rank` of them, the sweeps begin there, and otherwise with factors that look random.
    options : AlternatingLeastSquares
    share : float, optional
        Most of the whole budget that may be spent; by default all that is left.

    Returns
    -------
    ndarray of shape (n_items, rank)
        Item factors for users whose own factor has the prior N(0, I).
    """
    options.check_size(releases.n_items, rank)
    start.check_start(rank, _OWNER)
    budget = releases.spendable(share)
    V = start.factors
    if V.shape[1] == 0:
        V = scatter_normals(releases.n_items, rank) * math.sqrt(start.ridge / options.ridge)
    with one_blas_thread():
        for _ in range(options.sweeps):
            V = _take_sweep(releases, start, V, options, budget / options.sweeps)
    return V


def _take_sweep(
    releases: UserReleases, start: CompletionModel, V: FloatArray, options: AlternatingLeastSquares, share: float
) -> FloatArray:
    """Item factors from those of the sweep before."""
    state = _prepare_pass(releases, start, V, options, share)
    products, right, unobserved, shortened = releases.total(ItemSums(), state)
    A = release_symmetric_stack(products, state.gram, releases.noise)
    b = releases.release(right, state.right)
    log.info("Factors of %d users are longer than %g: shortened. Not private.", shortened[0], options.user_norm)
    # Variance of b about A_j v_j in units of the noise of a rating: noise of b, and noise of A times prior factors.
    noise = state.right.scale**2 / start.ridge + V.shape[1] * state.gram.scale**2 / options.ridge
    if state.unobserved is None:
        return _solve_items(A, b, options.ridge, noise * options.ridge)
    G = start.unobserved * release_symmetric(unobserved, state.unobserved, releases.noise)
    return _solve_items_beside(G, A, b, options.ridge, noise)


def _prepare_pass(
    releases: UserReleases, start: CompletionModel, V: FloatArray, options: AlternatingLeastSquares, share: float
) -> _Pass:
    """Book the budget of a sweep, and compute once what all users need."""
    k, norm, bound = options.max_ratings, options.user_norm, options.residual_bound * math.sqrt(start.ridge)
    for_gram = options.gram_share * share
    for_unobserved = _UNOBSERVED_SHARE * for_gram if start.unobserved > 0 else 0.0
    unobserved = releases.gram_lattice(norm, for_unobserved) if for_unobserved else None
    gram = releases.gram_lattice(gram_norm(k, norm), for_gram - for_unobserved)
    right = releases.vector_lattice(right_norm(k, norm, bound), share - for_gram)
    W = np.ascontiguousarray(np.hstack([start.features, V]))
    sweep = kernels.Sweep(
        base=np.asarray(start.base, np.float64),
        W=W,
        n_features=start.features.shape[1],
        rank=V.shape[1],
        penalty=start.unobserved * (W.T @ W),
        ridge=float(start.ridge),
        bounding=_BOUNDINGS[options.bounding],
        priority=_priorities(start.counts, options),
        max_ratings=int(k),
        user_norm=float(norm),
        residual_bound=bound,
        gram_bound=gram.row_norm,
        gram_limit=gram.squared_bound,
        right_bound=right.norm_bound,
        right_limit=float(right.squared_bound),
        right_lowest=right.lowest,
    )
    return _Pass(sweep, gram, right, unobserved)


def _priorities(counts: FloatArray, options: AlternatingLeastSquares) -> FloatArray:
    """Weights of the items before they are scaled for a user, or their ranks, the rarest item first."""
    if options.bounding == "adaptive":
        return np.asarray(np.maximum(counts, 1.0) ** -options.weight_exponent)
    ranks = np.empty(len(counts))
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    return ranks


class ItemSums:
    """Sums over users for every item; one set of them for all threads."""

    def __init__(self) -> None:
        self._locks = [threading.Lock() for _ in range(_STRIPES + 1)]

    def new_totals(self, state: _Pass) -> tuple[IntegerArray, ...]:
        """Zeros: lower triangles of the A_j, the b_j, G, and the number of users whose factor was shortened."""
        n_items, rank = len(state.sweep.base), state.sweep.rank
        shapes = ((n_items, rank * (rank + 1) // 2), (n_items, rank), (rank, rank), (1,))
        return tuple(np.zeros(shape, np.int64) for shape in shapes)

    def add(self, block: UserBlock, state: _Pass, totals: tuple[IntegerArray, ...]) -> None:
        """Add what the users of a block contribute."""
        sweep, unobserved = state.sweep, state.unobserved
        U, scales = np.empty((len(block), sweep.rank)), np.empty(len(block.items))
        is_rounded, right = np.empty(len(block), np.bool_), np.zeros(totals[1].shape, np.int64)
        ratings = (block.indptr, block.items)
        shortened = kernels.solve_users(*ratings, block.values, sweep, U, scales, is_rounded, right)
        with self._locks[-1]:
            np.add(totals[1], right, out=totals[1])
            totals[3][0] += shortened
            if unobserved is not None:
                np.add(totals[2], integer_gram(U, unobserved.row_norm, unobserved.squared_bound), out=totals[2])
        ordered = order_by_item(*ratings, scales, len(sweep.base))
        edges = np.linspace(0, len(sweep.base), _STRIPES + 1).astype(int)
        for lock, first, stop in zip(self._locks, edges[:-1], edges[1:], strict=False):
            with lock:
                add_item_products(*ordered, U, is_rounded, first, stop, totals[0])


def _solve_items(A: FloatArray, b: FloatArray, ridge: float, noise: float) -> FloatArray:
    """v_j from (A_+ + ridge I + noise A_+^-1) v = b, A_+ the positive part of A_j; A holds lower triangles.

    The mean of v_j with prior N(0, I / ridge) given A_+ and b = A_+ v + error of covariance A_+ + (noise / ridge) I, in
    units of the noise of a rating. Without noise it is ridge regression; noise silences items that few have rated.
    """
    V = np.empty(b.shape)
    solve_positive_part(A, b, ridge, noise, V)
    return V


def _solve_items_beside(G: FloatArray, A: FloatArray, b: FloatArray, ridge: float, noise: float) -> FloatArray:
    """The same with G_+ + ridge I in place of ridge I, in coordinates where that is the identity."""
    rank = b.shape[1]
    w, Q = np.linalg.eigh(G)
    root = (Q / np.sqrt(np.maximum(w, 0.0) + ridge)) @ Q.T  # (G_+ + ridge I)^(-1/2)
    rows, columns = np.tril_indices(rank)
    white = np.empty(A.shape)
    for first in range(0, len(A), _ITEMS_AT_A_TIME):
        part = A[first : first + _ITEMS_AT_A_TIME]
        full = np.empty((len(part), rank, rank))
        full[:, rows, columns] = full[:, columns, rows] = part
        white[first : first + len(part)] = (root @ full @ root)[:, rows, columns]
    # Noise of b is no longer the same in all directions: its mean over them.
    solved: FloatArray = _solve_items(white, b @ root, 1.0, noise * float(np.sum(root**2)) / rank) @ root
    return solved
