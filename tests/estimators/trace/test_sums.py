"""Public sums: the sum itself, in the units of the data, without noise and without a share."""

import numpy as np
import pytest

from hushrank.estimators.trace.sums import PublicSums
from hushrank.linalg.integer_sums import integer_gram, integer_sum

ROWS = np.random.default_rng(3).standard_normal((40, 4))
NORM = float(np.linalg.norm(ROWS, axis=1).max())


def public():
    return PublicSums(lambda kernel, state: kernel(ROWS, state), len(ROWS))


@pytest.mark.parametrize("share", [None, 0.5, 1e-9])
def test_a_public_sum_is_the_sum(share):
    lattice = public().vector_lattice(NORM, share)
    released = public().release(public().total(integer_sum, lattice), lattice)
    assert released == pytest.approx(ROWS.sum(axis=0), abs=len(ROWS) * lattice.unit)
    assert lattice.unit < 1e-5 * NORM and lattice.scale < 1e-5 * NORM


def test_nonnegative_is_part_of_the_lattice():
    lattice = public().vector_lattice(NORM, nonnegative=True)
    released = public().release(public().total(integer_sum, lattice), lattice)
    assert released == pytest.approx(np.maximum(ROWS, 0.0).sum(axis=0), abs=len(ROWS) * lattice.unit)


def test_a_public_product_is_the_product():
    lattice = public().gram_lattice(NORM)
    total = integer_gram(ROWS, lattice.row_norm, lattice.squared_bound)
    assert public().release_symmetric(total, lattice) == pytest.approx(ROWS.T @ ROWS, rel=1e-3, abs=1e-3)


def test_nothing_is_drawn():
    lattice = public().vector_lattice(NORM)
    first, second = (public().release(np.arange(4), lattice) for _ in range(2))
    assert np.array_equal(first, second) and np.array_equal(first, np.arange(4) * lattice.unit)
