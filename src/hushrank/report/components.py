"""The page of components, of a covariance or of a low-rank matrix: what was found, how sure it is, what is promised."""

from collections.abc import Iterator, Sequence
from typing import Any

from hushrank.privacy.guarantee import Guarantee, Neighbors
from hushrank.report.charts import WIDTH, Axis, draw
from hushrank.report.marks import (
    CLEAR,
    MOSTLY_NOISE,
    NOISE,
    WEAK,
    Component,
    column_names,
    is_sure,
    largest_loadings,
    read_components,
    say_alignment,
    say_interval,
    say_mixed,
    say_origin,
    say_radius,
    say_significant,
    value_name,
    vectors_of,
)
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, definitions, figure, make_page, paragraph, table
from hushrank.report.personal import guarantee_table
from hushrank.report.promise import ALONE, Beside, sections_beside

SHOWN_COMPONENTS = 20
_ROW, _LEGEND = 42.0, 24.0  # height of a bar with its name, and of a line of the legend
_BAR = {"": "share", WEAK: "share weak", NOISE: "share noise"}
_PLACES = ("largest loading", "second", "third")
_TITLES = {
    "PrivatePCA": "Private principal components",
    "PrivateCovariance": "A private covariance matrix",
    "PrivateLowRank": "A private matrix of low rank",
}


def components_page(model: Any, beside: Beside = ALONE) -> str:
    """The page as HTML; the same model gives the same bytes.

    Parameters
    ----------
    model : PrivatePCA, PrivateCovariance or PrivateLowRank
        Fitted, or loaded from a file.
    beside : Beside
        What is shown beside it; titles are of no use here.
    """
    components = read_components(model)
    shown = components[:SHOWN_COMPONENTS]
    sections = [
        *([] if shown[0].value is None else [("Spectrum", _spectrum(model, shown, len(components)))]),
        ("Components", _components(model, shown, len(components))),
        ("How sure it is", _sureness(model, components)),
        ("What was done to the rows", [definitions(_settings(model))]),
        ("What is promised", _promised(model.privacy_)),
        *sections_beside(model, beside),
        ("Limits", [bullets(*_limits(model))]),
    ]
    return make_page(_title(model), _lead(model, components), sections, "Made by hushrank.")


def _title(model: Any) -> str:
    if getattr(model, "standardize", None) is not None and not hasattr(model, "components_"):
        return "A private correlation matrix"
    return _TITLES[type(model).__name__]


def _lead(model: Any, components: Sequence[Component]) -> str:
    columns = f"{model.n_features_in_:,} column" + ("" if model.n_features_in_ == 1 else "s")
    if is_sure(model):
        n, n_all = int(model.n_significant_), len(components)
        found = f"{n:,} of {n_all:,} components {'stands' if n == 1 else 'stand'} above the noise"
        n_read = sum(one.mark != NOISE for one in components)
        found += (
            f", and {n_read:,} can be read as {'a direction' if n_read == 1 else 'directions'}" if n_read < n else ""
        )
    else:
        found = f"{len(components):,} component{'' if len(components) == 1 else 's'}"
    return (
        f"Learned from rows of {columns}: {found}. The page shows nothing that is not in the model, and may be seen by "
        "everybody who may see that."
    )


def _spectrum(model: Any, shown: Sequence[Component], n_all: int) -> list[Markup]:
    name, is_public = value_name(model), getattr(model, "eigenvalues", None) is not None
    caption = f"Bars are the public {name}s that were asked for" if is_public else f"Bars are {name}s"
    if is_sure(model):
        caption += "" if is_public else ", without what the noise adds"
        caption += f"; lines are 95 % intervals of the {name}s that the rows had before the noise"
        caption += (
            "" if is_public else ". Where a component is a little off its direction, the bar may end before its line"
        )
    caption += f". The first {len(shown)} of {n_all:,} are shown." if len(shown) < n_all else "."
    parts = [figure(spectrum_chart(shown, f"{name.capitalize()}s of the components"), caption)]
    if is_sure(model) and not model.n_significant_:
        parts.append(paragraph("Nothing stands above the noise: of these rows, this budget shows nothing."))
    return parts


