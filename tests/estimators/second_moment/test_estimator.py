"""The releases behind PCA and covariance: bounds, order, budget, the number of rows, and the forecast."""

import dataclasses
import logging
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.sums import sum_products, sum_rows
from hushrank.evaluation.audit import delta_lower_bound, epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Composed, Pure
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms.symmetric import second_moment_frobenius_sensitivity
from hushrank.privacy.mechanisms.vector import GaussianLattice, vector_l1_sensitivity, vector_l2_sensitivity
from hushrank.privacy.mechanisms.wishart import second_moment_nuclear_sensitivity
from hushrank.privacy.noise.source import NoiseSource
from support import assert_plausible, four_squares, laplace_scale_p_value, normal_scale_p_value, plant

D = 4
BUDGETS = [Budget(1.0, delta, neighbors) for delta in (0.0, 1e-6) for neighbors in Neighbors]


def estimator(budget, **parameters):
    """With a public radius, unless parameters say otherwise; a private one: test_learning.py."""
    terms = {"row_norm": 1.0, "epsilon": budget.epsilon, "delta": budget.delta, "neighbors": budget.neighbors.value}
    return PrivateCovariance(**({"radius": "public"} | terms | parameters))


def rows(n=60, d=D, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.choice([0.2, 1.0, 5.0], (n, 1))


# 1. Sensitivity


wild = st.sampled_from([0.0, 1e-320, 1.0, -3.0, 1e30, 1.7e308, math.inf, math.nan])
wild_row = st.lists(wild, min_size=D, max_size=D)


def change(kernel, state, one, other):
    """Difference of the totals of neighboring data sets that hold the row `one` or the row `other` (None: no row)."""
    shared = rows()
    blocks = [np.vstack([shared, np.reshape(row, (-1, D))]) if row is not None else shared for row in (one, other)]
    first, second = (kernel(block, state)[0] for block in blocks)
    return (first - second).astype(np.float64)


@pytest.mark.parametrize("budget", BUDGETS)
@given(one=wild_row, other=wild_row, centered=st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_row_moves_the_second_moment_beyond_its_bound(budget, one, other, centered):
    lattice = estimator(budget)._plan(budget, {"n_features": D}).matrix
    if budget.neighbors is Neighbors.ADD_REMOVE:
        other = None
    D_ = change(sum_products, (np.full(D, 0.25) if centered else None, lattice), one, other)
    T = lattice.squared_bound
    norm = np.linalg.svd(D_, compute_uv=False).sum() if budget.is_pure else np.linalg.norm(D_)
    bound = second_moment_nuclear_sensitivity if budget.is_pure else second_moment_frobenius_sensitivity
    assert norm <= bound(math.sqrt(T), budget.neighbors) * (1 + 1e-12)


@pytest.mark.parametrize("budget", BUDGETS)
@given(one=wild_row, other=wild_row)
@settings(max_examples=40, deadline=None)
def test_no_row_moves_the_sum_for_the_center_beyond_its_bound(budget, one, other):
    lattice = estimator(budget, center="private", center_norm=2.0)._plan(budget, {"n_features": D}).center
    difference = change(sum_rows, lattice, one, None if budget.neighbors is Neighbors.ADD_REMOVE else other)
    if isinstance(lattice, GaussianLattice):
        assert (difference**2).sum() <= vector_l2_sensitivity(lattice.squared_bound**0.5, budget.neighbors) ** 2 + 1e-6
    else:
        assert np.abs(difference).sum() <= vector_l1_sensitivity(lattice.l1_bound, budget.neighbors)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_worst_pair_attains_the_bound_around_any_center(budget):
    lattice = estimator(budget)._plan(budget, {"n_features": D}).matrix
    T = lattice.squared_bound
    y = np.array(four_squares(T), float)
    turned = np.array([-y[1], y[0], -y[3], y[2]])  # orthogonal to y
    center = np.array([0.5, -1.0, 0.25, 2.0])
    pair = [center + row / math.sqrt(T) for row in (y, turned)]
    other = None if budget.neighbors is Neighbors.ADD_REMOVE else pair[1]
    D_ = change(sum_products, (center, lattice), pair[0], other)
    norm = np.linalg.svd(D_, compute_uv=False).sum() if budget.is_pure else np.linalg.norm(D_)
    bound = second_moment_nuclear_sensitivity if budget.is_pure else second_moment_frobenius_sensitivity
    # Rounding at a general center may cost a few units of the lattice, 2^-18 of the norm each.
    assert norm == pytest.approx(bound(math.sqrt(T), budget.neighbors), rel=1e-4)
    D_ = change(sum_products, (None, lattice), y / math.sqrt(T), None if other is None else turned / math.sqrt(T))
    norm = np.linalg.svd(D_, compute_uv=False).sum() if budget.is_pure else np.linalg.norm(D_)
    assert norm == pytest.approx(bound(math.sqrt(T), budget.neighbors), rel=1e-9)


# 2. Plan: order and shares


# 3. Noise, from both sides


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_noise_of_a_fit_has_the_planned_scale(budget):
    n_fits, d = 40, 40
    model = estimator(budget)
    sigma = model.plan((50, d)).steps[-1].scales["standard deviation off the diagonal"]
    fits = [model.fit(np.zeros((50, d))) and model.released_ * model.n_ for _ in range(n_fits)]
    off = np.array(fits)[:, *np.triu_indices(d, 1)]
    if not budget.is_pure:  # independent normals
        assert_plausible(normal_scale_p_value(off, sigma))
        for factor in (0.7, 1.3):
            assert normal_scale_p_value(off, factor * sigma) < 1e-9
    # Entries of Wishart noise depend on each other. A fit's mean square varies by 8 %, that of 40 fits by 1.2 %; the
    # laws of single entries are tested with the mechanism.
    assert np.mean(off**2) / sigma**2 == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_of_the_center_has_the_planned_scale(delta):
    n, d, n_fits = 10_000, 50, 100
    budget = Budget(1.0, delta)
    model = estimator(budget, center="private")
    releases = model._plan(budget, {"n_features": d})
    scale = next(iter(model.plan((n, d)).steps[0].scales.values()))
    p_value = normal_scale_p_value if delta else laplace_scale_p_value
    totals = iter([(np.zeros(d, np.int64), [n, 0, 0]), (np.zeros((d, d), np.int64), [n, 0, 0])] * n_fits)
    sums = n * np.array(
        [model._release(releases, NoiseSource(), lambda *_: next(totals)).center for _ in range(n_fits)]
    )
    assert np.linalg.norm(sums, axis=1).max() < n  # no center was moved into the ball, which would hide its noise
    assert_plausible(p_value(sums, scale))
    for factor in (0.7, 1.3):
        assert p_value(sums, factor * scale) < 1e-9


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_released_count_has_the_planned_noise(delta):
    budget = Budget(1.0, delta, "add_remove")
    model = estimator(budget)
    releases, scale = model._plan(budget, {"n_features": 2}), next(iter(model.plan((9, 2)).steps[0].scales.values()))
    noise = NoiseSource()
    errors = [model._count(np.array([10**6, 0, 0]), releases, noise) - 10**6 for _ in range(4000)]
    assert set(noise.executed) == {releases.count}
    p_value = normal_scale_p_value if delta else laplace_scale_p_value
    assert_plausible(p_value(errors, scale))
    for factor in (0.7, 1.3):
        assert p_value(errors, factor * scale) < 1e-9


@pytest.mark.parametrize("radius", ["private", "public"])
def test_an_empty_data_set_gives_a_noisy_count_of_at_least_one(radius):
    budget = Budget(1.0, 0, "add_remove")
    counts = [estimator(budget, radius=radius).fit(np.zeros((0, 2))).n_ for _ in range(40)]
    assert min(counts) == 1 and max(counts) > 1  # fails with probability 2^-39


# 4. Centering


@pytest.mark.parametrize("radius", ["private", "public"])
def test_a_public_center_is_subtracted_before_rows_are_bounded(radius):
    X = rows(200) + 100.0
    big = Budget(1e8, neighbors="replace")
    model = estimator(big, row_norm=20.0, center=np.full(D, 100.0), radius=radius).fit(X)
    Y = X - 100.0
    assert model.released_ == pytest.approx(Y.T @ Y / 200, abs=1e-3)
    assert model.center_.tolist() == [100.0] * D


def test_a_private_center_comes_near_the_mean_and_never_leaves_its_ball():
    X = rows(2000) + np.array([3.0, -2.0, 0.0, 1.0])
    big = Budget(1e6)
    model = estimator(big, row_norm=30.0, center="private").fit(X)
    assert model.center_ == pytest.approx(X.mean(axis=0), abs=1e-3)
    assert model.released_ == pytest.approx(np.cov(X.T, bias=True), abs=1e-2)
    for _ in range(20):
        noisy = estimator(Budget(0.01), center="private", center_norm=0.5).fit(X[:10])
        assert np.linalg.norm(noisy.center_) <= 0.5 * (1 + 1e-12)


def test_the_center_of_a_private_radius_is_the_mean():
    """What a center missed is released with the second moment and subtracted."""
    X = rows(2000) + np.array([3.0, -2.0, 0.0, 1.0])
    model = estimator(Budget(1e6), row_norm=300.0, center="private", radius="private").fit(X)
    assert model.center_ == pytest.approx(X.mean(axis=0), abs=1e-3)
    assert model.released_ == pytest.approx(np.cov(X.T, bias=True), abs=1e-2)
    assert model.radius_ <= 300.0 + np.linalg.norm(model.center_)


def test_the_center_is_divided_by_the_released_count(monkeypatch):
    """Under add_remove the exact number of rows must not enter: with another count every result is another."""
    budget = Budget(1e6, neighbors="add_remove")
    model = estimator(budget, row_norm=30.0, center="private")
    monkeypatch.setattr(
        model, "_count", lambda tally, releases, noise: noise.begin(releases.count, "add_remove") and 500
    )
    X = np.full((1000, 2), 1.5)
    model.fit(X)
    assert model.center_ == pytest.approx([3.0, 3.0], abs=1e-3) and model.n_ == 500
    assert model.released_ == pytest.approx(np.full((2, 2), 1000 / 500 * 1.5**2), abs=1e-2)


@pytest.mark.parametrize("radius", ["private", "public"])
def test_a_public_center_is_copied(radius):
    center = np.full(D, 0.5)
    model = estimator(Budget(1.0), center=center, radius=radius).fit(rows())
    center[:] = 9.0
    assert model.center_.tolist() == [0.5] * D


def test_huge_bounds_on_the_center_do_not_overflow():
    X = np.full((100, 2), 1e200)
    model = estimator(Budget(1e6), row_norm=1e100, center="private", center_norm=1e201).fit(X)
    assert model.center_ == pytest.approx([1e200, 1e200], rel=1e-3)
    model = estimator(Budget(1e6), row_norm=1e94, center="private", radius="private").fit(X / 1.5e106)
    assert model.center_ == pytest.approx([1e200 / 1.5e106] * 2, rel=1e-3)


# 5. Forecast


# 6. Refusals, and the data holder's log


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"center": [1.0]}, rows(), "center of PrivateCovariance must be a vector of 4 numbers, one for a column"),
        ({"center_norm": 1.0}, rows(), "center_norm of PrivateCovariance must be None unless center='private'"),
        ({"center_norm": 1.0, "center": [0.0] * D}, rows(), "center_norm of PrivateCovariance must be None unless"),
        ({"n_max": 59}, rows(), "n_max of PrivateCovariance must be at least the number of rows, 60; got 59"),
        ({}, rows(0), "X of PrivateCovariance must be at least 1 row .*'add_remove' only"),
        ({"center": "private"}, iter([rows()]), r"data that can be read several times .* for center='private'"),
        ({"radius": "private"}, iter([rows()]), r"data that can be read several times .* for radius='private'"),
        ({"radius": "private", "center": [1.0]}, rows(), "center of PrivateCovariance must be a vector of 4 numbers"),
        (
            {"radius": "private", "center": "private", "center_norm": 1.0},
            rows(),
            "center_norm of PrivateCovariance must be None unless center='private' and radius='public'",
        ),
        ({"radius": "private", "n_max": 59}, rows(), "n_max of PrivateCovariance must be at least the number of rows"),
        ({"radius": "private"}, rows(0), "X of PrivateCovariance must be at least 1 row .*'add_remove' only"),
        ({"row_norm": None}, rows(), "row_norm of PrivateCovariance must be a finite float > 0 unless column_bounds"),
        ({"row_norm": None, "radius": "private"}, rows(), "row_norm of PrivateCovariance must be a finite float > 0"),
        ({"column_bounds": (0, 1)}, rows(), "column_bounds of PrivateCovariance must be None unless radius='private'"),
        ({"standardize": "private"}, rows(), "standardize of PrivateCovariance must be None unless radius='private'"),
        ({"radius": "secret"}, rows(), "radius of PrivateCovariance must be 'private' or 'public'; got 'secret'"),
    ],
)
def test_refusals(parameters, X, message):
    class Account:
        def charge(self, *_, **__):
            raise AssertionError("charged")

    with pytest.raises(InvalidParameter, match=message):
        estimator(Budget(1.0), **parameters, ledger=Account()).fit(X)


