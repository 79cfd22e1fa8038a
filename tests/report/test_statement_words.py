"""What statements say about each class: a line for every release, true of the model it is about."""

import re

import numpy as np
import pytest

import hushrank
from hushrank.privacy.events import Pure
from hushrank.privacy.guarantee import Guarantee, Neighbors
from hushrank.registry import RELEASES
from hushrank.report.statement_words import (
    LONGEST_VALUE,
    TOLD,
    arithmetic,
    composition,
    mechanisms,
    preparation,
    say_parameters,
    say_value,
    unprotected,
)
from statement_support import N_SECRET, SMALL, small


def test_every_release_has_its_line():
    assert set(TOLD) == set(RELEASES)
    for told in TOLD.values():
        for text in (told.product, told.domain, told.public, told.post):
            assert text[0].isupper() and text.endswith(".")
        assert told.kind in ("machine learning model", "summary statistics")


@pytest.mark.parametrize("name", SMALL)
def test_mechanisms_are_those_of_the_plan(name):
    model = small(name)
    said = mechanisms(model)
    sizes = {size: int(getattr(model, attribute)) for attribute, size in model._schema.items()}
    steps = model._plan(model._check_parameters(), sizes).steps()
    assert all(step.mechanism in said for step in steps)
    assert ("real numbers" in said) == (model.privacy_.numerics == "idealized")


def test_numerics_are_told_apart():
    assert mechanisms(small("PrivateLowRank")).count("not covered by the guarantee") == 1
    assert "covers the computer's rounding" in mechanisms(small("PrivatePCA"))
    assert arithmetic("exact") != arithmetic("idealized")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PrivatePCA", "shares of epsilon"),
        ("PrivateCovariance", "shares of mu^2"),
        ("PrivateCompletion", "shares of mu^2"),
        ("PrivateTraceRegression", "shares of mu^2"),
        ("PrivateEvaluation", "There is one release, so that nothing adds up within it."),
        ("count first", "There are 3 releases; their epsilons add up"),
        ("Factorization", "one release, so that nothing adds up within it; its cost is a table"),
        ("again", "There are 2 releases; their mu^2 add up"),
    ],
)
def test_how_releases_add_up(name, expected):
    model = small(name)
    said = composition(model, TOLD[type(model).__name__])
    assert expected in said and said.endswith("this statement knows of none.")
    assert ("has a guarantee of its own" in said) == (name == "PrivateEvaluation")
    assert ("release 2 of one sketch" in said) == (name == "again")


def test_a_secret_number_of_people_is_nowhere():
    model = small("secret")
    assert model.n_samples == model.n_max == N_SECRET
    said = unprotected(model.privacy_, TOLD["PrivatePCA"], say_parameters(model))
    assert "The number of rows is protected as well." in said and str(N_SECRET) not in said
    shown = say_parameters(hushrank.PrivatePCA(2, row_norm=1.0, epsilon=1.0, n_samples=3, n_max=9).fit(np.eye(3)))
    assert "n_samples = 3" in shown and "n_max = 9" in shown  # public under replace


def test_what_is_not_protected():
    def said(name):
        model = small(name)
        return unprotected(model.privacy_, TOLD[type(model).__name__], say_parameters(model))

    assert said("PrivatePCA").startswith("The number of rows is public. Public: number and names of the columns.")
    assert "row_norm = 1" in said("PrivatePCA") and "center = (0.5, 0, 1)" in said("PrivatePCA")
    assert "catalogue" in said("PrivateCompletion") and "rating_range = (1, 5)" in said("PrivateCompletion")
    assert "answers alone are protected" in said("PrivateTraceRegression")
    assert said("Factorization").startswith("Public: numbers of rows and columns of the matrix.")
    for name in SMALL:
        assert not re.search(r"epsilon|delta|random_state|ledger|engine", said(name))


def test_bounding_is_told_where_it_is_done():
    def told(unit, premise="", bound=None):
        given = Guarantee(1.0, 0.0, Neighbors.REPLACE, unit, Pure(1.0), "exact", premise=premise, bound=bound)
        return preparation(given)

    assert told("user").startswith("Within a release what each user adds is bounded by itself.")
    assert told("row").startswith("Within a release what each row adds is bounded by itself.")
    assert told("row", bound=1.0).startswith("Within a release what each update adds is bounded by itself.")
    assert told("frobenius").startswith("hushrank reads no bound off the data")
    assert told("entry", "nobody sends more").startswith("hushrank reads no bound")  # then it is taken for granted


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1"), ((1, 5), "(1, 5)"), ([1] * 6, "(6 of them)"), ("a\x1b[0m\u202e", "a?[0m?"), ("a\nb", "a b"),
        (None, "None"), ({"a": (0, 1)}, "{'a': (0, 1)}"), (np.zeros(4000), "(4,000 of them)"),
    ],
)  # fmt: skip
def test_a_parameter_takes_few_characters_that_can_be_seen(value, shown):
    assert say_value(value) == shown
    assert len(say_value("x" * 1000)) == LONGEST_VALUE
