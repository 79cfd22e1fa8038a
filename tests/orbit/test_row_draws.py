"""The rows sampler against closed-form inverses, means, Haar moments and the other samplers."""

import itertools
import math
import secrets

import numpy as np
import pytest
from flint import arb
from scipy import stats

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit import ball, coupling, row_draws
from hushrank.orbit.differences import PowerSeries, divided_differences, working_bits
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import mean_diagonal
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import diagonal, haar_moments, hotelling_p_value, ks_p_value, moments_p_value, power_law
from support import FALSE_ALARM, assert_plausible


def complex_law(tilts, levels):
    return OrbitLaw(tilts, levels, is_complex=True)


def draws(law, n, draw=row_draws.draw):
    stream = Keystream()
    return [draw(law, stream).factor for _ in range(n)]


def pattern(law, key, bits=None):
    """Rows as floats, and what else `draw_rows` returns."""
    bits = row_draws.first_bits(law) if bits is None else bits
    balls, tries, last_bits = row_draws.draw_rows(law, Keystream.from_key(key), bits=bits, limit=20_000)
    return [np.array([float(x) for x in row]) for row in balls], tries, last_bits


def uniforms(law, key):
    """The uniform numbers of entry j of row m."""
    words = Keystream.from_key(key).words(2 * law.dimension * law.rank).reshape(law.dimension, law.rank, 2)
    return (2.0**64 * words[:, :, 0] + words[:, :, 1]) / 2.0**128


# One step


def test_rank_one_inverts_the_distribution_function():
    law, key = power_law(6, 9.0, [1.5]), secrets.token_bytes(32)
    [*_, x, _], _, _ = pattern(law, key)
    with working_bits(300):
        nodes = [arb(tilt) for tilt in law.tilts]
        at, top = ((-nodes[-1] * arb(v)).exp() * divided_differences(nodes, arb(v))[0][0] for v in (x[0], 1.5))
        assert float(at / top) == pytest.approx(uniforms(law, key)[5, 0], rel=1e-12)


@pytest.mark.parametrize("levels", [[3.0, 0.5], [1.0, 1.0 - 1e-9]])
def test_in_the_plane_the_first_row_is_a_truncated_exponential(levels):
    law, key = complex_law([2.0, 0.5], levels), secrets.token_bytes(32)
    [_, [x], _], _, _ = pattern(law, key)
    share = math.expm1(1.5 * (x - levels[1])) / math.expm1(1.5 * (levels[0] - levels[1]))
    assert share == pytest.approx(uniforms(law, key)[1, 0], abs=1e-5)


def test_the_second_entry_is_drawn_given_the_first():
    """Row 2 of 3 has density exp(-a (x + z)) (exp(g x + h z) - exp(h x + g z)), and its integrals are elementary."""
    law, key = complex_law([3.0, 2.0, 0.5], [1.5, 0.75]), secrets.token_bytes(32)
    [_, _, (x, z), _], _, _ = pattern(law, key)
    u = uniforms(law, key)[2]
    g, h = 2.5, 1.5  # both minus a

    def mass(rate, low, high):
        return (math.exp(rate * high) - math.exp(rate * low)) / rate

    def first(high):
        return mass(g, 0.75, high) * mass(h, 0, 0.75) - mass(h, 0.75, high) * mass(g, 0, 0.75)

    def second(high):
        return math.exp(g * x) * mass(h, 0, high) - math.exp(h * x) * mass(g, 0, high)

    assert first(x) / first(1.5) == pytest.approx(u[0], abs=1e-12)
    assert second(z) / second(0.75) == pytest.approx(u[1], abs=1e-12)


