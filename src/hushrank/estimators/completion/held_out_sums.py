"""What users add to an evaluation: errors and hits of those who are compared, and how often there were any.

Each user's numbers depend on this user's ratings and public parameters alone; they are bounded and rounded before they
are summed, and totals are exact.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hushrank.data.ratings.grouping import UserBlock
from hushrank.data.ratings.leave_out import LeaveOut
from hushrank.estimators.completion.evaluation_plan import EvaluationRelease
from hushrank.estimators.completion.fold_in import fold_in_users
from hushrank.estimators.completion.held_out_kernels import Scorer, count_liked_of_users, measure_users
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.user_sums import arrays_of
from hushrank.linalg.integer_sums import IntegerArray, integer_sum, integer_sum_l1
from hushrank.linalg.quantize import FloatArray
from hushrank.privacy.mechanisms.vector import GaussianLattice


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Who is compared on which ratings; public.

    Attributes
    ----------
    rule : LeaveOut
        Which ratings are held out.
    base, W, prior : ndarrays
        The regression by which a user's coefficients are found, as `fold_in_users` takes it.
    scorers : tuple of Scorer
        The model comes first; the others have no columns, and list the same for everybody.
    length : int
        Of a list.
    has_errors : bool
        Whether ratings are predicted; False for implicit feedback.
    """

    rule: LeaveOut
    base: FloatArray
    W: FloatArray
    prior: FloatArray
    scorers: tuple[Scorer, ...]
    length: int
    has_errors: bool


def make_contest(
    model: CompletionModel, rule: LeaveOut, length: int, *, has_errors: bool, others: tuple[Scorer, ...] = ()
) -> Contest:
    """The model against others, on lists that are no longer than the catalogue."""
    W = np.ascontiguousarray(model.W)
    own = Scorer(model.base, model.base, np.ascontiguousarray(W.T))
    return Contest(rule, model.base, W, model.prior, (own, *others), min(length, len(model.base)), has_errors)


def released_baseline(model: CompletionModel) -> Scorer:
    """Released item means, and a list by released counts; by the means where no counts were released."""
    return constant_scorer(model.base, model.counts if np.ptp(model.counts) > 0.0 else model.base)


def constant_scorer(expected: Any, order: Any) -> Scorer:
    """The same predictions and the same list for everybody."""
    expected, order = (np.ascontiguousarray(part, np.float64) for part in (expected, order))
    return Scorer(expected, order, np.empty((0, len(order))))


def user_numbers(block: UserBlock, contest: Contest) -> FloatArray:
    """A row of numbers for every user of a block, in the order of `EvaluationRelease.names`."""
    history, held_out = contest.rule.split(block)
    known, wanted = arrays_of(history), arrays_of(held_out)
    Z = np.zeros((len(block), contest.W.shape[1]))
    fold_in_users(known, contest.base, contest.W, contest.prior, Z)
    n_scorers = len(contest.scorers)
    errors, recalls = np.empty((n_scorers, len(block))), np.empty((n_scorers, len(block)))
    for i, scorer in enumerate(contest.scorers):
        own = Z if i == 0 else Z[:, :0]
        measure_users(known, wanted, scorer, own, contest.length, errors[i], recalls[i])
    liked = np.zeros(len(block))
    count_liked_of_users(wanted, liked)
    parts = [recalls, (liked > 0.0).astype(np.float64)]
    if contest.has_errors:
        parts = [errors, np.diff(held_out.indptr).astype(np.float64), *parts]
    return np.vstack(parts).T


def sum_numbers(block: UserBlock, state: tuple[Contest, EvaluationRelease]) -> IntegerArray:
    """Sum of the users' numbers as lattice integers: in shares of what a user adds at most, weighted, centered."""
    contest, release = state
    rows = user_numbers(block, contest) * release.rates - release.center
    lattice = release.lattice
    if isinstance(lattice, GaussianLattice):
        return integer_sum(rows, lattice)
    return integer_sum_l1(rows, lattice.norm_bound, lattice.l1_bound)
