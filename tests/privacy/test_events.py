"""Events check themselves, flatten, and travel through JSON; the accountant's laws hold for every class."""

import dataclasses
import inspect
import itertools
import json
import math
import pickle
import sys

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant, events
from hushrank.privacy.events import (
    MOST_NESTED,
    Composed,
    Gaussian,
    Mixture,
    NonPrivate,
    Pure,
    Repeated,
    check_event,
    from_dict,
    leaves,
    nesting,
    to_dict,
    together,
)

PROFILE = ((0.0, 0.5, 1.0, 2.0), (0.1, 0.03, 0.01, 1e-7))

# For every class: events whose cost rises from one to the next, one chain for each parameter.
RISING = {
    "Gaussian": {"noise_multiplier": [Gaussian(x) for x in (100.0, 7.0, 2.0, 0.5)]},
    "Pure": {
        "epsilon": [Pure(x) for x in (0.01, 0.2, 1.0, 4.0)],
        "bounded_range": [Pure(0.3, bounded_range=True), Pure(0.3, bounded_range=False)],
    },
    "Mixture": {
        "epsilons": [Mixture([x + shift for x in PROFILE[0]], PROFILE[1]) for shift in (0.0, 0.1, 0.4)],
        "deltas": [Mixture(PROFILE[0], [factor * x for x in PROFILE[1]]) for factor in (1.0, 1.5, 4.0)],
    },
    "Composed": {"events": [Composed([Gaussian(3.0), Pure(0.1), Gaussian(9.0)][:n]) for n in (0, 1, 2, 3)]},
    "Repeated": {
        "event": [Repeated(Gaussian(x), 3) for x in (9.0, 4.0, 2.0)],
        "count": [Repeated(Pure(0.1), n) for n in (1, 2, 7, 300)],
    },
    "NonPrivate": {},
}


def event_classes():
    found = inspect.getmembers(events, lambda item: inspect.isclass(item) and dataclasses.is_dataclass(item))
    return [pytest.param(cls, id=name) for name, cls in found if cls.__module__ == events.__name__]


def examples(cls):
    chains = RISING[cls.__name__].values()
    return [event for chain in chains for event in chain] or [cls()]


# Laws for every class found in events.py


@pytest.mark.parametrize("cls", event_classes())
def test_repeating_equals_composing(cls):
    for event in examples(cls):
        for count in (1, 3, 8):
            repeated, composed = Repeated(event, count), Composed([event] * count)
            nested = Composed([Repeated(event, count - 1), event]) if count > 1 else event
            for other in (composed, nested):
                for at in (0.0, 0.7, 3.0):
                    assert accountant.delta(repeated, at) == accountant.delta(other, at)
                for at in (0.0, 1e-6, 0.05):
                    assert accountant.epsilon(repeated, at) == accountant.epsilon(other, at)


@pytest.mark.parametrize("cls", event_classes())
def test_cost_is_monotone_in_every_parameter(cls):
    chains = RISING[cls.__name__]
    assert set(chains) == {field.name for field in dataclasses.fields(cls)}
    for chain in chains.values():
        for low, high in itertools.pairwise(chain):
            for many in (1, 40):
                cheap, dear = Repeated(low, many), Repeated(high, many)
                assert accountant.delta(cheap, 0.5) <= accountant.delta(dear, 0.5)
                assert accountant.epsilon(cheap, 1e-3) <= accountant.epsilon(dear, 1e-3)
            assert accountant.delta(Repeated(low, 40), 0.5) < accountant.delta(Repeated(high, 40), 0.5)


@pytest.mark.parametrize("cls", event_classes())
def test_json_round_trip(cls):
    for event in examples(cls):
        for wrapped in (event, Composed([event, Repeated(event, 2)])):
            text = json.dumps(to_dict(wrapped), allow_nan=False)
            assert from_dict(json.loads(text)) == wrapped


@pytest.mark.parametrize("cls", event_classes())
def test_events_are_frozen_hashable_and_picklable(cls):
    for event in examples(cls):
        assert hash(pickle.loads(pickle.dumps(event))) == hash(event)
        for field in dataclasses.fields(cls):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(event, field.name, 1.0)


