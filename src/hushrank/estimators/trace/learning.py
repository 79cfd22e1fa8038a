"""One fit from its budget to its result: answers, whitening, start, steps, check.

Privacy    docs/privacy/trace.md, Theorem 1: all releases take their shares from one filter.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hushrank.estimators.searches import Searches, Window
from hushrank.estimators.trace.answers import answer_grid, find_middle_and_spread
from hushrank.estimators.trace.centers import learn_center
from hushrank.estimators.trace.check import Check, check_fit
from hushrank.estimators.trace.coefficient_noise import chance_variance, coefficient_deviations, singular_strength
from hushrank.estimators.trace.coordinates import Whitening, apply_map, coefficients
from hushrank.estimators.trace.covariances import learn_whitening
from hushrank.estimators.trace.descent import Descent
from hushrank.estimators.trace.designs import Design
from hushrank.estimators.trace.means import Residuals, find_mean, find_reach
from hushrank.estimators.trace.recipe import TIED, Spending, TraceRecipe, plan_spending
from hushrank.estimators.trace.record_sums import Candidates, StartState, count_answers
from hushrank.estimators.trace.start import learn_start
from hushrank.estimators.trace.sums import PublicSums, Sums
from hushrank.linalg.fixed_rank import FixedRank, nearest_of_rank, noise_edge
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import IntegerArray
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import AdaptiveReleases

SIZES = {"dense": 3, "rank_one": 2, "entry": 0}  # searches for sizes of measurements
CENTER_SHARE = 0.25  # of the share of whitening, where measurements are dense
BLIND_REACH = 4.0  # of answers that nothing is searched for about, as a multiple of y_scale
TIED_SPREAD = 4.0  # reach of tied answers over what is then called their spread
# For entries; chosen on seven generated settings of 30000 records with popularities of 0 to 2 and epsilon of .1 to 1.
_CLEAR = 1.0  # deviations of the norm of a row of noise
_FARTHEST = 2.0  # largest entry as a multiple of how far answers reach, unless its row and column
_FAR = 200.0  # have so many times the energy of their noise
_TINY = float(np.finfo(float).tiny)


class Task(NamedTuple):
    """What a fit is asked for; all of it is public.

    Attributes
    ----------
    design : Design
    rank : int
    whitening : Whitening or None
        None where it is learned.
    intercept : float or None
        None where it is learned.
    x_scale, y_scale : float
    has_public_measurements : bool
        Whether only answers are private.
    """

    design: Design
    rank: int
    whitening: Whitening | None
    intercept: float | None
    x_scale: float
    y_scale: float
    has_public_measurements: bool


class Fitted(NamedTuple):
    """Coefficients and intercept in the units of the data, singular values, the last check, and the noise.

    `strength` is that of the singular values: over the level that noise alone exceeds in 5 % of the fits; `deviation`
    is that of the noise of the coefficients.
    """

    coef: FloatArray
    intercept: float
    singular_values: FloatArray
    check: Check
    strength: FloatArray
    deviation: FloatArray


def learn(releases: AdaptiveReleases, task: Task, recipe: TraceRecipe) -> Fitted:
    """Learn with the whole budget."""
    design, rank = task.design, task.rank
    is_paid = task.whitening is None and not task.has_public_measurements
    spending = plan_spending(releases, recipe, sizes=SIZES[design.name] if is_paid else 0)
    searches = Searches(releases, spending)
    answers = _learn_answers(releases, task, spending)
    if answers.are_tied:
        spending = spending.for_ties
    whitening = task.whitening
    if whitening is None:
        design, whitening = _learn_design(releases, searches, task, spending.rest * recipe.whitening_share)
    level, share = spending.recipe.level, spending.rest * recipe.start_share
    state = StartState(design, whitening, answers.center)
    start = learn_start(releases, searches, state, rank=rank, spread=answers.spread, level=level, share=share)
    shifts = task.intercept is None and not spending.is_blind and not answers.are_tied
    descent = Descent(releases, searches, design, whitening, spending, spread=answers.spread, shifts=shifts)
    place = descent.run(start, answers.center)
    variance = descent.open_variance(place.point)
    point = without_noise(place.point, design.shape, variance, recipe.guard)
    found = point
    if design.name == "entry":
        point = without_noisy_rows(point, variance)
        point = within_reach(point, whitening, _FARTHEST * answers.reach / design.unit, variance)
    coef = design.unit * coefficients(point, whitening)
    candidates = Candidates(design, coef, place.intercept, answers.mean)
    check = check_fit(
        releases,
        searches,
        candidates,
        spread=answers.spread,
        reach=answers.reach,
        n_parameters=rank * (sum(design.shape) - rank),
        shifts=task.intercept is None,
    )
    chosen = check.scale * coef
    shift = 0.0 if design.center is None else float(np.sum(design.center * chosen))
    values = check.scale * design.unit * singular_values(point, whitening)
    variance += chance_variance(check.residual, releases.n_people)
    deviation = design.unit * coefficient_deviations(point, whitening, variance)
    strength = singular_strength(found, design.shape, variance) * (values > 0.0)
    return Fitted(chosen, check.intercept - shift, values, check, strength, (check.scale or 1.0) * deviation)


class Answers(NamedTuple):
    """What is known of the answers before the measurements are looked at.

    Attributes
    ----------
    center : float
        From where steps begin: the middle or, where most answers are equal, the mean.
    mean : float
        What is predicted without a matrix.
    spread, reach : float
        How far most of them are from the center, and how far all but a few.
    are_tied : bool
        Whether most of them are equal.
    """

    center: float
    mean: float
    spread: float
    reach: float
    are_tied: bool


def _learn_answers(releases: AdaptiveReleases, task: Task, spending: Spending) -> Answers:
    """Where the answers lie; those of an intercept that is given stay there."""
    middle, spread = task.intercept or 0.0, task.y_scale
    if not spending.is_blind:
        grid = answer_grid(task.y_scale, spending.answers.answers)
        histogram, read = releases.total(count_answers, grid), Searches(releases, spending.for_answers).read
        middle, spread = find_middle_and_spread(histogram, grid, read, task.intercept, is_rough=spending.is_rough)
    numbers = Residuals(task.design, None, middle)
    reach = BLIND_REACH * task.y_scale
    if not spending.is_blind:
        reach = max(find_reach(releases, numbers, task.y_scale, spending.bound_share), spread)
    mean = middle
    if task.intercept is None:
        mean += find_mean(releases, numbers, reach, spending.mean_share)
    if spread * TIED > reach:
        return Answers(middle, mean, spread, reach, False)
    return Answers(mean, mean, reach / TIED_SPREAD, reach, True)


def singular_values(point: FixedRank, whitening: Whitening) -> FloatArray:
    """Of L M' R."""
    left, right = apply_map(point.U.T, whitening.left).T * point.s, apply_map(point.V.T, whitening.right).T
    with one_blas_thread():
        core: FloatArray = np.linalg.qr(left)[1] @ np.linalg.qr(right)[1].T
        return np.asarray(np.linalg.svd(core, compute_uv=False), np.float64)


