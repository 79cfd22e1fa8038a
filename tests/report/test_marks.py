"""Marks of components: which are noise or weak, what is said about them, and the columns that are named."""

from types import SimpleNamespace

import numpy as np
import pytest

from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.report.marks import (
    NOISE,
    WEAK,
    Component,
    column_names,
    is_sure,
    largest_loadings,
    mark_of,
    read_components,
    say_alignment,
    say_mixed,
    say_radius,
    say_significant,
    value_name,
    vectors_of,
)

X = np.random.default_rng(0).standard_normal((400, 6)) * [5.0, 3.0, 1.0, 1.0, 1.0, 1.0]
TERMS = {"row_norm": 100.0, "epsilon": 5.0, "random_state": 2}


@pytest.mark.parametrize(
    ("place", "alignment", "expected"),
    [
        (0, 1.0, ""), (0, 0.8, ""), (0, 0.7999, WEAK), (1, 0.5, WEAK), (1, 0.4999, NOISE), (2, 1.0, NOISE),
        (2, 0.0, NOISE),
    ],
)  # fmt: skip
def test_a_mark_needs_significance_and_alignment(place, alignment, expected):
    assert mark_of(place, alignment, 2) == expected


def test_components_are_read_from_every_estimator():
    pca = PrivatePCA(3, **TERMS).fit(X)
    low, covariance = PrivateLowRank(3, **TERMS).fit(X), PrivateCovariance(rank=3, **TERMS).fit(X)
    for model, values, intervals in (
        (pca, pca.explained_variance_, pca.explained_variance_interval_),
        (low, low.eigenvalues_, low.eigenvalue_interval_),
        (covariance, covariance.eigenvalues_, covariance.eigenvalue_interval_),
    ):
        found = read_components(model)
        assert [one.number for one in found] == [1, 2, 3] and is_sure(model)
        assert [one.value for one in found] == values.tolist()
        assert [list(one.interval) for one in found] == intervals.tolist()
        assert [one.alignment for one in found] == model.alignment_.tolist()
        assert [one.mark for one in found] == [
            mark_of(i, a, model.n_significant_) for i, a in enumerate(model.alignment_)
        ]
    assert [one.share for one in read_components(pca)] == pca.explained_variance_ratio_.tolist()
    assert read_components(low)[0].share is None
    assert (value_name(pca), value_name(low), value_name(covariance)) == ("variance", "eigenvalue", "eigenvalue")


def test_a_draw_and_an_older_model_have_no_marks():
    drawn = PrivatePCA(2, mechanism="exponential", **TERMS).fit(X)
    assert not is_sure(drawn) and read_components(drawn) == [Component(i, None, None, None, None, "") for i in (1, 2)]
    old = PrivateLowRank(2, **TERMS).fit(X)
    for name in ("alignment_", "eigenvalue_interval_", "n_significant_"):
        delattr(old, name)
    found = read_components(old)
    assert not is_sure(old) and [one.value for one in found] == old.eigenvalues_.tolist()
    assert {(one.interval, one.alignment, one.mark) for one in found} == {(None, None, "")}


def test_no_alignment_is_rounded_up():
    shown = [say_alignment(Component(1, 1.0, None, None, a, "")) for a in (0.7999, 0.4999, 1.0, 0.0, 0.805)]
    assert shown == ["0.79", "0.49", "1.00", "0.00", "0.80"]


def test_noise_has_no_alignment():
    assert say_alignment(Component(1, 1.0, None, None, 0.9, "noise")) == "-"
    assert say_alignment(Component(1, None, None, None, None, "")) == "-"


def test_what_is_said_of_the_noise():
    model = SimpleNamespace(n_significant_=2, alignment_=np.ones(5))
    told = "2 of 5 components stand above the noise (of noise alone, one or more would in 5 % of releases)"
    assert say_significant(model) == told
    model.n_significant_ = 1
    assert say_significant(model).startswith("1 of 5 components stands above the noise (")

    def mixed(marks, n_significant):
        return say_mixed([Component(i + 1, 1.0, None, None, 0.0, mark) for i, mark in enumerate(marks)], n_significant)

    assert mixed(["", WEAK, NOISE], 2) is None and mixed([NOISE], 0) is None
    assert mixed(["", NOISE, NOISE], 2).startswith("component 2 of these: something is there, but its direction is")
    assert mixed([NOISE] * 4, 3).startswith("components 1, 2 and 3 of these: something is there, but their directions")


def test_the_radius_is_told_with_its_units():
    model = PrivateLowRank(2, **TERMS).fit(X)
    model.n_significant_ = 2
    assert say_radius(model) == f"radius {model.radius_:.6g} around the origin: a longer row was shortened to it"
    model = PrivatePCA(2, column_bounds=(-9.0, 9.0), standardize="private", center=[0.0] * 6, epsilon=5.0).fit(X)
    units = "(in half widths of the column bounds and scales that were bought)"
    told = f"radius {model.radius_:.6g} {units} around the public center: a longer row was shortened to it"
    model.n_significant_ = 1
    assert say_radius(model) == told
    model.n_significant_ = 0
    assert say_radius(model) == f"{told}; where nothing stands above the noise, it may be noise as well"


def test_names_of_columns_print_and_are_short():
    model = SimpleNamespace(n_features_in_=3)
    assert column_names(model) == ["0", "1", "2"]
    model.feature_names_in_ = np.array(["a\x1b[2J\n", "b" * 60, "\udcff"], object)
    assert column_names(model) == ["a\\x1b[2J\\n", "b" * 39 + "\u2026", "\\udcff"]
    "".join(column_names(model)).encode()


@pytest.mark.parametrize("is_complex", [False, True])
def test_a_covariance_has_the_eigenvectors_of_its_release(is_complex):
    rows = X + 1j * X[:, ::-1] if is_complex else X
    model = PrivateCovariance(rank=2, field="complex" if is_complex else "real", **TERMS).fit(rows)
    vectors = vectors_of(model)
    assert vectors.shape == (2, 6)
    assert np.allclose(vectors @ vectors.conj().T, np.eye(2))
    values = np.linalg.eigvalsh(model.released_)[::-1][:2]
    assert np.allclose(model.released_ @ vectors.T, vectors.T * values)  # rows are v, as columns v^T
    largest = vectors[np.arange(2), abs(vectors).argmax(axis=1)]
    assert np.allclose(largest.imag, 0.0) and (largest.real > 0).all()
    pca = PrivatePCA(2, **TERMS).fit(X)
    assert vectors_of(pca) is pca.components_


def test_largest_loadings_come_first_and_zeros_are_none():
    assert largest_loadings(np.array([0.1, -0.9, 0.0]), ["a", "b", "c"], 3) == ["b (-0.900)", "a (+0.100)"]
    assert largest_loadings(np.array([0.1, 0.8j]), ["a", "b"], 1) == ["b (+0.000)"]
    assert largest_loadings(np.zeros(3), ["a", "b", "c"], 2) == []
