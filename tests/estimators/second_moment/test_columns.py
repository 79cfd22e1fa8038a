"""Choice and scales of columns: bounds of magnitudes and squares, worst pairs, planted columns, true scales."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.second_moment.columns import find_scales, select_columns, squares_bound
from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE
from hushrank.estimators.second_moment.releases import RowReleases
from hushrank.estimators.second_moment.spending import Setting, Wanted, spend
from hushrank.estimators.second_moment.sums import sum_entries, sum_squares
from hushrank.linalg.row_frames import Frame
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.vector import GaussianLattice, vector_l2_sensitivity, vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from support import four_squares

D = 8
EVENTS = [Gaussian(1.3), Pure(0.8)]
WANTED = Wanted(center=False, scales=True, columns=True, clipped=3.0)
wild = st.sampled_from([0.0, 1e-320, 1.0, -3.0, 1e30, -1.7e308, math.inf, math.nan])
wild_row = st.lists(wild, min_size=D, max_size=D)


def make_releases(X, event, neighbors=Neighbors.REPLACE):
    noise = NoiseSource()
    return RowReleases(event, neighbors, 2**26, noise, lambda kernel, state: kernel(X, state), lambda *terms: None)


def change_of(kernel, state, one, other, neighbors):
    """Integer change of a sum, in Python integers."""
    shared = np.random.default_rng(0).standard_normal((9, D))
    first = np.vstack([shared, [one]])
    second = shared if neighbors is Neighbors.ADD_REMOVE else np.vstack([shared, [other]])
    difference = kernel(first, state)[0].astype(object) - kernel(second, state)[0].astype(object)
    return int(sum(v * v for v in difference)), int(sum(abs(v) for v in difference))


def lattice_for(event, norm, neighbors):
    return vector_lattice(norm, event, neighbors, nonnegative=isinstance(event, Gaussian))


def limits(lattice, neighbors):
    """Largest squared L2 change (Gaussian) or L1 change (pure) that the noise is made for."""
    is_replace = neighbors is Neighbors.REPLACE
    if isinstance(lattice, GaussianLattice):
        return (2 if is_replace else 1) * lattice.squared_bound
    return (2 if is_replace else 1) * lattice.l1_bound


# 1. Sensitivity


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("event", EVENTS)
@given(one=wild_row, other=wild_row, radius=st.sampled_from([1e-3, 1.0, 50.0]))
@settings(max_examples=60, deadline=None)
def test_no_row_moves_magnitudes_or_squares_beyond_their_bounds(event, neighbors, one, other, radius):
    is_gaussian = isinstance(event, Gaussian)
    magnitudes = lattice_for(event, radius, neighbors)
    squares = lattice_for(event, radius**2, neighbors)
    sums = (
        (sum_entries, (Frame(D), magnitudes, "magnitudes"), magnitudes),
        (sum_squares, (Frame(D), radius, squares_bound(squares)), squares),
    )
    for kernel, state, lattice in sums:
        squared, absolute = change_of(kernel, state, one, other, neighbors)
        assert (squared if is_gaussian else absolute) <= limits(lattice, neighbors)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("event", EVENTS)
def test_worst_pairs_attain_the_bounds(event, neighbors):
    """Rows that share no column; along axes for L2, which a square of an integer attains only nearly."""
    radius, factor = 3.0, 1 if neighbors is Neighbors.ADD_REMOVE else 2

    def pair(bound):
        y = radius * np.array(four_squares(bound)) / math.sqrt(bound)
        return np.append(y, np.zeros(4)), np.append(np.zeros(4), y)

    squares = lattice_for(event, radius**2, neighbors)
    limit = squares_bound(squares)
    state, unit = (Frame(D), radius, limit), radius**2 / limit
    _, absolute = change_of(sum_squares, state, *pair(limit), neighbors)
    assert absolute == factor * limit  # L1: 2 t^2, which is all that pure noise is made for
    squared, _ = change_of(sum_squares, state, *(radius * np.eye(D)[:2]), neighbors)
    assert math.sqrt(squared) * unit == pytest.approx(math.sqrt(factor) * radius**2, rel=2e-3)  # L2: sqrt(2) t^2
    assert isinstance(event, Pure) or squared >= 0.99 * limits(squares, neighbors)
    magnitudes = lattice_for(event, radius, neighbors)
    state = (Frame(D), magnitudes, "magnitudes")
    if isinstance(event, Gaussian):
        squared, _ = change_of(sum_entries, state, *pair(magnitudes.squared_bound), neighbors)
        change = math.sqrt(squared) * magnitudes.unit
        assert change == pytest.approx(vector_l2_sensitivity(radius, neighbors, nonnegative=True), rel=1e-9)
        assert squared == limits(magnitudes, neighbors)
    else:
        _, absolute = change_of(sum_entries, state, *(radius * np.eye(D)[:2]), neighbors)
        assert absolute == limits(magnitudes, neighbors)


def test_signed_entries_would_break_the_bound_of_magnitudes():
    """The planted bug: noise for vectors without negative entries, and a sum that has some."""
    lattice = lattice_for(Gaussian(1.3), 3.0, Neighbors.REPLACE)
    row = np.zeros(D)
    row[:4] = 3.0 * np.array(four_squares(lattice.squared_bound)) / math.sqrt(lattice.squared_bound)
    squared, _ = change_of(sum_entries, (Frame(D), lattice, "all"), row, -row, Neighbors.REPLACE)
    assert squared == 2 * limits(lattice, Neighbors.REPLACE)
    squared, _ = change_of(sum_entries, (Frame(D), lattice, "magnitudes"), row, -row, Neighbors.REPLACE)
    assert squared == 0


@given(st.one_of(st.floats(1e-3, 1e6).map(Gaussian), st.floats(1e-5, 1e3).map(Pure)), st.sampled_from(Neighbors))
def test_the_bound_of_squares_is_the_largest_within_the_lattice(event, neighbors):
    lattice = lattice_for(event, 2.0, neighbors)
    bound = squares_bound(lattice)
    if isinstance(lattice, GaussianLattice):
        assert bound**2 <= lattice.squared_bound < (bound + 1) ** 2
    else:
        assert bound == lattice.l1_bound


# 2. Choice


def planted(n=3000, d=300, n_planted=12, seed=0):
    """Rows of zeros and ones; few columns have most of the ones."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(d)[:n_planted])
    X = (rng.random((n, d)) < 0.002).astype(float)
    X[:, chosen] = rng.random((n, n_planted)) < 0.4
    return X, chosen


