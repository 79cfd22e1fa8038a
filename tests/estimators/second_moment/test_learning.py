"""Fits with a private radius: all options together, the same bits however rows are read, limits, refusals."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse

from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.ledger import Ledger

D = 4
CENTER = np.array([1.0, -1.0, 0.5, 0.0])
ONE = LocalEngine(threads=1)


def rows(n=200, seed=0, *, is_complex=False):
    """Rows of many lengths around a mean, some of them none."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * [3.0, 1.0, 0.3, 0.1] * rng.choice([0.3, 1.0, 4.0], (n, 1)) + 2 * CENTER
    if is_complex:
        X = X + 1j * rng.standard_normal((n, D))
    X[3::50, 1], X[7::60, 0], X[9::70] = np.nan, np.inf, 0.0
    return X


def learned(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name != "privacy_"}


def assert_finite(model, epsilon, delta):
    for name, value in learned(model).items():
        if np.asarray(value).dtype.kind in "fciu":
            assert np.isfinite(value).all(), name
    assert model.radius_ > 0 and model.privacy_.epsilon <= epsilon
    assert model.privacy_.event == Pure(epsilon) if not delta else isinstance(model.privacy_.event, Gaussian)


def assert_same_bits(one, other):
    first, second = learned(one), learned(other)
    assert first.keys() == second.keys()
    for name in first:
        assert np.array_equal(np.asarray(first[name]), np.asarray(second[name])), name


# All options


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("center", [None, "private", CENTER], ids=["none", "private", "vector"])
@pytest.mark.parametrize("bounds", [None, (-9.0, 9.0), [(-9, 9), (-3, 5), (0, 1), (-1, 1)]], ids=["no", "one", "each"])
def test_real_fits_of_all_options_are_finite_and_within_their_plan(delta, neighbors, center, bounds):
    """`fit` itself confirms that what was executed costs at most the plan."""
    X = rows()
    terms = {"epsilon": 2.0, "delta": delta, "neighbors": neighbors, "center": center, "column_bounds": bounds}
    terms |= {"row_norm": 30.0 if bounds is None else None, "engine": ONE}
    for standardize in (None, "after", "private"):
        model = PrivateCovariance(**terms, standardize=standardize).fit(X)
        assert_finite(model, 2.0, delta)
        assert np.array_equal(model.covariance_, model.covariance_.T)
        assert np.linalg.eigvalsh(model.covariance_).min() >= -1e-9 * np.linalg.norm(model.covariance_)
        model = PrivatePCA(2, **terms, standardize=standardize, select_columns="private").fit(X)
        assert_finite(model, 2.0, delta)
        assert model.components_ @ model.components_.T == pytest.approx(np.eye(2), abs=1e-9)
        assert model.transform(rows(5)[:3]).shape == (3, 2)
    if delta == 0:
        model = PrivatePCA(1, **terms, mechanism="exponential").fit(X)
        assert_finite(model, 2.0, delta)
        assert model.privacy_.numerics == "idealized"


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("center", [None, "private", CENTER], ids=["none", "private", "vector"])
def test_complex_fits_and_low_rank_ones_are_finite_and_within_their_plan(delta, neighbors, center):
    terms = {"epsilon": 2.0, "delta": delta, "neighbors": neighbors, "center": center, "row_norm": 30.0, "engine": ONE}
    models = [PrivateCovariance(**terms), PrivatePCA(2, **terms), PrivateLowRank(2, **terms)]
    models += [PrivateLowRank(eigenvalues=[5.0, 1.0], **terms)]
    if delta == 0:
        drawn = {**terms, "mechanism": "exponential"}
        models += [PrivateCovariance(rank=1, **drawn), PrivatePCA(1, **drawn), PrivateLowRank(1, **drawn)]
    for model, is_complex in product(models, (False, True)):
        model.set_params(field="complex" if is_complex else "real").fit(rows(is_complex=is_complex))
        assert_finite(model, 2.0, delta)
        if is_complex and isinstance(center, str):
            assert np.iscomplexobj(model.center_)


