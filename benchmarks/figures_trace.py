"""Draw the figures of docs/guide/trace.md for figures.py, from what trace_series.py has measured."""

from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.pyplot import subplots

LOOKS = {
    "ours": ("PrivateTraceRegression", "#0072B2", "o", "-"),
    "without privacy": ("without privacy", "#000000", "D", "-"),
    "full-matrix descent": ("noise on the full matrix", "#E69F00", "^", "-"),
    "the paper's, not private": ("calibrated as in the paper (not private)", "#D55E00", "s", "--"),
}
LINES = {
    "forecast": ("forecast of plan()", "#0072B2", (0, (1, 1.5))),
    "answer zero": ("answer zero", "#999999", ":"),
}


def trace_records(recorded: list[dict[str, Any]]) -> Figure:
    """Error against the number of records."""
    return _panels(recorded, "number of records (epsilon = 0.3)", -1.0)


def trace_epsilon(recorded: list[dict[str, Any]]) -> Figure:
    """Error against epsilon."""
    return _panels(recorded, "epsilon (60,000 records)", -1.0)


def trace_parameters(recorded: list[dict[str, Any]]) -> Figure:
    """Error against the number of parameters of the matrix."""
    return _panels(recorded, "r (d\u2081 + d\u2082 - r) (60,000 records, epsilon = 0.3)", 1.0)


def _panels(recorded: list[dict[str, Any]], label: str, power: float) -> Figure:
    """All errors, and beside them what privacy adds to ours."""
    found = {series["method"]: series for series in recorded}
    figure, (errors, part) = subplots(1, 2, figsize=(9.0, 4.4), layout="constrained")
    for name, (words, color, marker, line) in LOOKS.items():
        look = {"color": color, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.4}
        series = found[name]
        errors.errorbar(series["x"], series["mean"], yerr=2 * np.array(series["standard_error"]), label=words, **look)
    for name, (words, color, line) in LINES.items():
        errors.plot(found[name]["x"], found[name]["mean"], color=color, linestyle=line, linewidth=1.2, label=words)
    errors.set(title="error", ylabel="Frobenius norm of the error")
    _privacy_part(part, found, power)
    ticks = found["ours"]["x"]
    for axes in (errors, part):
        axes.set(xscale="log", yscale="log", xlabel=label)
        axes.set_xticks(ticks, [f"{tick:,g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
        axes.xaxis.set_minor_locator(ticker.NullLocator())
    figure.legend(*errors.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _privacy_part(axes: Axes, found: dict[str, dict[str, Any]], power: float) -> None:
    """Measured, as forecast, and a line of the slope of the theory through the middle of what was measured."""
    series, expected = found["privacy part"], found["forecast of the privacy part"]
    color = LOOKS["ours"][1]
    slope = f"measured, slope {series['slope']:.2f} \u00b1 {series['slope_error']:.2f}"
    axes.plot(series["x"], series["mean"], "o-", color=color, markersize=5, linewidth=1.4, label=slope)
    axes.plot(expected["x"], expected["mean"], color=color, linestyle=(0, (1, 1.5)), linewidth=1.2, label="forecast")
    x, level = np.array(series["x"], float), np.exp(np.mean(np.log(series["mean"])))
    line = level * (x / np.exp(np.mean(np.log(x)))) ** power
    axes.plot(x, line, color="#999999", linestyle="--", linewidth=1, label=f"slope {power:g}")
    axes.set(title="what privacy adds to it")
    axes.legend(loc="best")


FIGURES = {
    trace_records: "trace_records",
    trace_epsilon: "trace_epsilon",
    trace_parameters: "trace_parameters",
}
TITLES = {
    "trace_records": "Error of private trace regression against the number of records",
    "trace_epsilon": "Error of private trace regression against epsilon",
    "trace_parameters": "Error of private trace regression against the number of parameters of the matrix",
}
