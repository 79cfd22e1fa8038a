"""Small fitted models of every class, for tests of what is said about models; each is fitted once."""

from functools import cache

import numpy as np
import pandas as pd

import hushrank
from hushrank.evaluation.synthetic import shared_representation, synthetic_ratings
from hushrank.evaluation.trace_data import trace_records

N_ITEMS = 20
HOSTILE = "<script>alert(1)</script>"
CLASSES = (
    "PrivatePCA", "PrivateCovariance", "PrivateLowRank", "PrivateCompletion", "PrivateRepresentation",
    "PrivateTraceRegression", "PrivateEvaluation", "Factorization",
)  # fmt: skip


@cache
def fitted(name):
    """A model in which something stands above the noise."""
    return _MAKERS[name]()


def rows():
    rng = np.random.default_rng(1)
    X = 0.02 * rng.standard_normal((3000, 5))
    X[:, 1] += 0.5 * rng.standard_normal(3000)
    return pd.DataFrame(X, columns=["a", HOSTILE, "c", "d", "e"])


def _recommender():
    table = synthetic_ratings(1200, N_ITEMS, seed=1).table()
    terms = {"epsilon": 10.0, "delta": 1e-6, "rating_range": (1, 5), "items": N_ITEMS, "n_users": 1200}
    return hushrank.PrivateCompletion(2, **terms).fit(table)


def _evaluation():
    table = synthetic_ratings(1200, N_ITEMS, seed=1).table()
    return hushrank.PrivateEvaluation(epsilon=10.0, delta=1e-6).fit(table, fitted("PrivateCompletion"))


def _representation():
    data = shared_representation(1500, 5, 1, n_records=6, noise=0.1, seed=1)
    table = pd.DataFrame(data.X, columns=["a", HOSTILE, "c", "d", "e"])
    table["user"], table["target"] = data.users, data.y
    return hushrank.PrivateRepresentation(2, epsilon=4.0, delta=1e-6).fit(table)


def _trace():
    data = trace_records(6000, (4, 3), 1, seed=1, design="rank_one")
    return hushrank.PrivateTraceRegression(1, epsilon=2.0, delta=1e-6, design="rank_one").fit(data.X, data.y)


def _stream():
    rows, columns = np.indices((30, 20))
    sketch = hushrank.TurnstileSketch((30, 20), rank=2, epsilon=8.0, delta=1e-6, kind="full")
    return sketch.update(rows.ravel(), columns.ravel(), np.ones(rows.size)).factorize()


_MAKERS = {
    "PrivateEvaluation": _evaluation,
    "PrivatePCA": lambda: hushrank.PrivatePCA(2, row_norm=1.0, epsilon=5.0, delta=1e-6).fit(rows()),
    "PrivateCovariance": lambda: hushrank.PrivateCovariance(row_norm=1.0, epsilon=5.0, delta=1e-6).fit(rows()),
    "PrivateLowRank": lambda: hushrank.PrivateLowRank(
        eigenvalues=[2.0, 1.0], row_norm=1.0, epsilon=5.0, delta=1e-6
    ).fit(rows()),
    "PrivateCompletion": _recommender,
    "PrivateRepresentation": _representation,
    "PrivateTraceRegression": _trace,
    "Factorization": _stream,
}
