"""The default method for implicit feedback: leading eigenvectors of which items are chosen together.

Releases   1 how active users are and how popular items are (`item_means`), 2 counts again as far as a list by
           popularity needs them (`implicit_counts`), 3 if factors have a chance, the second moment, without its
           diagonal, of every user's 0/1 row over the most popular items, scaled to norm 1, 4 which candidate finds most
           of the users' own items (`implicit_candidates`).
Recipe     `implicit_recipe.IMPLICIT`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1, 2, 4 and 8.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.implicit_candidates import Candidates
from hushrank.estimators.completion.implicit_counts import count_for_factors
from hushrank.estimators.completion.implicit_model import count_top_items, learn_without_factors
from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.item_means import release_census
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.rating_kernels import Regression, RowsOfItems
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import RowState, SecondMoment, most_counted, place_items
from hushrank.linalg.hollow import top_hollow_eigenpairs
from hushrank.linalg.noise_levels import above_edge

FloatArray = NDArray[np.float64]

_BISECTIONS, _STEPS = 12, 200


def learn_implicit(releases: RatingReleases, rank: int, top_items: int, unobserved: float) -> CompletionModel:
    """Learn popularity, slopes on public features and up to `rank` factors, with all of the budget."""
    first = release_census(releases, with_center=False)
    top = count_top_items(releases, top_items)
    census = count_for_factors(releases, first, top)
    if census is None:
        return learn_without_factors(releases, first, unobserved, unobserved)
    factors, strength = _release_factors(releases, census.counts, rank, top)
    if factors.shape[1] < IMPLICIT.fewest_factors:
        return learn_without_factors(releases, census, unobserved, unobserved)
    return Candidates.of(census, unobserved, unobserved, factors, strength).choose(releases)


def _release_factors(
    releases: RatingReleases, counts: FloatArray, rank: int, top: int
) -> tuple[FloatArray, FloatArray]:
    """Factors of the `top` most counted items, for all that is left but the check, and how far they stand out."""
    n_items, chosen = releases.n_items, most_counted(counts, top)
    lattice = releases.gram_lattice(1.0, releases.left - IMPLICIT.check_share)
    nothing = Regression(np.zeros(n_items), np.zeros((n_items, 0)), 1.0)
    rows = RowsOfItems(np.zeros(n_items), np.ones(n_items), place_items(chosen, n_items), True)
    (total,) = releases.total(SecondMoment(), RowState(nothing, rows, lattice))
    S = releases.release_hollow(total, lattice)
    expected = counts[chosen] * (releases.n_people / counts[chosen].sum())
    edge = noise_edge(lattice.scale, expected, releases.n_people)
    found, values = scaled_eigenvectors(S, min(rank, top), IMPLICIT.cut * edge, expected)
    factors = np.zeros((n_items, found.shape[1]))
    factors[chosen] = found
    return factors, values / above_edge(edge, top)


def noise_edge(deviation: float, diagonal: FloatArray, n_people: float) -> float:
    """Largest eigenvalue of a second moment without its diagonal in which there is nothing but noise.

    Its entries have the variance s^2 of their noise and, by chance, d_j d_l / n: what n users have together who choose
    items independently, d being the diagonal. Above the edge of the spectrum of a random symmetric matrix whose entries
    have variances v_jl, and only there, its resolvent g solves g_j (x - sum_l v_jl g_l) = 1.
    """
    a = diagonal / math.sqrt(n_people)
    own = deviation**2 + a**2
    low, high = 0.0, 2.0 * math.sqrt(len(a) * deviation**2 + float(a.max() * a.sum()))  # by the largest sum of a row
    for _ in range(_BISECTIONS):
        x, g = (low + high) / 2, np.zeros(len(a))
        for _ in range(_STEPS):  # from below; beyond the edge they converge
            rest = x - deviation**2 * g.sum() - a * (a @ g) + own * g
            if rest.min() <= 0.0:
                break
            g = 1.0 / rest
        low, high = (low, x) if rest.min() > 0.0 else (x, high)
    return high


def scaled_eigenvectors(S: FloatArray, rank: int, edge: float, diagonal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvectors of S that stand out, times the root of signal over noise of their coefficients.

    Parameters
    ----------
    S : ndarray of shape (n, n)
        Second moment of 0/1 rows scaled to norm 1, with zeros on its diagonal; overwritten.
    rank : int
        Most eigenvectors.
    edge : float
        Largest eigenvalue of noise alone.
    diagonal : ndarray of shape (n,)
        What its diagonal should be. The part of it that eigenvectors do not explain is chance: that somebody with this
        taste has chosen this very item.

    Returns
    -------
    vectors : ndarray of shape (n, n_kept)
        A regression with as much ridge as there is weight of all items then draws every coefficient to zero as its
        noise asks for.
    values : ndarray of shape (n_kept,)
        What S has along them without its diagonal, never below zero.
    """
    deviation = edge / (2.0 * math.sqrt(len(S)))  # of noise that is the same everywhere
    for _ in range(IMPLICIT.rounds):  # the diagonal is imputed by what is kept: noise would lift noise over the edge
        Q, values, alignments = top_hollow_eigenpairs(S, rank, deviation, rounds=1, cut=1.0)
        signals = values * alignments
        seen = values + deviation**2 * len(S) / np.maximum(values, np.finfo(float).tiny)
        hollow = np.maximum(seen - np.diagonal(S) @ (Q * Q), 0.0)
        explained = (Q * Q) @ signals
        np.fill_diagonal(S, explained)
    noise = np.maximum(diagonal - explained, 0.0) @ (Q * Q)
    scaled: FloatArray = Q * np.sqrt(signals / np.maximum(noise, IMPLICIT.weakest_noise * signals))
    return scaled, hollow
