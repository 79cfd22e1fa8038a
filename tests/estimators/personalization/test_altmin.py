"""Alternating minimization: normal equations solved through their noise, and parts of the users that pay once.

Sensitivity of whole fits, also in parts: tests/system/test_personalization_replay.py.
"""

import numpy as np
import pytest

from completion_support import cost
from hushrank.estimators.personalization import altmin
from hushrank.estimators.personalization.options import AlternatingMinimization
from hushrank.estimators.personalization.recipe import Spending
from hushrank.estimators.personalization.subspace import Subspace, principal_angles_error
from hushrank.estimators.searches import Searches, SearchRecipe
from hushrank.evaluation.synthetic import shared_representation
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import Gaussian
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice
from hushrank.privacy.mechanisms.vector import vector_lattice
from representation_support import RecordReplay, make_people, release_exactly, representation, to_records

PEOPLE, _ = make_people(30, 4, seed=5)


def error_of(data, options, **terms):
    model = representation(**{"epsilon": 1e5, "random_state": 1, **terms}, method=options)
    return principal_angles_error(model.fit(data.X, data.y, data.users).embedding_, data.embedding)


# 2. Limit


def test_alternations_without_noise_come_closer_each_time(monkeypatch):
    release_exactly(monkeypatch)
    data = shared_representation(600, 6, 2, n_records=12, noise=0.0, seed=3)
    errors = [error_of(data, AlternatingMinimization(steps)) for steps in (1, 2, 4)]
    assert errors[2] < errors[1] / 3 < errors[0] / 9


@pytest.mark.parametrize("right_side", ["residual", "seed"])
@pytest.mark.parametrize("participation", ["full", "blocks"])
def test_every_form_finds_the_truth(right_side, participation):
    data = shared_representation(1200, 5, 2, n_records=12, noise=0.01, seed=3)
    options = AlternatingMinimization(3, right_side=right_side, participation=participation)
    assert error_of(data, options) < 0.05


def test_the_right_side_of_residuals_has_less_noise():
    data = shared_representation(1500, 5, 2, n_records=12, noise=0.1, seed=3)
    errors = {
        form: np.mean([error_of(data, AlternatingMinimization(4, form), epsilon=3.0, random_state=r) for r in range(3)])
        for form in ("residual", "seed")
    }
    assert errors["residual"] < 0.8 * errors["seed"]


# 4. The budget


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_whole_budget_is_spent_and_no_more(monkeypatch, neighbors):
    model = representation(method=AlternatingMinimization(3), neighbors=neighbors)
    made, _ = RecordReplay(monkeypatch).fit(model, PEOPLE)
    whole = squared_mu(model.privacy_.event, "test")
    assert sum(map(cost, made)) <= whole and float(sum(map(cost, made)) / whole) == pytest.approx(1.0, rel=1e-6)


def test_parts_pay_once_and_each_has_noise_of_its_own(monkeypatch):
    steps = 3
    nobody = [(np.full((1, 4), np.nan), np.full(1, np.nan))] * 20
    model = representation(method=AlternatingMinimization(steps, participation="blocks"), random_state=1)
    made, asked = RecordReplay(monkeypatch).fit(model, nobody)
    whole = squared_mu(model.privacy_.event, "test")
    sides = [r for r in made if r.mechanism == "vector"][:-1]  # right sides; the last is the check
    assert len(sides) == steps and len({r.terms[0].event for r in sides}) == 1
    assert not any(r.total.any() for r in sides)
    noises = [r.value / r.terms[0].scale for r in sides]
    assert not any(np.array_equal(noises[0], other) for other in noises[1:])
    repeated = sum(cost(r) for r in made) - whole
    assert repeated > 0  # what the other parts repeat is not paid for again
    assert sum(name == "sum_part" for name, _ in asked) == steps * 3


class Told:
    """Stands in for releases: says what was released, and remembers the lattices."""

    def __init__(self, A, b):
        self._A, self._b = A, b

    def total(self, kernel, state):
        return None, None

    def gram_lattice(self, row_norm, share):
        self.lattice = symmetric_lattice(row_norm, Gaussian(1.0))
        return self.lattice

    def vector_lattice(self, norm, share):
        return vector_lattice(norm, Gaussian(1.0))

    def release_symmetric(self, total, lattice):
        return self._A * lattice.scale

    def release(self, total, lattice):
        return self._b

    def quantile_of(self, histogram, grid, probability, share):
        return float(grid[len(grid) // 2])


@pytest.mark.parametrize("is_residual", [True, False])
def test_directions_below_the_noise_are_not_stretched(is_residual):
    """Equations are solved where they stand above the noise; below, with eigenvalues as large as it and of its sign."""
    rng, (d, k) = np.random.default_rng(2), (4, 2)
    Q, b = np.linalg.qr(rng.standard_normal((d * k, d * k)))[0], rng.standard_normal((d, k))
    floor = 2.0 * np.sqrt(d * k)  # in units of the noise
    values = floor * np.array([9.0, 4.0, 1.5, 0.9, 0.1, 1e-9, -0.5, -8.0])
    told = Told((Q * values) @ Q.T, b)
    searches = Searches(told, Spending(1, SearchRecipe(), 0.01, 0.5, 0.03))
    state = Subspace(np.eye(d), np.eye(d, k), np.eye(k), 0.1, False)
    found = altmin._solve_equations(told, searches, state, 1.0, 0.5, is_residual)
    expected = Q @ ((Q.T @ b.ravel()) / np.maximum(values, floor)) / told.lattice.scale
    assert found == pytest.approx(expected.reshape(d, k), rel=1e-9)


def test_equations_of_noise_give_a_subspace():
    for seed in range(3):
        model = representation(epsilon=0.05, method="altmin", random_state=seed).fit(*to_records(PEOPLE))
        assert np.allclose(model.embedding_.T @ model.embedding_, np.eye(2))
