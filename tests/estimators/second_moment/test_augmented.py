"""Augmented rows: the sensitivity of the assembled matrix in integers, worst pairs, rows that are none, the mean."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.second_moment.augmented import around_mean, augmented_lattice, james_stein
from hushrank.estimators.second_moment.sums import augment, sum_moments
from hushrank.linalg.row_frames import Frame
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import release_gram
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, second_moment_frobenius_sensitivity
from hushrank.privacy.mechanisms.wishart import second_moment_nuclear_sensitivity
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value

D, RADIUS, OFFSET = 3, 2.5, 0.2
EVENTS = [Gaussian(1.3), Pure(0.8)]
CASES = list(product(EVENTS, Neighbors, Field))
cases = pytest.mark.parametrize(("event", "neighbors", "field"), CASES)


def plan(event, neighbors=Neighbors.REPLACE, field=Field.REAL, *, offset=OFFSET, radius=RADIUS, n_max=2**26):
    return augmented_lattice(radius, event, neighbors, field=field, n_max=n_max, offset=offset)


def assembled(X, lattice, field):
    """The integer matrix that goes into the mechanism: a part, or a real and an imaginary one."""
    frame = Frame(X.shape[1] * (2 if field is Field.COMPLEX else 1))
    *parts, total, tally = sum_moments(X, (frame, lattice.radius, lattice.squared_bound, field))
    return augment(tuple(parts), total, tally, lattice.offset)


def size_of(change, event):
    """Frobenius norm (Gaussian) or sum of singular values (pure) of a change of the assembled matrix."""
    parts = [part.astype(float) for part in change]
    matrix = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(np.linalg.norm(values) if isinstance(event, Gaussian) else values.sum())


def bound_of(lattice, event, neighbors):
    sensitivity = (
        second_moment_frobenius_sensitivity if isinstance(event, Gaussian) else second_moment_nuclear_sensitivity
    )
    return sensitivity(math.sqrt(lattice.gram.squared_bound), neighbors)


def rows(n=25, field=Field.REAL, seed=0):
    rng = np.random.default_rng(seed)
    X = 3.0 * rng.standard_normal((n, D))
    return X if field is Field.REAL else X + 3j * rng.standard_normal((n, D))


# 1. The lattice


@given(
    st.one_of(st.floats(1e-3, 1e6).map(Gaussian), st.floats(1e-5, 1e3).map(Pure)),
    st.sampled_from(Neighbors),
    st.sampled_from(Field),
    st.floats(0.0, 2.0),
    st.sampled_from([1, 2**26, 2**50, 2**60]),
)
def test_the_parts_of_a_row_make_the_bound_of_the_whole_in_integers(event, neighbors, field, offset, n_max):
    lattice = plan(event, neighbors, field, offset=offset, n_max=n_max)
    T, a = lattice.gram.squared_bound, lattice.offset
    assert isinstance(a, int) and a * a + lattice.squared_bound == T and lattice.squared_bound >= 1
    assert a * a * (1 + offset**2) <= T * offset**2 * (1 + 1e-12)
    assert (a + 1) ** 2 * (1 + offset**2) > T * offset**2 * (1 - 1e-12)
    assert lattice.gram.event == event and lattice.gram.neighbors is neighbors
    # One lattice unit of the matrix is the square of one of the rows.
    shift = 0 if isinstance(lattice.gram, SymmetricLattice) else lattice.gram.shift
    assert lattice.gram.unit == pytest.approx(2.0**shift * RADIUS**2 / lattice.squared_bound, rel=1e-12)
    assert lattice.length == pytest.approx(a * RADIUS / math.sqrt(lattice.squared_bound), rel=1e-12)


def test_fine_lattices_have_the_offset_that_was_asked_for_and_coarse_ones_none():
    assert plan(Gaussian(1.0)).length == pytest.approx(OFFSET * RADIUS, rel=1e-4)
    for lattice in (plan(Gaussian(1.0), offset=0.0), plan(Gaussian(1.0), n_max=2**60)):
        assert lattice.offset == 0 and lattice.squared_bound == lattice.gram.squared_bound
        assert lattice.gram.row_norm == RADIUS


@pytest.mark.parametrize("event", EVENTS)
def test_noise_is_that_of_rows_longer_by_the_offset(event):
    plain, wider = plan(event, offset=0.0), plan(event)
    assert wider.gram.scale / plain.gram.scale == pytest.approx(1 + OFFSET**2, rel=1e-3)
    ratio = wider.entry_deviation(10) / plain.entry_deviation(10)
    degrees = math.sqrt(12 / 11) if isinstance(event, Pure) else 1.0
    assert ratio == pytest.approx((1 + OFFSET**2) * degrees, rel=1e-3)


# 2. Sensitivity

wild = st.sampled_from([0.0, -1e-320, 1e-5, 1.0, -3.0, 1e30, -1.7e308, math.inf, math.nan])
wild_row = st.lists(wild, min_size=2 * D, max_size=2 * D)


def as_rows(numbers, field):
    parts = np.array(numbers).reshape(2, 1, D)
    made = np.empty((1, D), float if field is Field.REAL else complex)
    made.real = parts[0]
    if field is Field.COMPLEX:
        made.imag = parts[1]
    return made


@cases
@given(one=wild_row, other=wild_row)
@settings(max_examples=40, deadline=None)
def test_no_row_moves_the_assembled_matrix_beyond_its_bound(event, neighbors, field, one, other):
    lattice, shared = plan(event, neighbors, field), rows(field=field)
    blocks = [np.vstack([shared, as_rows(row, field)]) for row in (one, other)]
    if neighbors is Neighbors.ADD_REMOVE:
        blocks[1] = shared
    change = [a - b for a, b in zip(*(assembled(X, lattice, field) for X in blocks), strict=True)]
    assert size_of(change, event) <= bound_of(lattice, event, neighbors) * (1 + 1e-12)
    if isinstance(event, Gaussian):  # the same in integers
        square = sum(int(v) ** 2 for part in change for v in part.ravel())
        T = lattice.gram.squared_bound
        assert square <= (2 if neighbors is Neighbors.REPLACE else 1) * T**2


@cases
def test_a_worst_pair_attains_the_bound(event, neighbors, field):
    """Rows (y, a) and (z, a) that are orthogonal: <y, z> = -a^2."""
    lattice, shared = plan(event, neighbors, field), rows(field=field)
    cosine = -(lattice.offset**2) / lattice.squared_bound
    y = RADIUS * np.array([[1.0, 0.0, 0.0]])
    turned = math.sqrt(1 - cosine**2) * (1.0 if field is Field.REAL else 1j)
    z = RADIUS * np.array([[cosine, turned, 0.0]])
    other = shared if neighbors is Neighbors.ADD_REMOVE else np.vstack([shared, z])
    totals = [assembled(X, lattice, field) for X in (np.vstack([shared, y]), other)]
    change = [a - b for a, b in zip(*totals, strict=True)]
    assert size_of(change, event) == pytest.approx(bound_of(lattice, event, neighbors), rel=1e-4)


@pytest.mark.parametrize("field", Field)
def test_a_constant_that_is_not_paid_for_would_be_noticed(field):
    """The planted bug: rows of the whole bound, and the offset on top."""
    lattice, event = plan(Gaussian(1.3), field=field), Gaussian(1.3)
    y = RADIUS * np.eye(D)[:2].astype(float if field is Field.REAL else complex)
    made = []
    for row in y:
        frame = Frame(D * (2 if field is Field.COMPLEX else 1))
        *parts, total, tally = sum_moments(row[np.newaxis], (frame, RADIUS, lattice.gram.squared_bound, field))
        made.append(augment(tuple(parts), total, tally, lattice.offset))
    change = [a - b for a, b in zip(*made, strict=True)]
    assert size_of(change, event) > 1.01 * bound_of(lattice, event, Neighbors.REPLACE)


@pytest.mark.parametrize("field", Field)
def test_rows_that_are_not_finite_are_zero_in_the_corner_too(field):
    X, lattice = rows(20, field), plan(Gaussian(1.3), field=field)
    X[3, 0], X[7, 1], X[9] = math.nan, math.inf, 0.0
    matrix = assembled(X, lattice, field)
    assert matrix[0][D, D] == 18 * lattice.offset**2  # a row of zeros counts
    without = assembled(np.delete(X, [3, 7], axis=0), lattice, field)
    for part, other in zip(matrix, without, strict=True):
        assert np.array_equal(part, other)
    assert np.array_equal(matrix[0], matrix[0].T)
    if field is Field.COMPLEX:
        assert np.array_equal(matrix[1], -matrix[1].T)


# 3. Mean and covariance


def clipped(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X * np.minimum(1.0, RADIUS / np.maximum(norms, 1e-300))


@cases
def test_mean_and_covariance_of_shortened_rows_are_recovered_at_huge_budgets(event, neighbors, field):
    huge = Gaussian(1e-7) if isinstance(event, Gaussian) else Pure(1e7)
    X, lattice = rows(500, field) + np.array([2.0, -1.0, 0.5]), plan(huge, neighbors, field)
    secret = assembled(X, lattice, field)
    found = around_mean(
        release_gram(secret[0] if len(secret) == 1 else secret, lattice.gram, NoiseSource()), lattice, 500
    )
    Y = clipped(X)
    mean = Y.mean(axis=0)
    assert found.mean == pytest.approx(mean, abs=1e-3)
    centered = Y - mean
    assert found.matrix / 500 == pytest.approx(centered.T @ centered.conj() / 500, abs=1e-3)
    assert 0 <= found.mean_variance < 1e-6


def test_the_error_of_the_mean_is_the_stated_one():
    lattice, n, d = plan(Gaussian(2.0)), 400, 30
    X = np.zeros((n, d))
    X[:, 0] = RADIUS
    secret, noise = assembled(X, lattice, Field.REAL)[0], NoiseSource()
    found = [around_mean(release_gram(secret, lattice.gram, noise), lattice, n) for _ in range(60)]
    kept = found[0].mean_variance / (lattice.entry_deviation(d) / (lattice.length * n)) ** 2
    assert 0.9 < kept <= 1.0  # the mean is far longer than its noise
    errors = np.array([one.mean[1:] for one in found])
    deviation = math.sqrt(np.mean([one.mean_variance * kept for one in found]))  # the noise is shrunk as well
    assert_plausible(normal_scale_p_value(errors, deviation))
    for wrong in (0.7, 1.3):
        assert normal_scale_p_value(errors, wrong * deviation) < FALSE_ALARM


def test_shrinkage_is_between_nothing_and_all():
    v = np.array([3.0, 4.0])
    assert james_stein(v, 0.0) == 1.0 and james_stein(v, -5.0) == 1.0
    assert james_stein(v, 12.5) == 0.5 and james_stein(v * 1j, 12.5) == 0.5
    assert james_stein(v, 25.0) == 0.0 and james_stein(v, 1e300) == 0.0
    assert james_stein(0 * v, 0.0) == 0.0 and james_stein(np.zeros(0), 1.0) == 0.0
