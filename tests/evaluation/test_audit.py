"""Audit bounds: coverage at the stated confidence, and the limits of large samples."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from hushrank.evaluation.audit import delta_lower_bound, epsilon_lower_bound


def test_bounds_are_valid_at_the_stated_confidence(monkeypatch):
    """Exact coverage at confidence 0.9: all outcomes of small binomials, weighted by their probability."""
    for quantile in ("ppf", "isf"):  # 41 different ones, each of them 82 times
        monkeypatch.setattr(stats.beta, quantile, functools.cache(getattr(stats.beta, quantile)))
    n, p, q = 40, 0.6, 0.3
    weights = np.outer(stats.binom.pmf(np.arange(n + 1), n, p), stats.binom.pmf(np.arange(n + 1), n, q))
    for bound, truth in (
        (lambda a, b: epsilon_lower_bound(a, n, b, n, confidence=0.9), math.log(p / q)),
        (lambda a, b: delta_lower_bound(a, n, b, n, 0.2, confidence=0.9), p - math.exp(0.2) * q),
    ):
        wrong = sum(weights[a, b] for a in range(n + 1) for b in range(n + 1) if bound(a, b) > truth)
        assert 0 < wrong <= 0.1


def test_bounds_approach_the_truth():
    n = 10**9
    assert epsilon_lower_bound(n // 2, n, n // 4, n, confidence=0.999) == pytest.approx(math.log(2), abs=1e-3)
    assert delta_lower_bound(n // 2, n, n // 8, n, 1.0, confidence=0.999) == pytest.approx(0.5 - math.e / 8, abs=1e-3)


def test_no_evidence_gives_zero():
    assert epsilon_lower_bound(0, 100, 0, 100, confidence=0.99) == 0.0
    assert epsilon_lower_bound(10, 100, 100, 100, confidence=0.99) == 0.0
    assert delta_lower_bound(0, 100, 50, 100, 1.0, confidence=0.99) == 0.0