# Leaves


def test_leaves_merge_equal_events_in_order_of_appearance():
    inner = Composed([Pure(0.5), Repeated(Gaussian(2), 3)])
    found = leaves(Composed([Gaussian(1.0), Repeated(inner, 10), Gaussian(2.0), Composed([])]))
    assert list(found.items()) == [(Gaussian(1.0), 1), (Pure(0.5), 10), (Gaussian(2.0), 31)]
    assert leaves(Repeated(Repeated(Pure(0.1), 10**6), 10**6)) == {Pure(0.1): 10**12}


def test_leaves_of_a_deep_nest_need_no_recursion():
    event = Gaussian(1.0)
    for _ in range(5000):
        event = Composed((event, Pure(1.0)))
    assert leaves(event) == {Gaussian(1.0): 1, Pure(1.0): 5000}


def test_composed_takes_any_iterable_and_repr_of_a_table_is_short():
    assert Composed(Pure(x) for x in (1.0, 2.0)).events == (Pure(1.0), Pure(2.0))
    table = Mixture.from_profile(lambda epsilon: math.exp(-epsilon), np.linspace(0.0, 5.0, 1000))
    assert repr(table) == "Mixture(1000 points, epsilon 0 to 5, delta 1 to 0.00673795)"
    assert all(type(value) is float for value in (*table.epsilons, *table.deltas))


def test_rises_within_rounding_error_are_removed_upward():
    assert Mixture([0.0, 1.0], [0.1, 0.1 + 1e-12]).deltas == (0.1 + 1e-12, 0.1 + 1e-12)


def test_missing_fields_have_their_defaults():
    """As an older version wrote them, which did not know the field."""
    assert from_dict({"type": "Pure", "epsilon": 0.5}) == Pure(0.5, bounded_range=False)
    assert from_dict({"type": "Repeated", "count": 2, "event": {"type": "Pure", "epsilon": 1.0}}) == Repeated(
        Pure(1.0), 2
    )


# Refusals


