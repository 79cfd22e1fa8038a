"""The picture of joint privacy: everybody is in it, boxes do not overlap, and only what is private is in the zone."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hushrank.report.picture import draw_joint_privacy, joint_privacy_file
from hushrank.report.style import picture_style
from report_support import Document

GUIDE_PICTURE = Path(__file__).parents[2] / "docs" / "images" / "joint_privacy.svg"


@pytest.fixture
def document():
    return Document(draw_joint_privacy("key"))


def boxes(document):
    listed = []
    for box in document.all("rect", "box"):
        x, y, width, height = (float(box[name]) for name in ("x", "y", "width", "height"))
        listed.append((x, y, x + width, y + height))
    return listed


def test_everybody_is_there(document):
    for text in ("your ratings", "all others' ratings", "data holder", "published model", "seen by you only"):
        assert text in document.text
    assert document.all("svg")[0]["aria-labelledby"] == "key-title key-description"


def test_boxes_are_apart_and_inside(document):
    _, _, width, height = map(float, document.all("svg")[0]["viewbox"].split())
    listed = boxes(document)
    for i, (left, top, right, bottom) in enumerate(listed):
        assert 0 <= left and right <= width and 0 <= top and bottom <= height
        for other_left, other_top, other_right, other_bottom in listed[:i]:
            assert left >= other_right or other_left >= right or top >= other_bottom or other_top >= bottom


def test_the_zone_holds_the_model_and_what_others_see(document):
    zone = document.all("path", "zone")[0]["d"]
    left, top, right, bottom, inner_x, inner_y, _ = map(float, re.findall(r"[\d.]+", zone))

    def is_inside(box):
        in_upper = left <= box[0] and box[2] <= right and top <= box[1] and box[3] <= inner_y
        in_lower = inner_x <= box[0] and box[2] <= right and top <= box[1] and box[3] <= bottom
        return in_upper or in_lower

    # In the order of drawing: your ratings, their ratings, data holder, model, your recommendations, theirs.
    assert [is_inside(box) for box in boxes(document)] == [False, False, False, True, False, True]


def test_arrows_end_in_their_tip(document):
    assert document.all("marker")[0]["id"] == "key-tip"
    assert {arrow["marker-end"] for arrow in document.all("path", "arrow")} == {"url(#key-tip)"}


def test_the_file_shows_the_same_and_has_its_own_style(document):
    file = Document(joint_privacy_file())
    assert file.text == document.text and boxes(file) == boxes(document)
    used = {name for _, attributes in file.elements for name in attributes.get("class", "").split()}
    assert used and all(f".{name}" in picture_style() for name in used)
    root = ElementTree.fromstring(joint_privacy_file())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_the_guide_shows_this_picture():
    assert GUIDE_PICTURE.read_text() == joint_privacy_file(), "draw it again: make figures"
