"""Every release gets its own stream, and no noise is drawn without an event in the log."""

import copy
import pickle

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter, KeystreamMisuse
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.noise.source import NoiseSource


def test_events_are_logged_in_order():
    noise = NoiseSource()
    noise.begin(Gaussian(2.0))
    noise.begin(Pure(0.1))
    assert noise.executed == (Gaussian(2.0), Pure(0.1))
    assert not noise.reproducible


def test_every_release_has_its_own_words():
    for noise in (NoiseSource(), NoiseSource(seed=1)):
        assert not np.array_equal(noise.begin(Pure(1.0)).words(4), noise.begin(Pure(1.0)).words(4))


def test_a_seed_repeats_the_words_and_says_so():
    first, second, other = NoiseSource(seed=0), NoiseSource(seed=0), NoiseSource(seed=1)
    words = [noise.begin(Pure(1.0)).words(4).tolist() for noise in (first, second, other)]
    assert words[0] == words[1] != words[2]
    assert first.reproducible


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(InvalidParameter, match=r"^seed of NoiseSource must be an integer >= 0"):
        NoiseSource(seed)


def test_an_unknown_event_draws_nothing():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="event"):
        noise.begin("epsilon = 1")
    assert noise.executed == ()


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_copies_are_refused(duplicate):
    with pytest.raises(KeystreamMisuse, match="cannot be copied"):
        duplicate(NoiseSource(seed=3))
