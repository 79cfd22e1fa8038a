"""The recommender page in a real browser, opened from a disk: what it says, asks for, keeps, and how it is reached."""

import datetime
import functools
import http.server
import sys
import threading

import numpy as np
import pytest

from browser_support import DESKTOP, PHONE, Visit
from hushrank.web.page import export_web, make_web_page, to_bytes
from visit_support import (
    TITLES,
    becomes,
    check_recommended,
    open_second_tab,
    rate,
    reload_with_what_is_kept,
    rows,
    titles_of,
    told,
    visit,
)
from web_support import N_ITEMS, recommender

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(1)</script>\u202e"
START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
CONTROLS = "a[href], button:enabled, input:enabled"


@pytest.mark.parametrize("kind", ["ratings", "features", "added items", "implicit with features", "half steps"])
def test_ratings_change_what_is_recommended(browser, pages, kind):
    with visit(browser, pages, kind) as seen:
        titles, ids = titles_of(kind), recommender(kind).items_.tolist()
        check_recommended(seen, kind, {})
        before = told(seen.page)
        own, low = {}, 0.5 if kind == "half steps" else 1.0
        step = 0.5 if kind == "half steps" else 1.0
        for j, button in zip((2, 5, 11, 14, 20), (4, 4, 0, 1, 3), strict=True):
            place = 0 if kind.startswith("implicit") else button
            rate(seen.page, titles[ids[j]], place)
            own[ids[j]] = low + step * place
        check_recommended(seen, kind, own)
        assert told(seen.page) != before
        assert rows(seen.page, "own").count() == 5 and "From 5 ratings" in seen.page.inner_text("#told")
        for _ in range(5):  # take all of them back
            rows(seen.page, "own").locator("button[aria-pressed=true]").first.click()
        assert told(seen.page) == before
        assert seen.requests == [seen.path.as_uri()] and seen.complaints == []


def test_numbers_are_typed_where_there_are_many(browser, pages):
    with visit(browser, pages, "percent") as seen:
        own = {3: 87.5, 8: 0.0}
        for item, rating in own.items():
            seen.page.fill("#query", TITLES[item])
            seen.page.locator("#results input").first.fill(str(rating))
            seen.page.keyboard.press("Enter")
        check_recommended(seen, "percent", own)
        seen.page.locator("#own input").first.fill("400")
        seen.page.keyboard.press("Tab")
        check_recommended(seen, "percent", own | {8: 100.0})
        assert seen.complaints == []


def test_why_and_what_it_is(browser, pages):
    with visit(browser, pages, "features") as seen:
        for item in (1, 5, 9):
            rate(seen.page, TITLES[item], 4)
        for item in (2, 3):
            rate(seen.page, TITLES[item], 0)
        first = rows(seen.page, "best").first.inner_text()
        assert "Because you liked" in first and "you seem to like Drama" in first
        assert "Drama" in rows(seen.page, "own").last.inner_text()  # item 1 is of that kind


def test_search(browser, pages):
    with visit(browser, pages) as seen:
        seen.page.fill("#query", "RIVER")
        assert rows(seen.page, "results").count() == N_ITEMS // 3 and "8 items found" in seen.page.inner_text("#found")
        seen.page.fill("#query", "the")
        assert rows(seen.page, "results").count() == 8 and "first 8" in seen.page.inner_text("#found")
        seen.page.click("#more-found")
        assert rows(seen.page, "results").count() == 16
        seen.page.fill("#query", "nothing like it")
        assert rows(seen.page, "results").count() == 0 and "Nothing has" in seen.page.inner_text("#found")
        seen.page.click("#more-best")
        assert rows(seen.page, "best").count() == 20


@pytest.fixture
def server(pages):
    """A web server of the pages' folder: its address, and what it was asked for."""
    asked = []

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):  # a browser that is closed does not wait for answers
            assert isinstance(sys.exception(), ConnectionError)

    folder = pages("ratings")[0].parent
    running = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", asked
    running.shutdown()
    thread.join()
    running.server_close()


