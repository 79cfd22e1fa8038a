"""Second moments without a diagonal: sensitivity attained, noise from both sides, an audit, identities, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hushrank.evaluation.audit import delta_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms import hollow
from hushrank.privacy.mechanisms.hollow import release_hollow
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice
from hushrank.privacy.mechanisms.wishart import wishart_lattice
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, four_squares, normal_scale_p_value, plant

RELATIONS = list(Neighbors)


def zeros(n):
    return np.zeros((n, n), np.int64)


def above(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


def squared_change(x, y):
    """Sum of the squared changes above the diagonal when the row x replaces y, in Python integers."""
    x, y, d = [int(v) for v in x], [int(v) for v in y], len(x)
    return sum((x[i] * x[j] - y[i] * y[j]) ** 2 for i in range(d) for j in range(i + 1, d))


# Sensitivity: at most T under replace, T / sqrt(2) under add_remove; the lattice allows for no more


@pytest.mark.parametrize("noise_multiplier", [0.3, 1.7, 40.0])
def test_a_worst_replacement_attains_the_bound(noise_multiplier):
    """(v, v) and (v, -v) are orthogonal and have the same diagonal: no change of theirs is hidden by its absence."""
    lattice = symmetric_lattice(2.5, Gaussian(noise_multiplier), Neighbors.REPLACE)
    v = four_squares(lattice.squared_bound // 2)
    x, y = [*v, *v], [*v, *(-a for a in v)]
    assert sum(a * a for a in x) == sum(a * a for a in y) == lattice.squared_bound - lattice.squared_bound % 2
    change = math.isqrt(squared_change(x, y))
    assert change == pytest.approx(lattice.squared_bound, rel=1e-9) and change <= lattice.squared_bound
    assert change / 2**lattice.exponent == pytest.approx(1 / noise_multiplier, rel=1e-8)


def test_a_worst_replacement_of_two_entries_attains_the_bound():
    lattice = symmetric_lattice(1.0, Gaussian(1.7), Neighbors.REPLACE)
    a = math.isqrt(lattice.squared_bound // 2)
    change = math.isqrt(squared_change([a, a], [a, -a]))
    assert lattice.squared_bound - 4 * a <= change == 2 * a * a <= lattice.squared_bound


def test_adding_a_row_of_many_equal_entries_comes_close_to_the_bound():
    """Of T^2, the squared diagonal is 1/d and half of the rest lies above the diagonal."""
    lattice, d = symmetric_lattice(1.0, Gaussian(1.7), Neighbors.ADD_REMOVE), 400
    x = [math.isqrt(lattice.squared_bound // d)] * d
    change = math.sqrt(squared_change(x, [0] * d))
    assert change / (lattice.squared_bound * math.sqrt((d - 1) / (2 * d))) == pytest.approx(1.0, rel=1e-3)
    assert 0.99 / 1.7 < change / 2**lattice.exponent <= 1 / 1.7


@given(st.integers(0, 2**32), st.integers(1, 6), st.floats(0, 1), st.sampled_from(RELATIONS))
def test_no_pair_exceeds_the_bound(seed, d, closeness, neighbors):
    lattice = symmetric_lattice(1.0, Gaussian(0.9), neighbors)
    x, y = np.random.default_rng(seed).standard_normal((2, d))
    y = closeness * np.where(np.arange(d) % 2, -x, x) + (1 - closeness) * y  # near to a row with the same diagonal
    x, y = (np.trunc(row * (math.sqrt(lattice.squared_bound) * (1 - 1e-9) / np.linalg.norm(row))) for row in (x, y))
    assert all(sum(int(v) ** 2 for v in row) <= lattice.squared_bound for row in (x, y))
    factor = {Neighbors.REPLACE: 1, Neighbors.ADD_REMOVE: 2}[neighbors]
    squared = squared_change(x, y if neighbors is Neighbors.REPLACE else 0 * y)
    assert factor * squared <= lattice.squared_bound**2
    assert math.sqrt(squared) / 2**lattice.exponent <= 1 / 0.9


# Noise


def test_noise_has_the_stated_scale_from_both_sides():
    lattice, n = symmetric_lattice(2.0, Gaussian(3.0)), 800
    noise = release_hollow(zeros(n), lattice, NoiseSource())
    assert noise.dtype == np.float64 and noise.shape == (n, n)
    assert np.array_equal(noise, noise.T) and not np.diag(noise).any()
    assert lattice.scale == pytest.approx(4.0 * 3.0, rel=1e-8)
    assert_plausible(normal_scale_p_value(above(noise), lattice.scale))
    for wrong in (0.7, 1.3):
        assert normal_scale_p_value(above(noise), wrong * lattice.scale) < FALSE_ALARM
    assert_plausible(stats.kstest(above(noise) / lattice.scale, "norm").pvalue)
    for i in (0, 1, 100, 790):  # every row has it, also the short ones at the end
        assert_plausible(normal_scale_p_value(noise[i, i + 1 :], lattice.scale))


def test_rows_and_releases_have_noise_of_their_own():
    lattice, n = symmetric_lattice(1.0, Gaussian(1.0)), 800
    first, second = (release_hollow(zeros(n), lattice, NoiseSource()) for _ in range(2))
    neighbors = [(first[i, i + 1 : -1], first[i + 1, i + 2 :]) for i in range(0, 700, 2)]
    for a, b in ((above(first), above(second)), map(np.concatenate, zip(*neighbors, strict=True))):
        assert_plausible(stats.pearsonr(a, b).pvalue)


def test_noise_used_twice_is_noticed(monkeypatch):
    """Every row starts at the same word of the key stream: rows have the same noise."""
    lattice, draw = symmetric_lattice(1.0, Gaussian(1.0)), hollow.add_normals

    def draw_again(row, exponent, stream):
        draw(row, exponent, NoiseSource(seed=1).begin(lattice.event, lattice.neighbors))

    monkeypatch.setattr(hollow, "add_normals", draw_again)
    noise = release_hollow(zeros(800), lattice, NoiseSource())
    assert stats.pearsonr(noise[0, 1:-1], noise[1, 2:]).pvalue < FALSE_ALARM


@pytest.mark.parametrize(("halvings", "threshold"), [(0, 1.5), (1, 0.75)])
def test_audit_notices_halved_noise(halvings, threshold):
    """Replacing (1, 1) / sqrt(2) by (1, -1) / sqrt(2) changes one entry by the whole bound: each holds a trial."""
    event, epsilon, n = Gaussian(1.0), 1.0, 200
    lattice = symmetric_lattice(1.0, event)
    planted = plant(lattice, exponent=lattice.exponent - halvings)
    hits = []
    for change in (lattice.squared_bound, 0):
        entries = above(release_hollow(np.full((n, n), change), planted, NoiseSource()))
        hits.append(int(np.count_nonzero(entries > threshold * lattice.squared_bound * lattice.unit)))
    trials = n * (n - 1) // 2
    bound = delta_lower_bound(hits[0], trials, hits[1], trials, epsilon, confidence=1 - FALSE_ALARM)
    claimed = accountant.delta(event, epsilon)
    assert bound > 3 * claimed if halvings else 0.3 * claimed < bound < claimed


# Identities


def test_data_and_noise_are_added_as_integers():
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    total = np.array([[5, -3, 2**40], [0, 7, -4], [0, 0, 1]])
    noise, released = (release_hollow(t, lattice, NoiseSource(seed=1)) / lattice.unit for t in (zeros(3), total))
    assert np.array_equal(noise, np.rint(noise))
    assert np.array_equal(above(released - noise), [-3, 2**40, -4])


def test_the_diagonal_and_what_is_below_are_not_read():
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    totals = np.array([[5, -3], [-3, 7]]), np.array([[10**9, -3], [10**9, 2**63 - 1]])
    first, second = (release_hollow(total, lattice, NoiseSource(seed=1)) for total in totals)
    assert np.array_equal(first, second)


def test_the_total_is_overwritten():
    lattice, total = symmetric_lattice(1.0, Gaussian(1.0)), zeros(50)
    released = release_hollow(total, lattice, NoiseSource())
    assert np.shares_memory(released, total) and np.array_equal(total.view(np.float64), released)


def test_totals_that_wrap_stay_symmetric():
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    for seed in range(8):
        released = release_hollow(np.full((2, 2), 2**63 - 1), lattice, NoiseSource(seed=seed))
        assert np.array_equal(released, released.T) and abs(released[0, 1]) > 2.0**62 * lattice.unit


def test_a_single_item_has_nothing_to_release():
    assert release_hollow(np.array([[9]]), symmetric_lattice(1.0, Gaussian(1.0)), NoiseSource()).tolist() == [[0.0]]


# Refusals


def test_what_does_not_fit_is_refused_and_nothing_is_logged():
    noise, real = NoiseSource(), symmetric_lattice(1.0, Gaussian(1.0))
    with pytest.raises(InvalidParameter, match=r"lattice of release_hollow must be made for real rows; got 'one for"):
        release_hollow(zeros(2), symmetric_lattice(1.0, Gaussian(1.0), field="complex"), noise)
    for total in (np.zeros((2, 2)), np.zeros((2, 2), np.uint64), np.zeros((2, 3), np.int64), np.zeros(4, np.int64)):
        with pytest.raises(InvalidParameter, match="total of release_hollow"):
            release_hollow(total, real, noise)
    fixed = zeros(2)
    fixed.flags.writeable = False
    with pytest.raises(InvalidParameter, match="total of release_hollow must be writable"):
        release_hollow(fixed, real, noise)
    with pytest.raises(InvalidParameter, match="lattice of release_hollow must be a SymmetricLattice; got 'WishartLa"):
        release_hollow(zeros(2), wishart_lattice(1.0, Pure(1.0)), noise)
    assert noise.executed == ()
    release_hollow(zeros(2), real, noise)
    assert noise.executed == (Gaussian(1.0),)


def test_the_relation_of_the_lattice_is_logged():
    noise = NoiseSource()
    release_hollow(zeros(2), symmetric_lattice(1.0, Gaussian(1.0), "add_remove"), noise)
    assert noise._log[0].neighbors is Neighbors.ADD_REMOVE and noise._log[0].numerics == "exact"
