"""References of trace regression: least squares is least squares, and the rival spends what it says."""

import numpy as np
import pytest

from hushrank.evaluation import trace_baselines
from hushrank.evaluation.trace_baselines import full_matrix_descent, trace_regression_without_privacy
from hushrank.evaluation.trace_data import trace_records
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.events import together
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.mechanisms.vector import vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from support import assert_plausible, normal_scale_p_value

SHAPE, RANK = (9, 7), 2
FREEDOM = RANK * (sum(SHAPE) - RANK)
DESIGNS = ["dense", "rank_one", "entry"]


def fit(data, rank=RANK, **terms):
    return trace_regression_without_privacy(data.X, data.y, data.design, data.coef.shape, rank, **terms)


def as_rows(data):
    """Measurements as rows of d1 d2 numbers."""
    if data.design == "dense":
        return data.X.reshape(len(data.y), -1)
    if data.design == "rank_one":
        return np.einsum("ni,nj->nij", *data.X).reshape(len(data.y), -1)
    return np.eye(data.coef.size)[np.ravel_multi_index(data.X, data.coef.shape)]


# Least squares


@pytest.mark.parametrize("design", DESIGNS)
def test_of_full_rank_it_is_ordinary_least_squares(design):
    data = trace_records(3000, SHAPE, RANK, design=design, seed=1)
    expected = np.linalg.lstsq(as_rows(data), data.y, rcond=None)[0].reshape(SHAPE)
    assert fit(data, rank=7, tol=1e-10) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"condition": 100.0},
        {"condition": 100.0, "diagonal": True},
        {"distribution": "sign"},
        {"design": "rank_one"},
        {"design": "rank_one", "condition": 100.0},
        {"design": "entry"},
        {"design": "entry", "popularity": 0.8},
    ],
    ids=str,
)
def test_it_is_stationary_and_better_than_the_truth(terms):
    data = trace_records(6000, SHAPE, RANK, seed=2, **terms)
    coef = fit(data, tol=1e-9)
    A = as_rows(data)
    assert np.linalg.norm(A @ coef.ravel() - data.y) < np.linalg.norm(A @ data.coef.ravel() - data.y)
    U, s, Vt = np.linalg.svd(coef)
    assert s[RANK] < 1e-10 * s[0]
    gradient = (A.T @ (A @ coef.ravel() - data.y)).reshape(SHAPE)
    limit = 1e-5 * np.linalg.norm(A.T @ data.y)
    assert np.linalg.norm(U[:, :RANK].T @ gradient) < limit
    assert np.linalg.norm(gradient @ Vt[:RANK].T) < limit


@pytest.mark.parametrize("design", DESIGNS)
def test_its_error_is_that_of_the_degrees_of_freedom(design):
    """sigma sqrt(r (d1 + d2 - r) / n), over a norm of sqrt(5)."""
    errors = []
    for seed in range(4):
        data = trace_records(8000, SHAPE, RANK, design=design, noise=0.5, seed=seed)
        errors.append(data.relative_error(fit(data)))
    assert np.mean(errors) == pytest.approx(0.5 * np.sqrt(FREEDOM / 8000 / 5.0), rel=0.25)


@pytest.mark.parametrize("design", DESIGNS)
def test_without_noise_it_finds_the_truth(design):
    data = trace_records(1500, SHAPE, RANK, design=design, noise=0.0, seed=3)
    assert data.relative_error(fit(data, tol=1e-9)) < 1e-7


def test_chunks_and_precision_change_nothing(monkeypatch):
    for design in DESIGNS:
        data = trace_records(2000, SHAPE, RANK, design=design, seed=4)
        whole = fit(data, tol=1e-10)
        narrow = trace_records(2000, SHAPE, RANK, design=design, seed=4, dtype=np.float32)
        monkeypatch.setattr(trace_baselines, "_CHUNK_VALUES", 700)
        assert fit(data, tol=1e-10) == pytest.approx(whole, abs=1e-7)
        assert fit(narrow) == pytest.approx(whole, abs=1e-4)
        monkeypatch.undo()


def test_rows_without_records_stay_zero():
    data = trace_records(3000, SHAPE, RANK, design="entry", seed=5)
    kept = data.X[0] != 4
    X, y = tuple(places[kept] for places in data.X), data.y[kept]
    coef = trace_regression_without_privacy(X, y, "entry", SHAPE, RANK)
    assert np.abs(coef[4]).max() < 1e-9
    assert np.delete(coef, 4, axis=0) == pytest.approx(np.delete(data.coef, 4, axis=0), abs=0.5)
    assert not trace_regression_without_privacy(data.X, np.zeros(3000), "entry", SHAPE, RANK).any()


# The rival


