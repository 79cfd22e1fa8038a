"""Make docs/_static/math.woff2 of STIX Two Math: the characters that formulas may need, with narrow radicals.

Chromium reserves for a radical, and for a fence that may grow, the width of its widest form, and small ones then have a
gap behind them. So the forms of a radical are made of the smallest one, stretched upward, and the largest forms of all
others are left out. It is run by hand, where the font changes or formulas need other characters:

    pip install fonttools brotli
    python docs/_extensions/math_font.py STIXTwoMath-Regular.ttf
"""

import re
import sys
from pathlib import Path

STATIC = Path(__file__).parents[1] / "_static"
NAME = "hushrank math"
TALLEST = 3000  # thousandths of the size of a letter


def ranges():
    """The characters that the style sheet says the font has."""
    text = re.search(r"unicode-range:(.*?);", (STATIC / "site.css").read_text(), re.DOTALL)[1]
    for part in text.split(","):
        first, _, last = part.strip().removeprefix("U+").partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)


def main(source):
    """Read the font, change what grows, keep what is needed, write it."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    font = TTFont(source)
    variants = font["MATH"].table.MathVariants
    radical = font.getBestCmap()[0x221A]
    for name, construction in zip(variants.VertGlyphCoverage.glyphs, variants.VertGlyphConstruction, strict=True):
        forms = [form for form in construction.MathGlyphVariantRecord if form.AdvanceMeasurement <= TALLEST]
        construction.MathGlyphVariantRecord, construction.VariantCount = forms, len(forms)
        construction.GlyphAssembly = None
        if name == radical:
            for form in forms:
                stretch(font, radical, form.VariantGlyph)
    options = Options(layout_features=["ssty", "math", "dtls", "flac"], hinting=False, flavor="woff2")
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=ranges())
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4, 6):
            record.string = NAME.replace(" ", "-") if record.nameID == 6 else NAME
    font.flavor = "woff2"
    font.save(STATIC / "math.woff2")


def stretch(font, name, form):
    """Draw `form` as the glyph `name`, as tall as it was and as wide as `name`."""
    from fontTools.pens.transformPen import TransformPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    glyphs, table = font.getGlyphSet(), font["glyf"]
    small, tall = table[name], table[form]
    factor = (tall.yMax - tall.yMin) / (small.yMax - small.yMin)
    pen = TTGlyphPen(None)
    glyphs[name].draw(TransformPen(pen, (1, 0, 0, factor, 0, tall.yMin - factor * small.yMin)))
    glyph = pen.glyph()
    glyph.recalcBounds(table)
    if form != name:
        table[form] = glyph
        font["hmtx"][form] = font["hmtx"][name]


if __name__ == "__main__":
    main(*sys.argv[1:])
