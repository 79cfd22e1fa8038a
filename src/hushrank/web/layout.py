"""The parts of the page that need no script: controls, which scripts bring to life, and the box about the guarantee."""

import math
from collections.abc import Iterator
from typing import Any

from hushrank.estimators.completion.rounding import RoundingError
from hushrank.privacy.figures import at_most
from hushrank.report.markup import Markup, element, join
from hushrank.report.promise import promised
from hushrank.report.rating_model import say_factors, say_means
from hushrank.web.model_data import has_tastes

_LEAD = (
    "Rate a few things that you know, and this page tells you what else you may like. It computes that itself: your "
    "ratings stay here. It sends nothing to anybody, and its rules let the browser run no other script and load "
    "nothing. It works without a network."
)
_NO_TASTES = (
    "This model has found no tastes, only what most people think of each item: there were too few people, or too much "
    "noise. What differs between visitors means little."
)
_NO_SCRIPT = "Recommendations are computed on this page, by its script. Allow scripts to see them."


def page_body(model: Any, name: str, rounding: RoundingError, precision: str) -> Markup:
    """Everything inside the body but data and script."""
    return join(
        element("a", "Skip to what is recommended", class_="skip", href="#best-title"),
        element("header", element("h1", name), element("p", _LEAD, class_="lead")),
        element("noscript", element("p", _NO_SCRIPT)),
        element(
            "main",
            element("div", _rate(len(model.items_)), _best(has_tastes(model)), _own(), id="app", hidden="hidden"),
            _promise(model, rounding, precision),
        ),
        element(
            "div",
            element("p", id="news", role="status"),
            element("a", "See what is recommended", id="to-best", href="#best-title"),
            id="bar",
            class_="empty",
        ),
        element("footer", element("p", "Made by hushrank.")),
    )


def _section(name: str, heading: str, *parts: object, class_: str | None = None) -> Markup:
    title = element("h2", heading, id=f"{name}-title", tabindex="-1")
    return element("section", title, *parts, id=f"{name}-section", class_=class_, aria_labelledby=f"{name}-title")


def _button(id_: str, text: str, **attributes: object) -> Markup:
    return element("button", text, id=id_, type="button", **attributes)


def _rate(n_items: int) -> Markup:
    field = element("input", id="query", type="search", autocomplete="off", spellcheck="false")
    return _section(
        "rate",
        "Rate what you know",
        element("p", id="how", class_="soft"),
        element("div", element("label", f"Search {n_items:,} items", for_="query"), field, role="search"),
        element("p", id="found", role="status"),
        element("ul", id="results", class_="items"),
        _button("more-found", "Show more", hidden="hidden"),
    )


def _best(has_tastes: bool) -> Markup:
    return _section(
        "best",
        "For you",
        element("p", id="told"),
        *([] if has_tastes else [element("p", _NO_TASTES)]),
        element("ol", id="best", class_="items"),
        _button("more-best", "Show ten more"),
    )


def _own() -> Markup:
    keep = element("input", id="keep", type="checkbox", autocomplete="off", aria_describedby="keep-note")
    note = (
        "Otherwise they are gone when you close the page. Anyone who uses this device, and other pages opened from its "
        "files, could read and change them."
    )
    chosen = element("input", id="import", type="file", accept=".csv,text/csv")
    return _section(
        "own",
        "Your ratings",
        element("p", id="own-told"),
        element("ul", id="own", class_="items"),
        _button("more-own", "Show more", hidden="hidden"),
        element("p", element("label", keep, " Keep my ratings on this device"), class_="keep"),
        element("p", note, id="keep-note", class_="soft"),
        element(
            "div",
            _button("export", "Save as a file (CSV)"),
            element("span", element("label", "Read a file (CSV) ", for_="import"), chosen, class_="file"),
            _button("clear", "Delete all"),
            class_="tools",
        ),
    )


def _promise(model: Any, rounding: RoundingError, precision: str) -> Markup:
    """The box: who is protected from what, by how much, and what is not promised."""
    given = model.privacy_
    parts = [
        element("h3", "To those whose ratings this was learned from"),
        *promised(given),
        element("h3", "To you"),
        element(
            "p",
            "What you see is computed from the file, which everybody may have, and from your ratings, which only this "
            "page has. What you rate here taught the file nothing and will not. This is called joint privacy: what "
            "others are told hides you, and what you are told is for you alone. Whoever looks at your screen sees it, "
            "too.",
        ),
        element("h3", "How good it is"),
        element("ul", *(element("li", line) for line in _quality(model, rounding, precision))),
    ]
    return _section("promise", "What is promised", *parts, class_="panel")


def _quality(model: Any, rounding: RoundingError, precision: str) -> Iterator[str]:
    told = say_factors(model)
    yield f"{told[:1].upper()}{told[1:]}."
    means = say_means(model)
    if means:
        yield f"{means[:1].upper()}{means[1:]}. Such items are called uncertain."
    yield say_rounding(rounding, precision, is_implicit=model._is_implicit)
    yield (
        "“Because” names ratings of yours that moved an item up beside other items, by this model; it does not say why "
        "you like things."
    )


def say_rounding(rounding: RoundingError, precision: str, *, is_implicit: bool) -> str:
    """By how much rounding moves predictions, in words; never rounded down."""
    moved = "scores" if is_implicit else "predicted ratings"
    kept = math.floor(1000.0 * rounding.kept) / 10.0
    visitors = "one made-up visitor" if rounding.visitors == 1 else f"{rounding.visitors} made-up visitors"
    return (
        f"Numbers are rounded to {precision} to keep the file small. For {visitors} this moved {moved} by at most "
        f"{at_most(rounding.largest, 2)} (typically {at_most(rounding.typical, 2)}), and {kept:g} % of their ten best "
        "items stayed among the ten best."
    )
