"""Fits of private representations on adversarial neighbors: every sum stays within its bound, and so does the whole.

With the released values of another fit, a neighbor asks for the same sums with the same public states and gives the
same model, bit for bit: nothing but releases reaches it. Bugs that break this are planted and must be noticed.
"""

import dataclasses

import numpy as np
import pytest

from hushrank.estimators.personalization import altmin, exponential, gradient, head_prior
from hushrank.estimators.personalization.candidate_scores import score_candidates
from hushrank.estimators.personalization.user_sums import count_moment_norms, sum_equations, sum_gains, sum_gradients
from representation_support import (
    MODES,
    RELATIONS,
    RecordReplay,
    adverse_people,
    largest_loss,
    make_people,
)
from support import plant

D = 5
PEOPLE, U = make_people(40, D, seed=3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget_and_the_rest_is_made_of_releases(monkeypatch, mode, neighbors):
    people = [adverse_people(U, 1.0)["along and across"], *PEOPLE[1:]]  # so that a replacement moves sums twice
    assert largest_loss(RecordReplay(monkeypatch), people, U, **MODES[mode], neighbors=neighbors) > 0.05


@pytest.mark.parametrize("mode", [mode for mode in MODES if not mode.startswith("exponential")])
def test_bounds_hold_whatever_was_released(monkeypatch, mode):
    replay = RecordReplay(monkeypatch, distortion=3.0, seed=2)
    names = ("without the first", "1e150", "very many", "along and across", "odd", "at the bound")
    assert largest_loss(replay, PEOPLE, U, names, **MODES[mode]) > 0.02


@pytest.mark.parametrize("mode", ["gradient", "altmin"])
def test_one_user_may_use_much_of_the_budget(monkeypatch, mode):
    """Bounds that are never nearly attained would be noise for nothing."""
    turned = [(X, -100.0 * y) if i == 0 else (X, y) for i, (X, y) in enumerate(PEOPLE)]
    assert largest_loss(RecordReplay(monkeypatch), turned, U, **MODES[mode]) > 0.6


# Bugs that must be noticed


def _widened(state, *names):
    """A public state whose kernel bounds contributions by 8 times what the mechanisms reckon with."""
    fields = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    return type(state)(**{name: _widen(value) if name in names else value for name, value in fields.items()})


def _widen(lattice):
    norm = "norm_bound" if hasattr(lattice, "norm_bound") else "row_norm"
    return plant(lattice, **{norm: 8 * getattr(lattice, norm), "squared_bound": 64 * lattice.squared_bound})


def gradients_without_clip(block, state):
    """Gradients as long as they are."""
    return sum_gradients(block, _widened(state, "lattice"))


def normalizers_without_clip(block, state):
    """Normalizers as large as they are."""
    return sum_gradients(block, _widened(state, "normalizer_lattice"))


def equations_without_clip(block, state):
    """Both sides of normal equations as large as they are."""
    return sum_equations(block, _widened(state, "left_lattice", "right_lattice"))


def scores_without_limit(block, state):
    """Scores of more than the bound."""
    return 3 * score_candidates(block, state)


def gains_around_the_mechanism(releases, model):
    """The check of heads without noise."""
    scales, lattice = np.array(head_prior.GRADIENT.scales), releases.vector_lattice(1.0)
    total = releases.total(sum_gains, (model, scales, lattice))
    releases.release(total.copy(), lattice)  # paid for, and thrown away
    return head_prior.Check(total * lattice.unit / releases.n_people, lattice.scale / releases.n_people)


def noise_that_looks_at_the_data(search):
    """A search that stops where somebody has huge records: a branch that was not released."""

    def branching(searches, *terms):
        grid = np.array([1.0, 1e6])
        is_wild = bool(searches._releases.total(count_moment_norms, (None, grid))[-1])
        found = search(searches, *terms)
        return 2.0 * found if is_wild else found

    return branching


def window_of_the_data(find):
    """Bounds between which a search looks that were read off the data."""

    def looking(self, state):
        counts = self._releases.total(count_moment_norms, (None, np.array([1.0, 1e6])))
        self._second = self._second * (1.0 + float(counts[-1]))
        return find(self, state)

    return looking


PLANTED = {
    "gradients without clip": (gradient, "sum_gradients", gradients_without_clip),
    "normalizers without clip": (gradient, "sum_gradients", normalizers_without_clip),
    "equations without clip": (altmin, "sum_equations", equations_without_clip),
    "scores without limit": (exponential, "score_candidates", scores_without_limit),
    "gains around the mechanism": (head_prior, "_check_heads", gains_around_the_mechanism),
    "a branch on the data": (gradient, "search_noise", noise_that_looks_at_the_data(gradient.search_noise)),
    "a window of the data": (gradient.Descent, "_find_bounds", window_of_the_data(gradient.Descent._find_bounds)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_bugs_are_noticed(monkeypatch, name):
    module, attribute, broken = PLANTED[name]
    mode = {altmin: "altmin", exponential: "exponential"}.get(module, "gradient")
    replay = RecordReplay(monkeypatch)
    largest_loss(replay, PEOPLE, U, **MODES[mode])
    monkeypatch.setattr(module, attribute, broken)
    with pytest.raises(AssertionError):
        largest_loss(replay, PEOPLE, U, **MODES[mode])
