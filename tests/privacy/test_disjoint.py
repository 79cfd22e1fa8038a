"""Parts of the people: all of them cost what the first costs, and so does a replacement, whichever parts it hits."""

import math

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter, PlanBroken
from hushrank.linalg.histogram import integer_histogram
from hushrank.linalg.integer_sums import integer_gram, integer_sum
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.disjoint import releases_in_parts, sum_part
from hushrank.privacy.events import Gaussian
from hushrank.privacy.noise.source import NoiseSource
from support import assert_plausible, normal_scale_p_value

RELATIONS = ("replace", "add_remove")
CAP = Gaussian(0.5)
GRID = np.geomspace(0.5, 8.0, 8)


def select(block, part, n_parts):
    """Rows by their first number alone."""
    return block[block[:, 0].astype(np.int64) % n_parts == part]


def count(block, grid):
    return integer_histogram(block[:, 1], grid)


def add_rows(block, lattice):
    return integer_sum(block[:, 1:], lattice)


def add_products(block, lattice):
    return integer_gram(block[:, 1:], lattice.row_norm, lattice.squared_bound)


def rows(n=60, seed=0):
    """A number that tells the part, and two others."""
    drawn = np.random.default_rng(seed).normal(size=(n, 3)) * 3.0
    drawn[:, 0] = np.arange(n)
    return drawn


def make_releases(X, neighbors="replace", seed=None, noise=None):
    """Releases about rows, and what was summed for them."""
    sums = []

    def total(kernel, state):
        sums.append(kernel(X, state))
        return sums[-1]

    source = NoiseSource(seed) if noise is None else noise
    releases = AdaptiveReleases(CAP, neighbors, 1 << 20, source, total, n_people=len(X))
    return releases, sums


def release_all(part):
    """A quantile, a vector and a matrix, in this order."""
    bound = part.quantile_of(part.total(count, GRID), GRID, 0.6, 0.1)
    lattice, gram = part.vector_lattice(2.0, 0.3), part.gram_lattice(2.0, 0.2)
    vector = part.release(part.total(add_rows, lattice), lattice)
    return bound, vector, part.release_symmetric(part.total(add_products, gram), gram), (lattice, gram)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_all_parts_are_logged_and_paid_once(neighbors):
    X = rows()
    releases, _ = make_releases(X, neighbors)
    results = [release_all(part) for part in releases_in_parts(releases, 4, select)]
    assert len(releases.executed) == 3 and releases.left == pytest.approx(0.4)
    vectors = np.array([vector for _, vector, _, _ in results])
    assert len(np.unique(vectors.round(12), axis=0)) == 4


def test_parts_cover_everybody_once():
    X = rows()
    releases, sums = make_releases(X)
    for part in releases_in_parts(releases, 3, select):
        part.total(count, GRID)
        assert part.n_people == 20.0
    assert np.array_equal(sum(sums), count(X, GRID)) and all(total.sum() == 20 for total in sums)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_every_part_has_noise_of_the_scale_that_is_charged(part):
    X = np.zeros((3, 2001))
    X[:, 0] = np.arange(3)
    releases, _ = make_releases(X)
    for number, releases_of_part in enumerate(releases_in_parts(releases, 3, select)):
        lattice = releases_of_part.vector_lattice(2.0, 0.3)
        released = releases_of_part.release(releases_of_part.total(add_rows, lattice), lattice)
        if number == part:
            assert_plausible(normal_scale_p_value(released, lattice.scale))
            for wrong in (0.7, 1.3):
                assert normal_scale_p_value(released, wrong * lattice.scale) < 1e-9


def test_parts_have_noise_of_their_own_also_from_a_seed():
    drawn = []
    for _ in range(2):
        releases, _ = make_releases(np.zeros((4, 3)), seed=3)
        drawn.append([release_all(part)[1] for part in releases_in_parts(releases, 2, select)])
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0][0], drawn[0][1])


# What a replacement costs, in mu^2: by integers, for the vectors and matrices of both parts together.


