"""Sparse matrices whose arrays contradict each other are refused before SciPy believes them."""

import numpy as np
import pytest
import scipy.sparse as sp

from hushrank.data.sparse import check_indices, check_sparse
from hushrank.exceptions import InvalidParameter

X = np.array([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4], [5, 0, 0, 0]])
FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")


def matrix(form, **attributes):
    made = sp.bsr_array(X, blocksize=(2, 2)) if form == "bsr" else sp.csr_array(X).asformat(form)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("form", FORMATS)
def test_honest_matrices_pass(form):
    check_sparse(matrix(form), "A")
    check_indices(matrix(form), "A")
    check_indices(sp.csr_array((0, 3)).asformat(form) if form != "bsr" else matrix(form), "A")


def lists(*parts):
    made = np.empty(len(parts), object)
    made[:] = parts
    return made


CONTRADICTIONS = {
    "csr: too few indices": ("csr", {"indices": np.array([0, 2])}),
    "csr: too few values": ("csr", {"data": np.array([1.0])}),
    "csr: falling": ("csr", {"indptr": np.array([0, 3, 2, 4, 5])}),
    "csr: around the largest number": ("csr", {"indptr": np.array([0, 2**31 - 1, -(2**31), -1, 5], np.int32)}),
    "csc: around the largest number": ("csc", {"indptr": np.array([0, 2**31 - 1, -(2**31), -1, 5], np.int32)}),
    "bsr: around the largest number": ("bsr", {"indptr": np.array([0, -1, 3], np.int32).astype(np.uint32)}),
    "csr: not from zero": ("csr", {"indptr": np.array([1, 2, 3, 4, 5])}),
    "csr: too short": ("csr", {"indptr": np.array([0, 2])}),
    "csc: too few indices": ("csc", {"indices": np.array([0])}),
    "bsr: too few indices": ("bsr", {"indices": np.array([0])}),
    "coo: too few values": ("coo", {"data": np.ones(2)}),
    "coo: too many values": ("coo", {"data": np.ones(9)}),
    "lil: a row without its values": ("lil", {"data": lists([1.0], [3.0], [4.0], [5.0])}),
    "lil: too few rows": ("lil", {"rows": lists([0])}),
    "lil: no lists": ("lil", {"rows": lists((0, 2), (1,), (3,), (0,))}),
    "dia: too few offsets": ("dia", {"offsets": np.array([0])}),
}


@pytest.mark.parametrize("form", CONTRADICTIONS)
def test_contradictions_are_refused(form):
    name, attributes = CONTRADICTIONS[form]
    for check in (check_sparse, check_indices):
        with pytest.raises(
            InvalidParameter, match=r"^X of A must be a sparse matrix with valid indices; got 'shape \(4, "
        ):
            check(matrix(name, **attributes), "A")


@pytest.mark.parametrize("outside", [-1, 4, 10**9])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
def test_indices_outside_are_refused_where_they_matter(form, outside):
    made = matrix(form)
    if form in ("csr", "csc"):
        made.indices[1] = outside
    elif form == "coo":
        made.row[1] = outside
    elif form == "lil":
        made.rows[1] = [outside]
    else:
        made._dict[(1, outside)] = 1.0
    if form != "dok":
        check_sparse(made, "A")
    with pytest.raises(InvalidParameter, match=r"^X of A must be a sparse matrix with valid indices"):
        check_indices(made, "A")
