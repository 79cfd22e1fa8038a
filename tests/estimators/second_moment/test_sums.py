"""Kernels of the second moment: what does not fit one word, complex rows, and rows that overflow."""

import numpy as np
import pytest

from hushrank.data.rows.arrays import ArrayRows
from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.sums import (
    join_words,
    shorten,
    sum_complex_rows,
    sum_products,
    sum_rows,
    sum_wide_products,
)
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.mechanisms.exponential import score_lattice
from hushrank.privacy.mechanisms.gram import gram_lattice
from hushrank.privacy.mechanisms.vector import vector_lattice


def lattice_of(field, **terms):
    return score_lattice(2.0, Pure(1.0), "replace", field=field, n_features=3, rank=2, **terms)


def rows(field, n=50):
    rng = np.random.default_rng(3)
    return rng.standard_normal((n, 3)) + (1j * rng.standard_normal((n, 3)) if field == "complex" else 0)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_two_words_are_the_same_matrix_for_any_split_into_blocks(field):
    X, lattice = rows(field), lattice_of(field)
    *one, _ = sum_products(X, (None, lattice))
    expected = (one[0] if field == "real" else one[0] + 1j * one[1]) * lattice.unit
    for block_rows in (1, 7, 50):
        source = ArrayRows(X, "test")
        *words, tally = LocalEngine(1, block_rows=block_rows).total(source, sum_wide_products, (None, lattice))
        assert np.array_equal(join_words(words, lattice), expected)
        assert tally[0] == 50
    short = X * np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, np.newaxis]
    assert expected == pytest.approx(short.T @ short.conj(), abs=1e-3)


def test_two_words_do_not_wrap_where_one_does():
    lattice = lattice_of("real")
    *words, _ = sum_wide_products(np.full((4, 3), 2.0 / 3**0.5), (None, lattice))
    many = [word * 2**35 for word in words]  # as many people as 2^37 rows: one word would have wrapped
    assert 2**37 * lattice.squared_bound > 2**63
    assert np.trace(join_words(many, lattice)) == pytest.approx(2**37 * 4.0, rel=1e-4)


@pytest.mark.parametrize("event", [Pure(1.0), Gaussian(1.0)])
def test_complex_rows_are_summed_as_real_ones_of_twice_the_length(event):
    lattice, X = vector_lattice(5.0, event), rows("complex")
    both = np.hstack([X.real, X.imag])
    for one, other in zip(sum_complex_rows(X, lattice), sum_rows(both, lattice), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(sum_complex_rows(X.real, lattice)[0][3:], [0, 0, 0])  # real rows serve as complex ones


def test_overflow_at_the_center_makes_a_row_of_zeros():
    lattice = gram_lattice(1.0, Pure(1.0))
    X = np.array([[1.7e308, 0.0], [0.0, 0.5]])
    S, tally = sum_products(X, (np.array([-1.7e308, 0.0]), lattice))
    assert tally.tolist() == [2, 1, 1] and np.trace(S) <= lattice.squared_bound


def test_shortening_a_vector():
    assert shorten(np.array([3.0, 4.0]), 10.0).tolist() == [3.0, 4.0]
    assert shorten(np.array([3.0, -4.0]), 2.5) == pytest.approx([1.5, -2.0])
    assert shorten(np.array([1e300, 1e300]), 1.0) == pytest.approx([0.5**0.5, 0.5**0.5])
    assert shorten(np.zeros(2), 1.0).tolist() == [0.0, 0.0]
    assert shorten(np.array([3.0j, 4.0]), 2.5) == pytest.approx([1.5j, 2.0])
