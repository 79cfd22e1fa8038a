"""Vector releases: sensitivity, scale from both sides, audits that notice halved noise, a floating-point attack."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.evaluation.audit import delta_lower_bound, epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice
from hushrank.privacy.mechanisms.vector import (
    release_vector,
    vector_l1_sensitivity,
    vector_l2_sensitivity,
    vector_lattice,
)
from hushrank.privacy.noise.source import NoiseSource
from support import (
    FALSE_ALARM,
    assert_plausible,
    chi2_p_value,
    four_squares,
    laplace_scale_p_value,
    normal_scale_p_value,
    plant,
)

RELATIONS = list(Neighbors)
multipliers = st.floats(1e-3, 1e4)


# Sensitivity


@given(multipliers, st.sampled_from(RELATIONS), st.booleans(), st.sampled_from([1, 10**3, 2**26, 2**40]))
def test_gaussian_bound_is_the_largest_that_the_event_allows(noise_multiplier, neighbors, nonnegative, n_max):
    lattice = vector_lattice(3.0, Gaussian(noise_multiplier), neighbors, nonnegative=nonnegative, n_max=n_max)
    factor = {Neighbors.ADD_REMOVE: 1, Neighbors.REPLACE: 2 if nonnegative else 4}[neighbors]

    def mu_squared(bound):
        return Fraction(factor * bound, 4**lattice.exponent)

    allowed = 1 / Fraction(noise_multiplier) ** 2
    assert mu_squared(lattice.squared_bound) <= allowed
    assert mu_squared(lattice.squared_bound + 1) > allowed
    assert lattice.squared_bound <= 2**48
    assert n_max * math.isqrt(lattice.squared_bound) <= 2**62


@given(st.floats(1e-3, 100), st.sampled_from(RELATIONS))
def test_laplace_bound_is_the_largest_that_the_event_allows(epsilon, neighbors):
    lattice = vector_lattice(3.0, Pure(epsilon), neighbors)
    factor = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    loss = Fraction(factor * lattice.l1_bound, 2**lattice.exponent)
    assert loss <= Fraction(epsilon) < loss + Fraction(factor, 2**lattice.exponent)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("nonnegative", [True, False])
def test_a_worst_pair_attains_the_l2_sensitivity(neighbors, nonnegative):
    lattice = vector_lattice(2.5, Gaussian(1.7), neighbors, nonnegative=nonnegative)
    y = np.array([*four_squares(lattice.squared_bound), 0, 0, 0, 0])
    other = {  # the other person's contribution, as far away as it can be
        Neighbors.ADD_REMOVE: 0 * y,
        Neighbors.REPLACE: np.roll(y, 4) if nonnegative else -y,
    }[neighbors]
    change = np.linalg.norm((y - other) * lattice.unit)
    assert change == pytest.approx(vector_l2_sensitivity(2.5, neighbors, nonnegative=nonnegative), rel=1e-12)
    assert change / lattice.scale == pytest.approx(1 / 1.7, rel=1e-9)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_pair_attains_the_l1_sensitivity(neighbors):
    lattice = vector_lattice(2.5, Pure(0.8), neighbors)
    y = np.array([lattice.l1_bound - 5, 3, -2])
    other = -y if neighbors is Neighbors.REPLACE else 0 * y
    change = np.abs((y - other) * lattice.unit).sum()
    assert change == pytest.approx(vector_l1_sensitivity(2.5, neighbors), rel=1e-12)
    assert change / lattice.scale == pytest.approx(0.8, rel=1e-9)


# Noise


@pytest.mark.parametrize(
    ("event", "p_value_of_scale"), [(Gaussian(1.3), normal_scale_p_value), (Pure(0.7), laplace_scale_p_value)]
)
def test_scale_is_right_from_both_sides(event, p_value_of_scale):
    lattice = vector_lattice(2.0, event)
    total = np.full(200_000, 10**6, np.int64)
    error = release_vector(total, lattice, NoiseSource()) - total * lattice.unit
    assert_plausible(p_value_of_scale(error, lattice.scale))
    for wrong in (0.7, 1.3):
        assert p_value_of_scale(error, wrong * lattice.scale) < FALSE_ALARM


def test_stated_scale_is_sensitivity_times_multiplier():
    assert vector_lattice(2.0, Gaussian(1.3), "replace").scale == pytest.approx(4.0 * 1.3, rel=1e-9)
    assert vector_lattice(2.0, Gaussian(1.3), "add_remove").scale == pytest.approx(2.0 * 1.3, rel=1e-9)
    assert vector_lattice(2.0, Gaussian(1.3), nonnegative=True).scale == pytest.approx(8**0.5 * 1.3, rel=1e-9)
    assert vector_lattice(2.0, Pure(0.5), "replace").scale == pytest.approx(8.0, rel=1e-9)


def test_the_total_comes_through_when_the_noise_is_small():
    total = np.array([[5, -7], [2**40, 0]])
    for event in (Gaussian(1e-9), Pure(1e9)):
        lattice = vector_lattice(1.0, event)
        released = release_vector(total, lattice, NoiseSource())
        assert released.shape == (2, 2) and lattice.scale < 1e-7
        assert np.abs(released - total * lattice.unit).max() < 40 * lattice.scale


# Audit: every coordinate of a long vector is one scalar release of the worst change


def worst_outputs(event, neighbors, halvings, n=1_000_000):
    """Scalar releases on two neighboring totals; the noise is halved `halvings` times on purpose."""
    lattice = vector_lattice(1.0, event, neighbors)
    planted = plant(lattice, exponent=lattice.exponent - halvings)
    change = math.isqrt(lattice.squared_bound) if isinstance(event, Gaussian) else lattice.l1_bound
    change *= 2 if neighbors is Neighbors.REPLACE else 1
    totals = (np.zeros(n, np.int64), np.full(n, change))
    return [release_vector(total, planted, NoiseSource()) / (change * lattice.unit) for total in totals]


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_gaussian_audit_notices_halved_noise(neighbors):
    event, epsilon = Gaussian(1.0), 1.0
    claimed = accountant.delta(event, epsilon)
    # The likelihood ratio at x is exp(mu^2 (x - 1/2)); it passes e^epsilon here for mu = 1, and for mu = 2.
    for halvings, threshold in ((0, 1.5), (1, 0.75)):
        without, with_ = worst_outputs(event, neighbors, halvings)
        bound = delta_lower_bound(
            np.count_nonzero(with_ > threshold), with_.size,
            np.count_nonzero(without > threshold), without.size, epsilon, confidence=1 - FALSE_ALARM,
        )  # fmt: skip
        if halvings:
            assert bound > 3 * claimed
        else:
            assert 0.9 * claimed < bound < claimed


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_laplace_audit_notices_halved_noise(neighbors):
    for halvings in (0, 1):
        without, with_ = worst_outputs(Pure(1.0), neighbors, halvings)
        bound = epsilon_lower_bound(
            np.count_nonzero(with_ > 1), with_.size,
            np.count_nonzero(without > 1), without.size, confidence=1 - FALSE_ALARM,
        )  # fmt: skip
        assert bound > 1.9 if halvings else 0.95 < bound < 1.0


# The attack of Mironov (CCS 2012): a floating-point sampler reaches only some floats, and which depends on the input


def float_laplace(u):
    """What numpy's generator makes of its 53-bit uniform number."""
    return -math.log(2.0 - u - u) if u >= 0.5 else math.log(u + u)


