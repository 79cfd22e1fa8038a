"""The slow path by injection: selection ties, comparisons on the boundary, the tail, and the law of the residual."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hushrank.privacy.noise.intervals import exp_neg
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import FRACTION_BITS, TABLE_BITS, exponential_law, normal_law
from hushrank.privacy.noise.lazy import LazyUniform
from hushrank.privacy.noise.reference import accept, draw_residual, propose_tail, select
from support import assert_plausible, chi2_p_value, count_p_value

LAWS = [normal_law(), exponential_law()]


@pytest.mark.parametrize("law", LAWS)
def test_selection_away_from_ties_is_a_search_among_the_thresholds(law):
    words = Keystream().words(300)
    expected = np.searchsorted(law.thresholds, words, side="right") - 1
    got = [select(law, LazyUniform(None, int(word), 64)) for word in words]  # no word source: must not be asked
    assert got == expected.tolist()


@pytest.mark.parametrize("law", LAWS)
def test_selection_ties_are_settled_by_the_next_digits_of_the_threshold(law):
    word = Keystream().word
    for j in (1, 7, 100, law.n_cells - 1, law.n_cells):
        tie = int(law.thresholds[j])
        cells = [select(law, LazyUniform(word, tie, 64)) for _ in range(200)]
        assert set(cells) <= {j - 1, j}
        next_digits = law.threshold(j, 128)[0] & ((1 << 64) - 1)
        assert_plausible(count_p_value(cells.count(j), 200, 1 - next_digits / 2**64))
        # digits one below and one above the threshold's own decide without chance
        assert select(law, LazyUniform(lambda d=next_digits: d - 1, tie, 64)) == j - 1
        assert select(law, LazyUniform(lambda d=next_digits: d + 1, tie, 64)) == j


@pytest.mark.parametrize("law", LAWS)
def test_comparisons_on_the_boundary_go_both_ways(law):
    word, accepted, j = Keystream().word, 0, 40
    for _ in range(300):
        u = LazyUniform.fresh(word, FRACTION_BITS)
        threshold = exp_neg(law.exponent(j, Fraction(2 * u.bits + 1, 2 << u.n)), 200)[0]
        gamma = law.gamma_bounds(j, 200)[0]
        acceptor = LazyUniform(word, ((threshold - gamma) << 64) // ((1 << 200) - gamma), 64)
        accepted += accept(law, j, u, acceptor)
        assert u.n > FRACTION_BITS and acceptor.n > 64
    # The position of u inside its cell decides, so about half are accepted.
    assert_plausible(count_p_value(accepted, 300, 0.5))


@pytest.mark.parametrize("law", LAWS)
def test_tail_law(law):
    word, values = Keystream().word, []
    while len(values) < 3000:
        draw = propose_tail(law, word)
        if draw is not None:
            values.append((draw[0] + draw[1].bits / 2 ** draw[1].n) * 2.0**-law.cell_bits)
    if law.is_normal:
        p_value = stats.kstest(values, lambda x: 1 - stats.norm.sf(x) / stats.norm.sf(law.tail_start)).pvalue
    else:
        p_value = stats.kstest(values, lambda x: 1 - np.exp(law.tail_start - x)).pvalue
    assert min(values) >= law.tail_start
    assert_plausible(p_value)


@pytest.mark.parametrize("law", LAWS)
def test_residual_law_of_the_cells(law):
    word, n = Keystream().word, 20_000
    survival = stats.norm.sf if law.is_normal else lambda x: np.exp(-x) / 2
    edges = np.arange(law.n_cells + 1) * 2.0**-law.cell_bits
    residual = -2 * np.diff(survival(edges)) - np.array(law.slots) / 2**TABLE_BITS
    cells = [min(draw_residual(law, word)[0], law.n_cells) for _ in range(n)]
    counts = np.bincount(cells, minlength=law.n_cells + 1)
    probabilities = np.append(residual, 2 * survival(float(law.tail_start))) / float(law.residual_mass)
    assert_plausible(chi2_p_value(counts, probabilities))
