"""Draw the figures of the docs into docs/images; needs `pip install 'hushrank[figures]'`.

Charts come from benchmarks/results.json, the picture of joint privacy is that of the reports. The files have the same
bytes for the same numbers and the same matplotlib: no date, no random names.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import figures_site
import figures_trace
import figures_turnstile
from hushrank.report.picture import joint_privacy_file
from recorded import load

IMAGES = Path(__file__).parent.parent / "docs" / "images"
STYLE = {
    "svg.hashsalt": "hushrank",
    "svg.fonttype": "none",  # text stays text: small files, and readers of the page can search it
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    # Opaque, so that dark pages show dark lines on white as light pages do.
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}
# Colors that people who do not tell red from green can tell apart (Okabe and Ito), and markers for print.
LOOKS = {
    "Gaussian, delta = 1e-6": ("#999999", "D", "-"),
    "two-sided Wishart (default)": ("#0072B2", "o", "-"),
    "Wishart as published (not private)": ("#56B4E9", "x", ":"),
    "exponential, real": ("#D55E00", "s", "-"),
    "exponential, complex": ("#E69F00", "^", "-"),
    "exponential, sequential": ("#CC79A7", "v", "-"),
    "entrywise Laplace": ("#000000", "+", "--"),
}
PANELS = {
    "power law, n = 20000, d = 50": "power law, 20000 rows, 50 columns",
    "digits, n = 1797, d = 64": "digits, 1797 rows, 64 columns",
}
COMPLETION_LOOKS = {
    "default": ("#0072B2", "o", "-"),
    "factored gradient": ("#E69F00", "^", "-"),
    "DPLMC as published": ("#D55E00", "s", "--"),
    "DPALS as published": ("#000000", "+", "--"),
}
TITLES = {
    "completion_noisy": "Error of private matrix completion against epsilon, noisy data: after Figure 1",
    "completion_noiseless": "Error of private matrix completion against epsilon, exact data: after Figure 2",
    "completion_rank": "Error of private matrix completion against the rank: after Figure 3",
    "captured_variance": "Variance captured by five private components against epsilon, for every mechanism",
    "crossover": "Captured share of a strong direction against its strength r: exponential mechanism and Wishart noise",
    **figures_turnstile.TITLES,
    **figures_trace.TITLES,
    **figures_site.TITLES,
}


def error_bars(axes: Axes, x: Any, series: dict[str, Any], label: str, line: str | None = None) -> None:
    """Means with two standard errors either way; `line` replaces the usual style of the curve between them."""
    color, marker, usual = LOOKS[label]
    line = usual if line is None else line
    errors = 2 * np.array(series["standard_error"])
    look = {"color": color, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.4}
    axes.errorbar(x, series["mean"], yerr=errors, label=label, **look)


def captured_variance(recorded: list[dict[str, Any]]) -> Figure:
    """One panel for each data set, one curve for each mechanism."""
    figure, panels = plt.subplots(1, len(PANELS), figsize=(9.0, 4.4), sharey=True, layout="constrained")
    for axes, (data, title) in zip(panels, PANELS.items(), strict=True):
        found = {series["method"]: series for series in recorded if series["data"] == data}
        for method in LOOKS:
            error_bars(axes, found[method]["epsilon"], found[method], method)
        ticks = found[method]["epsilon"]
        axes.set(xscale="log", ylim=(0.0, 1.03), title=title, xlabel="epsilon (replace one row)")
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    panels[0].set_ylabel("top-5 variance captured")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def crossover(recorded: list[dict[str, Any]]) -> Figure:
    """Measured shares with what the theory says, and the strength where the better mechanism changes."""
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    labels = {"exponential": "exponential, real", "two-sided Wishart": "two-sided Wishart (default)"}
    for series in recorded:
        error_bars(axes, series["strength"], series, labels[series["method"]], line="none")
    r = np.geomspace(1.0, 10.5, 60)
    axes.plot(r, 1 - 1 / r, color=LOOKS["exponential, real"][0], linewidth=1, label="1 - 1/r")
    large = r[r >= 2.0]
    color = LOOKS["two-sided Wishart (default)"][0]
    axes.plot(large, 1 - 2 / large**2, color=color, linewidth=1, label="1 - 2/r\u00b2, for large r")
    axes.axvline(3.0, color="#555555", linestyle="--", linewidth=1)
    axes.annotate("r = 3", (3.0, 0.03), xytext=(5, 0), textcoords="offset points", color="#555555")
    ticks = recorded[0]["strength"]
    axes.set(xscale="log", ylim=(0.0, 1.03), ylabel="captured share of the direction")
    axes.set_xlabel(f"r = epsilon (\u03b3\u2081 - \u03b3\u2082) / d, d = {recorded[0]['d']}")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.legend(loc="lower right")
    return figure


def completion_noisy(recorded: list[dict[str, Any]]) -> Figure:
    """Rows: random and private start; columns: numbers of users."""
    return _completion(recorded, noise=1.0)


def completion_noiseless(recorded: list[dict[str, Any]]) -> Figure:
    """The same for exact observations, on a logarithmic scale."""
    return _completion(recorded, noise=0.0)


def _completion(recorded: list[dict[str, Any]], noise: float) -> Figure:
    sizes = sorted({series["m"] for series in recorded})
    figure, panels = plt.subplots(2, len(sizes), figsize=(9.0, 6.0), sharex=True, sharey=True, layout="constrained")
    for row, start in zip(panels, ("random start", "private start"), strict=True):
        for axes, m in zip(row, sizes, strict=True):
            found = {s["method"]: s for s in recorded if s["m"] == m and s["noise"] == noise}
            for label, (color, marker, line) in COMPLETION_LOOKS.items():
                series = found.get(f"{label}, {start}", found.get(label))
                look = {"color": color, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.4}
                axes.plot(series["epsilon"], np.sqrt(series["mean"]), label=label, **look)
            zero = np.sqrt(found["predict zero"]["mean"])
            axes.axhline(zero, color="#999999", linestyle=":", linewidth=1, label="predict zero")
            ticks = series["epsilon"]
            axes.set(xscale="log", yscale="linear" if noise else "log", title=f"m = {m}, {start}")
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    for axes in panels[-1]:
        axes.set_xlabel("epsilon (replace one user)")
    figure.supylabel("root mean squared error, unobserved entries")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def completion_rank(recorded: list[dict[str, Any]]) -> Figure:
    """One panel for each setting of the paper."""
    settings = sorted({(series["m"], series["epsilon"]) for series in recorded})
    figure, panels = plt.subplots(1, len(settings), figsize=(9.0, 3.8), sharey=True, layout="constrained")
    for axes, (m, epsilon) in zip(panels, settings, strict=True):
        for series in recorded:
            if (series["m"], series["epsilon"]) == (m, epsilon):
                label = series["method"].removesuffix(", private start")
                color, marker, line = COMPLETION_LOOKS[label]
                look = {"color": color, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.4}
                axes.plot(series["rank"], np.sqrt(series["mean"]), label=label, **look)
        axes.set(title=f"m = {m}, epsilon = {epsilon:g}", xlabel="rank of the matrix")
    panels[0].set_ylabel("root mean squared error")
    panels[0].set_ylim(bottom=0.0)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


# Figure -> how it is drawn, and the name of the numbers it is drawn from.
FIGURES = {
    captured_variance: "captured_variance",
    crossover: "crossover",
    completion_noisy: "completion",
    completion_noiseless: "completion",
    completion_rank: "completion_rank",
    **figures_turnstile.FIGURES,
    **figures_trace.FIGURES,
    **figures_site.FIGURES,
}


def main() -> None:
    """Draw every figure."""
    recorded = load()
    missing = sorted(set(FIGURES.values()) - recorded.keys())
    if missing:
        sys.exit(f"benchmarks/results.json has no {' and no '.join(missing)}: run make bench first")
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / "joint_privacy.svg").write_text(joint_privacy_file())
    with mpl.rc_context(STYLE):
        for draw, source in FIGURES.items():
            figure, name = draw(recorded[source]), draw.__name__
            figure.savefig(IMAGES / f"{name}.svg", metadata={"Title": TITLES[name], "Date": None, "Creator": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
