"""The line that item means are expected on: evidence of the model, planted coefficients, features that tell nothing."""

import numpy as np
import pytest
from scipy import stats

from hushrank.estimators.completion import item_lines
from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.item_lines import fit_line
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.estimators.completion.recipes import ITEM_MEANS

N_ITEMS = 300


def make_items(p, n_items=N_ITEMS, seed=0):
    """Popularity and scaled features."""
    rng = np.random.default_rng(seed)
    G = PublicItems.of(rng.standard_normal((n_items, p)), n_items).G
    return rng.standard_normal(n_items), G, rng


def line_of(popularity):
    return np.column_stack([np.ones(len(popularity)), popularity])


def regress(line, G, y, weights, variance):
    """Evidence, coefficients and values for one prior variance of the slopes on features."""
    X = np.hstack([line, G]) if variance > 0.0 else line
    priors = np.append(item_lines.ITEM_MEANS.line_variances, np.full(X.shape[1] - 2, variance))
    evidence, coefficients = item_lines._Regression.of(X, y, weights).solve(priors)
    return evidence, coefficients, X @ coefficients


def evidence(popularity, G, y, weights, variance):
    return regress(line_of(popularity), G, y, weights, variance)[0]


# 2. Limit


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_is_the_likelihood_of_the_estimates(seed):
    """log N(y; 0, diag(1 / weights) + X V X^T), up to what no variance changes."""
    popularity, G, rng = make_items(5, 40, seed)
    weights, y = rng.uniform(0.5, 30.0, 40), rng.standard_normal(40)
    left = []
    for variance in FEATURES.line_variances:
        X, V = np.hstack([line_of(popularity), G]), np.diag([*ITEM_MEANS.line_variances, *np.full(5, variance)])
        exact = stats.multivariate_normal(np.zeros(40), np.diag(1 / weights) + X @ V @ X.T).logpdf(y)
        left.append(exact - evidence(popularity, G, y, weights, variance))
    assert left == pytest.approx([left[0]] * len(left), abs=1e-8)
    assert np.ptp([evidence(popularity, G, y, weights, v) for v in FEATURES.line_variances]) > 1.0


@pytest.mark.parametrize("variance", FEATURES.line_variances)
def test_coefficients_are_those_of_a_ridge_regression(variance):
    popularity, G, rng = make_items(4, 50)
    weights, y = rng.uniform(0.5, 30.0, 50), rng.standard_normal(50)
    _, coefficients, expected = regress(line_of(popularity), G, y, weights, variance)
    X = np.hstack([line_of(popularity), G[:, : 4 * (variance > 0)]])
    priors = [*ITEM_MEANS.line_variances, *[variance] * (X.shape[1] - 2)]
    rows = np.vstack([X * np.sqrt(weights)[:, None], np.diag(np.sqrt(1 / np.array(priors)))])
    right = np.append(np.sqrt(weights) * y, np.zeros(X.shape[1]))
    assert coefficients == pytest.approx(np.linalg.lstsq(rows, right, rcond=None)[0], rel=1e-8)
    assert expected == pytest.approx(X @ coefficients)


# 3. Planted lines: estimates with a deviation of 0.1 about 0.1 - 0.2 popularity + G along.

ALONG = np.array([0.4, -0.3, 0.0, 0.2])


def estimates(popularity, G, along, rng, deviation=0.1):
    return 0.1 - 0.2 * popularity + G @ along + deviation * rng.standard_normal(len(G))


def test_planted_coefficients_are_recovered():
    """Each has a standard error of 0.1 / sqrt(300 / 4) = 0.012."""
    popularity, G, rng = make_items(4)
    y, weights = estimates(popularity, G, ALONG, rng), np.full(N_ITEMS, 100.0)
    expected, along = fit_line(popularity, G, y, weights)
    assert along == pytest.approx(ALONG, abs=0.08)
    assert expected == pytest.approx(0.1 - 0.2 * popularity + G @ ALONG, abs=0.15)
    assert expected - G @ along == pytest.approx(0.1 - 0.2 * popularity, abs=0.08)


