"""Who sees what under joint differential privacy: one picture, for reports and for the guide."""

import re

from hushrank.report.charts import WIDTH, draw
from hushrank.report.markup import Markup, element, join
from hushrank.report.style import LIGHT, picture_style

_HEIGHT = 500
_NAMESPACE = "http://www.w3.org/2000/svg"
_DESCRIPTION = (
    "Your ratings and those of all others go to a data holder, who bounds what every user adds, adds everything up and "
    "adds noise. Item means and item factors are published. Your device joins them with your own ratings and computes "
    "your recommendations, which only you see. What is published, and all that is recommended to others, is private "
    "in your ratings."
)


def draw_joint_privacy(key: str) -> Markup:
    """Users' ratings, the data holder, the published model, and the users' own devices; the page has the style."""
    return _draw(key, *_parts(key))


def joint_privacy_file() -> str:
    """The picture as an SVG file with its style, on a light panel: it reads the same on light and on dark pages."""
    panel = element("rect", width=WIDTH, height=_HEIGHT, rx=8, fill=LIGHT["paper"])
    picture = _draw("joint", element("style", Markup(picture_style())), panel, *_parts("joint"))
    size = f'width="{WIDTH}" height="{_HEIGHT}" font-family="Helvetica, Arial, sans-serif"'
    file = picture.replace("<svg ", f'<svg xmlns="{_NAMESPACE}" {size} ', 1)
    return re.sub("><(?!/)", ">\n<", file) + "\n"  # one element per line


def _draw(key: str, *parts: Markup) -> Markup:
    return draw(key, "Who sees what", _DESCRIPTION, _HEIGHT, *parts)


def _parts(key: str) -> list[Markup]:
    return [
        _arrow_head(key),
        element("path", d="M 80 262 H 476 V 498 H 260 V 398 H 80 Z", class_="zone"),
        element("text", "private in your ratings", x=440, y=282, text_anchor="end", class_="zone-name"),
        _box(10, 4, 180, "your ratings", "on your device", style="own"),
        _box(290, 4, 180, "all others' ratings", "on their devices"),
        _box(90, 122, 300, "data holder", "bounds each user's part,", "adds up integers, adds exact noise"),
        _box(90, 296, 240, "published model", "item means, item factors:", "seen by everyone", style="public"),
        _box(10, 424, 200, "your recommendations", "seen by you only", style="own"),
        _box(270, 424, 200, "their recommendations", "seen by each of them only"),
        *(_arrow(key, path) for path in _PATHS),
        _arrow(key, "M 30 66 C 30 200, 34 300, 44 420", style="own"),
        element("text", "your own", x=42, y=226, class_="small"),
        element("text", "ratings", x=42, y=243, class_="small"),
    ]


_PATHS = (
    "M 130 66 L 150 118",
    "M 370 66 L 340 118",
    "M 240 206 L 220 292",
    "M 170 380 L 130 420",
    "M 270 380 L 340 420",
    "M 450 66 C 474 190, 462 320, 448 420",
)


def _arrow_head(key: str) -> Markup:
    tip = element("path", d="M 0 0 L 10 5 L 0 10 z", class_="tip")
    size = {"viewBox": "0 0 10 10", "refX": 9, "refY": 5, "markerWidth": 8, "markerHeight": 8}
    return element("defs", element("marker", tip, id=f"{key}-tip", orient="auto", **size))


def _arrow(key: str, path: str, style: str = "") -> Markup:
    return element("path", d=path, class_=f"arrow {style}".strip(), marker_end=f"url(#{key}-tip)")


def _box(x: float, y: float, width: float, title: str, *lines: str, style: str = "") -> Markup:
    """A box with its title and lines of text in the middle."""
    middle, height = x + width / 2, 24 + 19 * (1 + len(lines))
    texts = [element("text", title, x=middle, y=y + 25, text_anchor="middle", class_="name")]
    for i, line in enumerate(lines):
        texts.append(element("text", line, x=middle, y=y + 25 + 19 * (i + 1), text_anchor="middle", class_="small"))
    return join(element("rect", x=x, y=y, width=width, height=height, rx=8, class_=f"box {style}".strip()), *texts)
