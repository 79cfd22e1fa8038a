"""The exponential mechanism on a finite list: range of scores, losses of worst pairs, exact law, sampler, refusals."""

import dataclasses
import itertools
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.evaluation.audit import epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms import selection
from hushrank.privacy.mechanisms.selection import (
    SCORE_BITS,
    coin_bounds,
    release_choice,
    score_width,
    selection_lattice,
)
from hushrank.privacy.mechanisms.vector import vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, chi2_p_value, plant

RELATIONS = list(Neighbors)
EPSILONS = (0.01, 0.7, 3.0)


def lattice_for(neighbors, epsilon=1.0, **terms):
    return selection_lattice(1.5, Pure(epsilon, bounded_range=True), neighbors, **terms)


def exact_law(scores, rate):
    """Probabilities of the formula, to fifty digits."""
    with mpmath.workdps(50):
        exponents = [mpmath.mpf(rate.numerator) * int(score) / rate.denominator for score in scores]
        weights = [mpmath.exp(exponent - max(exponents)) for exponent in exponents]
        return [weight / mpmath.fsum(weights) for weight in weights]


def losses(scores, others, rate):
    """Log ratios of the probabilities of all candidates, to fifty digits."""
    with mpmath.workdps(50):
        pairs = zip(exact_law(scores, rate), exact_law(others, rate), strict=True)
        return [mpmath.log(p / q) for p, q in pairs]


# 1. Sensitivity


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_width_is_the_worst_over_all_contributions(neighbors):
    bound = 3
    people = list(itertools.product(range(bound + 1), repeat=2))
    others = people if neighbors is Neighbors.REPLACE else [(0, 0)]
    changes = [[y - z for y, z in zip(one, other, strict=True)] for one in people for other in others]
    assert max(max(change) - min(change) for change in changes) == score_width(bound, neighbors)
    assert max(abs(x) for change in changes for x in change) == bound


@given(st.floats(1e-3, 100), st.sampled_from(RELATIONS), st.sampled_from([1, 10**3, 2**26, 2**40, 2**60]))
def test_the_rate_is_exactly_epsilon_over_the_width_and_sums_do_not_wrap(epsilon, neighbors, n_max):
    lattice = lattice_for(neighbors, epsilon, n_max=n_max)
    width = (2 if neighbors is Neighbors.REPLACE else 1) * lattice.integer_bound
    assert lattice.rate * width == Fraction(epsilon)
    assert n_max * lattice.integer_bound <= 2**62
    assert 1 <= lattice.integer_bound <= 2**SCORE_BITS
    assert lattice.unit * lattice.integer_bound == 1.5


def test_more_people_than_live_do_not_wrap_the_sums():
    assert lattice_for("add_remove").integer_bound * 8 * 10**9 < 2**63


# 2. Privacy: exact losses


