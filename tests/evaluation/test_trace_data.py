"""Made-up records of trace regression: they have the laws that they claim, and depend on the seed alone."""

import numpy as np
import pytest
from scipy import stats

from hushrank.evaluation.trace_data import trace_records
from hushrank.exceptions import InvalidParameter
from support import assert_plausible, chi2_p_value, normal_scale_p_value

SHAPE = (7, 5)


def predictions(data):
    """<X_i, coef>, from X as matrices."""
    return np.einsum("nij,ij->n", matrices(data), data.coef)


def matrices(data):
    if data.design == "dense":
        return data.X
    if data.design == "rank_one":
        return np.einsum("ni,nj->nij", *data.X)
    X = np.zeros((len(data.y), *data.coef.shape))
    X[np.arange(len(data.y)), data.X[0], data.X[1]] = 1.0
    return X


# The truth


@pytest.mark.parametrize("design", ["dense", "rank_one", "entry"])
def test_the_truth_has_its_singular_values_and_answers_have_its_noise(design):
    data = trace_records(4000, SHAPE, 3, design=design, noise=0.3, seed=1)
    scale = np.sqrt(35) if design == "entry" else 1.0
    assert np.linalg.svd(data.coef)[1] == pytest.approx(np.array([2.0, 1.5, 1.0, 0.0, 0.0]) * scale, abs=1e-12)
    assert_plausible(normal_scale_p_value(data.y - predictions(data), 0.3))
    assert data.noise == 0.3 and data.design == design
    exact = trace_records(200, SHAPE, 2, design=design, noise=0.0, seed=1, singular_values=[5.0, 3.0])
    assert exact.y == pytest.approx(predictions(exact), abs=1e-12)
    assert np.linalg.svd(exact.coef)[1][:2] == pytest.approx(np.array([5.0, 3.0]) * scale)


def test_answers_are_as_large_in_every_design():
    """The mean square of <X, M> is the squared norm of M, here 5."""
    for design in ("dense", "rank_one", "entry"):
        data = trace_records(20_000, SHAPE, 2, design=design, noise=0.0, seed=2)
        assert np.mean(data.y**2) == pytest.approx(5.0, rel=0.15)


def test_singular_vectors_have_the_haar_law():
    """The first entry of a unit vector in three dimensions is uniform in [-1, 1]."""
    firsts = [trace_records(1, (3, 3), 1, seed=seed).coef[0, 0] / 2.0 for seed in range(300)]
    products = stats.uniform(-1, 2).rvs((200_000, 2), random_state=0).prod(axis=1)
    assert_plausible(stats.ks_2samp(firsts, products).pvalue)


def test_relative_error():
    data = trace_records(10, SHAPE, 2, seed=3)
    assert data.relative_error(data.coef) == 0.0
    assert data.relative_error(1.5 * data.coef) == pytest.approx(0.5)
    assert data.relative_error(np.zeros(SHAPE, np.float32)) == pytest.approx(1.0)


# Laws of X


@pytest.mark.parametrize(
    ("distribution", "law"), [("gaussian", stats.norm()), ("t5", stats.t(5, scale=np.sqrt(3 / 5)))]
)
@pytest.mark.parametrize("design", ["dense", "rank_one"])
def test_entries_have_their_law(design, distribution, law):
    X = trace_records(2000, SHAPE, 2, design=design, distribution=distribution, seed=4).X
    for part in (X,) if design == "dense" else X:
        assert_plausible(stats.kstest(part.ravel(), law.cdf).pvalue)


def test_signs_are_signs():
    X = trace_records(3000, SHAPE, 2, distribution="sign", seed=5).X
    assert set(np.unique(X)) == {-1.0, 1.0}
    assert_plausible(chi2_p_value(np.bincount((X > 0).astype(int).ravel()), [0.5, 0.5]))


@pytest.mark.parametrize("design", ["dense", "rank_one"])
def test_covariance_is_the_product_of_its_factors(design):
    data = trace_records(40_000, (4, 3), 2, design=design, condition=16.0, seed=6)
    A, B = data.covariance
    for factor in (A, B):
        values = np.linalg.eigvalsh(factor)
        assert values[-1] / values[0] == pytest.approx(4.0) and np.prod(values) == pytest.approx(1.0)
        assert np.abs(factor - np.diag(np.diag(factor))).max() > 0.01
    flat = matrices(data).reshape(len(data.y), -1)
    whitened = np.linalg.solve(np.linalg.cholesky(np.kron(A, B)), flat.T)
    assert whitened @ whitened.T / len(data.y) == pytest.approx(np.eye(12), abs=0.12)


