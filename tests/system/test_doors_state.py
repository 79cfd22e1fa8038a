"""Attacks on who holds the state: forks, copies, pickles, threads, and numbers that a mechanism should not take.

Each of them spent more than was charged, or claimed less than was spent, in 0.1.0.dev0.
"""

import copy
import math
import os
import pickle
import threading
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from feature_support import N_ITEMS, choices, facts, recommender, tastes
from fork_support import fork, in_child, outcome_of, start_child
from hushrank import LocalEngine, PrivateCompletion, PrivatePCA
from hushrank.estimators.second_moment.sums import sum_rows
from hushrank.exceptions import BudgetExceeded, HushrankError, InvalidParameter
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.privacy.filters import GdpFilter
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.ledger import Ledger
from hushrank.privacy.mechanisms.exponential import choose, release_eigenvalues, score_lattice
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice
from hushrank.privacy.mechanisms.vector import release_vector, vector_lattice
from hushrank.privacy.mechanisms.wishart import wishart_lattice
from hushrank.privacy.noise.source import NoiseSource

# Forks


class Fork:
    """Data, or an engine, that splits the process in two in the middle of a fit."""

    def __init__(self):
        self.parent, self.child, self.reader, self.report = os.getpid(), None, None, None

    def split(self):
        if self.child is None and os.getpid() == self.parent:
            self.reader, self.report = os.pipe()
            self.child = fork() or -1  # the child knows itself by -1

    @property
    def is_child(self):
        return os.getpid() != self.parent

    def run(self, fit):
        """What the child came to; the parent's own result is left to the caller."""
        try:
            outcome = f"returned {fit()!r}"
        except BaseException as error:
            if not self.is_child:
                raise
            outcome = f"{type(error).__name__}: {error}"
        if self.is_child:
            os.write(self.report, outcome.encode())
            os._exit(0)
        os.close(self.report)
        return outcome_of(self.child, self.reader)


@pytest.mark.parametrize("radius", ["private", "public"])
@pytest.mark.parametrize("seed", [None, 7])
def test_data_that_fork_inside_a_fit_give_one_release(seed, radius):
    rows, parting = np.random.default_rng(1).normal(size=(600, 4)), Fork()

    def blocks():
        yield rows[:300]
        parting.split()
        yield rows[300:]

    terms = {"row_norm": 3.0, "epsilon": 1.0, "engine": LocalEngine(threads=1), "random_state": seed}
    model = PrivatePCA(2, **terms, radius=radius)
    outcome = parting.run(lambda: model.fit(blocks).components_.shape)
    # A private radius meets its budget before its noise.
    expected = {"private": "StateMisuse: this budget filter", "public": "KeystreamMisuse: this noise source"}[radius]
    assert outcome.startswith(f"{expected} was made before a fork")
    assert model.components_.shape == (2, 4) and model.privacy_.epsilon == 1.0


class ForkingEngine:
    """Adds up like the local engine, after it has forked in the sum number `at`."""

    def __init__(self, parting, at):
        self.parting, self.left, self.engine = parting, at, LocalEngine(threads=1)

    def total(self, *arguments, **options):
        self.left -= 1
        if not self.left:
            self.parting.split()
        return self.engine.total(*arguments, **options)


@pytest.mark.parametrize("at", [1, 4])
def test_an_adaptive_fit_that_forks_pays_once_and_gives_one_model(tmp_path, at):
    account = Ledger(tmp_path / "budget.db").create("ratings", epsilon=2, delta=1e-6, unit="user")
    random, parting = np.random.default_rng(2), Fork()
    ratings = {
        "user": np.repeat(np.arange(60), 8),
        "item": np.concatenate([random.permutation(12)[:8] for _ in range(60)]),
        "rating": random.integers(1, 6, 480).astype(float),
    }
    public = {"items": range(12), "rating_range": (1, 5), "epsilon": 1.0, "delta": 1e-6}
    model = PrivateCompletion(2, **public, ledger=account, engine=ForkingEngine(parting, at))
    outcome = parting.run(lambda: model.fit(pd.DataFrame(ratings)).privacy_.epsilon)
    assert outcome.partition(":")[0] in ("KeystreamMisuse", "StateMisuse") and "before a fork" in outcome
    assert model.privacy_.epsilon <= 1.0 and account.last().number == 1