def worst_loss(lattice):
    """Of a pair with nearly all mass on the first candidate, before and after, seen from the second one."""
    far, bound = int(50 / lattice.rate), lattice.integer_bound
    without = [far + bound, 0] if lattice.neighbors is Neighbors.REPLACE else [far, 0]
    return max(map(abs, losses(without, [far, bound], lattice.rate)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_pair_attains_epsilon(neighbors, epsilon):
    found = worst_loss(lattice_for(neighbors, epsilon))
    assert found <= epsilon and float(found) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_pair_attains_the_range_of_the_loss(neighbors):
    lattice = lattice_for(neighbors, 0.7)
    bound = lattice.integer_bound
    people = [np.array([bound, 0]), np.array([0, bound]) if neighbors is Neighbors.REPLACE else np.array([0, 0])]
    found = losses(*(10**10 + y for y in people), lattice.rate)
    assert float(max(found) - min(found)) == pytest.approx(0.7, rel=1e-12)
    assert min(found) <= 0 <= max(found)


@given(seed=st.integers(0, 10**6), neighbors=st.sampled_from(RELATIONS), epsilon=st.sampled_from(EPSILONS))
@settings(max_examples=60, deadline=None)
def test_no_pair_exceeds_epsilon_nor_its_range(seed, neighbors, epsilon):
    rng = np.random.default_rng(seed)
    lattice, m = lattice_for(neighbors, epsilon), int(rng.integers(2, 6))
    rest = rng.integers(0, 10 ** int(rng.integers(1, 13)), m)
    ends = np.array([0, lattice.integer_bound])
    one, other = (rng.choice(ends, m) if rng.random() < 0.5 else rng.integers(0, ends[1] + 1, m) for _ in range(2))
    if neighbors is Neighbors.ADD_REMOVE:
        other = 0 * other
    found = losses(rest + one, rest + other, lattice.rate)
    tiny = mpmath.mpf(10) ** -40
    assert max(map(abs, found)) <= Fraction(epsilon) + tiny
    assert max(found) - min(found) <= epsilon + tiny


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_twice_the_rate_is_refused_and_would_exceed_epsilon(neighbors):
    lattice = lattice_for(neighbors, 0.7)
    for wrong in (2 * lattice.rate, lattice.rate * (1 + Fraction(1, 2**200))):
        with pytest.raises(InvalidParameter, match=r"^rate of selection_lattice must be small enough for Pure"):
            dataclasses.replace(lattice, rate=wrong)
    assert float(worst_loss(plant(lattice, rate=2 * lattice.rate))) == pytest.approx(1.4, rel=1e-9)
    assert dataclasses.replace(lattice, rate=lattice.rate / 3).rate == lattice.rate / 3  # more private is allowed


def test_another_relation_or_event_needs_another_rate():
    lattice = lattice_for("add_remove")
    for changed in ({"neighbors": "replace"}, {"event": Pure(0.9, True)}, {"integer_bound": lattice.integer_bound - 1}):
        if "integer_bound" in changed:
            assert dataclasses.replace(lattice, **changed).rate == lattice.rate
        else:
            with pytest.raises(InvalidParameter, match="rate of selection_lattice must be small enough"):
                dataclasses.replace(lattice, **changed)


# 3. The law


SCORES = {
    "spread": np.array([0, 10**9, 2 * 10**9, 3 * 10**9, 10**9]),
    "equal": np.full(7, 5 * 10**9),
    "one far ahead": np.array([2**40, 0, 2**39, 2**40 - 10**9]),
    "one": np.array([3]),
}


def draw_many(scores, lattice, n):
    noise = NoiseSource()
    return np.bincount([release_choice(scores, lattice, noise) for _ in range(n)], minlength=len(scores))


@pytest.mark.parametrize("name", SCORES)
def test_draws_have_the_law(name):
    lattice = lattice_for("replace", 2.0)
    law = np.array(exact_law(SCORES[name], lattice.rate), float)
    counts = draw_many(SCORES[name], lattice, 6000)
    if np.count_nonzero(law * 6000 > 30) < 2:
        assert np.count_nonzero(counts) == 1 and counts[law.argmax()] == 6000
    else:
        assert_plausible(chi2_p_value(counts, law))


def test_the_rate_is_right_from_both_sides():
    lattice, scores = lattice_for("replace", 2.0), SCORES["spread"]
    counts = draw_many(scores, lattice, 6000)
    assert_plausible(chi2_p_value(counts, np.array(exact_law(scores, lattice.rate), float)))
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        assert chi2_p_value(counts, np.array(exact_law(scores, wrong * lattice.rate), float)) < FALSE_ALARM


@given(st.lists(st.fractions(0, 80, max_denominator=2**40), min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_words_that_decide_a_coin_decide_it_rightly_and_nearly_all_do(exponents):
    """The probabilities used are those of the formula: what is left open is less than 2^-58 of all coins."""
    low, high = coin_bounds(exponents)
    with mpmath.workdps(60):
        for t, below, above in zip(exponents, low.tolist(), high.tolist(), strict=True):
            exact = mpmath.mpf(2) ** 64 * mpmath.exp(-mpmath.mpf(t.numerator) / t.denominator)
            assert below <= exact <= above + 1 or t == 0
            assert above - below <= 64
    zero = coin_bounds([Fraction(0)])
    assert zero[0][0] >= 2**64 - 64 and zero[1][0] == 2**64 - 1  # never refused


class Script:
    """A stream that hands out chosen words: first a batch of proposals and coins, then single words."""

    def __init__(self, proposals, coins, words=()):
        self.proposals, self.coins, self.singles = proposals, coins, list(words)

    def words(self, n):
        size = n // 2
        assert len(self.proposals) <= size, "a second batch was not expected"
        # The rest of the batch is refused: its coins are the largest words.
        both = [
            [*self.proposals, *[0] * (size - len(self.proposals))],
            [*self.coins, *[2**64 - 1] * (size - len(self.coins))],
        ]
        self.proposals = [0] * (size + 1)
        return np.array(both, np.uint64).reshape(-1)

    def word(self):
        return self.singles.pop(0)


HALF = [0, -(2**20)]  # of which the second is accepted with probability exp(-1) at this rate
RATE = Fraction(1, 2**20)
with mpmath.workdps(60):
    _FALLS = mpmath.exp(-1) * 2**128
    COIN, SECOND = divmod(int(mpmath.floor(_FALLS)), 2**64)  # the first two words of exp(-1)


def test_the_first_accepted_proposal_is_taken():
    script = Script([1, 1, 0, 1], [COIN + 100, COIN - 100, 0, 0])
    assert selection._draw(np.array(HALF), RATE, script) == 1
    assert selection._draw(np.array(HALF), RATE, Script([1, 2, 1], [COIN + 100, 2**63, 0])) == 0


def test_a_coin_that_its_first_word_does_not_decide_draws_more():
    low, high = coin_bounds([Fraction(1)])
    assert low[0] <= COIN <= high[0]
    for shift, expected in ((-1, 1), (1, 0)):
        script = Script([1, 0], [COIN, 0], [SECOND + shift * 1000])
        assert selection._draw(np.array(HALF), RATE, script) == expected
        assert script.singles == []


def test_proposals_are_uniform_for_any_number_of_candidates():
    """Words that would favor small remainders are left out: 2^64 = 1 modulo 3, so one word is."""
    script = Script([2**64 - 1, 2**64 - 2], [0, 0])
    assert selection._draw(np.zeros(3, np.int64), RATE, script) == (2**64 - 2) % 3
    script = Script([2**64 - 1], [0])
    assert selection._draw(np.zeros(4, np.int64), RATE, script) == 3


def test_scores_at_the_ends_of_int64_do_not_wrap():
    scores = np.array([2**63 - 1, -(2**63), 0])
    assert draw_many(scores, lattice_for("replace"), 50).tolist() == [50, 0, 0]


@pytest.mark.parametrize("gap", [1, 2**30, 2**40, 2**60])
def test_thousands_of_candidates_are_drawn_from_at_any_gap(gap):
    scores = np.random.default_rng(3).integers(0, gap, 2000)
    chosen = release_choice(scores, lattice_for("replace"), NoiseSource())
    assert 0 <= chosen < 2000 and isinstance(chosen, int)


def test_a_seed_repeats_the_choice():
    scores = np.zeros(1000, np.int64)
    first, second = (release_choice(scores, lattice_for("replace"), NoiseSource(seed=4)) for _ in range(2))
    assert first == second


def test_the_event_is_logged_and_the_arithmetic_is_exact():
    noise, lattice = NoiseSource(), lattice_for("replace", 0.5)
    release_choice(np.arange(3), lattice, noise)
    assert noise.executed == (Pure(0.5, bounded_range=True),)
    given_ = noise.guarantee(Budget(0.5))
    assert given_.epsilon == 0.5 and given_.numerics == "exact"


def test_a_lattice_travels_to_other_engines():
    lattice = lattice_for("add_remove", 0.3)
    assert pickle.loads(pickle.dumps(lattice)) == lattice


# 4. Refusals


@pytest.mark.parametrize(
    "total",
    [np.zeros(3), np.zeros((2, 2), np.int64), np.array(["a"]), np.zeros(3, np.uint64), np.zeros(0, np.int64), 3],
)
def test_bad_totals_are_refused_and_nothing_is_logged(total):
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match=r"^total of release_choice must be"):
        release_choice(total, lattice_for("replace"), noise)
    assert noise.executed == ()


def test_the_lattice_of_another_mechanism_is_refused_and_nothing_logged():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="lattice of release_choice must be a SelectionLattice"):
        release_choice(np.zeros(3, np.int64), vector_lattice(1.0, Pure(1.0)), noise)
    assert noise.executed == ()


@pytest.mark.parametrize("event", [Gaussian(1.0), Composed([Pure(1.0)]), Repeated(Pure(1.0), 2), 1.0, None])
def test_events_that_are_not_pure_are_refused(event):
    with pytest.raises(
        InvalidParameter, match=r"^event of selection_lattice must be Pure\(epsilon, bounded_range=True"
    ):
        selection_lattice(1.0, event)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"event": Gaussian(1.0)}, "event"),
        ({"neighbors": "twins"}, "neighbors"),
        ({"range_bound": 0.0}, "range_bound"),
        ({"range_bound": math.nan}, "range_bound"),
        ({"range_bound": 1e-320}, "range_bound"),
        ({"range_bound": 1e300}, "range_bound"),
        ({"integer_bound": 0}, "integer_bound"),
        ({"integer_bound": -5}, "integer_bound"),
        ({"integer_bound": 2.0}, "integer_bound"),
        ({"integer_bound": 2**31}, "integer_bound"),
        ({"rate": 1e-12}, "rate"),
        ({"rate": Fraction(0)}, "rate"),
        ({"rate": Fraction(-1, 3)}, "rate"),
    ],
)
def test_a_lattice_made_by_hand_is_checked_as_well(changed, name):
    with pytest.raises(InvalidParameter, match=f"^{name} of selection_lattice must be"):
        dataclasses.replace(lattice_for("replace"), **changed)


