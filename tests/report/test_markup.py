"""Markup: text is escaped wherever it stands, markup is not, and attributes are written as promised."""

from hushrank.report.markup import Markup, element, join
from report_support import Document

NASTY = "<script>alert('x')</script> & \"y\""


def test_text_never_becomes_markup():
    written = element("p", NASTY, element("em", NASTY), title=NASTY)
    document = Document(written)
    assert [name for name, _ in document.elements] == ["p", "em"]
    assert document.elements[0][1]["title"] == NASTY
    assert "".join(document.texts) == NASTY + NASTY
    assert "<script" not in written


def test_markup_is_kept_and_everything_else_is_text():
    assert join(Markup("<b>"), "<b>", 3, 0.5) == "<b>&lt;b&gt;30.5"
    assert isinstance(join("a"), Markup) and isinstance(element("p"), Markup)


def test_attributes():
    written = element("line", x1=1, x2=2.345678, stroke_width=None, class_="a b", text_anchor="end", viewBox="0 0 1 1")
    assert written == '<line x1="1" x2="2.35" class="a b" text-anchor="end" viewBox="0 0 1 1"></line>'


def test_only_void_elements_lack_an_end():
    assert element("meta", name="viewport") == '<meta name="viewport">'
    assert element("td") == "<td></td>"
