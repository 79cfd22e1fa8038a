"""What an open sketch holds: sketches add up if everything agrees, and anything else changes nothing."""

import numpy as np
import pytest

import hushrank as hr
from hushrank.data.updates.reading import read_updates
from hushrank.estimators.turnstile.held import add_sketch, fixed_parameters, hold
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Repeated

TERMS = {"shape": (30, 20), "rank": 2, "epsilon": 1.0, "delta": 1e-6}
# Another valid value of every parameter; together with TERMS each makes a sketch.
OTHERS = {
    "shape": {"shape": (20, 30)},
    "rank": {"rank": 3},
    "epsilon": {"epsilon": 2.0},
    "delta": {"delta": 1e-7},
    "unit": {"unit": "row"},
    "bound": {"bound": 1.5},
    "clip": {"clip": 0.5},
    "kind": {"kind": "full"},
    "operator": {"operator": "srht"},
    "per_column": {"per_column": 3},
    "sketch_sizes": {"sketch_sizes": (9, 18)},
    "integers": {"integers": "int32"},
    "pan_private": {"pan_private": True},
    "user_totals": {"user_totals": "promised"},
    "neighbors": {"neighbors": "replace"},
}
NOT_COMPARED = {"memory", "random_state", "ledger", "on_invalid"}


def held_by(key=b"k" * 32, **changes):
    return hold(TurnstilePlanner(**{**TERMS, **changes}), key)


def add(held, rows, columns, deltas):
    assert held.intake.state.add(*(np.array(part, np.int64) for part in (rows, columns, deltas)))


def content(held):
    totals = held.intake.totals
    counters = None if totals is None else [part.tolist() for part in totals.content()]
    arrays = [array.tobytes() for array in held.intake.state.arrays]
    return arrays, counters, sorted(held.shards), held.n_starts, held.n_releases


def refused(mine, theirs, message):
    """Both stay as they are."""
    before = content(mine), content(theirs)
    with pytest.raises(InvalidParameter, match=message) as refusal:
        add_sketch(mine, theirs)
    assert (content(mine), content(theirs)) == before and "\n" not in str(refusal.value)
    return refusal.value


# Opening


def test_a_state_is_empty_and_its_key_is_new_or_of_the_seed():
    one, two = hold(TurnstilePlanner(**TERMS)), hold(TurnstilePlanner(**TERMS))
    assert not any(array.any() for array in one.intake.state.arrays)
    assert len(one.key) == 32 and one.key != two.key and not one.shards & two.shards
    seeded = [hold(TurnstilePlanner(**TERMS, random_state=seed)) for seed in (1, 1, 2)]
    assert seeded[0].key == seeded[1].key != seeded[2].key
    assert len({*seeded[0].shards, *seeded[1].shards}) == 2  # the same operators, other updates
    assert hold(TurnstilePlanner(**TERMS, random_state=1), b"x" * 32).key == b"x" * 32


def test_parameters_are_kept_as_they_were():
    shape = [30, 20]
    planner = TurnstilePlanner(**{**TERMS, "shape": shape})
    held = hold(planner)
    shape[0] = 10**6
    assert held.parameters["shape"] == (30, 20) != fixed_parameters(planner)["shape"]
    assert set(held.parameters) == set(TurnstilePlanner.parameter_table()) - {"ledger", "on_invalid"}


@pytest.mark.parametrize("seed", range(5))
def test_a_promise_about_deltas_holds_for_integers(seed):
    """Rounded to the nearest, many small updates would exceed the bound together."""
    deltas = np.random.default_rng(seed).exponential(size=600)
    deltas /= deltas.sum() * (1.0 + 1e-12)
    rows, columns = np.divmod(np.arange(600), 20)
    held = held_by(unit="user", user_totals="promised", kind="full")
    held.intake.add_all(read_updates(rows, columns, deltas, shape=(30, 20), owner="test"))
    units = held.plan.lattice.units
    assert units - 600 <= np.abs(held.intake.state.arrays[0]).sum() <= units


# Adding


def test_sketches_of_two_parts_are_that_of_the_whole():
    for changes in ({}, {"kind": "three_sketch"}, {"unit": "frobenius"}, {"kind": "full"}, {"integers": "int32"}):
        mine, theirs, whole = (held_by(**changes) for _ in range(3))
        add(mine, [1, 2], [3, 4], [50, -60])
        add(theirs, [1, 29], [3, 19], [7, 1])
        add(whole, [1, 2, 1, 29], [3, 4, 3, 19], [50, -60, 7, 1])
        add_sketch(mine, theirs)
        assert content(mine)[0] == content(whole)[0]


def test_counts_of_releases_and_starts_add_up():
    mine, theirs = held_by(pan_private=True), held_by(pan_private=True)
    mine.n_starts, mine.n_releases, theirs.n_starts, theirs.n_releases = 1, 2, 2, 5
    shards = mine.shards | theirs.shards
    add_sketch(mine, theirs)
    assert (mine.n_starts, mine.n_releases) == (3, 7) and mine.shards == shards
    assert mine.total() == Repeated(mine.plan.lattice.event, 10)
    assert (theirs.n_starts, theirs.n_releases, len(theirs.shards)) == (2, 5, 1)


