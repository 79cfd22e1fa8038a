"""Gaussian second-moment releases: sensitivity attained, GOE and GUE shape from both sides, audits, identities."""

import dataclasses
import math
from fractions import Fraction

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
from hushrank.privacy.mechanisms import symmetric
from hushrank.privacy.mechanisms.symmetric import (
    release_hermitian,
    release_symmetric,
    second_moment_frobenius_sensitivity,
    symmetric_lattice,
)
from hushrank.privacy.mechanisms.vector import vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, four_squares, normal_scale_p_value, plant

RELATIONS = list(Neighbors)


def hermitian_zeros(d):
    return np.zeros((d, d), np.int64), np.zeros((d, d), np.int64)


def integer_outer(y):
    """Real and imaginary part of y y^* for a row of real parts, then imaginary parts."""
    a, b = np.split(np.asarray(y), 2)
    return np.outer(a, a) + np.outer(b, b), np.outer(b, a) - np.outer(a, b)


# Sensitivity


@given(st.floats(1e-3, 1e4), st.sampled_from(RELATIONS), st.sampled_from([1, 1000, 2**26, 2**40]))
def test_bound_is_the_largest_that_the_event_allows(noise_multiplier, neighbors, n_max):
    lattice = symmetric_lattice(3.0, Gaussian(noise_multiplier), neighbors, n_max=n_max)
    squared_factor = {Neighbors.REPLACE: 2, Neighbors.ADD_REMOVE: 1}[neighbors]

    def mu_squared(bound):  # squared Frobenius sensitivity over squared Frobenius noise scale, 2 4^k
        return Fraction(squared_factor * bound**2, 2 * 4**lattice.exponent)

    allowed = 1 / Fraction(noise_multiplier) ** 2
    assert mu_squared(lattice.squared_bound) <= allowed
    assert mu_squared(lattice.squared_bound + 1) > allowed or lattice.exponent == 0
    assert lattice.squared_bound <= 4**18 and n_max * lattice.squared_bound <= 2**62


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_pair_attains_the_sensitivity(neighbors):
    lattice = symmetric_lattice(2.5, Gaussian(1.7), neighbors)
    y = np.array([*four_squares(lattice.squared_bound), 0, 0, 0, 0])
    change = np.outer(y, y)
    if neighbors is Neighbors.REPLACE:
        change = change - np.outer(np.roll(y, 4), np.roll(y, 4))
    size = np.linalg.norm(change * lattice.unit)
    assert size == pytest.approx(second_moment_frobenius_sensitivity(2.5, neighbors), rel=1e-12)
    assert size / (math.sqrt(2) * lattice.scale) == pytest.approx(1 / 1.7, rel=1e-8)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_complex_pair_attains_the_sensitivity(neighbors):
    lattice = symmetric_lattice(2.5, Gaussian(1.7), neighbors, field="complex")
    a, b, c, e = four_squares(lattice.squared_bound)
    first, second = [a, c, b, e], [-c, a, e, -b]  # (a + ib, c + ie) and (-c + ie, a - ib)
    change = integer_outer(first)
    if neighbors is Neighbors.REPLACE:
        change = tuple(p - q for p, q in zip(change, integer_outer(second), strict=True))
    assert all(part[0, 1] != 0 for part in change)
    size = np.linalg.norm((change[0] + 1j * change[1]) * lattice.unit)
    assert size == pytest.approx(second_moment_frobenius_sensitivity(2.5, neighbors), rel=1e-12)
    assert size / (math.sqrt(2) * lattice.scale) == pytest.approx(1 / 1.7, rel=1e-8)


@given(st.integers(0, 2**32), st.sampled_from(RELATIONS))
def test_no_complex_pair_exceeds_the_sensitivity(seed, neighbors):
    G = np.random.default_rng(seed).standard_normal((2, 2, 3))
    x, y = (G[0] + 1j * G[1]) / np.sqrt((G**2).sum(axis=(0, 2)))[:, np.newaxis] * 1.5
    change = np.outer(x, x.conj()) - (np.outer(y, y.conj()) if neighbors is Neighbors.REPLACE else 0)
    assert np.linalg.norm(change) <= second_moment_frobenius_sensitivity(1.5, neighbors) * (1 + 1e-12)


