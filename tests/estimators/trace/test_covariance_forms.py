"""Given covariances: whitened measurements are isotropic, whatever the form, and forms that do not fit are refused."""

import math

import numpy as np
import pytest

from hushrank.estimators.trace.covariance_forms import read_covariance
from hushrank.estimators.trace.parameters import GIVEN
from hushrank.exceptions import InvalidParameter
from trace_support import whole_map

SHAPE = (3, 2)
A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 4.0]])
B = np.array([[1.0, 0.9], [0.9, 3.0]])
VARIANCES = np.array([[1.0, 2.0], [0.25, 4.0], [1.0, 0.5]])


def read(value, design="dense", shape=SHAPE):
    return read_covariance(value, design, shape, "owner")


@pytest.mark.parametrize("design", ["dense", "rank_one", "entry"])
def test_words_mean_learned_or_isotropic(design):
    assert read("private", design) == (None, None)
    whitening, precision = read("identity", design)
    assert precision is None and all((part == 1.0).all() for part in whitening)
    assert [part.shape for part in whitening] == [(1, 3), (1, 2)]


@pytest.mark.parametrize("design", ["dense", "rank_one"])
@pytest.mark.parametrize("pair", [(A, B), (np.diag(A).copy(), B), (A, [3, 4]), ([2, 1, 4], [1.0, 3.0])])
def test_a_pair_makes_measurements_isotropic(design, pair):
    whitening, precision = read(pair, design)
    assert precision is None
    for root, given in zip(whitening, pair, strict=True):
        covariance = np.asarray(given, float) if np.ndim(given) == 2 else np.diag(np.asarray(given, float))
        L = whole_map(root)
        assert L == pytest.approx(L.T) and L @ covariance @ L.T == pytest.approx(np.eye(len(L)), abs=1e-12)
        assert len(root) == 1 or np.ndim(given) == 2  # variances stay a diagonal


def test_chances_of_entries_have_any_unit():
    """Rows and columns that are all seen as often are isotropic as they stand."""
    rows, columns = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3])
    whitening, precision = read((rows, columns), "entry")
    assert precision is None and whitening.left == pytest.approx(1.0 / np.sqrt(rows / 2.0)[np.newaxis])
    assert whitening.right == pytest.approx(1.0 / np.sqrt(columns / 0.2)[np.newaxis])
    for other in ((7.0 * rows, 1e-5 * columns), (list(rows), tuple(columns))):
        for one, same in zip(whitening, read(other, "entry")[0], strict=True):
            assert one == pytest.approx(same, rel=1e-12)
    assert all((part == 1.0).all() for part in read(([5, 5, 5], [9, 9]), "entry")[0])


def test_an_array_weighs_entries_by_their_variances():
    whitening, precision = read(VARIANCES)
    assert all((part == 1.0).all() for part in whitening) and precision == pytest.approx(1.0 / VARIANCES)
    seen = read(10.0 * VARIANCES, "entry")[1]
    assert seen * VARIANCES == pytest.approx(VARIANCES.mean()) and (seen * VARIANCES).std() < 1e-12


@pytest.mark.parametrize("design", ["dense", "rank_one"])
def test_a_function_is_tried_on_zeros_and_kept_as_it_is(design):
    seen = []

    def function(*parts):
        seen.append(tuple(part.shape for part in parts))
        assert all((part == 0.0).all() for part in parts)
        return parts[0] if design == "dense" else parts

    whitening, precision = read(function, design)
    assert precision is function and all((part == 1.0).all() for part in whitening)
    assert seen == [((3, 2),) if design == "dense" else ((3,), (2,))]


def fail(*parts):
    raise RuntimeError("7.25 is a secret")


@pytest.mark.parametrize(
    ("value", "design", "message"),
    [
        (GIVEN, "dense", "given again, because model files do not hold it; got 'given'"),
        ((B, A), "dense", "covariances of 3 rows and 2 columns; got 'covariances of 2 and 3'"),
        ((A, A), "rank_one", "covariances of 3 rows and 2 columns; got 'covariances of 3 and 3'"),
        (([1.0] * 3, [1.0]), "entry", "covariances of 3 rows and 2 columns; got 'covariances of 3 and 1'"),
        ((A, [1.0, 1.0]), "entry", "two vectors for design 'entry': how often each row and each column is seen"),
        (VARIANCES.T.copy(), "dense", r"variances of shape \(3, 2\); got 'an array of shape \(2, 3\)'"),
        (VARIANCES[:2], "entry", r"variances of shape \(3, 2\); got 'an array of shape \(2, 2\)'"),
        (VARIANCES, "rank_one", "a pair of covariances, of x and of z, for design 'rank_one'"),
        (lambda X: X, "entry", "two vectors or an array for design 'entry'; got 'a function'"),
        (lambda X: X.T, "dense", r"a function of one measurement of shape \(3, 2\), of unchanged shape; got"),
        (lambda X: None, "dense", r"of unchanged shape; got"),
        (lambda X: "text", "dense", r"of unchanged shape; got 'ValueError'"),
        (fail, "dense", r"of unchanged shape; got 'RuntimeError'\.$"),
        (lambda x, z: x, "rank_one", "a function of x and z, which returns both, of unchanged shape"),
        (lambda x, z: (z, x), "rank_one", "of unchanged shape"),
        (lambda X: X, "rank_one", "of unchanged shape; got 'TypeError'"),
    ],
)
def test_forms_that_do_not_fit_are_refused(value, design, message):
    with pytest.raises(InvalidParameter, match=f"^design_covariance of owner must be .*{message}") as refusal:
        read(value, design)
    assert "7.25" not in str(refusal.value)


def test_extreme_variances_make_finite_coordinates():
    for size in (1e-119, 1e119):
        for design in ("dense", "entry"):
            whitening, _ = read(([size, 1.0, 1.0], [1.0, size]), design)
            assert all(np.isfinite(part).all() and (part > 0.0).all() for part in whitening)
            assert np.isfinite(read(np.full(SHAPE, size), design)[1]).all()
    assert read(([4.0] * 3, [1.0] * 2))[0].left[0, 0] == 0.5 and math.isclose(read(VARIANCES)[1][1, 0], 4.0)
