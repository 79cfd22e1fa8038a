"""Updates that workers of a cluster read and add up: each has a state of its own, and the sum of all is merged.

All updates of a call enter the sketch or none does. Totals of users hold across workers, because all updates of a user
are brought to one of them, in their order. States of workers have the operators of the sketch and no noise.
"""

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.regrouping import Groups
from hushrank.data.source import PIECE_ROWS, Piece
from hushrank.data.updates.regrouping import UpdateGrouping
from hushrank.data.updates.source import Updates
from hushrank.estimators.turnstile.intake import MOST_UPDATES, STEEP_BITS, Intake
from hushrank.estimators.turnstile.layout import Layout
from hushrank.estimators.turnstile.state import SketchState
from hushrank.exceptions import HushrankError
from hushrank.privacy.mechanisms.sketch import SketchLattice

_OWNER = "TurnstileSketch"
SMALL_STATE_BYTES = 2**26
"""States up to this are made for every task, larger ones once for every worker."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IntakeTerms:
    """What makes the same intake elsewhere. It holds the key of the operators: as secret as the updates.

    Attributes
    ----------
    lattice, layout, key, integers, shape, clip, toward_zero : as of `Intake` and `SketchState`
    spent : pair of ids and integers, or None
        What users have used before, where totals are counted.
    has_state : bool
        Whether updates are added to a state, or only counted.
    """

    lattice: SketchLattice
    layout: Layout
    key: bytes
    integers: np.dtype[Any]
    shape: tuple[int, int]
    clip: float | None
    toward_zero: bool
    spent: tuple[pa.Array, NDArray[np.int64]] | None
    has_state: bool = True

    def make(self) -> Intake:
        """An intake with an empty state, which leaves invalid updates out and counts them."""
        state, has_totals = SketchState(self.layout, self.key, self.integers), self.spent is not None
        users = {"counts_users": has_totals, "toward_zero": self.toward_zero}
        intake = Intake(self.lattice, state, self.shape, clip=self.clip, **users, skips=True)
        if self.spent is not None and intake.totals is not None:
            intake.totals.load(*self.spent)
        return intake


class DistantUpdates(Updates):
    """Updates of users that were brought together elsewhere."""

    def __init__(self, updates: Updates, groups: Groups) -> None:
        super().__init__(updates._origin, updates.shape)
        self._groups = groups

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece]:
        """The updates of each place."""
        return self._groups.pieces()

    def forget(self) -> None:
        """Bring them together again when they are next asked for."""
        self._groups.forget()

    def count_nobody(self) -> int:
        """Updates without a user, which went nowhere."""
        return int(self._groups.notes())


def add_elsewhere(intake: Intake, terms: IntakeTerms, updates: Updates, engine: Any) -> bool:
    """Add updates that an engine lets others read, or refuse all; False where only this process can read them."""
    pieces = updates.pieces()
    if pieces is None:
        return False
    engine.check(_OWNER)
    source, n_nobody = updates, 0
    if terms.spent is not None:
        source = DistantUpdates(updates, engine.group(UpdateGrouping(updates.shape), pieces))
        n_nobody = source.count_nobody()
    is_large = sum(array.nbytes for array in intake.state.arrays) > SMALL_STATE_BYTES
    sums = engine.fold(source, sum_updates, terms, once_a_worker=is_large)
    if sums is not None:  # there are updates
        *arrays, counts, digest = sums
        totals = [] if terms.spent is None else engine.each(source, find_totals, terms)
        # Files may change, and workers that are lost read them again: what is booked must be what was added.
        if not np.array_equal(digest, sum((digest_of(*one) for one in totals), np.zeros(1, np.int64))):
            raise HushrankError("updates were others when they were read again: nothing was added.")
        intake.take(arrays, counts + np.array([n_nobody, 0, 0, 0]), totals)
    return True


def sum_updates(source: Any, terms: IntakeTerms, threads: int) -> tuple[NDArray[np.int64], ...]:
    """The arrays of a state with all updates of a source, the counts of `Intake.absorb`, and a digest of totals."""
    intake, counts = _absorbed(source, terms)
    digest = np.zeros(1, np.int64) if terms.spent is None else digest_of(*_changes(intake, terms))
    largest = max(int(np.abs(array.astype(np.float64)).max(initial=0.0)) for array in intake.state.arrays)
    counts[3] = (largest >> STEEP_BITS) + 1
    return (*(array.astype(np.int64) for array in intake.state.arrays), counts, digest)


def find_totals(source: Any, terms: IntakeTerms, threads: int) -> tuple[pa.Array, NDArray[np.int64]]:
    """Users of a source, and what they use of their bounds by these updates."""
    intake, _ = _absorbed(source, replace(terms, has_state=False))
    return _changes(intake, terms)


def digest_of(ids: pa.Array, spent: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number that tells who used how much; those of different users add up to that of all, modulo 2^64."""
    # As bytes: an id need not be a text that can be read.
    pairs = zip(ids.cast(pa.large_binary()).to_pylist(), spent.tolist(), strict=True)
    hashes = [blake2b(repr(pair).encode(), digest_size=8).digest() for pair in pairs]
    return np.array([np.frombuffer(b"".join(hashes), np.int64).sum()])


def _changes(intake: Intake, terms: IntakeTerms) -> tuple[pa.Array, NDArray[np.int64]]:
    """Users whose totals have changed, and by how much."""
    assert terms.spent is not None and intake.totals is not None
    ids, spent = intake.totals.content()
    before, used = terms.spent
    spent[: len(before)] -= used
    changed = np.flatnonzero(spent)
    return ids.take(pa.array(changed)), spent[changed]


def _absorbed(source: Any, terms: IntakeTerms) -> tuple[Intake, NDArray[np.int64]]:
    intake, counts = terms.make(), np.zeros(4, np.int64)
    for updates in source.sources():
        for chunk in updates.chunks(MOST_UPDATES):
            counts += intake.absorb(chunk, to_state=terms.has_state)
    return intake, counts
