"""Exact rounding of bilinear forms equals a big-integer reference, with every stage forced."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hushrank.privacy.noise.bilinear import RoundingCounts, float_error_bound, round_bilinear
from hushrank.privacy.noise.deviates import wrap_int64
from hushrank.privacy.noise.extensible import ExtensibleDeviates, Stack
from hushrank.privacy.noise.guard import product
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import normal_law

DEPTH = 6  # digits of the reference: 384 more than the sampler drew


def exact_form(a, b, sign, bits):
    """The bilinear form of two rows of A and the same two of B as a fraction, off by far less than any test can see."""
    dot = sum(x * y for x, y in zip(a[0], b[1], strict=True))
    dot += sign * sum(x * y for x, y in zip(a[1], b[0], strict=True))
    return Fraction(dot, 1 << 2 * bits)


def reference(A, B, offset, sign, multiplier, halvings, shift):
    d, bits = len(offset), A.bits + 1 + 64 * DEPTH
    a, b = ([X.row(i, DEPTH) for i in range(d)] for X in (A, B))
    R = np.zeros((d, d), object)
    for i in range(d):
        for j in range(i if sign > 0 else i + 1, d):
            form = Fraction(multiplier, 1 << halvings) * exact_form((a[i], a[j]), (b[i], b[j]), sign, bits)
            whole = math.floor(form + Fraction(int(offset[i, j]), 1 << shift) + Fraction(1, 2))
            R[i, j], R[j, i] = (wrap_int64(value << shift) >> shift for value in (whole, sign * whole))
    return R


def random_stacks(d, rng, with_drawn_digits=True):
    """Two-block stacks in which some entries pretend that the sampler had drawn further digits already."""
    stacks = []
    for _ in range(2):
        blocks = [ExtensibleDeviates(normal_law(), d, columns, Keystream()) for columns in (d + 1, 3)]
        for block in blocks if with_drawn_digits else ():
            for index in rng.integers(0, block.values.size, 3).tolist():
                n = int(rng.integers(1, 130))
                block._drawn[index] = (int.from_bytes(rng.bytes(20), "big") % (1 << n), n)
        stacks.append(Stack((1, blocks[0]), (-1, blocks[1])))
    return stacks


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("d", [1, 2, 5, 12, 30])
def test_all_stages_equal_the_reference(d, sign):
    rng = np.random.default_rng(d)
    counts = RoundingCounts()
    for multiplier in (3, 1 << 16, 1 << 24, 1 << 36, 1 << 40, (1 << 50) + 12345):
        A, B = random_stacks(d, rng)
        offset = rng.integers(-(1 << 40), 1 << 40, (d, d))
        R = round_bilinear(A, B, offset, sign=sign, multiplier=multiplier, halvings=1, shift=11, counts=counts)
        assert (R == reference(A, B, offset, sign, multiplier, 1, 11)).all()
    if d == 30:  # the largest multipliers leave every stage something to do
        assert counts.entries > counts.ambiguous > counts.extended > 0


def test_offsets_of_any_size_and_shift():
    rng = np.random.default_rng(3)
    for shift in (0, 1, 40, 60):
        A, B = random_stacks(6, rng)
        offset = rng.integers(-(1 << 62), 1 << 62, (6, 6))
        R = round_bilinear(A, B, offset, sign=1, multiplier=1 << 20, shift=shift)
        assert (R == reference(A, B, offset, 1, 1 << 20, 0, shift)).all()


def test_offsets_that_are_equal_modulo_two_to_the_64_give_equal_results():
    """Totals are known modulo 2^64, so the result may depend on nothing else: what wraps is post-processed."""
    A, B = random_stacks(4, np.random.default_rng(5))
    shift = 20
    below, beyond = np.full((4, 4), 2**63 - 1), np.full((4, 4), -(2**63))  # one apart modulo 2^64
    R, S = (round_bilinear(A, B, offset, sign=1, multiplier=1 << 10, shift=shift) for offset in (below, beyond))
    change = (S - R) % (1 << (64 - shift))
    assert set(change.ravel().tolist()) <= {0, 1}


def test_entries_in_rows_beyond_int64_are_settled_exactly():
    rng = np.random.default_rng(4)
    A, B = random_stacks(5, rng, with_drawn_digits=False)
    block = A._parts[0][1]
    block._wide[2 * block.shape[1] + 1] = 1 << 65  # row 2, a normal of 1024
    A = Stack(*A._parts)
    offset = np.zeros((5, 5), np.int64)
    R = round_bilinear(A, B, offset, sign=1, multiplier=1 << 10)
    assert A.wide_rows == {2}
    assert (R == reference(A, B, offset, 1, 1 << 10, 0, 0)).all()


@pytest.mark.parametrize("d", [60, 1000])
def test_float_error_stays_far_below_its_bound(d):
    A, B = (Stack((1, ExtensibleDeviates(normal_law(), d, d + 1, Keystream()))) for _ in range(2))
    left, right = A.floats(), B.floats()
    P, roundings = product(left, right)
    norms = [math.sqrt((X**2).sum(1).max()) for X in (left, right)]
    bound = float_error_bound(d + 1, roundings, *norms, 1.0, A.bits)
    rng = np.random.default_rng(d)
    errors = []
    for i, j in rng.integers(0, d, (100, 2)).tolist():
        exact = exact_form(*([X.row(k, 1) for k in (i, j)] for X in (A, B)), 1, A.bits + 1 + 64)
        errors.append(abs(float(Fraction(float(P[i, j] + P[j, i])) - exact)))
    assert 0 < max(errors) < bound / 10


@pytest.mark.parametrize("wrong", [{"multiplier": 0}, {"multiplier": (1 << 51) + 1}, {"shift": 61}, {"shift": -1}])
def test_numbers_out_of_range_are_refused(wrong):
    A, B = random_stacks(2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="out of range"):
        round_bilinear(A, B, np.zeros((2, 2), np.int64), **{"sign": 1, "multiplier": 8, **wrong})
