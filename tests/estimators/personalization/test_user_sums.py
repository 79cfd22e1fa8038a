"""Sums over users: every bound holds in integers and is attained, everybody counts once, bits are always the same."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.personalization import user_sums
from hushrank.estimators.personalization.altmin_kernels import Equations
from hushrank.estimators.personalization.subspace import Subspace
from record_support import (
    HISTOGRAMS,
    SUMS,
    D,
    add_blocks,
    adverse_users,
    any_public,
    assert_paid_for,
    assert_within,
    block_of,
    gram_lattice,
    make_state,
    make_users,
    public_of,
    same_bits,
    sum_lattice,
    to_integers,
    totals_of,
)
from support import four_squares

every_sum = pytest.mark.parametrize("name", SUMS)
every_histogram = pytest.mark.parametrize("name", HISTOGRAMS)
seeds = st.integers(0, 2**32)
dtypes = st.sampled_from([np.float64, np.float32])
bounds = st.sampled_from([1, 2, 7, 1000, 2**24, None])  # None: the finest lattice


def contributions(name, users, public, gram, vector, dtype=np.float64):
    """Lattices of the totals, and the totals of each user alone."""
    kernel, state, lattices = SUMS[name](public, gram, vector)
    return lattices, [totals_of(kernel, block_of([user], dtype), state) for user in users]


# 1. Sensitivity


@every_sum
@given(seeds, bounds, st.sampled_from([0, 0, 0, -70, 70]), dtypes)
@settings(deadline=None, max_examples=40)
def test_no_user_exceeds_a_bound_and_no_replacement_costs_more_than_was_charged(name, seed, bound, power, dtype):
    """Whatever the records, the public numbers and the lattice are."""
    rng = np.random.default_rng(seed)
    users = [*adverse_users(rng).values(), *make_users(rng, [1, 3, 30])]
    norms = 10.0 ** (power + rng.uniform(-2, 2, 2))
    gram, vector = gram_lattice(norms[0], bound), sum_lattice(norms[1], bound)
    lattices, own = contributions(name, users, any_public(seed), gram, vector, dtype)
    for part, lattice in enumerate(lattices):
        alone = [to_integers(totals[part]) for totals in own]
        for totals in own:
            assert_within(totals[part], lattice)
        assert_paid_for([alone[i] - alone[j] for i in range(len(alone)) for j in range(i)], lattice)


@every_sum
@given(seeds, bounds)
@settings(deadline=None, max_examples=8)
def test_no_user_who_comes_or_goes_costs_more_than_was_charged(name, seed, bound):
    rng = np.random.default_rng(seed)
    users = list(adverse_users(rng).values())
    gram, vector = gram_lattice(0.3, bound, "add_remove"), sum_lattice(0.3, bound, "add_remove")
    lattices, own = contributions(name, users, public_of(make_state(seed)), gram, vector)
    for part, lattice in enumerate(lattices):
        for totals in own:
            assert_within(totals[part], lattice)
        assert_paid_for([to_integers(totals[part]) for totals in own], lattice)


@pytest.mark.parametrize("name", ["moments", "equations"])
@pytest.mark.parametrize("m", [10_000, 30_001])
def test_users_with_very_many_records_obey_the_bounds(name, m):
    """They are bounded as users: the sums of their records are thousands of times longer."""
    for user in (*make_users(np.random.default_rng(1), [m]), (np.ones((m, D)), np.ones(m))):
        public, gram, vector = public_of(make_state(2)), gram_lattice(0.5), sum_lattice(0.5)
        lattices, [own] = contributions(name, [user], public, gram, vector)
        sizes = []
        for total, lattice in zip(own, lattices, strict=True):
            assert_within(total, lattice)
            power = 2 if lattice is gram else 1
            sizes.append((to_integers(total) ** 2).sum() / lattice.squared_bound**power)
        assert max(sizes) > 0.9  # the part that shortens is not lost for it


def axes(d, k, noise=1.0):
    """The first k axes as a subspace, with unit prior variances."""
    return public_of(Subspace(np.eye(d), np.ascontiguousarray(np.eye(d)[:, :k]), np.eye(k), noise, False))


def assert_attained(name, users, public, gram, vector, part):
    """Each user is at the bound, and replacing the first by the second costs all that the release was charged."""
    lattices, own = contributions_of(name, users, public, gram, vector)
    one, other = (to_integers(totals[part]) for totals in own)
    bound, is_gram = lattices[part].squared_bound, lattices[part] is gram
    for y in (one, other):
        assert bound ** (2 if is_gram else 1) * (1 - 1e-9) <= (y**2).sum() <= bound ** (2 if is_gram else 1)
    change, most = ((one - other) ** 2).sum(), 2 * bound**2 if is_gram else 4 * bound
    assert most * (1 - 1e-9) <= change <= most


def contributions_of(name, users, public, gram, vector):
    kernel, state, lattices = SUMS[name](public, gram, vector) if isinstance(name, str) else name(public, gram, vector)
    d = users[0][0].shape[1]
    return lattices, [totals_of(kernel, block_of([user], d=d), state) for user in users]


def orthogonal_pair(limit):
    """Two orthogonal vectors of four integers with this sum of squares."""
    a, b, c, d = four_squares(limit)
    return np.array([a, b, c, d], float), np.array([-b, a, -d, c], float)


@pytest.mark.parametrize("length", [1.001, 1e3])
def test_orthogonal_users_attain_the_bound_of_moments(length):
    """One record each, along integers of squared norm T - 1: T itself is within the margin of the check."""
    gram = gram_lattice(2.0)
    pair = orthogonal_pair(gram.squared_bound - 1)
    users = [(length * gram.row_norm / math.sqrt(gram.squared_bound) * x[None], np.ones(1)) for x in pair]
    assert_attained("moments", users, axes(4, 1), gram, None, 0)


def test_orthogonal_users_attain_the_bound_of_products():
    gram = gram_lattice(2.0)
    users = [(x[None], np.ones(1)) for x in orthogonal_pair(gram.squared_bound)]
    assert_attained("products", users, axes(4, 1), gram, None, 0)


def test_opposite_users_attain_the_bound_of_gradients():
    """The first record makes a head, the second is outside of the subspace and has the residual 1 or -1."""
    vector = sum_lattice(0.5, 2**40 + 7)
    x = np.append(0.0, four_squares(2**40 + 7))
    users = [(np.stack([np.eye(5)[0], x]), np.array([4.0, sign])) for sign in (1.0, -1.0)]
    assert_attained("gradients", users, axes(5, 1), gram_lattice(1e3), vector, 0)


def test_orthogonal_users_attain_the_bound_of_normalizers():
    """Records along the axes: heads are half of the answers."""
    gram = gram_lattice(0.1)
    users = [(np.eye(5)[:4], y) for y in orthogonal_pair(gram.squared_bound)]
    assert_attained("gradients", users, axes(5, 4), gram, sum_lattice(1e9), 1)


def test_orthogonal_users_attain_the_bound_of_heads():
    """(f, 1) and (-f, 1) are orthogonal for heads of norm 1, which are known exactly where there is no noise."""

    def heads(public, gram, vector):
        return user_sums.sum_heads, user_sums.HeadState(public.model, public.tangent.root, 1.0, gram), (gram,)

    gram = gram_lattice(math.sqrt(2.0), 2**35 + 1)
    users = [(np.eye(4)[:1], np.array([answer])) for answer in (5.0, -5.0)]
    assert_attained(heads, users, axes(4, 1, noise=1e-15), gram, None, 0)


def test_opposite_users_attain_the_bound_of_gains():
    """One whose answers follow the subspace exactly, and one whose records contradict each other."""

    def gains(public, gram, vector):
        return user_sums.sum_gains, (public.model, np.ones(1), vector), (vector,)

    users = [(np.outer(sign, np.eye(4)[0]), np.array([1.0, -1.0])) for sign in ([1.0, -1.0], [1.0, 1.0])]
    assert_attained(gains, users, axes(4, 1, noise=1e-12), None, sum_lattice(1.0, 2**46), 0)


@pytest.mark.parametrize("part", [0, 1])
def test_worst_users_attain_the_bounds_of_equations(part):
    """The first record makes a head of 2, the second is their equation."""
    gram, vector = (
        (gram_lattice(0.1), sum_lattice(1e30)) if part == 0 else (gram_lattice(1e30), sum_lattice(0.1, 2**40))
    )
    pair = orthogonal_pair(gram.squared_bound - 1) if part == 0 else [np.array(four_squares(2**40), float)] * 2
    users = [(np.stack([np.eye(4)[0], x]), np.array([4.0, sign * 1e9])) for x, sign in zip(pair, (1, -1), strict=True)]
    assert_attained("equations", users, axes(4, 1), gram, vector, part)


@every_histogram
@given(seeds, dtypes)
@settings(deadline=None, max_examples=15)
def test_histograms_count_every_user_exactly_once(name, seed, dtype):
    rng, grid = np.random.default_rng(seed), np.geomspace(1e-3, 1e3, 16)
    users = [*adverse_users(rng).values(), *make_users(rng, [1, 3, 30])]
    kernel, state = HISTOGRAMS[name](any_public(seed), grid)
    for part, counts in enumerate(totals_of(kernel, block_of(users, dtype), state)):
        assert counts.dtype == np.int64 and (counts >= 0).all() and counts.sum() == len(users)
        alone = [totals_of(kernel, block_of([user], dtype), state)[part] for user in users]
        assert all(sorted(own)[-2:] == [0, 1] for own in alone)
        assert np.array_equal(counts, sum(alone))


# 2. Each user alone


@every_sum
@given(seeds, bounds, dtypes)
@settings(deadline=None, max_examples=8)
def test_users_add_the_same_bits_alone_and_in_any_place_of_any_block(name, seed, bound, dtype):
    rng = np.random.default_rng(seed)
    users = [*adverse_users(rng).values(), *make_users(rng, [1, 3, 30])]
    gram, vector, public = gram_lattice(1.0, bound), sum_lattice(1.0, bound), any_public(seed)
    kernel, state, _ = SUMS[name](public, gram, vector)
    _, own = contributions(name, users, public, gram, vector, dtype)
    expected = [sum(parts) for parts in zip(*own, strict=True)]
    for cuts in ([], [1], sorted(rng.integers(0, len(users), 3))):
        order = rng.permutation(len(users))
        blocks = [block_of([users[i] for i in part], dtype) for part in np.split(order, cuts)]
        made = add_blocks(blocks)(kernel, state)
        made = made if isinstance(made, tuple) else (made,)
        assert all(map(np.array_equal, made, expected))


@every_sum
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("is_logistic", [False, True])
def test_users_without_a_usable_record_add_nothing(name, bad, is_logistic):
    """To moments of heads they add those of the prior, whoever they are: unit variances, and the constant."""
    X, y = make_users(np.random.default_rng(3), [6])[0]
    X[:, 1] = bad
    public, gram = public_of(make_state(4, is_logistic=is_logistic)), gram_lattice(2.0)
    _, (spoilt, empty) = contributions(name, [(X, y), (X[:0], y[:0])], public, gram, sum_lattice())
    for total, nothing in zip(spoilt, empty, strict=True):
        assert np.array_equal(total, nothing)
        expected = np.eye(len(total)) if name == "heads" else np.zeros_like(total)
        assert total * gram.unit == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["moments", "products", "gradients", "heads", "gains"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_record_that_is_not_finite_counts_as_absent(name, bad):
    X, y = make_users(np.random.default_rng(5), [8])[0]
    spoilt = X.copy()
    spoilt[3, 2] = bad
    public = public_of(make_state(6))
    users = [(spoilt, y), (np.delete(X, 3, axis=0), np.delete(y, 3))]
    _, own = contributions(name, users, public, gram_lattice(), sum_lattice())
    assert all(map(np.array_equal, *own)) and all(total.any() for total in own[0])


@every_sum
def test_float32_records_give_the_bits_of_the_same_numbers_in_float64(name):
    rng = np.random.default_rng(7)
    users = [*adverse_users(rng).values(), *make_users(rng, [1, 2, 3, 40])]
    narrow = block_of(users, np.float32)
    wide = replace(narrow, X=narrow.X.astype(np.float64))
    kernel, state, _ = SUMS[name](public_of(make_state(8)), gram_lattice(), sum_lattice())
    made = zip(totals_of(kernel, narrow, state), totals_of(kernel, wide, state), strict=True)
    assert all(same_bits(*pair) and pair[0].any() for pair in made)


# 3. Sums are those of the formulas, which the tests of the kernels check


def test_bounds_of_sums_come_from_their_lattices():
    gram = gram_lattice(3.0, 1000)
    assert user_sums.moment_bound(gram) == (9.0, 1000.0)


def test_products_of_rows_are_exact_where_float_sums_are_largest():
    """8192 users, all at the bound 2^36, with entries of both signs."""
    rng = np.random.default_rng(9)
    rows = np.where(rng.random((8192, 4)) < 0.5, -1.0, 1.0) * 2.0**17
    rows[:, 0] -= rng.integers(0, 2**10, 8192)
    integers = rows.astype(np.int64)
    assert np.array_equal(user_sums.multiply_rows(rows), integers.T @ integers)


def test_sums_of_users_are_released_values_in_the_units_of_the_data():
    """Moments are means over records, and the right side of equations has the sign of the answers."""
    X, y = make_users(np.random.default_rng(10), [12])[0]
    gram, vector = gram_lattice(10.0), sum_lattice(1e3)
    moments = user_sums.sum_moments(block_of([(X, y)]), gram) * gram.unit
    assert moments == pytest.approx(X.T @ X / 12, abs=1e-3)
    public = axes(D, 1)
    v = X[::2, 0] @ y[::2] / (X[::2, 0] @ X[::2, 0] + 1.0)
    state = user_sums.EquationState(Equations(public.model, np.eye(D), False), gram, vector)
    left, right = user_sums.sum_equations(block_of([(X, y)]), state)
    assert left * gram.unit == pytest.approx(X[1::2].T @ X[1::2] * v * v, abs=1e-3)
    assert (right * vector.unit)[:, 0] == pytest.approx(X[1::2].T @ y[1::2] * v, abs=1e-3)
