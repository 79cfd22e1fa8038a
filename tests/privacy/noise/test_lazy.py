"""Comparisons of lazy numbers are decided only when all continuations agree; ties draw more digits."""

from fractions import Fraction

from hushrank.privacy.noise.intervals import exp_neg
from hushrank.privacy.noise.lazy import LazyUniform, is_below, is_below_exp


def words(*values):
    it = iter(values)
    return lambda: next(it)


def two_thirds(precision):
    return ((2 << precision) // 3, (2 << precision) // 3 + 1)


def test_fresh_takes_the_top_digits():
    u = LazyUniform.fresh(words(0b1011 << 60), 4)
    assert (u.bits, u.n) == (0b1011, 4)
    assert u.floor() == Fraction(11, 16)
    assert u.ceiling() == Fraction(12, 16)


def test_digits_are_appended_behind():
    u = LazyUniform(words(5), 3, 2)
    u.more()
    assert (u.bits, u.n) == ((3 << 64) | 5, 66)


def test_a_clear_comparison_draws_nothing():
    nothing = words()
    assert is_below(LazyUniform(nothing, 1, 2), two_thirds)
    assert not is_below(LazyUniform(nothing, 3, 2), two_thirds)


def test_a_tie_is_decided_by_the_next_digits():
    tie = (2 << 64) // 3  # the first 64 digits of 2/3; the next 64 are aaaa... again
    below = LazyUniform(words(0xAAAAAAAAAAAAAAA9), tie, 64)
    above = LazyUniform(words(0xAAAAAAAAAAAAAAAB), tie, 64)
    assert is_below(below, two_thirds) and below.n == 128
    assert not is_below(above, two_thirds) and above.n == 128


def test_exponential_comparison_extends_both_numbers():
    middle = Fraction(1, 2)
    threshold = exp_neg(middle + Fraction(1, 1 << 65), 64)[0]
    u, x = LazyUniform(words(0, 0, 0), threshold, 64), LazyUniform(words(1 << 63, 0, 0), 1 << 63, 64)
    # All digits drawn in the end, zeros behind them: the decision is that of these two numbers.
    assert is_below_exp(u, x, lambda v: v) == (u.floor() < exp_neg(x.floor(), 300)[0] / Fraction(1 << 300))
    assert u.n > 64 and x.n > 64
    assert is_below_exp(LazyUniform(words(), 0, 64), LazyUniform(words(), 1 << 63, 64), lambda v: v)
    assert not is_below_exp(LazyUniform(words(), (1 << 64) - 1, 64), LazyUniform(words(), 1 << 63, 64), lambda v: v)
