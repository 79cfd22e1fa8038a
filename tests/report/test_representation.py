"""The page of a representation: its directions, which of them are noise."""

import copy

import numpy as np

from hushrank.report.representation import direction_rows, representation_page, say_directions, say_gain
from model_support import HOSTILE, fitted
from report_support import Document


def test_a_direction_too_many_is_noise_and_shows_no_features():
    model = fitted("PrivateRepresentation")
    (first, cells), (second, others) = direction_rows(model)
    assert (first, second) == ("", "noise") and cells[4] and others[4] == ""
    assert say_directions(model).startswith("1 of 2 directions stands above the noise")
    document = Document(representation_page(model))
    assert len(document.all("span", "dim")) == 6 and say_gain(model)[1:] in document.text
    assert HOSTILE in document.text or HOSTILE not in cells[4]


def test_where_nothing_was_learned_that_is_said():
    model = copy.copy(fitted("PrivateRepresentation"))
    model.head_covariance_, model.head_mean_ = np.zeros((2, 2)), np.zeros(2)
    text = Document(representation_page(model)).text
    assert "0 of 2 directions stand above the noise" in text and "users rely on their own records" in text


def test_a_pure_choice_says_nothing_about_noise():
    model = copy.copy(fitted("PrivateRepresentation"))
    del model.gains_, model.gain_deviation_
    assert say_directions(model) is None and "was not checked" in say_gain(model)
    text = Document(representation_page(model)).text
    assert "A pure choice does not say how sure its directions are." in text
