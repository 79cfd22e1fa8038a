"""The report of a recommender holds every number it is given, and claims no more than the guarantee."""

import math
import re
from dataclasses import replace

import pytest
from scipy.stats import norm

from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.report.recommender import (
    Fit,
    Person,
    Results,
    attack_bound,
    budget_shares,
    recommender_page,
)
from report_support import Document

EPSILONS = (0.5, 2.0, 20.0)


def plan_of(epsilon):
    return PrivateCompletion(3, epsilon=epsilon, delta=1e-6, rating_range=(1, 5), items=70).plan((1234, 70))


@pytest.fixture(scope="module")
def results():
    fits = [
        Fit(epsilon, plan_of(epsilon).guarantee, (0.811 + i / 100, 1.045), 0.843 - i / 50, 0.921 - i / 50, i)
        for i, epsilon in enumerate(EPSILONS)
    ]
    person = Person([(1, 5.0)] * 17, [("<i>x</i>", 4.567), (9, 4.321)], [(33, 2.876, 3.0)])
    return Results(
        n_users=1234, n_items=70, n_ratings=56789, n_held_out=5678, rank=3, fits=fits, constant_error=0.9512,
        reference_error=0.7362, shown=fits[1], plan=plan_of(2.0), popular=[(61, 1389.7), (62, 1300.2)],
        best=[(63, 4.564), (64, 4.501)], person=person,
    )  # fmt: skip


def test_every_number_is_there(results):
    text = Document(recommender_page(results)).text
    for number in ("1,234", "70", "56,789", "5,678", "0.951", "0.736", "1,390", "4.56", "4.57", "4.32", "2.88"):
        assert number in text, number
    for fit in results.fits:
        line = [f"{fit.epsilon:g}", f"{fit.n_factors}", f"{fit.forecast[0]:.2f}-{fit.forecast[1]:.2f}"]
        line += [f"{fit.means_error:.3f}", f"{fit.error:.3f}", f"{fit.error / 0.7362:.3f}"]
        assert " ".join(line) in text
    for name, value in results.plan.lines():
        assert f"{name.strip()} {value}" in text
    assert "who rated 17 items" in text and "1 of at most 3 factors" in text


def test_the_guarantee_is_stated_in_full(results):
    text = Document(recommender_page(results)).text
    assert "Neighbors: replace one user; delta = 1e-06; arithmetic: exact" in text
    assert "e^epsilon" in text and "485,165,196" in text  # e^20, rounded up


def test_the_bound_on_attacks_is_that_of_the_gaussian(results):
    for fit in results.fits:
        mu = 1 / fit.guarantee.event.noise_multiplier
        assert attack_bound(fit.guarantee) == pytest.approx(norm.cdf(mu / 2), rel=1e-12)
        # It follows from the whole curve of guarantees, so it is below what this one epsilon and delta imply.
        epsilon, delta = fit.guarantee.epsilon, fit.guarantee.delta
        assert attack_bound(fit.guarantee) <= (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    shown = [float(number) for number in re.findall(r"([\d.]+) % ", Document(recommender_page(results)).text)]
    bounds = [100 * attack_bound(fit.guarantee) for fit in results.fits]
    assert all(any(bound <= number < bound + 0.1 for number in shown) for bound in bounds)  # rounded up


def test_shares_add_up():
    shares = budget_shares()
    assert sum(share for _, share in shares) == pytest.approx(1.0, abs=1e-12)
    assert all(share > 0 for _, share in shares)


def test_the_page_is_self_contained_and_escaped(results):
    page = recommender_page(results)
    document = Document(page)
    assert not re.search(r"https?:|<script|@import", page)
    assert "item <i>x</i>" in document.text and document.all("i") == []
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    styles = {name for _, attributes in document.elements for name in attributes.get("class", "").split()}
    known = page[: page.index("</style>")]
    # What has no rule of its own is drawn like the kind it belongs to.
    assert {name for name in styles if f".{name}" not in known} <= {"forecast"}


def test_the_same_results_give_the_same_bytes(results):
    assert recommender_page(results) == recommender_page(replace(results))
    assert recommender_page(results) != recommender_page(replace(results, reference_error=0.7))
