"""Continuous draws have their laws and never hit a point where a logarithm fails."""

import numpy as np
import pytest
from scipy import stats

from hushrank.privacy.noise import continuous
from hushrank.privacy.noise.continuous import exponentials, laplaces, normals, phases, uniforms
from hushrank.privacy.noise.deviates import RareDraw
from hushrank.privacy.noise.keystream import Keystream
from support import FALSE_ALARM, assert_plausible


@pytest.mark.parametrize(
    ("draw", "law"),
    [(uniforms, stats.uniform), (normals, stats.norm), (exponentials, stats.expon), (laplaces, stats.laplace)],
)
def test_laws_are_accepted_and_wrong_scales_are_not(draw, law):
    sample = draw((100, 1000), Keystream())
    assert sample.shape == (100, 1000)
    assert_plausible(stats.kstest(sample.ravel(), law.cdf).pvalue)
    for wrong in (0.7, 1.3):
        assert stats.kstest(sample.ravel() * wrong, law.cdf).pvalue < FALSE_ALARM


def test_phases_are_uniform_on_the_circle():
    z = phases(50_000, Keystream())
    assert np.allclose(np.abs(z), 1.0, atol=1e-15)
    assert_plausible(stats.kstest((np.angle(z) / (2 * np.pi)) % 1.0, "uniform").pvalue)


class Words:
    """A stream of one word, to reach the ends of the range."""

    def __init__(self, word):
        self._word = word

    def words(self, n):
        return np.full(n, self._word, np.uint64)


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_uniforms_stay_inside_the_open_interval(word):
    u = uniforms(2, Words(word))
    assert (0 < u).all() and (u < 1).all()
    assert np.isfinite(np.log(u)).all() and np.isfinite(np.log1p(-u)).all()


def test_values_beyond_int64_are_used(monkeypatch):
    rare = [RareDraw(1, 1 << 63, 0, 0)]
    monkeypatch.setattr(continuous, "draw", lambda law, n, stream, signed: (np.zeros(n, np.int64), rare))
    assert exponentials(2, Keystream())[1] == 512.0
