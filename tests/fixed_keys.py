"""Keys of noise in the tests: those of `make test` follow from the name of the test, those of `make audit` are fresh.

A test that bounds an error sees the same noise in every run, so that it passes or fails for a reason. Children of a
fork and other processes draw from the operating system, as do all releases outside of the tests.
"""

import hashlib
import itertools
import os
from contextlib import contextmanager

import pytest

from hushrank.privacy.noise import keystream, sketch_draws


class FixedKeys:
    """A plugin that stands between the sources of noise and the operating system."""

    def __init__(self):
        self._process, self._name, self._numbers = os.getpid(), None, None

    def install(self):
        """Let both places that ask the operating system for a key ask here."""
        keystream.os = sketch_draws.os = self
        return self

    def urandom(self, size):
        """The next bytes of the test that runs now."""
        if self._name is None or os.getpid() != self._process:
            return os.urandom(size)
        return hashlib.shake_256(f"{self._name} {next(self._numbers)}".encode()).digest(size)

    @contextmanager
    def named(self, name):
        """Keys of this name, in their order."""
        before = self._name, self._numbers
        self._name, self._numbers = name, itertools.count()
        try:
            yield
        finally:
            self._name, self._numbers = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """A test has keys of its own."""
        with self.named(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """What several tests share has keys of its own, whichever test comes first."""
        if fixturedef.scope == "function":
            return (yield)
        with self.named(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
            return (yield)
