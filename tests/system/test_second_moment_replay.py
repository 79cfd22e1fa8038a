"""Fits with a private radius on adversarial neighbors: every sum stays within its bound, and so does the whole.

With the released values of another fit, a neighbor asks for the same sums with the same public states and gives the
same model, bit for bit: nothing but releases reaches it. Bugs that break this are planted and must be noticed.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hushrank.estimators.second_moment import columns, learning, radius, releases
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE
from hushrank.estimators.second_moment.releases import RowReleases
from hushrank.estimators.second_moment.sums import count_norms, sum_entries, sum_moments
from hushrank.linalg import framed_sums
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.length import length_sensitivity
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice
from hushrank.privacy.noise.source import NoiseSource
from representation_support import RELATIONS, RecordingEngine

N, D = 60, 4
MODES = {
    "none": {},
    "center": {"center": "private"},
    "near": {"center": "private"},
    "scales": {"center": "private", "standardize": "private"},
    "limits": {"column_bounds": (-20.0, 20.0), "center": [1.0, 2.0, 0.0, 0.0]},
    "columns": {"select_columns": "private"},
    "complex": {"center": "private", "field": "complex"},
    "draw": {"center": "private", "mechanism": "exponential"},
}
CASES = [
    (mode, delta, relation) for mode in MODES for delta in (0.0, 1e-6) for relation in RELATIONS
    if not (mode == "draw" and delta)
]  # fmt: skip
FACTORS = {Neighbors.REPLACE: 2, Neighbors.ADD_REMOVE: 1}


def make_model(mode, delta, relation):
    terms = {"row_norm": 40.0, "epsilon": 50.0, "delta": delta, "neighbors": relation, "random_state": 1, **MODES[mode]}
    return PrivatePCA(2, **terms) if mode in ("columns", "draw") else PrivateCovariance(**terms)


def make_rows(mode):
    """Rows with a far mean along the first axis; the first row is far out on it."""
    X = np.random.default_rng(0).standard_normal((N, D))
    X[:, 0] += 0.0 if mode == "near" else 9.0
    X[0] = [1e6, 0.0, 0.0, 0.0]
    return X.astype(complex) if mode == "complex" else X


def adverse_rows(model):
    """Rows that a bound must survive, by name; the second is orthogonal to the first of the table when augmented."""
    r, e = model.radius_, np.eye(D)
    center = np.real(model.center_)
    cosine = -(RADIUS_RECIPE.offset**2)
    found = {
        "opposite": -1e6 * e[0],
        "orthogonal": 1e6 * (cosine * e[0] + math.sqrt(1 - cosine**2) * e[1]),
        "across": 1e6 * e[1],
        "huge": np.full(D, 1e30),
        "1e308": np.array([1e308, -1e308, 1e308, 0.0]),
        "not a number": np.array([1.0, math.nan, 0.0, 0.0]),
        "infinite": np.full(D, math.inf),
        "zeros": np.zeros(D),
        "subnormal": np.full(D, 5e-324),
        "the center": center,
        "opposite of the mean": -5.0 * center,
        "at the radius": center + r * e[2],
        "above it": center - r * (1 + 1e-12) * e[3],
        "at the bound": 40.0 * e[1],
        "flat": np.full(D, -1e6),
        "ordinary": e[0] + 0.5,
    }
    if np.iscomplexobj(model.components_ if hasattr(model, "components_") else model.covariance_):
        found |= {
            f"i {name}": 1j * row for name, row in found.items() if name in ("opposite", "across", "huge", "zeros")
        }
    return found


def neighbors_of(X, model, relation):
    if relation == "add_remove":
        yield "without the first", X[1:]
        yield from ((name, np.vstack([X, row[np.newaxis]])) for name, row in adverse_rows(model).items())
    else:
        yield from ((name, np.vstack([row[np.newaxis], X[1:]])) for name, row in adverse_rows(model).items())


# Replay


@dataclass(frozen=True)
class Release:
    """One release: its mechanism, what is public about it, executed events, the secret, and what came out."""

    mechanism: str
    terms: tuple[Any, ...]
    events: tuple[Any, ...]
    secret: tuple[Any, ...]
    value: Any

    @property
    def public(self):
        return [repr(term.tolist() if isinstance(term, np.ndarray) else term) for term in self.terms]


PLACES = {
    "counts": [releases],
    "quantile": [radius],
    "first_above": [radius],
    "length": [releases],
    "vector": [releases, columns],
    "gram": [learning],
    "orbit": [learning],
}


class MomentReplay:
    """Stands in for all mechanisms: records what they see, or plays a script of released values."""

    def __init__(self, monkeypatch, distortion=0.0):
        self.made, self._script, self._distortion = [], None, distortion
        self._rng = np.random.default_rng(0)
        for mechanism, modules in PLACES.items():
            for module in modules:
                original = getattr(module, f"release_{mechanism}")
                monkeypatch.setattr(module, f"release_{mechanism}", self._stand_in(mechanism, original))

    def _stand_in(self, mechanism, original):
        def release(secret, *terms):
            [noise] = [term for term in terms if isinstance(term, NoiseSource)]
            public = tuple(term for term in terms if term is not noise)
            number = len(self.made)
            if self._script is None:
                before = len(noise.executed)
                value = self._distort(mechanism, original(secret, *terms))
                events = tuple((entry.event, entry.neighbors, entry.numerics) for entry in noise._log[before:])
            else:
                assert number < len(self._script), "a release that the recorded fit did not make"
                value, events = self._script[number].value, self._script[number].events
                for event, neighbors, numerics in events:
                    noise.begin(event, neighbors, numerics=numerics)
            parts = secret if isinstance(secret, tuple) else (secret,)
            self.made.append(Release(mechanism, public, events, tuple(np.array(part) for part in parts), value))
            return value

        return release

    def _distort(self, mechanism, value):
        """Bounds must hold whatever was released before."""
        if not self._distortion or mechanism not in ("vector", "length", "gram"):
            return value
        if mechanism == "length":
            return round(value * float(np.exp(self._distortion * self._rng.standard_normal())))
        noise = self._distortion * np.abs(value).max() * self._rng.standard_normal(value.shape)
        return value + (noise if mechanism == "vector" else noise + noise.T)

    def fit(self, model, X, script=None):
        self.made, self._script, model.engine = [], script, RecordingEngine()
        model.fit(X)
        return list(self.made), model.engine.seen


# How far a release moved, as a share of what its noise is made for


def share_moved(one, two, relation):
    """Largest share of the sensitivity that this pair uses; above 1 the claim is false."""
    factor, terms = FACTORS[relation], one.terms
    change = [b.astype(object) - a.astype(object) for a, b in zip(one.secret, two.secret, strict=True)]
    if one.mechanism == "counts":
        return abs(int(change[0][0]))
    if one.mechanism in ("quantile", "first_above"):
        counts = np.cumsum(change[0])
        assert set(counts) <= {0, 1} or set(counts) <= {0, -1}, "counts that move both ways, or by more than one"
        assert relation is Neighbors.ADD_REMOVE or counts[-1] == 0
        return int(np.abs(counts).max())
    if one.mechanism == "length":
        bound = terms[0]
        assert sum(int(v) ** 2 for v in change[0]) <= factor**2 * bound
        lengths = [math.isqrt(sum(int(v) ** 2 for v in made.secret[0].tolist())) for made in (one, two)]
        return abs(lengths[0] - lengths[1]) / length_sensitivity(bound, relation)
    lattice = terms[0]
    if one.mechanism == "vector":
        if isinstance(lattice, GaussianLattice):
            squares = sum(int(v) ** 2 for v in change[0])
            signs = 2 if lattice.nonnegative else 4
            return math.sqrt(squares / ((signs if factor == 2 else 1) * lattice.squared_bound))
        return sum(abs(int(v)) for v in change[0]) / (factor * lattice.l1_bound)
    parts = [part.astype(complex) for part in change]
    matrix = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    values = np.linalg.svd(matrix, compute_uv=False)
    if one.mechanism == "orbit":
        return values.sum() / (factor * lattice.draws.row_norm**2)
    if isinstance(lattice, SymmetricLattice):
        return float(np.linalg.norm(values)) / (math.sqrt(factor) * lattice.squared_bound)
    return values.sum() / (factor * lattice.squared_bound)


def cost(made, cap):
    """Sum of mu^2, or of epsilons, of what was executed, over that of the cap."""
    events = [event for release in made for event, _, _ in release.events]
    if isinstance(cap, Gaussian):
        return sum(squared_mu(event, "test") for event in events) * Fraction(cap.noise_multiplier) ** 2
    return sum(Fraction(event.epsilon) for event in events) / Fraction(cap.epsilon)


def learned(model):
    return {name: np.asarray(value) for name, value in vars(model).items() if name.endswith("_") and name != "privacy_"}


def largest_moves(monkeypatch, mode, delta, relation, distortion=0.0, names=None):
    """Largest share of each sensitivity that any neighbor uses; fails if one is exceeded or anything public differs."""
    replay, X = MomentReplay(monkeypatch, distortion), make_rows(mode)
    model, other = make_model(mode, delta, relation), make_model(mode, delta, relation)
    recorded, asked = replay.fit(model, X)
    assert cost(recorded, model.privacy_.event) <= 1
    moves, n_pairs = defaultdict(float), 0
    for name, neighbor in neighbors_of(X, model, relation):
        if names is not None and name not in names:
            continue
        replayed, again = replay.fit(other, neighbor, recorded)
        assert again == asked, f"{name}: other sums"
        for one, two in zip(recorded, replayed, strict=True):
            assert (one.mechanism, one.public) == (two.mechanism, two.public), f"{name}: other public terms"
            share = share_moved(one, two, Neighbors(relation))
            assert share <= 1 + 1e-9, f"{name}: {one.mechanism} moved {share} of its sensitivity"
            moves[one.mechanism] = max(moves[one.mechanism], share)
        first, second = learned(model), learned(other)
        assert all(np.array_equal(first[key], second[key], equal_nan=True) for key in first | second), name
        n_pairs += 1
    assert n_pairs >= (1 if names else 16)
    return moves


ATTAINED = {"counts": 1.0, "quantile": 1.0, "first_above": 1.0, "length": 0.99, "vector": 0.99, "gram": 0.99}


@pytest.mark.parametrize(("mode", "delta", "relation"), CASES)
def test_no_neighbor_moves_a_sum_by_more_than_its_noise_is_made_for(monkeypatch, mode, delta, relation):
    moves = largest_moves(monkeypatch, mode, delta, relation)
    assert ("counts" in moves) == (relation == "add_remove")
    assert ("quantile" in moves) == bool(delta) and ("first_above" in moves) == (not delta)
    if mode in ("center", "scales", "complex", "draw"):
        assert {"length", "vector"} <= set(moves)  # the far mean was bought
    for mechanism, share in moves.items():
        if mechanism in ATTAINED and not (mechanism == "length" and mode == "near"):
            assert share >= ATTAINED[mechanism] - (0.01 if mode == "limits" else 1e-3), (mechanism, share)


@pytest.mark.parametrize(("mode", "delta"), [("center", 0.0), ("scales", 1e-6), ("columns", 1e-6), ("complex", 0.0)])
def test_bounds_hold_whatever_was_released(monkeypatch, mode, delta):
    for relation in RELATIONS:
        with monkeypatch.context() as patched:
            assert largest_moves(patched, mode, delta, relation, distortion=3.0)["gram"] > 0.1


# Bugs that must be noticed


def moments_of_longer_rows(block, state):
    """Rows of twice the length that the noise is made for."""
    frame, radius_, bound, field = state
    return sum_moments(block, (frame, radius_, 4 * bound, field))


def rows_as_they_are(X, norm_bound, limit, power, Y, tally):
    """A quantizer that shortens nothing; so that integers stay exact, rows are cut far out."""
    unit = norm_bound / (math.sqrt(limit) if power == 2 else limit)
    with np.errstate(all="ignore"):
        Y[:] = np.rint(np.clip(np.nan_to_num(X), -1e3, 1e3) / unit)
    tally[0] += len(X)


def count_as_it_is(self, secret):
    """The number of rows, paid for and without noise."""
    self.noise.begin(self.take(releases.RECIPE.count), self.neighbors)
    return secret


def radius_as_it_is(self, norms, frame, bound, level, count, share, power=2):
    """The largest norm on the grid; the noisy quantile is paid for and thrown away."""
    search(self, norms, frame, bound, level, count, share, power)
    grid = releases.search_grid(releases._top(bound, frame, power), releases.N_GRID)
    return float(grid[min(int(np.flatnonzero(norms[power]).max()), len(grid) - 1)])


def norms_counted_twice(block, state):
    return tuple(2 * cells for cells in count_norms(block, state))


def entries_with_signs(block, state):
    """Sums of entries where noise is made for their magnitudes."""
    frame, lattice, _ = state
    return sum_entries(block, (frame, lattice, "all"))


def squares_beyond_their_bound(lattice):
    """The bound of a vector taken for the bound of the squared norm of a row."""
    return lattice.squared_bound if isinstance(lattice, GaussianLattice) else 4 * lattice.l1_bound


def constant_on_top(radius_, event, neighbors, **terms):
    """An augmented row whose constant nobody paid for."""
    lattice = plan_augmented(radius_, event, neighbors, **{**terms, "offset": 0.0})
    return type(lattice)(lattice.gram, radius_, lattice.squared_bound, math.isqrt(lattice.squared_bound // 2))


def center_as_it_is(self, secret, lattice):
    """The mean without noise, paid for."""
    self._filter.spend(lattice.event)
    self.noise.begin(lattice.event, lattice.neighbors)
    return secret * lattice.unit


search, plan_augmented = RowReleases.radius, learning.augmented_lattice

# Name -> where, what, its broken version, the mode in which it shows, and relations.
PLANTED = {
    "rows of twice the length": (learning, "sum_moments", moments_of_longer_rows, "none", RELATIONS),
    "rows that are not shortened": (framed_sums, "quantize_block", rows_as_they_are, "center", RELATIONS),
    "a count from the data": (RowReleases, "count", count_as_it_is, "none", ("add_remove",)),
    "a radius from the data": (RowReleases, "radius", radius_as_it_is, "none", RELATIONS),
    "a center from the data": (RowReleases, "planned_vector", center_as_it_is, "center", RELATIONS),
    "rows that count twice": (releases, "count_norms", norms_counted_twice, "none", RELATIONS),
    "squares of longer rows": (columns, "squares_bound", squares_beyond_their_bound, "scales", RELATIONS),
    "a constant on top": (learning, "augmented_lattice", constant_on_top, "center", RELATIONS),
}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", PLANTED)
def test_planted_bugs_are_noticed(monkeypatch, name, delta):
    place, attribute, broken, mode, relations = PLANTED[name]
    for relation in relations:
        with monkeypatch.context() as patched:
            patched.setattr(place, attribute, broken)
            with pytest.raises(AssertionError):
                largest_moves(patched, mode, delta, relation)


def test_signs_of_entries_are_noticed(monkeypatch):
    """Under replace, where the noise of magnitudes is smaller; pure noise is the same for both."""
    monkeypatch.setattr(releases, "sum_entries", entries_with_signs)
    with pytest.raises(AssertionError, match=r"vector moved 1\.41"):
        largest_moves(monkeypatch, "columns", 1e-6, "replace")