# Mean (and deviation) over 30 draws of the squared error about the planted line: 0.0002 (0.00013), 0.0020 (0.0003) and
# 0.0079 (0.0006), of 0.071 that features tell. The last has more columns than items.
@pytest.mark.parametrize(("n_noise", "limit"), [(0, 0.0015), (60, 0.005), (400, 0.013)])
def test_columns_that_tell_nothing_spoil_little(n_noise, limit):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((N_ITEMS, 4 + n_noise))
    G, popularity = PublicItems.of(X, N_ITEMS).G, rng.standard_normal(N_ITEMS)
    line = 0.1 - 0.2 * popularity + 0.5 * X[:, :4] @ ALONG
    y = line + 0.1 * rng.standard_normal(N_ITEMS)
    expected, _ = fit_line(popularity, G, y, np.full(N_ITEMS, 100.0))
    assert np.mean((expected - line) ** 2) < limit


def test_the_variance_grows_with_what_features_tell():
    chosen = []
    for size in (0.0, 0.1, 0.4, 2.0):
        popularity, G, rng = make_items(4)
        y, weights = estimates(popularity, G, size * ALONG, rng), np.full(N_ITEMS, 100.0)
        found = [evidence(popularity, G, y, weights, variance) for variance in FEATURES.line_variances]
        chosen.append(FEATURES.line_variances[int(np.argmax(found))])
    assert chosen == sorted(chosen) and chosen[0] == 0.0 < chosen[1] < chosen[-1]
    assert chosen[-1] >= 0.2


def test_features_are_left_out_unless_they_clearly_tell_something():
    popularity, G, _ = make_items(4)
    weights, gains = np.full(N_ITEMS, 100.0), []
    for size in np.linspace(0.0, 0.1, 21):
        y = estimates(popularity, G, size * ALONG, np.random.default_rng(3))
        without, *others = (evidence(popularity, G, y, weights, variance) for variance in FEATURES.line_variances)
        gains.append(max(others) - without)
        assert fit_line(popularity, G, y, weights)[1].any() == (gains[-1] > FEATURES.line_evidence)
    assert 0 < min(gains) < FEATURES.line_evidence < max(gains)  # more evidence alone is not enough


def test_features_that_tell_nothing_are_left_out():
    """In 98.6 % of 2000 draws; in the others they count little, 0.055 at most."""
    left_out = 0
    for seed in range(60):
        popularity, G, rng = make_items(10, seed=seed)
        y = estimates(popularity, G, np.zeros(10), rng)
        _, along = fit_line(popularity, G, y, np.full(N_ITEMS, 100.0))
        left_out += not along.any()
        assert np.abs(along).max() < 0.1
    assert left_out > 50


def test_estimates_of_no_weight_do_not_count():
    """New items have next to none, and estimates that are anything."""
    popularity, G, rng = make_items(4)
    y, weights = estimates(popularity, G, ALONG, rng), np.full(N_ITEMS, 100.0)
    is_new = np.arange(N_ITEMS) < 30
    y[is_new], weights[is_new] = 1e3 * rng.standard_normal(30), 1e-12
    expected, along = fit_line(popularity, G, y, weights)
    assert along == pytest.approx(ALONG, abs=0.08)
    assert expected[is_new] == pytest.approx((0.1 - 0.2 * popularity + G @ ALONG)[is_new], abs=0.2)


# 4. Identities


def test_without_features_it_is_a_line_in_popularity():
    popularity, G, rng = make_items(0)
    y, weights = estimates(popularity, G, np.zeros(0), rng), rng.uniform(0.5, 100.0, N_ITEMS)
    expected, along = fit_line(popularity, G, y, weights)
    assert along.shape == (0,)
    assert expected == pytest.approx(regress(line_of(popularity), G, y, weights, 0.0)[2])
    assert np.polyfit(popularity, expected, 1) == pytest.approx([-0.2, 0.1], abs=0.06)


def test_the_order_of_items_and_columns_does_not_matter():
    popularity, G, rng = make_items(4)
    y, weights = estimates(popularity, G, ALONG, rng), rng.uniform(50.0, 100.0, N_ITEMS)
    expected, along = fit_line(popularity, G, y, weights)
    rows, columns = rng.permutation(N_ITEMS), rng.permutation(4)
    other, turned = fit_line(popularity[rows], G[rows][:, columns], y[rows], weights[rows])
    assert other == pytest.approx(expected[rows]) and turned == pytest.approx(along[columns])
