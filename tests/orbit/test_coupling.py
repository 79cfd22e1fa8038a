"""Coupling from the past: the updates, the use of the past, the law against three references, and what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit import coupling
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import mean_diagonal
from hushrank.privacy.noise.continuous import uniforms
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import diagonal, haar_moments, hotelling_p_value, moments_p_value, power_law
from support import FALSE_ALARM, assert_plausible

LAWS = {
    "general": power_law(6, 12.0, [1.0, 0.7, 0.2]),
    "projection": power_law(10, 30.0, [1.0, 1.0, 1.0]),
    "nearly tied levels": power_law(8, 25.0, [1.0, 0.5, 0.5 - 1e-9]),
    "full rank": power_law(5, 15.0, [1.0, 0.8, 0.8, 0.3, 0.1]),
    "concentrated": power_law(6, 4e7, [1.0, 1.0, 0.5]),
    "tied tilts": OrbitLaw([9.0, 9.0, 9.0, 2.0, 2.0, 0.0], [1.0, 0.6], is_complex=True),
}


def diagonals(law, n):
    stream = Keystream()
    return [diagonal(coupling.draw(law, stream).factor) for _ in range(n)]


def mean_p_value(law, n=600):
    return hotelling_p_value(diagonals(law, n), mean_diagonal(law))


# 1. Updates

UPDATES = {"quantile": 1, "candidates": 17, "one candidate": 2}
positive = st.floats(0.0, 10.0)
rates = st.one_of(st.just(0.0), st.floats(1e-300, 1e300), st.floats(0.01, 100.0))


@settings(deadline=None)
@given(
    st.sampled_from(sorted(UPDATES)), st.tuples(positive, positive, positive, positive), rates, st.integers(0, 2**32)
)
def test_updates_are_monotone_and_stay_inside(name, parts, rate, seed):
    lo = parts[0]
    lo_above, hi = lo + parts[1], lo + parts[2]
    hi_above = max(hi, lo_above) + parts[3]
    shared = np.random.default_rng(seed).uniform(size=UPDATES[name])
    value = coupling._update(lo, hi, rate, 50.0, shared)
    above = coupling._update(lo_above, hi_above, rate, 50.0, shared)
    assert lo <= value <= hi and lo_above <= above <= hi_above
    assert value <= above * (1 + 1e-14)  # the quantile is monotone up to rounding


@settings(deadline=None)
@given(st.sampled_from(sorted(UPDATES)), st.floats(1e-310, 1e300), rates)
def test_empty_intervals_give_their_lower_end(name, end, rate):
    u = np.full(UPDATES[name], 0.3)
    assert coupling._update(end, end, rate, 2 * end, u) == end
    assert coupling._update(end, np.nextafter(end, 0.0), rate, 2 * end, u) == end


@pytest.mark.parametrize("rate", [0.0, 1e-290, 1e-9, 1.0, 30.0])
@pytest.mark.parametrize("name", sorted(UPDATES))
def test_updates_have_the_law_of_the_site(name, rate):
    lo, hi = 0.4, 0.7
    u = uniforms((4000, UPDATES[name]), Keystream())
    values = np.array([coupling._update(lo, hi, rate, 1.5, row) for row in u])
    z = max(rate, 1e-9) * (hi - lo)
    cells = np.expm1(-z * (values - lo) / (hi - lo)) / math.expm1(-z)
    assert_plausible(stats.kstest(cells, "uniform").pvalue)


def test_candidates_make_close_chains_equal_and_quantiles_do_not():
    u = uniforms((100, 17), Keystream())
    pairs = [(0.4, 0.7), (0.4 + 1e-13, 0.7 + 1e-13)]
    for used, met in ((17, True), (1, False)):
        one, other = ([coupling._update(lo, hi, 2.0, 1.5, row[:used]) for row in u] for lo, hi in pairs)
        assert (one == other) is met


def test_sweeps_keep_the_order_of_the_chains():
    for law in LAWS.values():
        chains, past = coupling._extremes(law), coupling._Past(2000, Keystream())
        reach = chains[..., 1].copy()
        for age in range(3):
            coupling._advance(chains, coupling._rates(law), coupling._gaps(law), reach, past.uniforms(age))
            assert (chains[..., 0] <= chains[..., 1]).all()


# 2. The past

SLOW = power_law(16, 32.0, [1.0, 0.6])


def meet_in_the_same_pattern():
    """Whether all starts from which the chains meet lead to one pattern."""
    past = coupling._Past(coupling._n_sites(SLOW) * coupling._UNIFORMS_PER_SITE, Keystream())
    runs = [coupling._run_from(SLOW, rounds, past) for rounds in (8, 16, 64, 80)]
    met = [chains[..., 0] for chains in runs if np.array_equal(chains[..., 0], chains[..., 1])]
    assert len(met) > 1  # the chains need about 10 rounds
    return all(np.array_equal(met[0], pattern) for pattern in met)


def doubling_equals_a_direct_start(monkeypatch):
    key = Keystream().words(4).tobytes()
    monkeypatch.setattr(coupling, "_first_guess", lambda law: 1)
    doubled = coupling.draw(SLOW, Keystream.from_key(key))
    rounds = doubled.tries // coupling.SWEEPS_PER_ROUND
    assert rounds > 1
    monkeypatch.setattr(coupling, "_first_guess", lambda law: rounds)
    direct = coupling.draw(SLOW, Keystream.from_key(key))
    return direct.tries == doubled.tries and np.array_equal(direct.factor, doubled.factor)


class ForgetfulPast(coupling._Past):
    """The classical mistake: each start draws fresh uniforms."""

    def uniforms(self, age):
        return uniforms(self._size, self._stream)


def test_every_start_that_meets_leads_to_the_same_pattern():
    assert meet_in_the_same_pattern()


def test_doubling_leads_where_a_direct_start_does(monkeypatch):
    assert doubling_equals_a_direct_start(monkeypatch)


def test_fresh_uniforms_at_each_doubling_are_caught(monkeypatch):
    monkeypatch.setattr(coupling, "_Past", ForgetfulPast)
    assert not meet_in_the_same_pattern()
    assert not doubling_equals_a_direct_start(monkeypatch)


def test_each_round_has_uniforms_of_its_own():
    past = coupling._Past(100, Keystream())
    young, old = past.uniforms(0), past.uniforms(5)
    assert not np.isin(young, old).any()
    assert np.array_equal(past.uniforms(0), young) and np.array_equal(past.uniforms(5), old)


# 3. Law


@pytest.mark.parametrize("name", sorted(LAWS))
def test_mean_is_the_gradient_of_the_log_partition(name):
    assert_plausible(mean_p_value(LAWS[name]))


def test_mean_with_a_start_that_has_to_be_doubled(monkeypatch):
    monkeypatch.setattr(coupling, "_first_guess", lambda law: 1)
    assert_plausible(mean_p_value(SLOW, 300))


@pytest.mark.parametrize(
    ("tilts", "levels"),
    [
        ([4.0, 2.0, 0.0], [1.0, 0.5]),
        ([3.0, 3.0, 1.0, 0.0], [1.0, 1.0]),
        ([3.0, 1.0, 1.0, 0.0], [1.0, 0.5, 0.5]),
        ([0.0, 0.0, 0.0], [1.0, 1.0]),
        ([4.0, 1.0, 0.0], [1.0, 0.6, 0.6]),
    ],
)
def test_second_moments_agree_with_haar_importance_sampling(tilts, levels):
    law, stream = OrbitLaw(tilts, levels, is_complex=True), Keystream()
    factors = [coupling.draw(law, stream).factor for _ in range(1000)]
    assert_plausible(moments_p_value(factors, *haar_moments(law, 60_000, np.random.default_rng())))


def test_doubled_rates_are_caught(monkeypatch):
    right = coupling._rates
    monkeypatch.setattr(coupling, "_rates", lambda law: 2 * right(law))
    assert mean_p_value(LAWS["general"]) < FALSE_ALARM
    assert mean_p_value(LAWS["concentrated"]) < FALSE_ALARM


def test_rates_shifted_by_one_row_are_caught(monkeypatch):
    right = coupling._rates
    monkeypatch.setattr(coupling, "_rates", lambda law: np.roll(right(law), 1))
    assert mean_p_value(LAWS["general"]) < FALSE_ALARM


def test_a_wrong_interlacing_bound_is_caught(monkeypatch):
    right = coupling._gaps
    monkeypatch.setattr(coupling, "_gaps", lambda law: 0.8 * right(law))
    assert mean_p_value(LAWS["general"]) < FALSE_ALARM


# 4. Structure

EXTREME = {
    **LAWS,
    "one": OrbitLaw([3.0], [2.0], is_complex=True),
    "scalar": OrbitLaw([3.0, 1.0], [2.0, 2.0], is_complex=True),
    "huge tilts": OrbitLaw(1e308 * np.linspace(1, -1, 8), [1.0, 0.5], is_complex=True),
    "tiny tilts": OrbitLaw(1e-308 * np.linspace(1, -1, 8), [1.0, 0.5], is_complex=True),
    "huge levels": OrbitLaw(1e-200 * np.arange(8.0, 0.0, -1), [1e200, 1e199], is_complex=True),
    "spread levels": power_law(8, 20.0, 10.0 ** -np.arange(0.0, 16.0, 2)),
    "two blocks": OrbitLaw([500.0] * 3 + [0.0] * 17, [1.0, 0.9, 0.5], is_complex=True),
    "large": power_law(30, 60.0, 1.0 / np.arange(1.0, 9.0)),
}


@pytest.mark.parametrize("name", sorted(EXTREME))
def test_rows_interlace_and_are_those_of_the_minors(name):
    law, stream = EXTREME[name], Keystream()
    pattern, _ = coupling._draw_pattern(law, stream, None)
    rows, scale = pattern.rows, law.levels[0]
    for m in range(1, law.dimension):
        lower = np.append(rows[m + 1][1:], 0.0)[: len(rows[m])]
        assert (rows[m] <= rows[m + 1][: len(rows[m])]).all() and (rows[m] >= lower - 1e-15 * scale).all()
    X = coupling.factor_from_pattern(rows, stream, pattern.differences)
    assert np.allclose(X.conj().T @ X, np.diag(law.levels), rtol=0, atol=1e-12 * scale)
    for m in range(1, law.dimension + 1):
        spectrum = np.linalg.eigvalsh(X[:m] @ X[:m].conj().T)[::-1][: law.rank]
        assert np.allclose(spectrum, rows[m], rtol=0, atol=1e-12 * scale)


def test_entries_forced_by_equal_levels_are_exact():
    pattern, _ = coupling._draw_pattern(power_law(7, 10.0, [1.0, 1.0, 1.0, 0.3, 0.3]), Keystream(), None)
    rows = pattern.rows
    assert rows[6][:2].tolist() == [1.0, 1.0] and rows[5][0] == 1.0 and rows[6][3] == 0.3


# 5. Refusals


def test_real_laws_are_refused():
    with pytest.raises(InvalidParameter, match="complex"):
        coupling.draw(power_law(4, 100.0, [1.0, 0.5], is_complex=False), Keystream())


@pytest.mark.parametrize("limit", [0, 31, 64])
def test_a_spent_limit_fails_with_a_warning(limit):
    with pytest.raises(SamplingFailed, match=r"coupling.*more than .* do not repeat"):
        coupling.draw(power_law(40, 80.0, [1.0, 0.5]), Keystream(), limit=limit)


def test_tries_are_the_sweeps_of_the_start(monkeypatch):
    monkeypatch.setattr(coupling, "_first_guess", lambda law: 7)
    assert coupling.draw(power_law(3, 2.0, [1.0]), Keystream(), limit=None).tries == 7 * coupling.SWEEPS_PER_ROUND
