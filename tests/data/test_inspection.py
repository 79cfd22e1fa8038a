"""Inspection: counts exactly, quantiles of norms to 0.05 %, no warnings for any value, and the warning at the end."""

import json
import math
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hushrank.data.inspection import NAMES_COLUMNS, QUANTILES, WARNING, inspect
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.exceptions import InvalidParameter

any_rows = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.floats() | st.sampled_from([0.0, -0.0, 1.0, 3.0, 1e300, -1e300, 5e-324]),
)


def python_norm(row):
    """Euclidean norm by the standard library; NaN if an entry is not finite."""
    return math.hypot(*row) if all(map(math.isfinite, row)) else math.nan


@given(any_rows)
@example(np.array([[1.7e308, 1.7e308]]))  # the norm overflows
@example(np.array([[5e-324, 5e-324], [0.0, -0.0]]))
@settings(deadline=None)
def test_counts_and_quantiles_agree_with_plain_python(X):
    seen = inspect(X, row_norm=2.0)
    norms = [n for n in map(python_norm, X.tolist()) if n == n]
    assert (seen.n_samples, seen.n_features) == X.shape
    assert seen.not_finite_rows == len(X) - len(norms)
    assert seen.zero_rows == sum(all(v == 0 for v in row) for row in X.tolist())
    assert seen.constant_rows == sum(len(set(row)) == 1 and math.isfinite(row[0]) for row in X.tolist())
    assert seen.longer_rows == sum(n > 2.0 for n in norms)
    if not norms:
        assert seen.largest_norm is None and seen.norm_quantiles is None
        return
    norms = np.minimum(norms, sys.float_info.max)  # where a norm overflows
    assert seen.largest_norm == pytest.approx(max(norms), rel=1e-12)
    for name, share in QUANTILES.items():
        exact = np.quantile(norms, share, method="inverted_cdf")
        assert seen.norm_quantiles[name] == pytest.approx(exact, rel=5e-4, abs=1e-309)


def test_quantiles_of_many_rows():
    X = np.random.default_rng(0).standard_normal((50_000, 3)) * 7
    seen = inspect(iter(np.array_split(X, 9)))
    norms = np.linalg.norm(X, axis=1)
    for name, share in QUANTILES.items():
        exact = np.quantile(norms, share, method="inverted_cdf")
        assert seen.norm_quantiles[name] == pytest.approx(exact, rel=5e-4)
        assert seen.norm_quantiles[name] != pytest.approx(np.quantile(norms, share - 0.01), rel=5e-4)
    assert seen.largest_norm == pytest.approx(norms.max(), rel=1e-12) and seen.longer_rows is None


def test_norms_are_taken_after_the_center_is_subtracted():
    X = [[4.0, 6.0], [1.0, 2.0], [math.inf, 0.0]]
    seen = inspect(X, center=[1, 2], row_norm=4.9)
    assert (seen.largest_norm, seen.longer_rows, seen.zero_rows) == (5.0, 1, 0)
    assert seen.norm_quantiles["median"] == 0.0
    assert inspect([[1.5e308]], center=[-1.5e308]).not_finite_rows == 1  # the difference overflows


def test_tables_and_columns():
    frame = pd.DataFrame({"a": [3.0, 0.0], "b": [4.0, None], "name": ["x", "y"]})
    seen = inspect(frame, columns=["a", "b"])
    assert (seen.n_features, seen.largest_norm, seen.not_finite_rows) == (2, 5.0, 1)


def test_no_rows():
    seen = inspect(np.empty((0, 3)), row_norm=1.0)
    assert (seen.n_samples, seen.largest_norm, seen.norm_quantiles, seen.longer_rows) == (0, None, None, 0)
    assert str(seen).endswith(WARNING)


def test_who_names_the_columns_at_fault_is_told_where_there_are_any():
    whole, broken = np.ones((3, 2)), np.array([[1.0, np.nan], [1.0, 2.0]])
    assert NAMES_COLUMNS in str(inspect(broken)) and NAMES_COLUMNS not in str(inspect(whole))


def test_the_text_is_readable_and_warns():
    X = np.vstack([np.tile([3.0, 4.0], (1200, 1)), [[0.0, 0.0]], [[math.nan, 1.0]]])
    lines = str(inspect(X, row_norm=2.5)).split("\n")
    assert lines[0].split() == ["rows", "1,202"]
    assert lines[2].split("  ")[0] == "rows with entries that are not finite" and lines[2].endswith(" 1")
    assert any(line.startswith("norm of rows, median") and line.endswith(" 5") for line in lines)
    assert lines[-3].startswith("rows longer than row_norm = 2.5") and lines[-3].endswith(" 1,200")
    assert lines[-2:] == [NAMES_COLUMNS, WARNING] and "row_norm = " not in str(inspect(X))


def test_what_may_be_looked_at_and_what_may_not_be_used_is_said():
    for part in ("not private", "find mistakes", "Do not choose bounds, centers or scales by them", "public knowledge"):
        assert part in WARNING
    assert (
        "radius='private'" in WARNING and "Do not choose" not in inspect.__doc__ and "to choose" not in inspect.__doc__
    )