def test_every_parameter_is_known_here():
    assert set(OTHERS) | NOT_COMPARED == set(TurnstilePlanner.parameter_table())


@pytest.mark.parametrize("name", OTHERS)
def test_another_parameter_is_refused_by_its_name(name):
    mine, theirs = held_by(), held_by(**OTHERS[name])
    add(mine, [1], [2], [3])
    for one, other in ((mine, theirs), (theirs, mine)):
        shown = repr(other.parameters[name])
        error = refused(one, other, f"^{name} of TurnstileSketch must be that of the other sketch")
        assert error.requirement == f"that of the other sketch, {shown}"


def test_pairs_are_compared_by_their_numbers():
    mine, theirs = held_by(sketch_sizes=[9, 18]), held_by(shape=np.array([30, 20]), sketch_sizes=(9, np.int64(18)))
    add_sketch(mine, theirs)
    assert len(mine.shards) == 2


def test_memory_and_seeds_may_differ():
    mine, theirs = held_by(random_state=1), held_by(memory=10**6)
    add_sketch(mine, theirs)  # the same key
    assert len(mine.shards) == 2


def test_other_operators_are_refused_and_no_key_is_shown():
    mine, theirs = held_by(), held_by(b"q" * 32)
    error = refused(mine, theirs, "^other of TurnstileSketch must be a sketch with the same operators, by `new_shard`")
    assert "kkkk" not in str(error) and "qqqq" not in str(error)


def test_updates_do_not_count_twice():
    mine, theirs, third = (held_by() for _ in range(3))
    add(theirs, [0], [0], [1])
    add_sketch(mine, theirs)
    refused(mine, theirs, "^other of TurnstileSketch must be a sketch of other updates; the same ones would count twi")
    refused(theirs, mine, "the same ones would count twice")
    refused(mine, mine, "the same ones would count twice")
    add_sketch(third, theirs)  # by another way to the same sketch
    refused(mine, third, "the same ones would count twice")


@pytest.mark.parametrize("integers", ["int32", "int64"])
def test_an_overflow_is_refused_and_taken_back(integers):
    mine, theirs = held_by(kind="full", integers=integers), held_by(kind="full", integers=integers)
    largest = np.iinfo(integers).max
    mine.intake.state.arrays[0][3, 4], theirs.intake.state.arrays[0][3, 4] = largest - 5, 6
    add(theirs, [0], [0], [9])
    refused(mine, theirs, f"^other of TurnstileSketch must be .* fit {integers}; got 'an overflow'")
    theirs.intake.state.arrays[0][3, 4] = 5
    add_sketch(mine, theirs)
    assert mine.intake.state.arrays[0][3, 4] == largest and mine.intake.state.arrays[0][0, 0] == 9


# Users in several shards


def user_sketch(rows, deltas, users):
    sketch = hr.TurnstileSketch(**TERMS, unit="user", random_state=3)
    return sketch.update(rows, [0] * len(rows), deltas, users=users)._held


def test_a_user_of_two_shards_is_refused_if_together_they_exceed_the_bound():
    mine = user_sketch([0, 1], [0.75, 1.0], ["Anna K", "Bob"])
    theirs = user_sketch([2, 3], [-0.5, 1.0], ["Anna K", "Cid"])
    error = refused(mine, theirs, "^other of TurnstileSketch must be a sketch of other users: together some exceed")
    assert not any(user in str(error) for user in ("Anna", "Bob", "Cid"))


@pytest.mark.parametrize("ids", [["ann", "ann"], [7, "07"], ["7.0", 7]])
def test_within_the_bound_they_count_together_from_then_on(ids):
    mine, theirs = user_sketch([0], [0.75], ids[:1]), user_sketch([2], [-0.125], ids[1:])
    add_sketch(mine, theirs)
    units = mine.plan.lattice.units
    assert mine.intake.totals.content()[1].tolist() == [round(0.75 * units) + round(0.125 * units)]
    more = user_sketch([5], [0.25], ids[:1])
    refused(mine, more, "one of the same users")
    add_sketch(mine, user_sketch([5], [0.125], ids[1:]))
    assert mine.intake.totals.content()[1].tolist() == [round(0.75 * units) + 2 * round(0.125 * units)]


def test_an_overflow_leaves_the_counters_alone():
    mine, theirs = user_sketch([0], [0.5], ["ann"]), user_sketch([0], [0.5], ["bob"])
    mine.intake.state.arrays[0][:] = 2**63 - 1
    refused(mine, theirs, "an overflow")


# What it costs


@pytest.mark.parametrize("changes", [{}, {"delta": 0.0}, {"unit": "frobenius"}, {"unit": "row", "operator": "srht"}])
def test_the_total_is_that_of_the_lattice(changes):
    held = held_by(**changes)
    delta, epsilons = TERMS["delta"], []
    for held.n_releases in (1, 2, 3):
        assert held.total() == held.plan.lattice.total(held.n_releases)
        epsilons.append(accountant.epsilon(held.total(), delta))
    held.n_starts, held.n_releases = 2, 1
    assert accountant.epsilon(held.total(), delta) == epsilons[-1] > epsilons[1] > epsilons[0]