@pytest.mark.parametrize("radius", ["private", "public"])
def test_rows_beyond_n_max_are_refused_before_the_charge_and_only_where_their_number_is_public(radius):
    class Account:
        def charge(self, *_, **__):
            raise AssertionError("charged")

    for X in (rows(), rows(0)):
        with pytest.raises(InvalidParameter, match=r"^(n_max|X) of PrivateCovariance must be at least"):
            estimator(Budget(1.0), n_max=59, ledger=Account(), radius=radius).fit(X)
    with pytest.raises(InvalidParameter, match=r"^n_max of PrivateCovariance must be at least the number of rows, 60"):
        estimator(Budget(1.0), n_max=59, radius=radius).plan((60, D))
    secret = Budget(1.0, neighbors="add_remove")
    assert estimator(secret, n_max=59, radius=radius).fit(rows()).n_ >= 1
    assert estimator(secret, n_max=59, radius=radius).plan((60, D)).forecast


def test_iterators_too_are_held_to_n_max_under_replace_only():
    with pytest.raises(InvalidParameter, match="n_max of PrivateCovariance must be at least the number of rows, 60"):
        estimator(Budget(1.0), n_max=59).fit(iter([rows()]))
    secret = estimator(Budget(1.0, neighbors="add_remove"), n_max=59).fit(iter([rows()]))
    assert secret.privacy_.event == Composed([Pure(0.02), secret.privacy_.event.events[1]])