def choose(X, event, neighbors, fewest=1):
    releases, frame = make_releases(X, event, neighbors), Frame(X.shape[1])
    setting = Setting(event, neighbors, len(X), X.shape[1])
    norms = releases.norms(frame, 20.0, (2, 1))
    found = select_columns(releases, frame, 20.0, norms, setting, spend(setting, WANTED), fewest)
    return releases, setting, found


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("event", [Gaussian(0.3), Pure(8.0)])
def test_planted_columns_are_kept(event, neighbors):
    """Their sums are beyond 20 deviations of the noise."""
    X, chosen = planted()
    _, _, frame = choose(X, event, neighbors)
    assert set(chosen) <= set(frame.columns.tolist())
    assert np.all(np.diff(frame.columns) > 0)  # in their order
    assert RADIUS_RECIPE.least_columns <= frame.n_columns <= RADIUS_RECIPE.most_columns


def test_as_many_columns_are_kept_as_are_needed_and_not_more_than_there_are():
    X, _ = planted(200)
    assert choose(X, Pure(0.1), Neighbors.REPLACE, fewest=120)[2].n_columns == 120
    assert choose(X[:, :30], Pure(0.1), Neighbors.REPLACE)[2].n_columns == 30


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("event", EVENTS)
def test_the_choice_costs_its_two_shares(event, neighbors):
    X, _ = planted(100, 60)
    releases, setting, _ = choose(X, event, neighbors)
    spending = spend(setting, WANTED)
    assert 1 - releases.left == spending.columns_radius + spending.columns
    made = releases.noise.executed
    assert len(made) == 2
    if isinstance(event, Gaussian):
        spent = squared_mu(Composed(made), "test") * Fraction(event.noise_multiplier) ** 2
    else:
        spent = sum(Fraction(one.epsilon) for one in made) / Fraction(event.epsilon)
    assert (1 - 1e-9) * float(1 - releases.left) <= float(spent) <= float(1 - releases.left) * (1 + 1e-15)


# 3. Scales


def scales_of(X, event, neighbors=Neighbors.REPLACE):
    releases, frame = make_releases(X, event, neighbors), Frame(X.shape[1])
    setting = Setting(event, neighbors, len(X), X.shape[1])
    norms = releases.norms(frame, 1e3)
    return find_scales(releases, frame, 1e3, norms, setting, spend(setting, WANTED))


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("event", [Gaussian(1e-4), Pure(1e5)])
def test_scales_are_root_mean_squares_over_their_geometric_mean(event, neighbors):
    sizes = np.array([1.0, 30.0, 0.2, 5.0])
    X = sizes * np.where(np.random.default_rng(0).random((500, 4)) < 0.5, -1.0, 1.0)  # all of one norm
    expected = sizes / np.exp(np.mean(np.log(sizes)))
    # Integer rows have up to 2^12 units: the smallest column has about 25, rounded.
    assert scales_of(X, event, neighbors) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("event", [Gaussian(0.05), Pure(50.0)])
def test_scales_of_ordinary_rows_are_near_the_truth(event):
    sizes = np.array([1.0, 4.0, 2.0, 3.0])
    X = sizes * np.random.default_rng(1).standard_normal((20_000, 4))
    expected = sizes / np.exp(np.mean(np.log(sizes)))
    assert scales_of(X, event) == pytest.approx(expected, rel=0.25)  # shortening rows makes scales more alike


@pytest.mark.parametrize("event", [Gaussian(1e-6), Pure(1e7), Gaussian(5.0), Pure(0.1)])
def test_empty_columns_have_a_scale_as_well(event):
    X = np.zeros((50, 3))
    X[:, 0] = 1.0
    for rows in (X, 0 * X):
        scales = scales_of(rows, event)
        assert np.isfinite(scales).all() and np.all(scales >= 1e-4)
