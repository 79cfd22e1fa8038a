"""The methods behind one protocol: bounds of all of them in a whole fit, models, options in files."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, adverse_people, largest_loss, make_people, make_releases
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.methods import LEARNED_BY, learn_model
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import (
    METHODS,
    AlternatingLeastSquares,
    FactoredGradient,
    Spectral,
    to_options,
)

N_ITEMS = 12
PEOPLE = make_people(40, N_ITEMS, seed=2, n_ratings=6.0)
CHANGED = {
    "spectral": Spectral(top_items=5),
    "als": AlternatingLeastSquares(sweeps=1, max_ratings=4, bounding="tail"),
    "factored_gradient": FactoredGradient(steps=2, start="random", user_solve="ridge"),
}
MODES = {"ratings": (True, None), "matrix": (False, None), "implicit": (True, 1.0)}


def modes_of(method):
    return [mode for mode in MODES if mode != "implicit" or METHODS[method].supports_implicit]


CASES = [(method, mode) for method in METHODS for mode in modes_of(method)]


def learner(options, mode, rank=2):
    offsets, unobserved = MODES[mode]
    return lambda releases: learn_model(options, releases, rank, offsets=offsets, unobserved=unobserved)


# 1. Sensitivity


@pytest.mark.parametrize(("method", "mode"), CASES)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_whatever_the_method(monkeypatch, method, mode, neighbors):
    replay, people = Replay(monkeypatch), [adverse_people(N_ITEMS)["opposed"], *PEOPLE[1:]]
    epsilon = {"implicit": 1e3, "ratings": 50.0, "matrix": 5.0}[mode]  # so much that factors have a chance
    terms = {"neighbors": neighbors, "epsilon": epsilon, "is_implicit": mode == "implicit"}
    assert largest_loss(replay, learner(to_options(method), mode), people, N_ITEMS, **terms) > 0.05
    kinds = {release.mechanism for release in replay.made}
    assert {"spectral": "hollow", "als": "symmetric_stack", "factored_gradient": "symmetric"}[method] in kinds


@pytest.mark.parametrize(("method", "mode"), CASES)
def test_other_options_and_any_released_values_are_as_safe(monkeypatch, method, mode):
    replay = Replay(monkeypatch, distortion=3.0, seed=1)
    run, is_implicit = learner(CHANGED[method], mode), mode == "implicit"
    assert largest_loss(replay, run, PEOPLE, N_ITEMS, is_implicit=is_implicit) > 0.02


@pytest.mark.parametrize(("method", "mode"), CASES)
def test_every_method_makes_a_model(method, mode):
    releases = make_releases(PEOPLE, N_ITEMS, epsilon=5.0, is_implicit=mode == "implicit")
    model = learner(to_options(method), mode)(releases)
    assert 0.0 <= releases.left < 1.0
    assert model.factors.shape[0] == model.base.shape[0] == model.counts.shape[0] == N_ITEMS
    assert all(np.isfinite(part).all() for part in (model.W, model.base, model.counts)) and model.ridge > 0
    assert model.features.shape[1] == (3 if mode == "ratings" else 0)
    assert model.unobserved == (1.0 if mode == "implicit" else 0.0)


# 4. Options


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_model_remembers_its_options(method, tmp_path):
    terms = {"epsilon": 5.0, "delta": 1e-6, "rating_range": (-1, 1), "method": CHANGED[method]}
    model = PrivateCompletion(2, **terms).fit(np.eye(N_ITEMS))
    model.save(tmp_path / "model")
    assert PrivateCompletion.load(tmp_path / "model").method == CHANGED[method]


def test_every_method_with_a_name_is_learned_by_something():
    assert list(LEARNED_BY) == list(METHODS.values())
    assert len(list(itertools.chain.from_iterable(map(modes_of, METHODS)))) == len(CASES) == 8


@dataclass(frozen=True)
class MyOptions(AlternatingLeastSquares):
    """Options that somebody made of others."""


def test_options_of_a_subclass_are_learned_by_the_method_of_their_parent():
    models = []
    for options in (AlternatingLeastSquares(sweeps=1), MyOptions(sweeps=1)):
        models.append(learner(options, "matrix")(make_releases(PEOPLE, N_ITEMS, epsilon=5.0, seed=1)))
    assert np.array_equal(models[0].factors, models[1].factors) and models[0].factors.any()


def test_a_new_method_is_one_line(monkeypatch):
    @dataclass(frozen=True)
    class Nothing:
        supports_implicit = True

    @dataclass(frozen=True)
    class NothingLearned:
        options: Nothing

        def learn(self, releases, rank, *, offsets, unobserved):
            told.append((self.options, releases, rank, offsets, unobserved))
            return CompletionModel(np.zeros(4), np.zeros((4, 0)), np.zeros((4, 0)), 1.0, np.ones(4))

    told = []
    monkeypatch.setitem(LEARNED_BY, Nothing, NothingLearned)
    releases = make_releases(PEOPLE, N_ITEMS)
    assert learn_model(Nothing(), releases, 3, offsets=False, unobserved=None).base.shape == (4,)
    assert told == [(Nothing(), releases, 3, False, None)]
