"""Exact residual draws in integer arithmetic.

This is the definition of the sampler: the kernel must give the same answer bit for bit, and hands over every draw that
float64 cannot decide (about one in 10^13). Slow, and never approximate.
"""

from fractions import Fraction

from hushrank.privacy.noise.intervals import Interval, exp_neg
from hushrank.privacy.noise.laws import FRACTION_BITS, Law
from hushrank.privacy.noise.lazy import LazyUniform, Word, is_below, is_below_exp

Draw = tuple[int, LazyUniform]  # cell j and fraction u: the deviate is (j + u) h


def draw_residual(law: Law, word: Word) -> Draw:
    """One deviate of the residual law, from fresh words."""
    while True:
        draw = finish_selection(law, LazyUniform.fresh(word), word)
        if draw is not None:
            return draw


def finish_selection(law: Law, selector: LazyUniform, word: Word) -> Draw | None:
    """One proposal from the uniform number that selects its cell; None if it is rejected."""
    j = select(law, selector)
    if j == law.n_cells:
        return propose_tail(law, word)
    u = LazyUniform.fresh(word, FRACTION_BITS)
    return finish_comparison(law, j, u, LazyUniform.fresh(word))


def finish_comparison(law: Law, j: int, u: LazyUniform, acceptor: LazyUniform) -> Draw | None:
    """The proposal (j + u) h in a known cell; None if it is rejected."""
    return (j, u) if accept(law, j, u, acceptor) else None


def select(law: Law, selector: LazyUniform) -> int:
    """Cell proposed by a uniform number (n_cells means the tail); a tie draws more digits, it is never broken."""
    while True:
        low, high = 0, law.n_cells + 1
        while high - low > 1:
            middle = (low + high) // 2
            if selector.bits + 1 <= law.threshold(middle, selector.n)[0]:
                high = middle
            else:
                low = middle
        if low == 0 or selector.bits > law.threshold(low, selector.n)[1]:
            return low
        selector.more()


def accept(law: Law, j: int, u: LazyUniform, acceptor: LazyUniform) -> bool:
    """Exact test gamma_j + U (1 - gamma_j) < exp(-t_j(u)); both numbers are extended until it is decided."""
    while True:
        precision = acceptor.n + u.n + 16
        one = 1 << precision
        gamma_low, gamma_high = law.gamma_bounds(j, precision)
        # The left side increases in gamma and in U.
        left_low = gamma_low + (acceptor.bits * (one - gamma_low) >> acceptor.n)
        left_high = gamma_high + ((acceptor.bits + 1) * (one - gamma_high) >> acceptor.n) + 1
        if left_high <= exp_neg(law.exponent(j, u.ceiling()), precision)[0]:
            return True
        if left_low >= exp_neg(law.exponent(j, u.floor()), precision)[1]:
            return False
        acceptor.more()
        u.more()


def propose_tail(law: Law, word: Word) -> Draw | None:
    """Deviate beyond tail_start: exponential k + x, for the normal law scaled by 1/tail_start and thinned."""
    k = 0
    while is_below(LazyUniform.fresh(word), _one_over_e):
        k += 1
    x = LazyUniform.fresh(word)
    while not is_below_exp(LazyUniform.fresh(word), x, lambda v: v):
        x = LazyUniform.fresh(word)
    unit_bits = x.n - law.cell_bits  # digits of (k + x) / h behind the point
    if law.is_normal:
        double_square = 2 * law.tail_start**2
        if not is_below_exp(LazyUniform.fresh(word), x, lambda v: (k + v) ** 2 / double_square):
            return None
        unit_bits = x.n - law.cell_bits + law.tail_start.bit_length() - 1  # divided by tail_start = 2^3
    digits = (k << x.n) + x.bits
    fraction = LazyUniform(word, digits & ((1 << unit_bits) - 1), unit_bits)
    return law.n_cells + (digits >> unit_bits), fraction


def _one_over_e(precision: int) -> Interval:
    return exp_neg(Fraction(1), precision)
