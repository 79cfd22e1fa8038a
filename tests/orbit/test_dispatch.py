"""The dispatcher: which samplers it tries, that all have one law, and that it ends."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit import dispatch
from hushrank.orbit.dispatch import SAMPLERS, attempts, draw_orbit
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import mean_diagonal
from hushrank.privacy.noise.keystream import Keystream
from orbit_support import diagonal, hotelling_p_value, ks_p_value, power_law
from support import FALSE_ALARM, assert_plausible

HOLE = power_law(6, 9.0, [1.0, 1.0, 1.0])
LAWS = {
    "rank one": power_law(6, 9.0, [2.0]),
    "concentrated projection": power_law(6, 900.0, [1.0, 1.0]),
    "flat projection": power_law(6, 0.5, [1.0, 1.0]),
    "between": HOLE,
    "levels far apart": power_law(6, 900.0, [3.0, 2.0, 1.0]),
    "levels that nearly agree": power_law(6, 9.0, [1.0, 0.999, 0.5]),
    "full rank": power_law(4, 5.0, [1.0, 0.7, 0.2, 0.1]),
}


@pytest.mark.parametrize("name", LAWS)
def test_draws_have_the_mean_of_the_law_whichever_sampler_serves(name):
    law, stream = LAWS[name], Keystream()
    draws = [diagonal(draw_orbit(law, stream).factor) for _ in range(400)]
    assert_plausible(hotelling_p_value(draws, mean_diagonal(law)))


def test_samplers_of_one_law_agree():
    """With the fastest of them, on the score and on the first entry; a law with other tilts is told apart."""
    samples = {}
    for method, n in {"ball": 400, "stiefel": 600, "coupling": 1500, "rows": 250}.items():
        stream = Keystream()
        samples[method] = np.array([diagonal(draw_orbit(HOLE, stream, method=method).factor) for _ in range(n)])
    for sample in samples.values():
        assert_plausible(ks_p_value(sample @ HOLE.tilts, samples["coupling"] @ HOLE.tilts))
        assert_plausible(ks_p_value(sample[:, 0], samples["coupling"][:, 0]))
    other = power_law(6, 18.0, [1.0, 1.0, 1.0])
    wrong = np.array([diagonal(draw_orbit(other, Keystream(), method="coupling").factor) for _ in range(600)])
    assert ks_p_value(wrong @ HOLE.tilts, samples["coupling"] @ HOLE.tilts) < FALSE_ALARM


def test_every_name_leads_to_a_sampler():
    drawn = {name: dispatch.sampler(name) for name in SAMPLERS}
    assert len(set(drawn.values())) == len(SAMPLERS) and all(map(callable, drawn.values()))


def test_every_attempt_names_a_sampler_and_a_reason_and_the_last_one_has_no_limit():
    for law in LAWS.values():
        tried = attempts(law)
        assert all(attempt.sampler in SAMPLERS and attempt.reason for attempt in tried)
        assert tried[-1].limit is None and all(attempt.limit for attempt in tried[:-1])


def test_the_first_attempt_suits_the_law():
    first = {name: attempts(law)[0].sampler for name, law in LAWS.items()}
    assert first["rank one"] == "sphere"
    assert first["concentrated projection"] == "ball"
    assert first["flat projection"] == "stiefel"
    assert first["levels far apart"] == "vertex"


def test_ball_arithmetic_is_used_where_it_is_faster_and_only_with_its_package(monkeypatch):
    wide = power_law(200, 400.0, [1.0] * 5)
    assert attempts(wide)[-1].sampler == "rows"
    near_ties = power_law(200, 400.0, [1.0, 1.0 - 1e-9])
    assert attempts(near_ties)[-1].sampler == "coupling"
    monkeypatch.setattr(dispatch, "flint_is_available", lambda: False)
    assert attempts(wide)[-1].sampler == "coupling"


def test_a_sampler_that_fails_is_followed_by_the_next(monkeypatch):
    tried = []
    real = dispatch.sampler

    def record(name):
        tried.append(name)
        return real(name)

    monkeypatch.setattr(dispatch, "sampler", record)
    impossible = OrbitLaw([10.0, 10.0, 0.0, 0.0], [2.0, 1.0], is_complex=True)  # a rate of 0: vertex cannot serve it
    assert draw_orbit(impossible, Keystream()).factor.shape == (4, 2)
    assert tried == ["vertex", attempts(impossible)[-1].sampler]


def test_real_laws_without_a_sampler_are_refused_by_name():
    with pytest.raises(SamplingFailed, match="real levels that differ have no exact sampler: draw a complex law"):
        draw_orbit(OrbitLaw([1.0, 0.0], [2.0, 1.0], is_complex=False), Keystream())
    concentrated = power_law(20, 3000.0, [1.0, 1.0, 1.0], is_complex=False)
    with pytest.raises(SamplingFailed, match="stiefel"):
        draw_orbit(concentrated, Keystream())
    assert draw_orbit(power_law(5, 1.0, [1.0, 1.0], is_complex=False), Keystream()).factor.dtype == np.float64


def test_an_unknown_method_is_refused():
    with pytest.raises(InvalidParameter, match=r"method of draw_orbit must be 'auto' or one of sphere, .*; got 'mcmc'"):
        draw_orbit(HOLE, Keystream(), method="mcmc")


def test_a_full_projection_is_the_identity():
    draw = draw_orbit(OrbitLaw([2.0, 1.0, 0.0], [4.0] * 3, is_complex=True), Keystream())
    assert draw.factor @ draw.factor.conj().T == pytest.approx(4.0 * np.eye(3))