def spectrum_chart(components: Sequence[Component], title: str) -> Markup:
    """A bar for every value, below its number, its interval as a line with ends, and a legend of what occurs."""
    ends = [one.interval[1] for one in components if one.interval is not None]
    values = [0.0 if one.value is None else one.value for one in components]
    length = Axis(0.0, max([*ends, *values]) or 1.0, 0.0, WIDTH - 1.0)
    parts = []
    for i, (one, value) in enumerate(zip(components, values, strict=True)):
        top = i * _ROW
        text = f"{value:.4g}, {one.mark}" if one.mark else f"{value:.4g}"
        parts.append(element("text", f"component {one.number}", x=0, y=top + 15))
        parts.append(element("text", text, x=WIDTH, y=top + 15, text_anchor="end"))
        parts.append(element("rect", x=0, y=top + 21, width=WIDTH, height=9, rx=3, class_="rest"))
        parts.append(element("rect", x=0, y=top + 21, width=length.place(value), height=9, rx=3, class_=_BAR[one.mark]))
        if one.interval is not None:
            low, high = one.interval
            parts.append(_whisker(length.place(low), length.place(high), top + 25.5))
    listed = ", ".join(f"{value:.4g} {one.mark}".rstrip() for one, value in zip(components, values, strict=True))
    top, legend = len(components) * _ROW + 8, _legend(components)
    parts += [_legend_line(name, style, top + i * _LEGEND) for i, (name, style) in enumerate(legend)]
    return draw("spectrum", title, listed, top + len(legend) * _LEGEND, *parts)


def _whisker(start: float, stop: float, at: float) -> Markup:
    ends = "".join(f" M {x:.2f} {at - 6:.2f} V {at + 6:.2f}" for x in (start, stop))
    return element("path", d=f"M {start:.2f} {at:.2f} H {stop:.2f}{ends}", class_="whisker")


def _legend(components: Sequence[Component]) -> list[tuple[str, str]]:
    """Names and styles of the kinds of bars that occur, and of intervals."""
    if all(one.interval is None for one in components):
        return []
    names = {"": "clear", WEAK: "weak: a rough direction", NOISE: "noise: no direction"}
    marks = {one.mark for one in components}
    return [*((names[mark], _BAR[mark]) for mark in names if mark in marks), ("95 % interval", "")]


def _legend_line(name: str, style: str, top: float) -> Markup:
    sample = (
        element("rect", x=0, y=top + 4, width=28, height=9, rx=3, class_=style)
        if style
        else _whisker(0.0, 28.0, top + 8.5)
    )
    return element("g", sample, element("text", name, x=38, y=top + 14))


def _components(model: Any, shown: Sequence[Component], n_all: int) -> list[Markup]:
    first, sure = shown[0], is_sure(model)
    heads = ["component"]
    heads += [] if first.value is None else [value_name(model)]
    heads += [] if first.share is None else ["share of the total"]
    heads += ["95 % interval", "alignment", "mark"] if sure else []
    parts = []
    if len(heads) > 1:
        caption = f"The first {len(shown)} of {n_all:,}" if len(shown) < n_all else "In falling order"
        parts.append(table(caption, heads, [_to_row(one, sure) for one in shown]))
    if sure:
        parts.append(bullets(*_mark_legend()))
    return [*parts, *_loadings(model, shown)]


def _to_row(one: Component, sure: bool) -> list[object]:
    cells: list[object] = [str(one.number)]
    cells += [] if one.value is None else [f"{one.value:.4g}"]
    cells += [] if one.share is None else [f"{one.share:.3f}"]
    cells += [] if one.interval is None else [say_interval(one)]
    cells += [] if one.alignment is None else [say_alignment(one)]
    cells += [one.mark] if sure else []
    return [element("span", cell, class_="dim") for cell in cells] if one.mark == NOISE else cells


def _loadings(model: Any, shown: Sequence[Component]) -> list[Markup]:
    """The columns that say most about each component; nothing of those that are noise."""
    names, count = column_names(model), min(len(_PLACES), model.n_features_in_)
    rows = []
    for one, vector in zip(shown, vectors_of(model), strict=False):
        leading = largest_loadings(vector, names, count)
        if one.mark != NOISE and leading:
            rows.append([one.number, *leading, *[""] * (count - len(leading))])
    return [table("Columns with the largest loadings", ["component", *_PLACES[:count]], rows)] if rows else []