def test_real_and_complex_rows_share_their_numbers():
    real, cplx = (symmetric_lattice(2.0, Gaussian(0.9), field=field) for field in ("real", "complex"))
    assert dataclasses.replace(cplx, field=real.field) == real != cplx


# Noise


def parts_of(noise):
    """Real and imaginary parts above the diagonal, and the diagonal."""
    above = noise[np.triu_indices(len(noise), 1)]
    return above.real, above.imag, np.diag(noise).real


def assert_gue_shaped(noise, scale):
    """Every part has its stated scale, and neither 0.7 nor 1.3 of it."""
    for part, stated in zip(parts_of(noise), (scale, scale, math.sqrt(2) * scale), strict=True):
        assert_plausible(normal_scale_p_value(part, stated))
        for wrong in (0.7, 1.3):
            assert normal_scale_p_value(part, wrong * stated) < FALSE_ALARM


def test_noise_is_gue_shaped_from_both_sides():
    lattice, d = symmetric_lattice(1.0, Gaussian(3.0), field="complex"), 1000
    noise = release_hermitian(hermitian_zeros(d), lattice, NoiseSource())
    assert noise.dtype == np.complex128 and np.array_equal(noise, noise.conj().T)
    assert not np.diag(noise).imag.any()
    assert_gue_shaped(noise, lattice.scale)
    for part in parts_of(noise):  # normal in shape as well
        assert_plausible(stats.kstest(part / math.sqrt(np.mean(part**2)), "norm").pvalue)


@pytest.mark.parametrize("bug", ["no imaginary noise", "diagonal of one normal", "half an imaginary part"])
def test_a_wrong_shape_is_noticed(monkeypatch, bug):
    lattice, d = symmetric_lattice(1.0, Gaussian(3.0), field="complex"), 1000
    draw = symmetric._draw_noise

    def planted(*arguments):
        drawn = draw(*arguments)
        if bug == "diagonal of one normal":
            np.fill_diagonal(drawn, np.diag(drawn) / math.sqrt(2))
        else:
            drawn[np.tril_indices(d, -1)] //= 2 if bug == "half an imaginary part" else 2**62
        return drawn

    monkeypatch.setattr(symmetric, "_draw_noise", planted)
    noise = release_hermitian(hermitian_zeros(d), lattice, NoiseSource())
    with pytest.raises(AssertionError):
        assert_gue_shaped(noise, lattice.scale)


def test_noise_is_goe_shaped_from_both_sides():
    lattice, d = symmetric_lattice(1.0, Gaussian(3.0)), 1500
    noise = release_symmetric(np.zeros((d, d), np.int64), lattice, NoiseSource())
    assert np.array_equal(noise, noise.T)
    above, diagonal = noise[np.triu_indices(d, 1)], np.diag(noise)
    assert_plausible(normal_scale_p_value(above, lattice.scale))
    assert_plausible(normal_scale_p_value(diagonal, math.sqrt(2) * lattice.scale))
    for wrong in (0.7, 1.3):
        assert normal_scale_p_value(above, wrong * lattice.scale) < FALSE_ALARM
        assert normal_scale_p_value(diagonal, wrong * math.sqrt(2) * lattice.scale) < FALSE_ALARM


def test_stated_scale_is_that_of_the_design():
    # replace: off-diagonal standard deviation row_norm^2 / mu; add_remove: a factor sqrt(2) less
    assert symmetric_lattice(2.0, Gaussian(1.3)).scale == pytest.approx(4.0 * 1.3, rel=1e-8)
    assert symmetric_lattice(2.0, Gaussian(1.3), "add_remove").scale == pytest.approx(8**0.5 * 1.3, rel=1e-8)


# Audit: the projection on the worst change is a scalar Gaussian; diag(+1, -1, +1, ...) holds d/2 independent copies


