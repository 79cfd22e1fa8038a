"""What docs/architecture.md and CONTRIBUTING.md say of the house is so: rooms, arrows, picture, files, planted bug."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from test_layout import ARROWS, LEAVES, ROOT, SOURCE

PAGE, PICTURE = ROOT / "docs" / "architecture.md", ROOT / "docs" / "images" / "house.svg"
GUIDE = ROOT / "CONTRIBUTING.md"
FILES = {"__init__", "__main__"}  # of the package itself: they are no rooms, and not in the picture
SVG = "{http://www.w3.org/2000/svg}"


def table_of_rooms(text):
    """Room -> rooms that its line of the table names."""
    lines = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", text, re.MULTILINE)
    return {room: set(re.findall(r"`([\w.]+)`", others)) for room, others in lines}


def named_paths(text):
    """Files and folders in backquotes; placeholders such as <job> are none."""
    return {name for name in re.findall(r"`([\w./-]+)`", text) if re.search(r"\w/|\.(py|md|json)$", name)}


def test_the_table_has_the_arrows_of_the_import_test():
    expected = {room: others - (LEAVES if room != "parameters" else set()) for room, others in ARROWS.items()}
    assert table_of_rooms(PAGE.read_text()) == expected
    outside = {room for room, others in ARROWS.items() if not others >= LEAVES - {room}}
    assert outside == {"registry", "exceptions"} | FILES  # the page names those that have no use for the ground


@pytest.mark.parametrize("page", [PAGE, GUIDE], ids=lambda page: page.name)
def test_every_path_on_the_page_exists(page):
    paths = named_paths(page.read_text())
    assert len(paths) > 15
    assert [path for path in sorted(paths) if not (ROOT / path).exists() and not (SOURCE / path).exists()] == []


def test_every_class_on_the_page_exists():
    named = set(re.findall(r"`([A-Z][a-z]\w*[A-Z]\w*|[A-Z]{2,}[a-z]\w*)`", PAGE.read_text()))
    sources = [*SOURCE.rglob("*.py"), ROOT / "tests" / "toys.py"]
    defined = {name for path in sources for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)}
    assert len(named) >= 8 and named - defined == set()


def test_a_path_that_moved_is_noticed():
    assert named_paths("`engine/gone.py`, `docs/privacy/<job>.md`, `plan`, `data/` and `a = 1 / 2`") == {
        "engine/gone.py",
        "data/",
    }


# The picture


def drawn():
    """Top and bottom of every room, and pairs of rooms that an arrow joins with the corners of its path."""
    elements = list(ElementTree.parse(PICTURE).iter())
    rooms = {e.get("data-room"): e for e in elements if e.get("data-room")}
    spans = {room: (float(e.get("y")), float(e.get("y")) + float(e.get("height"))) for room, e in rooms.items()}
    arrows = {(e.get("data-from"), e.get("data-to")): e.get("d") for e in elements if e.get("data-from")}
    return spans, arrows


def reaches(arrows, start, end):
    return start == end or any(reaches(arrows, other, end) for other in arrows[start])


def needed_arrows():
    """Arrows between rooms above the ground that no path of other arrows implies."""
    rooms = set(ARROWS) - LEAVES - FILES
    arrows = {room: {other.split(".")[0] for other in ARROWS[room]} & rooms for room in rooms}
    return {
        (room, other)
        for room, others in arrows.items()
        for other in others
        if not any(reaches(arrows, between, other) for between in others - {other})
    }


def test_the_picture_has_every_room_and_every_needed_arrow():
    spans, arrows = drawn()
    assert set(spans) == set(ARROWS) - FILES
    assert set(arrows) == needed_arrows()


def test_every_import_points_down_in_the_picture():
    spans, _ = drawn()
    for room, others in ARROWS.items():
        for other in {name.split(".")[0] for name in others} - FILES:
            if room not in FILES | {"parameters"}:  # the ground is one floor
                assert spans[room][1] < spans[other][0], f"{room} -> {other}"


def test_arrows_begin_at_one_room_and_end_at_the_other():
    spans, arrows = drawn()
    for (room, other), path in arrows.items():
        numbers = [(kind, float(number)) for kind, number in re.findall(r"([HV]) ([\d.]+)", path)]
        start = float(re.match(r"M [\d.]+ ([\d.]+)", path)[1])
        heights = [start, *(number for kind, number in numbers if kind == "V")]
        assert spans[room][0] <= heights[0] <= spans[room][1]
        assert spans[other][0] - 3 <= heights[-1] <= spans[other][1]
        assert all(above <= below for above, below in pairwise(heights))


def test_the_picture_can_be_read_by_everybody():
    root = ElementTree.parse(PICTURE).getroot()
    named = {element.get("id"): element.text for element in root if element.tag in (f"{SVG}title", f"{SVG}desc")}
    assert root.get("role") == "img" and root.get("aria-labelledby").split() == list(named)
    assert all(re.search(rf"\b{room}\b", named["house-description"]) for room in set(ARROWS) - FILES)
    assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text
    assert re.search(r"!\[.{80,}\]\(images/house.svg\)", PAGE.read_text())


# The planted bug


def test_the_bug_of_the_guide_can_still_be_planted():
    old, new, path = re.search(r"sed -i 's/([^/]+)/([^/]+)/' (\S+)", GUIDE.read_text()).groups()
    assert (ROOT / path).read_text().count(old) == 1 and new != old
    named = set(re.findall(r"FAILED (\S+)::(\w+)", GUIDE.read_text()))
    assert len(named) >= 6
    assert [test for file, test in named if f"def {test}(" not in (ROOT / file).read_text()] == []
