"""One table says what is printed about a model of any class."""

import click
import pytest

from hushrank.cli.descriptions import _DESCRIBED_BY, describe, page_of, titles_for
from hushrank.cli.titles import Titles
from hushrank.report.models import model_page
from model_support import CLASSES, N_ITEMS, fitted


def test_every_class_is_described():
    assert set(_DESCRIBED_BY) == set(CLASSES)
    for name in CLASSES:
        parts = list(describe(fitted(name)))
        assert parts and (
            name == "PrivateEvaluation" or any("noise" in part for part in parts if isinstance(part, str))
        )


def test_titles_are_for_items_and_columns(tmp_path):
    path = tmp_path / "titles.csv"
    path.write_text("item,title\n3,Tea\n")
    given = Titles(path)
    titles = titles_for(fitted("PrivateCompletion"), given)
    assert titles[3] == "Tea" and titles[4] == "4" and len(titles) == N_ITEMS
    assert titles_for(fitted("Factorization"), given)[3] == "Tea"
    assert titles_for(fitted("PrivatePCA"), None) is None
    with pytest.raises(click.UsageError, match="not for a PrivatePCA"):
        titles_for(fitted("PrivatePCA"), given)


def test_a_page_is_that_of_its_class():
    assert page_of(fitted("PrivatePCA")) == model_page(fitted("PrivatePCA"))