SEND = """async ([server, wanted]) => {
    const blocked = [], made = [];
    addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
    const add = (name, values) => {
        made.push(name);
        document.body.append(Object.assign(document.createElement(name), values));
    };
    const tries = [
        () => fetch(`${server}/fetch`),
        () => navigator.sendBeacon(`${server}/beacon`, "x"),
        () => new WebSocket(`${server.replace("http", "ws")}/socket`),
        () => new EventSource(`${server}/events`),
        () => add("img", { src: `${server}/image.png` }),
        () => add("iframe", { src: `${server}/frame` }),
        () => add("link", { rel: "stylesheet", href: `${server}/style.css` }),
        () => add("link", { rel: "prefetch", href: `${server}/prefetch` }),
        () => add("video", { src: `${server}/video` }),
        () => add("style", { textContent: "body { color: red }" }),
        () => add("form", { action: `${server}/form` }) ?? document.querySelector("form").submit(),
        () => add("script", { textContent: "window.planted = 1" }),
        () => document.body.insertAdjacentHTML("beforeend", "<b>planted</b>"),
        () => setTimeout("window.planted = 2"),
        () => new Worker("data:,1"),
    ];
    let nErrors = 0;
    for (const one of tries) {
        try { await one(); } catch { nErrors += 1; }
    }
    const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
    for (let i = 0; i < 100 && !wanted.every((one) => blocked.includes(one)); i += 1) await wait(50);
    await wait(300);
    return { blocked: [...new Set(blocked)], nErrors, made, planted: window.planted ?? null };
}"""


def test_nothing_can_be_sent(browser, pages, server):
    address, asked = server
    with visit(browser, pages) as seen:
        expected = [
            "connect-src", "img-src", "frame-src", "style-src-elem", "media-src", "form-action", "default-src",
            "require-trusted-types-for",
        ]  # fmt: skip
        found = seen.page.evaluate(SEND, [address, expected])
        assert found["planted"] is None and found["nErrors"] >= 4 and "form" in found["made"]
        assert set(expected) <= set(found["blocked"]) and asked == []
        assert seen.page.locator("text=planted").count() == 0 and seen.page.url == seen.path.as_uri()


def test_without_its_policy_a_page_could_send(browser, pages, server, tmp_path):
    """Planted: the same attempts reach the server where nothing forbids them."""
    address, asked = server
    expected = {"/fetch", "/image.png", "/frame", "/style.css"}
    (tmp_path / "open.html").write_text("<!DOCTYPE html><title>open</title><body>")
    with Visit(browser, (tmp_path / "open.html").as_uri()) as seen:
        found = seen.page.evaluate(SEND.replace('document.querySelector("form").submit()', "null"), [address, []])
        for _ in range(100):
            if expected <= set(asked):
                break
            seen.page.wait_for_timeout(100)
    assert found["blocked"] == [] and found["planted"] == 2
    assert expected <= set(asked)


def test_a_page_whose_script_was_changed_runs_nothing(browser, pages, tmp_path):
    path, _ = pages("ratings")
    changed = path.read_text().replace("FOUND_AT_ONCE = 8", "FOUND_AT_ONCE = 9")
    (tmp_path / "changed.html").write_text(changed)
    with Visit(browser, (tmp_path / "changed.html").as_uri()) as seen:
        assert not seen.page.is_visible("#app") and "Content Security Policy" in " ".join(seen.complaints)


def test_served_by_a_web_server_it_asks_for_nothing_else(browser, pages, server):
    address, asked = server
    with Visit(browser, f"{address}/ratings%20True.html") as seen:
        rate(seen.page, TITLES[3], 4)
        assert rows(seen.page, "own").count() == 1 and seen.complaints == []
    assert asked == ["/ratings%20True.html"]


