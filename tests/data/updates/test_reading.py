"""Updates: three vectors or a sparse matrix, refusals in one line without values, values never refused."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from hushrank.data.rows.reading import read_rows
from hushrank.data.updates.reading import Updates, read_updates
from hushrank.exceptions import InvalidParameter

NAN = math.nan
SHAPE = (3, 4)
ROWS, COLUMNS, DELTAS = [0, 2, 0, 2], [1, 3, 0, 3], [0.5, 1.0, -2.0, 1.0]
TRIPLES = list(zip(ROWS, COLUMNS, DELTAS, strict=True))


def read(*data, shape=SHAPE):
    return read_updates(*data, shape=shape, owner="A")


def triples(source):
    return [
        update
        for block in source.blocks()
        for update in zip(block.rows.tolist(), block.columns.tolist(), block.deltas.tolist(), strict=True)
    ]


def refusal_of(*data, shape=SHAPE):
    with pytest.raises(InvalidParameter) as refusal:
        read(*data, shape=shape)
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


FORMS = {
    "lists": (list, list),
    "tuples": (tuple, tuple),
    "arrays": (np.array, np.array),
    "unsigned": (lambda indices: np.array(indices, np.uint64), np.array),
    "pandas": (pd.Series, pd.Series),
    "pandas nullable": (lambda indices: pd.Series(indices, dtype="UInt8"), pd.Series),
    "polars": (pl.Series, pl.Series),
    "Arrow": (pa.array, pa.array),
    "Arrow chunks": (lambda indices: pa.chunked_array([indices[:1], indices[1:]]), pa.array),
}


@pytest.mark.parametrize("form", FORMS)
def test_vectors_of_every_form(form):
    indices, numbers = FORMS[form]
    updates = read(indices(ROWS), indices(COLUMNS), numbers(DELTAS))
    assert type(updates) is Updates and updates.n_samples == 4
    assert updates.sizes == {"n_rows": 3, "n_columns": 4} and triples(updates) == TRIPLES


def test_missing_and_huge_indices_and_deltas_are_left_out_one_by_one():
    """A null must not become an index inside: 255 is the largest of eight bits, and inside a large matrix."""
    shape = (2**63 - 1, 2**63 - 1)
    for dtype in (pa.int8(), pa.uint8(), pa.uint64()):
        rows = pa.array([1, None, 2, 3], dtype)
        updates = read(rows, pa.array([5, 6, None, 8], dtype), pa.array([1.0, 1.0, 1.0, None]), shape=shape)
        assert triples(updates) == [(1, 5, 1.0)] and updates.n_samples == 4
    assert triples(read(pa.nulls(2), [0, 0], [1, 1])) == []
    for odd in (2**63, 2**64, -(2**63) - 1, 10**5000, None, np.uint64(2**64 - 1), -1):
        assert triples(read([0, odd, 1], [3, 0, 2], [7, 8, 10**400])) == [(0, 3, 7.0)]
        assert triples(read((0, 1), (3, odd), (None, 1.0))) == []
    assert triples(read(np.array([2**64 - 1, 1], np.uint64), [0, 2], [7, 8])) == [(1, 2, 8.0)]


def test_no_updates():
    for data in (([], [], []), (np.empty(0, np.int8), np.empty(0, np.uint64), np.empty(0)), (sp.coo_array(SHAPE),)):
        assert read(*data).n_samples == 0 and triples(read(*data)) == []


# Sparse matrices.


MATRIX = sp.coo_array((DELTAS, (ROWS, COLUMNS)), SHAPE)  # one entry is stored twice


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_stored_entries_are_updates_repeated_ones_as_well(form):
    made = MATRIX.copy()
    if form != "coo":  # SciPy would add them up
        by_row = form == "csr"
        lines, others = (ROWS, COLUMNS) if by_row else (COLUMNS, ROWS)
        order = np.argsort(lines, kind="stable")
        ends = np.searchsorted(np.array(lines)[order], np.arange(SHAPE[0 if by_row else 1] + 1))
        arrays = np.array(DELTAS)[order], np.array(others)[order], ends
        made = (sp.csr_array if by_row else sp.csc_array)(arrays, SHAPE)
    assert sorted(triples(read(made))) == sorted(TRIPLES) and read(made).n_samples == 4


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok"])
def test_every_format_that_stores_entries(form, kind):
    made = getattr(sp, f"{form}_{kind}")(MATRIX.toarray())
    assert sorted(triples(read(made))) == [(0, 0, -2.0), (0, 1, 0.5), (2, 3, 2.0)]
    empty = getattr(sp, f"{form}_{kind}")(SHAPE)
    assert triples(read(empty)) == [] and read(empty).n_samples == 0


def test_stored_zeros_are_updates_and_arrays_may_be_longer_than_their_entries():
    stored = sp.csr_array(([0.0, 3.0], [1, 2], [0, 2, 2, 2]), SHAPE)
    assert triples(read(stored)) == [(0, 1, 0.0), (0, 2, 3.0)]
    stored.indices, stored.data = np.array([1, 2, 0, 0], np.int32), np.array([0.0, 3.0, 9.0])
    assert triples(read(stored)) == [(0, 1, 0.0), (0, 2, 3.0)]


def test_odd_values_of_matrices_are_left_out():
    made = sp.lil_array(SHAPE)
    made[0, 1], made[2, 3], made[1, 1] = NAN, math.inf, 2.0
    made.data[1] = ["7.25 and more"]
    assert triples(read(made)) == [] and read(made).n_samples == 3
    made.data[1] = [2]
    assert triples(read(made)) == [(1, 1, 2.0)]


def test_matrices_that_contradict_themselves_are_refused():
    made = sp.csr_array(MATRIX)
    made.indices[0] = 9
    assert refusal_of(made) == "X of A must be a sparse matrix with valid indices; got 'shape (3, 4)'."
    made = sp.csr_array(MATRIX)
    made.data = np.full((3, 2), 7.25)
    assert refusal_of(made).startswith("entries of Updates must be vectors of one length; got 'shapes [")


REFUSED = {
    "another shape": (
        (sp.csr_array((4, 3)),),
        "rows of A must be a matrix of shape (3, 4); got 'shape (4, 3)'.",
    ),
    "one axis": ((sp.coo_array(np.ones(4)),), "rows of A must be a matrix of shape (3, 4); got 'shape (4,)'."),
    "blocks": (
        (sp.bsr_array(SHAPE),),
        "rows of A must be a sparse matrix that stores single entries (csr, csc, coo, lil, dok); got 'bsr'.",
    ),
    "complex matrix": (
        (sp.csr_array(SHAPE, dtype=complex),),
        "rows of A must be real numbers of at most double precision (Complex data not supported); got 'complex128'.",
    ),
    "matrix and columns": ((MATRIX, COLUMNS), "columns of A must be None beside a matrix or source; got 'list'."),
    "matrix and deltas": ((MATRIX, None, DELTAS), "deltas of A must be None beside a matrix or source; got 'list'."),
    "no columns": ((ROWS,), "columns of A must be a vector of integers of at most 64 bits; got None."),
    "no deltas": ((ROWS, COLUMNS), "deltas of A must be a vector, one number for each update; got None."),
    "nothing": ((None,), "rows of A must be a vector of integers of at most 64 bits; got None."),
    "float indices": (
        (np.full(4, 7.25), COLUMNS, DELTAS),
        "rows of A must be a vector of integers of at most 64 bits; got 'float64 of shape (4,)'.",
    ),
    "no float indices, but an array of them": (
        (np.empty(0), [], []),
        "rows of A must be a vector of integers of at most 64 bits; got 'float64 of shape (0,)'.",
    ),
    "truths": (
        (ROWS, [True] * 4, DELTAS),
        "columns of A must be a vector of integers of at most 64 bits; got 'bool of shape (4,)'.",
    ),
    "one float": (
        ([0, 7.25, 0, 0], COLUMNS, DELTAS),
        "rows of A must be a vector of integers of at most 64 bits; got 'float64 of shape (4,)'.",
    ),
    "objects": (
        (np.array(ROWS, object), COLUMNS, DELTAS),
        "rows of A must be a vector of integers of at most 64 bits; got 'object of shape (4,)'.",
    ),
    "matrix of indices": (
        (ROWS, [COLUMNS], DELTAS),
        "columns of A must be a vector of integers of at most 64 bits; got 'int64 of shape (1, 4)'.",
    ),
    "mask": (
        (np.ma.masked_array(ROWS), COLUMNS, DELTAS),
        "rows of A must be an array without a mask (rows.filled(numpy.nan)); got 'MaskedArray'.",
    ),
    "column of floats": (
        (pa.array([7.25]), [0], [1]),
        "rows of A must be a vector of integers of at most 64 bits; got 'a column of type double'.",
    ),
    "column of objects": (
        (pd.Series([1], dtype=object), [0], [1]),
        "rows of A must be a vector of integers of at most 64 bits; got 'a column of objects'.",
    ),
    "column of texts": (
        (pl.Series(["7.25"]), [0], [1]),
        "rows of A must be a vector of integers of at most 64 bits; got 'a column of type large_string'.",
    ),
    "text deltas": (
        (ROWS, COLUMNS, ["7.25"] * 4),
        "deltas of A must be real numbers of at most double precision; got '<U4'.",
    ),
    "fewer columns": (
        (ROWS, COLUMNS[:3], DELTAS),
        "columns of A must be a vector of 4 numbers, as many as rows; got '3 numbers'.",
    ),
    "fewer deltas": (
        (ROWS, COLUMNS, DELTAS[:3]),
        "deltas of A must be a vector of 4 numbers, as many as rows; got '3 numbers'.",
    ),
    "rows of numbers": (
        (read_rows([[7.25]], owner="A"),),
        "rows of A must be updates: rows, columns and deltas, or a sparse matrix; got 'ArrayRows'.",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_are_one_line_without_values(kind):
    data, message = REFUSED[kind]
    assert refusal_of(*data) == message


@pytest.mark.parametrize(
    "shape", [None, 3, (3,), (3, 4, 5), (0, 4), (3, -1), (3.0, 4), (True, 4), "34", (3, 2**63), {3, 4}]
)
def test_unsuitable_shapes_are_refused(shape):
    message = f"shape of A must be a pair of integers >= 1, rows and columns; got {shape!r}."
    assert refusal_of(ROWS, COLUMNS, DELTAS, shape=shape) == message


def test_shapes_may_be_any_pair_of_integers():
    for shape in ((3, 4), [3, 4], (np.int64(3), np.uint8(4))):
        updates = read(ROWS, COLUMNS, DELTAS, shape=shape)
        assert updates.shape == SHAPE and all(type(size) is int for size in updates.shape)


def test_updates_are_passed_through():
    updates = read(ROWS, COLUMNS, DELTAS)
    assert read(updates) is updates
    assert refusal_of(updates, shape=(4, 4)) == (
        "rows of A must be updates of a matrix of shape (4, 4); got 'shape (3, 4)'."
    )
    assert refusal_of(updates, COLUMNS) == "columns of A must be None beside a matrix or source; got 'list'."
