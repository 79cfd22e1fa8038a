"""Marks of strengths, their words and their chart."""

import numpy as np
import pytest

from hushrank.report.strengths import (
    CLEAR_STRENGTH,
    Bar,
    floor_chart,
    mark_of_strength,
    say_above,
    say_strength,
    shorten,
    strength_bars,
    strengths_of,
)
from report_support import Document


@pytest.mark.parametrize(
    ("strength", "mark"),
    [(0.0, "noise"), (1.0, "noise"), (1.01, "weak"), (CLEAR_STRENGTH, ""), (float("nan"), "noise")],
)
def test_marks(strength, mark):
    assert mark_of_strength(strength) == mark


def test_strengths_are_not_rounded_up():
    assert say_strength(0.999) == "0.99" and say_strength(1.0) == "1.00" and say_strength(1234.5) == "1.23e+03"


def test_words_count():
    assert say_above(1, 1, "factor").startswith("1 of 1 factor stands above the noise (of noise alone")
    assert "0 of 3 factors stand above the noise" in say_above(0, 3, "factor") and "5 %" in say_above(0, 3, "factor")


def test_models_without_strengths_have_none():
    class Model:
        strength_ = np.array([2.0, 0.5])

    assert strengths_of(Model()) == [2.0, 0.5] and strengths_of(object()) is None
    Model.strength_ = np.zeros(0)
    assert strengths_of(Model()) is None


def test_names_print_and_are_short():
    assert shorten("a\x1b[31mb") == "a\\x1b[31mb" and len(shorten("x" * 99)) == 40


def test_the_chart_has_a_bar_for_each_and_the_floor():
    chart = floor_chart("k", "Title", strength_bars([3.0, 1.1, 0.2], "factor"), 1.0, "noise")
    document = Document(chart)
    assert len(document.all("rect", "share")) == 3 and len(document.all("rect", "noise")) == 1
    assert len(document.all("rect", "weak")) == 1 and len(document.all("line", "axis")) == 4
    assert "factor 3 0.2 noise" in document.text and document.all("line", "axis")[0]["x1"] == f"{479 / 3:.2f}"
    assert "&lt;b&gt;" in floor_chart("k", "t", [Bar("<b>", 0.0)], 0.0, "none")