def test_the_dictionary_is_json():
    seen = inspect([[3.0, 4.0]], row_norm=1.0)
    assert json.loads(json.dumps(seen.to_dict())) == {
        "n_samples": 1,
        "n_features": 2,
        "not_finite_rows": 0,
        "zero_rows": 0,
        "constant_rows": 0,
        "largest_norm": 5.0,
        "norm_quantiles": {name: pytest.approx(5.0, rel=5e-4) for name in QUANTILES},
        "row_norm": 1.0,
        "longer_rows": 1,
    }


@pytest.mark.parametrize("row_norm", [0, -1.0, math.inf, math.nan, "1", True])
def test_unsuitable_bounds_are_refused(row_norm):
    with pytest.raises(InvalidParameter) as refusal:
        inspect([[1.0]], row_norm=row_norm)
    assert str(refusal.value) == f"row_norm of inspect must be a finite float > 0 or None; got {row_norm!r}."


@pytest.mark.parametrize("center", [[1.0], [[1.0, 2.0]], [1.0, math.nan], ["a", "b"], 3.0])
def test_unsuitable_centers_are_refused(center):
    with pytest.raises(
        InvalidParameter, match="center of inspect must be a vector of 2 finite real numbers or None; got"
    ):
        inspect([[1.0, 2.0]], center=center)


def test_data_are_checked_as_everywhere():
    with pytest.raises(
        InvalidParameter, match="X of inspect must be numbers of at most double precision; got 'object'"
    ):
        inspect([[None]])


# Complex rows.


@given(any_rows, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_norm_of_a_complex_row_is_that_of_its_parts(X, random):
    order = random.sample(range(X.size), X.size)
    Z = np.empty(X.shape, complex)
    Z.real, Z.imag = X, X.ravel()[order].reshape(X.shape)
    seen, parts = inspect(Z, row_norm=2.0), inspect(np.hstack([Z.real, Z.imag]), row_norm=2.0)
    assert (seen.n_samples, seen.n_features) == X.shape
    for name in ("not_finite_rows", "zero_rows"):
        assert getattr(seen, name) == getattr(parts, name)
    assert seen.constant_rows == sum(len(set(row)) == 1 and np.isfinite(row[0]) for row in Z.tolist())
    if parts.largest_norm is None:
        assert seen.largest_norm is None and seen.norm_quantiles is None
    else:
        assert seen.largest_norm == pytest.approx(parts.largest_norm, rel=1e-12)
        assert seen.norm_quantiles == pytest.approx(parts.norm_quantiles, rel=2e-3, abs=1e-309)


COMPLEX_SOURCES = {
    "array": lambda Z, _: Z,
    "complex64": lambda Z, _: Z.astype(np.complex64),
    "columns": lambda Z, _: np.asfortranarray(Z),
    "lists": lambda Z, _: Z.tolist(),
    "sparse": lambda Z, _: scipy.sparse.csc_array(Z),
    "npy": lambda Z, folder: np.save(folder / "z.npy", Z) or folder / "z.npy",
    "npz": lambda Z, folder: np.savez(folder / "z.npz", Z) or folder / "z.npz",
    "iterator": lambda Z, _: iter([Z[:1], Z[1:]]),
    "iterator, real first": lambda Z, _: iter([[[0.0, 0.0]], Z[[0, 1, 3, 4]]]),
}


@pytest.mark.parametrize("name", COMPLEX_SOURCES)
def test_complex_rows_of_every_source(name, tmp_path):
    Z = np.array([[3j, 4.0], [2j, 2j], [0.0, 0.0], [1.0, complex(0.0, math.nan)], [2.0, 2j]])
    seen = inspect(COMPLEX_SOURCES[name](Z, tmp_path), row_norm=4.0)
    counts = (seen.n_samples, seen.n_features, seen.not_finite_rows, seen.zero_rows, seen.constant_rows)
    assert counts == (5, 2, 1, 1, 2)
    assert (seen.largest_norm, seen.longer_rows) == (5.0, 1)


def test_a_center_is_subtracted_from_the_real_parts():
    seen = inspect([[1 + 3j, 2 + 4j], [1.0, 2.0]], center=[1, 2], row_norm=4.9)
    assert (seen.largest_norm, seen.longer_rows, seen.zero_rows) == (5.0, 1, 0)
    with pytest.raises(InvalidParameter, match="center of inspect must be a vector of 1 finite real numbers or None"):
        inspect([[1j]], center=[1j])


def test_a_complex_fit_shortens_the_rows_that_were_counted(caplog):
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((500, 4)) + 1j * rng.standard_normal((500, 4))
    Z[::50, 1] = complex(0.0, math.inf)
    seen = inspect(Z, row_norm=2.5)
    with caplog.at_level("INFO", logger="hushrank"):
        PrivatePCA(1, row_norm=2.5, epsilon=1.0, field="complex").fit(Z)
    lost, shortened = seen.not_finite_rows, seen.longer_rows
    assert lost == 10 and 50 < shortened < 490
    assert f"{lost} of 500 rows are not finite and count as zero, {shortened} are longer" in caplog.text
