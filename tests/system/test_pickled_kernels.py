"""Kernels and public states travel: pickled copies of them give the totals of the originals, for every seeded fit.

An engine on several machines sends both to wherever the blocks are. A lock, an open file or a function inside a
function cannot be sent.
"""

import pickle
import threading

import numpy as np
import pytest

from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion import user_sums
from hushrank.estimators.second_moment import sums as second_moment_sums
from hushrank.estimators.trace import centers, covariances, means, record_sums
from seeded_fits import FITS

SUMMED = [name for name in FITS if not name.startswith("stream")]  # sketches add updates themselves
COMPLETION = [name for name in FITS if name.startswith("completion")]


def name_of(kernel):
    return getattr(kernel, "__name__", type(kernel).__name__)


def parts_of(total):
    return total if isinstance(total, tuple) else (total,)


@pytest.fixture
def seen(monkeypatch):
    """Names of the kernels of all sums, each of which was computed again from copies."""
    compute, names, is_inside = LocalEngine.total, set(), threading.local()

    def total(engine, blocks, kernel, state, **options):
        if getattr(is_inside, "value", False):  # an engine that calls itself
            return compute(engine, blocks, kernel, state, **options)
        is_inside.value = True
        try:
            found = compute(engine, blocks, kernel, state, **options)
            copies = pickle.loads(pickle.dumps((kernel, state)))
            again = compute(LocalEngine(threads=2, block_rows=64), blocks, *copies)
        finally:
            is_inside.value = False
        for part, copy in zip(parts_of(found), parts_of(again), strict=True):
            assert np.array_equal(part, copy), name_of(kernel)
        names.add(name_of(kernel))
        return found

    monkeypatch.setattr(LocalEngine, "total", total)
    return names


@pytest.mark.parametrize("name", SUMMED)
def test_copies_give_the_same_totals(seen, name):
    FITS[name]()
    assert seen


def test_all_sums_of_second_moments_were_there(seen):
    for name in FITS:
        if name.startswith(("pca", "covariance", "low rank")):
            FITS[name]()
    found = {name: getattr(value, "__module__", "") for name, value in vars(second_moment_sums).items()}
    own = {name for name, module in found.items() if module == second_moment_sums.__name__}
    assert seen >= {name for name in own if name.startswith(("sum_", "count_"))}


def test_all_sums_of_completion_were_there(seen):
    for name in COMPLETION:
        FITS[name]()
    sums = {name for name in vars(user_sums) if name.startswith(("sum_", "count_"))}
    # `count_norms` and `sum_squares` are of matrices, `_count_people` of a secret number of users.
    assert seen >= sums | {"SecondMoment", "NormalEquations", "_count_people"}


def test_all_sums_of_trace_regression_were_there(seen):
    for name in FITS:
        if name.startswith("trace"):
            FITS[name]()
    modules = (centers, covariances, means, record_sums)
    found = [(name, value) for module in modules for name, value in vars(module).items()]
    sums = {name for name, value in found if name.startswith(("sum_", "count_")) and callable(value)}
    # `count_finite` is part of others; `count_records` is for streams, whose number of records nobody knows before.
    assert seen >= (sums - {"count_finite", "count_records"}) | {"_count_people"}


class Locked:
    """A kernel that brings a lock of its own."""

    def __init__(self):
        self.lock = threading.Lock()

    new_totals, n_parts = user_sums.SecondMoment.new_totals, user_sums.SecondMoment.n_parts
    prepare, add = user_sums.SecondMoment.prepare, user_sums.SecondMoment.add


def test_a_kernel_that_cannot_travel_is_noticed(seen, monkeypatch):
    monkeypatch.setattr("hushrank.estimators.completion.spectral_ratings.SecondMoment", Locked)
    with pytest.raises(TypeError, match=r"cannot pickle '_thread.lock' object"):
        FITS["completion, spectral, many factors"]()