def deep(depth):
    description = {"type": "Pure", "epsilon": 1.0}
    for _ in range(depth):
        description = {"type": "Composed", "events": [description]}
    return description


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0.0), r"^noise_multiplier of Gaussian must be a finite float > 0; got 0\.0\.$"),
        (lambda: Gaussian(math.inf), r"^noise_multiplier of Gaussian must be a finite float > 0; got inf\.$"),
        (lambda: Pure(-1.0), r"^epsilon of Pure must be a finite float > 0; got -1\.0\.$"),
        (lambda: Pure(1.0, bounded_range=1), r"^bounded_range of Pure must be True or False; got 1\.$"),
        (lambda: Mixture([], []), r"^epsilons of Mixture must be finite, strictly increasing and not empty"),
        (lambda: Mixture([0, 0], [0, 0]), r"^epsilons of Mixture must be finite, strictly increasing"),
        (lambda: Mixture([0, math.inf], [0, 0]), r"^epsilons of Mixture must be finite, strictly increasing"),
        (lambda: Mixture(3.0, [0]), r"^epsilons of Mixture must be an iterable of floats; got 3\.0\.$"),
        (lambda: Mixture([0, 1], [0.5]), r"^deltas of Mixture must be 2 numbers; got \[0\.5\]\.$"),
        (lambda: Mixture([0, 1], [0.5, -0.1]), r"^deltas of Mixture must be numbers in \[0, 1\]; got"),
        (lambda: Mixture([0, 1], [0.5, math.nan]), r"^deltas of Mixture must be numbers in \[0, 1\]; got"),
        (lambda: Mixture([0, 1], ["0.5", 0.1]), r"^deltas of Mixture must be numbers in \[0, 1\]; got"),
        (lambda: Mixture([0, 1], [0.5, 0.51]), r"^deltas of Mixture must be non-increasing; got"),
        (lambda: Composed(Gaussian(1.0)), r"^events of Composed must be an iterable of events; got Gaussian"),
        (lambda: Composed([1.0]), r"^events of Composed must be made of Gaussian, Pure, Mixture, Compo"),
        (lambda: Repeated(2, 2), r"^event of Repeated must be made of Gaussian, Pure, Mixture, Composed"),
        (lambda: Repeated(Pure(1.0), 0), r"^count of Repeated must be an integer >= 1 and <= 900719"),
        (lambda: Repeated(Pure(1.0), 2.0), r"^count of Repeated must be an integer >= 1 and <= 900719"),
        (lambda: leaves("Pure"), r"^event of leaves must be made of .* Repeated, NonPrivate; got 'Pure'\.$"),
        (lambda: to_dict(None), r"^event of to_dict must be made of Gaussian"),
        (lambda: check_event(Gaussian, "fit"), r"^event of fit must be made of Gaussian"),
        (lambda: from_dict({"type": "Laplace"}), r"^description of from_dict must be of a type in Gaussian"),
        (lambda: from_dict([1]), r"^description of from_dict must be of a type in Gaussian"),
        (lambda: from_dict({"type": "Laplace"}), r"others were made by a newer version of hushrank; got \{'type'"),
        (lambda: from_dict({"type": "Gaussian"}), r"must be a Gaussian of noise_multiplier; got \{\}"),
        (
            lambda: from_dict({"type": "NonPrivate", "x": 1}),
            r"NonPrivate of no fields: 'x' was made by a newer version",
        ),
        (
            lambda: from_dict({"type": "Pure", "epsilon": 1, "x": 1}),
            r"'x' was made by a newer version of hushrank; got",
        ),
        (lambda: from_dict(deep(2000)), r"^description of from_dict must be nested less deeply"),
        (lambda: Mixture([0, 10**400], [0.5, 0.1]), r"^epsilons of Mixture must be an iterable of floats"),
        (lambda: from_dict({"type": "Composed", "events": 1}), r"must be a Composed of a list of events"),
        (lambda: from_dict({"type": "Composed", "events": [1]}), r"^description of from_dict must be of a"),
        (lambda: from_dict({"type": ["Pure"]}), r"^description of from_dict must be of a type in Gaussian"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_a_class_of_someone_else_is_unknown_everywhere():
    class Cheap(Gaussian):
        """Looks like a Gaussian, but nobody knows what it costs."""

    with pytest.raises(InvalidParameter, match=r"^event of accountant\.epsilon must be made of Gaussian"):
        accountant.epsilon(Cheap(1.0), 0.1)
    with pytest.raises(InvalidParameter, match=r"^events of Composed must be made of Gaussian"):
        Composed([Pure(1.0), Cheap(1.0)])
    assert accountant.epsilon(NonPrivate(), 0.1) == math.inf


def test_together_wraps_only_what_is_more_than_one():
    assert together([Pure(0.5)]) == Pure(0.5)
    assert together(iter([Pure(0.5), Gaussian(2.0)])) == Composed([Pure(0.5), Gaussian(2.0)])
    assert together([]) == Composed([])


def nested(depth):
    event = Pure(1.0)
    for k in range(depth):
        event = Repeated(event, 1) if k % 2 else Composed([event])
    return event


def test_an_event_is_described_as_deep_as_it_is_read():
    """Deeper than what is charged, because a whole of charges has levels of its own; nobody runs out of stack."""
    deepest = nested(2 * MOST_NESTED - 1)
    assert from_dict(json.loads(json.dumps(to_dict(deepest)))) == deepest and nesting(deepest) == 2 * MOST_NESTED
    with pytest.raises(InvalidParameter, match=r"^event of to_dict must be nested less deeply"):
        to_dict(nested(2 * MOST_NESTED))
    with pytest.raises(InvalidParameter, match=r"^description of from_dict must be nested less deeply"):
        from_dict({"type": "Composed", "events": [to_dict(deepest)]})
    assert nesting(nested(5000)) == 5001
    assert nesting(from_dict(deep(200), sys.maxsize)) == 201  # as a ledger of an older version holds it
    with pytest.raises(InvalidParameter, match=r"^description of from_dict must be nested less deeply"):
        from_dict(deep(2000), sys.maxsize)
