"""The docs site: links lead somewhere, nothing comes from elsewhere, and its numbers are those that were measured.

Tests with the marker `site` need a built site, and are run by `make docs`; a real browser opens it from the disk.
"""

import json
import re
from pathlib import Path

import pytest

from browser_support import DESKTOP, PHONE, Visit, chromium
from hushrank.registry import PUBLIC
from site_support import GENERATED, Site, is_sound

ROOT = Path(__file__).parents[2]
DOCS, BUILT = ROOT / "docs", ROOT / "build" / "docs"
RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text()
RECORDED = json.loads((ROOT / "benchmarks" / "results.json").read_text())
SHOWN = (
    "index", "guide/recommenders", "concepts/choosing_epsilon", "privacy/sketched", "benchmarks", "results",
    "reference/components", "faq", "search", "changelog",
)  # fmt: skip


def series(name, **given):
    """The one recorded series with these properties."""
    [found] = [one for one in RECORDED[name] if all(one[key] == value for key, value in given.items())]
    return found


def at(found, key, value, of="mean"):
    """The number of a series where `key` is `value`."""
    return found[of][found[key].index(value)]


def percent(share):
    """A share as pages say it."""
    return f"{100 * share:.0f} %"


def claims():
    """What the first page says in numbers, job by job, and what the page of benchmarks says besides."""
    digits = [series("second_moment_epsilon", delta=1e-6, method=name) for name in ("private, center", "public")]
    films = series("movielens_ml1m")
    errors = [at(films, "epsilon", 5.0, "default"), at(films, "epsilon", 5.0, "baseline"), films["without"]]
    personal = {one["method"]: one for one in RECORDED["personalization"]}
    best, ours = personal["oracle"]["mean"], at(personal["gradient (default)"], "epsilon", 1.0)
    trace = {one["method"]: at(one, "x", 160_000) for one in RECORDED["trace_records"]}
    planted = [series("stream_epsilon", data="planted, rank 10", kind=kind) for kind in ("two_sketch", "full")]
    jobs = [
        [percent(at(one, "epsilon", 1.0)) for one in digits],
        [f"{error:.3f}" for error in errors],
        [f"{ours / best:.3f}", f"{personal['local ridge']['mean'] / best:.0f}"],
        [f"{trace[name] / trace['without privacy']:.2f}" for name in ("ours", "full-matrix descent")],
        [f"{at(one, 'epsilon', 1.0):.2f}" for one in planted],
    ]
    loose = series("second_moment_row_norm", method="private, center")
    power = [
        series("captured_variance", data="power law, n = 20000, d = 50", method=name)
        for name in ("two-sided Wishart (default)", "exponential, real", "entrywise Laplace")
    ]
    more = [percent(at(loose, "factor", 100.0)), *(percent(at(one, "epsilon", 0.25)) for one in power)]
    return jobs, [*more, f"{planted[0]['zero']:.2f}"]


