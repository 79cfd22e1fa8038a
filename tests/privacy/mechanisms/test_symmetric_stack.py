"""Releases of stacks of second moments: sensitivity attained, shape of the noise from both sides, audit, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hushrank.evaluation.audit import delta_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms import symmetric_stack
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice
from hushrank.privacy.mechanisms.symmetric_stack import release_symmetric_stack, stack_frobenius_sensitivity
from hushrank.privacy.mechanisms.vector import vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, four_squares, normal_scale_p_value, plant

RELATIONS = list(Neighbors)


def triangles(vectors):
    """Lower triangles of the products of vectors (n, size) with themselves."""
    vectors = np.asarray(vectors)
    rows, columns = np.tril_indices(vectors.shape[1])
    return vectors[:, rows] * vectors[:, columns]


def is_diagonal(size):
    return np.equal(*np.tril_indices(size))


def frobenius(packed, size):
    """Norm of a stack of symmetric matrices given by triangles."""
    weights = np.where(is_diagonal(size), 1.0, 2.0)
    return math.sqrt(float((np.asarray(packed, float) ** 2 @ weights).sum()))


# Sensitivity


@given(st.integers(0, 2**32), st.sampled_from(RELATIONS), st.integers(1, 4), st.integers(1, 5))
def test_no_pair_exceeds_the_sensitivity(seed, neighbors, size, n):
    rng = np.random.default_rng(seed)
    people = []
    for _ in range(2):
        vectors = rng.standard_normal((n, size)) * rng.exponential(size=(n, 1))
        people.append(triangles(1.5 * vectors / (np.linalg.norm(vectors, axis=1) ** 4).sum() ** 0.25))
    change = people[0] - (people[1] if neighbors is Neighbors.REPLACE else 0)
    assert frobenius(change, size) <= stack_frobenius_sensitivity(1.5, neighbors) * (1 + 1e-12)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("n", [1, 4])
def test_a_worst_pair_attains_the_sensitivity(neighbors, n):
    """n vectors of squared norm T / sqrt(n) each; replaced by those of other matrices, or by orthogonal ones."""
    lattice = symmetric_lattice(2.5, Gaussian(1.7), neighbors)
    y = np.array(four_squares(lattice.squared_bound // math.isqrt(n)))
    vectors = np.zeros((2 * n, 4), np.int64)
    vectors[:n] = y
    assert sum(int(row @ row) ** 2 for row in vectors) <= lattice.squared_bound**2
    change = triangles(vectors)
    if neighbors is Neighbors.REPLACE:
        change = change - triangles(vectors[::-1])
    size = frobenius(change * lattice.unit, 4)
    assert size == pytest.approx(stack_frobenius_sensitivity(2.5, neighbors), rel=1e-9)
    assert size / (math.sqrt(2) * lattice.scale) == pytest.approx(1 / 1.7, rel=1e-8)


def test_sensitivities_are_the_tight_ones():
    assert stack_frobenius_sensitivity(2.0, Neighbors.REPLACE) == pytest.approx(math.sqrt(2) * 4)
    assert stack_frobenius_sensitivity(2.0, Neighbors.ADD_REMOVE) == pytest.approx(4)


# Noise


def assert_scaled(noise, size, scale):
    """Both parts have the stated scale, and neither 0.7 nor 1.3 of it."""
    diagonal = is_diagonal(size)
    for part, stated in ((noise[:, ~diagonal], scale), (noise[:, diagonal], math.sqrt(2) * scale)):
        assert_plausible(normal_scale_p_value(part, stated))
        for wrong in (0.7, 1.3):
            assert normal_scale_p_value(part, wrong * stated) < FALSE_ALARM


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_noise_has_the_stated_shape_from_both_sides(neighbors):
    lattice, size = symmetric_lattice(1.0, Gaussian(3.0), neighbors), 6
    noise = release_symmetric_stack(np.zeros((3000, 21), np.int64), lattice, NoiseSource())
    assert_scaled(noise, size, lattice.scale)
    diagonal = is_diagonal(size)
    for part in (noise[:, diagonal], noise[:, ~diagonal]):
        assert_plausible(stats.kstest(part.ravel() / math.sqrt(np.mean(part**2)), "norm").pvalue)


def test_a_diagonal_of_one_normal_is_noticed(monkeypatch):
    lattice, draw = symmetric_lattice(1.0, Gaussian(3.0)), symmetric_stack._draw_noise

    def planted(shape, diagonal, *rest):
        return draw(shape, diagonal[:0], *rest)

    monkeypatch.setattr(symmetric_stack, "_draw_noise", planted)
    with pytest.raises(AssertionError):
        assert_scaled(release_symmetric_stack(np.zeros((3000, 21), np.int64), lattice, NoiseSource()), 6, lattice.scale)


def test_entries_are_independent_within_and_between_matrices_and_chunks(monkeypatch):
    monkeypatch.setattr(symmetric_stack, "_ENTRIES_AT_A_TIME", 21 * 1000)
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    scales = np.where(is_diagonal(6), math.sqrt(2), 1.0) * lattice.scale
    first, second = (
        release_symmetric_stack(np.zeros((4000, 21), np.int64), lattice, NoiseSource()) / scales for _ in range(2)
    )
    for a, b in (
        (first[:, :-1], first[:, 1:]),
        (first[:-1], first[1:]),
        (first[:1000], first[1000:2000]),
        (first[:, :-1] ** 2, first[:, 1:] ** 2),
        (first, second),
    ):
        assert_plausible(stats.pearsonr(a.ravel(), b.ravel()).pvalue)


@pytest.mark.parametrize(("halvings", "threshold"), [(0, 1.5), (1, 0.75)])
def test_audit_notices_halved_noise(halvings, threshold):
    """A person is replaced by one with other items: pairs of matrices change by +T and -T at their first entry."""
    event, epsilon, n = Gaussian(1.0), 1.0, 20_000
    lattice = symmetric_lattice(1.0, event)
    planted = plant(lattice, exponent=lattice.exponent - halvings)
    change = np.zeros((2 * n, 3), np.int64)
    change[:, 0] = np.tile([lattice.squared_bound, -lattice.squared_bound], n)
    hits = []
    for total in (change, 0 * change):
        released = release_symmetric_stack(total, planted, NoiseSource())[:, 0]
        projected = (released[::2] - released[1::2]) / 2 / (lattice.squared_bound * lattice.unit)
        hits.append(int(np.count_nonzero(projected > threshold)))
    bound = delta_lower_bound(hits[0], n, hits[1], n, epsilon, confidence=1 - FALSE_ALARM)
    claimed = accountant.delta(event, epsilon)
    assert bound > 3 * claimed if halvings else 0.3 * claimed < bound < claimed


# Identities


def test_the_stack_comes_through_when_the_noise_is_small():
    lattice = symmetric_lattice(1.0, Gaussian(1e-9))
    total = np.array([[5, -3, 2**40], [7, 0, -1]])
    released = release_symmetric_stack(total, lattice, NoiseSource())
    assert np.abs(released - total * lattice.unit).max() < 17 * lattice.scale < 1e-6


def test_data_and_noise_are_added_as_integers_and_the_total_is_kept():
    lattice, total = symmetric_lattice(1.0, Gaussian(1.0)), np.array([[5, -3, 7], [1, 2, 3]])
    noise, released = (
        release_symmetric_stack(t, lattice, NoiseSource(seed=1)) / lattice.unit for t in (0 * total, total)
    )  # fmt: skip
    assert np.array_equal(noise, np.rint(noise)) and np.array_equal(np.rint(released) - np.rint(noise), total)
    assert total.tolist() == [[5, -3, 7], [1, 2, 3]]


def test_one_event_for_the_whole_stack(monkeypatch):
    monkeypatch.setattr(symmetric_stack, "_ENTRIES_AT_A_TIME", 1)
    noise, lattice = NoiseSource(), symmetric_lattice(1.0, Gaussian(2.0))
    assert release_symmetric_stack(np.zeros((5, 6), np.int64), lattice, noise).shape == (5, 6)
    assert release_symmetric_stack(np.zeros((0, 6), np.int64), lattice, noise).shape == (0, 6)
    assert noise.executed == (Gaussian(2.0), Gaussian(2.0))


@pytest.mark.parametrize("size", [1, 2, 3, 32, 100])
def test_the_diagonal_is_found(size):
    positions = symmetric_stack._diagonal_positions(size * (size + 1) // 2, "test")
    assert np.array_equal(positions, np.flatnonzero(is_diagonal(size)))


# Refusals


def test_other_totals_and_lattices_are_refused_and_nothing_is_logged():
    noise, lattice = NoiseSource(), symmetric_lattice(1.0, Gaussian(1.0))
    for total in (
        np.zeros((2, 3)),
        np.zeros((2, 2), np.int64),
        np.zeros((2, 0), np.int64),
        np.zeros((2, 2, 2), np.int64),
        np.zeros(3, np.int64),
    ):
        with pytest.raises(InvalidParameter, match=r"^total of release_symmetric_stack must be"):
            release_symmetric_stack(total, lattice, noise)
    with pytest.raises(InvalidParameter, match=r"^lattice of release_symmetric_stack must be a SymmetricLattice; got"):
        release_symmetric_stack(np.zeros((2, 3), np.int64), vector_lattice(1.0, Gaussian(1.0)), noise)
    with pytest.raises(InvalidParameter, match=r"^lattice of release_symmetric_stack must be made for real rows"):
        release_symmetric_stack(
            np.zeros((2, 3), np.int64), symmetric_lattice(1.0, Gaussian(1.0), field="complex"), noise
        )
    assert noise.executed == ()
