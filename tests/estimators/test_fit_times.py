"""Times of fits: as measured, and nothing where nobody measured."""

import pytest

from hushrank.estimators.fit_times import CPU_TIME, measurement_time, rating_time, record_time

# CPU seconds of fits on one thread, with compiled kernels; docs of the module.
RATED = [("spectral", 112_395, 0.16), ("spectral", 472_613, 0.84), ("spectral", 235_561, 0.33), ("als", 443_798, 0.93)]
RECORDED = [(16_000, 10, 0.19), (64_000, 10, 0.59), (16_000, 40, 0.22), (32_000, 100, 0.66), (64_000, 10, 0.34)]
MEASURED = [
    ("dense", 10_000, 8, 0.15), ("dense", 40_000, 8, 0.44), ("dense", 40_000, 30, 3.10),
    ("rank_one", 40_000, 8, 0.45), ("rank_one", 10_000, 30, 0.39), ("rank_one", 40_000, 30, 1.19),
    ("entry", 10_000, 30, 0.18), ("entry", 40_000, 8, 0.42),
]  # fmt: skip


def test_forecasts_are_within_a_factor_of_two_of_what_was_measured():
    forecasts = [(rating_time(n, method), seconds) for method, n, seconds in RATED]
    forecasts += [(record_time(n, d, "gradient"), seconds) for n, d, seconds in RECORDED]
    forecasts += [(measurement_time(n, d, d, design), seconds) for design, n, d, seconds in MEASURED]
    for forecast, seconds in forecasts:
        assert 0.5 <= forecast[CPU_TIME] / seconds <= 2.0


@pytest.mark.parametrize(
    "forecast",
    [rating_time(None, "als"), rating_time(9, "factored_gradient"), rating_time(9, object()),
     record_time(None, 3, "gradient"), record_time(9, 3, "altmin"), record_time(9, 3, object())],
)  # fmt: skip
def test_what_nobody_measured_is_not_told(forecast):
    assert forecast == {}
