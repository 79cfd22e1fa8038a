"""Attacks with inputs that are trusted too far: somebody else's classes, and matrices that contradict themselves."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from hushrank.data.ratings.grouping import UserBlock
from hushrank.data.ratings.reading import Ratings, read_ratings
from hushrank.data.rows.reading import read_rows
from hushrank.data.source import Source
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger import Ledger

N_USERS, N_ITEMS = 40, 12
TERMS = {"epsilon": 1.0, "delta": 1e-6, "rating_range": (1, 5), "random_state": 4}


def block_with(user_items, user_values):
    """Blocks of 40 users of which the first has these items and values."""
    rng = np.random.default_rng(2)
    items = [np.array(user_items), *(np.sort(rng.choice(N_ITEMS, 4, replace=False)) for _ in range(N_USERS - 1))]
    values = [np.array(user_values, float), *(rng.uniform(-1, 1, 4) for _ in range(N_USERS - 1))]
    indptr = np.cumsum([0, *map(len, items)])
    return UserBlock(indptr, np.concatenate(items).astype(np.int32), np.concatenate(values).astype(np.float32))


class Foreign(Source):
    """A source of somebody else's making."""

    n_users = N_USERS
    sizes: ClassVar = {"n_items": N_ITEMS}

    def __init__(self, block):
        super().__init__(N_USERS)
        self._block = block

    def empty_block(self):
        return self._block

    def blocks(self, max_rows=8192):
        yield self._block


class ForeignSource:
    """The same, handed to our own class."""

    n_users = N_USERS

    def __init__(self, block):
        self._block = block

    def read(self, tally):
        return self._block


ATTACKS = {
    "repeated items": ([3] * 900, [1.0] * 900, [3], [1.0]),
    "unsorted items": ([7, 2, 5], [1.0, 0.5, -1.0], [2, 5, 7], [0.5, -1.0, 1.0]),
    "large values": ([1, 4], [1e6, -1e6], [1, 4], [1.0, -1.0]),
    "values that are no numbers": ([1, 4], [np.nan, 0.5], [4], [0.5]),
    "items outside the catalogue": ([1, N_ITEMS, 10**6], [1.0, 1.0, 1.0], [1], [1.0]),
    "negative items": ([-5, 1], [1.0, 1.0], [1], [1.0]),
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("method", ["spectral", "als", "factored_gradient"])
def test_blocks_of_a_foreign_source_are_brought_into_bounds(attack, method):
    """Violation 7: such a user moved the sums by more than the bound; now the user counts as any honest one."""
    items, values, honest_items, honest_values = ATTACKS[attack]
    model = PrivateCompletion(2, **TERMS, method=method)
    honest = model.fit(Foreign(block_with(honest_items, honest_values))).item_means_
    for source in (
        Foreign(block_with(items, values)),
        Ratings(ForeignSource(block_with(items, values)), N_ITEMS, None, (1.0, 5.0)),
    ):
        assert np.array_equal(PrivateCompletion(2, **TERMS, method=method).fit(source).item_means_, honest)


def test_our_own_ratings_are_not_wrapped():
    ratings = read_ratings(np.ones((3, 2)), owner="A", rating_range=(1, 5))
    assert read_ratings(ratings, owner="A") is ratings


def contradiction(form):
    entries = np.random.default_rng(1).uniform(size=(N_USERS, N_ITEMS))
    X = sp.csr_array(np.where(entries < 0.4, entries, 0.0)).asformat(form)
    if form == "lil":
        X.data[3] = X.data[3][:-1]
    elif form == "coo":
        X.data = X.data[:-5]
    else:
        X.indices = X.indices[:-5]
    return X


@pytest.mark.parametrize("form", ["coo", "lil", "csr", "csc"])
def test_matrices_that_contradict_themselves_are_refused_and_nothing_is_charged(form, tmp_path):
    """Violation 7: arrays that disagree in length were read past their end."""
    refusal = pytest.raises(InvalidParameter, match="must be a sparse matrix with valid indices")
    with Ledger(tmp_path / "budget.db") as ledger:
        rows, users = (
            ledger.create("rows", epsilon=9, delta=1e-3),
            ledger.create("users", epsilon=9, delta=1e-3, unit="user"),
        )
        with refusal:
            PrivatePCA(1, row_norm=1.0, epsilon=1.0, delta=1e-6, ledger=rows).fit(contradiction(form))
        with refusal:
            terms = {**TERMS, "random_state": None, "ledger": users}
            PrivateCompletion(2, **terms).fit(contradiction(form))
        assert len(rows.history()) == len(users.history()) == 1
    model = PrivateCompletion(2, **TERMS).fit(np.full((N_USERS, N_ITEMS), 3.0))
    for serve in (model.fold_in, model.predict, model.recommend):
        with refusal:
            serve(contradiction(form))


def test_a_later_block_of_a_stream_is_checked_like_the_first():
    """A matrix that was refused alone wrote one person's row into another's when it came second."""
    good, bad = sp.csr_matrix(np.eye(3)), sp.csr_matrix(np.eye(3))
    bad.indices = np.array([3, 1, 2], np.int32)
    for blocks in ([bad], [good, bad]):
        with pytest.raises(InvalidParameter, match="must be a sparse matrix with valid indices"):
            [*read_rows(iter(blocks), owner="A").blocks()]


def test_a_file_whose_rows_wrap_around_is_refused(tmp_path):
    """The jump from 2^31 - 1 to -2^31 has the difference 1 in int32, and the process died."""
    X = sp.random(4, 3, density=1, format="csr")
    X.indptr = np.array([0, 2**31 - 1, -(2**31), -1, X.nnz], np.int32)
    sp.save_npz(tmp_path / "x.npz", X, compressed=False)
    for data in (X, tmp_path / "x.npz"):
        with pytest.raises(InvalidParameter, match=r"a sparse matrix with valid indices|a readable npz file"):
            read_rows(data, owner="A")
    with pytest.raises(InvalidParameter, match="must be a sparse matrix with valid indices"):
        PrivateCompletion(1, **TERMS).fit(X)


class Loud:
    def __float__(self):
        raise RuntimeError("cell says 725")


@pytest.mark.parametrize("value", ["abc", 10**400, None, Loud(), [1]])
@pytest.mark.parametrize("form", ["lil", "dok"])
def test_lists_that_hold_anything_never_raise(form, value):
    X = sp.csr_array(np.full((N_USERS, N_ITEMS), 3.0)).asformat(form)
    if form == "lil":
        X.data[0] = [value] * N_ITEMS
        X.rows[1] = ["x", 10**30, 1.5, *range(3, N_ITEMS)]
    else:
        X._dict[(0, 0)] = value
    assert read_ratings(X, owner="A", rating_range=(1, 5)).n_users == N_USERS
    assert PrivateCompletion(2, **TERMS).fit(X).item_means_.shape == (N_ITEMS,)


def test_the_hundred_and_twenty_eighth_user_stops_no_fit():
    """Concatenated categories of pandas: one user more, and Arrow could not join the dictionaries after the charge."""

    def table(start, stop):
        users = pd.Categorical([f"u{i}" for i in range(start, stop)])
        return pa.Table.from_pandas(pd.DataFrame({"user": users, "item": 0, "rating": 3.0}))

    for n_users in (127, 128, 180):
        data = pa.concat_tables([table(0, 64), table(64, n_users)])
        assert read_ratings(data, owner="A", items=3, rating_range=(1, 5)).n_users == n_users
