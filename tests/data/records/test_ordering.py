"""The canonical order: that of bytes, the same for both precisions, and never slow."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.records.ordering import _RUN, put_in_order

# Numbers whose bits differ though they are equal, or that equal nothing.
ODD = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, float(np.nextafter(np.float32(1), np.float32(2))), 1e-45]
CELLS = st.sampled_from(ODD) | st.floats(width=32)


def ordered(X, y, indptr=None):
    X, y = np.array(X), np.array(y, np.float64)
    put_in_order(np.array([0, len(y)] if indptr is None else indptr), X, y)
    return X, y


def expected(X, y):
    """By plain Python: bytes of X as float64, then y as an integer."""
    with np.errstate(all="ignore"):
        wide = X.astype(np.float64)
    keys = [(row.tobytes(), int(answer)) for row, answer in zip(wide, y.view(np.int64), strict=True)]
    order = sorted(range(len(y)), key=keys.__getitem__)
    return X[order], y[order]


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=3 * _RUN), st.booleans())
@settings(deadline=None)
def test_the_order_is_that_of_bytes(rows, is_single):
    numbers = np.array(rows, np.float64).reshape(-1, 3)
    X, y = numbers[:, :2].astype(np.float32 if is_single else np.float64), numbers[:, 2].copy()
    for found, wanted in zip(ordered(X, y), expected(X, y), strict=True):
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("n", [1, 2, _RUN - 1, _RUN, _RUN + 1, 2 * _RUN, 5 * _RUN + 3, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_runs_are_merged(n, dtype):
    rng = np.random.default_rng(n)
    X, y = rng.integers(0, 3, (n, 3)).astype(dtype), rng.integers(0, 3, n).astype(np.float64)
    for order in (np.arange(n), np.arange(n)[::-1], rng.permutation(n)):
        for found, wanted in zip(ordered(X[order], y[order]), expected(X, y), strict=True):
            assert found.tobytes() == wanted.tobytes()


def test_users_are_sorted_apart():
    X, y = np.arange(10.0, 0, -1).reshape(10, 1), np.arange(10.0)
    indptr = [0, 0, 3, 4, 4, 10, 10]
    found, answers = ordered(X, y, indptr)
    for start, stop in itertools.pairwise(indptr):
        wanted = expected(X[start:stop], y[start:stop])
        assert found[start:stop].tobytes() == wanted[0].tobytes()
        assert answers[start:stop].tobytes() == wanted[1].tobytes()


def test_signaling_numbers_keep_their_bits_and_have_an_order():
    """Two of them may be one number of float64; then y decides, and last the bits."""
    bits = np.array([0x7FA00000, 0x7FE00000, 0x7FA00000, 0x7FE00000], np.uint32)
    y = np.array([2.0, 1.0, 1.0, 2.0])
    results = set()
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(4)
        X, answers = ordered(bits[order].view(np.float32).reshape(4, 1), y[order])
        results.add((X.tobytes(), answers.tobytes()))
    [(X, answers)] = results
    assert np.frombuffer(answers).tolist() == [1, 1, 2, 2]
    assert np.frombuffer(X, np.uint32).tolist() == [0x7FA00000, 0x7FE00000] * 2


@pytest.mark.parametrize("kind", ["equal", "falling", "two"])
def test_many_records_take_no_time(kind):
    """A quadratic sort of 2 10^5 records would take minutes."""
    n = 200_000
    X, y = np.ones((n, 4), np.float32), np.zeros(n)
    if kind == "falling":
        X[:, 3] = -np.arange(n)
    if kind == "two":
        y[::2] = 1.0
    ordered(X[:99], y[:99])  # compiles
    start = time.perf_counter()
    ordered(X, y)
    assert time.perf_counter() - start < 5


def test_nothing_to_sort():
    assert len(ordered(np.empty((0, 3)), [])[1]) == 0
    put_in_order(np.zeros(1, np.int64), np.empty((0, 3)), np.empty(0))