def last_entry_and_uniform(d, k):
    """Without tilts row d - 1 of a rank-k projection has one free entry, 1 - |row d of U|^2."""
    law, key = complex_law(np.zeros(d), np.ones(k)), secrets.token_bytes(32)
    [*_, x, _], _, _ = pattern(law, key)
    assert (x[:-1] == 1.0).all()
    return x[-1], uniforms(law, key)[d - 1, k - 1]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_below_tied_levels_the_last_entry_is_beta(k):
    x, u = last_entry_and_uniform(6, k)
    assert stats.beta.cdf(x, 6 - k, k) == pytest.approx(u, rel=1e-10)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_wrong_rows_of_tied_levels_are_seen(k, monkeypatch):
    """Planted bug: the first derivative where the function belongs, and so on."""
    right = PowerSeries.derivatives_at
    monkeypatch.setattr(PowerSeries, "derivatives_at", lambda self, x, order: right(self, x, order + 1))
    sample = [last_entry_and_uniform(6, k) for _ in range(10)]  # near u = 0 or 1 one alone could be right by chance
    assert any(stats.beta.cdf(x, 6 - k, k) != pytest.approx(u, rel=1e-4) for x, u in sample)


# Structure


LAWS = {
    "projection": power_law(7, 15.0, np.ones(3)),
    "general": power_law(6, 8.0, [1.0, 0.7, 0.2]),
    "some ties": power_law(7, 10.0, [2.0, 1.0, 1.0, 0.5]),
    "full rank": power_law(5, 10.0, [1.0, 0.8, 0.6, 0.6, 0.1]),
    "tied tilts": complex_law([5.0, 5.0, 2.0, 2.0, 2.0, 0.0], [1.0, 1.0, 0.4]),
    "near ties": complex_law([5.0, 5.0 - 1e-14, 2.0, 1e-15, 0.0], [1.0, 1.0 - 1e-13, 0.4]),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_rows_interlace_and_the_factor_has_the_levels(law):
    drawn, _, _ = pattern(law, secrets.token_bytes(32))
    assert [len(row) for row in drawn] == [min(m, law.rank) for m in range(law.dimension + 1)]
    for x, y in itertools.pairwise(drawn[1:]):
        lower = [*y, 0.0][1 : len(x) + 1]
        assert (x <= y[: len(x)]).all() and (x >= lower).all()
    factor = row_draws.draw(law, Keystream()).factor
    assert factor.shape == (law.dimension, law.rank)
    assert np.linalg.eigvalsh(factor.conj().T @ factor)[::-1] == pytest.approx(law.levels, abs=1e-12)


def test_minors_have_the_rows_as_eigenvalues():
    law, key = LAWS["some ties"], secrets.token_bytes(32)
    drawn, _, _ = pattern(law, key)
    factor = row_draws.draw(law, Keystream.from_key(key)).factor
    H = factor @ factor.conj().T
    for m in range(1, law.dimension + 1):
        assert np.linalg.eigvalsh(H[:m, :m])[::-1][: len(drawn[m])] == pytest.approx(drawn[m], abs=1e-12)


def test_of_tied_levels_all_but_one_recur():
    drawn, _, _ = pattern(power_law(6, 10.0, [2.0, 1.0, 1.0, 1.0]), secrets.token_bytes(32))
    assert [(row == 1.0).sum() for row in drawn] == [0, 0, 0, 0, 1, 2, 3]


def test_one_dimension_has_nothing_to_draw():
    assert np.abs(row_draws.draw(complex_law([3.0], [4.0]), Keystream()).factor) == pytest.approx(2.0)


# Exactness


@pytest.mark.parametrize("name", ["projection", "general", "some ties", "full rank", "tied tilts"])
def test_means_are_right(name):
    law = LAWS[name]
    assert_plausible(hotelling_p_value([diagonal(factor) for factor in draws(law, 150)], mean_diagonal(law)))


@pytest.mark.parametrize(
    ("tilts", "levels"),
    [([4.0, 4.0, 1.0, 0.0], [1.0, 1.0]), ([4.0, 2.0, 1.0, 0.0], [1.0, 0.5]), ([2.0, 0.0, 0.0], [1.0])],
)
def test_moments_with_ties_are_right(tilts, levels):
    law = complex_law(tilts, levels)
    reference = haar_moments(law, 100_000, np.random.default_rng())
    assert_plausible(moments_p_value(draws(law, 400), *reference))


@pytest.mark.parametrize(
    ("law", "other"), [(power_law(6, 40.0, np.ones(2)), ball), (power_law(5, 8.0, [2.0, 1.0, 1.0]), coupling)]
)
def test_other_samplers_agree(law, other):
    scores, others = (
        np.array([diagonal(factor) @ law.tilts for factor in draws(law, 200, draw)])
        for draw in (row_draws.draw, other.draw)
    )
    assert_plausible(ks_p_value(scores, others))


# Planted bugs. All come from bisection: with a wrong law the slopes that Newton's method uses are wrong too.


def planted_p_value(law, n, monkeypatch):
    monkeypatch.setattr(row_draws, "_newton_point", lambda *_: arb("nan"))
    return hotelling_p_value([diagonal(factor) for factor in draws(law, n)], mean_diagonal(law))


def wrong_rate(change):
    """A chain that integrates with other tilts than those of its functions."""
    right = row_draws._Chain.__init__

    def wrong(self, law, m, row):
        right(self, law, m, row)
        self._tilts = change(self._tilts)

    return wrong


BUGS = {
    "tilt of row m, not of row m + 1": lambda tilts: [tilts[0], *tilts[:-1]],
    "tilt of row m + 2": lambda tilts: [*tilts[1:], arb(-3)],
    "exp(+a x)": lambda tilts: [-tilt for tilt in tilts],
}


@pytest.mark.parametrize("bug", BUGS)
def test_means_expose_wrong_rates(bug, monkeypatch):
    monkeypatch.setattr(row_draws._Chain, "__init__", wrong_rate(BUGS[bug]))
    assert planted_p_value(complex_law([6.0, 3.0, 0.0], [1.0]), 150, monkeypatch) < FALSE_ALARM


def test_without_a_plant_bisection_is_right(monkeypatch):
    assert_plausible(planted_p_value(complex_law([6.0, 3.0, 0.0], [1.0]), 150, monkeypatch))


# Precision


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_precision_does_not_change_the_draw(law):
    key = secrets.token_bytes(32)
    one, other = pattern(law, key)[0], pattern(law, key, bits=600)[0]
    assert all(np.allclose(x, y, rtol=0, atol=1e-11) for x, y in zip(one, other, strict=True))


def test_too_few_bits_are_noticed_and_the_same_words_used_again():
    law, key = LAWS["projection"], secrets.token_bytes(32)
    one, tries, bits = pattern(law, key, bits=50)
    assert tries > 1 and bits > 50
    other, one_try, _ = pattern(law, key, bits=400)
    assert one_try == 1
    assert all(np.allclose(x, y, rtol=0, atol=1e-11) for x, y in zip(one, other, strict=True))


def test_close_levels_take_more_tries():
    assert row_draws.draw(complex_law([3.0, 2.0, 1.0, 0.0], 1 - 1e-15 * np.arange(4)), Keystream()).tries > 1


# Refusals


def test_the_limit_of_precision_is_kept():
    with pytest.raises(SamplingFailed, match=r"limit is 100: use coupling"):
        row_draws.draw(LAWS["general"], Keystream(), limit=100)


def test_concentrated_laws_are_left_to_others():
    with pytest.raises(SamplingFailed, match="use ball, vertex or coupling"):
        row_draws.draw(power_law(5, 1e6, [1.0, 0.5]), Keystream(), limit=None)


def test_real_laws_are_refused():
    with pytest.raises(InvalidParameter, match=r"law .* must be complex"):
        row_draws.draw(OrbitLaw([1.0, 0.0], [1.0], is_complex=False), Keystream())


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(row_draws, "flint_is_available", lambda: False)
    with pytest.raises(SamplingFailed, match=r"pip install 'hushrank\[orbit\]'"):
        row_draws.draw(LAWS["general"], Keystream())
