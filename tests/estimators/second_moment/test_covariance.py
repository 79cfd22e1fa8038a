"""Private covariance: the limit without noise, identities and refusals. Bounds and noise: test_estimator."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.released import noise_law_of
from hushrank.evaluation.synthetic import power_law_rows
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.shrinkage import shrink_eigenvalues

TERMS = {"row_norm": 1.0, "epsilon": 1.0}


# 2. Limit


@pytest.mark.parametrize("radius", ["private", "public"])
@pytest.mark.parametrize("delta", [0.0, 0.5])
def test_a_huge_budget_gives_the_non_private_second_moment(delta, radius):
    X = power_law_rows(500, 6, seed=3)
    model = PrivateCovariance(row_norm=1.0, epsilon=1e9, delta=delta, radius=radius).fit(X)
    true = X.T @ X / 500  # rounding moves an entry of a row by at most half a step of 2^-18
    assert model.released_ == pytest.approx(true, abs=2e-5)
    assert model.covariance_ == pytest.approx(true, abs=2e-5)
    assert model.eigenvalues_ == pytest.approx(np.linalg.eigvalsh(true)[::-1], abs=2e-5)


# 3. Planted data


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_error_is_near_the_forecast_and_not_zero(delta):
    X = power_law_rows(5000, 30, seed=7)
    model = PrivateCovariance(**TERMS, delta=delta, radius="public")
    forecast = model.plan(X.shape).forecast["spectral error of the covariance"]
    errors = [np.linalg.norm(model.fit(X).released_ - X.T @ X / 5000, 2) for _ in range(10)]
    # A draw varies by 8 % (Wishart) or 6 % (GOE) around 0.95 forecasts at d = 30; the mean of ten by less than 3 %.
    assert 0.7 * forecast < np.mean(errors) < 1.2 * forecast


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_error_within_a_private_radius_is_near_the_forecast_for_that_radius(delta):
    X = power_law_rows(5000, 30, seed=7)
    model = PrivateCovariance(row_norm=100.0, epsilon=1.0, delta=delta)
    forecast = model.plan(X.shape).forecast["spectral error of the covariance, over radius^2"]
    norms, errors = np.linalg.norm(X, axis=1, keepdims=True), []
    for _ in range(10):
        Y = X * np.minimum(1.0, model.fit(X).radius_ / norms)
        errors.append(np.linalg.norm(model.released_ - Y.T @ Y / 5000, 2) / model.radius_**2)
    # A draw varies by 8 % (Wishart) or 6 % (GOE) around 0.95 forecasts at d = 30; the mean of ten by less than 3 %.
    assert 0.7 * forecast < np.mean(errors) < 1.2 * forecast


# 4. Identities


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("terms", [{}, {"delta": 1e-6}, {"neighbors": "add_remove"}, {"field": "complex"}])
def test_the_matrix_has_the_shrunk_eigenvalues_of_the_release(terms, rank):
    """Eigenvectors are those of the release; what its noise adds to eigenvalues is taken off, by its law alone."""
    model = PrivateCovariance(row_norm=1.0, epsilon=0.5, radius="public", random_state=1, rank=rank, **terms)
    lattice = model._plan(model._check_parameters(), {"n_features": 8}).matrix
    model.fit(power_law_rows(100, 8, seed=1))
    law = noise_law_of(lattice, 8)
    law = replace(law, scale=law.scale / model.n_)
    assert np.array_equal(model.covariance_, model.covariance_.conj().T)
    assert np.array_equal(model.released_, model.released_.conj().T)
    values, vectors = np.linalg.eigh(model.released_)
    values, vectors = values[::-1], vectors[:, ::-1]
    assert values[-1] < 0  # so much noise that there is work to do
    expected = shrink_eigenvalues(values, law)[:rank]
    kept = vectors[:, : len(expected)]
    assert model.covariance_ == pytest.approx((kept * expected) @ kept.conj().T, abs=1e-12)
    assert model.eigenvalues_ == pytest.approx(expected, abs=1e-12)
    assert np.linalg.eigvalsh(model.covariance_).min() > -1e-12
    trace = np.trace(model.released_).real
    assert np.trace(model.covariance_).real <= max(trace, 0.0) + 1e-12


@pytest.mark.parametrize("terms", [{}, {"delta": 1e-6}, {"center": "private"}])
def test_the_matrix_within_a_private_radius_is_positive_with_at_most_the_released_trace(terms):
    for seed in range(5):
        model = PrivateCovariance(row_norm=9.0, epsilon=0.3, random_state=seed, **terms)
        model.fit(power_law_rows(200, 8, seed=1))
        assert np.linalg.eigvalsh(model.released_).min() < 0  # so much noise that there is work to do
        assert np.array_equal(model.covariance_, model.covariance_.T)
        assert (model.eigenvalues_ >= 0).all() and (np.diff(model.eigenvalues_) <= 0).all()
        assert np.linalg.eigvalsh(model.covariance_)[::-1] == pytest.approx(model.eigenvalues_, abs=1e-12)
        assert np.trace(model.covariance_) <= max(np.trace(model.released_), 0.0) + 1e-12
        # The same eigenvectors: both matrices commute.
        product = model.covariance_ @ model.released_
        assert product == pytest.approx(product.T, abs=1e-10)


def test_rank_keeps_the_largest_eigenvalues():
    X = power_law_rows(100, 8, seed=1)
    whole = PrivateCovariance(**TERMS, random_state=3).fit(X)
    low = PrivateCovariance(**TERMS, random_state=3, rank=2).fit(X)
    assert low.eigenvalues_ == pytest.approx(whole.eigenvalues_[:2], abs=1e-12)
    assert np.linalg.matrix_rank(low.covariance_, tol=1e-9) == 2
    assert np.array_equal(low.released_, whole.released_)


def test_pca_sees_the_same_release():
    X = power_law_rows(100, 8, seed=1)
    covariance = PrivateCovariance(**TERMS, random_state=3).fit(X)
    pca = PrivatePCA(8, **TERMS, random_state=3).fit(X)
    assert np.array_equal(pca.explained_variance_interval_, covariance.eigenvalue_interval_)
    assert np.array_equal(pca.alignment_, covariance.alignment_)
    assert pca.n_significant_ == covariance.n_significant_ and pca.radius_ == covariance.radius_
    V, released = pca.components_, covariance.released_
    assert V @ released @ V.T == pytest.approx(np.diag(np.linalg.eigvalsh(released)[::-1]), abs=1e-12)


def test_totals_do_not_depend_on_the_scale_of_the_data():
    X = power_law_rows(100, 4, seed=1)
    for scale in (2.0**-40, 2.0**40):  # powers of two change no digit
        one, other = (PrivateCovariance(row_norm=s, epsilon=1.0, random_state=1).fit(s * X) for s in (1.0, scale))
        assert np.array_equal(one.released_ * scale**2, other.released_)


# 5. Refusals


@pytest.mark.parametrize("rank", [9, 0, 1.5, -1])
def test_impossible_ranks_are_refused(rank):
    with pytest.raises(InvalidParameter, match=r"^rank of PrivateCovariance must be "):
        PrivateCovariance(**TERMS, rank=rank).fit(np.eye(8))


@pytest.mark.parametrize(
    "X",
    [np.zeros(3), np.zeros((2, 2, 2)), [["a", "b"]], np.array([[object()]]), np.zeros((3, 0)), np.eye(2) * 1j, None, 5],
    ids=lambda X: str(np.shape(X)),
)
def test_what_is_not_a_table_of_numbers_is_refused(X):
    with pytest.raises(InvalidParameter, match=r"^X of PrivateCovariance must be "):
        PrivateCovariance(**TERMS).fit(X)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (
            {"row_norm": 8e149, "epsilon": 1.0, "radius": "public"},
            "row_norm of PrivateCovariance must be a bound whose lattice fits float64",
        ),
        ({"row_norm": 1.1e94, "epsilon": 1.0}, "row_norm of PrivateCovariance must be between 1e-94 and 1e\\+94"),
        ({"row_norm": 9e-101, "epsilon": 1.0}, "row_norm of PrivateCovariance must be between 1e-94 and 1e\\+94"),
        (
            {"row_norm": 1.0, "epsilon": 1e-13, "radius": "public"},
            "epsilon of PrivateCovariance must be .* epsilon above 1e-12; got 1e-13",
        ),
        (
            {"row_norm": 1.0, "epsilon": 1e-13},
            "epsilon of PrivateCovariance must be such that a share of .* is within the arithmetic: .*; got 1e-13",
        ),
        (
            {"row_norm": 1.0, "epsilon": 1.0, "center": "private", "center_norm": 1e305, "radius": "public"},
            "center_norm of PrivateCovariance must be (?!None)",
        ),
        (
            {"row_norm": 1.0, "epsilon": 1.0, "center": "private", "center_norm": 1.0},
            "center_norm of PrivateCovariance must be None unless center='private' and radius='public'",
        ),
    ],
)
def test_numbers_that_no_lattice_can_hold_are_refused_by_the_name_the_user_knows(terms, message):
    with pytest.raises(InvalidParameter, match=message):
        PrivateCovariance(**terms).plan((10, 3))


def test_bounds_beyond_float64_are_refused_before_anything_happens():
    with pytest.raises(InvalidParameter, match="row_norm"):
        PrivateCovariance(row_norm=1e200, epsilon=1.0).fit(np.eye(2))
    assert math.isfinite(PrivateCovariance(row_norm=1e94, epsilon=1.0).fit(np.eye(2)).covariance_[0, 0])


# 6. The exponential mechanism


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("strategy", ["joint", "sequential"])
def test_drawn_matrices_come_near_the_covariance(field, rank, strategy):
    X = np.random.default_rng(5).standard_normal((500, 4)) * [0.4, 0.3, 0.2, 0.1]
    model = PrivateCovariance(
        row_norm=2.0, epsilon=1e11, rank=rank, mechanism="exponential", field=field, strategy=strategy
    ).fit(X)
    true = X.T @ X / 500
    values = np.linalg.eigvalsh(true)[::-1]
    expected = 0.0 if rank is None else values[2]
    assert np.linalg.norm(true - model.covariance_, 2) == pytest.approx(expected, abs=1e-4)
    assert model.eigenvalues_ == pytest.approx(values[:rank], abs=1e-4)
    assert model.released_ == pytest.approx(model.covariance_, abs=1e-4)


def test_half_of_the_budget_buys_the_eigenvalues_and_the_count_its_share():
    terms = {"row_norm": 1.0, "epsilon": 1.0, "rank": 2, "mechanism": "exponential", "neighbors": "add_remove"}
    model = PrivateCovariance(**terms, radius="public")
    epsilons = [step.event.epsilon for step in model.plan((100, 5)).steps]
    assert epsilons == pytest.approx([0.02, 0.49, 0.49])
    fitted = model.fit(np.eye(5))
    assert fitted.covariance_.shape == (5, 5) and fitted.n_ >= 1
    assert np.linalg.eigvalsh(fitted.covariance_).min() > -1e-9
