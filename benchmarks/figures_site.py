"""Draw the figures of docs/index.md and docs/benchmarks.md for figures.py, from what benchmarks have recorded."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.pyplot import subplots

OURS, LIMIT, OTHER, FAINT = "#0072B2", "#000000", "#D55E00", "#999999"
SMALL = (4.0, 2.7)
RADII = {
    "private, center": ("private radius and center", OURS, "o", "-"),
    "private": ("private radius", "#56B4E9", "^", "-"),
    "public": ("stated bound alone", OTHER, "s", "--"),
    "public, center": ("stated bound, center", "#CC79A7", "x", "--"),
}
RIVALS = {
    "gradient (default)": ("gradient (default)", OURS, "o", "-"),
    "altmin": ("altmin", "#56B4E9", "^", "-"),
    "altmin, form of the paper": ("altmin, form of the paper", "#CC79A7", "v", "-"),
    "FedRep as published": ("FedRep as published (not private)", OTHER, "s", "--"),
    "FedRep, private start": ("FedRep, private start", "#E69F00", "D", "--"),
    "altmin as published": ("altmin as published (not private)", LIMIT, "+", "--"),
}


def home_components(recorded: list[dict[str, Any]]) -> Figure:
    """Digits at delta = 1e-6: the default with a center beside the stated bound alone."""
    found = {series["method"]: series for series in recorded if series["delta"] > 0}
    figure, axes = subplots(figsize=SMALL, layout="constrained")
    _line(axes, found["private, center"], OURS, "o-", "hushrank")
    _line(axes, found["public"], OTHER, "s--", "bound alone")
    _epsilons(axes, found["public"]["epsilon"], "epsilon (one row)")
    axes.set(ylim=(0.0, 1.03), ylabel="variance captured")
    axes.legend(loc="lower right")
    return figure


def home_recommenders(recorded: list[dict[str, Any]]) -> Figure:
    """MovieLens-1M: the default between item means and no privacy."""
    figure, axes = subplots(figsize=SMALL, layout="constrained")
    _movielens(axes, recorded)
    axes.legend(loc="upper right")
    return figure


def home_personalization(recorded: list[dict[str, Any]]) -> Figure:
    """Errors over those of the truth."""
    figure, axes = subplots(figsize=SMALL, layout="constrained")
    found = {series["method"]: series for series in recorded}
    truth = found["oracle"]["mean"]
    shown = {"gradient (default)": ("hushrank", OURS, "o-"), "FedRep, private start": ("FedRep, private", OTHER, "s--")}
    for method, (words, color, line) in shown.items():
        series = found[method]
        axes.plot(series["epsilon"], np.divide(series["mean"], truth), line, color=color, label=words, markersize=5)
    axes.axhline(found["local ridge"]["mean"] / truth, color=FAINT, linestyle=":", label="each user alone")
    axes.axhline(1.0, color=LIMIT, linewidth=1, label="the truth")
    _epsilons(axes, series["epsilon"], "epsilon (one user)")
    axes.set(yscale="log", ylabel="error over the best", ylim=(0.5, 3e6))
    axes.legend(loc="upper right", ncols=2, fontsize=9)
    return figure


def home_trace(recorded: list[dict[str, Any]]) -> Figure:
    """Error against the number of records."""
    figure, axes = subplots(figsize=SMALL, layout="constrained")
    found = {series["method"]: series for series in recorded}
    shown = {
        "full-matrix descent": ("noise on the full matrix", OTHER, "s--"),
        "ours": ("hushrank", OURS, "o-"),
        "without privacy": ("without privacy", LIMIT, "D-"),
    }
    for method, (words, color, line) in shown.items():
        axes.plot(found[method]["x"], found[method]["mean"], line, color=color, label=words, markersize=5)
    axes.set(xscale="log", yscale="log", xlabel="records (epsilon = 0.3)", ylabel="error")
    ticks = found["ours"]["x"]
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.legend(loc="upper right")
    return figure


def home_streams(recorded: list[dict[str, Any]]) -> Figure:
    """The default sketch between the whole matrix and the answer zero, for a planted matrix."""
    figure, axes = subplots(figsize=SMALL, layout="constrained")
    found = {series["kind"]: series for series in recorded if series["data"].startswith("planted")}
    _line(axes, found["two_sketch"], OURS, "o-", "sketch (a tenth of the space)")
    _line(axes, found["full"], LIMIT, "D-", "whole matrix kept")
    axes.axhline(found["full"]["zero"], color=FAINT, linestyle=":", label="answer zero")
    _epsilons(axes, found["full"]["epsilon"], "epsilon (one change)")
    axes.set(yscale="log", ylim=(0.95, 16.0), ylabel="error over the best")
    axes.yaxis.set_major_locator(ticker.FixedLocator([1, 1.5, 2, 3, 5]))
    axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.legend(loc="upper right")
    return figure


def movielens_1m(recorded: list[dict[str, Any]]) -> Figure:
    """Errors of held-out ratings of MovieLens-1M."""
    return _large_movielens(recorded)


def movielens_100k(recorded: list[dict[str, Any]]) -> Figure:
    """Errors of held-out ratings of MovieLens-100K."""
    return _large_movielens(recorded)


def captured_digits(recorded: list[dict[str, Any]]) -> Figure:
    """What a private radius and a private center are worth, for pure and for Gaussian noise."""
    figure, panels = subplots(1, 2, figsize=(9.0, 4.2), sharey=True, layout="constrained")
    for axes, delta in zip(panels, sorted({series["delta"] for series in recorded}), strict=True):
        found = {series["method"]: series for series in recorded if series["delta"] == delta}
        for method, (words, color, marker, line) in RADII.items():
            _line(axes, found[method], color, marker + line, words)
        _epsilons(axes, found["public"]["epsilon"], "epsilon (replace one row)")
        axes.set(ylim=(0.0, 1.03), title=f"digits, 1797 x 64, delta = {delta:g}")
    panels[0].set_ylabel("top-5 variance captured")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def captured_row_norm(recorded: list[dict[str, Any]]) -> Figure:
    """What a bound that is stated too large costs."""
    figure, axes = subplots(figsize=(6.4, 3.8), layout="constrained")
    found = {series["method"]: series for series in recorded}
    for method, (words, color, marker, line) in RADII.items():
        series = found[method]
        errors = 2 * np.array(series["standard_error"])
        axes.errorbar(series["factor"], series["mean"], errors, color=color, marker=marker, linestyle=line, label=words)
    _epsilons(axes, series["factor"], "row_norm over the longest row (digits, epsilon = 1, delta = 1e-06)")
    axes.set(ylim=(0.0, 1.03), ylabel="top-5 variance captured")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def personalization(recorded: list[dict[str, Any]]) -> Figure:
    """Errors over that of the truth, and what users reach alone."""
    figure, axes = subplots(figsize=(7.4, 4.6), layout="constrained")
    found = {series["method"]: series for series in recorded}
    truth = found["oracle"]["mean"]
    for method, (words, color, marker, line) in RIVALS.items():
        series = found[method]
        look = {"color": color, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.4}
        axes.plot(series["epsilon"], np.divide(series["mean"], truth), label=words, **look)
    axes.axhline(found["local ridge"]["mean"] / truth, color=FAINT, linestyle=":", label="each user alone")
    axes.axhline(1.0, color=LIMIT, linewidth=1, label="with the true directions")
    _epsilons(axes, series["epsilon"], "epsilon (replace one user, delta = 1e-6)")
    axes.set(yscale="log", ylabel="mean squared error over the best")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _large_movielens(recorded: list[dict[str, Any]]) -> Figure:
    figure, axes = subplots(figsize=(6.4, 3.8), layout="constrained")
    _movielens(axes, recorded)
    axes.set_xlabel("epsilon (replace one user, delta = 1e-6)")
    axes.set_ylabel("root mean squared error of held-out ratings")
    axes.legend(loc="upper right")
    return figure


def _movielens(axes: Axes, recorded: list[dict[str, Any]]) -> None:
    """Errors of the default, of private item means and offsets, and without privacy."""
    [found] = recorded
    look = {"markersize": 5, "linewidth": 1.4}
    axes.plot(found["epsilon"], found["baseline"], "s--", color=OTHER, label="item means and offsets", **look)
    axes.plot(found["epsilon"], found["default"], "o-", color=OURS, label="hushrank", **look)
    axes.axhline(found["without"], color=LIMIT, linewidth=1, label="without privacy")
    _epsilons(axes, found["epsilon"], "epsilon (one user)")
    axes.set_ylabel("error (stars)")


def _line(axes: Axes, series: dict[str, Any], color: str, line: str, label: str) -> None:
    """Means with two standard errors either way."""
    errors = 2 * np.array(series["standard_error"])
    look = {"color": color, "markersize": 5, "linewidth": 1.4, "label": label}
    axes.errorbar(series["epsilon"], series["mean"], errors, fmt=line, **look)


def _epsilons(axes: Axes, ticks: Sequence[float], label: str) -> None:
    axes.set(xscale="log", xlabel=label)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(ticker.NullLocator())


FIGURES = {
    home_components: "second_moment_epsilon",
    home_recommenders: "movielens_ml1m",
    home_personalization: "personalization",
    home_trace: "trace_records",
    home_streams: "stream_epsilon",
    movielens_1m: "movielens_ml1m",
    movielens_100k: "movielens_ml100k",
    captured_digits: "second_moment_epsilon",
    captured_row_norm: "second_moment_row_norm",
    personalization: "personalization",
}
TITLES = {
    "home_components": "Variance captured by five private components of 1797 images, against epsilon",
    "home_recommenders": "Error of a private recommender of MovieLens-1M against epsilon",
    "home_personalization": "Error of private personal models over that of the best possible, against epsilon",
    "home_trace": "Error of private trace regression against the number of records",
    "home_streams": "Error of a private factorization of a stream against epsilon",
    "movielens_1m": "Error of held-out ratings of MovieLens-1M against epsilon",
    "movielens_100k": "Error of held-out ratings of MovieLens-100K against epsilon",
    "captured_digits": "Variance captured with and without a private radius and center, against epsilon",
    "captured_row_norm": "Variance captured against how far the stated bound is too large",
    "personalization": "Error of private personal models over that of the best possible, for six methods",
}