def test_integers_of_numpy_and_relations_in_letters_are_settled():
    lattice = lattice_for(Neighbors.REPLACE)
    spelled = dataclasses.replace(lattice, neighbors="replace", integer_bound=np.int32(lattice.integer_bound))
    assert spelled == lattice and type(spelled.integer_bound) is int and spelled.neighbors is Neighbors.REPLACE
    assert score_width(5, "replace") == score_width(5, Neighbors.REPLACE)
    assert score_width(5, "add_remove") == score_width(5, Neighbors.ADD_REMOVE)


@pytest.mark.parametrize("n_max", [0, 2**61, 1.5])
def test_numbers_of_people_that_no_sum_can_hold_are_refused(n_max):
    with pytest.raises(InvalidParameter, match="n_max of selection_lattice must be an integer"):
        lattice_for("replace", n_max=n_max)


# 5. Audit


@pytest.mark.audit
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("factor", [1, 2])
def test_audit_notices_twice_the_rate(neighbors, factor):
    """A worst pair with so little mass on the second candidate that its probability moves by nearly e^epsilon."""
    trials, lattice = 60_000, lattice_for(neighbors, 1.0)
    planted = plant(lattice, rate=factor * lattice.rate)
    far, bound = int(3 / planted.rate), lattice.integer_bound
    without = [far + bound, 0] if neighbors is Neighbors.REPLACE else [far, 0]
    hits = [draw_many(np.array(scores), planted, trials)[1] for scores in ([far, bound], without)]
    found = epsilon_lower_bound(hits[0], trials, hits[1], trials, confidence=1 - FALSE_ALARM)
    assert found > 1.3 if factor > 1 else 0.6 < found < 1.0
