"""What to expect of a release, from public numbers alone: limits of noise matrices and thresholds of signals."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from hushrank.bounds.orbit import expected_score_loss
from hushrank.estimators.second_moment.orbit_plan import OrbitPlan
from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE
from hushrank.estimators.second_moment.spending import Setting, Spending, Wanted, radius_level
from hushrank.privacy.filters import filter_for
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice

NOT_CENTERED_IN_LIMITS = "without a center, results are about the middle of the limits of the columns"
NOT_CENTERED = "no center: where the means of columns are far from zero, the first component is mostly the mean"
WIDE = 2000
"""Columns from which on a choice of them is suggested."""


def noise_edge(lattice: GramLattice, n_features: int) -> float:
    """Limit of the largest eigenvalue of the noise matrix as the number of columns grows.

    2 sqrt(d) deviations of an entry for Gaussian noise; for C (W1 - W2), a difference of two free Poisson laws, C d
    times the root of (11 + 5 sqrt 5) / 2 (the edge of the tetilla law).
    """
    if isinstance(lattice, SymmetricLattice):
        return 2.0 * _entry_scale(lattice) * math.sqrt(n_features)
    return math.sqrt((11 + 5 * math.sqrt(5)) / 2) * lattice.scale * n_features


def signal_threshold(lattice: GramLattice, n_features: int) -> float:
    """Eigenvalue of A above which its eigenvector shows in that of A + noise, as the number of columns grows.

    1 / G(edge) with the Cauchy transform G of the limit law: sqrt(d) deviations for Gaussian noise,
    C d / sqrt(sqrt 5 - 2) for two-sided Wishart noise (Benaych-Georges and Nadakuditi 2011, Theorem 2.1).
    """
    if isinstance(lattice, SymmetricLattice):
        return _entry_scale(lattice) * math.sqrt(n_features)
    return lattice.scale * n_features / math.sqrt(math.sqrt(5) - 2)


def noise_forecast(lattice: GramLattice, n_samples: int, n_features: int) -> dict[str, float]:
    """Forecast of a second moment with noise, in units of a covariance."""
    edge, threshold = (limit(lattice, n_features) / n_samples for limit in (noise_edge, signal_threshold))
    return {
        "spectral error of the covariance": edge,
        "the same over row_norm^2": edge / lattice.row_norm**2,
        "variance a direction needs to show": threshold,
    }


def radius_forecast(setting: Setting, spending: Spending, *, has_mean: bool = False) -> dict[str, float]:
    """Forecast of a second moment with a private radius, for radius 1: the radius is found by the fit.

    `has_mean` says whether rows are augmented without a center as well.
    """
    lattice, d, n = radius_lattice(setting, spending, has_mean=has_mean), setting.n_features, setting.n_samples
    return {
        "spectral error of the covariance, over radius^2": noise_edge(lattice, d) / n,
        "variance a direction needs to show, over radius^2": signal_threshold(lattice, d) / n,
    }


def radius_lattice(setting: Setting, spending: Spending, *, has_mean: bool = False) -> GramLattice:
    """The lattice of a second moment of rows of radius 1, augmented where a mean is released with it."""
    offset = RADIUS_RECIPE.offset if spending.center else RADIUS_RECIPE.far_offset if has_mean else 0.0
    event = filter_for(setting.event).share(spending.matrix)
    field = Field.COMPLEX if setting.is_complex else Field.REAL
    return gram_lattice(math.hypot(1.0, offset), event, setting.neighbors, field=field)


def radius_notes(setting: Setting, spending: Spending, wanted: Wanted) -> Iterator[str]:
    """What somebody should know before a fit with a private radius is charged."""
    level = radius_level(setting, spending, wanted)
    yield f"the radius is one that about {level:.0%} of the rows do not exceed; longer rows are shortened to it"
    if wanted.center and not spending.center:
        error = setting.center_error(RADIUS_RECIPE.most_center)
        is_far_off = error > RADIUS_RECIPE.hopeless_center
        reason = f"its error would be {error:.2g} radii" if is_far_off else "a radius for it would be unsure"
        instead = (
            "what the second moment tells of the mean is subtracted"
            if wanted.mean
            else "components are those of the second moment around the origin"
        )
        yield f"NO CENTER at this budget ({reason}): {instead}"
    elif wanted.center:
        yield (
            f"error of the center: about {setting.center_error(spending.center):.2g} radii; where the mean turns out "
            "to be too short to be worth it, none is bought and its share goes to the second moment"
        )
    if not setting.is_sure(spending.radius):
        yield (
            "few rows for this budget: the search for a radius may go astray; with a good guess of row_norm, "
            "radius='public' is safer"
        )


def radius_draw_forecast(
    setting: Setting, spending: Spending, eigenvalues: Fraction, plan_draw: Callable[..., OrbitPlan]
) -> dict[str, float]:
    """Forecast of a draw with a private radius, for radius 1; a part of the rest is for `eigenvalues`."""
    whole = filter_for(setting.event)
    events = {"eigenvalues": whole.share(spending.matrix * eigenvalues)} if eigenvalues else {}
    events["vectors"] = whole.share(spending.matrix * (1 - eigenvalues))
    plan = plan_draw(events, row_norm=1.0, n_features=setting.n_features)
    forecast = draw_forecast(plan, setting.n_samples, setting.n_features)
    return {f"{name}, over radius^2": value for name, value in forecast.items()}


def wide_notes(n_features: int, *, can_select: bool) -> Iterator[str]:
    """What may help where columns are many."""
    if n_features >= WIDE and can_select:
        yield f"{n_features} columns: if most of them are nearly empty (text, clicks), select_columns='private' helps"


def draw_threshold(rate: float, n_features: int, *, is_complex: bool) -> float:
    """Gap of an eigenvalue of M above the others at which a draw with density exp(rate <M, H>) begins to see it.

    The entropy of the sphere grows like d/2 (real) or d (complex) times the logarithm of 1 - |<u, v>|^2, which balances
    the score at a gap of that many times 1 / rate (docs/guide/orbit.md).
    """
    return (1.0 if is_complex else 0.5) * n_features / rate


def draw_forecast(plan: OrbitPlan, n_samples: int, n_features: int) -> dict[str, float]:
    """Forecast of the releases of the exponential mechanism, in units of a covariance."""
    rate = plan.draws.rate([1.0] * (plan.rank if plan.is_joint else 1))
    forecast = {
        "variance a direction needs to show": draw_threshold(rate, n_features, is_complex=plan.is_complex),
        "mean score loss, at most (top eigenvalue 1)": mean_loss(plan, n_features),
    }
    if plan.eigenvalues is not None:
        forecast["error of an eigenvalue"] = plan.eigenvalues.laplace_scale(plan.rank)
    return {name: value / n_samples for name, value in forecast.items() if value > 0}


def mean_loss(plan: OrbitPlan, n_features: int) -> float:
    """Proved bound on the mean of max <A, H> - <A, H>, for top eigenvalue 1 of H (docs/privacy/orbit_bounds.md).

    Directions drawn one after the other lose at most the sum of their losses: the top eigenvalue of what the first j
    leave of A is at least eigenvalue j + 1 of A. Where a real part is kept, the bound is that of the real part and not
    of its top eigenvectors.
    """
    d, k, is_complex = n_features, plan.rank, plan.is_complex
    if not plan.is_joint:
        rate = plan.draws.rate([1.0])
        return sum(expected_score_loss(d - j, [1.0], rate, is_complex=is_complex) for j in range(k))
    # Levels that are released later differ almost surely; the rate is least for equal ones.
    levels = np.linspace(1.0, 1.0 / k, k) if plan.levels is None else plan.levels / plan.levels[0]
    return expected_score_loss(d, levels[levels > 0], plan.draws.rate([1.0] * k), is_complex=is_complex)


def _entry_scale(lattice: SymmetricLattice) -> float:
    """Root mean square of an entry off the diagonal."""
    return lattice.scale * (math.sqrt(2.0) if lattice.field is Field.COMPLEX else 1.0)