def test_entries_of_a_diagonal_covariance_have_their_variances():
    data = trace_records(20_000, (4, 3), 2, condition=100.0, diagonal=True, seed=7)
    variances = data.covariance
    assert sorted(variances.ravel()) == pytest.approx(np.geomspace(0.1, 10.0, 12))
    assert not np.array_equal(np.sort(variances, axis=None), variances.ravel())
    flat = data.X.reshape(len(data.y), -1) / np.sqrt(variances.ravel())
    assert flat.T @ flat / len(flat) == pytest.approx(np.eye(12), abs=0.08)


def test_isotropic_records_say_so():
    data = trace_records(10, SHAPE, 2, seed=8)
    assert [factor.tolist() for factor in data.covariance] == [np.eye(7).tolist(), np.eye(5).tolist()]


# Entries


@pytest.mark.parametrize("popularity", [0.0, 1.0])
def test_rows_and_columns_have_their_popularity(popularity):
    data = trace_records(20_000, SHAPE, 2, design="entry", popularity=popularity, seed=9)
    for places, factor, size in zip(data.X, data.covariance, SHAPE, strict=True):
        chances = np.diag(factor)
        weights = np.arange(1, size + 1) ** -popularity
        assert sorted(chances) == pytest.approx(sorted(weights / weights.sum()))
        assert places.dtype == np.int64 and factor.shape == (size, size)
        assert_plausible(chi2_p_value(np.bincount(places, minlength=size), chances))
    both = np.bincount(data.X[0] * SHAPE[1] + data.X[1], minlength=35)
    assert_plausible(chi2_p_value(both, np.outer(*map(np.diag, data.covariance)).ravel()))


# Noise


def test_students_noise_has_the_median_of_the_normal_one():
    data = trace_records(20_000, SHAPE, 2, design="entry", noise=0.5, noise_law="t3", seed=10)
    errors = data.y - predictions(data)
    factor = stats.norm.ppf(0.75) / stats.t.ppf(0.75, 3)
    assert_plausible(stats.kstest(errors, stats.t(3, scale=0.5 * factor).cdf).pvalue)
    assert np.median(np.abs(errors)) == pytest.approx(0.5 * stats.norm.ppf(0.75), rel=0.05)
    assert factor * np.sqrt(3.0) == pytest.approx(1.53, abs=0.005)  # the deviation that the docstring states


# Seeds, numbers and chunks


@pytest.mark.parametrize("terms", [{}, {"design": "rank_one", "condition": 4.0}, {"design": "entry"}])
def test_a_seed_says_all(terms):
    first, again, other = (trace_records(50, SHAPE, 2, seed=seed, **terms) for seed in (11, 11, 12))
    assert np.array_equal(first.y, again.y) and np.array_equal(matrices(first), matrices(again))
    assert not np.array_equal(first.y, other.y) and not np.array_equal(first.coef, other.coef)


def test_more_records_of_the_same_truth():
    few, many = (trace_records(n, SHAPE, 2, seed=13) for n in (20, 200))
    assert np.array_equal(few.coef, many.coef) and np.array_equal(few.X, many.X[:20])
    assert np.allclose(few.y, many.y[:20], rtol=0, atol=1e-12)


def test_float32_is_the_same_rounded(monkeypatch):
    wide = trace_records(100, SHAPE, 2, condition=9.0, seed=14)
    monkeypatch.setattr("hushrank.evaluation.trace_data._CHUNK_VALUES", 16 * 35)
    narrow = trace_records(100, SHAPE, 2, condition=9.0, seed=14, dtype=np.float32)
    assert narrow.X.dtype == narrow.y.dtype == np.float32 and narrow.coef.dtype == np.float64
    assert narrow.X == pytest.approx(wide.X, abs=1e-5) and narrow.y == pytest.approx(wide.y, abs=1e-5)


# Refusals


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"design": "sparse"}, "design of trace_records must be one of 'dense', 'rank_one', 'entry'; got 'sparse'"),
        ({"distribution": "t9"}, "distribution of trace_records must be one of"),
        ({"noise_law": "laplace"}, "noise_law of trace_records must be one of"),
        ({"condition": 0.5}, "condition of trace_records must be a float >= 1"),
        ({"condition": 2.0, "design": "entry"}, "condition of trace_records must be a float >= 1, and 1 for entries"),
        ({"diagonal": True, "design": "rank_one"}, "diagonal of trace_records must be False but for dense X"),
        ({"popularity": 1.0}, "popularity of trace_records must be 0 but for entries"),
        ({"singular_values": [1.0]}, "singular_values of trace_records must be 2 numbers"),
    ],
)
def test_options_that_do_not_fit_are_refused(terms, message):
    with pytest.raises(InvalidParameter, match=message):
        trace_records(10, SHAPE, 2, seed=0, **terms)


def test_a_rank_above_the_shape_is_refused():
    with pytest.raises(InvalidParameter, match="rank of trace_records must be an integer >= 1 and <= 5"):
        trace_records(10, SHAPE, 6, seed=0)
