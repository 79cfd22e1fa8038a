"""How far factors, directions and singular values stand above the noise: marks, words and a chart, for every job.

Marks      "noise" up to a strength of 1, which noise alone exceeds in 5 % of the fits; "weak" up to 1.35, where the
           direction of an eigenvector is about .8 aligned with the true one (`report.marks` calls that weak, too).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hushrank.report.charts import WIDTH, Axis, draw
from hushrank.report.marks import NOISE, WEAK
from hushrank.report.markup import Markup, element

CLEAR_STRENGTH = 1.35
_BAR = {"": "share", WEAK: "share weak"}  # others are as faint as noise
_ROW, _LEGEND = 42.0, 24.0
_LONGEST_NAME = 40  # characters


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a chart: a name, a number and its mark."""

    name: str
    value: float
    mark: str = ""


def mark_of_strength(strength: float) -> str:
    """The mark of something of this strength.

    Examples
    --------
    >>> [mark_of_strength(strength) for strength in (0.0, 1.0, 1.2, 2.0)]
    ['noise', 'noise', 'weak', '']
    """
    if not strength > 1.0:
        return NOISE
    return WEAK if strength < CLEAR_STRENGTH else ""


def strengths_of(model: Any) -> list[float] | None:
    """Strengths of a model, or None where nothing tells: another method, or a model of an older version."""
    found = getattr(model, "strength_", None)
    return None if found is None or not len(found) else [float(strength) for strength in found]


def say_strength(strength: float) -> str:
    """A strength with two digits, never rounded up: what is noise does not look as if it were above 1."""
    return f"{math.floor(100.0 * strength) / 100.0:.2f}" if strength < 100.0 else f"{strength:.3g}"


def say_above(n_above: int, n_all: int, what: str, *, rate: str = "at most 5 %") -> str:
    """How many stand above the noise, in words."""
    stand = "stands" if n_above == 1 else "stand"
    named = what if n_all == 1 else f"{what}s"
    return f"{n_above} of {n_all} {named} {stand} above the noise (of noise alone, one or more would in {rate} of fits)"


def shorten(name: str) -> str:
    """A stranger's text that prints and that fits a table."""
    shown = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in name)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}\u2026"


def strength_bars(strengths: Sequence[float], what: str) -> list[Bar]:
    """Bars of strengths, numbered from 1."""
    return [Bar(f"{what} {i + 1}", value, mark_of_strength(value)) for i, value in enumerate(strengths)]


def floor_chart(key: str, title: str, bars: Sequence[Bar], floor: float, floor_name: str) -> Markup:
    """A bar for every number, below its name, the floor as a line through all of them, and a legend."""
    length = Axis(0.0, max([floor, *(bar.value for bar in bars)]) or 1.0, 0.0, WIDTH - 1.0)
    at, parts = length.place(floor), []
    for i, bar in enumerate(bars):
        top = i * _ROW
        text = f"{bar.value:.3g}, {bar.mark}" if bar.mark else f"{bar.value:.3g}"
        parts.append(element("text", bar.name, x=0, y=top + 15))
        parts.append(element("text", text, x=WIDTH, y=top + 15, text_anchor="end"))
        parts.append(element("rect", x=0, y=top + 21, width=WIDTH, height=9, rx=3, class_="rest"))
        width, look = length.place(bar.value), _BAR.get(bar.mark, "share noise")
        parts.append(element("rect", x=0, y=top + 21, width=width, height=9, rx=3, class_=look))
        parts.append(element("line", x1=at, x2=at, y1=top + 18, y2=top + 33, class_="axis"))
    listed = ", ".join(f"{bar.name} {bar.value:.3g} {bar.mark}".rstrip() for bar in bars)
    top = len(bars) * _ROW + 8
    parts.append(element("line", x1=14.0, x2=14.0, y1=top + 2, y2=top + 17, class_="axis"))
    parts.append(element("text", floor_name, x=38, y=top + 14))
    return draw(key, title, listed, top + _LEGEND, *parts)
