"""Ratings in matrices: NaN is no rating, what is stored is one, and several of one place are not added up."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.ratings import grouping, out_of_core, rating_matrices
from hushrank.data.ratings.grouping import Tally
from hushrank.data.ratings.rating_matrices import read_dense, read_stored
from hushrank.exceptions import InvalidParameter
from rating_support import user, users_of

NAN = math.nan
PAIRS = "coo"
X = np.array([[1, NAN, 5, 2], [NAN, NAN, NAN, NAN], [NAN, 3, NAN, 9]])
USERS = [user(i0=-1, i2=1, i3=-0.5), user(), user(i1=0, i3=1)]


def dense(data, rating_range=(1, 5)):
    source, tally = read_dense(data, rating_range, "A"), Tally()
    return users_of(source.read(tally)), tally


def stored(data, rating_range=(1, 5)):
    source, tally = read_stored(data, rating_range, "A"), Tally()
    return users_of(source.read(tally)), tally


def as_sparse(data, form):
    rows, columns = np.nonzero(~np.isnan(data))
    matrix = sp.coo_array((data[rows, columns], (rows, columns)), data.shape)
    return matrix if form == PAIRS else getattr(matrix, f"to{form}")()


# Dense.


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ">f8"])
def test_nan_is_no_rating(order, dtype):
    users, tally = dense(np.asarray(X, dtype, order=order))
    assert users == USERS and tally == Tally(n_read=5, n_clipped=1)


def test_nested_lists_and_integers():
    assert dense([[1, 3], [5, 0]])[0] == [user(i0=-1, i1=0), user(i0=1, i1=-1)]
    assert dense(np.array([[True, False]]), (0, 1))[0] == [user(i0=1, i1=-1)]


def test_infinite_entries_are_ignored_and_counted():
    users, tally = dense([[1, math.inf, -math.inf, 1e30]])
    assert users == [user(i0=-1, i3=1)] and tally == Tally(n_read=4, n_not_finite=2, n_clipped=1)


def test_zeros_are_no_ratings_for_implicit_feedback():
    users, tally = dense([[0, 7, NAN, -2], [0, 0, 0, math.inf]], None)
    assert users == [user(i1=1, i3=1), user()] and tally == Tally(n_read=3, n_not_finite=1)


def test_many_rows_are_read_in_blocks(monkeypatch):
    monkeypatch.setattr(rating_matrices, "MAX_BLOCK_RATINGS", 8)
    assert dense(np.tile(X, (5, 1)))[0] == USERS * 5
    assert dense(np.empty((0, 3)))[0] == []


# Sparse.


@pytest.mark.parametrize("form", ["csr", "csc", PAIRS, "lil", "dok"])
def test_formats_that_store_entries(form):
    users, tally = stored(as_sparse(X, form))
    assert users == USERS and tally == Tally(n_read=5, n_clipped=1)
    assert stored(as_sparse(X.astype(np.float32), form), None)[0] == [
        user(i0=1, i2=1, i3=1),
        user(),
        user(i1=1, i3=1),
    ]


@pytest.mark.parametrize("form", ["csr", "csc", PAIRS])
def test_stored_zeros_are_ratings_but_not_implicit_ones(form):
    matrix = as_sparse(np.array([[0, NAN, 1.0], [NAN, 2.0, NAN]]), form)
    assert matrix.nnz == 3
    assert stored(matrix, (0, 2))[0] == [user(i0=-1, i2=0), user(i1=1)]
    users, tally = stored(matrix, None)
    assert users == [user(i2=1), user(i1=1)] and tally == Tally(n_read=2)


@pytest.mark.parametrize("form", ["csr", "csc", PAIRS])
def test_several_entries_of_one_place_count_as_their_mean(form):
    rows, columns, values = [0, 1, 0, 0, 0], [2, 1, 0, 2, 2], [1.0, 2.0, 3.0, 8.0, NAN]
    if form == "csr":
        matrix = sp.csr_array(([1.0, 3.0, 8.0, NAN, 2.0], [2, 0, 2, 2, 1], [0, 4, 5]), (2, 3))
    elif form == "csc":
        matrix = sp.csc_array(([3.0, 2.0, 1.0, 8.0, NAN], [0, 1, 0, 0, 0], [0, 1, 2, 5]), (2, 3))
    else:
        matrix = sp.coo_array((values, (rows, columns)), (2, 3))
    copy = matrix.copy()
    users, tally = stored(matrix)
    assert users == [user(i0=0, i2=0), user(i1=-0.5)]  # 1 and 8, clipped to 5, have the mean 3
    assert tally == Tally(n_read=5, n_not_finite=1, n_clipped=1, n_repeated=1)
    assert matrix.nnz == copy.nnz and np.array_equal(matrix.data, copy.data, equal_nan=True)


@given(st.integers(0, 2**32), st.integers(1, 30))
@settings(deadline=None, max_examples=25)
def test_all_formats_and_block_sizes_give_the_same_bits(seed, block):
    rng = np.random.default_rng(seed)
    data = np.where(rng.uniform(size=(20, 9)) < 0.4, rng.uniform(0, 6, (20, 9)), NAN)
    data[rng.uniform(size=data.shape) < 0.02] = math.inf
    expected, tally = dense(data)
    with pytest.MonkeyPatch.context() as patch:
        for module in (rating_matrices, grouping):
            patch.setattr(module, "MAX_BLOCK_RATINGS", block)
        patch.setattr(out_of_core, "CHUNK_RATINGS", 11)
        assert dense(data) == (expected, tally)
        assert stored(as_sparse(data, "csr")) == (expected, tally)
        users, other_tally = stored(as_sparse(data, "csc"))
        assert sorted(users) == sorted(expected) and other_tally == tally


def test_indices_outside_the_matrix_are_unknown():
    matrix = sp.csr_array(([1.0, 5.0], [0, 1], [0, 2]), (1, 2))
    matrix.indices[:] = [-1, 7]
    assert stored(matrix) == ([user()], Tally(n_read=2, n_unknown=2))
    matrix = sp.csc_array(([1.0, 5.0], [0, 0], [0, 1, 2]), (1, 2))
    matrix.indices[:] = [-1, 7]
    assert stored(matrix) == ([user()], Tally(n_read=2, n_without_user=2))


# Refusals.


@pytest.mark.parametrize("ends", [[1, 1, 2], [0, 2, 1], [0, 1, 9]])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_invalid_pointers_are_refused(form, ends):
    matrix = form(([1.0, 5.0], [0, 1], [0, 1, 2]), (2, 2))
    matrix.indptr[:] = ends
    with pytest.raises(InvalidParameter, match=r"a sparse matrix with valid indices; got 'shape \(2, 2\)'"):
        stored(matrix)


def test_other_formats_types_and_shapes_are_refused():
    for form in (sp.dia_array, sp.bsr_array):
        with pytest.raises(InvalidParameter, match=r"that stores single entries \(csr, .*got '(dia|bsr)'"):
            stored(form(np.eye(2)))
    with pytest.raises(InvalidParameter, match="X of A must be a matrix of real numbers; got 'complex128'"):
        stored(sp.csr_array(np.eye(2) * 1j))
    with pytest.raises(InvalidParameter, match="at most 2147483647 users and items"):
        stored(sp.csr_array((1, 2**31)))
    with pytest.raises(InvalidParameter, match="got 'object'"):
        dense(np.array([["x", None]], object))
    with pytest.raises(InvalidParameter, match=r"real numbers, .*got 'complex numbers'"):
        dense(np.eye(2) * 1j)
    for wrong in (np.ones(3), np.ones((3, 0)), np.ma.masked_array(np.eye(2)), [[1], [2, 3]]):
        with pytest.raises(InvalidParameter, match="X of A must be"):
            dense(wrong)


def test_list_matrices_with_indices_outside_are_read_without_them():
    matrix = sp.lil_array((3, 4))
    matrix[0, 1], matrix[2, 3] = 3.0, 5.0
    matrix.rows[1], matrix.data[1] = [99], [2.0]
    users, tally = stored(matrix)
    assert users == [user(i1=0), user(), user(i3=1)] and tally.n_unknown == 1
