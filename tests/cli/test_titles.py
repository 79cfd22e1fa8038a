"""Titles of items from a public table."""

import pytest

from hushrank.cli.titles import read_titles
from hushrank.exceptions import InvalidParameter


@pytest.mark.parametrize("column", ["title", "name"])
def test_every_item_has_its_title_or_its_id(tmp_path, column):
    path = tmp_path / "items.csv"
    path.write_text(f"item,{column}\n7,Tea\n8,\n")
    assert read_titles(path, [8, 7, 9]) == ["8", "Tea", "9"]


def test_a_table_without_titles_is_refused(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("item,year\n7,1999\n")
    with pytest.raises(InvalidParameter, match=r"file of titles must be .*title"):
        read_titles(path, [7])
