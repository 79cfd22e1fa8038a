"""The page of one person holds every number it is given, escapes every name, and claims no more than the guarantee."""

import math
import re
from dataclasses import replace

import pytest

from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.evaluation.held_out import Quality
from hushrank.privacy.figures import at_most
from hushrank.privacy.guarantee import Guarantee
from hushrank.report.personal import SHOWN_PREDICTIONS, Personal, Prediction, guess_bound, personal_page, signed_chart
from hushrank.report.recommender import attack_bound
from report_support import Document

SCRIPT = "<script>alert('x')</script>"


def guarantee_of(**terms):
    terms = {"epsilon": 2.0, "delta": 1e-6, **terms}
    return PrivateRepresentation(2, **terms).plan((20000, 30)).guarantee


@pytest.fixture
def personal():
    return Personal(
        user=f"{SCRIPT} & co", n_features=30, n_directions=2, is_logistic=False, is_learned=True,
        guarantee=guarantee_of(), n_left_out=3, quality=Quality(17, 0.1234, 0.5678, 0.9012),
        coefficients=[(f"{SCRIPT} dose", 1.5), ("age", -0.75), ("x" * 90, 0.25)],
        predictions=[Prediction(4.567891), Prediction(None), *[Prediction(1000.0 + i) for i in range(100)]],
    )  # fmt: skip


def test_every_number_is_there(personal):
    text = Document(personal_page(personal)).text
    for part in (
        "17 own records", "3 records of yours could not be used", "0.1234", "0.5678", "0.9012", "2 directions",
        "age -0.75", "+1.5", "1 4.56789", "2 no number", "the first 50 of 102", "the largest of 30",
    ):  # fmt: skip
        assert part in text, part
    assert "1047" in text and "1048" not in text and SHOWN_PREDICTIONS == 50


def test_the_guarantee_is_stated_in_full(personal):
    text = Document(personal_page(personal)).text
    assert "replace all records of this person by any others" in text and "up to delta = 1e-06" in text
    assert (
        "Neighbors: replace one user; arithmetic: exact" in text
        and at_most(math.exp(personal.guarantee.epsilon), 3) in text
    )
    assert "promises nothing" not in text
    other = replace(personal, guarantee=replace(guarantee_of(neighbors="add_remove"), reproducible=True))
    text = Document(personal_page(other)).text
    assert "add or remove this person with all records" in text and "it is for tests, and promises nothing" in text


def test_the_bound_on_a_guess_is_that_of_the_guarantee(personal):
    gaussian, pure = personal.guarantee, guarantee_of(delta=0.0, method="exponential")
    assert guess_bound(gaussian) == attack_bound(gaussian)
    assert guess_bound(pure) == pytest.approx(math.exp(pure.epsilon) / (1 + math.exp(pure.epsilon)))
    assert guess_bound(replace(pure, epsilon=1e4)) == guess_bound(replace(pure, epsilon=math.inf)) == 1.0
    for guarantee in (gaussian, pure):
        text = Document(personal_page(replace(personal, guarantee=guarantee))).text
        (shown,) = re.findall(r"([\d.]+) % The|([\d.]+) % Who", text) or [("", "")]
        bound = 100 * guess_bound(guarantee)
        assert bound <= float("".join(shown)) < bound + 0.1  # rounded up
    assert isinstance(replace(pure, epsilon=math.inf), Guarantee)
    assert "e^inf" in Document(personal_page(replace(personal, guarantee=replace(pure, epsilon=math.inf)))).text


def test_names_are_text_and_the_page_is_self_contained(personal):
    page = personal_page(personal)
    document = Document(page)
    assert not re.search(r"https?:|<script|@import", page) and document.all("script") == []
    assert f"for user {SCRIPT} & co alone" in document.text and f"{SCRIPT} dose" in document.text
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    styles = {name for _, attributes in document.elements for name in attributes.get("class", "").split()}
    assert all(f".{name}" in page[: page.index("</style>")] for name in styles)


def test_it_says_whom_it_is_for_and_who_sees_what(personal):
    text = Document(personal_page(replace(personal, user=None))).text
    assert "Made for you alone" in text and "this page is private" in text
    assert "all that anybody else sees is private in your records" in text and "no budget was charged" in text


def test_a_model_that_learned_nothing_says_so(personal):
    assert "stood above the noise" not in Document(personal_page(personal)).text
    text = Document(personal_page(replace(personal, is_learned=False))).text
    assert "Nothing stood above the noise of the public model: they come from your own records alone." in text


def test_labels_are_shares_and_probabilities(personal):
    labels = [Prediction(1, 0.987654), Prediction(None, None), Prediction(0, 0.25)]
    text = Document(personal_page(replace(personal, is_logistic=True, predictions=labels))).text
    for part in ("Share of wrong labels", "12.3%", "your more frequent label", "1 1 0.988", "3 0 0.250", "log odds"):
        assert part in text, part


def test_without_records_and_without_questions(personal):
    empty = replace(personal, quality=Quality(0, math.nan, math.nan, math.nan), predictions=None, n_left_out=0)
    text = Document(personal_page(empty)).text
    assert "There is no own record to try it on" in text and "nan" not in text and "Predictions In" not in text
    assert "There was no new record." in Document(personal_page(replace(personal, predictions=[]))).text
    one = replace(personal, quality=Quality(1, 0.5, 0.5, 0.0))
    assert "1 own record," in Document(personal_page(one)).text


def test_bars_go_to_the_side_of_their_sign():
    document = Document(signed_chart("key", "bars", "all of them", [("up", 2.0), ("down", -1.0), ("none", 0.0)]))
    bars = [(float(bar["x"]), float(bar["width"])) for bar in document.all("rect", "share")]
    assert bars == [(240.0, 240.0), (120.0, 120.0), (240.0, 0.0)]
    assert "up +2 down -1 none +0" in document.text
    assert Document(signed_chart("key", "bars", "", [("a", 0.0)])).all("rect", "share")[0]["width"] in ("0", "0.00")
    assert Document(signed_chart("key", "bars", "", [])).all("rect") == []


def test_the_same_values_give_the_same_bytes(personal):
    assert personal_page(personal) == personal_page(replace(personal))
    assert personal_page(personal) != personal_page(replace(personal, n_left_out=4))
