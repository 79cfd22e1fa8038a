"""Arrays and sparse matrices in blocks: views, dense pieces of bounded size, and refusals that show no values."""

import struct

import numpy as np
import pytest
import scipy.sparse as sp

from hushrank.data.rows.arrays import (
    MAX_BLOCK_BYTES,
    MAX_BLOCK_ROWS,
    check_real_rows,
    choose_columns,
    convert,
    read_array,
    read_sparse,
    refuse_damaged,
    to_complex,
    to_number,
)
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


def test_extended_precision_is_refused():
    if np.dtype(np.longdouble).itemsize > 8:
        for dtype, name in ((np.longdouble, "float128"), (np.clongdouble, "complex256")):
            with pytest.raises(InvalidParameter, match=f"must be numbers of at most double precision; got '{name}'"):
                read_array(np.ones((1, 1), dtype), "PCA")


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


def test_signaling_entries_are_converted_in_silence():
    signaling = np.array([[0x7F800001, 0x3F800000]], np.uint32).view(np.float32)
    for dtype in (np.float64, np.complex128):
        converted = convert(signaling, dtype)
        assert converted.dtype == dtype and np.isnan(converted[0, 0]) and converted[0, 1] == 1


def test_cells_become_numbers_or_nan():
    for cell, number in ((3, 3.0), ("3.5", 3.5), (True, 1.0), (np.float32(0.5), 0.5)):
        assert to_number(cell) == to_complex(cell) == number
        assert isinstance(to_number(cell), float) and isinstance(to_complex(cell), complex)
    for cell in (None, "oops", 10**400, [1.0], object()):
        assert np.isnan(to_number(cell)) and np.isnan(to_complex(cell))
    for cell in (2j, 1 + 2j, np.complex128(2j), np.complex64(2j)):
        assert np.isnan(to_number(cell)) and to_complex(cell) == cell
    for cell in (2 + 0j, np.complex128(2), np.complex64(2)):
        assert to_number(cell) == to_complex(cell) == 2.0
    assert to_complex("1+2j") == 1 + 2j


# Columns and files.


def test_columns_are_chosen_in_order():
    assert choose_columns(["a", "b", "c"], None, "PCA") == [0, 1, 2]
    assert choose_columns(["a", "b", "c"], ("c", "a"), "PCA") == [2, 0]
    assert choose_columns([0, "b", 2], [2], "PCA") == [2]


@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        (["a", "b", "a"], None, "X of PCA must be a table whose column names differ; got \"two columns 'a'\"."),
        (["a", "b"], ["c"], "X of PCA must be a table with the column 'c'; got '2 other columns'."),
        (["a", "b"], ["a", "a"], "columns of PCA must be a list of different column names; got ['a', 'a']."),
        (["a", "b"], [], "columns of PCA must be a list of different column names; got []."),
        (["a", "b"], "ab", "columns of PCA must be a list of different column names; got 'ab'."),
        ([], None, "X of PCA must be a table with a column; got '0 feature(s) (shape=(0, 0)) while a minimum of 1 is"),
    ],
)
def test_unsuitable_columns_are_refused(names, columns, message):
    with pytest.raises(InvalidParameter) as refusal:
        choose_columns(names, columns, "PCA")
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    "error", [KeyError, ValueError, NotImplementedError, UnicodeError, RecursionError, struct.error]
)
def test_damage_becomes_one_line_without_content(tmp_path, error):
    with pytest.raises(InvalidParameter) as refusal, refuse_damaged(tmp_path / "x.csv", "CSV", "PCA"):
        raise error("secret\nvalue")
    assert str(refusal.value) == "X of PCA must be a readable CSV file; got 'x.csv: damaged, or of another kind'."


def test_what_is_known_about_an_unreadable_file_is_said(tmp_path):
    with pytest.raises(InvalidParameter, match=r"got 'y: No such file or directory'"):
        with refuse_damaged(tmp_path / "y", "CSV", "PCA"):
            (tmp_path / "y").open()
    with pytest.raises(InvalidParameter, match=r"got 'z: too large for the memory'"):
        with refuse_damaged(tmp_path / "z", "npz", "PCA"):
            raise MemoryError
    for own in (InvalidParameter("A", "x", "y", 1), AssertionError(), KeyboardInterrupt()):
        with pytest.raises(type(own)) as kept, refuse_damaged(tmp_path / "z", "CSV", "PCA"):
            raise own
        assert kept.value is own
