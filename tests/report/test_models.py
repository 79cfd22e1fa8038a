"""Pages of models of every class: one table of them, self-contained, escaped, the same from a file."""

import re

import pytest

import hushrank
from hushrank.registry import RELEASES
from hushrank.report.models import _PAGES, model_page
from hushrank.report.promise import Beside
from model_support import CLASSES, HOSTILE, N_ITEMS, fitted
from report_support import Document


def test_every_class_that_a_file_may_hold_has_a_page():
    assert set(_PAGES) == set(RELEASES) - {"TurnstileSketch"} == set(CLASSES)  # a sketch is a secret, and no model


@pytest.mark.parametrize("name", CLASSES)
def test_a_page_is_whole_and_loads_nothing(name, tmp_path):
    model = fitted(name)
    page = model_page(model)
    text = Document(page).text
    for part in ("What is promised", "Limits", "noise", "right guess, at most"):
        assert part in text
    assert "<script" not in page and not re.search(r"(src|href)=", page) and "prefers-color-scheme: dark" in page
    model.save(tmp_path / "model.hush")
    assert model_page(hushrank.load(tmp_path / "model.hush")) == page


@pytest.mark.parametrize("name", ["PrivateCompletion", "Factorization"])
def test_titles_are_escaped(name):
    page = model_page(fitted(name), Beside([f"{HOSTILE}{i}" for i in range(N_ITEMS)]))
    assert "<script" not in page and HOSTILE in Document(page).text


@pytest.mark.parametrize("name", ["PrivatePCA", "PrivateRepresentation"])
def test_names_of_columns_are_escaped(name):
    page = model_page(fitted(name))
    assert "<script" not in page and HOSTILE in Document(page).text


@pytest.mark.parametrize("name", CLASSES)
def test_the_forecast_needs_the_number_of_people(name):
    text = Document(model_page(fitted(name), Beside(n_people=5000))).text
    assert "What was forecast" in text
