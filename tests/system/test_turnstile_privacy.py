"""Privacy of turnstile sketches by drawing them: real operators, worst changes, the delta that the claim says or less.

Given its operators a release is Gaussian, and its delta is the curve at the shift by the change; the delta of the
release is the mean of that over operators, which are drawn with fresh keys. Nothing here uses the laws of shifts that
the claims are calculated from.
"""

import dataclasses
import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

import hushrank as hr
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.estimators.turnstile.state import SketchState
from hushrank.evaluation.audit import delta_lower_bound, epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Gaussian, Mixture
from hushrank.privacy.gdp import gaussian_delta
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.sketch_draws import fresh_key
from support import FALSE_ALARM, plant

EPSILON, DELTA = 1.0, 1e-2
SHAPE, SCALE = (6, 20), 2**16  # more columns than an operator of one place has buckets
N_KEYS = 3000
# Of a mean of so many numbers in [0, 1]: 2e-12 if it were normal, and the skewness of ours costs less than a factor
# of 100 at this size.
STANDARD_ERRORS = 7.0
UNITS = ("entry", "row", "rank1", "frobenius")

# (kind, sizes, signs of a column): as narrow as can be, where laws are widest; several words; and with a core
SKETCHES = {
    "one": ("two_sketch", (1, 1), 1),
    "two": ("two_sketch", (2, 2), 2),
    "wider": ("two_sketch", (4, 8), 2),
    "core": ("three_sketch", (2, 3), 2),
}
CASES = [
    (sketch, operator, unit)
    for sketch in SKETCHES
    for operator in ("sparse_sign", "gaussian", "srht")
    for unit in UNITS
    if sketch != "core" or operator == "gaussian" or unit in ("entry", "row")
]


def changes():
    """Changes by name, in lattice units, and the units of privacy that cover them."""
    rng = np.random.default_rng(8)
    entry, pair, row = np.zeros((3, *SHAPE))
    entry[2, 3] = pair[2, [3, 9]] = row[2] = 1.0
    left, right = (np.linalg.qr(rng.standard_normal((side, 6)))[0] for side in SHAPE)
    matrices = {
        "one entry": (entry, UNITS),
        "two equal entries of a row": (pair, UNITS),
        "a flat row": (row, UNITS),
        "flat of rank one": (np.ones(SHAPE), ("entry", "rank1", "frobenius")),
        "random of rank one": (np.outer(left[:, 0], right[:, 0]), ("entry", "rank1", "frobenius")),
        "random of full rank": (rng.standard_normal(SHAPE), ("entry", "frobenius")),
        "decaying": ((left * 0.6 ** np.arange(6)) @ right.T, ("entry", "frobenius")),
    }
    return {
        name: (np.rint(SCALE * E / np.abs(E).max()).astype(np.int64), units) for name, (E, units) in matrices.items()
    }


CHANGES = changes()


def planned(sketch, operator, unit, **options):
    kind, sizes, per_column = SKETCHES[sketch]
    terms = {"kind": kind, "sketch_sizes": sizes, "per_column": per_column, "operator": operator, "unit": unit}
    planner = TurnstilePlanner(shape=SHAPE, rank=1, **{"epsilon": EPSILON, "delta": DELTA, **terms, **options})
    return planner._plan(planner._check_parameters(), {})


@functools.cache
def squared_shifts(sketch, operator):
    """|R_p(E)|^2 of the parts, for every change, under fresh keys: of shape (changes, keys, parts).

    Operators do not depend on the unit of privacy.
    """
    layout = planned(sketch, operator, "row").layout
    updates = [(*map(np.ascontiguousarray, np.nonzero(E)), E[E != 0]) for E, _ in CHANGES.values()]
    squares = np.zeros((len(updates), N_KEYS, len(layout.arrays)))
    for draw in range(N_KEYS):
        state = SketchState(layout, fresh_key(), np.int64)
        for number, update in enumerate(updates):
            assert state.add(*update)
            squares[number, draw] = [np.square(array, dtype=np.float64).sum() for array in state.arrays]
            for array in state.arrays:
                array[...] = 0
    return squares


