"""The methods behind one table: every option is learned by something, with what the model says."""

from dataclasses import dataclass

import numpy as np
import pytest

from hushrank.estimators.personalization import methods
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.options import METHODS, AlternatingMinimization, GradientSteps
from representation_support import MODES, assert_equal_models, make_people, representation, to_records

PEOPLE, _ = make_people(40, 4, seed=6)
RECORDS = to_records(PEOPLE)


def test_every_method_with_a_name_is_learned_by_something():
    assert {*methods.LEARNED_BY, ExponentialSelection} == set(METHODS.values())


@dataclass(frozen=True)
class MySteps(GradientSteps):
    """Options that somebody made of others."""


def test_options_of_a_subclass_are_learned_by_the_method_of_their_parent():
    one, other = (representation(method=kind(1), random_state=1).fit(*RECORDS) for kind in (GradientSteps, MySteps))
    assert np.array_equal(one.embedding_, other.embedding_)


@pytest.mark.parametrize("name", METHODS)
def test_a_name_stands_for_default_options(name):
    terms = {"random_state": 1, "delta": 0.0 if name == "exponential" else 1e-6}
    few = {"exponential": ExponentialSelection()}.get(name, METHODS[name]())
    assert_equal_models(*(representation(1, **terms, method=given).fit(*RECORDS) for given in (name, few)))


def test_options_reach_what_learns(monkeypatch):
    seen = []

    def learn(releases, shape, scales, options, *, is_logistic):
        seen.append((releases.n_people, shape, scales, options, is_logistic))
        return methods.HeadPrior(np.eye(*shape), np.zeros(shape[1]), np.eye(shape[1]), 1.0)

    monkeypatch.setitem(methods.LEARNED_BY, AlternatingMinimization, learn)
    options = AlternatingMinimization(3)
    model = representation(2, method=options, x_scale=3.0, y_scale=0.5, n_users=77)
    plan = model._plan(model._check_parameters(), {"n_users": 77, "n_features": 4})
    methods.learn_representation(model, plan, None, None, 4, 77)
    assert seen == [(77.0, (4, 2), (3.0, 0.5), options, False)]


@pytest.mark.parametrize("mode", MODES)
def test_every_method_makes_a_model(mode):
    for neighbors in ("replace", "add_remove"):
        model = representation(**MODES[mode], neighbors=neighbors).fit(*RECORDS)
        assert model.embedding_.shape == (4, 2) and np.isfinite(model.head_covariance_).all() and model.noise_ > 0
