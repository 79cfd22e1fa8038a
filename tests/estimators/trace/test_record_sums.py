"""Sums over records: every bound holds in integers and is attained, everybody counts once, bits are always the same."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.records.measurements import read_measurements
from hushrank.engine.local import LocalEngine
from hushrank.estimators.trace import record_sums
from hushrank.estimators.trace.designs import DESIGNS
from hushrank.privacy.mechanisms.vector import vector_l2_sensitivity, vector_lattice
from record_support import EVENT, assert_paid_for, assert_within, same_bits, sum_lattice, to_integers, totals_of
from trace_support import (
    HISTOGRAMS,
    RANK,
    SHAPE,
    SUMS,
    any_tangent,
    assert_bits_are_each_records_own,
    block_of,
    candidates_of,
    contributions_of,
    form_of,
    hostile_records,
    make_design,
    make_records,
    make_tangent,
    measurements,
)

every_design = pytest.mark.parametrize("name", DESIGNS)
every_sum = pytest.mark.parametrize("kind", SUMS)
every_histogram = pytest.mark.parametrize("kind", HISTOGRAMS)
seeds = st.integers(0, 2**32)
bounds = st.sampled_from([1, 2, 7, 1000, 2**24, None])  # None: the finest lattice
GRID = np.geomspace(1e-3, 1e3, 16)


def some_records(name, rng, n=14):
    """A few hostile records, and a few ordinary ones."""
    hostile = hostile_records(name, rng)
    return [*(hostile[i] for i in rng.permutation(len(hostile))[:n]), *make_records(name, rng, 3)]


# 1. Sensitivity


@every_design
@every_sum
@given(seeds, bounds, st.sampled_from([0, 0, 0, -70, 70]), st.sampled_from([np.float64, np.float32]))
@settings(deadline=None, max_examples=25)
def test_no_record_exceeds_the_bound_and_no_replacement_costs_more_than_was_charged(
    name, kind, seed, bound, power, dtype
):
    """Whatever the records, the public numbers and the lattice are."""
    rng = np.random.default_rng(seed)
    records, lattice = some_records(name, rng), sum_lattice(10.0 ** (power + rng.uniform(-2, 2)), bound)
    kernel, state = SUMS[kind](name, any_tangent(name, seed), lattice)
    own = [total for [total] in contributions_of(kernel, state, name, records, dtype=dtype)]
    for total in own:
        assert_within(total, lattice)
    alone = [to_integers(total) for total in own]
    assert_paid_for([alone[i] - alone[j] for i in range(len(alone)) for j in range(i)], lattice)


@every_design
@every_sum
@given(seeds, bounds)
@settings(deadline=None, max_examples=6)
def test_no_record_that_comes_or_goes_costs_more_than_was_charged(name, kind, seed, bound):
    records, lattice = some_records(name, np.random.default_rng(seed)), sum_lattice(0.3, bound, "add_remove")
    kernel, state = SUMS[kind](name, any_tangent(name, seed), lattice)
    own = [total for [total] in contributions_of(kernel, state, name, records)]
    for total in own:
        assert_within(total, lattice)
    assert_paid_for([to_integers(total) for total in own], lattice)


@every_design
@every_sum
def test_long_records_are_shortened_and_not_dropped(name, kind):
    """y = 50 with |X| = 10, and 1e30: they have all of the bound, but for what is rounded.

    An answer of 1e30 does not vote: whatever is predicted is as far from it.
    """
    lattice, x = sum_lattice(0.1), make_records(name, np.random.default_rng(1), 1)[0][0]
    x = x if name == "entry" else 10.0 * x / np.linalg.norm(x)
    kernel, state = SUMS[kind](name, make_tangent(), lattice)
    for y in (50.0, -50.0, *([] if kind == "check" else [1e30])):
        total = to_integers(kernel(block_of(name, [(x, y)]), state))
        assert 0.999 * lattice.squared_bound <= (total**2).sum() <= lattice.squared_bound


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_opposite_votes_attain_the_sensitivity(neighbors):
    """All numbers at one end, and all at the other: T is so many squares."""
    n, square = record_sums.N_CHECKED, 2**19
    lattice = sum_lattice(math.sqrt(n), n * square**2, neighbors)
    found = record_sums.Candidates(make_design("entry"), np.full(SHAPE, 4.0), 0.0, 0.0)
    one, other = (
        record_sums.sum_check(block_of("entry", [((1.0, 1.0), y)]), (found, 2.0, lattice)) for y in (9.0, -2.0)
    )
    assert one.tolist() == [square] * n and other.tolist() == [-square] * n
    change = one - (other if neighbors == "replace" else 0)
    most = vector_l2_sensitivity(math.sqrt(n), lattice.neighbors)
    assert np.linalg.norm(change) * lattice.unit == pytest.approx(most, rel=1e-9)


@every_design
@every_histogram
@given(seeds)
@settings(deadline=None, max_examples=10)
def test_histograms_count_every_record_once_or_not_at_all(name, kind, seed):
    rng = np.random.default_rng(seed)
    records = [*hostile_records(name, rng), *make_records(name, rng, 5)]
    kernel, state = HISTOGRAMS[kind](name, any_tangent(name, seed), GRID)
    own = contributions_of(kernel, state, name, records)
    for part, counts in enumerate(totals_of(kernel, block_of(name, records), state)):
        alone = [totals[part] for totals in own]
        assert counts.dtype == np.int64
        assert all(sorted(cells)[:-1] == [0] * (len(cells) - 1) and cells.max() <= 1 for cells in alone)
        assert np.array_equal(counts, sum(alone))


@every_design
@every_histogram
def test_numbers_that_are_not_finite_are_in_no_cell(name, kind):
    """Answers, and what an intercept alone leaves of them, need no measurement."""
    x, y = make_records(name, np.random.default_rng(2), 1)[0]
    kernel, state = HISTOGRAMS[kind](name, make_tangent(), GRID)
    assert all(counts.sum() == 1 for counts in totals_of(kernel, block_of(name, [(x, y)]), state))
    for answer in (math.nan, math.inf, -math.inf):
        assert not any(counts.any() for counts in totals_of(kernel, block_of(name, [(x, answer)]), state))
    spoilt = totals_of(kernel, block_of(name, [(np.full_like(x, math.nan), y)]), state)
    needless = {"answers": [0], "residuals": [0]}.get(kind, [])
    assert [part for part, counts in enumerate(spoilt) if counts.any()] == needless


# 2. Each record alone


@every_design
@every_sum
@given(seeds)
@settings(deadline=None, max_examples=5)
def test_records_add_the_same_bits_alone_and_in_any_place_of_any_block(name, kind, seed):
    records = some_records(name, np.random.default_rng(seed))
    kernel, state = SUMS[kind](name, any_tangent(name, seed), sum_lattice())
    assert_bits_are_each_records_own(kernel, state, name, records, seed=seed)


@every_design
@every_histogram
def test_cells_are_the_same_in_any_place_of_any_block(name, kind):
    rng = np.random.default_rng(3)
    records = [*hostile_records(name, rng), *make_records(name, rng, 5)]
    kernel, state = HISTOGRAMS[kind](name, make_tangent(), GRID)
    assert_bits_are_each_records_own(kernel, state, name, records)


@every_design
@every_sum
def test_memory_layout_blocks_and_threads_do_not_matter(name, kind):
    """Read from any array, in blocks of any size, on one thread or three, with a state that was sent somewhere."""
    records = [record for record in some_records(name, np.random.default_rng(4), 40) for _ in range(2)]
    block = block_of(name, records)
    X, y = block.X.reshape(len(block), -1), block.y
    kernel, state = SUMS[kind](name, make_tangent(form=form_of(name, "mixed")), sum_lattice())
    expected, copy = kernel(block, state), pickle.loads(pickle.dumps(state))
    layouts = X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1].copy()[::-1]
    for array, engine in ((a, e) for a in layouts for e in (LocalEngine(1, 7), LocalEngine(3, 5), LocalEngine(1))):
        source = read_measurements(array, np.repeat(y, 3)[::3], design=name, shape=SHAPE, owner="test")
        assert same_bits(engine.total(source, kernel, copy), expected)


# 3. What is counted and summed


def test_bounds_of_sums_come_from_their_lattices():
    signed, rising = sum_lattice(3.0, 1000), vector_lattice(2.0, EVENT, nonnegative=True)
    assert record_sums.bound_of(signed) == (3.0, 1000.0, -math.inf)
    assert record_sums.bound_of(rising) == (2.0, float(rising.squared_bound), 0.0)


def test_numbers_of_records_count_all_of_them():
    records = hostile_records("dense", np.random.default_rng(5))
    count = record_sums.count_records(block_of("dense", records), None)
    assert count.tolist() == [len(records)] and count.dtype == np.int64
    assert record_sums.count_records(block_of("dense", []), None).tolist() == [0]


def test_cells_are_open_below_and_closed_above():
    numbers = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, math.nan, math.inf, -math.inf])
    assert record_sums.count_finite(numbers, np.array([0.0, 1.0])).tolist() == [2, 2, 1]


@every_design
def test_histograms_are_those_of_the_formulas(name):
    rng, tangent = np.random.default_rng(6), make_tangent(form=form_of(name, "matrix"))
    block, design = block_of(name, make_records(name, rng, 300)), make_design(name)

    def cells(numbers, grid=GRID):
        return np.bincount(np.searchsorted(grid, numbers), minlength=len(grid) + 1)

    norms, residuals = design.gradient_norms(block, tangent)
    signed = np.append(-GRID[::-1], GRID)
    predicted = np.einsum("ipq,pq->i", measurements(name, block.X), tangent.coef)
    answers = block.y - tangent.intercept
    expected = {
        "answers": [cells(block.y)],
        "start": [cells(design.start_norms(block, tangent.whitening, tangent.intercept))],
        "look": [cells(norms), cells(-residuals, signed)],
        "residuals": [cells(np.abs(r)) for r in (block.y - 0.7, answers - predicted / 2.0, answers - predicted)],
        "reach": [cells(np.abs(answers - predicted))],
    }
    for kind, make in HISTOGRAMS.items():
        kernel, state = make(name, tangent, GRID)
        found = totals_of(kernel, block, state)
        assert all(map(np.array_equal, found, expected[kind])) and len(found) == len(expected[kind])


@every_design
def test_votes_and_gains_are_those_of_the_residuals(name):
    block, tangent = block_of(name, make_records(name, np.random.default_rng(7), 200)), make_tangent()
    found, limit = candidates_of(name, tangent), 1.5
    predicted = np.einsum("ipq,pq->i", measurements(name, block.X), tangent.coef)
    answers = block.y - tangent.intercept
    alone, half, whole = block.y - 0.7, answers - predicted / 2.0, answers - predicted
    for one, other in zip(record_sums.residuals_of_all(block, found), (alone, half, whole), strict=True):
        assert one == pytest.approx(other, abs=1e-10)
    lattice = sum_lattice(math.sqrt(record_sums.N_CHECKED))
    sums = record_sums.sum_check(block, (found, limit, lattice)) * lattice.unit
    votes = [np.sign(np.abs(worse) - np.abs(better)).sum() for worse, better in ((alone, whole), (alone, half))]
    votes.append(np.sign(np.abs(half) - np.abs(whole)).sum())
    gains = [np.clip((alone**2 - r**2) / limit**2, -1.0, 1.0).sum() for r in (whole, half)]
    assert sums == pytest.approx([*votes, *gains], abs=200 * lattice.unit)


@every_design
@every_sum
def test_totals_have_their_shapes_also_without_records(name, kind):
    shapes = {
        "start": SHAPE,
        "gradients": make_design(name).total_shape(RANK),
        "check": (record_sums.N_CHECKED,),
        "mean": (1,),
    }
    kernel, state = SUMS[kind](name, make_tangent(), sum_lattice())
    for n in (0, 2):
        total = kernel(block_of(name, make_records(name, np.random.default_rng(8), n)), state)
        assert total.shape == shapes[kind] and total.dtype == np.int64 and total.any() == (n > 0)
