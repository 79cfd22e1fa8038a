"""Charts as inline SVG, with title and description for those who cannot see them; colors come from the page's style.

Drawn for a width of 480, so that text stays readable on a phone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hushrank.report.markup import Markup, element, join

WIDTH = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 472.0, 34.0, 274.0  # of the plot
_LINE = 21.0  # height of a line of text
_TICKS = 6  # on an axis, about

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Axis:
    """How values become coordinates: `low` is at `start` and `high` at `stop`.

    Examples
    --------
    >>> Axis(1.0, 100.0, 0.0, 200.0, is_logarithmic=True).place(10.0)
    100.0
    """

    low: float
    high: float
    start: float
    stop: float
    is_logarithmic: bool = False

    def place(self, value: float) -> float:
        """The coordinate of a value."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (value - low) / (high - low) * (self.stop - self.start)


@dataclass(frozen=True, slots=True)
class Series:
    """Points joined by a line; `style` is a class of the page's style, `is_labeled` writes the values beside them."""

    name: str
    points: Points
    style: str
    is_labeled: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """The space between two lines: triples of x, lower and upper y."""

    name: str
    points: Sequence[tuple[float, float, float]]
    style: str


def choose_ticks(low: float, high: float) -> list[float]:
    """Round numbers from the last one at or below `low` to the first at or above `high`, about six of them.

    Examples
    --------
    >>> choose_ticks(0.73, 1.05)
    [0.7, 0.8, 0.9, 1.0, 1.1]
    """
    rough = (high - low) / (_TICKS - 1)
    magnitude = 10.0 ** math.floor(math.log10(rough))
    spacing = next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= rough * (1 - 1e-9))
    first, last = math.floor(low / spacing + 1e-9), math.ceil(high / spacing - 1e-9)
    return [round(i * spacing, 12) for i in range(first, last + 1)]


def draw(key: str, title: str, description: str, height: float, *children: Markup) -> Markup:
    """An SVG of the common width; `key` makes its ids different from those of other charts."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-description"),
        *children,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="img",
        aria_labelledby=f"{key}-title {key}-description",
    )


def line_chart(
    key: str,
    title: str,
    description: str,
    labels: tuple[str, str],
    series: Sequence[Series],
    band: Band,
    x_ticks: Sequence[float],
) -> Markup:
    """Lines over a logarithmic x axis, with a band behind them and a legend below; `labels` are those of x and y."""
    heights = [y for line in series for _, y in line.points] + [y for _, *pair in band.points for y in pair]
    ticks = choose_ticks(min(heights), max(heights))
    x = Axis(x_ticks[0], x_ticks[-1], _LEFT + 14, _RIGHT - 14, is_logarithmic=True)
    y = Axis(ticks[0], ticks[-1], _BOTTOM, _TOP)
    names = [(line.name, line.style, False) for line in series] + [(band.name, band.style, True)]
    legend_top = _BOTTOM + 3.6 * _LINE
    parts = [
        _frame(x, y, x_ticks, ticks, labels),
        _area(band, x, y),
        *(_line(line, x, y) for line in series),
        *(_legend_line(*name, legend_top + i * _LINE) for i, name in enumerate(names)),
    ]
    return draw(key, title, description, legend_top + (len(names) - 1) * _LINE + 6, *parts)


def _frame(x: Axis, y: Axis, x_ticks: Sequence[float], y_ticks: Sequence[float], labels: tuple[str, str]) -> Markup:
    """Grid, numbers and labels of both axes."""
    parts = []
    for tick in y_ticks:
        at = y.place(tick)
        parts.append(element("line", x1=_LEFT, x2=_RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(element("text", f"{tick:g}", x=_LEFT - 6, y=at + 5, text_anchor="end"))
    for tick in x_ticks:
        at = x.place(tick)
        parts.append(element("line", x1=at, x2=at, y1=_BOTTOM, y2=_BOTTOM + 5, class_="axis"))
        parts.append(element("text", f"{tick:g}", x=at, y=_BOTTOM + 20, text_anchor="middle"))
    parts.append(element("line", x1=_LEFT, x2=_RIGHT, y1=_BOTTOM, y2=_BOTTOM, class_="axis"))
    middle = (_LEFT + _RIGHT) / 2
    parts.append(element("text", labels[0], x=middle, y=_BOTTOM + 2 * _LINE, text_anchor="middle"))
    parts.append(element("text", labels[1], x=0.0, y=13.0))
    return join(*parts)


def _line(line: Series, x: Axis, y: Axis) -> Markup:
    placed = [(x.place(a), y.place(b)) for a, b in line.points]
    parts = [element("polyline", points=_to_points(placed), class_=f"line {line.style}")]
    if line.is_labeled:
        for (a, b), (_, value) in zip(placed, line.points, strict=True):
            parts.append(element("circle", cx=a, cy=b, r=4, class_=f"dot {line.style}"))
            parts.append(element("text", f"{value:.3f}", x=a, y=b - 10, text_anchor="middle", class_="value"))
    return join(*parts)


def _area(band: Band, x: Axis, y: Axis) -> Markup:
    lower = [(x.place(a), y.place(b)) for a, b, _ in band.points]
    upper = [(x.place(a), y.place(c)) for a, _, c in band.points]
    return element("polygon", points=_to_points([*lower, *reversed(upper)]), class_=f"area {band.style}")


def _legend_line(name: str, style: str, is_area: bool, top: float) -> Markup:
    sample = (
        element("rect", x=_LEFT, y=top - 11, width=28, height=12, class_=f"area {style}")
        if is_area
        else element("line", x1=_LEFT, x2=_LEFT + 28, y1=top - 5, y2=top - 5, class_=f"line {style}")
    )
    return join(sample, element("text", name, x=_LEFT + 38, y=top))


def _to_points(placed: Points) -> str:
    return " ".join(f"{a:.2f},{b:.2f}" for a, b in placed)


def share_chart(key: str, title: str, description: str, shares: Sequence[tuple[str, float]]) -> Markup:
    """Bars of parts of a whole, each below its name."""
    length = Axis(0.0, 1.0, 0.0, float(WIDTH))
    parts = []
    for i, (name, share) in enumerate(shares):
        top = i * 2 * _LINE
        parts.append(element("text", name, x=0, y=top + 15))
        parts.append(element("text", f"{100 * share:.3g} %", x=WIDTH, y=top + 15, text_anchor="end"))
        parts.append(element("rect", x=0, y=top + 21, width=WIDTH, height=9, rx=3, class_="rest"))
        parts.append(element("rect", x=0, y=top + 21, width=length.place(share), height=9, rx=3, class_="share"))
    return draw(key, title, description, len(shares) * 2 * _LINE, *parts)
