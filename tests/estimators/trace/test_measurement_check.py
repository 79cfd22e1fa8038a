"""What `PrivateTraceRegression.check` tells about measurements."""

import numpy as np
import pytest

from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(0)
TERMS = {"epsilon": 1.0, "delta": 1e-6}


def test_scales_and_shape_are_those_of_the_estimator():
    x, z, y = RNG.standard_normal((300, 2)), RNG.standard_normal((300, 3)), RNG.standard_normal(300)
    model = PrivateTraceRegression(1, design="rank_one", y_scale=1e6, **TERMS)
    check = model.check((x[:100], z[:100]), y[:100])
    assert dict(check.counts) == {"n_samples": 100, "n_rows": 2, "n_columns": 3}
    assert "100 records, 2 rows, 3 columns" in str(check)
    assert [finding.name for finding in check.findings if finding.level == "problem"] == ["y_scale"]
    assert any("records for this budget" in finding.text for finding in check.findings)  # as `plan` says


def test_refusals_are_those_of_fit():
    model = PrivateTraceRegression(3, design="entry", shape=(4, 2), **TERMS)
    for learn in (model.fit, model.check):
        with pytest.raises(InvalidParameter, match="rank of PrivateTraceRegression must be at most 2"):
            learn((np.zeros(9, int), np.zeros(9, int)), np.zeros(9))