def test_empty_tables_are_learned_from_where_the_number_of_rows_is_secret():
    for delta, center in product((0.0, 1e-6), (None, "private")):
        model = PrivateCovariance(row_norm=1.0, epsilon=1.0, delta=delta, center=center, neighbors="add_remove")
        assert_finite(model.fit(np.zeros((0, 3))), 1.0, delta)


# The same bits however rows are read


MODELS = [
    PrivateCovariance(row_norm=30.0, epsilon=5.0, center="private", standardize="private"),
    PrivateCovariance(row_norm=30.0, epsilon=5.0, delta=1e-6, center="private", standardize="private"),
    PrivatePCA(2, column_bounds=(-9, 9), epsilon=5.0, select_columns="private"),
    PrivatePCA(2, row_norm=30.0, epsilon=5.0, mechanism="exponential", center="private"),
    PrivateLowRank(2, row_norm=30.0, epsilon=5.0, delta=1e-6, field="complex", center="private"),
]
models = pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))


def fit(model, X, *, neighbors="replace", engine=ONE):
    return type(model)(**{**model.get_params(), "neighbors": neighbors, "engine": engine, "random_state": 5}).fit(X)


@models
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_blocks_threads_order_and_layout_change_no_bit(model, neighbors):
    X = rows()
    expected = fit(model, X, neighbors=neighbors)
    for engine in (LocalEngine(threads=1, block_rows=7), LocalEngine(threads=3, block_rows=11)):
        assert_same_bits(expected, fit(model, X, neighbors=neighbors, engine=engine))
    order = np.random.default_rng(1).permutation(len(X))
    assert_same_bits(expected, fit(model, np.asfortranarray(X[order]), neighbors=neighbors))
    finite = np.where(np.isfinite(X), X, 0.0)
    assert_same_bits(
        fit(model, finite, neighbors=neighbors), fit(model, scipy.sparse.csr_array(finite), neighbors=neighbors)
    )


@models
def test_files_and_streams_of_unknown_length_give_the_bits_of_arrays(model, tmp_path):
    X = rows()
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,d\n" + "\n".join(",".join(map(repr, map(float, row))) for row in X))
    expected = fit(model, X)
    if model.field == "real":
        found = fit(model, path)
        assert found.feature_names_in_.tolist() == list("abcd")
        del found.feature_names_in_
        assert_same_bits(expected, found)
    assert_same_bits(expected, fit(model, lambda: (part for part in np.array_split(X, 9))))


@pytest.mark.parametrize("terms", [{}, {"center": "private"}, {"neighbors": "add_remove"}])
def test_iterators_that_can_be_read_once_are_refused_before_the_charge(tmp_path, terms):
    relation = terms.get("neighbors", "replace")
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("data", epsilon=3.0, neighbors=relation, unit="row")
        model = PrivateCovariance(row_norm=9.0, epsilon=1.0, ledger=ledger["data"], **terms)
        with pytest.raises(
            InvalidParameter, match=r"^X of PrivateCovariance must be data that can be read several times"
        ):
            model.fit(iter([rows()]))
        assert len(ledger["data"].history()) == 1 and not hasattr(model, "privacy_")
        model.fit(lambda: iter([rows()]))
        assert len(ledger["data"].history()) == 2


def test_more_rows_than_the_public_bound_are_refused_under_replace(tmp_path):
    X, message = rows(), r"^n_max of PrivateCovariance must be at least the number of rows, 200; got 199"
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("data", epsilon=9.0, neighbors="replace", unit="row")
        model = PrivateCovariance(row_norm=9.0, epsilon=1.0, n_max=199, ledger=ledger["data"])
        with pytest.raises(InvalidParameter, match=message):
            model.fit(X)
        assert len(ledger["data"].history()) == 1
        with pytest.raises(InvalidParameter, match=message):  # only reading tells: charged, nothing released
            model.fit(lambda: iter([X]))
        assert len(ledger["data"].history()) == 2 and not hasattr(model, "privacy_")
    PrivateCovariance(row_norm=9.0, epsilon=1.0, n_max=199, neighbors="add_remove").fit(X)  # it is secret there


# Limit: a huge budget


