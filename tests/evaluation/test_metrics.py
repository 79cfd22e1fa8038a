"""Metrics on matrices whose answers are known."""

import numpy as np
import pytest

from hushrank.evaluation.metrics import captured_variance, relative_spectral_error


def test_relative_spectral_error():
    true = np.diag([4.0, 1.0])
    assert relative_spectral_error(true, true) == 0.0
    assert relative_spectral_error(np.diag([4.0, 3.0]), true) == pytest.approx(0.5)


def test_captured_variance():
    true, e = np.diag([5.0, 3.0, 1.0]), np.eye(3)
    assert captured_variance(e[:2], true) == pytest.approx(1.0)
    assert captured_variance(e[1:], true) == pytest.approx(4.0 / 8.0)
    assert captured_variance(e[2:], true) == pytest.approx(1.0 / 5.0)
    turned = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0]])
    assert captured_variance(turned, true) == pytest.approx(1.0)  # another basis of the same plane
