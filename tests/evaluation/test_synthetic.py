"""Built-in data have the shape and the bounds that the docs state."""

import numpy as np

from hushrank.evaluation.synthetic import DIGITS_PIXEL_MAX, load_digits, power_law_rows


def test_digits():
    X = load_digits()
    assert X.shape == (1797, 64) and X.dtype == np.float64
    assert X.min() == 0 and X.max() == DIGITS_PIXEL_MAX


def test_power_law_rows_have_the_stated_spectrum_and_unit_bound():
    X = power_law_rows(20_000, 50, seed=1)
    assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
    spectrum = np.sort(np.linalg.eigvalsh(X.T @ X))[::-1]
    # Shortening long rows flattens the top, but the tail keeps the law 1/i: a slope of -1 on logarithmic axes.
    slope = np.polyfit(np.log(np.arange(5, 51)), np.log(spectrum[4:]), 1)[0]
    assert -1.1 < slope < -0.9
    assert np.array_equal(X, power_law_rows(20_000, 50, seed=1))
    assert not np.array_equal(X, power_law_rows(20_000, 50, seed=2))