HUGE = [(0.0, 1e9), (1e-6, 1e13)]


def plain(n=400, seed=2):
    return np.random.default_rng(seed).standard_normal((n, D)) * [3.0, 1.0, 0.3, 0.1] + 2 * CENTER


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize(("delta", "epsilon"), HUGE)
def test_a_huge_budget_gives_the_answer_without_privacy(delta, epsilon, neighbors):
    X = plain()
    terms = {"row_norm": 100.0, "epsilon": epsilon, "delta": delta, "neighbors": neighbors}
    model = PrivateCovariance(**terms).fit(X)
    longest = np.linalg.norm(X, axis=1).max()
    assert longest <= model.radius_ < longest * 2 ** (1 / 8) * (1 + 1e-9) and model.n_ == len(X)
    second = X.T @ X / len(X)
    assert model.released_ == pytest.approx(second, abs=1e-3) and model.covariance_ == pytest.approx(second, abs=1e-3)
    model = PrivateCovariance(**terms, center="private").fit(X)
    assert model.center_ == pytest.approx(X.mean(axis=0), abs=1e-3)
    assert model.covariance_ == pytest.approx(np.cov(X.T, bias=True), abs=1e-2)
    model = PrivateCovariance(**terms, center="private", standardize="private").fit(X)
    assert model.covariance_ == pytest.approx(np.corrcoef(X.T), abs=0.02)
    assert model.scale_ == pytest.approx(X.std(axis=0), rel=0.02)
    model = PrivatePCA(2, **terms, center="private").fit(X)
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    assert model.explained_variance_ == pytest.approx(values[:2], abs=1e-2)


@pytest.mark.parametrize(("delta", "epsilon"), HUGE)
def test_rows_are_shortened_to_the_radius_that_the_model_states(delta, epsilon):
    """As if the noise were so large that half of the rows are to be shortened."""
    X = plain()
    model = PrivateCovariance(row_norm=100.0, epsilon=epsilon, delta=delta)
    model._clipped = 1e12
    model.fit(X)
    norms = np.linalg.norm(X, axis=1)
    assert 0.4 < np.mean(norms <= model.radius_) < 0.75
    Y = X * np.minimum(1.0, model.radius_ / norms)[:, np.newaxis]
    assert model.released_ == pytest.approx(Y.T @ Y / len(X), abs=1e-3)


@pytest.mark.parametrize(("delta", "epsilon"), HUGE)
def test_limits_of_columns_are_units_and_bounds(delta, epsilon):
    X, bounds = plain(), np.array([[-4.0, 8.0], [-3.0, 1.0], [-1.0, 3.0], [-1.0, 1.0]])
    model = PrivateCovariance(column_bounds=bounds, epsilon=epsilon, delta=delta, center="private").fit(X)
    limited = np.clip(X, *bounds.T)
    assert model.center_ == pytest.approx(limited.mean(axis=0), abs=1e-3)
    assert model.covariance_ == pytest.approx(np.cov(limited.T, bias=True), abs=2e-2)
    around = PrivateCovariance(column_bounds=bounds, epsilon=epsilon, delta=delta, center=CENTER).fit(X)
    centered = limited - CENTER
    assert around.center_ == pytest.approx(CENTER) and around.released_ == pytest.approx(
        centered.T @ centered / len(X), abs=1e-2
    )


@pytest.mark.parametrize(("delta", "epsilon"), HUGE)
def test_columns_that_are_left_out_are_zero_in_components(delta, epsilon):
    rng = np.random.default_rng(3)
    X = np.zeros((400, 80))
    X[:, 5], X[:, 60] = rng.standard_normal(400), 3.0 * rng.standard_normal(400)
    model = PrivatePCA(1, row_norm=50.0, epsilon=epsilon, delta=delta, select_columns="private").fit(X)
    assert {5, 60} <= set(model.selected_columns_.tolist()) and len(model.selected_columns_) == 50
    left_out = np.setdiff1d(np.arange(80), model.selected_columns_)
    assert not model.components_[:, left_out].any() and abs(model.components_[0, 60]) > 0.99
