"""The length of a sum: its bound, a pair that attains it, noise from both sides, audits, one event, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.evaluation.audit import delta_lower_bound, epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms import length
from hushrank.privacy.mechanisms.length import LARGEST_LENGTH_BOUND, length_scale, length_sensitivity, release_length
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, four_squares, laplace_scale_p_value, normal_scale_p_value

RELATIONS = list(Neighbors)
EVENTS = {"gaussian": Gaussian(0.7), "pure": Pure(0.9)}
P_VALUES = {"gaussian": normal_scale_p_value, "pure": laplace_scale_p_value}
squared_bounds = st.one_of(st.integers(1, 200), st.integers(1, LARGEST_LENGTH_BOUND), st.just(LARGEST_LENGTH_BOUND))


def length_of(total):
    return math.isqrt(sum(int(v) ** 2 for v in total))


def within(vector, squared_bound):
    """The vector, or one along it with a squared norm of at most the bound."""
    square = sum(v * v for v in vector)
    if square <= squared_bound:
        return vector
    factor = math.sqrt(squared_bound / square)
    shorter = [math.trunc(v * factor) for v in vector]
    return shorter if sum(v * v for v in shorter) <= squared_bound else [0] * len(vector)


# 1. Sensitivity

vectors = st.lists(st.integers(-(2**13), 2**13), min_size=4, max_size=4)


@given(squared_bounds, vectors, vectors, st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=4))
@settings(max_examples=300)
def test_the_length_moves_by_no_more_than_its_bound(squared_bound, one, other, rest):
    y, z = within(one, squared_bound), within(other, squared_bound)
    for others in (rest, [0, 0, 0, 0], y, [-v for v in y], [1000 * v for v in y]):
        both = [[a + b for a, b in zip(others, own, strict=True)] for own in (y, z, [0, 0, 0, 0], [-v for v in y])]
        lengths = [length_of(total) for total in both]
        for replaced in (lengths[1], lengths[3]):
            assert abs(lengths[0] - replaced) <= length_sensitivity(squared_bound, Neighbors.REPLACE)
        assert abs(lengths[0] - lengths[2]) <= length_sensitivity(squared_bound, Neighbors.ADD_REMOVE)


@given(squared_bounds)
def test_the_bound_is_the_root_rounded_up_and_one_more(squared_bound):
    for neighbors, changed in ((Neighbors.REPLACE, 2), (Neighbors.ADD_REMOVE, 1)):
        bound = length_sensitivity(squared_bound, neighbors)
        assert (bound - 1) ** 2 >= changed**2 * squared_bound > (bound - 2) ** 2


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("squared_bound", [1, 2, 26, 1000, 4**12 - 1, 4**12])
def test_a_worst_pair_attains_the_bound_but_for_one(neighbors, squared_bound):
    """n people with one vector, of whom one leaves or becomes the opposite; for some n both roundings are worst."""
    y, changed = four_squares(squared_bound), 2 if neighbors is Neighbors.REPLACE else 1
    assert sum(v * v for v in y) == squared_bound
    changes = [
        length_of([n * v for v in y]) - length_of([(n - changed) * v for v in y]) for n in range(changed, 20_000)
    ]  # fmt: skip
    assert max(changes) == length_sensitivity(squared_bound, neighbors) - 1


@given(squared_bounds, st.floats(1e-3, 1e3), st.sampled_from(RELATIONS))
def test_the_scale_is_the_bound_over_the_strength_rounded_up(squared_bound, strength, neighbors):
    bound = length_sensitivity(squared_bound, neighbors)
    for event, exact in (
        (Gaussian(strength), bound * Fraction(strength)),
        (Pure(strength), bound / Fraction(strength)),
    ):
        scale = Fraction(length_scale(squared_bound, event, neighbors))
        assert exact <= scale <= exact * (1 + Fraction(1, 2**50))


# 2. Limit


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_without_noise_it_is_the_length_rounded_down(neighbors):
    for total in ([3, -4, 0], [1, 1, 1], [0, 0, 0], [2**40, -(2**40), 1], [2**52, 2**52, 2**52]):
        for event in (Gaussian(1e-9), Pure(1e9)):
            released = release_length(np.array(total), 1, event, NoiseSource(), neighbors)
            assert isinstance(released, int) and released == length_of(total)


def test_squares_beyond_63_bits_do_not_wrap():
    released = release_length(np.full(1000, -(2**50)), 4**12, Gaussian(1e-9), NoiseSource())
    assert released == math.isqrt(1000 * 2**100)


# 3. Noise


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("kind", EVENTS)
def test_noise_has_its_scale_from_both_sides(kind, neighbors):
    event, noise, squared_bound = EVENTS[kind], NoiseSource(), 10**6
    total, changed = np.array([30_000, -40_000]), 2 if neighbors is Neighbors.REPLACE else 1
    errors = [release_length(total, squared_bound, event, noise, neighbors) - 50_000 for _ in range(1500)]
    strength = 1 / event.noise_multiplier if kind == "gaussian" else event.epsilon
    scale = (1000 * changed + 1) / strength
    assert scale == pytest.approx(length_scale(squared_bound, event, neighbors), rel=1e-12)
    assert_plausible(P_VALUES[kind](errors, scale))
    for wrong in (0.7, 1.3):
        assert P_VALUES[kind](errors, wrong * scale) < FALSE_ALARM
    assert noise.executed == (event,) * 1500


def test_released_lengths_may_be_negative():
    noise = NoiseSource()
    released = [release_length(np.zeros(3, np.int64), 100, Pure(1.0), noise) for _ in range(60)]
    assert min(released) < 0 < max(released)  # fails with probability 2^-58


# 4. Identities


@pytest.mark.parametrize("n_entries", [1, 2, 5000])
def test_one_event_is_executed_and_paid_for_whatever_the_number_of_entries(n_entries):
    noise = NoiseSource()
    release_length(np.ones(n_entries, np.int64), 100, Pure(0.7), noise, "add_remove")
    assert noise.executed == (Pure(0.7),) and accountant.epsilon(Composed(noise.executed)) == 0.7
    assert noise.guarantee(Budget(1.0, neighbors="add_remove")).numerics == "exact"


def test_seeds_repeat_the_length_and_the_total_stays_as_it_was():
    total = np.array([5, -7])
    first, second = (
        [release_length(total, 100, Gaussian(1.0), NoiseSource(seed=s)) for s in range(9)] for _ in range(2)
    )
    assert first == second and len(set(first)) > 3
    assert total.tolist() == [5, -7]


# 5. Refusals

GOOD = {"total": np.array([3, 4]), "squared_bound": 100, "event": Pure(1.0), "neighbors": "replace"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("total", np.array([3.0, 4.0])),
        ("total", np.ones((2, 2), np.int64)),
        ("squared_bound", 0),
        ("squared_bound", 4**12 + 1),
        ("squared_bound", 2.5),
        ("squared_bound", None),
        ("event", Pure(1.0, bounded_range=True)),
        ("event", Repeated(Pure(1.0), 1)),
        ("event", Composed([])),
        ("event", Pure(1e-300)),
        ("event", Gaussian(1e300)),
        ("neighbors", "twins"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_logged(name, value):
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=f"^{name} of (release_length|length_scale) must be"):
        release_length(**{**GOOD, name: value}, noise=noise)
    assert noise.executed == ()


def test_a_bound_for_which_totals_could_wrap_is_refused():
    assert LARGEST_LENGTH_BOUND == 4**12 and 2**51 * math.isqrt(LARGEST_LENGTH_BOUND) <= 2**63
    length_scale(4**12, Pure(1.0))
    with pytest.raises(InvalidParameter, match=r"^squared_bound of length_scale must be an integer"):
        length_scale(4**12 + 1, Pure(1.0))


# 6. Audit


def worst_outputs(event, neighbors, factor, monkeypatch, trials):
    """Lengths on the two sides of the worst pair, the noise smaller by a factor on purpose."""
    exact = length.scale_for
    monkeypatch.setattr(length, "scale_for", lambda *terms: factor * exact(*terms))
    change, noise = 2000 if neighbors is Neighbors.REPLACE else 1000, NoiseSource()
    return [
        np.array([release_length(np.array([0, top]), 10**6, event, noise, neighbors) for _ in range(trials)]) - 5000
        for top in (5000, 5000 + change)
    ]


@pytest.mark.audit
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_audit_notices_halved_noise(factor, neighbors, monkeypatch):
    trials, change = 8000, 2000 if neighbors is Neighbors.REPLACE else 1000
    low, high = worst_outputs(Pure(1.0), neighbors, factor, monkeypatch, trials)
    hits = [int((sample > change).sum()) for sample in (high, low)]
    bound = epsilon_lower_bound(hits[0], trials, hits[1], trials, confidence=1 - FALSE_ALARM)
    assert bound > 1.3 if factor < 1 else 0.6 < bound < 1.0


@pytest.mark.audit
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_gaussian_audit_notices_halved_noise(factor, neighbors, monkeypatch):
    """The likelihood ratio at x is exp(mu^2 (x - 1/2)); it passes e at x = 1.5 for mu = 1, at 0.75 for mu = 2."""
    trials, change = 8000, 2000 if neighbors is Neighbors.REPLACE else 1000
    low, high = worst_outputs(Gaussian(1.0), neighbors, factor, monkeypatch, trials)
    threshold = (1.5 if factor == 1.0 else 0.75) * change
    hits = [int((sample > threshold).sum()) for sample in (high, low)]
    bound = delta_lower_bound(hits[0], trials, hits[1], trials, 1.0, confidence=1 - FALSE_ALARM)
    claimed = accountant.delta(Gaussian(1.0), 1.0)
    assert bound > 1.5 * claimed if factor < 1 else 0.1 * claimed < bound < claimed
