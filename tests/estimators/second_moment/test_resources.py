"""Memory and time of a fit: they grow with what is computed, and memory is an upper bound of what is measured."""

import dataclasses
import tracemalloc

import numpy as np
import pytest

from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.resources import Work, cluster_work, fit_resources, memory_bytes, seconds

WORK = Work(n_features=1000, width=200, passes=3, is_complex=False, is_pure=False, is_drawn=False)


def changed(**fields):
    return dataclasses.replace(WORK, **fields)


def test_memory_grows_with_columns_threads_and_pure_noise_and_not_with_rows():
    assert memory_bytes(changed(width=400), 2) > memory_bytes(WORK, 2)
    assert memory_bytes(WORK, 8) > memory_bytes(WORK, 2)
    assert memory_bytes(changed(is_pure=True), 2) > memory_bytes(WORK, 2)
    few, many = (fit_resources(n, WORK)["memory beyond the rows (MB)"] for n in (10, 10**9))
    assert few == many < memory_bytes(WORK, 2) / 1e6  # which also has blocks that must be converted


def test_complex_columns_count_twice():
    assert memory_bytes(changed(is_complex=True), 2) == memory_bytes(changed(width=400), 2)
    assert seconds(1000, changed(is_complex=True)) == pytest.approx(seconds(1000, changed(width=400)))


def test_time_grows_with_rows_columns_and_passes():
    base = seconds(10**6, WORK)
    for more in (changed(n_features=3000), changed(width=300), changed(passes=9)):
        assert seconds(10**6, more) > base
    assert seconds(2 * 10**6, WORK) == pytest.approx(2 * base, rel=0.01)
    assert fit_resources(10**6, WORK)["CPU time, about (s)"] == base
    assert "CPU time, about (s)" not in fit_resources(10**6, changed(is_drawn=True))  # it depends on the data


@pytest.mark.parametrize(
    ("terms", "pure"),
    [
        ({}, 2),
        ({"center": "private"}, 5),
        ({"standardize": "private"}, 4),
        ({"radius": "public"}, 1),
        ({"radius": "public", "center": "private"}, 2),
    ],
)
def test_the_stated_number_of_readings_is_not_exceeded(terms, pure):
    """A center that is bought, on rows whose mean is far: with Laplace noise it takes a sum more."""

    class Counting(LocalEngine):
        """An engine that counts sums."""

        readings = 0

        def total(self, *args, **kwargs):
            type(self).readings += 1
            return super().total(*args, **kwargs)

    X = np.random.default_rng(0).standard_normal((400, 3)) + 9.0
    for delta in (0.0, 1e-6):
        Counting.readings = 0
        model = PrivateCovariance(row_norm=20.0, epsilon=20.0, delta=delta, engine=Counting(threads=1), **terms)
        stated = model.plan((400, 3)).resources["times the rows are read"]
        model.fit(X)
        assert Counting.readings == stated
        assert delta or stated == pure


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", ["covariance", "pca"])
def test_stated_memory_is_not_exceeded(delta, kind):
    X, terms = np.zeros((3000, 400)), {"row_norm": 1.0, "epsilon": 1.0, "delta": delta, "center": "private"}
    terms["engine"] = LocalEngine(threads=1)
    model = PrivateCovariance(**terms) if kind == "covariance" else PrivatePCA(5, **terms)
    model.fit(X[:50, :9])  # compile first
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= memory_bytes(model._work(400), 1) < 30 * peak


def test_workers_share_what_one_thread_does():
    asked = cluster_work(10**6, WORK)
    assert asked.shared + asked.alone == pytest.approx(seconds(10**6, WORK)) and asked.alone < 0.1 * asked.shared
    assert cluster_work(2 * 10**6, WORK) == dataclasses.replace(asked, n_rows=2 * 10**6, shared=2 * asked.shared)
    assert asked.passes == 3 and asked.totals == 8.0 * 200**2 and asked.grouped is None
    twice = cluster_work(10**6, changed(is_complex=True))
    assert twice.n_numbers == 2 * asked.n_numbers and twice.totals == 4 * asked.totals
    assert cluster_work(10**6, changed(is_drawn=True)).alone is None  # it depends on the data
