"""Means of many fits with their standard errors, as the tables of results show them."""

import math
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple


class Mean(NamedTuple):
    """A mean of independent values and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.3f} +- {self.error:.3f}"

    def less(self, other: "Mean") -> "Mean":
        """The difference to a mean of other values, independent of these."""
        return Mean(self.value - other.value, math.hypot(self.error, other.error))


def mean_of(call: Callable[[], float], fits: int) -> Mean:
    """Mean of a number that each of many fits gives."""
    values = [call() for _ in range(fits)]
    return Mean(statistics.fmean(values), statistics.stdev(values) / math.sqrt(fits))


def share_of(hits: float, total: float, squares: float | None = None) -> Mean:
    """Share of hits; `squares` is the sum of squared deviations where hits come in groups, else each is on its own."""
    if not total:
        return Mean(math.nan, math.nan)
    share = hits / total
    return Mean(share, math.sqrt(share * (1 - share) / total if squares is None else squares / total**2))


def verdict(is_kept: bool) -> str:
    """Whether a limit is kept."""
    return "ok" if is_kept else "MISSED"


def recorded_series(found: list[Mean], **terms: Any) -> dict[str, Any]:
    """Means and errors as `recorded.save` takes them."""
    means, errors = zip(*found, strict=True)
    return {**terms, "mean": [round(m, 5) for m in means], "standard_error": [round(e, 5) for e in errors]}
