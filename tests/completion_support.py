"""Replay of a fit on neighboring data: what every release saw, and how far one user moved it.

A fit on data D is recorded: the public terms, the integer total and the released value of every release. A fit on a
neighbor D' is then given the same released values. Whatever is public must be the same in both, bit for bit: the terms
of the releases, what kernels are given, and the model. Every total must have moved by no more than its noise was made
for; and all moves together must cost no more than the budget.
"""

import pickle
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from hushrank.data.ratings.reading import read_ratings
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.privacy import adaptive
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms.counts import counts_scale
from hushrank.privacy.mechanisms.quantile import rank_scale
from hushrank.privacy.noise.source import NoiseSource

N_MAX = 2**26
MECHANISMS = ("vector", "hollow", "symmetric", "symmetric_stack", "quantile", "counts")
RELATIONS = ("replace", "add_remove")


# People: lists of (items, ratings), one pair a user, ratings between -1 and 1


def make_people(n_users, n_items, *, seed, n_ratings=12.0, rank=2):
    """People with tastes of low rank, an offset each and different numbers of ratings."""
    rng = np.random.default_rng(seed)
    tastes, means = rng.standard_normal((n_items, rank)), rng.uniform(-0.3, 0.5, n_items)
    people = []
    for _ in range(n_users):
        n = min(max(int(n_ratings * rng.lognormal(0.0, 0.5)), 1), n_items)
        own = rng.permutation(n_items)[:n]
        liking = 0.3 * tastes[own] @ rng.standard_normal(rank) + 0.2 * rng.standard_normal()
        people.append((own, np.clip(means[own] + liking + 0.2 * rng.standard_normal(n), -1, 1)))
    return people


def follow_features(people, features, *, seed, deviation=0.3):
    """The same people, each with own slopes on features of the items."""
    rng, p = np.random.default_rng(seed), features.shape[1]
    slopes = [deviation * features @ rng.standard_normal(p) for _ in people]
    return [(items, np.clip(y + slope[items], -1, 1)) for (items, y), slope in zip(people, slopes, strict=True)]