@pytest.mark.parametrize("at", [1, 4])
@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_a_fit_with_public_facts_that_forks_pays_once_and_gives_one_model(tmp_path, at, feedback):
    account = Ledger(tmp_path / "budget.db").create("tastes", epsilon=50, delta=1e-5, unit="user")
    parting = Fork()
    terms = {"items": N_ITEMS, "item_features": facts(), "new_items": [3], "feedback": feedback, "random_state": None}
    model = recommender(**terms, ledger=account, engine=ForkingEngine(parting, at))
    data = choices() if feedback == "implicit" else tastes()
    outcome = parting.run(lambda: model.fit(data).privacy_.epsilon)
    assert outcome.partition(":")[0] in ("KeystreamMisuse", "StateMisuse") and "before a fork" in outcome
    assert account.last().number == 1 and model.feature_values_.shape == (N_ITEMS, 6)


def test_what_was_read_for_a_fit_that_was_refused_reaches_no_other(tmp_path):
    """It stays with the object until its next fit, not with copies, and is read anew by every fit."""
    account = Ledger(tmp_path / "budget.db").create("tastes", epsilon=1, delta=1e-5, unit="user")
    model = recommender(items=N_ITEMS, item_features=facts(), random_state=None, ledger=account)
    with pytest.raises(BudgetExceeded):
        model.fit(tastes())
    for duplicate in (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it.set_params(ledger=None)))):
        assert "_made_public" not in vars(duplicate(model))
    model.set_params(ledger=None, item_features=np.eye(N_ITEMS)[:, :2])
    assert in_child(lambda: model.fit(tastes()).feature_names_) == "returned ['0', '1']"
    assert model.fit(tastes()).feature_names_ == ["0", "1"] and "_made_public" not in vars(model)


@pytest.mark.parametrize("seed", [None, 7])
def test_twenty_children_of_one_source_release_nothing(seed):
    noise, lattice = NoiseSource(seed), vector_lattice(1.0, Pure(0.5))
    total = np.arange(5)
    release_vector(total, lattice, noise)
    children = [start_child(lambda: release_vector(total, lattice, noise)) for _ in range(20)]
    outcomes = [outcome_of(*child) for child in children]
    assert all(outcome.startswith("KeystreamMisuse") for outcome in outcomes)
    assert noise.executed == (Pure(0.5),) and noise.guarantee(Budget(1.0)).epsilon == 0.5


def test_a_child_cannot_state_a_guarantee_for_what_its_parent_released():
    noise = NoiseSource()
    noise.begin(Gaussian(10.0), "replace")
    budget = Budget(1.0, 1e-6)
    for use in (lambda: noise.guarantee(budget), lambda: noise.is_within([Gaussian(5.0)])):
        assert in_child(use).startswith("KeystreamMisuse")


# One filter


def spend_all(budget, share):
    """mu^2 of all shares that a budget still hands out."""
    handed = []
    try:
        while len(handed) < 1000:
            handed.append(budget.share(share))
    except BudgetExceeded:
        pass
    return squared_mu(Composed(handed), "test")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_of_a_filter_do_not_spend_again(duplicate):
    budget, spent = GdpFilter(1.0), Fraction(0)
    try:
        spent += spend_all(duplicate(budget), Fraction(1, 4))
    except HushrankError:
        pass
    assert spent + spend_all(budget, Fraction(1, 4)) == 1


def test_children_do_not_spend_a_filter_again():
    budget = GdpFilter(1.0)
    assert "returned" not in in_child(lambda: budget.share(0.5)) + in_child(budget.rest)
    assert spend_all(budget, Fraction(1, 4)) == 1


class SlowFraction(Fraction):
    """Lets every other thread run between what is left and what is booked."""

    def __sub__(self, other):
        left = Fraction(self) - other
        time.sleep(0.005)
        return left


