"""Statistics shared by the tests.

Every statistical assertion rejects at p < FALSE_ALARM. The suite makes fewer than 500 of them, so a run of correct code
with fresh keys, as in `make audit`, fails by chance with probability below 500 * 1e-9 < 1e-6. `make test` has the
same keys in every run (fixed_keys.py). Nothing is retried.
"""

import dataclasses
import math

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-9


def assert_plausible(p_value):
    """The data are not absurd under the law they are claimed to have."""
    assert p_value >= FALSE_ALARM, f"p = {p_value:.2e}"


def chi2_p_value(observed, probabilities):
    """P-value of counts against cell probabilities; cells with few expected counts are pooled."""
    observed, expected = np.asarray(observed, float), np.asarray(probabilities) * np.sum(observed)
    large = expected > 30
    observed = np.append(observed[large], observed[~large].sum())
    expected = np.append(expected[large], expected[~large].sum())
    if expected[-1] < 30:
        observed = np.append(observed[:-2], observed[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    return stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1)


def count_p_value(observed, trials, probability):
    """Two-sided p-value of a binomial count."""
    return stats.binomtest(int(observed), int(trials), float(probability)).pvalue


def normal_scale_p_value(sample, scale):
    """Two-sided p-value of the sum of squares of a sample claimed to be N(0, scale^2)."""
    statistic = float(np.sum((np.asarray(sample) / scale) ** 2))
    return 2 * min(stats.chi2.cdf(statistic, np.size(sample)), stats.chi2.sf(statistic, np.size(sample)))


def laplace_scale_p_value(sample, scale):
    """Two-sided p-value of the sum of absolute values of a sample claimed to be Laplace(scale)."""
    statistic = 2 * float(np.sum(np.abs(sample))) / scale
    return 2 * min(stats.chi2.cdf(statistic, 2 * np.size(sample)), stats.chi2.sf(statistic, 2 * np.size(sample)))


def four_squares(n):
    """Integers with a^2 + b^2 + c^2 + d^2 = n: rows whose squared norm is exactly a given bound."""
    for a in range(math.isqrt(n), -1, -1):
        for b in range(math.isqrt(n - a * a), -1, -1):
            rest = n - a * a - b * b
            for c in range(math.isqrt(rest), -1, -1):
                d = math.isqrt(rest - c * c)
                if c * c + d * d == rest:
                    return [a, b, c, d]
    raise AssertionError("not reached: every number is the sum of four squares")


def plant(lattice, **fields):
    """A copy of a frozen lattice with fields its own check would refuse: a bug planted on purpose."""
    planted = object.__new__(type(lattice))
    for field in dataclasses.fields(lattice):
        object.__setattr__(planted, field.name, fields.get(field.name, getattr(lattice, field.name)))
    return planted
