"""Memory and time of a trace regression: they grow with every size, and every design has a line."""

import pytest

from hushrank.data.records.forms import DESIGNS
from hushrank.estimators.fit_times import CPU_TIME, MEMORY
from hushrank.estimators.trace.resources import LINES, MeasurementWork, cluster_work, fit_resources


def test_every_design_has_a_line():
    assert set(LINES) == set(DESIGNS)


@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_shrinks_where_a_size_grows(design):
    work = MeasurementWork(10_000, 30, 20, 2, design)
    told = fit_resources(work, 1)
    for name in ("n_samples", "n_rows", "n_columns", "rank"):
        more = fit_resources(work._replace(**{name: 3 * getattr(work, name)}), 1)
        assert more[CPU_TIME] >= told[CPU_TIME] and more[MEMORY] >= told[MEMORY], name
    assert fit_resources(work._replace(n_samples=10**7), 1)[CPU_TIME] > 20 * told[CPU_TIME]
    assert fit_resources(work, 4)[MEMORY] >= told[MEMORY]


def test_blocks_bound_the_memory_of_many_records_and_the_matrix_that_of_few():
    many = MeasurementWork(10**8, 60, 60, 2, "dense")
    assert fit_resources(many, 1)[MEMORY] < 50.0 < fit_resources(many, 2)[MEMORY]
    assert fit_resources(MeasurementWork(10, 4000, 4000, 2, "entry"), 1)[MEMORY] > 6 * 8 * 16.0


@pytest.mark.parametrize("design", LINES)
def test_workers_share_what_one_thread_does(design):
    work = MeasurementWork(10**5, 40, 30, 2, design)
    asked, longer = cluster_work(work, 8), cluster_work(work, 16)
    assert asked.shared + asked.alone == pytest.approx(fit_resources(work, 1)[CPU_TIME])
    assert longer.passes == asked.passes + 16 and longer.shared == asked.shared  # steps of a fit stop by themselves
    for name in ("n_samples", "n_rows", "n_columns", "rank"):
        more = cluster_work(work._replace(**{name: 3 * getattr(work, name)}), 8)
        for part in ("shared", "alone", "totals", "summed", "state", "caller", "n_numbers"):
            assert getattr(more, part) >= getattr(asked, part), (name, part)
    assert asked.n_numbers == work.numbers + 1 and asked.totals == 8 * 1200 and asked.grouped is None