def without_noise(point: FixedRank, shape: tuple[int, int], variance: float, guard: float) -> FixedRank:
    """The matrix without the singular values that noise of this variance in each coordinate may have made."""
    edge = guard * noise_edge(shape, math.sqrt(variance))
    return point._replace(s=(point.s >= edge) * point.s)


def without_noisy_rows(point: FixedRank, variance: float) -> FixedRank:
    """The matrix without rows and columns that noise of this variance in each coordinate may have made.

    In whitened coordinates the noise of all rows is alike. Rows of entries that were rarely seen are short there, and
    long in the units of the data: what noise has made of them would be by far the largest entries. Rows that stand out
    are shortened by what noise adds to them (James and Stein).
    """
    U, s, V = point
    left, right = (_kept(((side * s) ** 2).sum(axis=1), len(s), variance)[:, np.newaxis] * side for side in (U, V))
    return nearest_of_rank(FixedRank(left, s, right).matrix, len(s))


def within_reach(point: FixedRank, whitening: Whitening, limit: float, variance: float) -> FixedRank:
    """The matrix with entries of at most this size in the units of the data, unless they stand far above the noise.

    Of the row and the column of an entry that is too large, the one of less energy over its noise is shortened: in
    whitened coordinates that is the one which was seen more rarely.
    """
    U, s, V = point
    rows, columns = (((side * s) ** 2).sum(axis=1) for side in (U, V))
    far = _FAR * len(s) * variance
    is_row = rows[:, np.newaxis] <= columns
    sizes = np.abs(coefficients(point, whitening)) * (np.minimum(rows[:, np.newaxis], columns) < far)
    most = np.where(is_row, sizes, 0.0).max(axis=1), np.where(is_row, 0.0, sizes).max(axis=0)
    if max(part.max() for part in most) <= limit:
        return point
    shorter = [(limit / np.maximum(part, limit))[:, np.newaxis] * side for part, side in zip(most, (U, V), strict=True)]
    return nearest_of_rank(FixedRank(shorter[0], s, shorter[1]).matrix, len(s))


def _kept(squares: FloatArray, rank: int, variance: float) -> FloatArray:
    """How much is left of rows of these squared norms."""
    stands_out = squares > (math.sqrt(rank) + _CLEAR) ** 2 * variance
    return stands_out * (1.0 - rank * variance / np.maximum(squares, max(rank * variance, _TINY)))


def _learn_design(releases: AdaptiveReleases, searches: Searches, task: Task, share: float) -> tuple[Design, Whitening]:
    """The design with its center, and the coordinates in which it is isotropic."""

    def grid(window: Window) -> FloatArray:
        return searches.grid(window, is_long=True)

    def find(histogram: IntegerArray, points: FloatArray) -> float:
        if not task.has_public_measurements:
            return searches.read(histogram, points, 0.5)
        at_most = histogram.cumsum()
        return float(points[min(int((at_most < 0.5 * at_most[-1]).sum()), len(points) - 1)])

    sums: Sums = PublicSums(releases.total, releases.n_people) if task.has_public_measurements else releases
    design = task.design
    if design.name == "dense" and task.intercept is None:  # without an intercept of its own a center would be missed
        part, share = CENTER_SHARE * share, (1.0 - CENTER_SHARE) * share
        design = replace(design, center=learn_center(sums, design.shape, task.x_scale, part, grid, find))
    return design, learn_whitening(sums, design, task.x_scale, share, grid, find)