def reachable_by_float_laplace(output, value):
    """Whether value + rng.laplace() can give exactly this float: try the only uniform numbers that come close."""
    noise = output - value
    u = 1 - math.exp(-noise) / 2 if noise > 0 else math.exp(noise) / 2
    nearby = (round(u * 2**53) + step for step in range(-16, 17))
    return any(value + float_laplace(k * 2.0**-53) == output for k in nearby if 0 < k < 2**53)


def test_floating_point_noise_betrays_the_input():
    outputs = 0.0 + np.random.default_rng(5).laplace(size=2000)
    assert all(reachable_by_float_laplace(y, 0.0) for y in outputs)
    excluded = np.mean([not reachable_by_float_laplace(y, 1.0) for y in outputs])
    assert excluded > 0.5  # for most outputs, certainty that the input was 0 and not 1


def lattice_outputs(value, lattice, n):
    """Outputs in lattice units, which is all that the floats hold."""
    released = release_vector(np.full(n, value), lattice, NoiseSource())
    units = np.rint(released / lattice.unit)
    assert np.array_equal(units * lattice.unit, released)
    return units.astype(np.int64)


@pytest.mark.parametrize("event", [Pure(1.0), Gaussian(1.0)])
def test_low_digits_of_our_outputs_say_nothing_about_the_input(event):
    lattice = vector_lattice(1.0, event, "add_remove")
    for value in (0, 1, 12345):
        residues = lattice_outputs(value, lattice, 100_000) & 255
        assert_plausible(chi2_p_value(np.bincount(residues, minlength=256), np.full(256, 1 / 256)))


@pytest.mark.parametrize("event", [Pure(1.0), Gaussian(1.0)])
def test_every_input_reaches_every_output_near_by(event):
    # On a lattice so coarse that single points are seen: no output excludes an input, as floats did above.
    lattice = plant(vector_lattice(1.0, event, "add_remove"), exponent=2)
    near = set(range(-4, 9))
    for value in (0, 1, 4):
        assert near <= set(lattice_outputs(value, lattice, 100_000).tolist())


def test_a_lattice_with_too_little_noise_cannot_be_made():
    for event in (Pure(1.0), Gaussian(1.0)):
        lattice = vector_lattice(1.0, event)
        with pytest.raises(InvalidParameter, match="event of vector_lattice must be one that the noise"):
            dataclasses.replace(lattice, exponent=lattice.exponent - 1)


