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


def becomes(page, expression, seconds=10):
    """Whether a page agrees in time; Playwright's own way to wait evaluates texts in it, which its policy forbids."""
    for _ in range(10 * seconds):
        if page.evaluate(expression):
            return True
        page.wait_for_timeout(100)
    return False


def open_second_tab(seen):
    """Another tab with the page of a visit; until both have one storage, which on a busy machine Chromium forgets."""
    for _ in range(5):
        second = seen.context.new_page()
        second.goto(seen.path.as_uri())
        if are_connected(second, seen.page) and are_connected(seen.page, second):
            return second
        second.close()
        seen.page.reload()
    pytest.fail("two tabs do not find the same storage")


def are_connected(one, other):
    """Whether a page finds what another one keeps, and no longer finds what that one has removed."""
    one.evaluate("localStorage.setItem('probe', '')")
    is_found = becomes(other, "localStorage.length === 1", seconds=2)
    one.evaluate("localStorage.removeItem('probe')")
    return is_found and becomes(other, "localStorage.length === 0", seconds=2)


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
