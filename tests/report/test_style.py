"""Style: both schemes have every color, rules name no other, and a picture of its own needs no names."""

import re

from hushrank.report.style import DARK, LIGHT, page_style, picture_style


def test_both_schemes_have_every_color():
    assert LIGHT.keys() == DARK.keys()
    light, dark = page_style().split("@media (prefers-color-scheme: dark)")[:2]
    assert all(f"--{name}: {color};" in light for name, color in LIGHT.items())
    assert all(f"--{name}: {color};" in dark for name, color in DARK.items())


def test_rules_use_the_colors_that_there_are():
    assert set(re.findall(r"var\(--(\w+)\)", page_style())) == LIGHT.keys()


def test_braces_are_balanced():
    for style in (page_style(), picture_style()):
        assert style.count("{") == style.count("}") > 5


def test_a_picture_has_light_colors_for_their_names():
    assert "var(" not in picture_style()
    assert set(re.findall(r"#[0-9a-f]{6}", picture_style())) <= set(LIGHT.values())
    assert f"fill: {LIGHT['ink']};" in picture_style()
