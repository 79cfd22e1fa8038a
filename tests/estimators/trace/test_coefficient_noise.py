"""How far a matrix from measurements stands above its noise: singular values, and every coefficient."""

import math

import numpy as np
import pytest

from hushrank.estimators.trace.coefficient_noise import chance_variance, coefficient_deviations, singular_strength
from hushrank.estimators.trace.coordinates import Whitening
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.evaluation.trace_data import trace_records
from hushrank.linalg.fixed_rank import FixedRank, nearest_of_rank, step_along


def fit(seed, *, rank=2, n=8000, y=None, **terms):
    data = trace_records(n, (6, 5), 1, seed=seed, design="rank_one")
    model = PrivateTraceRegression(rank, epsilon=2.0, delta=1e-6, design="rank_one", random_state=seed, **terms)
    return data, model.fit(data.X, data.y if y is None else y)


def test_the_true_rank_stands_above_the_noise_and_deviations_are_right():
    errors = []
    for seed in range(3):
        data, model = fit(seed)
        assert model.n_significant_ == 1 and model.strength_[0] > 5.0
        errors.append((model.coef_ - data.coef) / model.coef_deviation_)
    assert 0.6 < math.sqrt(np.mean(np.square(errors))) < 1.8


def test_without_structure_nothing_does():
    for seed in range(4):
        _, model = fit(seed, n=3000, y=np.random.default_rng(seed).standard_normal(3000))
        assert model.n_significant_ == 0 and not model.strength_.any() and (model.coef_deviation_ > 0).all()


def test_strength_is_over_the_level_of_the_noise():
    rng = np.random.default_rng(1)
    noise = [nearest_of_rank(0.1 * rng.standard_normal((8, 6)), 1) for _ in range(200)]
    strengths = np.array([singular_strength(point, (8, 6), 0.01)[0] for point in noise])
    assert 0.0 < (strengths > 1.0).mean() + 0.01 < 0.09 and strengths.mean() > 0.7
    assert singular_strength(noise[0], (8, 6), 0.0)[0] == 1e6
    assert chance_variance(2.0, 100.0) == pytest.approx((1.4826 * 2.0) ** 2 / 100.0)


@pytest.mark.parametrize("is_diagonal", [True, False])
def test_deviations_are_those_of_noise_in_the_tangent_space(is_diagonal):
    rng = np.random.default_rng(2)
    U, V = (np.linalg.qr(rng.standard_normal((d, 1)))[0] for d in (5, 4))
    point = FixedRank(U, np.array([50.0]), V)
    A, B = (np.diag(rng.uniform(0.5, 2.0, d)) for d in (5, 4))
    whitening = Whitening(np.diag(A)[None], np.diag(B)[None]) if is_diagonal else Whitening(A, B)
    draws = []
    for _ in range(2000):
        Z = 0.1 * rng.standard_normal((5, 4))
        Q = Z @ V - U @ (U.T @ Z @ V)
        draws.append(A @ (step_along(point, U.T @ Z, Q).matrix - point.matrix) @ B)
    assert np.allclose(coefficient_deviations(point, whitening, 0.01), np.std(draws, axis=0), rtol=0.12)