def test_titles_stay_texts(browser, tmp_path):
    model, dialogs = recommender("texts as ids"), []
    titles = dict.fromkeys(model.items_.tolist()[:2], HOSTILE)
    export_web(model, tmp_path / "page.html", titles=titles, name=HOSTILE)
    with Visit(browser, (tmp_path / "page.html").as_uri()) as seen:
        seen.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        shown = f"{HOSTILE} ({model.items_[0]})".replace("\u202e", "")  # which would turn what stands beside it
        seen.page.fill("#query", "onerror item 0")
        assert seen.page.locator("#results .title").first.evaluate("one => one.textContent") == shown
        rows(seen.page, "results").first.locator("button").nth(4).click()
        check = seen.page.locator("#best .title").all_inner_texts()
        assert len(check) == 10 and seen.page.locator("img").count() == 0
        assert seen.page.locator("h1").evaluate("one => one.textContent") == HOSTILE
        assert dialogs == [] and seen.complaints == [] and len(seen.requests) == 1


def test_ratings_are_kept_only_if_the_visitor_agrees(browser, pages):
    with visit(browser, pages) as seen:
        page = seen.page
        rate(page, TITLES[3], 4)
        assert page.evaluate("localStorage.length") == 0
        page.reload()
        assert rows(page, "own").count() == 0 and not page.is_checked("#keep")
        rate(page, TITLES[3], 4)
        page.check("#keep")
        rate(page, TITLES[7], 0)
        reload_with_what_is_kept(page)
        assert page.is_checked("#keep") and rows(page, "own").count() == 2
        check_recommended(seen, "ratings", {3: 5.0, 7: 1.0})
        page.uncheck("#keep")
        assert page.evaluate("localStorage.length") == 0 and rows(page, "own").count() == 2
        page.check("#keep")
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.click("#clear")
        assert rows(page, "own").count() == 2  # they were asked, and said no
        page.once("dialog", lambda dialog: dialog.accept())
        page.click("#clear")
        assert rows(page, "own").count() == 0 and page.is_disabled("#clear")
        page.reload()
        assert rows(page, "own").count() == 0


def test_two_tabs_keep_what_their_own_visitors_agreed_to(browser, pages):
    with visit(browser, pages) as seen:
        first, second = seen.page, open_second_tab(seen)
        first.check("#keep")
        rate(first, TITLES[3], 4)
        rate(second, TITLES[7], 0)
        kept = "Object.values(localStorage)"
        assert first.evaluate(kept) == ['{"range":[1,5],"ratings":[["3",5]]}'] and not second.is_checked("#keep")
        assert becomes(second, f"{kept}.length === 1 && {kept}[0].includes('3')")
        second.check("#keep")  # joined with what the other one keeps, which follows
        rows(first, "own").nth(1).wait_for()
        assert rows(second, "own").count() == 2
        first.uncheck("#keep")
        assert becomes(second, "!document.getElementById('keep').checked")
        rate(second, TITLES[9], 2)
        assert second.evaluate(kept) == [] and rows(second, "own").count() == 3


def test_who_comes_back_is_shown_no_agreement_that_is_none(browser, pages, tmp_path):
    (tmp_path / "elsewhere.html").write_text("<!DOCTYPE html><title>elsewhere</title>")
    with visit(browser, pages) as seen:
        page = seen.page
        page.check("#keep")
        page.goto((tmp_path / "elsewhere.html").as_uri())
        page.evaluate("localStorage.clear()")
        page.go_back()
        assert not page.is_checked("#keep") and page.evaluate("localStorage.length") == 0
        rate(page, TITLES[3], 4)
        page.check("#keep")
        page.evaluate("localStorage.clear()")  # while the page sleeps, which no event tells it
        page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        assert not page.is_checked("#keep") and rows(page, "own").count() == 1
        assert seen.complaints == []


def test_a_number_that_is_typed_stays_while_another_tab_rates(browser, pages):
    with visit(browser, pages, "percent") as seen:
        first, second = seen.page, open_second_tab(seen)
        first.check("#keep")
        assert becomes(second, "localStorage.length === 1")
        second.check("#keep")
        first.locator("#results input").first.fill("77")
        second.locator("#results input").nth(1).fill("12")
        second.keyboard.press("Enter")
        assert becomes(first, "Object.values(localStorage)[0].includes('12')")
        assert first.locator("#results input").first.input_value() == "77" and rows(first, "own").count() == 0
        first.keyboard.press("Enter")
        assert rows(first, "own").count() == 2
        rows(second, "own").nth(1).wait_for()


