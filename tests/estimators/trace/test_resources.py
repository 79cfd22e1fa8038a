"""Memory and time of a trace regression: they grow with every size, and every design has a line."""

import pytest

from hushrank.data.records.forms import DESIGNS
from hushrank.estimators.fit_times import CPU_TIME, MEMORY
from hushrank.estimators.trace.resources import LINES, MeasurementWork, fit_resources


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
