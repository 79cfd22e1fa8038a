"""The default method for a low-rank matrix without offsets: a hollow spectral start and noisy EM steps.

Releases   1 those of `matrix_model`, 2 the second moment of clipped rows without its diagonal, 3 EM steps for the
           factors, the variance of the noise before each.
Adaptive   clip norms follow the released variance; steps end when it stops falling. Both see released values only.
Recipe     `recipes.MATRIX`.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1, 2, 4, 5 and 6.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.item_marks import spectral_strength
from hushrank.estimators.completion.matrix_model import Entries, MatrixState, describe_entries, estimate_noise
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.rating_kernels import Regression, RowsOfItems, Weights
from hushrank.estimators.completion.recipes import MATRIX
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import (
    ItemSumState,
    RowState,
    SecondMoment,
    most_counted,
    place_items,
    sum_counts,
    sum_gradients,
)
from hushrank.linalg.hollow import top_hollow_eigenpairs

FloatArray = NDArray[np.float64]


def learn_matrix(releases: RatingReleases, rank: int, top_items: int) -> CompletionModel:
    """Learn up to `rank` factors with all that is left of the budget."""
    entries = describe_entries(releases)
    state = _spectral_start(releases, entries, rank, top_items)
    if state.factors.shape[1]:
        for _ in range(2):
            state = estimate_noise(releases, entries, state)
        state = _em_steps(releases, entries, state)
        state = replace(state, factors=shrink(state))
    return state.model


def _spectral_start(releases: RatingReleases, entries: Entries, rank: int, top_items: int) -> MatrixState:
    """Factors from the second moment; none if no eigenvalue stands above the noise."""
    n_items, m, p = releases.n_items, releases.n_people, entries.share
    chosen = _chosen_items(releases, entries, top_items)
    lattice = releases.gram_lattice(entries.row_norm, MATRIX.spectral_share)
    nothing = Regression(np.zeros(n_items), np.zeros((n_items, 0)), 1.0)
    rows = RowsOfItems(np.zeros(n_items), np.ones(n_items), place_items(chosen, n_items), False)
    (total,) = releases.total(SecondMoment(), RowState(nothing, rows, lattice))
    unit = entries.stretch / (m * p * p)
    S = releases.release_hollow(total, lattice)
    S *= unit
    deviation = lattice.scale * unit
    sampling = entries.second_moment / (p * math.sqrt(m))  # of the second moment about its mean, without privacy
    both = math.hypot(deviation, sampling)
    most = min(rank, len(chosen))
    Q, values, alignments = top_hollow_eigenpairs(S, most, both, rounds=MATRIX.rounds, cut=MATRIX.cut)
    strength = spectral_strength(Q, S, values, both)
    factors = np.zeros((n_items, Q.shape[1]))
    factors[chosen] = Q * np.sqrt(values * alignments)
    explained = float((values * alignments).sum()) / len(chosen)
    noise = max(entries.second_moment - explained, MATRIX.least_start_noise * entries.second_moment)
    return MatrixState(factors, deviation**2 / values, noise, strength)


def _chosen_items(releases: RatingReleases, entries: Entries, top_items: int) -> NDArray[np.int64]:
    """Items of the second moment: all of them, or the most often rated by noisy counts."""
    n_items = releases.n_items
    if n_items <= top_items:
        return np.arange(n_items)
    norm = math.sqrt(max(n_items * entries.share, 1.0))
    lattice = releases.vector_lattice(norm, MATRIX.counts_share, nonnegative=True)
    counts = releases.release(releases.total(sum_counts, (n_items, lattice)), lattice)
    return most_counted(counts, top_items)


def _em_steps(releases: RatingReleases, entries: Entries, state: MatrixState) -> MatrixState:
    """Steps with a quarter of what is left each until the noise stops falling; the last ones share what is left then.

    One last step is best where the noise is large: further ones only fit it. Where it is small beside the signal, steps
    still converge although the noise hardly falls, and three last ones are better.
    """
    n_last = 0
    for step in range(MATRIX.most_steps):
        if n_last == 0 and step == MATRIX.most_steps - 1:
            n_last = 1
        available = releases.left - max(n_last, 1) * MATRIX.noise_share
        share = available / n_last if n_last else MATRIX.step_share * available
        state_after = _em_step(releases, entries, state, share)
        before, state = state.noise, estimate_noise(releases, entries, state_after)
        if n_last == 1:
            break
        if n_last:
            n_last -= 1
            continue
        is_small = state.noise < MATRIX.small_noise * (entries.second_moment - state.noise)
        stalled, most_last = (MATRIX.small_stalled, MATRIX.small_last_steps) if is_small else (MATRIX.stalled, 1)
        if state.noise > stalled * before:
            n_last = min(most_last, MATRIX.most_steps - 1 - step)
    return state


def _em_step(releases: RatingReleases, entries: Entries, state: MatrixState, share: float) -> MatrixState:
    """One noisy EM step with the gain of a Kalman filter in each column."""
    n_items, rank = state.factors.shape
    n_ratings = releases.n_people * entries.share  # of an item
    bound = MATRIX.clip * math.sqrt(state.noise * n_items * entries.share * rank)
    lattice = releases.vector_lattice(bound, share)
    variance, base = (lattice.scale / n_ratings) ** 2, state.noise / n_ratings
    gain = (state.errors + base) / (state.errors + base + variance)
    everybody = Weights(np.ones(n_items), math.inf)
    total, _ = releases.total(
        sum_gradients, ItemSumState(state.regression, everybody, lattice, None, 0.0, has_base=False)
    )
    gradient = releases.release(total, lattice) / n_ratings
    errors = (1 - gain) ** 2 * state.errors + gain**2 * variance
    return replace(state, factors=state.factors + gain * gradient, errors=errors)


def shrink(state: MatrixState) -> FloatArray:
    """Factors with squared singular values less by what noise adds, without directions that are mostly noise."""
    Q, singular, R = np.linalg.svd(state.factors, full_matrices=False)
    noise = len(state.factors) * (R**2 @ state.errors)
    squares = np.where(singular**2 > MATRIX.least_signal * noise, singular**2 - noise, 0.0)
    shrunk: FloatArray = (Q * np.sqrt(np.maximum(squares, 0.0))) @ R
    return shrunk
