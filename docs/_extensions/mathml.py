"""Formulas as MathML, written when the site is built: browsers show them without a script and without a request.

latex2mathml converts. What it leaves to be done is done here: letters of alphabets become characters, since browsers
have dropped the attribute for them; names of functions and operators get the space that TeX gives them; and long
formulas in a line may break after a relation. A command that nobody understood stops the build.
"""

import re
import unicodedata
from html import escape
from xml.etree import ElementTree

ALPHABETS = {
    "double-struck": ("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK"),
    "script": ("MATHEMATICAL SCRIPT", "SCRIPT"),
    "bold": ("MATHEMATICAL BOLD", ""),
    "monospace": ("MATHEMATICAL MONOSPACE", ""),
}
DIGITS = dict(zip("0123456789", "ZERO ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE".split(), strict=True))
FENCES = {"|", "\u2016", "(", ")", "[", "]", "{", "}", "\u27e8", "\u27e9", "\u230a", "\u230b", "\u2308", "\u2309"}
OPENING = {"(", "[", "{", "\u27e8", "\u230a", "\u2308", "|", "\u2016"}
RELATIONS = {"=", "<", ">", "\u2264", "\u2265", "\u2208", "\u2248", "\u2260", "\u21a6", "\u2192", ","}
ACCENTS = {"^": "\u02c6", "~": "\u02dc"}
TIGHT = {"/", "|", "\u2016"}
LONG = 24  # characters of LaTeX, from which on a formula in a line may break
THIN = "0.167em"
SCRIPTS = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}


def to_mathml(latex, block=False):
    """The MathML of a formula; one in a line may be several elements, between which the line may break."""
    from latex2mathml.converter import convert  # here, so that importing this file needs nothing that builds the site

    text = convert(latex, display="block" if block else "inline")
    math = ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', ""))
    for element in list(math.iter()):
        _correct(element, latex)
    for element in list(math.iter()):
        _space(element)
    parts = [math] if block or len(latex) < LONG else _break(math)
    return "<wbr>".join(ElementTree.tostring(part, encoding="unicode") for part in parts)


def _correct(element, latex):
    """Characters in place of what browsers do not know, and fences of the size that was asked for."""
    text = re.sub(r"\\([{}_])", r"\1", element.text or "")
    if "\\" in text:
        raise ValueError(f"{text} in the formula {latex} is unknown")
    alphabet = element.attrib.get("mathvariant")
    if alphabet in ALPHABETS:
        del element.attrib["mathvariant"]
        text = "".join(_letter(letter, alphabet) for letter in text)
    element.text = text or None
    is_stretched = element.get("stretchy") == "true" or "minsize" in element.attrib
    if element.tag == "mo" and text in FENCES and not is_stretched:
        element.set("stretchy", "false")
    if element.tag == "mover" and element[-1].text in ACCENTS:
        element[-1].text = ACCENTS[element[-1].text]
        element[-1].set("stretchy", "false")


def _letter(letter, alphabet):
    """A letter or digit in another alphabet; what has no such form stays."""
    if letter in DIGITS:
        name = f"DIGIT {DIGITS[letter]}"
    elif letter.isascii() and letter.isalpha():
        name = f"{'CAPITAL' if letter.isupper() else 'SMALL'} {letter.upper()}"
    else:
        return letter
    for prefix in ALPHABETS[alphabet]:
        try:
            return unicodedata.lookup(f"{prefix} {name}".strip())
        except KeyError:
            continue
    raise ValueError(f"there is no {alphabet} {letter}")


def _core(element):
    """What a subscript or a superscript hangs on."""
    while element.tag in SCRIPTS and len(element):
        element = element[0]
    return element


def _space(row):
    """Thin spaces around the names of functions, none around slashes and bars, as TeX has them."""
    if row.tag in SCRIPTS | {"mfrac"}:
        return
    children = list(row)
    for before, child, after in zip([None, *children], children, [*children[1:], None], strict=False):
        core = _core(child)
        text = core.text or ""
        if core.tag in ("mi", "mo") and len(text) > 1 and text.isalpha():
            core.tag = "mo"
            is_alone = before is None or _core(before).tag == "mo"
            is_followed = after is not None and _core(after).text not in OPENING
            core.attrib.update(form="prefix", lspace="0" if is_alone else THIN, rspace=THIN if is_followed else "0")
        elif core.tag == "mo" and text in TIGHT:
            core.attrib.update(lspace="0", rspace="0")


def _break(math):
    """The formula in pieces that end with a relation or a comma outside of all fences."""
    row = math[0] if len(math) == 1 and math[0].tag == "mrow" else math
    pieces, piece, depth = [], [], 0
    for child in row:
        core = _core(child)
        text = core.text if core.tag == "mo" else ""
        depth += (text in OPENING - {"|", "\u2016"}) - (text in FENCES - OPENING)
        piece.append(child)
        if child is core and text in RELATIONS and depth == 0 and len(piece) > 1:
            child.set("form", "infix")
            pieces.append(piece)
            piece = []
    if piece:
        pieces.append(piece)
    return [_math(piece) for piece in pieces]


def _math(children):
    math = ElementTree.Element("math")
    ElementTree.SubElement(math, "mrow").extend(children)
    return math


def visit_inline(translator, node):
    """A formula in a line."""
    translator.body.append(f'<span class="math">{to_mathml(node.astext())}</span>')
    raise _skip()


def visit_block(translator, node):
    """A formula on lines of its own, with the number that it was given."""
    latex = node.astext()
    tag = re.search(r"\\tag\{(.*?)\}", latex)
    number = f'<span class="eqno">({escape(tag[1])})</span>' if tag else ""
    formula = to_mathml(latex.replace(tag[0], "") if tag else latex, block=True)
    scrolled = f'<div class="math-scroll" tabindex="0">{formula}</div>'
    translator.body.append(f'<div class="math-block">{scrolled}{number}</div>\n')
    raise _skip()


def _skip():
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app):
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
