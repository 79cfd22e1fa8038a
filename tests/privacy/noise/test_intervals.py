"""The integer enclosures contain the true value and are at most three units wide, by 600-bit ball arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from hushrank.privacy.noise.intervals import exp_neg, root_two_over_pi


@pytest.fixture(autouse=True)
def high_precision():
    old, ctx.prec = ctx.prec, 600
    yield
    ctx.prec = old


def test_exp_neg():
    rng = np.random.default_rng(1)
    arguments = [Fraction(int(rng.integers(0, 1 << 40)), 1 << int(rng.integers(30, 60))) for _ in range(400)]
    arguments += [Fraction(0), Fraction(1, 8), Fraction(1), Fraction(1, 3), Fraction(700), Fraction(10**6)]
    for t in arguments:
        precision = int(rng.integers(40, 400))
        low, high = exp_neg(t, precision)
        true = (-arb(fmpq(t.numerator, t.denominator))).exp() * arb(2) ** precision
        assert arb(low) <= true <= arb(high)
        assert high - low <= 3


@pytest.mark.parametrize("precision", [64, 128, 256, 300])
def test_root_two_over_pi(precision):
    low, high = root_two_over_pi(precision)
    true = (arb(2) / arb.pi()).sqrt() * arb(2) ** precision
    assert arb(low) <= true <= arb(high)
    assert high - low <= 3
