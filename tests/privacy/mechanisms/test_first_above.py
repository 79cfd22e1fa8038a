"""The sparse vector from below: one-way counts, losses of worst pairs, exact law, noise, an audit, refusals."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushrank.evaluation.audit import epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.histogram import integer_histogram
from hushrank.privacy import accountant
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms import first_above
from hushrank.privacy.mechanisms.first_above import first_above_margin, first_above_scale, release_first_above
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, chi2_p_value, laplace_scale_p_value

RELATIONS = list(Neighbors)
EPSILONS = [0.1, 0.5, 1.0, 2.0, 4.0]


def chance_of_at_least(k, scale):
    """P(round(scale Laplace) >= k), without loss of digits in either tail."""
    tail = 0.5 * np.exp((0.5 - np.maximum(k, 1 - k)) / scale)  # of the integer at or beyond 1 - k or k
    return np.where(k >= 1, tail, 1.0 - tail)


def output_law(counts, threshold, threshold_scale, query_scale):
    """Probabilities of all grid points: a sum of positive terms over the noise of the threshold."""
    counts = np.asarray(counts)
    reach = math.ceil(40 * max(threshold_scale, query_scale) + np.abs(counts - threshold).max())
    t = np.arange(-reach, reach + 1)
    chances = np.where(
        t == 0, -np.expm1(-0.5 / threshold_scale), np.exp(-np.abs(t) / threshold_scale) * np.sinh(0.5 / threshold_scale)
    )
    needed = threshold + t[:, None] - counts
    above, below = chance_of_at_least(needed, query_scale), chance_of_at_least(1 - needed, query_scale)
    not_yet = np.hstack([np.ones((len(t), 1)), np.cumprod(below, axis=1)])
    law = chances @ (not_yet[:, :-1] * above)
    law[-1] += chances @ not_yet[:, -1]  # none
    return law


def losses(counts, others, threshold, epsilon, *, query_factor=1.0):
    """Log ratios of the probabilities of all outputs at the noise of Pure(epsilon)."""
    scale = 2.0 / epsilon
    laws = [output_law(people, threshold, scale, query_factor * scale) for people in (counts, others)]
    return np.log(laws[0] / laws[1])


def counts_of(histogram):
    return np.cumsum(histogram)[:-1]


# 1. Sensitivity

values = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, math.nan, math.inf, -math.inf]), st.floats(-2, 4))


@given(st.lists(values, max_size=8), values, values)
def test_one_person_moves_all_counts_one_way_by_at_most_one(others, value, new_value):
    """The premise of the proof: two people who moved at once would break it, one cannot."""
    grid = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    without, before, after = (
        counts_of(integer_histogram(np.array(people, float), grid))
        for people in (others, [*others, value], [*others, new_value])
    )
    for change in (after - before, before - without, without - before):
        assert set(change) <= {0, 1} or set(change) <= {0, -1}
    assert set(before - without) <= {0, 1}
    assert np.all(np.diff(before - without) >= 0)  # who comes raises a count and all after it (Lemma 3)


def test_the_law_of_the_outputs_is_right_to_fifty_digits():
    """Against sums over both noises, in other formulas; and it is a law."""
    counts, threshold, scale = [0, 1, 1, 3], 2, 1.5
    with mpmath.workdps(50):
        steps = range(-250, 251)
        edge = lambda x: mpmath.sign(x) * (1 - mpmath.exp(-abs(x) / mpmath.mpf(scale))) / 2  # noqa: E731
        chance = {k: edge(k + mpmath.mpf(1) / 2) - edge(k - mpmath.mpf(1) / 2) for k in steps}
        expected = [mpmath.mpf(0)] * 4
        for t in range(-90, 91):
            not_yet = chance[t]
            for j, count in enumerate(counts):
                reached = mpmath.fsum(chance[k] for k in steps if count + k >= threshold + t)
                expected[j] += not_yet * reached
                not_yet *= 1 - reached
            expected[3] += not_yet
    computed = output_law(counts, threshold, scale, scale)
    assert computed == pytest.approx([float(p) for p in expected], rel=1e-12)
    assert computed.sum() == pytest.approx(1.0, rel=1e-12)


def assert_private(low, high, threshold, epsilon, most=1.0):
    """Counts `high` are `low`, some of them raised by one: rising costs at most epsilon, falling half of it."""
    loss = losses(low, high, threshold, epsilon)
    assert loss.max() <= most * epsilon + 1e-9 and loss.min() >= -epsilon / 2 - 1e-9


@given(st.data(), st.integers(2, 64), st.sampled_from(EPSILONS), st.integers(-20, 40))
@settings(deadline=None)
def test_no_pair_of_neighbors_exceeds_epsilon(data, n_grid, epsilon, threshold):
    cells = st.integers(0, n_grid)
    histogram = np.bincount(data.draw(st.lists(cells, max_size=40)), minlength=n_grid + 1)
    old, new = data.draw(cells), data.draw(cells)
    person = np.eye(n_grid + 1, dtype=int)
    without, low, high = (counts_of(histogram + person[cell]) for cell in (n_grid, max(old, new), min(old, new)))
    assert_private(low, high, threshold, epsilon)
    assert_private(without, high, threshold, epsilon, most=0.5)  # Lemma 3: who comes or goes costs half


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n_grid", [2, 3, 8, 64])
def test_everybody_who_moves_to_the_first_point_is_hidden(n_grid, epsilon):
    """The pairs with most counts that move, at all thresholds around them."""
    for cell in {*range(0, n_grid + 1, 1 + n_grid // 16), n_grid - 2, n_grid - 1, n_grid}:
        low = (np.arange(n_grid) >= cell).astype(int)
        for threshold in (-8, 0, 1, 8):
            assert_private(low, np.ones(n_grid, int), threshold, epsilon)


def worst_pair(n_grid):
    """Counts 0...0, 1, 1 and 1...1: one person comes down from the point before the last.

    The last point is also the answer where no count is large enough, for which the noise of the threshold alone pays.
    """
    low = np.zeros(n_grid, int)
    low[-2:] = 1
    return low, np.ones(n_grid, int)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_worst_pair_attains_epsilon_so_nothing_can_be_saved(epsilon):
    loss = losses(*worst_pair(64), 0, epsilon)
    assert loss.argmax() == 62 and 0.98 * epsilon < loss[62] <= epsilon + 1e-9
    assert losses(*worst_pair(3), 0, epsilon).max() < 0.9 * epsilon  # many points it takes


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_halved_noise_of_the_counts_would_break_the_claim(epsilon):
    """Half of epsilon for the threshold and all of it for the count."""
    most = losses(*worst_pair(64), 0, epsilon, query_factor=0.5).max()
    assert 1.2 * epsilon < most <= 1.5 * epsilon + 1e-9


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_counts_that_move_both_ways_would_break_the_claim(epsilon):
    """The threshold moves by one against those that rise, so that one that falls is two off."""
    low, high = worst_pair(64)
    high[-2:] = 0
    most = losses(low, high, 0, epsilon).max()
    assert 1.4 * epsilon < most <= 1.5 * epsilon + 1e-9


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_half_of_epsilon_is_attained_by_somebody_who_comes(epsilon):
    loss = losses(np.zeros(64, int), np.ones(64, int), 0, epsilon)
    assert 0.49 * epsilon < loss.max() <= epsilon / 2 + 1e-9


@given(st.floats(1e-9, 1e9))
def test_the_scale_is_two_over_epsilon_rounded_up(epsilon):
    scale = Fraction(first_above_scale(Pure(epsilon)))
    assert 2 / Fraction(epsilon) <= scale <= 2 / Fraction(epsilon) * (1 + Fraction(1, 2**51))


# 2. Limit


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_without_noise_it_is_the_first_count_at_the_threshold(neighbors):
    grid = np.array([0.0, 1.0, 2.0, 5.0])
    histogram = np.array([2, 3, 0, 4, 9])  # counts 2, 5, 5, 9
    found = {
        threshold: release_first_above(histogram, grid, threshold, Pure(1e6), NoiseSource(), neighbors)
        for threshold in (-7, 0, 2, 3, 5, 6, 9, 10, 1000)
    }
    assert found == {-7: 0.0, 0: 0.0, 2: 0.0, 3: 1.0, 5: 1.0, 6: 5.0, 9: 5.0, 10: 5.0, 1000: 5.0}


def test_counts_and_thresholds_beyond_63_bits_do_not_wrap():
    grid, huge = np.array([0.0, 1.0, 2.0, 3.0]), np.array([2**62, 2**62, 2**62, 2**62, 0])
    thresholds = [2**62 - 10**6, 2**62 + 10**6, 2**63 + 10**6, 3 * 2**62 + 10**6, 2**70]
    found = [release_first_above(huge, grid, threshold, Pure(1.0), NoiseSource()) for threshold in thresholds]
    assert found == [0.0, 1.0, 2.0, 3.0, 3.0]
    assert release_first_above(huge, grid, np.int64(-(2**63)), Pure(1.0), NoiseSource()) == 0.0


# 3. Law and noise

STAIRS = np.array([0, 2, 2, 2, 2, 2, 2, 2, 5])  # counts 0, 2, ..., 14


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_outputs_have_the_computed_law_and_no_other(neighbors):
    epsilon, threshold, trials, grid, noise = 0.8, 8, 10_000, np.arange(8.0), NoiseSource()
    drawn = [
        int(release_first_above(STAIRS, grid, threshold, Pure(epsilon), noise, neighbors)) for _ in range(trials)
    ]  # fmt: skip
    observed, scale = np.bincount(drawn, minlength=8), 2.0 / epsilon
    assert_plausible(chi2_p_value(observed, output_law(counts_of(STAIRS), threshold, scale, scale)))
    for wrong in (0.7, 1.3):
        for factors in ((wrong, wrong), (wrong, 1.0), (1.0, wrong)):  # both noises, the threshold's, the counts'
            law = output_law(counts_of(STAIRS), threshold, *(factor * scale for factor in factors))
            assert chi2_p_value(observed, law) < FALSE_ALARM


def test_the_threshold_and_every_count_have_noise_of_their_own(monkeypatch):
    """All of them are drawn, also those after the answer."""
    drawn = []
    monkeypatch.setattr(first_above, "_first_above", lambda counts, wanted, one, many: drawn.append([one, *many]) or 0)
    noise, n_grid, epsilon, trials = NoiseSource(), 5, 1e-6, 3000
    for _ in range(trials):
        release_first_above(np.ones(n_grid + 1, np.int64), np.arange(float(n_grid)), 0, Pure(epsilon), noise)
    noises = np.array(drawn, float)
    assert noises.shape == (trials, n_grid + 1) and len(set(noises.ravel())) > 0.99 * noises.size
    for one, other in ((noises[:, :1].repeat(n_grid, 1), noises[:, 1:]), (noises[:, 1:-1], noises[:, 2:])):
        assert_plausible(stats.pearsonr(one.ravel(), other.ravel()).pvalue)
    for sample in (noises[:, 0], noises[:, 1:]):
        assert_plausible(laplace_scale_p_value(sample, 2 / epsilon))
        for wrong in (0.7, 1.3):
            assert laplace_scale_p_value(sample, wrong * 2 / epsilon) < FALSE_ALARM


def test_search_stops_at_the_first_noisy_count_that_reaches_the_noisy_threshold():
    counts = [0, 10, 20, 30]
    assert first_above._first_above(counts, 15, 0, [0, 0, 0, 0]) == 2
    assert first_above._first_above(counts, 15, 5, [0, 0, 0, 0]) == 2  # it is reached, not exceeded
    assert first_above._first_above(counts, 15, 6, [0, 0, 0, 0]) == 3
    assert first_above._first_above(counts, 15, 0, [0, 5, -6, 0]) == 1
    assert first_above._first_above(counts, 15, -15, [0, 0, 0, 0]) == 0
    assert first_above._first_above(counts, 15, 90, [0, 0, 0, 0]) == 3  # none


def early(n_below, margin, epsilon):
    """Probability that one of many points by more than the margin below the threshold is released."""
    counts = np.append(np.full(n_below, -math.floor(margin) - 1), 0)
    return output_law(counts, 0, 2.0 / epsilon, 2.0 / epsilon)[:-1].sum()


@pytest.mark.parametrize("failure", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_point_below_the_margin_is_released_about_as_often_as_stated(epsilon, failure):
    for n_grid in (2, 64, 500):
        margin = first_above_margin(Pure(epsilon), n_grid, failure)
        assert margin == pytest.approx(2.0 / epsilon * (math.log(n_grid) + math.log(1.0 / failure)), rel=1e-12)
        chance = failure * math.exp(epsilon / 2)
        assert early(n_grid, margin, epsilon) <= chance * (3 / 8 + math.log(2 / chance) / 4)
    assert early(n_grid, 0.5 * margin, epsilon) > 2 * failure  # half the margin would not do


# 4. Planted data and identities


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_end_of_planted_data_is_found_within_the_margin_and_not_exactly(neighbors):
    grid, n = np.arange(1, 1025) / 1024, 20_000
    histogram = integer_histogram(np.random.default_rng(0).random(n), grid)
    noise, event, level = NoiseSource(), Pure(0.5), int(0.9 * n)
    found = [release_first_above(histogram, grid, level, event, noise, neighbors) for _ in range(50)]
    # Twice the margin, for the noise of the counts and of the threshold; then a grid step, and the sample of values.
    off = 2 * first_above_margin(event, grid.size, 1e-12) / n + 2 / 1024 + 0.01
    assert 0 < np.abs(np.array(found) - 0.9).max() < off and len(set(found)) > 1


def test_one_event_is_executed_and_costs_epsilon_whatever_the_grid():
    for n_grid in (2, 500):
        noise = NoiseSource()
        release_first_above(np.ones(n_grid + 1, np.int64), np.arange(float(n_grid)), 3, Pure(0.7), noise, "add_remove")
        assert noise.executed == (Pure(0.7),)
        assert accountant.epsilon(Composed(noise.executed)) == 0.7
        assert noise.guarantee(Budget(1.0, neighbors="add_remove")).numerics == "exact"


def test_seeds_repeat_the_answer():
    grid, histogram = np.arange(200.0), np.ones(201, np.int64)
    answers = [
        [release_first_above(histogram, grid, 100, Pure(0.2), NoiseSource(seed=seed)) for seed in range(20)]
        for _ in range(2)
    ]
    assert answers[0] == answers[1] and len(set(answers[0])) > 5


def test_the_histogram_stays_as_it_was():
    histogram = np.arange(5)
    release_first_above(histogram, np.arange(4.0), 3, Pure(1.0), NoiseSource())
    assert histogram.tolist() == [0, 1, 2, 3, 4]


# 5. Refusals

GOOD = {
    "histogram": np.ones(3, np.int64),
    "grid": np.array([0.0, 1.0]),
    "threshold": 2,
    "event": Pure(1.0),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("histogram", np.ones(3)),
        ("histogram", np.ones(4, np.int64)),
        ("histogram", np.ones((3, 1), np.int64)),
        ("grid", np.array([1.0, 1.0])),
        ("grid", np.array([0.0, np.nan])),
        ("grid", np.array([0.0])),
        ("threshold", 1.5),
        ("threshold", True),
        ("threshold", None),
        ("event", Gaussian(1.0)),
        ("event", Pure(1.0, bounded_range=True)),
        ("event", Repeated(Pure(1.0), 1)),
        ("event", Composed([])),
        ("event", Pure(1e-300)),
    ],
)
def test_bad_input_is_refused_and_nothing_is_logged(name, value):
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=f"^{name} of release_first_above must be"):
        release_first_above(**{**GOOD, name: value}, noise=noise)
    assert noise.executed == ()


def test_an_unknown_relation_is_refused_and_nothing_is_logged():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=r"^neighbors of NoiseSource\.begin must be"):
        release_first_above(**GOOD, noise=noise, neighbors="twins")
    assert noise.executed == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: first_above_scale(Gaussian(1.0)), r"^event of first_above_scale must be Pure\(epsilon\)"),
        (lambda: first_above_margin(Pure(1.0, True), 9), r"^event of first_above_margin must be Pure\(epsilon\)"),
        (lambda: first_above_margin(Pure(1.0), 1), r"^n_grid of first_above_margin must be an integer >= 2"),
        (lambda: first_above_margin(Pure(1.0), 9, 0.0), r"^failure of first_above_margin must be a finite float > 0"),
        (lambda: first_above_margin(Pure(1.0), 9, 1.0), r"^failure of first_above_margin must be a finite float > 0"),
    ],
)
def test_public_numbers_of_nothing_are_refused(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()


# 6. Audit


@pytest.mark.audit
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_audit_notices_halved_noise(factor, monkeypatch):
    """One person comes down to the first of six points; the fifth is then released less often, by nearly e^epsilon."""
    exact = first_above.scale_for
    monkeypatch.setattr(first_above, "scale_for", lambda *a: factor * exact(*a))
    trials, grid, noise = 60_000, np.arange(6.0), NoiseSource()
    before, after = np.array([0, 0, 0, 0, 1, 0, 0]), np.array([1, 0, 0, 0, 0, 0, 0])
    hits = [
        sum(release_first_above(people, grid, 0, Pure(1.0), noise) == 4.0 for _ in range(trials))
        for people in (before, after)
    ]  # fmt: skip
    bound = epsilon_lower_bound(hits[0], trials, hits[1], trials, confidence=1 - FALSE_ALARM)
    assert bound > 1.15 if factor < 1 else 0.4 < bound < 1.0
