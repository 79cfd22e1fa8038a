"""A visitor of the recommender page: pages of all kinds, what is pressed there, and what they show."""

import functools

import pytest

from browser_support import Visit, chromium
from hushrank.web.page import export_web
from web_support import N_ITEMS, recommender

TITLES = [f"The {word} {j}" for j, word in enumerate(["Harbor", "River", "Garden"] * (N_ITEMS // 3))]


@pytest.fixture(scope="module")
def browser():
    """A running browser."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A function from a kind of model to a page of it: its path, and what was exported."""
    folder = tmp_path_factory.mktemp("pages")

    @functools.cache
    def export(kind, titled=True):
        path = folder / f"{kind} {titled}.html"
        return path, export_web(
            recommender(kind), path, titles=titles_of(kind) if titled else None, name="Films & more"
        )

    return export


def titles_of(kind):
    """Titles by id."""
    return dict(zip(recommender(kind).items_.tolist(), [*TITLES, "New & first", "New <b>"], strict=False))


def visit(browser, pages, kind="ratings", **terms):
    """Somebody at a page."""
    path, exported = pages(kind)
    seen = Visit(browser, path.as_uri(), **terms)
    seen.path, seen.exported = path, exported
    return seen


def wait_until(page, expression):
    """Wait until a page agrees; Playwright's own way evaluates texts in the page, which its policy forbids."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    pytest.fail(f"for ten seconds it was not so that {expression}")


def reload_with_what_is_kept(page):
    """Reload a page; on a busy machine Chromium loses what was written a moment before, which is written anew then."""
    kept = page.evaluate("Object.entries(localStorage)")
    assert kept
    for _ in range(5):
        page.reload()
        if page.evaluate("localStorage.length"):
            return
        page.evaluate("(kept) => kept.forEach(([key, text]) => localStorage.setItem(key, text))", kept)
    pytest.fail("what was kept is gone after each of five reloads")


def rows(page, list_):
    """Items of a list."""
    return page.locator(f"#{list_} li")


def rate(page, title, button):
    """Search an item and press one of its buttons."""
    page.fill("#query", title)
    row = rows(page, "results").filter(has=page.get_by_text(title, exact=True))
    row.locator("button").nth(button).click()


def told(page):
    """Titles and predictions of what is recommended."""
    titles = page.locator("#best .title").all_inner_texts()
    return titles, [float(one.get_attribute("value")) for one in page.locator("#best .score").all()]


def check_recommended(seen, kind, own):
    """The page says what `recommend` says of the model with rounded factors."""
    top = seen.exported.model.recommend(own, n=10)
    titles, scores = told(seen.page)
    assert titles == [titles_of(kind)[item] for item in top.items.tolist()]
    assert scores == pytest.approx(top.scores.tolist(), abs=1e-3)
