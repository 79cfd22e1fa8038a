"""The default method for a low-rank matrix without offsets: a hollow spectral start and noisy EM steps.

Releases   1 the share of entries observed, 2 a low quantile of the norms of the rows, 3 two sums of clipped squares,
           4 the second moment of clipped rows without its diagonal, 5 EM steps for the factors, the variance of the
           noise before each.
Adaptive   clip norms follow the released variance; steps end when it stops falling. Both see released values only.
Privacy    docs/privacy/completion.md, Theorem 1 and Lemmas 1, 2, 4, 5 and 6.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.spectral_ratings import LearnFactors
from hushrank.estimators.completion.user_sums import (
    Regression,
    RowState,
    SecondMomentOfUsers,
    Shaping,
    StepState,
    count_norms,
    most_counted,
    place_items,
    sum_counts,
    sum_fractions,
    sum_gradients,
    sum_noise_levels,
    sum_squares,
)
from hushrank.linalg.hollow import top_hollow_eigenpairs
from hushrank.privacy.adaptive import UserReleases

FloatArray = NDArray[np.float64]

# Shares of mu^2; what is left goes to the EM steps.
FRACTION_SHARE, NORM_SHARE, SQUARES_SHARE, SPECTRAL_SHARE, NOISE_SHARE = 0.005, 0.01, 0.005, 0.6, 0.005
COUNTS_SHARE = 0.03  # only where there are more items than the second moment may have

_GRID_POINTS = 128
_SMALLEST_NORM = 2.0**-10  # of the largest possible norm
_NORM_QUANTILE = 0.4
_ROUNDS = 30
_CLIP = 0.7  # bound on a user's step, in units of the norm to expect
_MOST_STEPS, _STEP_SHARE, _STALLED = 8, 0.25, 0.75
_SMALL_NOISE, _SMALL_STALLED, _SMALL_LAST_STEPS = 0.1, 0.9, 3
_LEAST_SIGNAL = 6.0  # squared length of a direction of the factors over that of the noise in it
_LEAST_NOISE = 1e-5  # of the second moment of an entry


@dataclass(frozen=True, slots=True)
class _Entries:
    """Released numbers about the observed entries: their share, their second moment, and how rows are clipped."""

    share: float
    second_moment: float
    row_norm: float
    stretch: float


@dataclass(frozen=True, slots=True)
class _State:
    """Factors, the variance of their error in each column, and the variance of the noise."""

    factors: FloatArray
    errors: FloatArray
    noise: float


def learn_matrix(releases: UserReleases, rank: int, top_items: int) -> CompletionModel:
    """Learn up to `rank` factors with all that is left of the budget."""
    entries = _describe_entries(releases)
    state = _spectral_start(releases, entries, rank, top_items)
    if state.factors.shape[1]:
        for _ in range(2):
            state = _estimate_noise(releases, entries, state)
        state = _em_steps(releases, entries, state)
        state = replace(state, factors=_shrink(state))
    return _to_model(state)


def learn_matrix_with(releases: UserReleases, learn_factors: LearnFactors) -> CompletionModel:
    """The variance of the noise as above, with factors learned in another way.

    learn_factors(model, share) is given a model without factors and spends at most this share of the budget.
    """
    entries, n_items = _describe_entries(releases), releases.n_items
    state = _State(np.zeros((n_items, 0)), np.zeros(0), entries.second_moment / 2)
    state = replace(state, factors=learn_factors(_to_model(state), releases.left - 2 * NOISE_SHARE))
    for _ in range(2):
        state = _estimate_noise(releases, entries, state)
    return _to_model(state)


def _to_model(state: _State) -> CompletionModel:
    n_items = len(state.factors)
    return CompletionModel(np.zeros(n_items), np.zeros((n_items, 0)), state.factors, state.noise, np.ones(n_items))


def norm_grid(n_items: int) -> FloatArray:
    """Norms of rows among which a low quantile is searched."""
    longest = math.sqrt(n_items)
    return np.geomspace(_SMALLEST_NORM * longest, longest, _GRID_POINTS)


def _describe_entries(releases: UserReleases) -> _Entries:
    n_items, m, center = releases.n_items, releases.n_users, releases.interval_center

    def release_sum(kernel: object, number: float, share: float) -> float:
        lattice = releases.interval_lattice(share)
        return releases.release_interval(releases.total(kernel, (number, center, lattice)), lattice)

    share = min(max(release_sum(sum_fractions, float(n_items), FRACTION_SHARE) / m, 1 / n_items), 1.0)
    norm = releases.quantile(count_norms, None, norm_grid(n_items), _NORM_QUANTILE, NORM_SHARE)
    at_norm, at_double = (release_sum(sum_squares, factor * norm, SQUARES_SHARE) for factor in (1.0, 2.0))
    second_moment = max(at_double / m, 0.05) * 4 * norm**2 / (n_items * share)
    # How much of the squared norm clipping took away, on average.
    stretch = min(max(4 * at_double / max(at_norm, 0.2 * m), 1.0), 4.0)
    return _Entries(share, second_moment, norm, stretch)


def _spectral_start(releases: UserReleases, entries: _Entries, rank: int, top_items: int) -> _State:
    """Factors from the second moment; none if no eigenvalue stands above the noise."""
    n_items, m, p = releases.n_items, releases.n_users, entries.share
    chosen = _chosen_items(releases, entries, top_items)
    positions = place_items(chosen, n_items)
    lattice = releases.gram_lattice(entries.row_norm, SPECTRAL_SHARE)
    nothing = Regression(np.zeros(n_items), np.zeros((n_items, 0)), 1.0)
    rows = RowState(nothing, 0.0, np.ones(n_items), positions, lattice, is_stretched=False)
    (total,) = releases.total(SecondMomentOfUsers(), rows)
    unit = entries.stretch / (m * p * p)
    S = releases.release_hollow(total, lattice)
    S *= unit
    deviation = lattice.scale * unit
    sampling = entries.second_moment / (p * math.sqrt(m))  # of the second moment about its mean, without privacy
    Q, values, alignments = top_hollow_eigenpairs(
        S, min(rank, len(chosen)), math.hypot(deviation, sampling), rounds=_ROUNDS, cut=1.0
    )
    factors = np.zeros((n_items, Q.shape[1]))
    factors[chosen] = Q * np.sqrt(values * alignments)
    explained = float((values * alignments).sum()) / len(chosen)
    noise = max(entries.second_moment - explained, 0.02 * entries.second_moment)
    return _State(factors, deviation**2 / values, noise)


def _chosen_items(releases: UserReleases, entries: _Entries, top_items: int) -> NDArray[np.int64]:
    """Items of the second moment: all of them, or the most often rated by noisy counts."""
    n_items = releases.n_items
    if n_items <= top_items:
        return np.arange(n_items)
    norm = math.sqrt(max(n_items * entries.share, 1.0))
    lattice = releases.vector_lattice(norm, COUNTS_SHARE, nonnegative=True)
    counts = releases.release(releases.total(sum_counts, (n_items, lattice)), lattice)
    return most_counted(counts, top_items)


def _regression(state: _State) -> Regression:
    return Regression(np.zeros(len(state.factors)), np.ascontiguousarray(state.factors), state.noise)


def _estimate_noise(releases: UserReleases, entries: _Entries, state: _State) -> _State:
    """Variance of the noise from the residuals and their degrees of freedom."""
    lattice = releases.vector_lattice(2.0, min(NOISE_SHARE, releases.left), nonnegative=True)
    expected = releases.n_items * entries.share
    sums = releases.release(releases.total(sum_noise_levels, (_regression(state), expected, lattice)), lattice)
    ratio = min(max(float(sums[0]) / max(float(sums[1]), 0.2 * releases.n_users), 0.02), 3.0)
    return replace(state, noise=max(state.noise * ratio, _LEAST_NOISE * entries.second_moment))


def _em_steps(releases: UserReleases, entries: _Entries, state: _State) -> _State:
    """Steps with a quarter of what is left each until the noise stops falling; the last ones share what is left then.

    One last step is best where the noise is large: further ones only fit it. Where it is small beside the signal, steps
    still converge although the noise hardly falls, and three last ones are better.
    """
    n_last = 0
    for step in range(_MOST_STEPS):
        if n_last == 0 and step == _MOST_STEPS - 1:
            n_last = 1
        available = releases.left - max(n_last, 1) * NOISE_SHARE
        state_after = _em_step(releases, entries, state, available / n_last if n_last else _STEP_SHARE * available)
        before, state = state.noise, _estimate_noise(releases, entries, state_after)
        if n_last == 1:
            break
        if n_last:
            n_last -= 1
            continue
        is_small = state.noise < _SMALL_NOISE * (entries.second_moment - state.noise)
        stalled, most_last = (_SMALL_STALLED, _SMALL_LAST_STEPS) if is_small else (_STALLED, 1)
        if state.noise > stalled * before:
            n_last = min(most_last, _MOST_STEPS - 1 - step)
    return state


def _em_step(releases: UserReleases, entries: _Entries, state: _State, share: float) -> _State:
    """One noisy EM step with the gain of a Kalman filter in each column."""
    n_items, rank = state.factors.shape
    n_ratings = releases.n_users * entries.share  # of an item
    bound = _CLIP * math.sqrt(state.noise * n_items * entries.share * rank)
    lattice = releases.vector_lattice(bound, share)
    variance, base = (lattice.scale / n_ratings) ** 2, state.noise / n_ratings
    gain = (state.errors + base) / (state.errors + base + variance)
    everybody = Shaping(np.ones(n_items), math.inf)
    step = StepState(_regression(state), everybody, lattice, None, 0.0, has_base=False)
    total, _ = releases.total(sum_gradients, step)
    gradient = releases.release(total, lattice) / n_ratings
    errors = (1 - gain) ** 2 * state.errors + gain**2 * variance
    return replace(state, factors=state.factors + gain * gradient, errors=errors)


def _shrink(state: _State) -> FloatArray:
    """Factors with squared singular values less by what noise adds, without directions that are mostly noise."""
    Q, singular, R = np.linalg.svd(state.factors, full_matrices=False)
    noise = len(state.factors) * (R**2 @ state.errors)
    squares = np.where(singular**2 > _LEAST_SIGNAL * noise, singular**2 - noise, 0.0)
    shrunk: FloatArray = (Q * np.sqrt(np.maximum(squares, 0.0))) @ R
    return shrunk