def adverse_people(n_items, seed=0):
    """Users that a bound must survive, by name."""
    rng = np.random.default_rng(seed)
    every, sign = np.arange(n_items), np.where(np.arange(n_items) % 2, 1.0, -1.0)
    halves = np.where(every < n_items // 2, 1.0, -1.0)
    repeated = rng.integers(0, n_items, 100_000)
    return {
        "nothing": (every[:0], np.empty(0)),
        "not a number": (every, np.full(n_items, np.nan)),
        "infinite": (every, sign * np.inf),
        "huge": (every, sign * 1e30),
        "highest": (every, np.ones(n_items)),
        "lowest": (every, -np.ones(n_items)),
        "alternating": (every, sign),
        "opposed": (every, -sign),
        "halves": (every, halves),
        "repeated": (repeated, rng.choice([-1e30, -1.0, 0.3, 1.0, np.nan], len(repeated))),
        "one item": (np.zeros(500, int), np.ones(500)),
        "unknown items": (np.array([-1, n_items, 2**30]), np.ones(3)),
        "few": (every[:2], -sign[:2]),
        "random": (rng.permutation(n_items)[: n_items // 2], rng.uniform(-1, 1, n_items // 2)),
    }


def to_matrix(people, n_items):
    """A sparse matrix that keeps repeated and unknown items as they are."""
    users = np.repeat(np.arange(len(people)), [len(items) for items, _ in people])
    items = np.concatenate([np.zeros(0, int), *(items for items, _ in people)])
    ratings = np.concatenate([np.zeros(0), *(ratings for _, ratings in people)])
    matrix = scipy.sparse.coo_array((len(people), n_items))
    matrix.data, matrix.coords = ratings, (users.astype(np.int64), items.astype(np.int64))
    return matrix


def _budget(epsilon, neighbors):
    return Budget(epsilon, 1e-6, neighbors, "user")


def make_releases(
    people, n_items, *, epsilon=1.0, neighbors="replace", n_users=None, is_implicit=False, seed=None, items=None
):
    """Releases of a fit on these people, and their ratings; `items` are what is public about the items."""
    rows = read_ratings(
        to_matrix(people, n_items), owner="test", rating_range=None if is_implicit else (-1, 1), is_implicit=is_implicit
    )
    budget = _budget(epsilon, neighbors)
    public_users = (n_users or rows.n_users) if neighbors == "replace" else None
    total = partial(LocalEngine(threads=1).total, rows)
    terms = (calibrate(budget), budget.neighbors, N_MAX, NoiseSource(seed), total)
    return RatingReleases(*terms, n_people=public_users, n_items=n_items, items=items)


# Replay


@dataclass(frozen=True)
class Release:
    """One release: its mechanism, what is public about it, the secret total and what came out."""

    mechanism: str
    terms: tuple[Any, ...]
    shape: tuple[int, ...]
    total: Any
    value: Any


class Replay:
    """Stands in for the mechanisms of all releases: records them, or plays a script of released values.

    `made` are the releases of the last fit. Of the last run, `asked` are the kernels of all sums with what they were
    given, and `learned` is what came of it, both as bytes.

    `distortion` adds that many standard normals to every released array while recording, relative to the largest
    entry: bounds must hold whatever was released before.
    """

    def __init__(self, monkeypatch, distortion=0.0, seed=0):
        self.made, self.asked, self.learned, self._script = [], [], b"", None
        self._distortion, self._rng = distortion, np.random.default_rng(seed)
        for mechanism in MECHANISMS:  # all releases pass through this one module
            function = f"release_{mechanism}"
            stand_in = partial(self._release, mechanism, getattr(adaptive, function))
            monkeypatch.setattr(adaptive, function, stand_in)

    def run(self, learn, people, n_items, script=None, **terms):
        """Releases of one fit."""
        self.made, self.asked, self._script = [], [], script
        releases = make_releases(people, n_items, **terms)
        releases.total = partial(self._total, releases.total)
        self.learned = pickle.dumps(learn(releases))
        return self.made

    def fit(self, model, data, script=None):
        """Releases of the fit of an estimator."""
        self.made, self._script = [], script
        model.fit(data)
        return self.made

    def _total(self, original, kernel, state):
        self.asked.append((getattr(kernel, "__name__", type(kernel).__name__), pickle.dumps(state)))
        return original(kernel, state)

    def _release(self, mechanism, original, total, *terms):
        public = tuple(_comparable(term) for term in terms if not isinstance(term, NoiseSource))
        secret = np.array(total)
        if self._script is None:
            value = self._distort(original(total, *terms))
        else:
            assert len(self.made) < len(self._script), "a release that the recorded fit did not make"
            value = self._script[len(self.made)].value
            _log_event(mechanism, terms)
        self.made.append(Release(mechanism, public, secret.shape, secret, deepcopy(value)))
        return deepcopy(value)

    def _distort(self, value):
        if not self._distortion or not isinstance(value, np.ndarray) or value.dtype != np.float64:
            return value
        noise = self._distortion * np.abs(value).max(initial=0.0) * self._rng.standard_normal(value.shape)
        return value + (noise + noise.T if value.ndim == 2 and np.array_equal(value, value.T) else noise)


def _log_event(mechanism, terms):
    """What the mechanism would have told the noise source."""
    [noise] = [term for term in terms if isinstance(term, NoiseSource)]
    if mechanism in ("quantile", "counts"):
        noise.begin(terms[2 if mechanism == "quantile" else 0], terms[-1])
    else:
        noise.begin(terms[0].event, terms[0].neighbors)


def _comparable(term):
    return tuple(term.tolist()) if isinstance(term, np.ndarray) else term


def cost(release):
    """What a release was charged, as mu^2."""
    is_lattice = release.mechanism not in ("quantile", "counts")
    event = release.terms[0].event if is_lattice else release.terms[2 if release.mechanism == "quantile" else 0]
    return squared_mu(event, "test")


def squared_loss(before, after):
    """(Change of a total over the scale of its noise)^2; fails if it exceeds what the release was charged."""
    assert (before.mechanism, before.terms, before.shape) == (after.mechanism, after.terms, after.shape)
    assert np.array_equal(before.value, after.value)
    change = after.total.astype(object) - before.total.astype(object)
    if before.mechanism in ("quantile", "counts"):
        loss = _loss_of_people(before, change)
    else:
        lattice = before.terms[0]
        loss = _squared_norm(before.mechanism, change, lattice) / Fraction(4) ** lattice.exponent
    assert loss <= cost(before) * (1 + Fraction(1, 10**9))
    return float(loss)


def _squared_norm(mechanism, change, lattice):
    """Squared change in the norm in which the noise is isotropic, after its bound in integers was checked."""
    is_replace, bound = lattice.neighbors is Neighbors.REPLACE, lattice.squared_bound
    if mechanism == "vector":
        squares = int((change**2).sum())
        factor = (2 if lattice.nonnegative else 4) if is_replace else 1
        assert squares <= factor * bound
        return squares
    if mechanism == "symmetric_stack":
        size = (int(np.sqrt(8 * change.shape[1] + 1)) - 1) // 2
        is_diagonal = np.equal(*np.tril_indices(size))
        diagonal, off_diagonal = change[:, is_diagonal], change[:, ~is_diagonal]
    else:
        diagonal = np.diagonal(change) if mechanism == "symmetric" else np.zeros(1, object)
        off_diagonal = change[np.triu_indices(len(change), 1)]
    doubled = int((diagonal**2).sum()) + 2 * int((off_diagonal**2).sum())
    assert doubled <= (2 if is_replace else 1) * bound**2
    return Fraction(doubled, 2)


def _loss_of_people(release, change):
    """Loss of a quantile, of which one person moves between cells or is new, or of a number of people."""
    if release.mechanism == "counts":
        event, neighbors = release.terms
        assert np.abs(change).sum() <= 1
        return Fraction(int((change**2).sum())) / Fraction(counts_scale(change.size, event, neighbors)) ** 2
    _, probability, event, neighbors = release.terms
    most = 2 if neighbors is Neighbors.REPLACE else 1  # out of one cell and into another, or one new user
    assert np.abs(change).sum() <= most and np.abs(change).max() <= 1
    rounded = round(probability * 2**20) / 2**20  # by the mechanism
    moves = np.abs(np.cumsum(change)[:-1] - rounded * change.sum())
    return event.count * Fraction(float(moves.max()) / rank_scale(probability, event, neighbors)) ** 2


def _neighbors(people, n_items, neighbors, terms):
    kept = people if neighbors == "add_remove" else people[1:]
    if neighbors == "add_remove" or "n_users" in terms:  # then nobody has to stand in for the first one
        yield "without the first", people[1:]
    yield from ((name, [row, *kept]) for name, row in adverse_people(n_items).items())


def largest_loss(replay, learn, people, n_items, *, neighbors="replace", epsilon=1.0, **terms):
    """Largest share of the whole mu^2 that any neighbor of these people uses; fails if a bound is broken.

    Fails as well if a neighbor with the same released values changes what a kernel is given, or the model. Neighbors
    are these people with the first one replaced by an adverse one, or with an adverse one added or the first one
    removed.
    """
    terms = {"neighbors": neighbors, "seed": 1, "epsilon": epsilon, **terms}
    recorded = replay.run(learn, people, n_items, **terms)
    asked, learned = replay.asked, replay.learned
    whole, worst = squared_mu(calibrate(_budget(epsilon, neighbors)), "test"), 0.0
    assert sum(map(cost, recorded)) <= whole
    for name, other in _neighbors(people, n_items, neighbors, terms):
        replayed = replay.run(learn, other, n_items, recorded, **terms)
        assert len(replayed) == len(recorded), name
        assert replay.asked == asked and replay.learned == learned, name
        loss = sum(squared_loss(*pair) for pair in zip(recorded, replayed, strict=True))
        assert loss <= float(whole) * (1 + 1e-9), name
        worst = max(worst, loss / float(whole))
    return worst