@pytest.mark.parametrize(("halvings", "threshold"), [(0, 1.5), (1, 0.75)])
def test_audit_notices_halved_noise(halvings, threshold):
    event, epsilon, d = Gaussian(1.0), 1.0, 200
    lattice = symmetric_lattice(1.0, event)
    planted = plant(lattice, exponent=lattice.exponent - halvings)
    pair = np.tile([lattice.squared_bound, -lattice.squared_bound], d // 2)  # replacing e2 by e1, in every 2 x 2 block
    hits = []
    for change in (pair, 0 * pair):
        released = np.stack(
            [np.diag(release_symmetric(np.diag(change), planted, NoiseSource())) for _ in range(200)]
        )  # fmt: skip
        projected = (released[:, ::2] - released[:, 1::2]) / 2 / (lattice.squared_bound * lattice.unit)
        hits.append(int(np.count_nonzero(projected > threshold)))
    trials = 200 * d // 2
    bound = delta_lower_bound(hits[0], trials, hits[1], trials, epsilon, confidence=1 - FALSE_ALARM)
    claimed = accountant.delta(event, epsilon)
    assert bound > 3 * claimed if halvings else 0.3 * claimed < bound < claimed


@pytest.mark.parametrize(("halvings", "threshold"), [(0, 1.5), (1, 0.75)])
def test_audit_of_imaginary_entries_notices_halved_noise(halvings, threshold):
    """Replacing (1, i) / sqrt(2) by (1, -i) / sqrt(2) changes imaginary parts alone, by 1: in every 2 x 2 block."""
    event, epsilon, d = Gaussian(1.0), 1.0, 200
    lattice = symmetric_lattice(1.0, event, field="complex")
    planted = plant(lattice, exponent=lattice.exponent - halvings)
    real, change = hermitian_zeros(d)
    pairs = np.arange(0, d, 2)
    change[pairs, pairs + 1], change[pairs + 1, pairs] = -lattice.squared_bound, lattice.squared_bound
    hits = []
    for imaginary in (change, 0 * change):
        released = [release_hermitian((real, imaginary), planted, NoiseSource()) for _ in range(200)]
        entries = np.stack([matrix[pairs + 1, pairs].imag for matrix in released])
        hits.append(int(np.count_nonzero(entries / (lattice.squared_bound * lattice.unit) > threshold)))
    trials = 200 * d // 2
    bound = delta_lower_bound(hits[0], trials, hits[1], trials, epsilon, confidence=1 - FALSE_ALARM)
    claimed = accountant.delta(event, epsilon)
    assert bound > 3 * claimed if halvings else 0.3 * claimed < bound < claimed


# Identities


def test_the_hermitian_matrix_comes_through_when_the_noise_is_small():
    lattice = symmetric_lattice(1.0, Gaussian(1e-9), field="complex")
    real, imaginary = np.array([[5, -3], [-3, 2**40]]), np.array([[0, -(2**39)], [2**39, 0]])
    released = release_hermitian((real, imaginary), lattice, NoiseSource())
    assert np.array_equal(released, released.conj().T)
    expected = (real + 1j * imaginary) * lattice.unit
    assert np.abs(released - expected).max() < 17 * lattice.scale < 1e-6


def test_only_the_upper_triangle_of_a_hermitian_matrix_is_read():
    lattice = symmetric_lattice(1.0, Gaussian(1.0), field="complex")
    total = np.array([[5, -3], [10**9, 7]]), np.array([[10**9, 4], [10**9, 10**9]])
    mirrored = np.array([[5, -3], [-3, 7]]), np.array([[0, 4], [-4, 0]])
    first, second = (release_hermitian(t, lattice, NoiseSource(seed=1)) for t in (total, mirrored))
    assert np.array_equal(first, second)


def test_data_and_noise_are_added_as_integers():
    lattice = symmetric_lattice(1.0, Gaussian(1.0), field="complex")
    real, imaginary = np.array([[5, -3], [-3, 7]]), np.array([[0, 4], [-4, 0]])
    totals = hermitian_zeros(2), (real, imaginary)
    noise, released = (release_hermitian(t, lattice, NoiseSource(seed=1)) / lattice.unit for t in totals)
    assert np.array_equal(noise, np.rint(noise.real) + 1j * np.rint(noise.imag))
    assert np.array_equal(released - noise, real + 1j * imaginary)


def test_hermitian_totals_that_wrap_stay_hermitian():
    lattice = symmetric_lattice(1.0, Gaussian(1.0), field="complex")
    edge = np.array([[0, 2**63 - 1], [-(2**63), 0]])
    for seed in range(8):
        released = release_hermitian((edge, edge), lattice, NoiseSource(seed=seed))
        assert np.array_equal(released, released.conj().T) and abs(released[0, 1].imag) > 2.0**62 * lattice.unit


def test_the_real_part_has_the_noise_of_a_real_release():
    real, cplx = (symmetric_lattice(1.0, Gaussian(1.0), field=field) for field in ("real", "complex"))
    symmetric_release = release_symmetric(np.zeros((5, 5), np.int64), real, NoiseSource(seed=3))
    assert np.array_equal(release_hermitian(hermitian_zeros(5), cplx, NoiseSource(seed=3)).real, symmetric_release)


def test_parts_are_independent_of_each_other_and_between_releases():
    lattice, d = symmetric_lattice(1.0, Gaussian(1.0), field="complex"), 600
    first, second = (release_hermitian(hermitian_zeros(d), lattice, NoiseSource()) for _ in range(2))
    (real, imaginary, diagonal), (other_real, other_imaginary, _) = parts_of(first), parts_of(second)
    beside = np.diag(first, 1).imag
    for a, b in (
        (real, imaginary),
        (real**2, imaginary**2),
        (real[1:], imaginary[:-1]),
        (imaginary[1:], imaginary[:-1]),
        (real, other_real),
        (imaginary, other_imaginary),
        (imaginary, other_real),
        (diagonal[1:], beside),
        (diagonal[:-1], beside),
    ):
        assert_plausible(stats.pearsonr(a, b).pvalue)


def test_noise_used_twice_is_noticed(monkeypatch):
    lattice, draw = symmetric_lattice(1.0, Gaussian(1.0), field="complex"), symmetric._draw_noise
    monkeypatch.setattr(symmetric, "_draw_noise", lambda *arguments: symmetric.mirror_upper(draw(*arguments)))
    real, imaginary, _ = parts_of(release_hermitian(hermitian_zeros(100), lattice, NoiseSource()))
    assert stats.pearsonr(real, imaginary).pvalue < FALSE_ALARM


def test_the_matrix_comes_through_when_the_noise_is_small():
    lattice = symmetric_lattice(1.0, Gaussian(1e-9))
    total = np.array([[5, -3], [-3, 2**40]])
    released = release_symmetric(total, lattice, NoiseSource())
    assert np.abs(released - total * lattice.unit).max() < 12 * lattice.scale < 1e-6


def test_only_the_upper_triangle_is_read():
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    total = np.array([[5, -3], [10**9, 7]])
    mirrored = np.array([[5, -3], [-3, 7]])
    first, second = (release_symmetric(t, lattice, NoiseSource(seed=1)) for t in (total, mirrored))
    assert np.array_equal(first, second)


def test_entries_are_independent_of_each_other_and_between_releases():
    lattice, d = symmetric_lattice(1.0, Gaussian(1.0)), 600
    first, second = (release_symmetric(np.zeros((d, d), np.int64), lattice, NoiseSource()) for _ in range(2))
    above = first[np.triu_indices(d, 1)]
    diagonal = np.diag(first)
    for a, b in (
        (diagonal, np.diag(second)),
        (diagonal[1:], diagonal[:-1]),
        (diagonal[1:], np.diag(first, 1)),
        (above[1:], above[:-1]),
        (above, second[np.triu_indices(d, 1)]),
    ):
        assert_plausible(stats.pearsonr(a, b).pvalue)


# Refusals


@pytest.mark.parametrize("row_norm", [1e-160, 1e160])
def test_bounds_that_float64_cannot_hold_are_refused(row_norm):
    with pytest.raises(InvalidParameter, match="row_norm of symmetric_lattice must be a bound whose lattice fits"):
        symmetric_lattice(row_norm, Gaussian(1.0))


def test_a_lattice_with_too_little_noise_cannot_be_made():
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    with pytest.raises(InvalidParameter, match="event of symmetric_lattice must be one that the noise"):
        dataclasses.replace(lattice, exponent=lattice.exponent - 1)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"event": Pure(1.0)}, "event"),
        ({"neighbors": "twins"}, "neighbors"),
        ({"field": "quaternion"}, "field"),
        ({"row_norm": math.nan}, "row_norm"),
        ({"squared_bound": 2**37, "exponent": 50}, "squared_bound"),
        ({"squared_bound": np.int64(2**36)}, "event"),  # the square of which is 0 in int64
        ({"exponent": 51}, "exponent"),
    ],
)
def test_a_lattice_made_by_hand_is_checked_as_well(changed, name):
    with pytest.raises(InvalidParameter, match=f"^{name} of symmetric_lattice must be"):
        dataclasses.replace(symmetric_lattice(1.0, Gaussian(3.0)), **changed)