@pytest.mark.parametrize("request_share", [lambda budget: budget.share(Fraction(1, 8)), lambda budget: budget.rest()])
def test_threads_do_not_overspend_a_filter(request_share):
    budget, barrier, handed = GdpFilter(1.0), threading.Barrier(16), []
    budget._total = SlowFraction(1)

    def work():
        barrier.wait()
        try:
            handed.append(request_share(budget))
        except BudgetExceeded:
            pass

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert squared_mu(Composed(handed), "test") <= 1


# Plans of adaptive fits


def test_ten_pure_releases_do_not_pass_for_one():
    noise = NoiseSource()
    for _ in range(10):
        noise.begin(Pure(0.31), "replace")
    assert not noise.is_within([Pure(1.0)])
    with pytest.raises(HushrankError, match="does not cover"):
        noise.guarantee(Budget(4.0), Pure(1.0))


# Numbers that a mechanism must not take


@pytest.mark.parametrize("levels", [[-1.0], [1.0, -1.0], [math.nan], [1.0, math.nan], [math.inf], [-math.inf, 1.0]])
def test_levels_that_are_no_levels_draw_nothing(levels):
    lattice, noise = score_lattice(1.0, Pure(1.0), "replace", n_features=3, rank=2), NoiseSource()
    with pytest.raises(InvalidParameter, match="levels"):
        lattice.rate(levels)
    with pytest.raises(InvalidParameter, match="levels"):
        choose(lambda rate, stream: rate, levels, lattice, noise)
    assert noise.executed == ()


def test_one_noise_does_not_serve_many_eigenvalues():
    """A row of eigenvalues was given a single deviate, and their differences came out exactly."""
    lattice, noise = score_lattice(1.0, Pure(1.0), "replace", n_features=4, rank=4), NoiseSource()
    with pytest.raises(InvalidParameter, match="values"):
        release_eigenvalues(np.array([[900.0, 700.0, 500.0, 300.0]]), lattice, noise)
    assert noise.executed == ()


def test_laplace_noise_does_not_pass_for_bounded_range():
    event = Pure(1.0, bounded_range=True)
    lattice, noise = score_lattice(1.0, event, "replace", n_features=4, rank=4), NoiseSource()
    with pytest.raises(InvalidParameter, match="event"):
        release_eigenvalues(np.ones(4), lattice, noise)
    assert noise.executed == ()
    sound = vector_lattice(1.0, Pure(1.0))
    with pytest.raises(InvalidParameter, match="event"):
        replace(sound, event=event)


@pytest.mark.parametrize("made", [symmetric_lattice(1.0, Gaussian(3.0)), wishart_lattice(1.0, Pure(1.0), n_max=2**40)])
def test_a_relation_in_letters_has_the_noise_of_the_relation(made):
    """Compared by identity, the word "replace" was taken for add/remove: half the noise of the relation it logs."""
    with pytest.raises(InvalidParameter, match="one that the noise of the lattice is large enough for"):
        replace(made, neighbors="replace", squared_bound=made.squared_bound * 5 // 4)
    assert replace(made, neighbors="replace") == made
    assert isinstance(replace(made, neighbors="replace").neighbors, Neighbors)


def test_the_lattice_of_a_matrix_does_not_pass_for_that_of_a_vector():
    """It was served with Laplace noise under a Gaussian event."""
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="lattice"):
        release_vector(np.zeros(3, np.int64), symmetric_lattice(1.0, Gaussian(1.0)), noise)
    assert noise.executed == ()


def test_nonnegative_is_said_in_the_plan_alone():
    """Rows that point away from each other moved the sum of a plan for nonnegative ones by 2 instead of sqrt(2)."""
    lattice = vector_lattice(1.0, Gaussian(1.0), "replace", nonnegative=True)
    first, second = (sum_rows(np.array([row]), lattice)[0] for row in ([1.0, 0.0], [-1.0, 0.0]))
    moved = sum(int(x) ** 2 for x in first - second)
    assert moved <= 2 * lattice.squared_bound
    assert first[0] > 0 == second[0]