def test_functions_that_return_iterators_are_held_to_n_max_within_a_private_radius():
    """Their number of rows is known after they were read: the charge is lost, and nothing is released."""
    terms = {"n_max": 59, "radius": "private"}
    with pytest.raises(InvalidParameter, match="n_max of PrivateCovariance must be at least the number of rows, 60"):
        estimator(Budget(1.0), **terms).fit(lambda: iter([rows()]))
    secret = estimator(Budget(1.0, neighbors="add_remove"), **terms).fit(lambda: iter([rows()]))
    assert secret.privacy_.event == Pure(1.0)


def test_touched_rows_are_told_to_the_data_holder_only(caplog):
    X = np.array([[0.5, 0.0], [math.nan, 0.0], [3.0, 4.0], [5.0, 0.0]])
    with caplog.at_level(logging.INFO, "hushrank"):
        model = estimator(Budget(1.0), row_norm=2.0).fit(X)
    (record,) = caplog.records
    assert record.levelname == "INFO"  # Python shows warnings to whoever looks on
    expected = "1 of 4 rows are not finite and count as zero, 2 are longer than row_norm = 2 and were shortened"
    assert expected in record.getMessage() and record.getMessage().endswith("Not private.")
    assert "not finite" not in repr(vars(model))


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_no_note_is_more_than_information(caplog, neighbors):
    X = np.array([[0.5, 0.0], [math.nan, 0.0], [3.0, 4.0], [5.0, 0.0]])
    with caplog.at_level(logging.DEBUG, "hushrank"):
        estimator(Budget(1.0, neighbors=neighbors), row_norm=2.0, center="private").fit(X)
        estimator(Budget(1.0, neighbors=neighbors), row_norm=2.0).fit(X[:1])
    assert [record.levelname for record in caplog.records] == ["INFO"] * 3
    assert all("Not private." in message for message in caplog.messages)


