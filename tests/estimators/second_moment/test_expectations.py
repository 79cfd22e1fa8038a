"""Components to expect: against the eigenvectors of guessed variances in noise, and at the limits."""

import numpy as np
import pytest
from sklearn.base import clone

from hushrank.estimators.second_moment.expectations import (
    CAPTURED,
    Noise,
    captured_share,
    count_components,
    guessed_variances,
)
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.evaluation.synthetic import power_law_rows
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.gram import gram_lattice

D, K = 40, 4  # so few that every direction is followed alone


def gaussian(threshold):
    return Noise(threshold, threshold, is_gaussian=True)


def noise_matrix(rng, threshold, *, is_gaussian):
    if is_gaussian:
        N = rng.standard_normal((D, D)) * threshold / np.sqrt(2 * D)
        return N + N.T
    first, second = rng.standard_normal((2, D, D))
    return threshold / D * (first @ first.T - second @ second.T)


def drawn_share(level, *, is_gaussian):
    """What the leading eigenvectors of diag(variances) in noise capture, over the best."""
    variances, found = guessed_variances(D, {})[1], []
    for seed in range(30):
        N = noise_matrix(np.random.default_rng(seed), level, is_gaussian=is_gaussian)
        Q = np.linalg.eigh(np.diag(variances) + N)[1][:, -K:]
        found.append(float(variances @ (Q**2).sum(axis=1)) / variances[:K].sum())
    return float(np.mean(found))


@pytest.mark.parametrize("level", [0.3, 0.1, 0.03, 0.01])
def test_the_share_is_that_of_drawn_noise(level):
    expected = captured_share(gaussian(level), D, K, {})
    assert expected == pytest.approx(drawn_share(level, is_gaussian=True), abs=0.04)
    wishart = Noise(level / np.sqrt(np.sqrt(5) - 2), level, is_gaussian=False)
    assert captured_share(wishart, D, K, {}) == pytest.approx(drawn_share(level, is_gaussian=False), abs=0.05)


def test_limits_are_everything_and_chance():
    assert captured_share(gaussian(1e-6), D, K, {}) == pytest.approx(1.0, abs=0.01)
    variances = guessed_variances(D, {})[1]
    by_chance = K / D * variances.sum() / variances[:K].sum()
    assert captured_share(gaussian(1e4), D, K, {}) == pytest.approx(by_chance, rel=0.05)


def test_more_noise_captures_less():
    levels = np.geomspace(1e-3, 10, 15)
    shares = [captured_share(gaussian(level), 500, 10, {}) for level in levels]
    assert (np.diff(shares) < 1e-9).all()
    counts = [count_components(gaussian(level), 500, {}) for level in levels]
    assert counts == sorted(counts, reverse=True) and counts[-1] == 0 < counts[0]


def test_guessed_variances_add_up_to_the_spread():
    for d, decay in ((1, 1.0), (30, 0.0), (5000, 2.0)):
        sizes, variances = guessed_variances(d, {"decay": decay, "spread": 0.4})
        assert sizes.sum() == d and sizes @ variances == pytest.approx(0.4) and (np.diff(variances) <= 0).all()
    assert count_components(gaussian(0.01), 30, {"decay": 0.0, "spread": 0.4}) == 30  # all alike, 0.013 each


def test_noise_is_in_units_of_the_radius():
    for event in (Gaussian(1.0), Pure(1.0)):
        small, large = (Noise.of(gram_lattice(norm, event, Neighbors.REPLACE), 1000, 30, norm) for norm in (1.0, 100.0))
        assert small == pytest.approx(large, rel=1e-6)


def test_a_fit_captures_what_was_expected():
    X = power_law_rows(4000, 30, seed=3)  # variances fall like 1 / rank, rows are about as long as the radius
    A = X.T @ X
    model = PrivatePCA(3, row_norm=1.0, radius="public", epsilon=1.0)
    plan = model.plan(X.shape, guesses={"spread": float((X**2).sum(axis=1).mean())})
    fits = [clone(model).set_params(random_state=seed).fit(X) for seed in range(5)]
    found = [np.trace(fitted.components_ @ A @ fitted.components_.T) for fitted in fits]
    share = float(np.mean(found)) / np.linalg.eigvalsh(A)[-3:].sum()
    assert plan.expected[CAPTURED] == pytest.approx(share, abs=0.05)
    assert plan.expected["components"] == 3
