"""Attacks with inputs that are trusted too far: somebody else's classes, and matrices that contradict themselves."""

import numpy as np
import pytest
import scipy.sparse as sp

from hushrank.engine.grouping import UserBlock
from hushrank.engine.ratings import Ratings, read_ratings
from hushrank.engine.rows import Rows
from hushrank.estimators.completion import PrivateCompletion
from hushrank.estimators.pca import PrivatePCA
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


class Foreign(Rows):
    """A source of somebody else's making."""

    n_users = N_USERS

    def __init__(self, block):
        super().__init__(N_ITEMS, N_USERS)
        self._block = block

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
    X = sp.random_array((N_USERS, N_ITEMS), density=0.4, rng=np.random.default_rng(1), format=form)
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
