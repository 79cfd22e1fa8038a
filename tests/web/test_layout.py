"""The box about the guarantee says the numbers of this model, in words that are true of it."""

import re

import pytest

from hushrank.estimators.completion.rounding import RoundingError
from hushrank.privacy.words import sentences
from hushrank.web.layout import page_body, say_rounding
from report_support import Document
from web_support import recommender

ROUNDING = RoundingError(0.000412, 0.0000311, 0.99687, 64)


def text_of(kind, precision="float16"):
    return Document(page_body(recommender(kind), "Films", ROUNDING, precision)).text


@pytest.mark.parametrize("kind", ["ratings", "implicit", "hardly any budget"])
def test_the_promise_is_that_of_the_model(kind):
    text, given = text_of(kind), recommender(kind).privacy_
    assert all(sentence in text for sentence in sentences(given))
    assert f"Neighbors: {given.neighbors} one {given.unit}" in text and "joint privacy" in text


def test_what_is_noise_is_said():
    assert "This model has no factors above the noise" in text_of("hardly any budget")
    assert "Such items are called uncertain." in text_of("hardly any budget")
    assert "uncertain" not in text_of("ratings") and "2 of 2 factors stand above the noise" in text_of("ratings")


def test_rounding_is_never_rounded_down():
    said = say_rounding(ROUNDING, "int8", is_implicit=False)
    assert "to int8" in said and "by at most 0.00042 (typically 3.2e-05), and 99.6 %" in said
    assert "64 made-up visitors this moved predicted ratings" in said
    alone = say_rounding(RoundingError(0.0, 0.0, 1.0, 1), "float16", is_implicit=True)
    assert "one made-up visitor this moved scores by at most 0 " in alone and "100 %" in alone


def test_controls_have_names_and_ids_are_unique():
    document = Document(page_body(recommender("ratings"), "Films", ROUNDING, "float16"))
    ids = [a["id"] for _, a in document.elements if "id" in a]
    assert len(ids) == len(set(ids))
    labelled = {a.get("for") for a in document.all("label")}
    fields = [a for a in document.all("input") if a.get("type") != "checkbox"]  # that one is inside its label
    assert {a["id"] for a in fields} <= labelled
    assert {a["aria-labelledby"] for a in document.all("section")} <= set(ids)
    links = [(a.get("class"), a.get("id"), a["href"]) for a in document.all("a")]
    assert links == [("skip", None, "#best-title"), (None, "to-best", "#best-title")] and "best-title" in ids


def test_texts_are_escaped():
    assert not re.search(r"<b>", page_body(recommender("ratings"), "<b>Films", ROUNDING, "float16"))
