"""The fast kernel gives the slow reference's answer bit for bit, and the comparison catches small errors."""

import inspect

import numpy as np
import pytest

from hushrank.privacy.noise import kernels
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import FRACTION_BITS, RESIDUAL, TABLE_BITS, exponential_law, normal_law
from hushrank.privacy.noise.reference import draw_residual

LAWS = [normal_law(), exponential_law()]


def run_kernel(serve_residuals, law, words, n):
    out, state = np.zeros(n, np.int64), np.zeros(4, np.uint64)
    at, todo, h = np.zeros(1, np.int64), np.arange(n), 2.0**-law.cell_bits
    stopped = serve_residuals(
        out, todo, 0, n, words, at, law.thresholds, law.guide, law.gamma, h, law.is_normal, state
    )  # fmt: skip
    return out, stopped, state, int(at[0])


def first_difference(serve_residuals, law, n=5000):
    """Index of the first residual draw in which kernel and reference differ, None if they agree on all."""
    words = Keystream().words(40 * n)
    out, stopped, state, used = run_kernel(serve_residuals, law, words, n)
    if stopped != n or state[0] != kernels.DONE:
        return int(stopped)
    it = iter(words.tolist())
    for i in range(n):
        cell, u = draw_residual(law, lambda: next(it))
        if u.n != FRACTION_BITS or out[i] != (cell << FRACTION_BITS | u.bits):
            return i
    return None if used == len(words) - sum(1 for _ in it) else n


@pytest.mark.parametrize("law", LAWS)
def test_kernel_equals_reference_bit_for_bit(law):
    assert first_difference(kernels.serve_residuals, law) is None


MUTANTS = {
    "quadratic term dropped": ("0.5 * u * u", "0.0"),
    "exponent off by a percent": ("h * h * (j", "h * h * 1.01 * (j"),
    "gamma off by 0.2 percent": ("gamma[j] + acceptor", "gamma[j] * 1.002 + acceptor"),
    "1 - gamma off by 0.2 percent": ("* (1.0 - gamma[j])", "* (1.0 - 1.002 * gamma[j])"),
    "wrong cell": ("thresholds[j + 1] <= word", "thresholds[j + 1] < word - np.uint64(1 << 55)"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_kernel_is_noticed(mutant):
    source = inspect.getsource(kernels.serve_residuals.py_func).replace(", cache=True", "")
    right, wrong = MUTANTS[mutant]
    assert right in source
    namespace = dict(vars(kernels))
    exec(source.replace(right, wrong), namespace)
    assert first_difference(namespace["serve_residuals"], normal_law(), n=12_000) is not None


@pytest.mark.parametrize("law", LAWS)
def test_injected_selection_ties_and_tails_leave_the_kernel(law):
    for word in (int(law.thresholds[7]), int(law.thresholds[law.n_cells]), 2**64 - 1):
        words = np.array([word, 1, 2], np.uint64)
        _, stopped, state, used = run_kernel(kernels.serve_residuals, law, words, 1)
        assert (stopped, state[0], int(state[1]), used) == (0, kernels.SELECTION_OPEN, word, 1)


def test_injected_boundary_comparisons_leave_the_kernel():
    law, j = normal_law(), 40
    fraction = 1 << (FRACTION_BITS - 1)
    threshold = np.exp(-float(law.exponent(j, 0.5)))
    acceptor = (threshold - law.gamma[j]) / (1 - law.gamma[j])
    for ulps, open_ in ((0, True), (1, True), (2**24, False), (-(2**24), False)):
        word = (int(acceptor * 2**53) + ulps) << 11
        words = np.array([law.thresholds[j] + np.uint64(1), fraction << (64 - FRACTION_BITS), word], np.uint64)
        _, _, state, _ = run_kernel(kernels.serve_residuals, law, words, 1)
        assert (state[0] == kernels.COMPARISON_OPEN) == open_
        if open_:
            assert [int(s) for s in state[1:]] == [j, fraction, word]


def test_exhausted_words_are_reported_and_none_is_lost():
    law, words = normal_law(), Keystream().words(10)
    _, stopped, state, used = run_kernel(kernels.serve_residuals, law, words, 100)
    assert state[0] == kernels.OUT_OF_WORDS and stopped < 100 and used == 9


@pytest.mark.parametrize("signed", [True, False])
def test_table_pass_reads_cell_sign_and_fraction_from_the_word(signed):
    law, words = normal_law(), Keystream().words(4096)
    out, residual = np.empty(4096, np.int64), np.empty(4097, np.int64)
    n = kernels.serve_table(words, law.table, signed, out, residual)
    listed = set(residual[:n].tolist())
    for i, word in enumerate(words.tolist()):
        cell = int(law.table[word >> (64 - TABLE_BITS)])
        value = cell << FRACTION_BITS | word & ((1 << FRACTION_BITS) - 1)
        negative = signed and word >> FRACTION_BITS & 1
        assert out[i] == (~value if negative else value)
        assert (i in listed) == (cell == RESIDUAL)
