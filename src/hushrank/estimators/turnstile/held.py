"""What an open sketch holds beside its parameters: the state, its key, whose updates are in it, and its releases."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hushrank.estimators.turnstile.intake import Intake
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.estimators.turnstile.sketch_plan import SketchPlan
from hushrank.estimators.turnstile.state import SketchState
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Unit
from hushrank.privacy.noise.sketch_draws import fresh_key, seeded_key

_OWNER = "TurnstileSketch"
_MAY_CHANGE = ("ledger", "on_invalid")
_OF_ONE_SKETCH = ("memory", "random_state")


@dataclass
class Held:
    """The secret part of a sketch.

    Attributes
    ----------
    plan : SketchPlan
    intake : Intake
        The arrays, and counters of users.
    key : bytes
        Of all operators; sketches add up if they have the same.
    parameters : dict
        As they were when the sketch was opened.
    shards : set of str
        Streams whose updates are in it: nothing is counted twice.
    n_starts, n_releases : int
        How often noise was put into the state, and released with it.
    is_charged : bool
        Whether a ledger paid for any of that: a later release must not be forgotten there.
    position : dict or None
        Where the caller was in the stream when it was saved.
    """

    plan: SketchPlan
    intake: Intake
    key: bytes
    parameters: dict[str, Any]
    shards: set[str] = field(default_factory=lambda: {uuid.uuid4().hex})
    n_starts: int = 0
    n_releases: int = 0
    is_charged: bool = False
    position: dict[str, Any] | None = None

    def total(self) -> Event:
        """What all noise that was added so far costs together."""
        return self.plan.lattice.total(self.n_starts + self.n_releases)


def hold(sketch: TurnstilePlanner, key: bytes | None = None) -> Held:
    """An empty state for a sketch; under a new key, or that of its seed, unless one is given."""
    plan = sketch._plan(sketch._check_parameters(), {})
    if key is None:
        key = fresh_key() if sketch.random_state is None else seeded_key(sketch.random_state)
    state = SketchState(plan.layout, key, np.dtype(sketch.integers))
    is_promised = sketch._unit is Unit.USER and not sketch._counts_users
    users = {"counts_users": sketch._counts_users, "toward_zero": is_promised}
    intake = Intake(plan.lattice, state, sketch._shape, clip=sketch._clip, **users)
    return Held(plan, intake, key, fixed_parameters(sketch))


def add_sketch(mine: Held, theirs: Held) -> None:
    """Add what another sketch holds, or raise InvalidParameter and change nothing."""
    for name, value in mine.parameters.items():
        if name not in _OF_ONE_SKETCH and value != theirs.parameters[name]:
            raise InvalidParameter(_OWNER, name, f"that of the other sketch, {theirs.parameters[name]!r}", value)
    if mine.key != theirs.key:
        requirement = "a sketch with the same operators, by `new_shard` or the same random_state"
        raise InvalidParameter(_OWNER, "other", requirement, "one with others")
    if mine.shards & theirs.shards:
        requirement = "a sketch of other updates; the same ones would count twice"
        raise InvalidParameter(_OWNER, "other", requirement, "one with updates that are in this one")
    totals, others = mine.intake.totals, theirs.intake.totals
    if totals is not None and others is not None and not totals.fits(others):
        requirement = "a sketch of other users: together some exceed the bound, and their updates cannot be told apart"
        raise InvalidParameter(_OWNER, "other", requirement, "one of the same users")
    with mine.intake.changing():
        if not mine.intake.state.merge(theirs.intake.state.arrays, wraps=mine.intake.skips):
            requirement = f"a sketch whose sums, added to these, fit {mine.parameters['integers']}"
            raise InvalidParameter(_OWNER, "other", requirement, "an overflow")
        if totals is not None and others is not None:
            totals.merge(others)
        mine.shards |= theirs.shards
        mine.n_starts += theirs.n_starts
        mine.n_releases += theirs.n_releases
        mine.is_charged |= theirs.is_charged


def fixed_parameters(sketch: TurnstilePlanner) -> dict[str, Any]:
    """Parameters that must stay as they are once a sketch has been opened."""
    return {name: _constant(value) for name, value in sketch._parameters().items() if name not in _MAY_CHANGE}


def _constant(value: Any) -> Any:
    """A pair that is given as a list or vector is kept as a tuple, which nobody can change."""
    return tuple(np.asarray(value).tolist()) if isinstance(value, list | np.ndarray) else value