def test_what_cannot_be_kept_is_told(browser, pages):
    with visit(browser, pages) as seen:
        seen.page.check("#keep")
        seen.page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
        rate(seen.page, TITLES[3], 4)
        assert "This device could not keep your ratings" in seen.page.inner_text("#news")
        assert not seen.page.is_checked("#keep") and rows(seen.page, "own").count() == 1


@pytest.mark.parametrize("viewport", [PHONE, {"width": 320, "height": 256}], ids=["phone", "zoomed"])
def test_the_news_cover_no_control_that_has_the_focus(browser, tmp_path, viewport):
    model = recommender("ratings")
    titles = [f"{j} of the longest titles that there can be on a page {'and more ' * 30}" for j in range(N_ITEMS)]
    export_web(model, tmp_path / "page.html", titles=titles)
    with Visit(browser, (tmp_path / "page.html").as_uri(), viewport=viewport) as seen:
        seen.page.locator("#results button").first.click()
        for _ in range(40):
            seen.page.keyboard.press("Tab")
            assert not seen.page.evaluate(COVERED)


COVERED = """() => {
    const one = document.activeElement, bar = document.getElementById("bar");
    const [inner, outer] = [one, bar].map((element) => element.getBoundingClientRect());
    const isBelow = inner.top >= outer.top && inner.bottom <= outer.bottom && !bar.contains(one);
    return isBelow && getComputedStyle(bar).position === "sticky";
}"""


def test_the_news_go_away_and_lead_to_what_is_new(browser, pages):
    with visit(browser, pages, viewport=PHONE) as seen:
        page, bar = seen.page, seen.page.locator("#bar")
        page.clock.install(time=START)
        page.clock.pause_at(START + datetime.timedelta(hours=1))  # where it stands, however slow the machine is
        assert bar.bounding_box()["height"] < 5 and not page.is_visible("#to-best")
        rate(page, TITLES[3], 4)
        page.clock.fast_forward(7_000)
        assert "Rated" in page.inner_text("#news") and page.is_visible("#to-best")
        page.focus("#to-best")
        page.clock.fast_forward(60_000)  # somebody is at it
        assert page.is_visible("#to-best")
        page.keyboard.press("Enter")
        page.clock.fast_forward(1_000)
        assert page.inner_text("#news") == "" and not page.is_visible("#to-best") and bar.bounding_box()["height"] < 5
        top = page.locator("#best-title").bounding_box()["y"]
        assert -1 <= top < PHONE["height"] / 2 and seen.requests == [seen.path.as_uri()]
        rate(page, TITLES[4], 4)
        page.clock.fast_forward(30_000)
        assert page.inner_text("#news") == ""
    with visit(browser, pages, viewport=DESKTOP) as seen:
        rate(seen.page, TITLES[3], 4)
        assert "Rated" in seen.page.inner_text("#news") and not seen.page.is_visible("#to-best")  # both are seen


def test_a_newer_page_in_the_same_place_finds_what_was_kept(browser, tmp_path):
    model, path = recommender("ratings"), tmp_path / "page.html"
    export_web(model, path, titles=TITLES)
    with Visit(browser, path.as_uri()) as seen:
        rate(seen.page, TITLES[3], 4)
        seen.page.check("#keep")
        export_web(model, path, titles=[*TITLES[:-1], "Another title"], precision="int8")
        reload_with_what_is_kept(seen.page)
        assert rows(seen.page, "own").count() == 1 and seen.page.is_checked("#keep")
        seen.page.uncheck("#keep")
        assert seen.page.evaluate("localStorage.length") == 0


def test_items_without_titles_are_not_taken_for_ratings(browser, pages):
    path, _ = pages("ratings", titled=False)
    with Visit(browser, path.as_uri()) as seen:
        seen.page.fill("#query", "7")
        assert seen.page.locator("#results .title").all_inner_texts() == ["item 7", "item 17"]


