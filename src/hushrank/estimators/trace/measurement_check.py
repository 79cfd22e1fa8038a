"""What `PrivateTraceRegression.check` tells the data holder about measurements, and nobody else. NOT PRIVATE."""

from typing import Any

from hushrank.data.findings import Check, Look
from hushrank.data.records.checking import Scales, look_at_measurements
from hushrank.estimator import PrivateEstimator


class MeasurementCheck(PrivateEstimator):
    """The part of an estimator of measurements that looks at them without spending anything."""

    x_scale: float
    y_scale: float

    def check(self, X: Any, y: Any = None) -> Check:
        """Try `fit` on these records without spending anything, see `PrivateEstimator.check`. NOT PRIVATE."""
        return self._check_data(X, y)

    def _look(self, source: Any, releases: Any) -> Look:
        return look_at_measurements(source, Scales(float(self.x_scale), float(self.y_scale)))