def shifts(sketch, operator, unit, lattice):
    """|R(E)| in units of the noise, for every change with the largest norm that the unit allows, by its name."""
    weights = [4.0 ** -(part.coarser + lattice.exponent) for part in lattice.parts]
    largest = lattice.units * (2 if lattice.neighbors is Neighbors.REPLACE else 1)
    found = {}
    for squares, (name, (E, units)) in zip(squared_shifts(sketch, operator), CHANGES.items(), strict=True):
        if unit in units:
            norm = np.abs(E).sum() if unit == "entry" else math.sqrt(np.square(E, dtype=np.float64).sum())
            found[name] = np.sqrt(squares @ weights) * (largest / norm)
    return found


def mean_delta(mu):
    """Mean of the Gaussian curve, and what it may be wrong by."""
    mu = np.maximum(mu, 1e-9)
    deltas = ndtr(mu / 2 - EPSILON / mu) - math.exp(EPSILON) * ndtr(-mu / 2 - EPSILON / mu)
    return deltas.mean(), STANDARD_ERRORS * deltas.std(ddof=1) / math.sqrt(deltas.size)


def test_the_curve_of_this_file_is_the_gaussian_one():
    for mu in (0.1, 0.5, 1.0, 4.0):
        assert mean_delta(np.full(2, mu))[0] == pytest.approx(float(gaussian_delta(EPSILON, mu)), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("sketch", "operator", "unit"), CASES)
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_no_change_exceeds_the_claim_and_half_the_noise_does(sketch, operator, unit, neighbors):
    lattice = planned(sketch, operator, unit, neighbors=neighbors).lattice
    is_certain = unit == "entry" and operator != "gaussian"
    assert isinstance(lattice.event, Gaussian if is_certain else Mixture)
    claim = accountant.delta(lattice.event, EPSILON)
    assert 0.999 * DELTA < claim <= DELTA
    worst, worst_halved = 0.0, 0.0
    for mu in shifts(sketch, operator, unit, lattice).values():
        mean, slack = mean_delta(mu)
        assert mean - slack <= claim
        assert slack < 0.5 * claim  # so that twice the claim would be seen
        worst = max(worst, mean + slack)
        halved, slack = mean_delta(2.0 * mu)
        worst_halved = max(worst_halved, halved - slack)
    assert worst_halved > 2.0 * claim
    if is_certain or operator == "gaussian":  # their laws are attained; those of signs are bounds of moments
        assert worst > 0.9 * claim


@pytest.mark.parametrize("sketch", SKETCHES)
@pytest.mark.parametrize("operator", ["sparse_sign", "srht"])
def test_where_magnitudes_are_bounded_no_draw_exceeds_the_claim(sketch, operator):
    """Not on average: in every one of the drawn sketches, and a single entry moves all of them alike."""
    lattice = planned(sketch, operator, "entry").lattice
    largest = 1.0 / lattice.event.noise_multiplier
    found = shifts(sketch, operator, "entry", lattice)
    assert all(mu.max() <= largest for mu in found.values())
    assert found["one entry"].min() == found["one entry"].max() > 0.999 * largest


@pytest.mark.parametrize(("operator", "unit"), [("sparse_sign", "row"), ("gaussian", "rank1"), ("gaussian", "entry")])
def test_two_looks_at_one_sketch_are_within_the_claim_of_both(operator, unit):
    """A state that is private itself: noise at the start and in the output, of one draw of the operators."""
    plan = planned("two", operator, unit, pan_private=True)
    claim = accountant.delta(plan.lattice.total(2), EPSILON)
    assert claim <= DELTA
    for mu in shifts("two", operator, unit, plan.lattice).values():
        mean, slack = mean_delta(math.sqrt(2.0) * mu)
        assert mean - slack <= claim
    rank_one = "a flat row" if unit == "row" else "one entry"
    mean, slack = mean_delta(2.0 * math.sqrt(2.0) * shifts("two", operator, unit, plan.lattice)[rank_one])
    assert mean - slack > claim


