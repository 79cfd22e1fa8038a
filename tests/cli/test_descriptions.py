"""One table says what is printed about a model of any class."""

import click
import pytest

from hushrank.cli.descriptions import _DESCRIBED_BY, describe, titles_for
from model_support import CLASSES, N_ITEMS, fitted


def test_every_class_is_described():
    assert set(_DESCRIBED_BY) == set(CLASSES)
    for name in CLASSES:
        assert any("noise" in part for part in describe(fitted(name)) if isinstance(part, str))


def test_titles_are_for_items_and_columns(tmp_path):
    path = tmp_path / "titles.csv"
    path.write_text("item,title\n3,Tea\n")
    titles = titles_for(fitted("PrivateCompletion"), path)
    assert titles[3] == "Tea" and titles[4] == "4" and len(titles) == N_ITEMS
    assert titles_for(fitted("Factorization"), path)[3] == "Tea"
    assert titles_for(fitted("PrivatePCA"), None) is None
    with pytest.raises(click.UsageError, match="not for a PrivatePCA"):
        titles_for(fitted("PrivatePCA"), path)
