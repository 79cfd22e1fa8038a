"""The recommender page in Chromium: its size, how long it takes to open, and to answer a new rating.

Random parameters stand for a model: neither size nor time depends on what was learned. With item features a visitor has
33 slopes more, and items have words. An answer is everything that happens on the click of a button: coefficients,
predictions of all items, reasons, and the new lists. Each number is the median of several, on one machine.
"""

import argparse
import tempfile
from pathlib import Path

from measure import replace_section, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

import pyarrow as pa

from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.web.page import export_web

TITLE = "The recommender page, 10,000 items, 32 factors"
N_ITEMS, RANK, N_WORDS = 10_000, 32, 40
MOST_BYTES, MOST_MILLISECONDS = 3_000_000, 50
OWN_RATINGS, REPEATS = (5, 100, 1000), 21
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

CLICK = """(repeats) => {
    const times = [];
    for (let i = 0; i < repeats; i++) {
        const buttons = document.querySelectorAll("#best li button");
        const start = performance.now();
        buttons[4].click();
        document.body.offsetHeight; // the layout, too
        times.push(performance.now() - start);
        document.querySelector("#own li button[aria-pressed=true]").click();
    }
    return times.sort((a, b) => a - b)[Math.floor(repeats / 2)];
}"""


def make_model(has_features: bool) -> PrivateCompletion:
    """A model of many items with random parameters, grown from a small fit."""
    rng, n_small = np.random.default_rng(0), 60
    words = np.array([f"Word {j}" for j in range(N_WORDS)])
    facts = pa.table({
        "item": range(N_ITEMS), "genre": ["|".join(rng.choice(words, 3, replace=False)) for _ in range(N_ITEMS)],
        "year": rng.integers(1930, 2026, N_ITEMS),
    })  # fmt: skip
    terms = {"item_features": facts.slice(0, n_small)} if has_features else {}
    ratings = synthetic_ratings(2000, n_small, seed=1).table()
    small = PrivateCompletion(
        2, epsilon=20.0, delta=1e-6, rating_range=(1, 5), items=n_small, n_users=2000, **terms
    ).fit(ratings)
    large = small.add_items(range(n_small, N_ITEMS), facts.slice(n_small) if has_features else None)
    n_columns = 36 if has_features else 3
    n_told = len(large.feature_names_)
    wide = PrivateCompletion(**{**large._parameters(), "rank": RANK})
    wide._keep({
        **large._learned(), "item_factors_": 0.1 * rng.standard_normal((N_ITEMS, RANK)), "n_factors_": RANK,
        "item_features_": 0.1 * rng.standard_normal((N_ITEMS, n_columns)), "strength_": np.full(RANK, 2.0),
        "feature_map_": 0.1 * rng.standard_normal((1 + n_told, 1 + n_columns + RANK)),
    })  # fmt: skip
    return wide


def measure_page(browser, path: Path) -> tuple[float, list[float]]:
    """Milliseconds until the page is there, and until a new rating is answered beside so many others."""
    opened = []
    for _ in range(5):
        page = browser.new_page()
        page.goto(path.as_uri())
        opened.append(page.evaluate("performance.getEntriesByType('navigation')[0].domComplete"))
        page.close()
    page, answered = browser.new_page(), []
    page.goto(path.as_uri())
    for n_own in OWN_RATINGS:
        lines = "".join(f"{7 * j % N_ITEMS},{1 + j % 5}\n" for j in range(n_own))
        page.click("#clear", force=True) if n_own > OWN_RATINGS[0] else None
        content = {"name": "own.csv", "mimeType": "text/csv", "buffer": f"item,rating\n{lines}".encode()}
        page.set_input_files("#import", content)
        page.locator("#own li").nth(min(n_own, 20) - 1).wait_for()
        answered.append(page.evaluate(CLICK, REPEATS))
    page.close()
    return float(np.median(opened)), answered


def run() -> list[str]:
    """Measure and return Markdown."""
    import shutil

    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return ["Not measured: no Chromium on this machine."]
    rows = []
    titles = [f"A title of usual length, the {j}th of many ({1950 + j % 70})" for j in range(N_ITEMS)]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for has_features in (False, True):
            model = make_model(has_features)
            for precision in ("float16", "int8"):
                path = Path(folder) / "page.html"
                page = export_web(model, path, titles=titles, precision=precision)
                opened, answered = measure_page(browser, path)
                kind = "40 words and a year an item" if has_features else "none"
                numbers = [f"{path.stat().st_size / 1e6:.2f}", f"{opened:.0f}", *(f"{t:.1f}" for t in answered)]
                rows.append((kind, precision, *numbers, f"{page.rounding.largest:.1g}"))
        browser.close()
    header = ("features", "precision", f"MB (at most {MOST_BYTES / 1e6:g})", "ms to open")
    header += tuple(f"ms an answer, {n} ratings (at most {MOST_MILLISECONDS})" for n in OWN_RATINGS)
    return table((*header, "largest move by rounding"), rows)


if __name__ == "__main__":
    argparse.ArgumentParser().parse_args()
    measured = run()
    print("\n".join(measured))
    replace_section(TITLE, "python benchmarks/bench_web.py", measured)