def test_signs_on_both_sides_of_a_core_are_refused_where_no_bound_is_known():
    for operator in ("sparse_sign", "srht"):
        for unit in ("rank1", "frobenius"):
            with pytest.raises(InvalidParameter, match=r"^operator of TurnstileSketch must be 'gaussian' for a core"):
                planned("core", operator, unit)


# Audits of the whole release


AUDITED = {
    "signs": {"unit": "entry", "operator": "sparse_sign", "sketch_sizes": (2, 3), "per_column": 2},
    "gaussian": {"unit": "rank1", "operator": "gaussian", "sketch_sizes": (8, 8)},
}


def released_by(sketch, monkeypatch):
    """All arrays that one factorization releases."""
    seen = []

    def decode(kind, released, state, rank, noise):
        seen.extend(released)
        return SimpleNamespace(U=np.zeros((SHAPE[0], rank)), s=np.zeros(rank), Vt=np.zeros((rank, SHAPE[1])))

    monkeypatch.setattr("hushrank.estimators.turnstile.open_sketch.decode", decode)
    sketch.factorize()
    return seen


def weaken(sketch):
    """Half the noise from now on, as a bug would have it."""
    with sketch._open() as held:
        lattice = plant(held.plan.lattice, exponent=held.plan.lattice.exponent - 1)
        held.plan = dataclasses.replace(held.plan, lattice=lattice)


def privacy_loss(sketch, released):
    """Log-likelihood ratio of the release with one entry of the bound, against none, for who knows the operators."""
    with sketch._open() as held:
        moved, lattice = SketchState(held.plan.layout, held.key, np.int64), held.plan.lattice
    moved.add(np.array([2]), np.array([3]), np.array([lattice.units]))
    loss = 0.0
    for number, (seen, by_entry) in enumerate(zip(released, moved.arrays, strict=True)):
        change = by_entry * lattice.unit(number)
        loss += np.vdot(seen - change / 2.0, change) / lattice.deviation(number) ** 2
    return loss


def losses(with_entry, halved, trials, monkeypatch, **parameters):
    found = []
    for _ in range(trials):
        sketch = hr.TurnstileSketch(shape=SHAPE, rank=1, **parameters)
        if halved:
            weaken(sketch)
        if with_entry:
            sketch.update([2], [3], [1.0])
        found.append(privacy_loss(sketch, released_by(sketch, monkeypatch)))
    return np.array(found)


@pytest.mark.audit
@pytest.mark.parametrize("name", AUDITED)
@pytest.mark.parametrize("halved", [False, True])
def test_audit_of_a_whole_release(name, halved, monkeypatch):
    """From updates to released arrays: an entry of the bound is there or not, and the operators are known."""
    epsilon, delta, trials = 0.1, 0.2, 2500  # half the noise: 0.42, and the bound 0.31 with a deviation of 0.014
    terms = {"epsilon": epsilon, "delta": delta, **AUDITED[name]}
    hits = [
        int(np.sum(losses(with_entry, halved, trials, monkeypatch, **terms) > epsilon)) for with_entry in (True, False)
    ]
    found = delta_lower_bound(hits[0], trials, hits[1], trials, epsilon, confidence=1 - FALSE_ALARM)
    assert found > delta if halved else 0.0 < found <= delta


@pytest.mark.audit
@pytest.mark.parametrize("halved", [False, True])
def test_audit_of_a_pure_release(halved, monkeypatch):
    """One Laplace deviate: whether the released entry is at least the bound."""
    hits, trials = [], 2500
    for with_entry in (True, False):
        count = 0
        for _ in range(trials):
            sketch = hr.TurnstileSketch(shape=(1, 1), rank=1, kind="full", epsilon=1.0)
            if halved:
                weaken(sketch)
            if with_entry:
                sketch.update([0], [0], [1.0])
            count += released_by(sketch, monkeypatch)[0][0, 0] >= 1.0
        hits.append(count)
    found = epsilon_lower_bound(hits[0], trials, hits[1], trials, confidence=1 - FALSE_ALARM)
    assert found > 1.0 if halved else 0.3 < found <= 1.0
