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
from hushrank.estimators.trace.coordinates import Whitening, apply_map, coefficients
from hushrank.estimators.trace.covariances import learn_whitening
from hushrank.estimators.trace.descent import Descent
from hushrank.estimators.trace.designs import Design
from hushrank.estimators.trace.recipe import TraceRecipe, plan_spending
from hushrank.estimators.trace.record_sums import Candidates, StartState, count_answers
from hushrank.estimators.trace.start import learn_start
from hushrank.estimators.trace.sums import PublicSums, Sums
from hushrank.linalg.fixed_rank import FixedRank, noise_edge
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.scatter import IntegerArray
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import AdaptiveReleases

SIZES = {"dense": 3, "rank_one": 2, "entry": 0}  # searches for sizes of measurements
CENTER_SHARE = 0.25  # of the share of whitening, where measurements are dense


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
    """Coefficients and intercept in the units of the data, singular values, and the last check."""

    coef: FloatArray
    intercept: float
    singular_values: FloatArray
    check: Check


def learn(releases: AdaptiveReleases, task: Task, recipe: TraceRecipe) -> Fitted:
    """Learn with the whole budget."""
    design, rank = task.design, task.rank
    is_paid = task.whitening is None and not task.has_public_measurements
    spending = plan_spending(releases, recipe, sizes=SIZES[design.name] if is_paid else 0)
    searches = Searches(releases, spending)
    intercept, spread = task.intercept or 0.0, task.y_scale
    if not spending.is_blind:
        grid = answer_grid(task.y_scale, spending.answers.answers)
        histogram = releases.total(count_answers, grid)
        terms = {"is_rough": spending.is_rough}
        intercept, spread = find_middle_and_spread(histogram, grid, searches.read, task.intercept, **terms)
    whitening = task.whitening
    if whitening is None:
        design, whitening = _learn_design(releases, searches, task, spending.rest * recipe.whitening_share)
    state = StartState(design, whitening, intercept)
    share = spending.rest * recipe.start_share
    start = learn_start(releases, searches, state, rank=rank, spread=spread, level=recipe.level, share=share)
    shifts = task.intercept is None and not spending.is_blind
    descent = Descent(releases, searches, design, whitening, spending, spread=spread, shifts=shifts)
    place = descent.run(start, intercept)
    point = without_noise(place.point, design.shape, descent.open_variance(place.point), recipe.guard)
    coef = design.unit * coefficients(point, whitening)
    candidates = Candidates(design, coef, place.intercept, intercept)
    n_parameters = rank * (sum(design.shape) - rank)
    check = check_fit(
        releases, searches, candidates, spread=spread, n_parameters=n_parameters, shifts=task.intercept is None
    )
    chosen = check.scale * coef
    shift = 0.0 if design.center is None else float(np.sum(design.center * chosen))
    values = check.scale * design.unit * singular_values(point, whitening)
    return Fitted(chosen, check.intercept - shift, values, check)


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
