"""Arrays and sparse matrices in blocks: views, dense pieces of bounded size, and refusals that show no values."""

import numpy as np
import pytest
import scipy.sparse as sp

from hushrank.data.rows.arrays import check_real_rows, read_array, read_sparse
from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS
from hushrank.exceptions import InvalidParameter

REAL = ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", ">f8"]
COMPLEX = ["complex64", "complex128", ">c16"]


def sizes(rows, max_rows=MAX_BLOCK_ROWS):
    return [len(block) for block in rows.blocks(max_rows)]


# Arrays.


@pytest.mark.parametrize("dtype", REAL + COMPLEX)
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_of_an_array_are_views_of_its_dtype(dtype, order):
    X = np.array(np.arange(35).reshape(7, 5) % 2, dtype=dtype, order=order)
    rows = read_array(X, "test")
    blocks = list(rows.blocks(3))
    assert (rows.n_samples, rows.n_features, rows.columns, rows.can_repeat) == (7, 5, None, True)
    assert [len(block) for block in blocks] == [3, 3, 1]
    assert all(np.shares_memory(block, X) and block.dtype == X.dtype for block in blocks)
    assert np.array_equal(np.vstack(blocks), X) and rows.is_complex == (dtype in COMPLEX)


def test_no_block_exceeds_the_largest_size():
    rows = read_array(np.zeros((2 * MAX_BLOCK_ROWS + 1, 1)), "test")
    assert sizes(rows, 10**9) == [8192, 8192, 1] == sizes(rows)


def test_nested_lists_are_arrays_and_no_rows_are_fine():
    assert np.vstack(list(read_array([[1, 2], [3, 4]], "test").blocks())).tolist() == [[1, 2], [3, 4]]
    empty = read_array(np.empty((0, 4)), "test")
    assert (empty.n_samples, empty.n_features, list(empty.blocks())) == (0, 4, [])
    assert empty.empty_block().shape == (0, 4)


REFUSED = [
    (np.array([["7.25"]]), "X of PCA must be numbers of at most double precision; got '<U4'."),
    (np.array([[7.25]], object), "X of PCA must be numbers of at most double precision; got 'object'."),
    ([[7.25, None]], "X of PCA must be numbers of at most double precision; got 'object'."),
    (np.array([["2020-01-01"]], "M8[D]"), "X of PCA must be numbers of at most double precision; got 'datetime64[D]'."),
    (
        np.full(3, 7.25),
        "X of PCA must be of two dimensions, a row for each person (Reshape your data); got 'shape (3,)'.",
    ),
    (7.25, "X of PCA must be of two dimensions, a row for each person (Reshape your data); got 'shape ()'."),
    (
        np.ones((1, 1, 1)),
        "X of PCA must be of two dimensions, a row for each person (Reshape your data); got 'shape (1, 1, 1)'.",
    ),
    (
        np.empty((12, 0)),
        "X of PCA must be a table with a column; got '0 feature(s) (shape=(12, 0)) while a minimum of 1 is required'.",
    ),
    ([[7.25, 1.0], [2.0]], "X of PCA must be an array, or rows of equal length; got 'list'."),
    (
        np.ma.masked_array([[7.25]], mask=True),
        "X of PCA must be an array without a mask (X.filled(numpy.nan)); got 'MaskedArray'.",
    ),
]


@pytest.mark.parametrize(("data", "message"), REFUSED)
def test_refused_arrays_are_described_without_values(data, message):
    with pytest.raises(InvalidParameter) as refusal:
        read_array(data, "PCA")
    assert str(refusal.value) == message


@pytest.mark.parametrize("read", [read_array, read_sparse])
def test_columns_cannot_be_chosen_without_names(read):
    with pytest.raises(InvalidParameter, match="columns of PCA must be None for data whose columns have no names"):
        read(np.ones((1, 1)), "PCA", ["a"])