def _mark_legend() -> Iterator[str]:
    yield f"No mark: stands above the noise, and its alignment is at least {CLEAR:g}."
    yield (
        f"weak: stands above the noise, with an alignment from {MOSTLY_NOISE:g} to {CLEAR:g}. Read its direction as a "
        "rough one."
    )
    yield (
        f"noise: does not stand above the noise, or has an alignment below {MOSTLY_NOISE:g}. Its direction means "
        "nothing, and its loadings are not shown."
    )


def _sureness(model: Any, components: Sequence[Component]) -> list[Markup]:
    if not is_sure(model):
        drawn = getattr(model, "mechanism", "") == "exponential"
        reason = "A draw of the exponential mechanism" if drawn else "A model of an older version"
        return [paragraph(f"{reason} does not say how sure its components are. Its plan tells what to expect.")]
    mixed = say_mixed(components, model.n_significant_)
    told = say_significant(model)
    parts = [paragraph(f"{told[:1].upper()}{told[1:]}.")]
    parts += [] if mixed is None else [paragraph(f"{mixed[:1].upper()}{mixed[1:]}.")]
    return [
        *parts,
        bullets(
            "Alignment: the expected squared cosine of the angle between a component and the direction that would "
            "have been found without noise. 1 is the same direction, 0 a right angle.",
            f"Interval: where the {value_name(model)} without noise is, in about 95 of 100 releases. It is that of the "
            f"rows as they were shortened, around {say_origin(model)}. What shortening took away is not in it, nor how "
            "much other rows of the same kind would differ. Components marked as noise have none.",
            "Both are computed from the release alone, by formulas for many columns, and cost no budget.",
        ),
    ]


def _settings(model: Any) -> Iterator[tuple[str, str]]:
    """What was public and what was bought, by name."""
    bounds, standardize = (getattr(model, name, None) for name in ("column_bounds", "standardize"))
    if model.row_norm is not None:
        yield "bound on a row", f"{model.row_norm:g}, public"
    if bounds is not None:
        yield "bounds of columns", "public; entries were clipped to them and measured from the middle in half widths"
    if hasattr(model, "radius_"):
        yield "radius", f"found privately: {say_radius(model)}"
    else:
        yield "radius", "longer rows were shortened to the public bound"
    yield "center", _say_center(model)
    if standardize is not None:
        bought = " after scales were bought before" if standardize == "private" else ""
        yield "scales", f"columns were divided by their released deviations{bought}: correlations"
    if hasattr(model, "selected_columns_"):
        kept = len(model.selected_columns_)
        yield "columns", f"{kept:,} of {model.n_features_in_:,} were chosen privately; components are zero elsewhere"
    if hasattr(model, "n_"):
        is_secret = model.privacy_.neighbors is Neighbors.ADD_REMOVE
        yield "number of rows", f"{model.n_:,}, {'a noisy count' if is_secret else 'public'}"


def _say_center(model: Any) -> str:
    if model.center is None:
        return f"none: everything is about the second moment around {say_origin(model)}"
    if not isinstance(model.center, str):
        return "a public vector"
    around = say_origin(model)
    return "a mean that was found privately" if around == "the center" else f"second moment around {around}"


def _promised(given: Guarantee) -> list[Markup]:
    is_replaced = given.neighbors is Neighbors.REPLACE
    change = "Take any row of the data, and replace it by any other." if is_replaced else "Add any row, or remove one."
    guess = "which of two possible rows was there" if is_replaced else "whether a row was there"
    beyond = f", up to delta = {given.delta:g}" if given.delta else ""
    parts = [
        paragraph(
            f"{change} The probability of every possible model then changes by at most a factor of e^epsilon{beyond}. "
            f"So somebody who knows all other rows, sees the model and has to guess {guess}, equally likely before, is "
            "right with a probability of at most that in the last column. Tossing a coin gives 50 %."
        ),
        guarantee_table(given),
    ]
    if given.premise:
        parts.append(paragraph(element("strong", "Provided that "), given.premise, "."))
    if given.reproducible:
        parts.append(paragraph("The noise came from a seed: this is for tests, and promises nothing."))
    return parts


def _limits(model: Any) -> Iterator[str]:
    yield "One row is hidden. A person with several rows is not hidden with all of them."
    yield "Longer rows were shortened: variances of long rows come out too small, and nothing here says by how much."
    yield "The sign of a component is arbitrary."
    if is_sure(model):
        yield "Alignments and intervals are formulas for many columns: with few of them they are rough."
    if getattr(model, "mechanism", "") == "exponential":
        yield "The result was drawn in floating point: round it before you publish it."
