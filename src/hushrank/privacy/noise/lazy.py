"""Uniform numbers of [0, 1) whose binary digits are drawn only when a comparison needs them.

Every decision below is taken only when it is the same for all continuations of the digits drawn so far. Hence the
digits not yet drawn stay uniform, and further digits of an accepted deviate can be appended at any later time
(docs/privacy/exact_noise.md, Lemma 2).
"""

from collections.abc import Callable
from fractions import Fraction

from hushrank.privacy.noise.intervals import Interval, exp_neg

Word = Callable[[], int]


class LazyUniform:
    """A uniform number: `bits` holds its first `n` binary digits, `more()` draws 64 further ones."""

    __slots__ = ("_word", "bits", "n")

    def __init__(self, word: Word, bits: int, n: int) -> None:
        self._word, self.bits, self.n = word, bits, n

    @classmethod
    def fresh(cls, word: Word, n: int = 64) -> "LazyUniform":
        """Uniform number with `n` <= 64 digits drawn: the top ones of one word."""
        return cls(word, word() >> (64 - n), n)

    def more(self) -> None:
        self.bits = self.bits << 64 | self._word()
        self.n += 64

    def floor(self) -> Fraction:
        """The number with all undrawn digits zero."""
        return Fraction(self.bits, 1 << self.n)

    def ceiling(self) -> Fraction:
        """The number with all undrawn digits one."""
        return Fraction(self.bits + 1, 1 << self.n)


def is_below(u: LazyUniform, bounds: Callable[[int], Interval]) -> bool:
    """Exact test u < p, where bounds(precision) encloses 2^precision p. Ends with probability one."""
    while True:
        low, high = bounds(u.n + 8)
        if (u.bits + 1) << 8 <= low:
            return True
        if u.bits << 8 >= high:
            return False
        u.more()


def is_below_exp(u: LazyUniform, x: LazyUniform, exponent: Callable[[Fraction], Fraction]) -> bool:
    """Exact test u < exp(-exponent(x)) for an increasing `exponent`."""
    while True:
        precision = u.n + x.n + 16
        low = exp_neg(exponent(x.ceiling()), precision)[0]
        high = exp_neg(exponent(x.floor()), precision)[1]
        if (u.bits + 1) << (precision - u.n) <= low:
            return True
        if u.bits << (precision - u.n) >= high:
            return False
        u.more()
        x.more()
