"""A fit with a private radius: its releases one after another, out of one budget.

Release    1 under add_remove, the number of rows;
           2 with select_columns, a choice of columns (`columns`);
           3 with center="private", where the budget is large enough, a center (`centers`);
           4 with standardize="private", scales of the columns (`columns`);
           5 the radius of the rows around the center, in their scales (`radius`);
           6 the second moment of the rows within that radius, with a private center of augmented rows (`augmented`), or
             a draw.
Shares     `spending`, from public numbers and the count of 1.
Privacy    docs/privacy/second_moment.md, Theorem 2.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hushrank.estimators.second_moment.augmented import around_mean, augmented_lattice
from hushrank.estimators.second_moment.centers import find_center
from hushrank.estimators.second_moment.columns import find_scales, select_columns
from hushrank.estimators.second_moment.orbit_draw import release_orbit
from hushrank.estimators.second_moment.orbit_plan import OrbitPlan
from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE
from hushrank.estimators.second_moment.released import SecondMoment, noise_law_of
from hushrank.estimators.second_moment.releases import RowReleases
from hushrank.estimators.second_moment.spending import (
    Setting,
    Spending,
    Wanted,
    radius_level,
    shows_mean,
    spend,
    without_center,
)
from hushrank.estimators.second_moment.sums import augment, join_words, sum_moments, sum_wide_moments
from hushrank.linalg.row_frames import Frame
from hushrank.linalg.spectral import Matrix
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import release_gram


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a fit with a private radius is given: parameters and other public numbers.

    Attributes
    ----------
    setting : Setting
        The whole budget, the relation and the number of columns; rows, for shares, where their number is public.
    wanted : Wanted
    frame : Frame
        Coordinates in which rows are bounded: public limits, center and scales.
    row_norm : float
        Public bound on rows in the frame.
    field : Field
    n_max : int
    least_columns : int
        So many columns are needed.
    draw : callable or None
        (events, row_norm, n_features) -> plan of a draw, with mechanism="exponential".
    eigenvalues : Fraction
        Part of the rest for eigenvalues that are released before a draw.
    """

    setting: Setting
    wanted: Wanted
    frame: Frame
    row_norm: float
    field: Field
    n_max: int
    least_columns: int = 1
    draw: Callable[..., OrbitPlan] | None = None
    eigenvalues: Fraction = Fraction(0)


def learn_moment(task: Task, releases: RowReleases, check_rows: Callable[[int], None]) -> SecondMoment:
    """Bound and release; `check_rows` refuses a public number of rows that only reading has told."""
    frame, bound, wanted = task.frame, task.row_norm, task.wanted
    # Pure sums of vectors are bounded in sums of absolute values.
    powers = (2, 1) if releases.is_pure and (wanted.center or wanted.columns) else (2,)
    norms = releases.norms(frame, bound, powers)
    count = int(norms[2].sum())
    if releases.neighbors is Neighbors.ADD_REMOVE:
        count = releases.count(count)
    else:
        check_rows(count)
    setting, spending = _settle(task, count, task.setting.n_features)
    if spending.columns:
        frame = select_columns(releases, frame, bound, norms, setting, spending, task.least_columns)
        norms = releases.norms(frame, bound, powers)
        setting, spending = _settle(task, count, frame.n_columns)
    has_mean = bool(spending.center) or (wanted.center and wanted.mean)
    if spending.center:
        center = find_center(releases, frame, bound, norms, setting, spending)
        if center.point is None:
            spending = without_center(spending)
            has_mean = wanted.mean or shows_mean(setting, spending, center.squared_length)
        else:
            frame, bound = frame.moved(center.point), bound + float(np.linalg.norm(center.point))
            norms = releases.norms(frame, bound)
    if spending.scales:
        scales = find_scales(releases, frame, bound, norms, setting, spending)
        frame, bound = frame.scaled(1.0 / scales), bound / float(scales.min())
        norms = releases.norms(frame, bound)
    level = radius_level(setting, spending, wanted)
    radius = releases.radius(norms, frame, bound, level, count, spending.radius)
    if task.draw is not None:
        return _draw(task, releases, frame, radius, count)
    is_far = wanted.mean and not spending.center
    offset = RADIUS_RECIPE.far_offset if is_far else RADIUS_RECIPE.offset
    return _add_noise(task, releases, frame, radius, count, offset=offset if has_mean else 0.0)


def _settle(task: Task, count: int, n_features: int) -> tuple[Setting, Spending]:
    """The setting with the number of rows, and shares from the public one if there is one."""
    setting = replace(task.setting, n_samples=count, n_features=n_features)
    public = task.setting.n_samples
    return setting, spend(replace(setting, n_samples=public) if public else setting, task.wanted)


def _add_noise(
    task: Task, releases: RowReleases, frame: Frame, radius: float, count: int, offset: float
) -> SecondMoment:
    """The second moment with noise, around the mean where rows are augmented."""
    terms: dict[str, Any] = {"field": task.field, "n_max": task.n_max}
    lattice = augmented_lattice(radius, releases.rest(), releases.neighbors, **terms, offset=offset)
    *parts, total, tally = releases.total(sum_moments, (frame, radius, lattice.squared_bound, task.field))
    releases.report(tally, f"longer than the radius {radius:g}")
    secret = augment(tuple(parts), total, tally, lattice.offset) if lattice.offset else tuple(parts)
    matrix: Matrix = release_gram(secret[0] if len(secret) == 1 else secret, lattice.gram, releases.noise)
    law = noise_law_of(lattice.gram, len(matrix))
    if not lattice.offset:
        return SecondMoment(matrix, count, _center_of(task, frame), law, frame, radius)
    found = around_mean(matrix, lattice, count)
    center = _center_of(task, frame, found.mean)
    return SecondMoment(found.matrix, count, center, law, frame, radius, found.mean, found.mean_variance)


def _draw(task: Task, releases: RowReleases, frame: Frame, radius: float, count: int) -> SecondMoment:
    """A matrix that the exponential mechanism draws."""
    assert task.draw is not None
    events = {"eigenvalues": releases.take(releases.left * task.eigenvalues)} if task.eigenvalues else {}
    events["vectors"] = releases.rest()
    plan = task.draw(events, row_norm=radius, n_features=task.setting.n_features)
    *words, tally = releases.total(sum_wide_moments, (frame, radius, plan.draws.squared_bound, task.field))
    releases.report(tally, f"longer than the radius {radius:g}")
    sample = release_orbit(join_words(tuple(words), plan.draws), plan, releases.noise)
    return SecondMoment(sample, count, _center_of(task, frame), None, frame, radius)


def _center_of(task: Task, frame: Frame, mean: Matrix | None = None) -> Matrix:
    """The origin of the frame, or a mean in it, in the units of the data and for all columns."""
    is_complex = task.field is Field.COMPLEX
    point = np.zeros(frame.n_columns) if mean is None else np.hstack([mean.real, mean.imag][: 1 + is_complex])
    whole = task.frame.to_data(np.zeros(task.frame.n_columns))  # of columns that were left out
    whole[slice(None) if frame.columns is None else frame.columns] = frame.to_data(point)
    half = len(whole) // (2 if is_complex else 1)
    if not (is_complex and task.wanted.center):  # public centers are real
        return whole[:half]
    return np.asarray(whole[:half] + 1j * whole[half:])
