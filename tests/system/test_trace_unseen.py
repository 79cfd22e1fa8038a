"""Trace regressions of data as people have them: skewed, tied, far from zero, few, rare. Never worse than the mean.

Errors are those of predictions of fresh records, over the deviation of their answers; the best constant has 1.
"""

import numpy as np
import pytest

from trace_fit_support import regression

FRESH, SCALES = 3000, {"far from zero": 50.0, "all equal": 5.0}


def pairs(rng, n, shape=(6, 5)):
    """x, z and x^T M z with M of rank one."""
    x, z = rng.standard_normal((n, shape[0])), rng.standard_normal((n, shape[1]))
    u, v = (part / np.linalg.norm(part) for part in (rng.standard_normal(shape[0]), rng.standard_normal(shape[1])))
    return (x, z), (x @ u) * (z @ v)


# What is made of x^T M z.
ANSWERS = {
    "few ones": lambda f, rng: (rng.random(len(f)) < 1 / (1 + np.exp(2.0 - 1.5 * f))).astype(float),
    "few zeros": lambda f, rng: 1.0 - (rng.random(len(f)) < 1 / (1 + np.exp(2.0 - 1.5 * f))).astype(float),
    "ones without signal": lambda f, rng: (rng.random(len(f)) < 0.2).astype(float),
    "counts": lambda f, rng: rng.poisson(0.25 * np.exp(np.clip(0.5 * f, -3, 3))).astype(float),
    "skewed noise": lambda f, rng: f + rng.exponential(2.0, len(f)) ** 1.5,
    "far from zero": lambda f, rng: 50.0 + f + rng.standard_normal(len(f)),
    "half of them zero": lambda f, rng: np.where(rng.random(len(f)) < 0.5, 0.0, 2.0 + f),
    "all equal": lambda f, rng: np.full(len(f), 7.0) + 1e-9 * f,
}


def errors_of(model, X, y, n):
    old, new = (tuple(part[where] for part in X) for where in (slice(n), slice(n, None)))
    predicted = model.fit(old, y[:n]).predict(new)
    return float(np.sqrt(np.mean((predicted - y[n:]) ** 2)) / y[n:].std())


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize(
    ("n", "epsilon", "limit"), [(300, 1.0, 1.15), (8000, 0.1, 1.15), (8000, 1.0, 1.03), (8000, 20.0, 1.01)]
)
def test_answers_of_every_kind_are_predicted_no_worse_than_by_their_mean(kind, n, epsilon, limit):
    """Seeds are fixed. Where n mu is 78 or 240, a mean has noise of its own."""
    rng = np.random.default_rng(len(kind))
    X, f = pairs(rng, n + FRESH)
    y, scale = ANSWERS[kind](f, rng), SCALES.get(kind, 1.0)
    model = regression(1, design="rank_one", epsilon=epsilon, random_state=1, y_scale=scale)
    error = errors_of(model, X, y, n)
    if kind == "all equal":
        assert error * y[n:].std() < 0.5
        return
    assert error < limit
    if epsilon >= 1.0 and n > 300 and kind in ("few ones", "few zeros", "far from zero", "half of them zero"):
        assert error < 0.95  # and what there is to learn is learned


@pytest.mark.parametrize("popularity", [1.0, 2.0])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 3.0])
def test_rows_and_columns_that_are_rarely_seen_do_no_harm(popularity, epsilon):
    n, shape = 20_000, (40, 30)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        weights = [np.arange(1, d + 1) ** -popularity for d in shape]
        rows, columns = (rng.choice(len(w), n + FRESH, p=w / w.sum()) for w in weights)
        M = 3.0 + np.outer(*(rng.standard_normal(d) for d in shape))
        y = M[rows, columns] + 0.5 * rng.standard_normal(n + FRESH)
        model = regression(1, design="entry", shape=(60, 40), epsilon=epsilon, random_state=seed)
        assert errors_of(model, (rows, columns), y, n) < 1.03
        never = np.abs(model.coef_[40:]).max(), np.abs(model.coef_[:, 30:]).max()
        assert max(never) < 2.5 * np.abs(y - y.mean()).max()  # nobody is told of what nobody has seen
