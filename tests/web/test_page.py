"""Pages as files: their policy, what is inside, and what is refused before anything is written."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest

import hushrank
from feature_support import N_ITEMS
from hushrank.exceptions import InvalidParameter, NotFitted
from hushrank.web.page import MOST_CHARACTERS, export_web, make_web_page, to_bytes
from model_support import HOSTILE, fitted
from report_support import Document
from web_support import MAKERS, recommender


def data_in(html):
    return json.loads(re.search(r'<script id="model" type="application/json">(.*?)</script>', html, re.DOTALL)[1])


@pytest.mark.parametrize("kind", MAKERS)
def test_a_page_is_one_document_that_names_nothing_elsewhere(kind):
    html = make_web_page(recommender(kind)).html
    document = Document(re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))
    assert {a.get("href", "#").split(",")[0][:5] for a in document.all("a") + document.all("link")} <= {
        "#best",
        "data:",
    }
    assert not re.search(r"(?:https?|wss?|ftp)://", html)
    assert not {"img", "iframe", "object", "embed", "form", "base"} & {name for name, _ in document.elements}
    assert html.count("<script") == 2 and not re.search(r"\son\w+=", html.split("<script")[0])
    assert data_in(html)["ids"] == [str(item) for item in recommender(kind).items_.tolist()]


def test_the_policy_names_script_and_style_and_nothing_else():
    html = make_web_page(recommender("ratings")).html
    policy = dict(
        part.strip().split(" ", 1)
        for part in re.search(r'Content-Security-Policy" content="(.*?)"', html)[1].replace("&#x27;", "'").split(";")
    )
    style, script = (
        re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1],
        html.split("<script>")[1].split("</script>")[0],
    )
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    assert policy == {
        "default-src": "'none'",
        "style-src": f"'sha256-{hashes[0]}'",
        "script-src": f"'sha256-{hashes[1]}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert html.index("Content-Security-Policy") < html.index("<style") and "\r" not in html


def test_no_text_ends_the_data():
    model = recommender("texts as ids")
    html = make_web_page(model, titles=dict.fromkeys(model.items_.tolist(), "<!--<script>\u2028x"), name=HOSTILE).html
    assert html.count("<script") == 2 and html.count("</script>") == 2 and "<!--" not in html
    assert data_in(html)["titles"][0] == f"<!--<script>\u2028x ({model.items_[0]})"
    assert HOSTILE not in html and "&lt;script&gt;alert(1)" in html


def test_halves_of_pairs_are_written():
    page = make_web_page(recommender("ratings"), titles=["\ud800 broken", *map(str, range(1, N_ITEMS))])
    assert data_in(to_bytes(page.html).decode("utf-8"))["titles"][0] == "\ud800 broken"


def test_the_same_model_gives_the_same_page():
    assert make_web_page(recommender("features")).html == make_web_page(recommender("features")).html


def test_titles_by_id_or_in_order():
    ids = recommender("texts as ids").items_.tolist()
    by_id = make_web_page(recommender("texts as ids"), titles={ids[2]: "Two", ids[3]: " "}).html
    assert data_in(by_id)["titles"][1:4] == [ids[1], "Two", ids[3]]
    stripped = make_web_page(recommender("texts as ids"), titles={ids[2]: " " * 400 + "Two "}).html
    assert data_in(stripped)["titles"][2] == "Two"
    turned = make_web_page(recommender("texts as ids"), titles={ids[0]: "\u202e", ids[1]: "A", ids[2]: "A\u202e"}).html
    assert data_in(turned)["titles"][:3] == [ids[0], f"A ({ids[1]})", f"A ({ids[2]})"]
    listed = make_web_page(recommender("ratings"), titles=tuple("x" * 400 for _ in range(N_ITEMS))).html
    assert data_in(listed)["titles"][3] == "x" * MOST_CHARACTERS + " (3)"


def test_a_loaded_model_gives_the_same_page(tmp_path):
    recommender("features").save(tmp_path / "model.hush")
    loaded = hushrank.load(tmp_path / "model.hush")
    assert make_web_page(loaded).html == make_web_page(recommender("features")).html


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    page = hushrank.export_web(recommender("ratings"), tmp_path / "page.html", precision="int8")
    assert (tmp_path / "page.html").read_bytes() == to_bytes(page.html)
    monkeypatch.setattr("hushrank.web.page.to_bytes", lambda html: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_web(recommender("ratings"), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == to_bytes(page.html) and len(list(tmp_path.iterdir())) == 1


def seeded():
    from feature_support import recommender as unfitted
    from feature_support import tastes

    return unfitted().fit(tastes())


@pytest.mark.parametrize(
    ("make", "terms", "message"),
    [
        (lambda: fitted("PrivatePCA"), {}, "model of export_web must be a fitted PrivateCompletion; got 'PrivatePCA'"),
        (lambda: 3, {}, "must be a fitted PrivateCompletion; got 'int'"),
        (seeded, {}, "must be one that may be released: fitted without random_state; got 'one made with a seed"),
        (None, {"name": " "}, "name of export_web must be a text of 1 to 300 characters"),
        (None, {"name": 3}, "name of export_web must be a text"),
        (None, {"name": "x" * 301}, "name of export_web must be a text"),
        (None, {"precision": "float32"}, "precision of round_model must be one of 'float16', 'int8'"),
        (None, {"titles": ["a"]}, f"a list of {N_ITEMS} texts; got 'list'"),
        (None, {"titles": "abc"}, "a dict of texts by id"),
        (None, {"titles": {3: 5}}, "titles of export_web must be texts; got 'int'"),
    ],
)
def test_refusals(make, terms, message, tmp_path):
    model = recommender("ratings") if make is None else make()
    with pytest.raises(InvalidParameter) as refused:
        export_web(model, tmp_path / "page.html", **terms)
    assert message in str(refused.value) and list(tmp_path.iterdir()) == []


def test_a_model_that_was_not_fitted(tmp_path):
    with pytest.raises(NotFitted):
        export_web(hushrank.PrivateCompletion(2, epsilon=1.0, delta=1e-6, items=3), tmp_path / "page.html")


@pytest.mark.parametrize("titles", [{"1": "One"}, {1: None}, [None] * N_ITEMS, [1] * N_ITEMS, "x" * N_ITEMS, ["x"]])
def test_titles_of_other_items_or_that_are_no_texts_are_refused(titles):
    with pytest.raises(InvalidParameter, match=r"^titles of export_web must be"):
        make_web_page(recommender("ratings"), titles=titles)


def test_a_strangers_model_of_huge_numbers_gets_no_page():
    model = recommender("ratings")
    strange = type(model)(**model._parameters())
    strange._keep({**model._learned(), "item_means_": np.full(N_ITEMS, 1e300)})
    with np.errstate(over="ignore", invalid="ignore"):
        with pytest.raises(InvalidParameter, match="numbers of ordinary size"):
            make_web_page(strange)


def test_a_range_as_wide_as_float64_has_a_page():
    wide = hushrank.PrivateCompletion(1, epsilon=8.0, delta=1e-6, rating_range=(-1e300, 1e300))
    page = make_web_page(wide.fit(np.array([[1e299, np.nan], [-1e300, 1e300]] * 20)))
    assert data_in(page.html)["range"] == [-1e300, 1e300]
