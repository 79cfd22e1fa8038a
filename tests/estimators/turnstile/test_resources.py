"""Memory and time of a sketch: they grow with every size, and what a plan tells does not depend on updates."""

import pytest

from hushrank.estimators.fit_times import CPU_TIME, MEMORY
from hushrank.estimators.turnstile import elsewhere, resources
from hushrank.estimators.turnstile.layout import KINDS, OPERATORS
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.estimators.turnstile.resources import FACTORIZATION_TIME, UPDATE_TIME, cluster_work, stream_resources
from hushrank.estimators.turnstile.sketch import TurnstileSketch

TERMS = {"shape": (3000, 2000), "rank": 5, "epsilon": 1.0, "delta": 1e-6}


def told(n_updates=10**5, **terms):
    sketch = TurnstilePlanner(**{**TERMS, **terms})
    return stream_resources(sketch._work(sketch._plan(sketch._check_parameters(), {})), n_updates)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_shrinks_where_a_size_grows(kind):
    for operator in OPERATORS if kind != "full" else ("auto",):
        terms = {"kind": kind, "operator": operator}
        usual = told(**terms)
        larger = (told(shape=(9000, 2000), **terms), told(shape=(3000, 6000), **terms), told(rank=15, **terms))
        for more in (*larger, told(10**6, **terms)):
            assert all(more[name] >= usual[name] for name in usual)
        assert told(10**8, **terms)[CPU_TIME] > 5 * usual[CPU_TIME]


def test_a_total_is_updates_and_a_factorization():
    found = told(10**6)
    total = 1e-6 * 10**6 * found[UPDATE_TIME] + found[FACTORIZATION_TIME]
    assert found[CPU_TIME] == pytest.approx(total)
    assert told(10**6, kind="three_sketch", operator="gaussian")[CPU_TIME] > total  # products of a dense core


def test_batches_bound_the_memory_of_many_updates():
    assert told(2**22)[MEMORY] == told(2**40)[MEMORY] > told(2**20)[MEMORY]
    assert told(10**6, unit="user")[MEMORY] > told(10**6)[MEMORY]
    assert told(0, integers="int32")[MEMORY] == told(0)[MEMORY]  # a release has numbers of 8 bytes


def test_a_check_counts_updates_and_a_plan_does_not():
    sketch = TurnstileSketch(**TERMS)
    check = sketch.check([1, 2], [1, 2], [1.0, 1.0]).resources
    plan = sketch.plan(n_updates=10**9).resources
    assert plan == sketch.plan(n_updates=2).resources and CPU_TIME not in plan
    assert set(check) == {*plan, CPU_TIME} and check[FACTORIZATION_TIME] == plan[FACTORIZATION_TIME]


def asked(n_updates=10**6, **terms):
    sketch = TurnstilePlanner(**{**TERMS, **terms})
    return cluster_work(sketch._work(sketch._plan(sketch._check_parameters(), {})), n_updates)


@pytest.mark.parametrize("kind", KINDS)
def test_workers_share_what_one_thread_does(kind):
    one = asked(kind=kind)
    assert one.shared + one.alone == pytest.approx(told(10**6, kind=kind)[CPU_TIME])
    assert one.alone == told(kind=kind)[FACTORIZATION_TIME] and one.passes == 1 and one.grouped is None
    counted = asked(kind=kind, unit="user")
    assert counted.shared > one.shared and counted.passes == 2 and counted.grouped is not None


def test_large_states_are_made_once_a_worker():
    assert resources._SMALL_STATE_BYTES == elsewhere.SMALL_STATE_BYTES
    small, large = asked(), asked(shape=(10**6, 10**5))
    assert small.totals > 0.0 == small.matrix and large.matrix > 2**26 and large.totals == 0.0
    narrow = asked(shape=(10**6, 10**5), integers="int32")
    assert narrow.matrix == large.matrix  # sums are of 8 bytes
