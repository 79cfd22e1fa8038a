"""A real browser and a real JavaScript engine for tests, where the machine has them.

Chromium is that of the system; node is that of the system, or the one that comes with Playwright. Where
HUSHRANK_REQUIRE_BROWSER is set, as in CI, tests fail without them; else they are skipped.
"""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without these a new browser asks its maker's hosts for updates; a container has no sandbox of its own.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def missing(what):
    """Skip the test, or fail it where it must run."""
    text = f"no {what} on this machine"
    if os.environ.get("HUSHRANK_REQUIRE_BROWSER"):
        pytest.fail(text)
    pytest.skip(text)


def find_chromium():
    """The path of the system's Chromium."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    return found or missing("Chromium")


def find_node():
    """The path of a JavaScript engine with a test runner."""
    found = shutil.which("node")
    if found is None:
        try:
            import playwright
        except ImportError:
            missing("node")
        found = Path(playwright.__file__).parent / "driver" / "node"
    return str(found)


@contextmanager
def chromium():
    """A running browser."""
    path = find_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One visitor's page, and all that it asked for or complained of."""

    def __init__(self, browser, address, *, scheme="light", viewport=DESKTOP, **options):
        self.requests, self.complaints = [], []
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)  # milliseconds
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def serious_problems(self):
        """What axe-core finds that is serious or worse, with the elements that it means."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [
            (one["id"], [node["html"] for node in one["nodes"]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
