"""Sketches with Gaussian noise: bounds against quadrature, drawn matrices, enumerated signs; events; calibration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard
from scipy.special import log_ndtr
from scipy.stats import chi2, norm

from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant, sketched
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Repeated, from_dict, to_dict
from hushrank.privacy.gdp import gaussian_delta
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.sketched import (
    LEAST_NOISE,
    MOST_NOISE,
    Shift,
    calibrate_sketch,
    repeated_noise,
    sketched_delta,
    sketched_event,
)
from support import FALSE_ALARM


def fixed(weight=1.0):
    return Shift("fixed", weight)


def chi(size, weight=1.0):
    return Shift("chi_square", weight, (size,))


def signs(size, weight=1.0):
    return Shift("signs", weight, (size,))


def product(first, second, weight=1.0):
    return Shift("product", weight, (first, second))


# An independent reference: Gauss-Legendre quadrature of the density, panel by panel.

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


def nodes(size, panels):
    """Points and probabilities of chi^2/size; panels of equal width in its root, to where 1e-20 is left."""
    low, high = np.sqrt(chi2.ppf(1e-20, size) / size), np.sqrt(chi2.isf(1e-20, size) / size)
    edges = np.linspace(low, high, panels + 1)
    root = ((edges[1:] + edges[:-1])[:, None] + np.diff(edges)[:, None] * NODES).ravel() / 2.0
    width = (np.diff(edges)[:, None] / 2.0 * WEIGHTS).ravel()
    return root**2, width * chi2.pdf(size * root**2, size) * size * 2.0 * root


def law(parts, panels=60):
    points, masses = np.array([0.0]), np.array([1.0])
    for part in parts:
        own, weights = np.array([1.0]), np.array([1.0])
        for size in part.sizes:
            more, mass = nodes(size, panels)
            own, weights = np.multiply.outer(own, more).ravel(), np.multiply.outer(weights, mass).ravel()
        points = np.add.outer(points, part.weight * own).ravel()
        masses = np.multiply.outer(masses, weights).ravel()
    return points, masses


def plain_curve(epsilon, squares):
    mu = np.sqrt(squares)
    return np.exp(log_ndtr(mu / 2 - epsilon / mu)) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


def majorant(epsilon, squares):
    """The curve to its inflection, its tangent there after."""
    turn = 2.0 * (math.sqrt(1.0 + epsilon**2) - 1.0)
    mu = math.sqrt(turn)
    slope = norm.pdf(epsilon / mu - mu / 2) / (2 * mu)
    tangent = plain_curve(epsilon, turn) + slope * (squares - turn)
    return np.where(squares <= turn, plain_curve(epsilon, np.minimum(squares, turn)), tangent)


FAMILIES = {
    "two": [chi(2)],
    "eight": [chi(8)],
    "narrow": [chi(10**5)],
    "beside fixed": [fixed(0.5), chi(16, 2.0)],
    "pair": [chi(32), chi(64)],
    "weighted pair": [chi(4, 3.0), chi(300, 0.2)],
    "product": [product(6, 30)],
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-8), (1.0, 1e-6), (1.0, 1e-12), (8.0, 1e-6), (50.0, 1e-12)])
def test_bound_agrees_with_quadrature_from_above(family, epsilon, delta):
    """Not below it, and as large as with two parts in ten thousand less noise at most."""
    parts = FAMILIES[family]
    noise = calibrate_sketch(Budget(epsilon, delta), parts)
    points, masses = law(parts)

    def reference(x):
        return float(masses @ majorant(epsilon, points / x**2))

    assert reference(noise) <= sketched_delta(parts, noise, epsilon) <= reference(noise * (1.0 - 2e-4))
    assert reference(noise * 0.99) > delta


def test_reference_values():
    budget = Budget(1.0, 1e-6)
    unit = calibrate(budget).noise_multiplier
    assert calibrate_sketch(budget, [chi(32)]) / unit == pytest.approx(1.1103, abs=2e-4)
    assert calibrate_sketch(budget, [chi(32), chi(64)]) == pytest.approx(6.2497, abs=1e-3)
    assert calibrate_sketch(budget, [chi(40), chi(40), product(100, 100, 0.25)]) == pytest.approx(6.5906, abs=2e-3)
    assert calibrate_sketch(budget, [signs(4)]) / unit == pytest.approx(1.6754, abs=2e-4)


# Drawn matrices: the mean of the curve over draws of |R(E)|^2, with its own error.


def least_mean(values):
    """A lower limit of the mean of numbers in [0, 1] (empirical Bernstein, Maurer and Pontil 2009), wrong at 1e-9."""
    log_term = math.log(2.0 / FALSE_ALARM)
    slack = math.sqrt(2.0 * values.var(ddof=1) * log_term / values.size) + 7.0 * log_term / (3.0 * (values.size - 1))
    return values.mean() - slack


def drawn_shifts(E, rng, draws):
    """|E Phi|^2 + |S E|^2 + |S' E T'|^2/4 for Gaussian sketches of sizes 3, 5 and (4, 6)."""
    m, n = E.shape

    def sketch(size, side):
        return rng.standard_normal((draws, size, side)) / math.sqrt(size)

    total = np.square(sketch(3, n) @ E.T).sum((1, 2)) + np.square(sketch(5, m) @ E).sum((1, 2))
    return total + 0.25 * np.square(sketch(4, m) @ E @ sketch(6, n).transpose(0, 2, 1)).sum((1, 2))


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_drawn_sketches_stay_within_the_budget_and_with_less_noise_do_not(rank):
    rng, budget = np.random.default_rng(), Budget(1.0, 0.02)
    parts = [chi(3), chi(5), product(4, 6, 0.25)]
    noise = calibrate_sketch(budget, parts)
    E = np.linalg.qr(rng.standard_normal((6, rank)))[0] @ np.linalg.qr(rng.standard_normal((5, rank)))[0].T
    squares = drawn_shifts(E / np.linalg.norm(E), rng, 200_000)
    assert least_mean(plain_curve(1.0, squares / noise**2)) <= budget.delta
    if rank == 1:
        assert least_mean(plain_curve(1.0, squares / (0.9 * noise) ** 2)) > budget.delta
    small = calibrate_sketch(Budget(1.0, 1e-6), parts)
    assert least_mean(plain_curve(1.0, squares / small**2)) <= 1e-6
    assert least_mean(plain_curve(1.0, squares / (small / 2) ** 2)) > 1e-6


# Spectra.

SPECTRA = [[1.0], [0.99, 0.01], [0.9, 0.1], [0.5, 0.5], [0.4, 0.3, 0.3]]


@pytest.mark.parametrize("size", [2, 32])
@pytest.mark.parametrize(("epsilon", "noise"), [(0.1, 30.0), (1.0, 5.0), (8.0, 1.5)])
def test_rank_one_is_the_worst_spectrum(size, epsilon, noise):
    values = []
    for spectrum in SPECTRA:
        points, masses = law([chi(size, weight) for weight in spectrum], panels=20)
        values.append(float(masses @ plain_curve(epsilon, points / noise**2)))
    assert values == sorted(values, reverse=True) and values[1] < values[0]
    assert values[0] <= sketched_delta([chi(size)], noise, epsilon)


def test_where_many_directions_are_worse_than_one_they_are_covered():
    """At a large delta the curve is concave, and the flattest spectrum, whose shift is certain, is the worst."""
    points, masses = law([chi(2)])
    rank_one, flat = float(masses @ plain_curve(0.1, points)), float(plain_curve(0.1, 1.0))
    assert rank_one < 0.9 * flat
    assert flat <= sketched_delta([chi(2)], 1.0, 0.1) <= flat * (1.0 + 1e-8)


@given(st.floats(0.0, 30.0), st.floats(-1.0, 2.0), st.integers(1, 100), st.floats(0.05, 0.99))
@settings(deadline=None, max_examples=40)
def test_bound_is_monotone(epsilon, exponent, size, smaller):
    noise = 10.0**exponent
    for make in (chi, signs):
        value = sketched_delta([make(size), fixed(0.1)], noise, epsilon)
        upper = value * (1.0 + 1e-8) + 1e-30  # tails that are cut off weigh less
        assert sketched_delta([make(size), fixed(0.1)], noise / smaller, epsilon) <= upper
        assert sketched_delta([make(size), fixed(0.1)], noise, epsilon / smaller) <= upper
        assert sketched_delta([make(size, smaller), fixed(0.1)], noise, epsilon) <= upper
        assert sketched_delta([make(2 * size), fixed(0.1)], noise, epsilon) <= upper
        assert float(gaussian_delta(epsilon, math.sqrt(1.1) / noise)) <= upper  # a shift that is certain


# Signs: every outcome of them, so that no draw is left to chance.


def all_signs(count):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=count)))


def unit_columns(kind, rng, n):
    """The part of a sketch that is not signs: columns of norm 1, one matrix for each block of signs."""
    if kind == "sparse":  # two blocks with one place a column
        return [np.eye(3)[:, rng.integers(3, size=n)] for _ in range(2)]
    transform = hadamard(8)[rng.choice(8, 3, replace=False)] / math.sqrt(3)
    inputs = np.arange(n) if kind == "hadamard" else rng.integers(8, size=n)
    return [(transform * rng.choice([-1.0, 1.0], 8))[:, inputs]]


def enumerated_shifts(kind, E, rng):
    """|R(E)|^2 for all signs, given the rest of the sketch; all of them are as likely."""
    blocks = unit_columns(kind, rng, len(E))
    each = [np.square(block @ (all_signs(len(E))[:, :, None] * E)).sum((1, 2)) for block in blocks]
    return np.add.outer(*each).ravel() / 2.0 if len(each) == 2 else each[0]


@pytest.mark.parametrize(("kind", "size"), [("sparse", 2), ("hadamard", 1), ("counted hadamard", 1)])
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_signs_have_the_moments_and_the_profile(kind, size, rank):
    rng = np.random.default_rng()
    for _ in range(5):
        E = rng.standard_normal((5, rank)) @ rng.standard_normal((rank, 4))
        squares = enumerated_shifts(kind, E / np.linalg.norm(E), rng)
        for rate in size / 2.0 * np.array([0.01, 0.3, 0.7, 0.95]):
            assert np.exp(rate * squares).mean() <= (1.0 - 2.0 * rate / size) ** (-size / 2.0)
        for epsilon, noise in itertools.product((0.1, 1.0, 8.0), (0.5, 3.0, 20.0)):
            truth = plain_curve(epsilon, np.maximum(squares, 1e-12) / noise**2).mean()
            assert truth <= sketched_delta([signs(size)], noise, epsilon)


@pytest.mark.parametrize("kind", ["sparse", "hadamard", "counted hadamard"])
def test_what_unit_columns_fix_does_not_depend_on_the_draw(kind):
    """One entry, and one row sketched along the other side, move by their norm; any change by at most its L1 norm."""
    rng = np.random.default_rng()
    x, i = rng.standard_normal(4), int(rng.integers(5))
    row = np.outer(np.eye(5)[i], x)
    np.testing.assert_allclose(enumerated_shifts(kind, row, rng), x @ x, rtol=1e-12)
    E = rng.standard_normal((5, 4))
    for left, right in zip(unit_columns(kind, rng, 5), unit_columns(kind, rng, 4), strict=True):
        for change in (left @ E, E @ right.T, left @ E @ right.T):
            assert np.linalg.norm(change) <= np.abs(E).sum() * (1.0 + 1e-12)
        np.testing.assert_allclose(np.linalg.norm(left @ row @ right.T), np.linalg.norm(right @ x), rtol=1e-12)


@pytest.mark.parametrize("rounding", [0.01, 0.2])
def test_rounded_operators(rounding):
    """A sketch whose norm is off by a part `rounding`: a larger weight and a fixed part, or a larger weight alone."""
    (points, masses), (a, b) = law([chi(5)]), law([product(4, 6)], panels=40)
    for epsilon, noise in ((0.3, 12.0), (1.0, 6.0), (8.0, 1.2)):
        truth = float(masses @ plain_curve(epsilon, (np.sqrt(points) + rounding) ** 2 / noise**2))
        split = sketched_delta([chi(5, 1 + rounding), fixed(rounding * (1 + rounding))], noise, epsilon)
        assert truth <= split <= sketched_delta([chi(5, (1 + rounding) ** 2)], noise, epsilon) * (1 + 1e-4)
        (first, p), (second, q) = nodes(4, 40), nodes(6, 40)
        both = (1 + rounding) ** 2 * np.multiply.outer(first + rounding, second + rounding)
        truth = float(p @ plain_curve(epsilon, both / noise**2) @ q)
        assert truth <= sketched_delta([product(4, 6, (1 + rounding) ** 4)], noise, epsilon)
        assert float(b @ plain_curve(epsilon, a / noise**2)) < truth


# One sketch, several releases.


@pytest.mark.parametrize("size", [2, 8, 32])
@pytest.mark.parametrize("count", [2, 4, 16])
def test_releases_of_one_sketch_are_one_release_with_less_noise(size, count):
    """Composing their events as if each had its own sketch claims a delta that is too small, by 2 to 200 000 times."""
    budget, parts = Budget(1.0, 1e-6), [chi(size)]
    noise = calibrate_sketch(budget, parts) * math.sqrt(count)
    points, masses = law(parts)
    truth = float(masses @ plain_curve(1.0, points * sum(1.0 / x**2 for x in [noise] * count)))
    assert truth <= sketched_delta(parts, repeated_noise([noise] * count), 1.0) <= 1.01 * truth
    composed = accountant.delta(Repeated(sketched_event(parts, noise, 1.0), count), 1.0)
    assert composed < 0.45 * truth


def test_releases_of_one_sketch_with_unequal_noise():
    parts, noises = [chi(8)], [6.0, 12.0]
    points, masses = law(parts)
    truth = float(masses @ plain_curve(1.0, points * sum(1.0 / noise**2 for noise in noises)))
    assert truth <= sketched_delta(parts, repeated_noise(noises), 1.0) <= 1.01 * truth
    assert accountant.delta(Composed(sketched_event(parts, noise, 1.0) for noise in noises), 1.0) < 0.6 * truth


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=5))
def test_noise_of_repetitions_is_rounded_down(noises):
    total = sum(1 / Fraction(noise) ** 2 for noise in noises)
    one = repeated_noise(iter(noises))
    assert Fraction(one) ** 2 * total <= 1 < Fraction(math.nextafter(one, math.inf)) ** 2 * total


def test_changes_that_differ_between_releases_are_covered():
    """Two looks at a stream between which the change turned: |R(E1)|^2 and |R(E2)|^2, each of its own direction."""
    for turn in (0.0, 0.3, 1.0):
        rng = np.random.default_rng()
        first = rng.standard_normal((100_000, 4))
        second = math.sqrt(1.0 - turn) * first + math.sqrt(turn) * rng.standard_normal((100_000, 4))
        squares = (np.square(first).sum(1) + np.square(second).sum(1)) / 4.0
        lower = least_mean(plain_curve(1.0, squares / 2.0**2))
        assert lower <= sketched_delta([chi(4)], repeated_noise([2.0, 2.0]), 1.0)


# Events.

ALL = {
    **FAMILIES,
    "signs": [signs(4)],
    "signs beside others": [fixed(), signs(2, 0.3), chi(40)],
    "three": [chi(40), chi(40), product(100, 100, 0.25)],
}


@pytest.mark.parametrize("family", ALL)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-3), (1.0, 1e-6), (50.0, 1e-12)])
def test_accountant_gives_back_the_bound(family, epsilon, delta):
    parts = ALL[family]
    noise = calibrate_sketch(Budget(epsilon, delta), parts)
    event = sketched_event(parts, noise, epsilon)
    assert isinstance(event, Mixture) and len(event.epsilons) <= 200 and epsilon in event.epsilons
    bound = sketched_delta(parts, noise, epsilon)
    assert accountant.delta(event, epsilon) <= bound * (1.0 + 1e-9)
    assert event.deltas[-1] < 1e-25 and min(event.deltas) > 0.0
    assert from_dict(to_dict(event)) == event
    for other in np.array([0.13, 0.77, 1.31]) * epsilon:
        # Elsewhere the table costs some percent of epsilon at most.
        assert accountant.epsilon(event, sketched_delta(parts, noise, float(other))) <= 1.03 * other


def test_a_narrow_law_is_accounted_for_like_a_gaussian_release():
    """Neither the table nor its composition loses more than some parts in a thousand."""
    parts = [chi(10**6)]
    event = sketched_event(parts, 5.0, 1.0)
    for count in (1, 2, 10, 100):
        ours, exact = (accountant.epsilon(Repeated(one, count), 1e-6) for one in (event, Gaussian(5.0)))
        assert exact <= ours <= 1.003 * exact


def test_fixed_parts_are_one_gaussian_release():
    event = sketched_event([fixed(2.0), fixed(0.25)], 3.0, 1.0)
    assert event == Gaussian(2.0)
    event = sketched_event([fixed(0.1), fixed(0.2)], 3.0, 1.0)
    weights = Fraction(0.1) + Fraction(0.2)
    assert Fraction(event.noise_multiplier) ** 2 * weights <= 9
    assert Fraction(math.nextafter(event.noise_multiplier, math.inf)) ** 2 * weights > 9
    eps = np.array([0.0, 0.5, 3.0])
    np.testing.assert_allclose(sketched_delta([fixed(2.0)], 3.0, eps), gaussian_delta(eps, math.sqrt(2) / 3), rtol=1e-8)


@pytest.mark.parametrize("parts", ALL.values(), ids=ALL)
def test_epsilons_of_both_signs_in_one_array(parts):
    eps = np.array([-3.0, -0.2, 0.0, 0.2, 3.0])
    deltas = sketched_delta(parts, 2.0, eps)
    assert deltas.tolist() == [sketched_delta(parts, 2.0, e) for e in eps.tolist()]
    for e, below, above in zip(eps[3:], deltas[1::-1], deltas[3:], strict=True):
        assert below == pytest.approx(1.0 - math.exp(-e) + math.exp(-e) * above, rel=1e-12)


def test_delta_is_never_claimed_to_be_zero():
    for parts in ([fixed()], [chi(32)], [signs(4)], [product(50, 50)]):
        for epsilon, noise in ((1e3, 1.0), (1e300, 1.0), (50.0, 1e5), (1.0, 1e300)):
            assert 0.0 < sketched_delta(parts, noise, epsilon) < 1e-20


def test_extreme_noise_is_counted_on_the_private_side():
    parts = [chi(32, 4.0)]
    assert sketched_delta(parts, 1.9 * LEAST_NOISE, 1e6) == 1.0
    assert sketched_event(parts, 1.9 * LEAST_NOISE, 1.0) == NonPrivate()
    assert sketched_delta(parts, 1e9 * MOST_NOISE, 0.0) == sketched_delta(parts, 2.0 * MOST_NOISE, 0.0) > 0.0
    assert sketched_event(parts, 1e200, 1.0) == sketched_event(parts, 2.0 * MOST_NOISE, 1.0)


# Calibration.


@given(
    st.sampled_from(["chi", "pair", "signs", "beside", "product"]),
    st.integers(2, 10**5),
    st.floats(-2.0, 1.7),
    st.floats(-12.0, -2.0),
)
@settings(deadline=None, max_examples=40)
def test_every_budget_is_met_and_tight(kind, size, log_epsilon, log_delta):
    parts = {
        "chi": [chi(size)],
        "pair": [chi(size), chi(2, 0.5)],
        "signs": [signs(size)],
        "beside": [fixed(3.0), signs(size)],
        "product": [product(size, 5)],
    }[kind]
    budget = Budget(10.0**log_epsilon, 10.0**log_delta)
    noise = calibrate_sketch(budget, iter(parts))
    event = sketched_event(parts, noise, budget.epsilon)
    assert accountant.delta(event, budget.epsilon) <= budget.delta
    assert accountant.epsilon(event, budget.delta) <= budget.epsilon
    less = sketched_event(parts, noise * (1.0 - 2e-8), budget.epsilon)
    assert accountant.delta(less, budget.epsilon) > budget.delta * (1.0 - 4e-9)
    assert noise >= calibrate(budget).noise_multiplier * math.sqrt(sum(part.weight for part in parts)) * (1.0 - 1e-8)


def test_event_is_checked_once_more(monkeypatch):
    exact = sketched._smallest
    monkeypatch.setattr(sketched, "_smallest", lambda excess, passing: exact(excess, passing) * (1.0 - 1e-6))
    budget, parts = Budget(1.0625, 1e-6), [chi(9)]  # a budget that nobody asked for before
    event = sketched_event(parts, calibrate_sketch(budget, parts), budget.epsilon)
    assert accountant.delta(event, budget.epsilon) <= budget.delta
    assert accountant.epsilon(event, budget.delta) <= budget.epsilon


def test_weights_are_squared_scales():
    budget = Budget(1.0, 1e-6)
    for parts in ([chi(10)], [signs(3)], [product(9, 4)], [fixed()]):
        scaled = [Shift(part.law, 1e12 * part.weight, part.sizes) for part in parts]
        assert calibrate_sketch(budget, scaled) == pytest.approx(1e6 * calibrate_sketch(budget, parts), rel=1e-8)


def test_fixed_parts_need_the_noise_of_a_gaussian_release():
    for weights in ([1.0], [2.0, 0.3], [1e8]):
        noise = calibrate_sketch(Budget(1.0, 1e-6), [fixed(weight) for weight in weights])
        unit = calibrate(Budget(1.0, 1e-6)).noise_multiplier
        assert noise == pytest.approx(unit * math.sqrt(sum(weights)), rel=1e-12)
        event = sketched_event([fixed(weight) for weight in weights], noise, 1.0)
        assert accountant.epsilon(event, 1e-6) <= 1.0 and accountant.delta(event, 1.0) <= 1e-6


# Refusals.


@pytest.mark.parametrize("parts", [[chi(4)], [fixed()], [signs(2)]])
def test_delta_zero_is_refused(parts):
    message = r"^delta of calibrate_sketch must be > 0, because only pure releases meet delta = 0; got 0\.0\.$"
    with pytest.raises(InvalidParameter, match=message):
        calibrate_sketch(Budget(1.0), parts)


def test_a_budget_that_no_noise_meets_is_refused():
    with pytest.raises(InvalidParameter, match=r"^epsilon of calibrate_sketch must be so large that some amount"):
        calibrate_sketch(Budget(1e-9, 1e-9), [chi(4)])


@pytest.mark.parametrize("call", [lambda parts: sketched_delta(parts, 1.0, 1.0), lambda p: sketched_event(p, 1.0, 1.0),
                                  lambda parts: calibrate_sketch(Budget(1.0, 1e-6), parts)])  # fmt: skip
def test_parts_without_a_bound_are_refused(call):
    with pytest.raises(InvalidParameter, match=r"^shifts of .* must be without 'product' beside 'signs'"):
        call([signs(4), product(4, 4)])
    for parts in ([], [1.0], chi(4), None):
        with pytest.raises(InvalidParameter, match=r"^shifts of .* must be one Shift or more"):
            call(parts)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("gauss", 1.0), "law"),
        ((None, 1.0), "law"),
        (("fixed", 0.0), "weight"),
        (("fixed", math.inf), "weight"),
        (("fixed", 1.0, (3,)), "sizes"),
        (("chi_square", 1.0), "sizes"),
        (("chi_square", 1.0, (0,)), "sizes"),
        (("chi_square", 1.0, (2.5,)), "sizes"),
        (("signs", 1.0, 4), "sizes"),
        (("product", 1.0, (4,)), "sizes"),
    ],
)
def test_a_part_is_checked(arguments, name):
    with pytest.raises(InvalidParameter, match=f"^{name} of Shift must be"):
        Shift(*arguments)


def test_numbers_are_checked():
    for noise in (0.0, -1.0, math.nan, "1"):
        with pytest.raises(InvalidParameter, match=r"^noise_multiplier of sketched_delta must be"):
            sketched_delta([chi(4)], noise, 1.0)
        with pytest.raises(InvalidParameter, match=r"^noise_multipliers of repeated_noise must be"):
            repeated_noise([1.0, noise])
    for epsilon in (math.inf, math.nan, np.ones((2, 2))):
        with pytest.raises(InvalidParameter, match=r"^epsilon of sketched_delta must be"):
            sketched_delta([chi(4)], 1.0, epsilon)
    with pytest.raises(InvalidParameter, match=r"^epsilon of sketched_event must be"):
        sketched_event([chi(4)], 1.0, -1.0)
    with pytest.raises(InvalidParameter, match=r"^noise_multipliers of repeated_noise must be not empty"):
        repeated_noise([])
