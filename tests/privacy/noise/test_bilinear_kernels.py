"""The compiled loops against the same sums in Python integers and fractions."""

import math

import numpy as np
import pytest

from hushrank.privacy.noise.bilinear_kernels import exact_dots, round_floats


@pytest.mark.parametrize("sign", [1, -1])
def test_digits_are_those_of_the_exact_products(sign):
    rng = np.random.default_rng(1)
    A, B = (rng.integers(-(2**60), 2**60, (5, 7)) for _ in range(2))
    first, second = (np.array(pairs) for pairs in zip(*[(i, j) for i in range(5) for j in range(i, 5)], strict=True))
    digits = np.empty((len(first), 5), np.int64)
    exact_dots(A, B, first, second, sign, digits)
    a, b = A.tolist(), B.tolist()
    for i, j, row in zip(first, second, digits.tolist(), strict=True):
        exact = sum(x * y for x, y in zip(a[i], b[j], strict=True))
        exact += sign * sum(x * y for x, y in zip(a[j], b[i], strict=True))
        assert sum(digit << 21 * place for place, digit in enumerate(row)) == exact


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("d", [3, 70])  # below and above a tile
def test_entries_are_rounded_and_close_calls_are_listed(sign, d):
    rng = np.random.default_rng(2)
    P, offset = rng.standard_normal((d, d)) * 100, rng.integers(0, 1000, (d, d))
    R, listed = np.zeros((d, d), np.int64), np.empty((d * (d + 1) // 2, 2), np.int64)
    scale, shift, bound = 1.5, 4, 0.01
    n_open = round_floats(P, offset, sign, scale, shift, bound, R, listed)
    close = {tuple(pair) for pair in listed[:n_open].tolist()}
    for i in range(d):
        for j in range(i if sign > 0 else i + 1, d):
            real = scale * (P[i, j] + sign * P[j, i]) + offset[i, j] / 2**shift + 0.5
            assert R[i, j] == math.floor(real) and R[j, i] == sign * R[i, j]
            assert ((i, j) in close) == (min(real % 1, 1 - real % 1) <= bound)
