"""People whose tastes follow public facts about items, and these facts in every form that a recommender takes."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

from hushrank.estimators.completion.estimator import PrivateCompletion

KINDS = ("Comedy", "Drama", "Horror", "Western")
N_USERS, N_ITEMS = 300, 24
TERMS = {"epsilon": 20.0, "delta": 1e-6, "rating_range": (1, 5), "random_state": 1}


def kinds(n_items=N_ITEMS):
    """The kind of every item, as positions in KINDS."""
    return np.arange(n_items) % len(KINDS)


def facts(ids=None, n_items=N_ITEMS):
    """A table of the kinds and years of items."""
    ids = range(n_items) if ids is None else ids
    return pa.table({
        "item": ids, "genre": [KINDS[kind] for kind in kinds(n_items)],
        "year": [1950 + 7 * j % 60 for j in range(n_items)],
    })  # fmt: skip


def tastes(n_users=N_USERS, n_items=N_ITEMS, seed=0):
    """Ratings of people who like one kind each and little else; NaN for no rating."""
    rng = np.random.default_rng(seed)
    likes = rng.integers(0, len(KINDS), (n_users, 1))
    liking = 3.0 + np.where(kinds(n_items) == likes, 1.5, -0.5) + 0.3 * rng.standard_normal((n_users, n_items))
    return np.where(rng.random((n_users, n_items)) < 0.5, np.clip(liking, 1, 5), np.nan)


def choices(n_users=N_USERS, n_items=N_ITEMS, seed=0):
    """What these people would choose: ones and NaN."""
    return np.where(tastes(n_users, n_items, seed) > 3.5, 1.0, np.nan)


def recommender(rank=2, **terms):
    """An estimator for these ratings; its facts and items are given in `terms`."""
    return PrivateCompletion(rank, **{**TERMS, **terms})


def fan_of(kind, n_items=N_ITEMS):
    """Own ratings of somebody who likes this kind: some of it high, some others low."""
    liked, others = np.flatnonzero(kinds(n_items) == kind)[:3], np.flatnonzero(kinds(n_items) != kind)[:3]
    return dict.fromkeys(liked.tolist(), 5.0) | dict.fromkeys(others.tolist(), 2.0)


def forms(table):
    """The same facts as tables of every library, and in other orders of rows and chunks, by name."""
    turned = table.take(np.arange(len(table))[::-1])
    frame = pd.DataFrame({name: table[name].to_pylist() for name in table.column_names})
    return {
        "pyarrow": table,
        "reversed": turned,
        "in chunks": pa.concat_tables([turned.slice(0, 5), turned.slice(5)]),
        "record batch": table.combine_chunks().to_batches()[0],
        "pandas": frame,
        "pandas, shuffled": frame.sample(frac=1.0, random_state=1),
        "pandas, categories": frame.astype({"genre": "category"}),
        "polars": pl.from_arrow(table),
        "polars, lists": pl.from_arrow(turned).with_columns(pl.col("genre").str.split("|")),
        "with rows of other items": pa.concat_tables([table, _of_another_item(table)]),
    }


def _of_another_item(table):
    other = {name: table[name].slice(0, 1) for name in table.column_names}
    is_text = pa.types.is_string(table["item"].type)
    return pa.table({**other, "item": pa.array(["nobody knows it"] if is_text else [10**9], table["item"].type)})


def array_forms(values):
    """The same numbers as arrays and matrices of every kind, by name; whole numbers below 128, so that all can."""
    return {
        "float64": values.astype(np.float64),
        "float32": values.astype(np.float32),
        "int8": values.astype(np.int8),
        "uint64": values.astype(np.uint64),
        "Fortran": np.asfortranarray(values, np.float64),
        "reversed strides": np.ascontiguousarray(values[::-1, ::-1], np.float64)[::-1, ::-1],
        "read-only": _frozen(values.astype(np.float64)),
        "foreign byte order": values.astype(">f8"),
        "csr": scipy.sparse.csr_array(values.astype(np.float64)),
        "csc": scipy.sparse.csc_matrix(values.astype(np.float64)),
        "coo": scipy.sparse.coo_array(values.astype(np.int64)),
        "dok": scipy.sparse.dok_array(values.astype(np.float64)),
    }


def _frozen(array):
    array.setflags(write=False)
    return array


def assert_equal_models(one, other, *, but=()):
    """Same learned attributes, bit for bit."""
    mine, yours = one._learned(), other._learned()
    assert mine.keys() == yours.keys()
    for name in mine.keys() - set(but):
        assert np.array_equal(mine[name], yours[name]), name
        assert np.shape(mine[name]) == np.shape(yours[name]), name
