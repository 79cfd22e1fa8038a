"""The modules of the recommender page in a JavaScript engine: their own tests, and the library's answers."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from browser_support import find_node
from web_support import MAKERS, answers_of_page, histories, recommender

ROOT = Path(__file__).parents[2]
MODULES, TESTS = ROOT / "src" / "hushrank" / "web" / "modules", ROOT / "tests" / "web" / "modules"
IN_BROWSER = {"dom", "steps", "page"}  # need a document: test_web_page.py


def test_every_module_has_its_test():
    modules = {path.stem for path in MODULES.glob("*.mjs")}
    assert {path.name.removesuffix(".test.mjs") for path in TESTS.glob("*.mjs")} == modules - IN_BROWSER


@pytest.mark.parametrize("path", sorted(TESTS.glob("*.mjs")), ids=lambda path: path.stem)
def test_of_module(path):
    done = subprocess.run([find_node(), "--test", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fail 0" in done.stdout


@pytest.mark.parametrize("precision", ["float16", "int8"])
@pytest.mark.parametrize("kind", MAKERS)
def test_the_page_says_what_the_library_says(kind, precision):
    people = histories(recommender(kind))
    rounded, answers = answers_of_page(recommender(kind), people, precision)
    scale = 1.0 if rounded.rating_range is None else (rounded.rating_range[1] - rounded.rating_range[0]) / 4.0
    for own, answer in zip(people, answers, strict=True):
        top = rounded.recommend(own, n=10, explain=True)
        assert answer["best"] == [str(item) for item in top.items.tolist()]
        assert answer["scores"] == pytest.approx(top.scores.tolist(), abs=1e-9 * scale, rel=1e-9)
        assert answer["predicted"] == pytest.approx(rounded.predict(own).tolist(), abs=1e-9 * scale, rel=1e-9)
        told = [list(why) for why in top.reasons]
        if kind == "an embedding":  # which has nothing to tell to people
            told = [[] for _ in told]
        assert answer["reasons"] == told


def test_reasons_are_given():
    for kind in ("features", "implicit with features"):
        assert recommender(kind).n_slopes_ > 0
        _, answers = answers_of_page(recommender(kind), histories(recommender(kind)))
        assert sum(bool(why) for answer in answers for why in answer["reasons"]) > 50


def test_other_factors_are_noticed():
    """Planted: a page of other factors than the model's does not pass for the same."""
    model = recommender("ratings")
    people = histories(model)
    _, answers = answers_of_page(model, people)
    other = model.add_items([99])
    other.item_factors_ = 1.02 * model.add_items([99]).item_factors_
    wrong = [other.predict(own, items=model.items_).tolist() for own in people]
    gaps = [np.abs(np.subtract(answer["predicted"], there)).max() for answer, there in zip(answers, wrong, strict=True)]
    assert max(gaps) > 1e-3
