"""Rows on which a fit with a private radius shows the noise of its second moment.

Data    rows +-r e_i, all of one norm r, so that the radius is the point of the grid above r, and as many of them that
        the search does not go astray; few directions, of which the first is far above the noise.
Reading as with a public radius (`probe`), for the radius that the model states. The noise of the center does not show:
        what it missed is subtracted from the second moment.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from hushrank.estimators.second_moment.learning import Task
from hushrank.estimators.second_moment.orbit_plan import OrbitPlan
from hushrank.estimators.second_moment.probe import Reading, fits_needed, signals_of
from hushrank.estimators.second_moment.public_plan import SecondMomentPlan
from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE, RECIPE
from hushrank.estimators.second_moment.spending import Spending, spend, without_center
from hushrank.privacy.filters import filter_for
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice
from hushrank.privacy.probes import NoiseProbe

_SURE = 6.0  # times the strength at which a search hardly goes astray
_SHORT = 0.01  # error of the length of the mean in radii: a center is then hardly ever bought


def radius_probe(task: Task) -> NoiseProbe | None:
    """The probe of a fit of rows in the units of their columns; None for others, whose results are in other units."""
    if task.frame.gain is not None or task.wanted.scales or task.wanted.columns:
        return None
    unit = _plan_at(task, task.row_norm, _spending(task, _many_rows(task)))
    d = unit.n_features
    wanted = signals_of(unit)[:d]
    factor = max(1.0, _many_rows(task) * task.row_norm**2 / wanted.sum())
    counts = np.zeros(d, np.int64)
    counts[: len(wanted)] = 2 * np.ceil(factor * wanted / (2 * task.row_norm**2))
    n_samples = int(counts.sum())
    X = np.zeros((n_samples, d))
    X[np.arange(n_samples), np.repeat(np.arange(d), counts)] = task.row_norm * np.where(
        np.arange(n_samples) % 2, -1.0, 1.0
    )
    if task.frame.shift is not None:
        X += task.frame.shift[:d]
    signals = counts.astype(np.float64) * task.row_norm**2
    settled = _spending(task, n_samples)

    def levels(model: Any) -> dict[str, float]:
        return Reading(_plan_at(task, model.radius_, settled), n_samples, signals).levels(model)

    return NoiseProbe(X, levels, fits_needed(unit))


def _spending(task: Task, n_samples: int) -> Spending:
    """The shares of a fit of so many rows, whose mean is zero: a center is not worth its price."""
    spending = spend(replace(task.setting, n_samples=task.setting.n_samples or n_samples), task.wanted)
    return without_center(spending) if spending.length else spending


def _many_rows(task: Task) -> int:
    """So many that the search for the radius is sure, and the mean is seen to be zero."""
    setting = task.setting
    least = RADIUS_RECIPE.sure_pure if setting.is_pure else RADIUS_RECIPE.sure_gaussian
    needed = _SURE * least / setting.strength(RADIUS_RECIPE.radius)
    if task.wanted.center:
        one = replace(setting, n_samples=1)
        needed = max(needed, one.length_error(RADIUS_RECIPE.least_length) / _SHORT)
    return math.ceil(needed)


def _plan_at(task: Task, radius: float, spending: Spending) -> SecondMomentPlan:
    """The releases as with this public radius."""
    setting, filter_ = task.setting, filter_for(task.setting.event)
    count = filter_.share(RECIPE.count) if setting.neighbors is Neighbors.ADD_REMOVE else None
    matrix: GramLattice | OrbitPlan
    if task.draw is not None:
        events = {"eigenvalues": filter_.share(spending.matrix * task.eigenvalues)} if task.eigenvalues else {}
        events["vectors"] = filter_.share(spending.matrix * (Fraction(1) - task.eigenvalues))
        matrix = task.draw(events, row_norm=radius, n_features=setting.n_features)
    else:
        far = RADIUS_RECIPE.far_offset if task.wanted.center and task.wanted.mean else 0.0
        length = radius * math.hypot(1.0, RADIUS_RECIPE.offset if spending.center else far)
        event = filter_.share(spending.matrix)
        matrix = gram_lattice(length, event, setting.neighbors, field=task.field, n_max=task.n_max)
    return SecondMomentPlan(setting.neighbors, setting.n_features, count, None, matrix, None)
