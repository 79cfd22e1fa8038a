"""Memory and time of a shared representation: they grow with every size, and with the options of the methods."""

from dataclasses import replace

import pytest

from hushrank.estimators.fit_times import CPU_TIME, MEMORY
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.options import METHODS, AlternatingMinimization, GradientSteps, to_options
from hushrank.estimators.personalization.resources import RecordWork, cluster_work, fit_resources

WORK = RecordWork(2000, 20, 16_000, 2, GradientSteps())


@pytest.mark.parametrize("method", METHODS)
def test_nothing_shrinks_where_a_size_grows(method):
    work = replace(WORK, options=to_options(method))
    for is_logistic in (False, True):
        told = fit_resources(replace(work, is_logistic=is_logistic))
        for name in ("n_users", "n_features", "n_records", "n_components"):
            more = fit_resources(replace(work, is_logistic=is_logistic, **{name: 3 * getattr(work, name)}))
            assert more[CPU_TIME] >= told[CPU_TIME] and more[MEMORY] >= told[MEMORY], name
        assert fit_resources(replace(work, n_records=10**6))[MEMORY] > 10 * told[MEMORY]


@pytest.mark.parametrize(
    ("usual", "more"),
    [
        (GradientSteps(), GradientSteps(steps=20)),
        (AlternatingMinimization(), AlternatingMinimization(steps=12)),
        (ExponentialSelection(), ExponentialSelection(rounds=20)),
        (ExponentialSelection(), ExponentialSelection(candidates=5000)),
    ],
)
def test_options_count(usual, more):
    times = [fit_resources(replace(WORK, options=options))[CPU_TIME] for options in (usual, more)]
    assert times[1] > 1.5 * times[0]


def test_many_unknowns_of_normal_equations_need_memory():
    wide = replace(WORK, n_features=300, n_components=10, options=AlternatingMinimization())
    assert fit_resources(wide)[MEMORY] > 8.0 * 8 * 3000**2 / 1e6


def test_what_nobody_measured_is_not_told():
    assert fit_resources(replace(WORK, options=object())) == {}
    assert cluster_work(replace(WORK, options=object())) is None


@pytest.mark.parametrize("method", METHODS)
def test_workers_share_what_one_thread_does(method):
    for is_logistic in (False, True):
        work = replace(WORK, options=to_options(method), is_logistic=is_logistic)
        asked = cluster_work(work)
        assert asked.shared + asked.alone == pytest.approx(fit_resources(work)[CPU_TIME])
        assert asked.shared > asked.alone or method == "exponential"
        for name in ("n_users", "n_features", "n_records", "n_components"):
            more = cluster_work(replace(work, **{name: 3 * getattr(work, name)}))
            for part in ("shared", "alone", "totals", "summed", "state", "block", "caller", "n_numbers"):
                assert getattr(more, part) >= getattr(asked, part), (name, part)


def test_passes_are_those_of_a_fit():
    """As many as `engine.total` was called in fits with the defaults."""
    passes = {method: cluster_work(replace(WORK, options=to_options(method))).passes for method in METHODS}
    assert passes == {"gradient": 26, "altmin": 20, "exponential": 6}
    assert cluster_work(replace(WORK, options=GradientSteps(steps=7))).passes == 29
