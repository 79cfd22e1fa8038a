"""Ratings as files in a real browser: what the page writes and reads means the same to the library."""

import warnings

import pytest

from hushrank.cli.small_tables import read_own_ratings
from hushrank.data.id_arrays import to_ids
from visit_support import TITLES, rate, rows, titles_of, told, visit
from web_support import N_ITEMS, recommender


def test_long_lists_are_shown_in_parts(browser, pages):
    with visit(browser, pages) as seen:
        lines = "".join(f"{j},{1 + j % 5}\n" for j in range(N_ITEMS)).encode()
        content = {"name": "own.csv", "mimeType": "text/csv", "buffer": b"item,rating\n" + lines}
        seen.page.set_input_files("#import", content)
        seen.page.locator("#own li").nth(19).wait_for()
        assert rows(seen.page, "own").count() == 20 and rows(seen.page, "best").count() == 0
        assert "rated everything" in seen.page.inner_text("#told")
        seen.page.click("#more-own")
        assert rows(seen.page, "own").count() == N_ITEMS and not seen.page.is_visible("#more-own")


@pytest.mark.parametrize("kind", ["texts as ids", "huge ids", "implicit"])
def test_ratings_travel_as_files(browser, pages, kind, tmp_path):
    with visit(browser, pages, kind) as seen:
        page, ids = seen.page, recommender(kind).items_.tolist()
        for j in (0, 9):
            rate(page, TITLES[j], 0)
        with page.expect_download() as downloading:
            page.click("#export")
        path = tmp_path / downloading.value.suggested_filename
        downloading.value.save_as(path)
        kind_of_ids = to_ids(ids).type
        needed = ["item"] if kind == "implicit" else ["item", "rating"]
        table = read_own_ratings(path, kind_of_ids, None, user=None, needed=needed)
        top = seen.exported.model.recommend(table, n=10)
        titles, scores = told(page)
        assert titles == [titles_of(kind)[item] for item in top.items.tolist()]
        assert scores == pytest.approx(top.scores.tolist(), abs=1e-3)
        page.once("dialog", lambda dialog: dialog.accept())
        page.click("#clear")
        page.set_input_files("#import", path)
        page.locator("#own li").nth(1).wait_for()
        assert told(page) == (titles, scores) and "2 ratings read" in page.inner_text("#news")
        (tmp_path / "other.csv").write_text("film,stars\n1,2\n")
        page.set_input_files("#import", tmp_path / "other.csv")
        page.get_by_text("The file was not read").wait_for()  # seen by everybody
        assert rows(page, "own").count() == 2 and seen.complaints == []


ODD = "user,item,rating\n" + "".join(
    f"7,{row}\n"
    for row in (
        "003,5", "+5,1", "3.0,2", " 9 , 4 ", "11,9", "14,-3", "4,0x5", "6,", "8,nan", "x,3", "99,1", '"2\n",4', "-0,5",
    )
)  # fmt: skip


@pytest.mark.parametrize("kind", ["ratings", "implicit"])
def test_a_file_of_another_program_means_what_it_means_to_the_library(browser, pages, kind, tmp_path):
    (tmp_path / "odd.csv").write_text(ODD)
    needed = ["item"] if kind == "implicit" else ["item", "rating"]
    with visit(browser, pages, kind) as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ratings that are no numbers
        own = read_own_ratings(tmp_path / "odd.csv", to_ids([1]).type, None, user="7", needed=needed)
        top = seen.exported.model.recommend(own.drop_columns(["user"]), n=10)
        seen.page.set_input_files("#import", tmp_path / "odd.csv")
        rows(seen.page, "own").nth(6).wait_for()
        titles, scores = told(seen.page)
        assert titles == [titles_of(kind)[item] for item in top.items.tolist()]
        assert scores == pytest.approx(top.scores.tolist(), abs=1e-3)
        news = seen.page.inner_text("#news")
        if kind == "ratings":
            parts = ("7 ratings read", "2 outside of 1 to 5", "2 of no item of this catalogue", "3 without a number")
            assert [part for part in parts if part not in news] == [], news
        (tmp_path / "two.csv").write_text(ODD + "8,3,1\n")
        seen.page.set_input_files("#import", tmp_path / "two.csv")
        seen.page.get_by_text("it has the ratings of several users").wait_for()
