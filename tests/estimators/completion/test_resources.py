"""Memory and time of a completion: they grow with every size, by the method, and as a fit decides about factors."""

from dataclasses import replace

import pytest

from hushrank.estimators.completion.options import (
    METHODS,
    AlternatingLeastSquares,
    FactoredGradient,
    Spectral,
    to_options,
)
from hushrank.estimators.completion.resources import RatingWork, fit_resources
from hushrank.estimators.fit_times import CPU_TIME, MEMORY

WORK = RatingWork(8000, 500, 470_000, 8, 0, 0.5, Spectral())
SIZES = ("n_users", "n_items", "n_ratings", "rank", "n_features", "mu")


@pytest.mark.parametrize("method", METHODS)
def test_nothing_shrinks_where_a_size_grows(method):
    work = replace(WORK, options=to_options(method))
    for kind in ({}, {"is_implicit": True}, {"has_offsets": False}):
        told = fit_resources(replace(work, **kind))
        for name in SIZES:
            more = fit_resources(replace(work, **kind, **{name: 3 * getattr(work, name)}))
            assert more[CPU_TIME] >= told[CPU_TIME] and more[MEMORY] >= told[MEMORY], (kind, name)
        more = fit_resources(replace(work, **kind, n_ratings=10**7))
        assert more[CPU_TIME] > told[CPU_TIME] and more[MEMORY] > 10 * told[MEMORY]


def test_features_take_time_up_to_as_many_as_users_have_slopes_on():
    none, few, many, most = (fit_resources(replace(WORK, n_features=n))[CPU_TIME] for n in (0, 10, 32, 500))
    assert none < few < many == most


def test_few_ratings_make_no_factors():
    few = replace(WORK, n_users=20_000, n_items=3000, n_ratings=545_000, mu=2.0)
    assert few.n_top == 0 and replace(few, n_ratings=3_000_000).n_top > 2000
    assert replace(few, is_implicit=True).n_top > 2000 and replace(few, has_offsets=False).n_top == 3000


def test_options_count():
    sweeps, steps = AlternatingLeastSquares(sweeps=12), FactoredGradient(steps=40)
    for usual, more in ((AlternatingLeastSquares(), sweeps), (FactoredGradient(), steps)):
        times = [fit_resources(replace(WORK, options=options))[CPU_TIME] for options in (usual, more)]
        assert times[1] > 1.5 * times[0]
    wide = replace(WORK, n_items=4000, options=FactoredGradient())
    free = fit_resources(replace(wide, options=FactoredGradient(start="random")))
    assert fit_resources(wide)[MEMORY] > 800.0 > 10 * free[MEMORY]
    assert replace(WORK, has_offsets=False, options=Spectral(top_items=100)).n_top == 100


def test_what_nobody_measured_is_not_told():
    assert fit_resources(replace(WORK, options=object())) == {}
