"""Exact errors and recall of recommenders on held-out ratings, beside references without privacy. Nothing is private.

A private evaluation sums the same numbers of users, see `hushrank.estimators.completion.held_out_sums`.
"""

from typing import Any

import numpy as np

from hushrank.data.ratings.grouping import UserBlock
from hushrank.data.ratings.leave_out import LeaveOut
from hushrank.estimators.completion.evaluation import NAMES
from hushrank.estimators.completion.evaluation_plan import BASELINE, MODEL
from hushrank.estimators.completion.held_out_kernels import Scorer
from hushrank.estimators.completion.held_out_ratings import make_recommender_contest, rating_width
from hushrank.estimators.completion.held_out_sums import constant_scorer, user_numbers
from hushrank.estimators.completion.histories import join_blocks
from hushrank.evaluation.baselines import fit_em, fit_item_means
from hushrank.evaluation.metrics import root_mean_squared_error

Line = tuple[str, float | None, float | None]

ITEM_MEANS = "item means and popularity, without privacy"
GLOBAL_MEAN = "the mean of all ratings, without privacy"
FACTORS = "a factorization, without privacy"


def measure(recommender: Any, source: Any, history: UserBlock, rule: LeaveOut, k: int) -> list[Line]:
    """Name, RMSE and recall of a fitted recommender and of simple references; None for what there is not.

    Parameters
    ----------
    recommender : fitted PrivateCompletion
    source : source of users
        All of their ratings.
    history : UserBlock
        What `rule` leaves of them, for the references.
    rule : LeaveOut
    k : int
        Length of lists.
    """
    has_errors = recommender.feedback == "explicit"
    names = [NAMES[MODEL], NAMES[BASELINE], ITEM_MEANS, *([GLOBAL_MEAN] if has_errors else [])]
    others = raw_references(history, source.n_items)[: len(names) - 2]
    contest = make_recommender_contest(recommender, rule, k, baselines=True, others=others)
    n = len(names)
    rows = np.zeros(2 * (n + 1) if has_errors else n + 1)
    for block in source.blocks():
        rows += user_numbers(block, contest).sum(axis=0)
    errors, recalls = (rows[:n], rows[n + 1 :]) if has_errors else (None, rows)
    lines: list[Line] = []
    for i, name in enumerate(names):
        squares = None if errors is None else _quotient(errors[i], rows[n])
        rmse = None if squares is None else rating_width(recommender) * squares**0.5
        recall = None if name == GLOBAL_MEAN else _quotient(recalls[i], recalls[n])
        lines.append((name, rmse, recall))
    return lines


def raw_references(history: UserBlock, n_items: int) -> tuple[Scorer, Scorer]:
    """Item means with a list by popularity, and the mean of all ratings, as they are in the data."""
    means = fit_item_means(history, n_items)
    counts = np.bincount(history.items, minlength=n_items)
    center = np.full(n_items, means.center)
    return constant_scorer(center + means.means, counts), constant_scorer(center, np.zeros(n_items))


def measure_reference(source: Any, history: UserBlock, rule: LeaveOut, rank: int, width: float) -> Line:
    """Name and RMSE of a factorization of explicit ratings that is fitted without privacy."""
    held_out = join_blocks([rule.split(block)[1] for block in source.blocks()])
    if not len(held_out.items):
        return FACTORS, None, None
    model = fit_em(history, source.n_items, min(rank, source.n_items))
    users = np.repeat(np.arange(len(held_out)), np.diff(held_out.indptr))
    predicted = model.predict(history, users, held_out.items)
    return FACTORS, width / 2.0 * root_mean_squared_error(predicted, held_out.values.astype(np.float64)), None


def _quotient(top: float, bottom: float) -> float | None:
    """None where nothing was held out."""
    return float(top / bottom) if bottom > 0.0 else None
