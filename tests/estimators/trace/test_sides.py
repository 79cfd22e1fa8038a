"""Sides of designs: what one record adds, its norm, and the root that a sum without noise gives."""

import math

import numpy as np
import pytest

from hushrank.estimators.trace.designs import DESIGNS
from hushrank.estimators.trace.sides import CountSide, DenseSide, DiagonalSide, VectorSide, sides_of
from hushrank.estimators.trace.sums import PublicSums

SHAPE = (4, 3)
RNG = np.random.default_rng(8)
X = RNG.standard_normal((500, *SHAPE)) * np.array([1.0, 2.0, 3.0, 4.0])[:, np.newaxis]
PAIRS = np.hstack([X[:, :, 0], X[:, 0, :]])
INDICES = np.column_stack([RNG.integers(4, size=500), RNG.integers(3, size=500)]).astype(float)
UNITS = {False: (1.0, 1.0, 2.0, 4.0), True: (1.0, 0.5, 2.0)}
DATA = {DenseSide: X, DiagonalSide: X, VectorSide: PAIRS, CountSide: INDICES}


def make(kind, columns):
    return kind(SHAPE, columns, UNITS[columns]) if kind is VectorSide else kind(SHAPE, columns)


def one_norm(side, record):
    """Norm of the statistic of a record by its definition."""
    if isinstance(side, CountSide):
        return 1.0
    if isinstance(side, VectorSide):
        return np.linalg.norm((record[4:] if side.columns else record[:4]) / side.units)
    Z = record.T if side.columns else record
    product = Z @ Z.T / Z.shape[1]
    return np.linalg.norm(product if isinstance(side, DenseSide) else np.diag(product))


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("kind", DATA)
def test_norms_are_those_of_the_statistics(kind, columns):
    side = make(kind, columns)
    assert side.norms(DATA[kind]) == pytest.approx([one_norm(side, record) for record in DATA[kind]])
    assert side.width == SHAPE[columns]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("kind", DATA)
def test_one_record_stays_within_the_bound_of_its_lattice(kind, columns):
    side, sums = make(kind, columns), PublicSums(None, 500)
    bound = 1.0 if kind is CountSide else 0.7 * float(np.median(side.norms(DATA[kind])))  # most are shortened
    lattice = side.book(sums, bound, 0.1)
    for record in DATA[kind][:50]:
        total = side.total(record[np.newaxis], lattice)
        size = np.trace(total) if kind is VectorSide else int((total.astype(object) ** 2).sum())
        assert 0 < size <= lattice.squared_bound


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("kind", [DenseSide, DiagonalSide, VectorSide])
def test_roots_whiten_what_is_summed_without_noise(kind, columns):
    side, sums = make(kind, columns), PublicSums(None, 500)
    lattice = side.book(sums, 10.0 * float(side.norms(DATA[kind]).max()), 0.1)
    root = side.root(sums, side.total(DATA[kind], lattice), lattice)
    L = np.diag(root[0]) if len(root) == 1 else root
    if kind is VectorSide:
        part = side.part(PAIRS)
        found = np.mean([np.outer(row @ L, row @ L) for row in part], axis=0)
    else:
        found = np.mean([L @ (Z @ Z.T / Z.shape[1]) @ L for Z in (X.transpose(0, 2, 1) if columns else X)], axis=0)
    assert np.diag(found) == pytest.approx(np.ones(side.width), abs=0.1)


def test_counts_tell_how_often_a_column_is_seen():
    side, sums = make(CountSide, True), PublicSums(None, 500)
    lattice = side.book(sums, 1.0, 0.1)
    root = side.root(sums, side.total(INDICES, lattice), lattice)
    seen = np.bincount(INDICES[:, 1].astype(int), minlength=3) * 3 / 500
    assert 1.0 / root[0] ** 2 == pytest.approx(seen, rel=1e-4)


def test_searches_begin_at_the_scale_that_was_stated():
    low, high = make(DenseSide, False).window(10.0)
    assert math.sqrt(low * high) == pytest.approx(100.0 * math.sqrt(4))
    assert make(VectorSide, False).window(10.0) == make(VectorSide, False).window(
        1.0
    )  # numbers have units of their own
    assert make(CountSide, False).window(10.0) is None


@pytest.mark.parametrize("name, kind", [("dense", DenseSide), ("rank_one", VectorSide), ("entry", CountSide)])
def test_designs_have_two_sides(name, kind):
    rows, columns = sides_of(DESIGNS[name](SHAPE))
    assert type(rows) is type(columns) is kind and (rows.columns, columns.columns) == (False, True)


def test_wide_dense_measurements_have_diagonals_alone():
    assert {type(side) for side in sides_of(DESIGNS["dense"]((60, 60)))} == {DiagonalSide}
