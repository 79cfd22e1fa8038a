"""The vertex sampler against d log Z, against the coupling sampler, and what it refuses."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit import coupling, vertex
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import mean_diagonal
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import diagonal, haar_moments, hotelling_p_value, ks_p_value, moments_p_value, power_law
from support import FALSE_ALARM, assert_plausible

LAWS = {
    "concentrated": power_law(6, 400.0, [1.0, 0.6, 0.3]),
    "rejecting": OrbitLaw([30.0, 20.0, 5.0, 2.0, 0.0], [1.0, 0.5], is_complex=True),
    "full rank": OrbitLaw([40.0, 30.0, 15.0, 0.0], [1.0, 0.7, 0.4, 0.1], is_complex=True),
}


def mean_p_value(law, n=1500):
    stream = Keystream()
    return hotelling_p_value([diagonal(vertex.draw(law, stream).factor) for _ in range(n)], mean_diagonal(law))


# 1. Law


@pytest.mark.parametrize("name", sorted(LAWS))
def test_mean_is_the_gradient_of_the_log_partition(name):
    assert_plausible(mean_p_value(LAWS[name]))


def test_second_moments_agree_with_haar_importance_sampling():
    law = OrbitLaw([7.0, 3.0, 0.0], [1.0, 0.5], is_complex=True)
    stream = Keystream()
    factors = [vertex.draw(law, stream).factor for _ in range(2000)]
    assert_plausible(moments_p_value(factors, *haar_moments(law, 100_000, np.random.default_rng())))


@pytest.mark.parametrize("name", sorted(LAWS))
def test_law_is_that_of_the_coupling_sampler(name):
    law, stream = LAWS[name], Keystream()
    one, other = (
        np.array([diagonal(draw(law, stream).factor) for _ in range(800)]) for draw in (vertex.draw, coupling.draw)
    )
    assert_plausible(ks_p_value(one @ law.tilts, other @ law.tilts))
    for i in range(law.dimension):
        assert_plausible(ks_p_value(one[:, i], other[:, i]))


# 2. Structure


@pytest.mark.parametrize("name", sorted(LAWS))
def test_columns_of_the_factor_have_the_levels(name):
    law = LAWS[name]
    X = vertex.draw(law, Keystream()).factor
    assert np.allclose(X.conj().T @ X, np.diag(law.levels), rtol=0, atol=1e-12)


def test_accepted_proposals_interlace():
    law = LAWS["rejecting"]
    depths = vertex._propose(law, 500, Keystream())
    for proposal, accepted in zip(depths, vertex._is_interlacing(law, depths), strict=True):
        x = np.vstack([law.levels - proposal, law.levels])
        interlaces = all(
            x[m + 1, j] >= x[m, j] >= (x[m + 1, j + 1] if j + 1 < 2 else 0.0)
            for m in range(1, 5)
            for j in range(min(2, m))
        )
        assert accepted == interlaces


def test_tries_follow_the_acceptance():
    stream = Keystream()
    tries = np.array([vertex.draw(LAWS["concentrated"], stream).tries for _ in range(50)])
    assert tries.mean() < 1.5
    narrow = OrbitLaw(LAWS["rejecting"].tilts / 4, LAWS["rejecting"].levels, is_complex=True)
    proposed = vertex._is_interlacing(narrow, vertex._propose(narrow, 20_000, stream))
    assert 0.1 < proposed.mean() < 0.9
    tries = sum(vertex.draw(narrow, stream).tries for _ in range(300))
    assert 300 / tries == pytest.approx(proposed.mean(), abs=0.25)  # a deviation is 0.03


# 3. Planted bugs


def test_doubled_rates_are_caught(monkeypatch):
    whole = vertex.exponentials
    monkeypatch.setattr(vertex, "exponentials", lambda shape, stream: whole(shape, stream) / 2)
    assert mean_p_value(LAWS["concentrated"], 500) < FALSE_ALARM


def test_a_wrong_interlacing_bound_is_caught(monkeypatch):
    right = vertex._is_interlacing
    narrow = OrbitLaw(LAWS["rejecting"].tilts, [0.65, 0.5], is_complex=True)
    monkeypatch.setattr(vertex, "_is_interlacing", lambda law, depths: right(narrow, depths))
    assert mean_p_value(LAWS["rejecting"]) < FALSE_ALARM


# 4. Refusals


def test_real_laws_are_refused():
    with pytest.raises(InvalidParameter, match="complex"):
        vertex.draw(power_law(4, 100.0, [1.0, 0.5], is_complex=False), Keystream())


@pytest.mark.parametrize(
    ("tilts", "levels", "reason"),
    [
        ([5.0, 5.0, 0.0], [1.0], "rate is zero"),
        ([9.0, 5.0, 5.0], [1.0, 0.5], "rate is zero"),
        ([9.0, 5.0, 1.0], [1.0, 1.0], "levels are equal"),
        ([9e-9, 5e-9, 1e-9], [1.0, 0.5], "none of 1000 proposals"),
        ([2e-310, 1e-310, 0.0], [1.0, 0.5], "none of 1000 proposals"),
    ],
)
def test_laws_it_cannot_serve_fail_with_a_reason(tilts, levels, reason):
    with pytest.raises(SamplingFailed, match=f"{reason}.*coupling"):
        vertex.draw(OrbitLaw(tilts, levels, is_complex=True), Keystream())


def test_tied_tilts_behind_the_rank_and_extreme_ones_are_served():
    for tilts in ([900.0, 5.0, 5.0, 5.0], [1e308, 0.0, -1e308, -1e308]):
        assert vertex.draw(OrbitLaw(tilts, [1.0], is_complex=True), Keystream(), limit=None).factor.shape == (4, 1)
    assert vertex.draw(OrbitLaw([1.0], [2.0], is_complex=True), Keystream()).factor.shape == (1, 1)
