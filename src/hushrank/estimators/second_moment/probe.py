"""Rows on which private PCA, covariance and low-rank approximation show the noise of their releases.

Data    few directions e_1, e_2, ... with rows +-r e_i in equal numbers, and rows of zeros: the mean is zero and the
        second moment A = diag(a), with a_1 far above the noise.
Reading to first order in the noise over a_1, the top eigenvalue is a_1 + N_11 and the rest of its eigenvector
        N_1j / a_1, where A + N was released; a drawn H = U diag(l) U^* has H_1j = (l_1 - l_j) w_j with independent
        normal w_j of variance l_1 / (rate (a_1 - a_j) (l_1 - l_j)), real and imaginary part together.
Error   of the first order, as a shift of the sums that the check looks at, in their standard deviations: below 0.03
        where noise is added and about 0.2 where H is drawn, for 5 and 12 columns. The check allows for 0.5.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.second_moment.orbit_plan import OrbitPlan
from hushrank.estimators.second_moment.public_plan import SecondMomentPlan
from hushrank.privacy.events import Pure
from hushrank.privacy.mechanisms.counts import counts_scale
from hushrank.privacy.mechanisms.gram import GramLattice
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice
from hushrank.privacy.mechanisms.wishart import WishartLattice
from hushrank.privacy.probes import (
    NoiseProbe,
    count_level,
    laplace_level,
    laplace_sum_level,
    normal_level,
    real_parts,
    wishart_row_level,
)

FloatArray = NDArray[np.float64]

_STRONG = 200.0  # deviations of the noise in the top eigenvalue
_COLD = 100.0  # rate times a gap of the scores of a draw, over the number of columns to the power 3/2
_SURE = 40.0  # Laplace deviates are larger than so many scales with probability e^-40


def second_moment_probe(releases: SecondMomentPlan, row_norm: float, center_norm: float) -> NoiseProbe:
    """The probe of an estimator with these releases and bounds on rows, before and after centering."""
    d, has_center = releases.n_features, releases.center is not None
    length = min(row_norm, center_norm) / 2 if has_center else row_norm
    counts = np.zeros(d, np.int64)
    wanted = signals_of(releases)[:d]
    counts[: len(wanted)] = 2 * np.ceil(wanted / (2 * length**2))
    n_samples = max(int(counts.sum()), _least_rows(releases, length))
    X = np.zeros((n_samples, d))
    columns = np.repeat(np.arange(d), counts)
    X[np.arange(len(columns)), columns] = length * np.where(np.arange(len(columns)) % 2, -1.0, 1.0)
    if releases.public_center is not None:
        X += releases.public_center
    signals = counts.astype(np.float64) * length**2
    return NoiseProbe(X, Reading(releases, n_samples, signals).levels, fits_needed(releases))


def signals_of(releases: SecondMomentPlan) -> FloatArray:
    """Eigenvalues of the second moment of the data, in falling order."""
    plan = releases.matrix
    if not isinstance(plan, OrbitPlan):
        return np.array([_STRONG * _deviation(releases)])
    cold = _COLD * releases.n_features**1.5 / _rate(plan)
    if plan.eigenvalues is not None:  # small ones that noise does not move below zero, and a large one
        small = _SURE * plan.eigenvalues.laplace_scale(plan.rank)
        return np.array([max(cold, 25 * small) + small, *[small] * (plan.rank - 1)])
    assert plan.levels is not None
    steps = np.unique(plan.levels[plan.levels > 0])  # equal levels have equal signals
    smallest = np.diff(steps, prepend=0.0).min() / steps[-1]
    return np.asarray(cold / smallest * (1 + np.searchsorted(steps, plan.levels[plan.levels > 0])), np.float64)


def fits_needed(releases: SecondMomentPlan) -> int:
    """More where a fit shows a single Laplace deviate: a pure count, or the sum of eigenvalues."""
    has_eigenvalues = isinstance(releases.matrix, OrbitPlan) and releases.matrix.eigenvalues is not None
    return 384 if isinstance(releases.count, Pure) or has_eigenvalues else 256


def _least_rows(releases: SecondMomentPlan, length: float) -> int:
    """So many rows that a noisy count is positive, and that a noisy center hardly changes the second moment."""
    least, plan = 2.0, releases.matrix
    if releases.count is not None:
        least = max(least, _SURE * counts_scale(1, releases.count, releases.neighbors))
    if releases.center is not None:
        scale, numbers = releases.center.scale, 2 * releases.n_features
        unit = 1.0 / _rate(plan) if isinstance(plan, OrbitPlan) else _deviation(releases)
        least = max(least, _SURE * math.sqrt(numbers) * scale / length, 10 * scale**2 / unit)
    return math.ceil(least)


def _deviation(releases: SecondMomentPlan) -> float:
    """Standard deviation of the noise off the diagonal."""
    plan = releases.matrix
    assert not isinstance(plan, OrbitPlan)
    return plan.scale if isinstance(plan, SymmetricLattice) else plan.entry_deviation(releases.n_features)


def _rate(plan: OrbitPlan) -> float:
    return plan.draws.rate([1.0] * (plan.rank if plan.is_joint else 1))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How the noise is read off a model: the releases, the number of rows, and diag(a) of the data."""

    releases: SecondMomentPlan
    n_samples: int
    signals: FloatArray

    def levels(self, model: Any) -> dict[str, float]:
        """Levels of all releases that the model shows."""
        releases, found = self.releases, {}
        count = getattr(model, "n_", self.n_samples)
        if releases.count is not None and hasattr(model, "n_"):
            scale = counts_scale(1, releases.count, releases.neighbors)
            found["number of rows"] = count_level(count - self.n_samples, scale, releases.count)
        if releases.center is not None:
            level = normal_level if isinstance(releases.center, GaussianLattice) else laplace_level
            found["center"] = level(model.center_ * count, releases.center.scale)
        plan = releases.matrix
        if isinstance(plan, OrbitPlan):
            return {**found, **self._drawn_levels(model, plan)}
        return {**found, **self._added_levels(model, plan)}

    def _added_levels(self, model: Any, plan: GramLattice) -> dict[str, float]:
        """From the first row of A + N."""
        strength = self.signals[0]
        if hasattr(model, "released_"):
            first = model.released_[0] * model.n_
            top, row = first[0].real, first[1:]
        else:
            row = strength * model.components_[0, 1:]
            # Eigenvalues that are shrunk, or public, do not show the noise; the middle of the interval does.
            is_mean = hasattr(model, "n_")
            top = model.explained_variance_[0] * model.n_ if is_mean else np.mean(model.eigenvalue_interval_[0])
        if isinstance(plan, WishartLattice):
            return {"second moment": wishart_row_level(row, plan)} if len(row) else {}
        noise = np.append(real_parts(row) / plan.scale, (top - strength) / (math.sqrt(2) * plan.scale))
        return {"second moment": normal_level(noise)}

    def _drawn_levels(self, model: Any, plan: OrbitPlan) -> dict[str, float]:
        """From the first row of H, and from the sum of its eigenvalues where they are noisy."""
        found, a = {}, self.signals
        if hasattr(model, "released_"):
            H = model.released_ * model.n_
        elif hasattr(model, "matrix_"):
            H = model.matrix_
        else:
            H = model.components_.T @ model.components_.conj()
        if plan.eigenvalues is not None:
            total = np.sum(getattr(model, "noisy_eigenvalues_", np.diagonal(H).real))
            scale = plan.eigenvalues.laplace_scale(plan.rank)
            found["eigenvalues"] = laplace_sum_level(total - a[: plan.rank].sum(), scale, plan.rank)
        others = a < a[0]
        if others.any():
            top = H[0, 0].real
            gaps = top - np.diagonal(H).real[others]
            # Directions that are drawn one after the other are drawn without regard to the eigenvalues.
            squares = gaps * (top if plan.is_joint else gaps) / (_rate(plan) * (a[0] - a[others]))
            found["directions"] = normal_level(H[0, others], np.sqrt(squares / 2))
        return found