def prose(text):
    """A page without code, tables, pictures and targets of links."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"!\[.*?\]\(.*?\)", "", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return "\n".join(line for line in text.splitlines() if not line.startswith("|"))


@pytest.mark.parametrize("page", ["index.md", "benchmarks.md"])
def test_numbers_of_a_page_are_those_that_were_recorded(page):
    text = prose((DOCS / page).read_text())
    jobs, more = claims()
    expected = [number for job in jobs for number in job] + (more if page == "benchmarks.md" else [])
    for number in expected:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", text), f"{page} does not say {number}"
    plain = text.partition("## A first result")[0]
    said = set(re.findall(r"\b\d+ %|\b\d+\.\d+\b", plain)) - {"0.16.0", "0.6.6"}
    terms = {"0.25", "0.3", "10 %", "3.11"}  # epsilons, and the share of ratings that is held out
    assert said <= {*expected, *terms}, "numbers that nobody recorded"


def test_cards_show_the_number_of_each_job():
    shown = re.findall(r"\[([^\]]+)\]\{\.number\}", (DOCS / "index.md").read_text())
    assert shown == [numbers[0] for numbers in claims()[0]]


def test_tables_of_the_page_of_benchmarks_are_those_of_the_results():
    rows = [line for line in (DOCS / "benchmarks.md").read_text().splitlines() if line.startswith("|")]
    assert len(rows) > 40
    assert [row for row in rows if row not in RESULTS.splitlines()] == []


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(path.read_text() for path in [DOCS / "reference.md", *DOCS.glob("reference/*.md")])
    for name in PUBLIC:
        assert re.search(rf"\.\. auto(class|function):: hushrank\.{name}\n", pages), f"{name} has no entry"
        assert re.search(rf"`hushrank\.{name}`", pages), f"{name} is not in the table of docs/reference.md"


def test_a_broken_link_is_noticed(tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="other.html#there">a</a><a href="other.html#gone">b</a><a href="gone.html">c</a><img src="no.svg">'
        '<a href="#top">d</a><a href="http://example.org">e</a><a href="https://example.org/a">f</a>'
        '<script src="https://cdn.example.org/x.js"></script><a href="../secret.html">g</a>'
    )
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    (tmp_path / "alone.html").write_text("<p>nobody leads here</p>")
    sheet = '@import "https://fonts.example.org/x.css"; p { background: url(//example.org/y.png) }'
    (tmp_path / "site.css").write_text(sheet)
    site = Site(tmp_path)
    wrong = [address for _, address in site.broken()]
    assert wrong == ["other.html#gone", "gone.html", "#top", "../secret.html", "no.svg"]
    assert [address for address in site.external() if not is_sound(address)] == ["http://example.org"]
    assert [name for name, _ in site.loaded_from_elsewhere()] == ["index.html", "site.css", "site.css"]
    assert set(site.pages) - site.reached() == {"alone.html"}


@pytest.fixture(scope="module")
def site():
    """The site that `make docs` has built."""
    assert (BUILT / "index.html").exists(), "there is no site: run `make docs`"
    return Site(BUILT)


@pytest.fixture(scope="module")
def browser():
    """A real browser for the tests of this file."""
    with chromium() as running:
        yield running


@pytest.mark.site
def test_every_link_leads_somewhere(site):
    assert len(site.pages) > 60 and len(site.addresses()) > 5000
    assert site.broken() == []


@pytest.mark.site
def test_links_that_lead_out_are_sound_and_nothing_is_loaded_from_there(site):
    assert [address for address in site.external() if not is_sound(address)] == []
    assert site.loaded_from_elsewhere() == []


@pytest.mark.site
def test_every_page_can_be_reached(site):
    assert set(site.pages) - site.reached() - GENERATED == set()
    written = {str(path.relative_to(DOCS).with_suffix(".html")) for path in DOCS.rglob("*.md")}
    assert written <= set(site.pages)


@pytest.mark.site
def test_pictures_have_words(site):
    images = [(name, *image) for name, page in site.pages.items() for image in page.images]
    assert len(images) > 20
    assert [image for image in images if not image[2] or len(image[2]) < 20] == []


@pytest.mark.site
def test_the_reference_has_an_entry_for_every_public_name(site):
    ids = set().union(*(page.ids for name, page in site.pages.items() if name.startswith("reference/")))
    assert [name for name in PUBLIC if f"hushrank.{name}" not in ids] == []


@pytest.mark.site
def test_formulas_have_only_characters_that_the_font_of_the_site_has(site):
    declared = re.search(r"unicode-range:(.*?);", (DOCS / "_static" / "site.css").read_text(), re.DOTALL)[1]
    ranges = [part.strip().removeprefix("U+").split("-") for part in declared.split(",")]
    known = {code for ends in ranges for code in range(int(ends[0], 16), int(ends[-1], 16) + 1)}
    used = set("".join("".join(page.math) for page in site.pages.values()))
    assert len(used) > 100
    assert {f"U+{ord(one):X}" for one in used if not one.isspace() and ord(one) not in known} == set()
    assert "\\" not in used and "$" not in used


@pytest.mark.site
def test_search_works_from_the_disk(site, browser):
    with Visit(browser, f"{(BUILT / 'search.html').as_uri()}?q=epsilon") as visit:
        visit.page.get_by_text("Search finished").wait_for()  # results come one by one
        found = visit.page.locator("ul.search li a").all_inner_texts()
        assert len(found) > 10 and any("epsilon" in title.lower() for title in found)
        visit.page.locator("ul.search li a", has_text="Choosing epsilon").first.click()
        visit.page.wait_for_selector("h1")
        assert "psilon" in visit.page.title()
        assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []
        assert visit.complaints == []


@pytest.mark.site
def test_the_box_beside_every_page_searches(site, browser):
    with Visit(browser, (BUILT / "guide" / "pca.html").as_uri()) as visit:
        visit.page.locator("input[name=q]").first.fill("ledger")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector("ul.search li a")
        assert visit.page.url.startswith((BUILT / "search.html").as_uri())
        assert visit.complaints == []


IS_WITHIN = "document.documentElement.scrollWidth <= window.innerWidth"
ARE_PICTURES_THERE = "Array.from(document.images).every(image => image.complete && image.naturalWidth > 0)"
WIDTHS = "Array.from(document.querySelectorAll('math'), math => math.getBoundingClientRect().width)"
HAS_FONT = """document.fonts.ready.then(() => document.fonts.check('16px "hushrank math"'))"""


@pytest.mark.site
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_is_for_everybody(site, browser, name, scheme, viewport):
    """Nothing serious for axe-core, nothing wider than the window, nothing asked of others, and no complaint."""
    with Visit(browser, (BUILT / f"{name}.html").as_uri(), scheme=scheme, viewport=viewport) as visit:
        assert visit.page.evaluate(IS_WITHIN) and visit.page.evaluate(ARE_PICTURES_THERE)
        assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []
        assert visit.complaints == []
        assert visit.serious_problems() == []  # last: axe-core itself asks for style sheets, which files refuse it


@pytest.mark.site
def test_formulas_are_drawn_with_the_font_of_the_site(site, browser):
    with Visit(browser, (BUILT / "privacy" / "sketched.html").as_uri()) as visit:
        assert visit.page.evaluate(HAS_FONT) and any(url.endswith("math.woff2") for url in visit.requests)
        widths = visit.page.evaluate(WIDTHS)
        assert len(widths) > 100 and min(widths) > 0
