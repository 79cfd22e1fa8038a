"""Quotients of noisy sums: exact without noise, covered by their intervals, and silent where there is only noise."""

import math

import numpy as np
import pytest
from scipy import stats

from hushrank.estimators.completion.noisy_ratios import CONFIDENCE, _laplace_quantile, noisy_ratio
from support import assert_plausible, count_p_value


def test_without_noise_the_interval_is_the_quotient():
    ratio = noisy_ratio(30.0, 120.0, 0.0, 0.0, is_gaussian=True)
    assert (ratio.value, ratio.is_noise) == (0.25, False)
    assert ratio.low == pytest.approx(0.25) and ratio.high == pytest.approx(0.25)


@pytest.mark.parametrize("is_gaussian", [True, False])
@pytest.mark.parametrize(("top", "bottom"), [(50.0, 900.0), (40.0, 90.0), (0.0, 100.0), (100.0, 100.0), (2.0, 20.0)])
def test_intervals_cover_the_quotient_as_often_as_they_say(is_gaussian, top, bottom):
    rng, trials = np.random.default_rng(), 1000
    draw = rng.standard_normal if is_gaussian else (lambda size: rng.laplace(size=size))
    noise = draw((trials, 2)) * (5.0, 20.0)
    ratios = [noisy_ratio(top + a, bottom + b, 5.0, 20.0, is_gaussian=is_gaussian) for a, b in noise]
    covered = sum(one.low <= top / bottom <= one.high for one in ratios)
    assert all(0.0 <= one.low <= one.value <= one.high <= 1.0 for one in ratios)
    if covered < CONFIDENCE * trials:  # where ends are cut at 0 and 1, more are covered
        assert_plausible(count_p_value(covered, trials, CONFIDENCE))
    assert covered < trials or top in (0.0, 100.0, 2.0)


def test_what_is_noise_says_so():
    for top, bottom in ((3.0, 100.0), (-3.0, 100.0), (5.0, -20.0), (-5.0, -20.0), (50.0, 1.0)):
        ratio = noisy_ratio(top, bottom, 10.0, 10.0, is_gaussian=True)
        assert ratio.is_noise == (top != 50.0) or ratio.high == 1.0
    assert not noisy_ratio(90.0, 100.0, 10.0, 10.0, is_gaussian=True).is_noise


@pytest.mark.parametrize("second", [0.0, 1e-9, 0.3, 0.999999, 1.0, 4.0])
def test_quantiles_of_two_laplace_deviates(second):
    size = _laplace_quantile(1.0, second)
    grid, step = np.linspace(-60, 60, 240001, retstep=True)
    if second < 1e-3:
        tail = math.exp(-size)
    else:  # P(|L + s L'| > x), given L'
        inner = stats.laplace.sf(size - second * grid) + stats.laplace.cdf(-size - second * grid)
        tail = float(np.sum(inner * stats.laplace.pdf(grid)) * step)
    assert tail == pytest.approx(1.0 - CONFIDENCE, rel=1e-4)
