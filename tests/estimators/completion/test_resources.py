"""Memory and time of a completion: they grow with every size, by the method, and as a fit decides about factors."""

import math
from dataclasses import replace

import pytest

from hushrank.engine.local import LocalEngine
from hushrank.engine.protocol import SharedKernel
from hushrank.estimators.cluster_times import TIMES
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.options import (
    METHODS,
    AlternatingLeastSquares,
    FactoredGradient,
    Spectral,
    to_options,
)
from hushrank.estimators.completion.resources import RatingWork, cluster_work, fit_resources
from hushrank.estimators.fit_times import CPU_TIME, MEMORY
from hushrank.evaluation.synthetic import synthetic_ratings

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
    assert cluster_work(replace(WORK, options=object())) is None


@pytest.mark.parametrize("method", METHODS)
def test_workers_share_what_one_thread_does(method):
    for kind in ({}, {"is_implicit": True}, {"has_offsets": False}):
        work = replace(WORK, options=to_options(method), **kind)
        asked = cluster_work(work)
        assert asked.shared + asked.alone >= fit_resources(work)[CPU_TIME] and asked.n_rows == work.n_ratings
        for name in SIZES:
            more = cluster_work(replace(work, **{name: 3 * getattr(work, name)}))
            parts = ["alone", "totals", "summed", "blocks", "matrix", "n_matrices", "state", "caller"]
            # Among more items, fewer ratings are of those that have a second moment.
            for part in parts if name == "n_items" else ["shared", *parts]:
                assert getattr(more, part) >= getattr(asked, part), (kind, name, part)


def test_sums_of_items_are_as_large_as_their_factors_or_products():
    wide = replace(WORK, n_items=10**6, n_users=10**7, n_ratings=10**9)
    rated, als = cluster_work(wide), cluster_work(replace(wide, options=AlternatingLeastSquares(sweeps=3)))
    assert rated.totals == 8e6 * 9 and rated.matrix == 8.0 * 8192**2 and rated.n_matrices == 1
    assert als.totals == 8e6 and als.matrix == 8e6 * 36 and als.n_matrices == 3
    assert cluster_work(replace(wide, options=FactoredGradient(start="random"))).matrix == 0.0
    assert rated.blocks == pytest.approx(10**7 / 8192)


def test_what_is_sent_of_a_rating_depends_on_how_many_users_and_items_there_are():
    few = {"n_users": 10**6, "n_items": 10**4}
    for sizes, sent in ((few, 7), ({**few, "n_items": 10**6}, 9), ({**few, "n_users": 10**10}, 11)):
        work = replace(WORK, n_ratings=10**11, **sizes)
        assert (
            cluster_work(work).grouped.moved == sent == cluster_work(replace(work, is_implicit=True)).grouped.moved + 1
        )


ALS = AlternatingLeastSquares()


def test_users_with_many_ratings_have_many_products():
    for n_ratings, options, on_top in ((100, Spectral(), 1.0), (10**6, Spectral(), None), (100, ALS, 0.0)):
        work = replace(WORK, n_ratings=8000 * n_ratings, options=options)
        share = math.log1p(work.n_top) / math.log1p(work.n_items)
        n_products = (work.n_top if on_top is None else on_top * share * n_ratings) ** 2 / 2
        asked = cluster_work(work)
        more = asked.shared + asked.alone - fit_resources(work)[CPU_TIME]  # than lines of users with few ratings say
        assert more == pytest.approx(TIMES.product * 8000 * n_products)


@pytest.mark.parametrize(
    "terms",
    [
        {}, {"method": "als"}, {"method": "factored_gradient"}, {"offsets": False}, {"epsilon": 0.01},
        {"feedback": "implicit", "rating_range": None},
    ],
)  # fmt: skip
def test_the_stated_number_of_passes_is_not_exceeded(terms):
    class Counting(LocalEngine):
        """An engine that counts sums; one with shared totals is a sum of nothing inside of it."""

        readings = 0

        def total(self, source, kernel, state, **options):
            type(self).readings += not isinstance(kernel, SharedKernel)
            return super().total(source, kernel, state, **options)

    given = {"rating_range": (1, 5), "items": 60, "epsilon": 8.0, "delta": 1e-6, **terms}
    model = PrivateCompletion(3, **given, engine=Counting(threads=1))
    model.fit(synthetic_ratings(2000, 60, seed=1, ratings_per_user=30).table())
    sizes = {"n_users": 2000, "n_items": 60}
    releases = model._plan(model._check_parameters(), sizes)
    stated = model._cluster_work(releases, sizes, ratings_per_user=30.0).passes
    assert Counting.readings <= stated <= Counting.readings + 6