# 7. Audits


def outcomes(model, releases, X, trials):
    """What `_release` gives on `X`, many times; the sums are computed once."""
    S, tally = sum_products(X, (None, releases.matrix))
    noise = NoiseSource()
    return [model._release(releases, noise, lambda *_: (S, tally)) for _ in range(trials)]


@pytest.mark.audit
@pytest.mark.parametrize("halved", [False, True])
def test_audit_of_a_pure_fit_under_add_remove(halved):
    """One column, a full row added: the sum moves by row_norm^2, for which Laplace-shaped noise is tight."""
    budget, trials = Budget(1.0, neighbors="add_remove"), 20_000
    model = estimator(budget)
    releases = model._plan(budget, {"n_features": 1})
    if halved:
        matrix = plant(releases.matrix, multiplier=releases.matrix.multiplier // 2)
        releases = dataclasses.replace(releases, matrix=matrix)
    hits = []
    for X in (np.array([[0.0], [1.0]]), np.array([[0.0]])):
        hits.append(sum(moment.matrix[0, 0] >= 1.0 for moment in outcomes(model, releases, X, trials)))
    found = epsilon_lower_bound(hits[0], trials, hits[1], trials, confidence=1 - 1e-9)
    assert found > 1.4 if halved else 0.75 < found <= 1.0


@pytest.mark.audit
@pytest.mark.parametrize("halved", [False, True])
def test_audit_of_a_gaussian_fit_under_replace(halved):
    """Orthogonal full rows replace each other; the likelihood ratio depends on one linear form of the release."""
    budget, trials = Budget(0.1, 0.2), 20_000
    model = estimator(budget)
    releases = model._plan(budget, {"n_features": 2})
    if halved:
        gram = plant(releases.matrix, exponent=releases.matrix.exponent - 1)
        releases = dataclasses.replace(releases, matrix=gram)
    forms = [
        [moment.matrix[0, 0] - moment.matrix[1, 1] for moment in outcomes(model, releases, X, trials)]
        for X in (np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    ]
    # The form has mean 1 or -1 and deviation 2/mu; its privacy loss mu^2/2 times the form exceeds epsilon from here on.
    threshold = 2 * budget.epsilon * releases.matrix.event.noise_multiplier**2
    hits = [int(np.sum(np.array(form) >= threshold)) for form in forms]
    found = delta_lower_bound(hits[0], trials, hits[1], trials, budget.epsilon, confidence=1 - 1e-9)
    assert found > 0.25 if halved else 0.12 < found <= 0.2
