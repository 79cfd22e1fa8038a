"""People with records for tests of private representations, users that a bound must survive, and replay of their fits.

Replay is that of `completion_support`: a fit on a neighbor is given the released values of the recorded one. Kernels
and public states must then be the same, bit for bit; every sum may move by no more than its noise was made for; and the
model must be the same, because it is made of releases alone.
"""

import pickle
from fractions import Fraction

import numpy as np

from completion_support import Release, Replay, cost, squared_loss
from hushrank.engine.local import LocalEngine
from hushrank.estimators.personalization import exponential
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.options import AlternatingMinimization, GradientSteps
from hushrank.privacy import adaptive
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.source import NoiseSource

RELATIONS = ("replace", "add_remove")
CHOICE = ExponentialSelection(rounds=3, candidates=16)
MODES = {
    "gradient": {"method": GradientSteps(2)},
    "gradient, labels": {"method": GradientSteps(2), "loss": "logistic"},
    "altmin": {"method": AlternatingMinimization(2)},
    "altmin, seed": {"method": AlternatingMinimization(1, right_side="seed", start_share=0.5)},
    "altmin, blocks": {"method": AlternatingMinimization(3, participation="blocks")},
    "exponential": {"method": CHOICE, "delta": 0.0},
    "exponential, labels": {"method": CHOICE, "delta": 0.0, "loss": "logistic"},
}


def representation(k=2, **terms):
    """An estimator with a budget; one thread."""
    return PrivateRepresentation(k, **{"epsilon": 5.0, "delta": 1e-6, "engine": LocalEngine(threads=1), **terms})


# People: lists of (X, y), one pair a user


