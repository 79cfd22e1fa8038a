"""The page: balanced, escaped, self-contained, in both color schemes."""

import re

from hushrank.report.markup import element
from hushrank.report.page import bullets, definitions, figure, make_page, paragraph, table
from report_support import Document

NASTY = "<img src=x onerror=alert(1)>"


def page():
    parts = [
        paragraph(NASTY, element("em", "kept")),
        bullets(NASTY, "b"),
        definitions([(NASTY, NASTY)]),
        figure(element("svg"), NASTY),
        table(NASTY, ["a", NASTY], [[1, NASTY], ["x", 2.5]]),
    ]
    return make_page(f"title {NASTY}", NASTY, [(NASTY, parts)], NASTY)


def test_texts_are_escaped_everywhere():
    document = Document(page())
    assert document.all("img") == []
    assert document.text.count(NASTY) == 13
    assert [attributes for attributes in document.all("em")] == [{}]


def test_nothing_is_loaded_and_nothing_runs():
    text = page()
    document = Document(text)
    assert not {"script", "link", "iframe", "object", "img", "base"} & {tag for tag, _ in document.elements}
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    assert not any(name.startswith("on") for _, attributes in document.elements for name in attributes)
    assert not any({"src", "href"} & set(attributes) for _, attributes in document.elements)


def test_readable_on_a_phone_and_in_the_dark():
    text = page()
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in Document(text).all("meta")
    assert {"charset": "utf-8"} in Document(text).all("meta")
    assert "prefers-color-scheme: dark" in text


def test_tables_have_heads():
    document = Document(table("caption", ["a", "b"], [[1, 2]]))
    assert [head["scope"] for head in document.all("th")] == ["col", "col"]
    assert document.text == "caption a b 1 2"


def test_every_style_of_a_chart_is_known_to_the_page():
    from hushrank.report.picture import draw_joint_privacy

    used = {name for _, attributes in Document(draw_joint_privacy("k")).elements for name in
            attributes.get("class", "").split()}  # fmt: skip
    assert all(f".{name}" in page() for name in used)
