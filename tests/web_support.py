"""Recommenders of every kind, what their pages hold, and what the modules of a page make of people's ratings."""

import json
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse

from browser_support import find_node
from feature_support import N_ITEMS, choices, facts, fan_of, tastes
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.rounding import round_model
from hushrank.web.model_data import model_data

ANSWERS = Path(__file__).parent / "web" / "answers.mjs"
TERMS = {"epsilon": 20.0, "delta": 1e-6, "rating_range": (1, 5)}
TEXTS = [f"item {j}, \u201cso\u201d\n</script><!--" for j in range(N_ITEMS)]
HUGE = [2**63 + j for j in range(N_ITEMS)]


def _ratings(low=1.0, high=5.0):
    return low + (tastes() - 1.0) * (high - low) / 4.0


def _table(ids, dtype):
    users, items = np.nonzero(~np.isnan(tastes()))
    import pandas as pd

    table = {"user": users, "item": np.array(ids, dtype)[items], "rating": tastes()[users, items]}
    return pd.DataFrame(table)


def _fit(ratings=None, rank=2, **terms):
    return PrivateCompletion(rank, **{**TERMS, **terms}).fit(_ratings() if ratings is None else ratings)


def _implicit(**terms):
    data = scipy.sparse.csr_array(np.nan_to_num(choices()))
    return PrivateCompletion(2, epsilon=20.0, delta=1e-6, feedback="implicit", **terms).fit(data)


MAKERS = {
    "ratings": _fit,
    "features": lambda: _fit(item_features=facts()),
    "implicit": _implicit,
    "implicit with features": lambda: _implicit(item_features=facts()),
    "implicit with new items": lambda: _implicit(new_items=[3, 17], item_features=facts()),
    "added items": lambda: _fit(item_features=facts()).add_items([100, 101], facts([100, 101], 2)),
    "no offsets": lambda: _fit(offsets=False),
    "more factors than there are": lambda: _fit(rank=20, epsilon=2.0),
    "hardly any budget": lambda: _fit(epsilon=0.01),
    "percent": lambda: _fit(_ratings(0.0, 100.0), rating_range=(0.0, 100.0)),
    "half steps": lambda: _fit(_ratings(0.5, 5.0), rating_range=(0.5, 5.0)),
    "texts as ids": lambda: _fit(_table(TEXTS, object), items=TEXTS),
    "huge ids": lambda: _fit(_table(HUGE, np.uint64), items=HUGE),
    "alternating least squares": lambda: _fit(method="als", epsilon=50.0),
    "an embedding": lambda: _fit(item_features=np.random.default_rng(1).standard_normal((N_ITEMS, 12))),
}


@cache
def recommender(kind):
    """A fitted model."""
    return MAKERS[kind]()


def histories(model, n_people=20):
    """Own ratings of people, by id: nothing at all, one rating, nearly everything, and between."""
    rng = np.random.default_rng(11)
    ids, found = model.items_.tolist(), [{}, {model.items_.tolist()[4]: 1.0}]
    low, high = (1.0, 1.0) if model.rating_range is None else map(float, model.rating_range)
    for person in range(n_people - 2):
        kind, n = fan_of(person % 4), rng.integers(1, len(ids))
        chosen = [*kind, *rng.choice(len(ids), n, replace=False).tolist()][:n]
        found.append({ids[j]: float(low + (high - low) * rng.random()) for j in chosen})
    return found


def answers_of_page(model, people, precision="float16", n=10):
    """What the modules of a page of this model say to people, in a JavaScript engine."""
    rounded = round_model(model, precision)
    pairs = [[[str(item), rating] for item, rating in own.items()] for own in people]
    asked = json.dumps({"data": model_data(rounded, None), "histories": pairs, "n": n})
    done = subprocess.run([find_node(), ANSWERS], input=asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return rounded.model, json.loads(done.stdout)
