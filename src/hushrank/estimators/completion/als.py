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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimators.completion import als_kernels as kernels
from hushrank.estimators.completion.item_factors import scatter_normals
from hushrank.estimators.completion.item_products import ByItem, UserFactors, add_item_products, order_by_item
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import AlternatingLeastSquares
from hushrank.estimators.completion.recipes import ALS
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import arrays_of, vector_bound
from hushrank.linalg.integer_sums import integer_gram
from hushrank.linalg.positive_part import solve_positive_part
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.symmetric_stack import stack_frobenius_sensitivity
from hushrank.privacy.mechanisms.vector import GaussianLattice, vector_l2_sensitivity

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]

_BOUNDINGS = {"uniform": kernels.UNIFORM, "tail": kernels.TAIL, "adaptive": kernels.ADAPTIVE}
_STRIPES = 32  # of the items, to which threads add at the same time
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
class SweepState:
    """Public state of one sweep: what users need, and the lattices of its releases (that of G only if asked for)."""

    sweep: kernels.Sweep
    gram: SymmetricLattice
    right: GaussianLattice
    unobserved: SymmetricLattice | None


def learn_als(
    releases: RatingReleases,
    rank: int,
    start: CompletionModel,
    options: AlternatingLeastSquares,
    share: float | None = None,
) -> FloatArray:
    """Learn item factors.

    Parameters
    ----------
    releases : RatingReleases
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
    start.check_start(rank, type(options).__name__)
    budget = releases.spendable(share)
    V = start.factors
    if V.shape[1] == 0:
        V = scatter_normals(releases.n_items, rank) * math.sqrt(start.ridge / options.ridge)
    with one_blas_thread():
        for _ in range(options.sweeps):
            V = _take_sweep(releases, start, V, options, budget / options.sweeps)
    return V


def _take_sweep(
    releases: RatingReleases, start: CompletionModel, V: FloatArray, options: AlternatingLeastSquares, share: float
) -> FloatArray:
    """Item factors from those of the sweep before."""
    state = _prepare_sweep(releases, start, V, options, share)
    products, right, unobserved, shortened = releases.total(NormalEquations(), state)
    A = releases.release_symmetric_stack(products, state.gram)
    b = releases.release(right, state.right)
    log.info("Factors of %d users are longer than %g: shortened. Not private.", shortened[0], options.user_norm)
    # Variance of b about A_j v_j in units of the noise of a rating: noise of b, and noise of A times prior factors.
    noise = state.right.scale**2 / start.ridge + V.shape[1] * state.gram.scale**2 / options.ridge
    if state.unobserved is None:
        return _solve_items(A, b, options.ridge, noise * options.ridge)
    G = start.unobserved * releases.release_symmetric(unobserved, state.unobserved)
    return _solve_items_beside(G, A, b, options.ridge, noise)


def _prepare_sweep(
    releases: RatingReleases, start: CompletionModel, V: FloatArray, options: AlternatingLeastSquares, share: float
) -> SweepState:
    """Book the budget of a sweep, and compute once what all users need."""
    k, norm, bound = options.max_ratings, options.user_norm, options.residual_bound * math.sqrt(start.ridge)
    for_gram = options.gram_share * share
    for_unobserved = ALS.unobserved_share * for_gram if start.unobserved > 0 else 0.0
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
        right=vector_bound(right),
    )
    return SweepState(sweep, gram, right, unobserved)


def _priorities(counts: FloatArray, options: AlternatingLeastSquares) -> FloatArray:
    """Weights of the items before they are scaled for a user, or their ranks, the rarest item first."""
    if options.bounding == "adaptive":
        return np.asarray(np.maximum(counts, 1.0) ** -options.weight_exponent)
    ranks = np.empty(len(counts))
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    return ranks


class _Contributions(NamedTuple):
    """What the users of a block add to the sums: products by item, right-hand sides, G if asked for, shortened ones."""

    found: UserFactors
    ordered: ByItem
    right: IntegerArray
    unobserved: IntegerArray | None
    n_shortened: int


@dataclass(frozen=True, slots=True)
class NormalEquations:
    """Sums over users of the normal equations of every item; one set of them for all threads, in stripes of items."""

    def new_totals(self, state: SweepState) -> tuple[IntegerArray, ...]:
        """Zeros: lower triangles of the A_j, the b_j, G, and the number of users whose factor was shortened."""
        n_items, rank = len(state.sweep.base), state.sweep.rank
        shapes = ((n_items, rank * (rank + 1) // 2), (n_items, rank), (rank, rank), (1,))
        return tuple(np.zeros(shape, np.int64) for shape in shapes)

    def n_parts(self, state: SweepState) -> int:
        """The stripes, and one part for what is not by item."""
        return _STRIPES + 1

    def prepare(self, block: UserBlock, state: SweepState) -> _Contributions:
        """Factors and right-hand sides of the users of a block, bounded and rounded."""
        sweep, lattice, ratings = state.sweep, state.unobserved, arrays_of(block)
        found = UserFactors(
            np.empty((len(block), sweep.rank)), np.empty(len(block.items)), np.empty(len(block), np.bool_)
        )
        right = np.zeros((len(sweep.base), sweep.rank), np.int64)
        n_shortened = kernels.solve_users(ratings, sweep, found, right)
        G = None if lattice is None else integer_gram(found.U, lattice.row_norm, lattice.squared_bound)
        return _Contributions(found, order_by_item(ratings, found.scales, len(sweep.base)), right, G, n_shortened)

    def add(self, prepared: _Contributions, state: SweepState, totals: tuple[IntegerArray, ...], part: int) -> None:
        """Add what falls into one stripe of items, or what is not by item."""
        products, right, unobserved, shortened = totals
        if part == _STRIPES:
            shortened += prepared.n_shortened
            if prepared.unobserved is not None:
                unobserved += prepared.unobserved
            return
        first, stop = (len(right) * edge // _STRIPES for edge in (part, part + 1))
        right[first:stop] += prepared.right[first:stop]
        add_item_products(prepared.ordered, prepared.found, first, stop, products)


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
