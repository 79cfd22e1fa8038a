"""Releases within a public radius: their order, their shares and their lattices, before any data are read."""

import numpy as np
import pytest

from hushrank.data.rows.arrays import ArrayRows
from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.sums import sum_complex_rows, sum_rows
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.noise.source import NoiseSource

D = 4
BUDGETS = [Budget(1.0, delta, neighbors) for delta in (0.0, 1e-6) for neighbors in Neighbors]


def estimator(budget, **parameters):
    terms = {"row_norm": 1.0, "epsilon": budget.epsilon, "delta": budget.delta, "neighbors": budget.neighbors.value}
    return PrivateCovariance(**(terms | parameters), radius="public")


def rows(n=60, d=D, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.choice([0.2, 1.0, 5.0], (n, 1))


def pytest_pure(epsilon):
    """Equal to Pure events of nearly this epsilon: the last share is rounded down."""

    class Near:
        def __eq__(self, other):
            return isinstance(other, Pure) and other.epsilon == pytest.approx(epsilon, rel=1e-15)

        __hash__ = None

    return Near()


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("center", [None, "private"])
def test_steps_stand_in_the_order_of_execution_and_share_the_budget(budget, center):
    model = estimator(budget, center=center)
    releases = model._plan(budget, {"n_features": D})
    noise = NoiseSource()
    model._release(releases, noise, lambda *args: LocalEngine(1).total(ArrayRows(rows(), "test"), *args))
    assert noise.executed == tuple(step.event for step in releases.steps())
    assert len(noise.executed) == 1 + (center is not None) + (budget.neighbors is Neighbors.ADD_REMOVE)
    given_ = noise.guarantee(budget)
    assert 0.999 * budget.epsilon < given_.epsilon <= budget.epsilon and given_.delta <= budget.delta


def test_shares_are_ten_and_two_percent():
    pure = estimator(Budget(1.0, 0, "add_remove"), center="private")._plan(
        Budget(1.0, 0, "add_remove"), {"n_features": D}
    )
    assert [step.event for step in pure.steps()] == [Pure(0.02), Pure(0.1), pytest_pure(0.88)]
    budget = Budget(1.0, 1e-6, "add_remove")
    events = [step.event for step in estimator(budget, center="private")._plan(budget, {"n_features": D}).steps()]
    squares = np.array([1 / event.noise_multiplier**2 for event in events])
    assert squares / squares.sum() == pytest.approx([0.02, 0.1, 0.88], rel=1e-9)
    assert all(isinstance(event, Gaussian) for event in events)


def test_n_max_sets_the_lattices():
    budget = Budget(1.0)
    fine, coarse = (
        estimator(budget, center="private", n_max=n)._plan(budget, {"n_features": D}) for n in (2**26, 2**50)
    )
    assert coarse.matrix.squared_bound < fine.matrix.squared_bound
    assert coarse.center.l1_bound < fine.center.l1_bound


def test_the_pure_center_shortens_no_row_within_its_norm():
    budget = Budget(1.0)
    lattice = estimator(budget, center="private", center_norm=2.0)._plan(budget, {"n_features": D}).center
    x = np.full((1, D), 1.0)  # norm 2, and L1 norm 4 = sqrt(4) * 2: the worst direction
    assert sum_rows(x, lattice)[1].tolist() == [1, 0, 0]
    assert sum_rows(1.001 * x, lattice)[1].tolist() == [1, 0, 1]
    lattice = (
        estimator(budget, center="private", center_norm=2.0, field="complex")._plan(budget, {"n_features": D}).center
    )
    z = np.full((1, D), (1 + 1j) / 2**0.5)  # norm 2, and L1 norm sqrt(8) * 2 of all real numbers
    assert sum_complex_rows(z, lattice)[1].tolist() == [1, 0, 0]
    assert sum_complex_rows(1.001 * z, lattice)[1].tolist() == [1, 0, 1]