@pytest.mark.parametrize("design", DESIGNS)
def test_one_record_changes_a_sum_by_two_bounds_at_most(design):
    """Whatever numbers it holds: the sum of everybody else comes out the same, in integers."""
    data = trace_records(40, SHAPE, RANK, design=design, seed=6)
    lattice = vector_lattice(0.7, calibrate(Budget(1.0, 1e-5)))
    rng = np.random.default_rng()

    def total(X, residuals):
        return trace_baselines._integer_total(X, residuals, design, SHAPE, lattice)

    residuals = rng.standard_normal(40)
    before = total(data.X, residuals)
    for value in (0.0, 1e-3, 5.0, -1e200, np.inf, np.nan):
        X = data.X.copy() if design == "dense" else tuple(side.copy() for side in data.X)
        for side in (X,) if design == "dense" else X:
            side[3] = side[5]
        other = np.where(np.arange(40) == 3, value, residuals)
        change = total(X, other) - before
        assert np.sum(change.astype(object) ** 2) <= 4 * lattice.squared_bound
    alone = total(data.X, np.where(np.arange(40) == 3, 1e9, 0.0))
    assert np.sqrt(np.sum(alone.astype(float) ** 2) / lattice.squared_bound) == pytest.approx(1.0, abs=1e-4)


def test_releases_cost_the_whole_budget_and_no_more():
    data, noise, budget = trace_records(500, SHAPE, RANK, seed=7), NoiseSource(), Budget(1.0, 1e-5, unit="record")
    full_matrix_descent(data.X, data.y, "dense", SHAPE, RANK, epsilon=1.0, delta=1e-5, noise=noise)
    planned = calibrate(budget)
    assert len(noise.executed) == 8 and noise.is_within([planned])
    assert noise.guarantee(budget, planned).epsilon <= 1.0 and noise.guarantee(budget, planned).numerics == "exact"
    assert accountant.mu(together(noise.executed)) == pytest.approx(1.0 / planned.noise_multiplier, rel=1e-6)


def test_every_entry_has_noise_of_the_planned_scale(monkeypatch):
    data, errors, scales = trace_records(300, (40, 30), RANK, seed=8), [], []
    release = AdaptiveReleases.release

    def spy(self, total, lattice):
        released = release(self, total.copy(), lattice)
        errors.append((released - total * lattice.unit) / lattice.scale)
        scales.append(lattice.scale * self.mu / (2.0 * lattice.norm_bound))
        return released

    monkeypatch.setattr(AdaptiveReleases, "release", spy)
    full_matrix_descent(data.X, data.y, "dense", (40, 30), RANK, epsilon=1.0, delta=1e-5)
    assert [len(error) for error in errors] == [1200] * 4
    assert_plausible(normal_scale_p_value(np.concatenate(errors), 1.0))
    # A step has 0.9 of its share, and the sensitivity is twice the bound.
    assert scales == pytest.approx([(0.9 * share) ** -0.5 for share in trace_baselines.RIVAL_SHARES], rel=1e-3)


@pytest.mark.parametrize(("design", "level", "steps"), [("dense", 0.5, 3), ("rank_one", 0.8, 3), ("entry", 0.5, 15)])
def test_with_little_noise_it_comes_near_least_squares(design, level, steps):
    data = trace_records(8000, SHAPE, RANK, design=design, seed=9)
    terms = {"level": level, "shares": (0.1,) + (0.9 / steps,) * steps}
    coef = full_matrix_descent(data.X, data.y, design, SHAPE, RANK, epsilon=1e4, delta=1e-5, **terms)
    assert data.relative_error(coef) < 2.0 * data.relative_error(fit(data))


def test_noise_costs_what_is_expected():
    """2 bound / (level n mu sqrt(0.45)) on all d1 d2 entries, cut to the degrees of freedom: about 0.02 here."""
    data = trace_records(8000, SHAPE, RANK, seed=10)
    errors = [
        data.relative_error(full_matrix_descent(data.X, data.y, "dense", SHAPE, RANK, epsilon=1.0, delta=1e-5))
        for _ in range(5)
    ]
    assert 1.05 * data.relative_error(fit(data)) < np.mean(errors) < 0.06


def test_answers_may_be_anything():
    data = trace_records(4000, SHAPE, RANK, seed=11)
    X, y = data.X.copy(), data.y.copy()
    X[0, 0, 0], X[1, 2, 3], y[2:5] = np.nan, np.inf, (np.nan, -np.inf, 1e300)
    coef = full_matrix_descent(X, y, "dense", SHAPE, RANK, epsilon=5.0, delta=1e-5)
    assert data.relative_error(coef) < 0.1


# Refusals


@pytest.mark.parametrize("function", [trace_regression_without_privacy, full_matrix_descent])
def test_refusals(function):
    data = trace_records(10, SHAPE, RANK, seed=12)
    budget = {"epsilon": 1.0, "delta": 1e-5} if function is full_matrix_descent else {}
    with pytest.raises(InvalidParameter, match=r"design of .* must be one of 'dense', 'rank_one', 'entry'; got 'all'"):
        function(data.X, data.y, "all", SHAPE, RANK, **budget)
    with pytest.raises(InvalidParameter, match=r"rank of .* must be an integer >= 1 and <= 7"):
        function(data.X, data.y, "dense", SHAPE, 8, **budget)