def test_everything_is_reached_by_keyboard(browser, pages):
    with visit(browser, pages) as seen:
        page = seen.page
        rate(page, TITLES[3], 4)
        page.fill("#query", "")
        wanted = set(page.locator(CONTROLS).evaluate_all(_NAMES))
        page.evaluate("document.activeElement.blur()")
        reached = []
        for _ in range(200):
            page.keyboard.press("Tab")
            name = page.evaluate(f"({_NAMES})([document.activeElement])[0]")
            if name in reached:
                break
            reached.append(name)
        assert set(reached) - {None} == wanted and len(wanted) > 20  # None is the frame of the browser


_NAMES = """(all) => all.filter((one) => one.checkVisibility() && one.tabIndex >= 0).map((one) => {
    const row = one.closest("[data-position]");
    const within = [row?.parentElement.id, row?.dataset.position, one.dataset.control];
    return [one.id, ...within, one.getAttribute("href")].join(" ");
})"""


def test_rating_by_keyboard(browser, pages):
    with visit(browser, pages) as seen:
        page = seen.page

        def focus():
            return page.evaluate(
                "(() => { const one = document.activeElement, row = one.closest('[data-position]');"
                "return [row?.parentElement.id ?? one.id, row?.dataset.position ?? null, one.textContent]; })()"
            )

        page.focus("#query")
        page.keyboard.type(TITLES[6])
        page.keyboard.press("Tab")
        assert focus() == ["results", "6", "1"]
        before = told(page)
        for key in ("ArrowRight", "ArrowRight", "End", "ArrowLeft"):
            page.keyboard.press(key)
        assert focus() == ["results", "6", "4"] and told(page) == before  # arrows rate nothing
        page.keyboard.press("Enter")
        assert focus() == ["results", "6", "4"] and "Rated The Harbor 6: 4" in page.inner_text("#news")
        check_recommended(seen, "ratings", {6: 4.0})
        first = page.locator("#best li").first.get_attribute("data-position")
        page.locator("#best li").first.locator("button").first.focus()
        page.keyboard.press("Home")
        page.keyboard.press(" ")
        check_recommended(seen, "ratings", {6: 4.0, int(first): 1.0})
        list_, position, _ = focus()
        assert list_ == "best" and position == page.locator("#best li").first.get_attribute("data-position") != first
        page.locator("#own li").first.locator("[tabindex='0']").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")  # the other one, which took its place
        assert focus()[0] == "own-title" and rows(page, "own").count() == 0


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["features", "percent", "implicit with features"])
def test_nothing_serious_is_wrong_for_readers_of_all_kinds(browser, pages, kind, scheme, viewport):
    with visit(browser, pages, kind, scheme=scheme, viewport=viewport) as seen:
        assert seen.serious_problems() == []
        if kind == "percent":
            seen.page.locator("#results input").first.fill("70")
            seen.page.keyboard.press("Enter")
        else:
            rate(seen.page, TITLES[3], 0)
        assert seen.serious_problems() == []
        width = seen.page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"]  # nothing is cut off, and nothing scrolls sideways


def test_a_planted_barrier_is_noticed(browser, pages):
    with visit(browser, pages) as seen:
        seen.page.evaluate("document.querySelector('label[for=query]').remove()")
        assert "label" in [name for name, _ in seen.serious_problems()]


def test_a_browser_without_scripts_says_so(browser, pages):
    with visit(browser, pages, java_script_enabled=False) as seen:
        assert "Allow scripts" in seen.page.inner_text("body") and "What is promised" in seen.page.inner_text("body")


def test_ten_thousand_items_of_rank_32_are_below_three_megabytes():
    model = recommender("features").add_items(range(100, 100 + 10_000 - N_ITEMS))
    rng = np.random.default_rng(0)
    wide = type(model)(**{**model._parameters(), "rank": 32})
    grown = {"item_factors_": rng.standard_normal((10_000, 32)), "n_factors_": 32, "strength_": np.full(32, 2.0)}
    grown["item_features_"] = rng.standard_normal((10_000, 36))  # as many as there may be
    wide._keep({**model._learned(), **grown, "feature_map_": rng.standard_normal((len(model.feature_map_), 69))})
    titles = [f"A title of usual length, the {j}th of many ({1950 + j % 70})" for j in range(10_000)]
    assert len(to_bytes(make_web_page(wide, titles=titles).html)) < 3e6
