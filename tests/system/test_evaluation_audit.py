"""Audit of paid evaluations: what the numbers tell of one user stays below the claim, and comes close to it.

Worst neighbors are known: somebody who loved everything that the model predicts to be worst and lists first, against
somebody without a rating. All sums move by as much as one user can move them.
"""

import numpy as np
import pytest

from evaluation_support import N_ITEMS, fit_recommender, worst_recommender
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion import evaluation
from hushrank.estimators.completion.evaluation import PrivateEvaluation
from hushrank.evaluation.audit import delta_lower_bound, epsilon_lower_bound
from support import FALSE_ALARM

ENGINE = LocalEngine(threads=1)
LOVED = np.full((1, N_ITEMS), 5.0)
SILENT = np.full((1, N_ITEMS), np.nan)


def weaken(monkeypatch, factor):
    """Noise smaller by a factor, as a bug would have it; its event is logged as it should be."""
    original = evaluation.release_vector

    def release(total, lattice, noise):
        exact = np.asarray(total) * lattice.unit
        return exact + factor * (original(total, lattice, noise) - exact)

    monkeypatch.setattr(evaluation, "release_vector", release)


def worlds(neighbors):
    """Without the person, and with; others are silent."""
    others = np.repeat(SILENT, 4, axis=0)
    return (others if neighbors == "add_remove" else np.vstack([SILENT, others])), np.vstack([LOVED, others])


def sample(model, world, trials, **terms):
    """Weighted sums of so many releases, in shares of what one user adds at most."""
    paid = PrivateEvaluation(k=N_ITEMS, engine=ENGINE, **terms)
    release, source = paid._plan(paid._check_parameters(), {}), paid._read(world, model)
    return np.array([paid.fit(source).released_ for _ in range(trials)]) / release.most, release


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_the_person_moves_every_sum_by_all_that_one_can(neighbors, delta):
    found = [
        sample(worst_recommender(), world, 1, epsilon=1e7, delta=delta, neighbors=neighbors)[0][0]
        for world in worlds(neighbors)
    ]
    assert found[0] == pytest.approx(np.zeros(6), abs=0.02) and found[1] == pytest.approx(np.ones(6), abs=0.02)


@pytest.mark.audit
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_audit_of_gaussian_evaluations(monkeypatch, neighbors, factor):
    """The likelihood ratio passes e^epsilon where the evidence passes 1/2 + epsilon / mu^2."""
    epsilon, delta, trials, model = 1.0, 0.3, 2000, worst_recommender()
    weaken(monkeypatch, factor)
    hits = []
    for world in reversed(worlds(neighbors)):
        sums, release = sample(model, world, trials, epsilon=epsilon, delta=delta, neighbors=neighbors)
        evidence = sums @ release.weights**2 / (release.weights**2).sum()
        mu = 1.0 / release.lattice.event.noise_multiplier / factor
        hits.append(int(np.sum(evidence > 0.5 + epsilon / mu**2)))
    bound = delta_lower_bound(hits[0], trials, hits[1], trials, epsilon, confidence=1 - FALSE_ALARM)
    assert bound > delta if factor < 1.0 else 0.1 < bound < delta


@pytest.mark.audit
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_audit_of_pure_evaluations(monkeypatch, neighbors, factor):
    """Both sums of implicit feedback lie beyond those with the person in a quarter of the cases: e^-2 of it without."""
    epsilon, trials, model = 2.0, 4000, fit_recommender("implicit")
    weaken(monkeypatch, factor)
    terms = {"epsilon": epsilon, "neighbors": neighbors, "feedback": "implicit", "baselines": False}
    worlds_as_lists = [np.nan_to_num(world) for world in worlds(neighbors)]
    hits = [
        int(np.sum((sample(model, world, trials, **terms)[0] > 1.0).all(axis=1))) for world in reversed(worlds_as_lists)
    ]
    bound = epsilon_lower_bound(hits[0], trials, hits[1], trials, confidence=1 - FALSE_ALARM)
    assert bound > epsilon if factor < 1.0 else 1.0 < bound < epsilon
