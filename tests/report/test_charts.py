"""Charts: values are at the coordinates that the axes say, and there are words for those who cannot see them."""

import math

import pytest

from hushrank.report.charts import WIDTH, Axis, Band, Series, choose_ticks, line_chart, share_chart
from report_support import Document

SERIES = [Series("a <b>", [(0.5, 0.9), (1.0, 0.8), (20.0, 0.7)], "private", is_labeled=True)]
BAND = Band("band", [(0.5, 0.75, 1.05), (1.0, 0.74, 1.0), (20.0, 0.72, 0.95)], "forecast")


def chart():
    return line_chart("key", "title & more", "what it shows", ("x", "y"), SERIES, BAND, [0.5, 1.0, 20.0])


def test_axes():
    axis = Axis(2.0, 6.0, 100.0, 20.0)
    assert [axis.place(value) for value in (2.0, 3.0, 6.0, 8.0)] == [100.0, 80.0, 20.0, -20.0]
    logarithmic = Axis(0.5, 50.0, 10.0, 110.0, is_logarithmic=True)
    assert [logarithmic.place(value) for value in (0.5, 5.0, 50.0)] == pytest.approx([10.0, 60.0, 110.0], abs=1e-12)
    assert logarithmic.place(1.0) == pytest.approx(10.0 + 50.0 * math.log10(2.0), abs=1e-12)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.7, 1.1, [0.7, 0.8, 0.9, 1.0, 1.1]),
        (0.701, 1.099, [0.7, 0.8, 0.9, 1.0, 1.1]),
        (3.0, 96.0, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
        (-0.011, 0.004, [-0.015, -0.01, -0.005, 0.0, 0.005]),
    ],
)
def test_ticks_are_round_and_enclose(low, high, expected):
    assert choose_ticks(low, high) == pytest.approx(expected, abs=1e-12)


def to_pairs(points):
    return [tuple(map(float, pair.split(","))) for pair in points.split()]


def test_points_are_where_the_axes_say():
    document = Document(chart())
    (line,), (area,) = document.all("polyline"), document.all("polygon")
    # Ticks of y tell the scale: texts at the left, 5 below their line.
    grid = [float(element["y1"]) for element in document.all("line", "grid")]
    ticks = choose_ticks(0.7, 1.05)
    per_unit = (grid[-1] - grid[0]) / (ticks[-1] - ticks[0])
    y = {value: grid[0] + (value - ticks[0]) * per_unit for value in (0.9, 0.8, 0.7, 0.75, 1.05, 0.72, 0.95)}
    placed = to_pairs(line["points"])
    assert [b for _, b in placed] == pytest.approx([y[0.9], y[0.8], y[0.7]], abs=0.011)
    assert per_unit < 0  # larger values are higher up
    left, middle, right = (a for a, _ in placed)
    assert (middle - left) / (right - left) == pytest.approx(math.log(2) / math.log(40), abs=1e-3)
    corners = to_pairs(area["points"])
    assert corners[0] == pytest.approx((left, y[0.75]), abs=0.011)
    assert corners[-1] == pytest.approx((left, y[1.05]), abs=0.011)
    assert corners[2] == pytest.approx((right, y[0.72]), abs=0.011)
    assert corners[3] == pytest.approx((right, y[0.95]), abs=0.011)
    assert [(float(dot["cx"]), float(dot["cy"])) for dot in document.all("circle")] == placed


def test_everything_lies_inside_the_picture():
    document = Document(chart())
    _, _, width, height = map(float, document.all("svg")[0]["viewbox"].split())
    assert width == WIDTH
    for element in document.all("text"):
        assert 0 <= float(element["x"]) <= width and 10 <= float(element["y"]) <= height


def test_words_for_those_who_cannot_see():
    document = Document(chart())
    svg = document.all("svg")[0]
    assert svg["role"] == "img"
    names = [element["id"] for tag in ("title", "desc") for element in document.all(tag)]
    assert svg["aria-labelledby"].split() == names == ["key-title", "key-description"]
    for text in ("title & more", "what it shows", "a <b>", "band", "0.900", "0.800", "0.700", "0.5", "20"):
        assert text in document.text


def test_the_same_numbers_give_the_same_bytes():
    assert chart() == chart()


def test_bars_are_as_long_as_their_shares():
    document = Document(share_chart("s", "title", "words", [("one", 0.25), ("two", 0.75)]))
    assert [float(bar["width"]) for bar in document.all("rect", "share")] == [0.25 * WIDTH, 0.75 * WIDTH]
    assert "25 %" in document.text and "75 %" in document.text