def test_lattices_made_by_hand_are_checked_like_planned_ones():
    gaussian, pure = vector_lattice(1.0, Gaussian(1.0)), vector_lattice(1.0, Pure(1.0))
    for lattice, changed, name in (
        (gaussian, {"event": Pure(1.0)}, "event"),
        (pure, {"event": Gaussian(1.0)}, "event"),
        (pure, {"event": Pure(1.0, bounded_range=True)}, "event"),
        (gaussian, {"neighbors": "twins"}, "neighbors"),
        (gaussian, {"norm_bound": -1.0}, "norm_bound"),
        (gaussian, {"squared_bound": 4.5}, "squared_bound"),
        (gaussian, {"squared_bound": 2**49, "exponent": 40}, "squared_bound"),
        (pure, {"l1_bound": math.nan}, "l1_bound"),
        (gaussian, {"exponent": 51}, "exponent"),
        (gaussian, {"exponent": 40.5}, "exponent"),
        (gaussian, {"nonnegative": "no"}, "nonnegative"),
    ):
        with pytest.raises(InvalidParameter, match=f"^{name} of vector_lattice must be"):
            dataclasses.replace(lattice, **changed)


def test_integers_of_numpy_do_not_wrap_around_the_check():
    lattice = vector_lattice(1.0, Gaussian(3.0))
    numbers = {"squared_bound": np.int64(lattice.squared_bound), "exponent": np.int64(lattice.exponent)}
    assert dataclasses.replace(lattice, **numbers) == lattice
    with pytest.raises(InvalidParameter, match="one that the noise"):
        dataclasses.replace(lattice, squared_bound=np.int64(2 * lattice.squared_bound))


def test_a_relation_in_letters_has_the_sensitivity_of_the_relation():
    for word in ("replace", "add_remove"):
        assert vector_l1_sensitivity(3.0, word) == vector_l1_sensitivity(3.0, Neighbors(word))
        for nonnegative in (True, False):
            pair = (vector_l2_sensitivity(3.0, it, nonnegative=nonnegative) for it in (word, Neighbors(word)))
            assert len(set(pair)) == 1


def test_the_lattice_of_a_matrix_is_refused_and_nothing_logged():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=r"^lattice of release_vector must be a GaussianLattice or LaplaceLatti"):
        release_vector(np.zeros(3, np.int64), symmetric_lattice(1.0, Gaussian(1.0)), noise)
    assert noise.executed == ()


# Refusals


@pytest.mark.parametrize("norm_bound", [0, -1.0, math.nan, math.inf, "1"])
def test_the_bound_must_be_positive_and_finite(norm_bound):
    with pytest.raises(InvalidParameter, match=r"^norm_bound of vector_lattice must be a finite float > 0"):
        vector_lattice(norm_bound, Gaussian(1.0))


@pytest.mark.parametrize("event", [Composed([Pure(1.0)]), "pure", Pure(1.0, bounded_range=True)])
def test_unknown_events_are_refused(event):
    with pytest.raises(InvalidParameter, match=r"^event of vector_lattice"):
        vector_lattice(1.0, event)


@pytest.mark.parametrize("nonnegative", [None, 1, "yes"])
def test_nonnegative_is_said_plainly(nonnegative):
    with pytest.raises(InvalidParameter, match="nonnegative of vector_lattice must be True or False"):
        vector_lattice(1.0, Gaussian(1.0), nonnegative=nonnegative)


def test_nonnegative_is_for_gaussian_events():
    with pytest.raises(InvalidParameter, match="nonnegative of vector_lattice must be False for a pure event"):
        vector_lattice(1.0, Pure(1.0), nonnegative=True)


def test_noise_too_large_for_any_lattice_is_refused():
    for event in (Gaussian(1e16), Pure(1e-16)):
        with pytest.raises(InvalidParameter, match="at least one lattice unit"):
            vector_lattice(1.0, event)


@pytest.mark.parametrize("norm_bound", [1e-320, 1e305])
@pytest.mark.parametrize("event", [Gaussian(1.0), Pure(1.0)])
def test_bounds_that_float64_cannot_hold_are_refused(norm_bound, event):
    with pytest.raises(InvalidParameter, match="norm_bound of vector_lattice must be a bound whose lattice fits"):
        vector_lattice(norm_bound, event)


def test_nothing_is_logged_when_the_total_is_refused():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="lattice integers"):
        release_vector(np.zeros(3), vector_lattice(1.0, Pure(1.0)), noise)
    assert noise.executed == ()


def test_the_executed_event_is_logged():
    noise = NoiseSource()
    release_vector(np.zeros(3, np.int64), vector_lattice(1.0, Pure(0.5)), noise)
    assert noise.executed == (Pure(0.5),)


def test_a_seed_repeats_the_release():
    lattice = vector_lattice(1.0, Gaussian(1.0))
    first, second = (release_vector(np.zeros(50, np.int64), lattice, NoiseSource(seed=2)) for _ in range(2))
    assert np.array_equal(first, second)


def test_one_number_is_released_as_one_number():
    assert release_vector(np.int64(3), vector_lattice(1.0, Pure(1.0)), NoiseSource()).shape == ()
