"""Colors and rules of style: of pages, in light and in dark, and of a picture that is a file of its own."""

import re

LIGHT = {
    "ink": "#1d2733", "soft": "#5b6876", "paper": "#ffffff", "panel": "#f4f6f8", "edge": "#d3dae1",
    "private": "#0b62c4", "means": "#a35a00", "reference": "#1d7a46", "own": "#a35a00", "band": "#0b62c4",
}  # fmt: skip
DARK = {
    "ink": "#e5eaf0", "soft": "#a2aebb", "paper": "#14181d", "panel": "#1e242b", "edge": "#3a444f",
    "private": "#6fb1ff", "means": "#f0aa55", "reference": "#62cf94", "own": "#f0aa55", "band": "#6fb1ff",
}  # fmt: skip

_PAGE = """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 44rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.4rem 0 0.8rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.4rem 0 0.6rem; }
p, ul { margin: 0.6rem 0; }
ul { padding-left: 1.2rem; }
.lead { font-size: 1.08rem; }
figure { margin: 1rem 0; padding: 0.8rem; background: var(--panel); border: 1px solid var(--edge);
  border-radius: 0.6rem; }
figcaption { margin-top: 0.6rem; color: var(--soft); font-size: 0.9rem; }
svg { display: block; width: 100%; max-width: 36rem; height: auto; margin: 0 auto; }
.scroll { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.93rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: 0.9rem; padding-bottom: 0.3rem; }
th, td { padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--edge); text-align: right; vertical-align: bottom; }
td { white-space: nowrap; }
th { font-weight: 600; }
.words { text-align: left; white-space: normal; overflow-wrap: break-word; min-width: 8rem; }
code { overflow-wrap: anywhere; }
code.whole { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
dl { margin: 0.8rem 0; font-size: 0.93rem; }
dt { color: var(--soft); }
dd { margin: 0 0 0.4rem; overflow-wrap: anywhere; }
footer { margin-top: 3rem; color: var(--soft); font-size: 0.9rem; }
@media (max-width: 32rem) { figure { padding: 0.5rem; } table { font-size: 0.85rem; }
  th, td { padding: 0.3rem 0.2rem; } }
"""

_CHARTS = """
svg text.value { font-size: 13px; fill: var(--private); }
.grid { stroke: var(--edge); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.line { fill: none; stroke-width: 2.5; }
.line.private { stroke: var(--private); }
.dot.private { fill: var(--private); }
.line.means { stroke: var(--means); stroke-dasharray: 8 4; }
.line.reference { stroke: var(--reference); stroke-dasharray: 2 4; }
.line.nothing { stroke: var(--soft); stroke-dasharray: 1 6; stroke-linecap: round; }
.area { fill: var(--band); fill-opacity: 0.13; }
.share { fill: var(--private); }
.share.weak { fill-opacity: 0.55; }
.share.noise { fill: var(--soft); fill-opacity: 0.45; }
.whisker { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.dim { color: var(--soft); }
.rest { fill: var(--edge); }
"""

_PICTURE = """
svg text { fill: var(--ink); font-family: inherit; font-size: 15px; }
svg text.small { font-size: 13px; fill: var(--soft); }
svg text.name { font-size: 14px; font-weight: 600; }
svg text.zone-name { font-size: 13px; font-weight: 600; fill: var(--reference); }
.box { fill: var(--paper); stroke: var(--soft); stroke-width: 1.5; }
.box.own { stroke: var(--own); }
.box.public { stroke: var(--reference); }
.zone { fill: var(--reference); fill-opacity: 0.07; stroke: var(--reference); stroke-width: 1.5;
  stroke-dasharray: 6 5; stroke-linejoin: round; }
.arrow { fill: none; stroke: var(--soft); stroke-width: 1.8; }
.arrow.own { stroke: var(--own); }
.tip { fill: var(--soft); }
"""


def page_style() -> str:
    """The style of a page with its charts and pictures."""
    return "\n".join([color_style(), *(rules.strip() for rules in (_PAGE, _PICTURE, _CHARTS)), ""])


def color_style() -> str:
    """Colors by name; readers choose light or dark in their system."""
    light = f":root {{ color-scheme: light dark; {_name_colors(LIGHT)} }}"
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {_name_colors(DARK)} }} }}"
    return f"\n{light}\n{dark}"


def picture_style() -> str:
    """The style of a picture that stands alone: light colors in the place of their names, which few viewers know."""
    return re.sub(r"var\(--(\w+)\)", lambda name: LIGHT[name[1]], _PICTURE)


def _name_colors(colors: dict[str, str]) -> str:
    return " ".join(f"--{name}: {color};" for name, color in colors.items())