def squared_cost(before, after, releases_of):
    """Sum over parts and releases of (change / noise scale)^2, with lattices as released."""
    spent = 0.0
    for part in range(2):
        lattice, gram = releases_of
        vector = [add_rows(select(X, part, 2), lattice).astype(float) for X in (before, after)]
        matrix = [add_products(select(X, part, 2), gram).astype(float) for X in (before, after)]
        spent += float(((vector[0] - vector[1]) ** 2).sum()) / 4.0**lattice.exponent
        # Isotropic in the Frobenius inner product with scale sqrt(2) 2^k.
        spent += float(((matrix[0] - matrix[1]) ** 2).sum()) / (2.0 * 4.0**gram.exponent)
    return spent


@pytest.mark.parametrize("other_part", [0.0, 1.0], ids=["same part", "another part"])
def test_the_worst_replacement_costs_what_is_charged_and_no_more(other_part):
    before, after = np.array([[0.0, 9.0, 0.0]]), np.array([[other_part, 0.0, 9.0]])
    opposite = np.array([[other_part, -9.0, 0.0]])
    releases, _ = make_releases(before)
    (first, *_) = [release_all(part) for part in releases_in_parts(releases, 2, select)]
    lattice, gram = first[3]
    charged = 1.0 / lattice.event.noise_multiplier**2 + 1.0 / gram.event.noise_multiplier**2
    costs = [squared_cost(before, changed, (lattice, gram)) for changed in (after, opposite)]
    assert max(costs) <= charged
    matrices_alone = 1.0 / gram.event.noise_multiplier**2
    if other_part:  # a removal and an addition: half of the vectors, all of the matrices
        expected = 0.5 / lattice.event.noise_multiplier**2 + matrices_alone
        assert costs[0] == pytest.approx(expected, rel=1e-4)
    else:
        assert costs[1] == pytest.approx(1.0 / lattice.event.noise_multiplier**2, rel=1e-4)


def test_levels_far_from_the_middle_are_refused():
    releases, _ = make_releases(rows())
    part = next(releases_in_parts(releases, 2, select))
    for level in (0.29, 0.71, 0.9):
        assert 2 * max(level, 1 - level) ** 2 > 1.0  # a removal here and an addition there would cost more
        with pytest.raises(InvalidParameter, match=r"^probability of PartReleases must be between 0.3 and 0.7"):
            part.quantile_of(part.total(count, GRID), GRID, level, 0.1)
    assert not releases.executed and 2 * math.pow(0.7, 2) <= 1.0


def test_a_part_must_repeat_the_shares_of_the_first():
    releases, _ = make_releases(rows())
    first, second = list(releases_in_parts(releases, 2, select))
    first.vector_lattice(1.0, 0.2)
    with pytest.raises(PlanBroken, match=r"part 1 does not repeat the shares of the first; got 0\.3"):
        second.vector_lattice(1.0, 0.3)
    second.vector_lattice(1.0, 0.2)
    with pytest.raises(PlanBroken, match="does not repeat"):
        second.vector_lattice(1.0, 0.2)


def test_a_part_cannot_release_before_or_more_often_than_the_first():
    noise = NoiseSource()
    releases, _ = make_releases(rows(), noise=noise)
    first, second = list(releases_in_parts(releases, 2, select))
    lattice = first.vector_lattice(1.0, 0.2)
    with pytest.raises(PlanBroken, match="repeats a release that was not made"):
        second.release(np.zeros(2, np.int64), lattice)
    first.release(np.zeros(2, np.int64), lattice)
    again = list(releases_in_parts(releases, 2, select))[1]
    with pytest.raises(PlanBroken, match="repeats a release that was not made"):
        again.release(np.zeros(2, np.int64), lattice)  # what it could repeat comes after


def test_the_kernel_of_a_part_sees_the_people_of_the_part_alone():
    X = rows()
    selected = sum_part(X, (lambda block, _: block, None, select, 1, 3))
    assert len(selected) == 20 and set(selected[:, 0] % 3) == {1.0}