def make_people(n_users, d, k=2, *, seed, n_records=5, noise=0.2):
    """People with heads in a common subspace and one record at least, and the subspace."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, k)))[0]
    people = []
    for _ in range(n_users):
        X = rng.standard_normal((1 + rng.poisson(n_records), d))
        people.append((X, X @ (U @ rng.standard_normal(k)) + noise * rng.standard_normal(len(X))))
    return people, U


def adverse_people(U, bound, seed=0):
    """Users that a bound must survive, by name; `bound` is the norm of a record at which it is clipped."""
    rng, (d, k) = np.random.default_rng(seed), U.shape
    along, across = U[:, 0], np.linalg.svd(U)[0][:, k]
    sign = np.where(np.arange(d) % 2, 1.0, -1.0)
    X = rng.standard_normal((8, d))
    odd = rng.choice([np.nan, np.inf, -1e300, 1e300, 5e-324, 0.0, 1.0], (60, d))
    return {
        "nothing": (X[:0], X[:0, 0]),
        "not a number": (np.full((3, d), np.nan), np.full(3, np.nan)),
        "infinite": (np.full((3, d), np.inf), np.full(3, -np.inf)),
        "1e300": (1e300 * X, 1e300 * X[:, 0]),
        "1e150": (1e150 * X, -1e150 * X[:, 0]),
        "zeros": (0.0 * X, 0.0 * X[:, 0]),
        "one record": (3.0 * sign[np.newaxis], np.array([3.0])),
        "very many": (rng.standard_normal((10_000, d)), 50.0 * np.sign(rng.standard_normal(10_000))),
        "all equal": (np.tile(10.0 * sign, (200, 1)), np.full(200, 40.0)),
        "along": (np.outer([-4.0, 4.0, 5.0, -5.0, 6.0], along), np.array([-9.0, 9.0, 9.0, -9.0, 9.0])),
        "along, opposed": (np.outer([-4.0, 4.0, 5.0, -5.0, 6.0], along), -np.array([-9.0, 9.0, 9.0, -9.0, 9.0])),
        "across": (np.outer(np.arange(1.0, 7.0), across), 20.0 * np.arange(1.0, 7.0)),
        "along and across": (np.outer(np.arange(1.0, 9.0), along + across), 100.0 * np.arange(1.0, 9.0)),
        "ones": (X, np.ones(8)),
        "no ones": (X, -np.ones(8)),
        "huge answers": (1e-6 * X, 1e12 * sign[np.arange(8) % d]),
        "tiny answers": (1e8 * X, 1e-12 * sign[np.arange(8) % d]),
        "at the bound": (bound * np.eye(d)[:1], np.array([1.0])),
        "just above it": (np.nextafter(bound, np.inf) * np.eye(d)[:1], np.array([-1.0])),
        "a wide range": (X * 10.0 ** np.arange(-12, 12, 3)[:, np.newaxis], X[:, 1] * 10.0 ** np.arange(-8, 8, 2)),
        "odd": (odd, odd[:, 0]),
    }


def to_records(people):
    """X, y and users of these people; those without records appear nowhere."""
    users = np.repeat(np.arange(len(people)), [len(y) for _, y in people])
    return np.concatenate([X for X, _ in people]), np.concatenate([y for _, y in people]), users


# Replay


class RecordingEngine:
    """Adds up like the local engine, and remembers the kernels and public states of all sums."""

    def __init__(self):
        self.seen, self._engine = [], LocalEngine(threads=1)

    def total(self, source, kernel, state, **options):
        self.seen.append((kernel.__name__, pickle.dumps(state)))
        return self._engine.total(source, kernel, state, **options)


class RecordReplay(Replay):
    """Replay of fits to records; choices of the exponential mechanism are released as well."""

    def __init__(self, monkeypatch, **options):
        super().__init__(monkeypatch, **options)
        self._choose = exponential.release_choice
        monkeypatch.setattr(exponential, "release_choice", self._release_choice)

    def fit(self, model, people, script=None):
        """Releases of the fit of a model to these people, and the sums it asked for."""
        self.made, self._script, model.engine = [], script, RecordingEngine()
        model.fit(*to_records(people))
        return list(self.made), model.engine.seen

    def _release_choice(self, total, lattice, noise: NoiseSource):
        return self._release("choice", self._choose, total, lattice, noise)


def squared_loss_of_choice(before, after):
    """(Epsilon that a choice tells apart)^2; fails if scores have moved further than they may."""
    [lattice] = before.terms
    assert after.terms == before.terms and before.value == after.value and before.shape == after.shape
    change, bound = after.total.astype(object) - before.total.astype(object), lattice.integer_bound
    width = max(change) - min(change)
    if lattice.neighbors is Neighbors.REPLACE:
        assert max(abs(change)) <= bound
    else:  # one user more moves all scores up, one user less moves them down
        assert max(abs(change)) <= bound and (min(change) >= 0 or max(change) <= 0)
    loss = (lattice.rate * width) ** 2
    assert loss <= Fraction(lattice.event.epsilon) ** 2
    return float(loss)


def loss_of(before: Release, after: Release):
    """Squared loss of one release in the terms of its mechanism."""
    return squared_loss_of_choice(before, after) if before.mechanism == "choice" else squared_loss(before, after)


def neighbors_of(people, U, bound, neighbors):
    """Neighboring people by name: the first is replaced or leaves, or somebody comes."""
    yield "without the first", people[1:]
    for name, one in adverse_people(U, bound).items():
        yield name, [one, *(people[1:] if neighbors == "replace" else people)]


def clip_bound(recorded):
    """Norm of a record at which the first sum of a fit clips it."""
    norms = [release.terms[0].row_norm for release in recorded if release.mechanism == "symmetric"]
    return norms[0] if norms else 1.0


def assert_equal_models(one, other):
    mine, yours = one._learned(), other._learned()
    assert mine.keys() == yours.keys()
    for name, value in mine.items():
        assert np.array_equal(value, yours[name]), name


def largest_loss(replay, people, U, names=None, **terms):
    """Largest share of the budget that any neighbor of these people uses; fails if a bound is broken.

    Fails as well if a neighbor with the same released values changes a kernel, a public state or the model.
    """
    relation = terms.get("neighbors", "replace")
    public = {"n_users": len(people)} if relation == "replace" else {}
    model, other = (representation(**{**terms, **public, "random_state": 1}) for _ in range(2))
    recorded, asked = replay.fit(model, people)
    is_choice = recorded[-1].mechanism == "choice"
    whole = float(model.epsilon**2 if is_choice else squared_mu(model.privacy_.event, "test"))
    spent = sum(r.terms[0].event.epsilon for r in recorded) ** 2 if is_choice else float(sum(map(cost, recorded)))
    has_parts = len({pickle.loads(state)[3] for kernel, state in asked if kernel == "sum_part"}) > 1
    assert spent <= whole * (1 + 1e-12) or has_parts  # everybody is in one part, which shows below
    worst = 0.0
    for name, neighbor in neighbors_of(people, U, clip_bound(recorded), relation):
        if names is not None and name not in names:
            continue
        replayed, again = replay.fit(other, neighbor, recorded)
        assert again == asked, name
        losses = [loss_of(*pair) for pair in zip(recorded, replayed, strict=True)]
        loss = sum(np.sqrt(losses)) ** 2 if is_choice else sum(losses)
        assert loss <= whole * (1 + 1e-9), name
        assert_equal_models(model, other)
        worst = max(worst, loss / whole)
    return worst


def release_exactly(monkeypatch):
    """Sums are released without noise, and logged all the same: the path of a fit without privacy."""

    def exact(total, lattice, noise):
        noise.begin(lattice.event, lattice.neighbors)
        return np.asarray(total).astype(np.float64) * lattice.unit

    for mechanism in ("vector", "symmetric"):
        monkeypatch.setattr(adaptive, f"release_{mechanism}", exact)