def test_a_relation_in_letters_has_its_own_noise():
    lattice = symmetric_lattice(1.0, Gaussian(3.0))
    assert dataclasses.replace(lattice, neighbors="replace", field="real") == lattice
    with pytest.raises(InvalidParameter, match="one that the noise"):
        dataclasses.replace(lattice, neighbors="replace", squared_bound=lattice.squared_bound * 5 // 4)
    assert second_moment_frobenius_sensitivity(1.0, "replace") == math.sqrt(2)


@pytest.mark.parametrize("row_norm", [0, -1.0, math.nan, math.inf])
def test_the_bound_must_be_positive_and_finite(row_norm):
    with pytest.raises(InvalidParameter, match=r"^row_norm of symmetric_lattice must be a finite float > 0"):
        symmetric_lattice(row_norm, Gaussian(1.0))


def test_other_events_and_totals_are_refused_and_nothing_is_logged():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=r"^event of symmetric_lattice must be Gaussian"):
        symmetric_lattice(1.0, Pure(1.0))
    with pytest.raises(InvalidParameter, match="at least one lattice unit"):
        symmetric_lattice(1.0, Gaussian(1e17))
    for release, total in ((release_symmetric, np.eye(2, dtype=int)), (release_hermitian, (np.eye(2, dtype=int),) * 2)):
        with pytest.raises(InvalidParameter, match="must be a SymmetricLattice; got 'GaussianLattice'"):
            release(total, vector_lattice(1.0, Gaussian(1.0)), noise)
    lattice = symmetric_lattice(1.0, Gaussian(1.0))
    for total in (np.zeros((2, 2)), np.zeros((2, 3), np.int64)):
        with pytest.raises(InvalidParameter, match="total of release_symmetric"):
            release_symmetric(total, lattice, noise)
    assert noise.executed == ()
    release_symmetric(np.zeros((2, 2), np.int64), lattice, noise)
    assert noise.executed == (Gaussian(1.0),)


def test_lattices_of_the_other_field_are_refused_and_nothing_is_logged():
    noise, square = NoiseSource(), np.zeros((2, 2), np.int64)
    real, cplx = (symmetric_lattice(1.0, Gaussian(1.0), field=field) for field in ("real", "complex"))
    with pytest.raises(
        InvalidParameter, match=r"lattice of release_symmetric must be made for real rows; got 'one for"
    ):
        release_symmetric(square, cplx, noise)
    with pytest.raises(InvalidParameter, match=r"lattice of release_hermitian must be made for complex rows"):
        release_hermitian((square, square), real, noise)
    for total in (square, (square, np.zeros((3, 3), np.int64)), (square, square * 1j)):
        with pytest.raises(InvalidParameter, match="total of release_hermitian"):
            release_hermitian(total, cplx, noise)
    with pytest.raises(InvalidParameter, match=r'^field of symmetric_lattice must be "real" or "complex"'):
        symmetric_lattice(1.0, Gaussian(1.0), field="quaternion")
    assert noise.executed == ()
    release_hermitian((square, square), cplx, noise)
    assert noise.executed == (Gaussian(1.0),)
