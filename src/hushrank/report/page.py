"""One self-contained HTML page: no script, nothing loaded from elsewhere, readable on a phone, in light and in dark."""

from collections.abc import Iterable, Sequence

from hushrank.report.markup import Markup, element, join
from hushrank.report.style import page_style


def make_page(title: str, lead: str, sections: Sequence[tuple[str, Sequence[Markup]]], footer: str) -> str:
    """The whole page: a heading with its first paragraph, and sections of a heading and their parts."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(page_style())),
    )
    body = element(
        "body",
        element("main", element("h1", title), element("p", lead, class_="lead"), *map(_to_section, sections)),
        element("footer", element("p", footer)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _to_section(section: tuple[str, Sequence[Markup]]) -> Markup:
    heading, parts = section
    return join("\n", element("section", element("h2", heading), *parts))


def paragraph(*parts: object) -> Markup:
    """Running text."""
    return element("p", *parts)


def bullets(*lines: object) -> Markup:
    """A list."""
    return element("ul", *(element("li", line) for line in lines))


def definitions(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Names and what they stand for, one below the other."""
    return element("dl", *(join(element("dt", name), element("dd", text)) for name, text in pairs))


def figure(picture: Markup, caption: str) -> Markup:
    """A picture on a panel of its own, with what it shows."""
    return element("figure", picture, element("figcaption", caption))


def table(caption: str, names: Sequence[str], rows: Sequence[Sequence[object]], *, words: Sequence[str] = ()) -> Markup:
    """A table with names of columns; on a narrow screen it is scrolled within its own box.

    Columns that are named in `words` hold running text, of several lines where it is long.
    """
    kinds = ["words" if name in words else None for name in names]
    head = element(
        "tr", *(element("th", name, scope="col", class_=kind) for name, kind in zip(names, kinds, strict=True))
    )
    lines = [
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *lines))
    return element("div", whole, class_="scroll")