# Sparse matrices.


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", ["csr_", "csc_", "coo_", "bsr_", "dia_", "lil_", "dok_"])
def test_sparse_formats_give_dense_float64_blocks(form, kind):
    X = getattr(sp, form + kind)(np.arange(138).reshape(23, 6) % 5 % 3)
    rows = read_sparse(X, "test")
    blocks = list(rows.blocks(10))
    assert [block.shape for block in blocks] == [(10, 6), (10, 6), (3, 6)] and rows.n_samples == 23
    assert all(block.dtype == np.float64 for block in blocks)
    assert np.array_equal(np.vstack(blocks), X.toarray()) and not rows.is_complex


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array", "lil_matrix"])
def test_complex_sparse_matrices_give_dense_complex128_blocks(form, dtype):
    X = getattr(sp, form)((np.arange(138).reshape(23, 6) % 5 % 3 * (1 - 2j)).astype(dtype))
    rows = read_sparse(X, "test")
    blocks = list(rows.blocks(10))
    assert rows.is_complex and [block.shape for block in blocks] == [(10, 6), (10, 6), (3, 6)]
    assert all(block.dtype == np.complex128 for block in blocks)
    assert np.array_equal(np.vstack(blocks), X.toarray())


def test_indices_of_64_bits_are_no_special_case():
    X = sp.random(50, 7, density=0.4, format="csr", random_state=2)
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    rows = read_sparse(wide, "test")
    assert rows._X.indices.dtype == np.int64
    assert np.array_equal(np.vstack(list(rows.blocks(7))), X.toarray())


def test_the_matrix_of_the_caller_stays_as_it_was():
    X = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 0]), np.array([0, 3, 3])), shape=(2, 3))
    before = [part.copy() for part in (X.data, X.indices, X.indptr)]
    (block,) = read_sparse(X, "test").blocks()
    assert block.tolist() == [[6.0, 0.0, 1.0], [0.0, 0.0, 0.0]]  # repeated entries are added
    assert all(np.array_equal(a, b) for a, b in zip(before, (X.data, X.indices, X.indptr), strict=True))


def test_wide_sparse_blocks_are_bounded_in_bytes():
    X = sp.csr_array((300, 100_000))
    blocks = [block.nbytes for block in read_sparse(X, "test").blocks()]
    assert max(blocks) <= MAX_BLOCK_BYTES and len(blocks) == 8
    assert [block.shape for block in read_sparse(sp.csr_array((2, 5_000_000)), "test").blocks()] == [(1, 5_000_000)] * 2
    complex_blocks = [block.nbytes for block in read_sparse(X.astype(complex), "test").blocks()]
    assert max(complex_blocks) <= MAX_BLOCK_BYTES and len(complex_blocks) == 15


@pytest.mark.parametrize("index", [-1, 3, 10**6])
def test_indices_outside_the_matrix_are_refused(index):
    X = sp.csr_matrix(np.eye(3))
    X.indices[1] = index
    with pytest.raises(InvalidParameter, match=r"a sparse matrix with valid indices; got 'shape \(3, 3\)'"):
        read_sparse(X, "PCA")


def test_row_pointers_must_not_fall():
    X = sp.csr_matrix(np.eye(3))
    X.indptr[1] = 3
    with pytest.raises(InvalidParameter, match="valid indices"):
        read_sparse(X, "PCA")


# Fields and cells.


def test_complex_rows_are_refused_where_real_ones_are_needed():
    check_real_rows(read_array(np.ones((1, 1)), "PCA"), "PCA")
    for rows in (read_array(np.ones((1, 1), complex), "PCA"), read_sparse(sp.csr_matrix(np.eye(2) * 1j), "PCA")):
        with pytest.raises(InvalidParameter) as refusal:
            check_real_rows(rows, "PCA")
        requirement = "real numbers, or field='complex' (Complex data not supported)"
        assert str(refusal.value) == f"X of PCA must be {requirement}; got 'complex numbers'."


# Columns and files.
