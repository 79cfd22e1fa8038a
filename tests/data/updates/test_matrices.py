"""Updates that are stored entries of sparse matrices: one each, in every format, whatever SciPy would make of them."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from hushrank.data.updates.matrices import read_matrix
from hushrank.data.updates.source import Updates
from hushrank.exceptions import InvalidParameter

NAN = math.nan
SHAPE = (3, 4)
ROWS, COLUMNS, DELTAS = [0, 2, 0, 2], [1, 3, 0, 3], [0.5, 1.0, -2.0, 1.0]
TRIPLES = list(zip(ROWS, COLUMNS, DELTAS, strict=True))


def read(X, needs_users=False, **options):
    return read_matrix(X, SHAPE, needs_users, "A", **options)


def triples(X, **options):
    """What blocks have of the updates."""
    return [
        update
        for block in Updates(read(X, **options), SHAPE).blocks()
        for update in zip(block.rows.tolist(), block.columns.tolist(), block.deltas.tolist(), strict=True)
    ]


def refusal_of(X, **options):
    with pytest.raises(InvalidParameter) as refusal:
        read(X, **options)
    assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
    return str(refusal.value)


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
    assert sorted(triples(made)) == sorted(TRIPLES) and read(made).n_updates == 4


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok"])
def test_every_format_that_stores_entries(form, kind):
    made = getattr(sp, f"{form}_{kind}")(MATRIX.toarray())
    assert sorted(triples(made)) == [(0, 0, -2.0), (0, 1, 0.5), (2, 3, 2.0)]
    empty = getattr(sp, f"{form}_{kind}")(SHAPE)
    assert triples(empty) == [] and read(empty).n_updates == 0


def test_stored_zeros_are_updates_and_arrays_may_be_longer_than_their_entries():
    stored = sp.csr_array(([0.0, 3.0], [1, 2], [0, 2, 2, 2]), SHAPE)
    assert triples(stored) == [(0, 1, 0.0), (0, 2, 3.0)]
    stored.indices, stored.data = np.array([1, 2, 0, 0], np.int32), np.array([0.0, 3.0, 9.0])
    assert triples(stored) == [(0, 1, 0.0), (0, 2, 3.0)]


def test_odd_values_of_matrices_are_left_out():
    made = sp.lil_array(SHAPE)
    made[0, 1], made[2, 3], made[1, 1] = NAN, math.inf, 2.0
    made.data[1] = ["7.25 and more"]
    assert triples(made) == [] and read(made).n_updates == 3
    made.data[1] = [2]
    assert triples(made) == [(1, 1, 2.0)]


def test_matrices_that_contradict_themselves_are_refused():
    made = sp.csr_array(MATRIX)
    made.indices[0] = 9
    assert refusal_of(made) == "X of A must be a sparse matrix with valid indices; got 'shape (3, 4)'."
    made = sp.csr_array(MATRIX)
    made.data = np.full((3, 2), 7.25)
    assert refusal_of(made).startswith("entries of Updates must be vectors of one length; got 'shapes [")


REFUSED = {
    "another shape": (sp.csr_array((4, 3)), "rows of A must be a matrix of shape (3, 4); got 'shape (4, 3)'."),
    "one axis": (sp.coo_array(np.ones(4)), "rows of A must be a matrix of shape (3, 4); got 'shape (4,)'."),
    "blocks": (
        sp.bsr_array(SHAPE),
        "rows of A must be a sparse matrix that stores single entries (csr, csc, coo, lil, dok); got 'bsr'.",
    ),
    "complex": (
        sp.csr_array(SHAPE, dtype=complex),
        "rows of A must be real numbers of at most double precision (Complex data not supported); got 'complex128'.",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_are_one_line_without_values(kind):
    X, message = REFUSED[kind]
    assert refusal_of(X) == message


def test_entries_of_matrices_are_nobodys():
    message = "rows of A must be updates with users: vectors, a table or a file; a matrix has none; got 'coo'."
    assert refusal_of(MATRIX, needs_users=True) == message


def test_other_types_are_read_loosely_one_by_one():
    """Of a block of a stream, where one cell may have made numbers complex, or objects."""
    numbers = np.array([0.5, 1.0 + 1.0j, -2.0, NAN])
    for form in ("coo", "csr"):
        made = sp.coo_array((numbers, (ROWS, [1, 3, 0, 2])), SHAPE).asformat(form)
        assert sorted(triples(made, loosely=True)) == [(0, 0, -2.0), (0, 1, 0.5)]
    made = sp.coo_array(SHAPE)
    made.coords, made.data = (np.array([0, 1]), np.array([3, 2])), np.array(["7.25", None], object)
    assert triples(made, loosely=True) == [(0, 3, 7.25)]
    assert triples(sp.csr_array(SHAPE, dtype=complex), loosely=True) == []
    assert refusal_of(sp.csr_array((4, 3), dtype=complex), loosely=True) == REFUSED["another shape"][1]
