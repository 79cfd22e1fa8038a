"""The error of private second-moment matrices at several guarantees, on data that are public anyway."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.evaluation.metrics import captured_variance, relative_spectral_error
from hushrank.linalg.lattice import integer_gram
from hushrank.privacy.calibration import event_for
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.mechanisms.gram import gram_lattice, release_gram
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.planning import ReleasePlan, plan_gram


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One release: what was planned (None: clipping without noise) and how it came out."""

    plan: ReleasePlan | None
    spectral_error: float
    captured: float


def study_second_moment(
    X: NDArray[np.float64],
    row_norm: float,
    budgets: Sequence[Budget],
    *,
    n_components: int,
    noise: NoiseSource | None = None,
) -> Iterator[StudyRow]:
    """Release the second moment of `X` once per budget and compare with the true one; last, clipping without noise.

    The errors are computed from the true matrix: they are for public data only.
    """
    true = X.T @ X

    def compare(plan: ReleasePlan | None, matrix: NDArray[np.float64]) -> StudyRow:
        return StudyRow(plan, relative_spectral_error(matrix, true), captured_variance(matrix, true, n_components))

    source = noise or NoiseSource()
    for budget in budgets:
        lattice = gram_lattice(row_norm, event_for(budget), budget.neighbors)
        total = integer_gram(X, lattice.row_norm, lattice.squared_bound)
        yield compare(plan_gram(budget, row_norm, X.shape[1]), release_gram(total, lattice, source))
    clipped = X * np.minimum(1.0, row_norm / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300))
    yield compare(None, clipped.T @ clipped)
