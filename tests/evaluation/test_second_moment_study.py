"""The study releases what it plans and its errors shrink to the clipping error."""

import numpy as np
import pytest

from hushrank.evaluation.second_moment_study import study_second_moment
from hushrank.evaluation.synthetic import power_law_rows
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.noise.source import NoiseSource

X = power_law_rows(2000, 10, seed=0)


def test_rows_follow_the_budgets_and_events_are_executed_as_planned():
    budgets, noise = [Budget(0.5), Budget(0.5, 1e-6)], NoiseSource()
    rows = list(study_second_moment(X, 1.0, budgets, n_components=3, noise=noise))
    assert [row.plan.event for row in rows[:-1]] == list(noise.executed)
    assert rows[-1].plan is None and rows[-1].spectral_error < 1e-12 and rows[-1].captured == pytest.approx(1.0)


def test_a_large_budget_leaves_quantization_only():
    rows = list(study_second_moment(X, 1.0, [Budget(1e9), Budget(1e9, 1e-6)], n_components=3))
    assert all(row.spectral_error < 1e-5 for row in rows)


def test_clipping_is_reported_apart_from_noise():
    rows = list(study_second_moment(3.0 * X, 1.0, [Budget(1e9)], n_components=3))
    assert rows[0].spectral_error == pytest.approx(rows[1].spectral_error, abs=1e-5) and rows[1].spectral_error > 0.3


def test_zero_rows_do_not_disturb():
    padded = np.vstack([X, np.zeros((5, 10))])
    last = list(study_second_moment(padded, 1.0, [], n_components=3))[-1]
    assert last.spectral_error < 1e-12
