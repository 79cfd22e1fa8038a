"""What holds for all tests: where they write, which examples property tests see, and what need not be done twice."""

import gc
import os
import shutil
import sys

import pytest
from hypothesis import settings

from fixed_keys import FixedKeys

# The same examples and the same noise in every run of `make test`, new ones in every `make audit`.
settings.register_profile("fixed", derandomize=True, deadline=None)  # no test measures time
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile("fixed")

# Tests write files by the ten thousand and ledgers sync each charge: on a disk that is most of their time. What is
# left behind by a process that was killed is the same in memory.
MEMORY, ROOM_BYTES = "/dev/shm", 2**31
if os.path.isdir(MEMORY) and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)  # where `tmp_path` is

# Tests start Python by the hundred: without compiled modules each would compile the whole package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser):
    """Noise as fresh as outside of the tests, for `make audit`."""
    parser.addoption("--fresh-keys", action="store_true", help="keys of noise from the operating system")


def pytest_configure(config):
    """Let noise follow from the names of the tests."""
    if not config.getoption("--fresh-keys"):
        config.pluginmanager.register(FixedKeys().install())


def pytest_collection_modifyitems(items):
    """Begin with a fit of every estimator, half of them in the middle, where the second of two processes begins.

    Where nothing is compiled yet, each then compiles what the other will need later, and not the same as the other.
    """
    fits = [item for item in items if "check_seeds" in item.name]
    others = [item for item in items if "check_seeds" not in item.name]
    items[:] = [
        *fits[: len(fits) // 2],
        *others[: len(others) // 2],
        *fits[len(fits) // 2 :],
        *others[len(others) // 2 :],
    ]


def pytest_collection_finish():
    """Keep modules and tests, which stay as long as the process, out of collections of garbage.

    A full one, of which some tests ask for several, takes a third of a second with them and next to nothing without.
    Collections that nobody asks for are rarer than elsewhere: they were a thirtieth of the time of all tests.
    """
    gc.collect()
    gc.set_threshold(20_000, 20, 20)
    gc.freeze()


@pytest.fixture(scope="session")
def scheduler():
    """The address of a cluster of two processes, for all tests that do not kill any."""
    pytest.importorskip("distributed", reason="needs the extra dask")
    from cluster_support import cluster_elsewhere

    with cluster_elsewhere() as address:
        yield address


@pytest.fixture(scope="module")
def cluster(scheduler):
    """A client of it."""
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        yield client
