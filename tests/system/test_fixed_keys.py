"""Noise in the tests: the same in every run of one test, never the same twice in it, and real where a test forks."""

import os

from fixed_keys import FixedKeys
from hushrank.privacy.noise.keystream import Keystream


def draw(keys, n=3):
    return [keys.urandom(32) for _ in range(n)]


def test_keys_follow_from_the_name_and_never_repeat():
    keys = FixedKeys()
    with keys.named("one"):
        first = draw(keys)
        with keys.named("two"):  # a fixture that others share, in the middle of a test
            other = draw(keys)
        first += draw(keys)
    with keys.named("one"):
        assert draw(keys, 6) == first
    assert len({*first, *other}) == 9


def test_without_a_test_and_in_a_forked_child_they_are_those_of_the_system():
    keys = FixedKeys()
    assert draw(keys) != draw(keys)
    with keys.named("one"):
        here = draw(keys)
    keys._process = os.getppid()  # as a child sees it
    with keys.named("one"):
        assert not {*here} & {*draw(keys)}


def test_a_key_stream_draws_from_them(request):
    """Unless fresh ones were asked for."""
    keys = next((found for found in request.config.pluginmanager.get_plugins() if isinstance(found, FixedKeys)), None)
    assert (keys is None) == request.config.getoption("--fresh-keys")
    if keys:
        words = []
        for _ in range(2):
            with keys.named("one"):
                words.append(Keystream().words(4).tolist())
        assert words[0] == words[1]
