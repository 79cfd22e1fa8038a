"""Draw the figures of docs/guide/streams.md for figures.py, from what turnstile_series.py has measured."""

from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.pyplot import subplots

LOOKS = {
    "full": ("full", "#000000", "D", "-"),
    "two_sketch": ("two_sketch (default)", "#0072B2", "o", "-"),
    "three_sketch": ("three_sketch", "#E69F00", "^", "-"),
    "figure3": ("figure3, as printed", "#D55E00", "s", "--"),
    "figure1": ("figure1, as printed", "#CC79A7", "x", "--"),
}


def stream_space(recorded: list[dict[str, Any]]) -> Figure:
    """Error against the size of the state, a panel for each matrix; the whole matrix is one point."""
    figure, panels = _panels(recorded, "words", "integers kept (64 bits each)")
    panels[0].set_ylabel("error, best matrix of rank 10 = 1")
    return figure


def stream_epsilon(recorded: list[dict[str, Any]]) -> Figure:
    """Error against epsilon at one size."""
    figure, panels = _panels(recorded, "epsilon", "epsilon (one change of norm 1, delta = 1e-6)")
    for axes in panels:
        ticks = recorded[0]["epsilon"]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.xaxis.set_minor_locator(ticker.NullLocator())
    panels[0].set_ylabel("error, best matrix of rank 10 = 1")
    return figure


def _panels(recorded: list[dict[str, Any]], x: str, label: str) -> tuple[Figure, list[Axes]]:
    names = list(dict.fromkeys(series["data"] for series in recorded))
    figure, panels = subplots(1, len(names), figsize=(9.0, 4.2), layout="constrained")
    for axes, name in zip(panels, names, strict=True):
        own = [series for series in recorded if series["data"] == name]
        largest = max(own[0]["zero"], *(mean for series in own for mean in series["mean"]))
        for series in own:
            _curve(axes, series, x)
        axes.axhline(own[0]["zero"], color="#999999", linestyle=":", linewidth=1.2, label="answer zero")
        axes.set(
            xscale="log",
            yscale="log",
            title=name,
            xlabel=label,
            ylim=(0.97, 1.1 * largest),
        )
        axes.yaxis.set_major_locator(ticker.FixedLocator([1, 1.2, 1.5, 2, 3, 5, 8]))
        axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axes.yaxis.set_minor_locator(ticker.NullLocator())
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure, list(panels)


def _curve(axes: Axes, series: dict[str, Any], x: str) -> None:
    label, color, marker, line = LOOKS[series["kind"]]
    look = {"color": color, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.4}
    axes.errorbar(series[x], series["mean"], yerr=2 * np.array(series["standard_error"]), label=label, **look)
    if series["kind"] == "two_sketch":
        axes.plot(series[x], series["predicted"], color=color, linestyle=(0, (1, 1.5)), linewidth=1.2, label="formula")


def stream_graph(recorded: list[dict[str, Any]]) -> Figure:
    """A graph as it comes, the same sorted by communities that were found privately, and its hubs."""
    [found] = recorded
    figure, (before, after, hubs) = subplots(1, 3, figsize=(9.6, 3.5), layout="constrained")
    largest = max(np.max(found["sorted"]), np.max(found["unsorted"]))
    for axes, name, title in (
        (before, "unsorted", "edges, nodes as numbered"),
        (after, "sorted", "by private community"),
    ):
        axes.imshow(found[name], cmap="Greys", vmin=0.0, vmax=largest, interpolation="nearest")
        axes.set(title=title, xlabel="to", ylabel="from", xticks=[], yticks=[])
        axes.grid(visible=False)
    limit = 1.08 * max(max(found["in_degrees"]), *(max(found[kind]) for kind in ("full", "two_sketch")))
    hubs.plot([0, limit], [0, limit], color="#999999", linewidth=1)
    for kind in ("two_sketch", "full"):
        color, marker = LOOKS[kind][1:3]
        hubs.plot(
            found["in_degrees"], found[kind], marker, color=color, markersize=4, markerfacecolor="none", label=kind
        )
    hubs.set(title="hubs", xlabel="true number of incoming edges", ylabel="private estimate")
    hubs.set(xlim=(0, limit), ylim=(min(0.0, *found["full"], *found["two_sketch"]), limit))
    hubs.legend(loc="upper left")
    return figure


FIGURES = {stream_space: "stream_space", stream_epsilon: "stream_epsilon", stream_graph: "stream_graph"}
TITLES = {
    "stream_space": "Error of a private factorization of a stream against the space of its sketch",
    "stream_epsilon": "Error of a private factorization of a stream against epsilon",
    "stream_graph": "Communities and hubs of a directed graph, found from a stream of edges with one edge hidden",
}
