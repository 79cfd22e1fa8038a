"""Private PCA: the limit without noise, planted data, identities and refusals. Bounds and noise: test_estimator."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.released import SecondMoment
from hushrank.evaluation.metrics import captured_variance
from hushrank.evaluation.synthetic import power_law_rows
from hushrank.exceptions import InvalidParameter, NotFitted
from hushrank.linalg.noise_spectra import NoiseLaw
from hushrank.linalg.quantize import quantize_rows
from hushrank.privacy.events import Gaussian, Pure

HUGE = {"epsilon": 1e9, "row_norm": 1.0}


# 1. Sensitivity: test_estimator.py


# 2. Limit


@pytest.mark.parametrize("delta", [0.0, 0.5])
def test_a_huge_budget_gives_the_non_private_answer_on_the_quantized_rows(delta):
    X = power_law_rows(500, 6, seed=3)
    pca = PrivatePCA(6, delta=delta, radius="public", **HUGE)
    lattice = pca._plan(pca._check_parameters(), {"n_features": 6}).matrix
    Y = quantize_rows(X, 1.0, lattice.squared_bound) / math.sqrt(lattice.squared_bound)
    values, vectors = np.linalg.eigh(Y.T @ Y / 500)
    pca.fit(X)
    noise = 30 * (2 * lattice.scale + lattice.unit) * math.sqrt(6) / 500
    assert noise < (1e-4 if delta else 1e-7)  # the curve resolves Gaussian noise down to mu = 4500 only
    assert pca.explained_variance_ == pytest.approx(values[::-1], abs=noise)
    gaps = np.abs(np.diff(values)).min()
    overlaps = np.abs((pca.components_ * vectors.T[::-1]).sum(axis=1))
    assert overlaps == pytest.approx(np.ones(6), abs=(noise / gaps) ** 2 + 1e-8)


def test_centered_components_are_those_of_scikit_learn_within_rounding():
    X = power_law_rows(2000, 8, seed=4) + 0.3
    mine = PrivatePCA(3, center=X.mean(axis=0), epsilon=1e9, row_norm=2.0).fit(X)
    other = PCA(3).fit(X)
    assert np.abs((mine.components_ * other.components_).sum(axis=1)) == pytest.approx([1, 1, 1], abs=1e-6)
    assert mine.explained_variance_ == pytest.approx(other.explained_variance_ * 1999 / 2000, rel=1e-4)
    assert mine.explained_variance_ratio_ == pytest.approx(other.explained_variance_ratio_, rel=1e-4)


# 3. Planted data


# Mean of 10 fits of two-sided Wishart (GOE) noise; benchmarks/RESULTS.md has 200 of each: 0.959, 0.998 (0.995, 0.9996).
# A single fit varies by 0.006 at most, so that the limits are 10 and more standard errors away.
@pytest.mark.parametrize(
    ("epsilon", "delta", "low", "high"),
    [(0.25, 0.0, 0.93, 0.98), (1.0, 0.0, 0.995, 0.9995), (0.25, 1e-6, 0.99, 0.999), (1.0, 1e-6, 0.9985, 1.0)],
)
def test_power_law_data_lose_as_much_variance_as_the_noise_takes(epsilon, delta, low, high):
    X = power_law_rows(20_000, 50, seed=0)
    pca = PrivatePCA(5, row_norm=1.0, epsilon=epsilon, delta=delta)
    captured = np.mean([captured_variance(pca.fit(X).components_, X.T @ X) for _ in range(10)])
    assert low < captured < high


# 4. Identities


def test_components_are_orthonormal_ordered_and_signed():
    pca = PrivatePCA(5, row_norm=1.0, epsilon=1.0).fit(power_law_rows(300, 10, seed=1))
    assert pca.components_ @ pca.components_.T == pytest.approx(np.eye(5), abs=1e-12)
    assert (np.diff(pca.explained_variance_) <= 0).all() and (pca.explained_variance_ >= 0).all()
    assert 0 <= pca.explained_variance_ratio_.sum() <= 1 + 1e-12
    assert (pca.components_[np.arange(5), np.abs(pca.components_).argmax(axis=1)] > 0).all()


def test_the_event_follows_from_delta():
    X = power_law_rows(50, 4, seed=1)
    assert PrivatePCA(1, row_norm=1.0, epsilon=1.0).fit(X).privacy_.event == Pure(1.0)
    assert isinstance(PrivatePCA(1, row_norm=1.0, epsilon=1.0, delta=1e-6).fit(X).privacy_.event, Gaussian)


def test_dense_sparse_streamed_and_reordered_rows_give_the_same_bits():
    X = power_law_rows(300, 5, seed=2)
    X[np.abs(X) < 0.1] = 0.0
    sources = [X[::-1], np.asfortranarray(X), scipy.sparse.csr_array(X), X.tolist(), lambda: iter(np.array_split(X, 7))]
    for terms in ({"radius": "public"}, {"radius": "private"}, {"radius": "private", "center": "private"}):
        pca = PrivatePCA(2, row_norm=1.0, epsilon=1.0, random_state=8, **{"center": [0.1] * 5, **terms})
        expected = pca.fit(X).components_
        for source in sources:
            assert np.array_equal(pca.fit(source).components_, expected)
        if terms["radius"] == "public":
            assert np.array_equal(pca.fit(iter(np.array_split(X, 7))).components_, expected)


def test_transform_and_its_inverse():
    X = power_law_rows(40, 4, seed=5) + 1.0
    pca = PrivatePCA(4, row_norm=1.0, epsilon=1.0, center=[1.0] * 4).fit(X)
    scores = pca.transform(X)
    assert scores == pytest.approx((X - 1.0) @ pca.components_.T)
    assert pca.inverse_transform(scores) == pytest.approx(X)
    assert pca.transform(scipy.sparse.csr_matrix(X)) == pytest.approx(scores)
    assert pca.get_feature_names_out().tolist() == ["privatepca0", "privatepca1", "privatepca2", "privatepca3"]


def test_it_works_in_a_pipeline():
    X = power_law_rows(60, 4, seed=6)
    scores = make_pipeline(StandardScaler(), PrivatePCA(2, row_norm=4.0, epsilon=1.0)).fit_transform(X)
    assert scores.shape == (60, 2)


@pytest.mark.parametrize(
    ("matrix", "ratios"),
    [(np.diag([4.0, 2.0, 2.0]), [0.5, 0.25]), (np.diag([4.0, 2.0, -7.0]), [2 / 3, 1 / 3]), (-np.eye(3), [0.0, 0.0])],
)
@pytest.mark.parametrize("radius", ["private", "public"])
def test_ratios_are_shares_of_a_whole_whatever_the_noise(matrix, ratios, radius, monkeypatch):
    """Of noise that is too small to change an eigenvalue; of more noise, shares of a whole all the same."""
    pca = PrivatePCA(2, row_norm=1.0, epsilon=1.0, radius=radius)
    releases = pca._plan(pca._check_parameters(), {"n_features": 3})
    for kind, degrees, scale in [("gaussian", 0, 1e-9), ("wishart", 4, 1e-9), ("gaussian", 0, 0.7), ("wishart", 4, 9)]:
        moment = SecondMoment(matrix, 10, np.zeros(3), NoiseLaw(kind, scale, degrees))
        monkeypatch.setattr(pca, "_release", lambda *_, moment=moment: moment)
        learned = pca._fit(SimpleNamespace(columns=None), releases, None, None)
        found = learned["explained_variance_ratio_"]
        if scale < 1e-3:
            assert found == pytest.approx(ratios, abs=1e-6)
            assert learned["explained_variance_"] == pytest.approx(np.maximum(np.diag(matrix)[:2], 0) / 10, abs=1e-6)
        assert (found >= 0).all() and found.sum() <= 1 + 1e-12 and (np.diff(found) <= 0).all()
        whole = max(np.trace(matrix) / 10, learned["explained_variance_"].sum(), 1e-300)
        assert found == pytest.approx(learned["explained_variance_"] / whole)


# 5. Refusals


@pytest.mark.parametrize("call", [lambda pca: pca.transform(np.eye(3)), lambda pca: pca.inverse_transform(np.eye(3))])
def test_results_before_the_fit_are_refused(call):
    with pytest.raises(NotFitted, match="this PrivatePCA is not fitted yet; call fit first"):
        call(PrivatePCA(2, row_norm=1.0, epsilon=1.0))


def test_more_components_than_columns_are_refused_in_plan_and_fit():
    pca = PrivatePCA(4, row_norm=1.0, epsilon=1.0)
    for call in (lambda: pca.fit(np.eye(3)), lambda: pca.plan((10, 3))):
        with pytest.raises(InvalidParameter, match=r"^n_components of PrivatePCA must be at most .* columns, 3; got 4"):
            call()


def test_other_columns_are_refused_by_transform():
    pca = PrivatePCA(2, row_norm=1.0, epsilon=1.0).fit(np.eye(3))
    with pytest.raises(ValueError, match="3 features"):
        pca.transform(np.eye(4))


# 6. The exponential mechanism, and complex rows


# benchmarks/RESULTS.md has more draws: 0.951 (complex), 0.976 (real part), 0.879 (one after the other). A single draw
# varies by less than 0.01, 0.005 and 0.015, so that the limits are 9 and more standard errors away.
@pytest.mark.parametrize(
    ("parameters", "low", "high"),
    [
        ({"field": "complex"}, 0.93, 0.97),
        ({}, 0.96, 0.985),
        ({"strategy": "sequential"}, 0.83, 0.93),
    ],
)
def test_the_exponential_mechanism_loses_what_its_law_says(parameters, low, high):
    X = power_law_rows(20_000, 50, seed=0)
    true = X.T @ X
    pca = PrivatePCA(5, row_norm=1.0, epsilon=1.0, mechanism="exponential", **parameters)
    best = np.linalg.eigvalsh(true)[-5:].sum()
    found = []
    for _ in range(8):
        V = pca.fit(X).components_
        found.append(np.trace(V.conj() @ true @ V.T).real / best)
    assert low < np.mean(found) < high


@pytest.mark.parametrize("radius", ["private", "public"])
def test_a_drawn_model_has_directions_and_nothing_else(radius):
    terms = {"row_norm": 1.0, "epsilon": 1.0, "mechanism": "exponential", "radius": radius}
    pca = PrivatePCA(3, **terms).fit(power_law_rows(300, 10, seed=1))
    assert pca.components_ @ pca.components_.T == pytest.approx(np.eye(3), abs=1e-12)
    assert not {"explained_variance_", "explained_variance_ratio_", "n_"} & set(vars(pca))
    assert not {"alignment_", "explained_variance_interval_", "n_significant_"} & set(vars(pca))
    assert hasattr(pca, "radius_") == (radius == "private")
    # Only where a draw is all of the release, its range is that of the whole.
    assert pca.privacy_.event == Pure(1.0, bounded_range=radius == "public") and pca.privacy_.numerics == "idealized"


@pytest.mark.parametrize(("center", "events"), [(None, 1), ("private", 3)])
def test_a_count_is_bought_only_if_the_center_needs_it(center, events):
    terms = {"row_norm": 1.0, "epsilon": 1.0, "mechanism": "exponential", "neighbors": "add_remove", "center": center}
    assert len(PrivatePCA(1, **terms, radius="public").plan((100, 4)).steps) == events
    plan = PrivatePCA(1, **terms).plan((10_000, 4))  # the level of a private radius needs a count in any case
    assert len(plan.steps) == 1 and plan.shares["number of rows"] == pytest.approx(0.02)
    assert ("center" in plan.shares) == (center is not None) and sum(plan.shares.values()) == pytest.approx(1.0)


def complex_rows(n=400):
    rng = np.random.default_rng(8)
    turn = np.linalg.qr(rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4)))[0]
    return (rng.standard_normal((n, 4)) + 1j * rng.standard_normal((n, 4))) * [0.4, 0.3, 0.1, 0.05] @ turn + 0.5j


@pytest.mark.parametrize("radius", ["private", "public"])
@pytest.mark.parametrize("terms", [{}, {"delta": 0.5}, {"mechanism": "exponential"}])
def test_complex_components_are_those_of_the_hermitian_covariance(terms, radius):
    X = complex_rows()
    mean = X.mean(axis=0)
    terms = {**terms, "radius": radius}
    pca = PrivatePCA(2, row_norm=4.0, epsilon=1e6, field="complex", center="private", **terms).fit(X)
    # A draw subtracts no more than the center that was bought before, of rows of which the longest were shortened.
    is_approximate = radius == "private" and "mechanism" in terms
    assert pca.center_ == pytest.approx(mean, abs=5e-2 if is_approximate else 1e-2)
    Y = X - pca.center_
    values = np.linalg.eigvalsh(Y.T @ Y.conj() / 400)[::-1]
    scores = pca.transform(X)
    assert (np.abs(scores) ** 2).mean(axis=0).sum() == pytest.approx(values[:2].sum(), rel=1e-3)
    if "mechanism" not in terms and "delta" not in terms:
        assert pca.explained_variance_ == pytest.approx(values[:2], rel=1e-2)
    full = PrivatePCA(4, row_norm=4.0, epsilon=1e6, field="complex", **terms).fit(X)
    assert full.inverse_transform(full.transform(X)) == pytest.approx(X)


def test_real_rows_serve_a_complex_result_and_other_columns_are_refused():
    pca = PrivatePCA(2, row_norm=1.0, epsilon=1.0, field="complex").fit(np.eye(4))
    assert pca.components_.dtype == np.complex128 and pca.transform(np.eye(4)).shape == (4, 2)
    with pytest.raises(InvalidParameter, match="X of PrivatePCA must be rows of 4 columns; got '3 columns'"):
        pca.transform(np.eye(3))
    with pytest.raises(InvalidParameter, match="Complex data not supported"):
        PrivatePCA(2, row_norm=1.0, epsilon=1.0).fit(complex_rows())


def test_complex_models_hold_tables_to_the_columns_of_the_fit():
    table = pd.DataFrame(np.eye(4), columns=list("abcd"))
    pca = PrivatePCA(2, row_norm=1.0, epsilon=1.0, field="complex").fit(table)
    assert pca.transform(table).shape == (4, 2)
    with pytest.raises(InvalidParameter, match="X of PrivatePCA must be a table with the columns of the fit, in their"):
        pca.transform(table[list("dcba")])


@pytest.mark.parametrize("parameters", [{}, {"field": "complex"}, {"strategy": "sequential"}])
def test_drawn_bits_do_not_depend_on_the_number_of_blas_threads(parameters):
    X, results = power_law_rows(500, 150, seed=2), []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            pca = PrivatePCA(4, row_norm=1.0, epsilon=50.0, mechanism="exponential", random_state=3, **parameters)
            results.append(pca.fit(X).components_)
    assert np.array_equal(*results)


@pytest.mark.parametrize(
    "terms", [{"epsilon": 1e-200}, {"epsilon": 1e200}, {"epsilon": 1e-14, "neighbors": "add_remove"}]
)
def test_budgets_beyond_the_arithmetic_are_refused_by_the_name_the_user_knows(terms):
    terms = {**terms, "row_norm": 1.0, "mechanism": "exponential", "center": "private"}
    for pca in (PrivatePCA(2, **terms), PrivatePCA(2, **terms, radius="public")):
        for call in (lambda pca=pca: pca.fit(np.eye(3)), lambda pca=pca: pca.plan((10, 3))):
            with pytest.raises(InvalidParameter, match=r"^epsilon of PrivatePCA must be"):
                call()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mechanism": "gaussian"}, "delta of PrivatePCA must be > 0 for Gaussian noise; got 0.0"),
        ({"mechanism": "exponential", "delta": 1e-6}, "delta of PrivatePCA must be 0 for mechanism='exponential'"),
        ({"strategy": "joint"}, "strategy of PrivatePCA must be 'auto' unless mechanism='exponential'"),
    ],
)
def test_options_that_do_not_fit_are_refused(parameters, message):
    with pytest.raises(InvalidParameter, match=message):
        PrivatePCA(1, row_norm=1.0, epsilon=1.0, **parameters).fit(np.eye(3))
