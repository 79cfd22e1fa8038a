"""How updates enter the state: checked, clipped one by one, rounded to the lattice, limited for each user.

Nothing here is released. An update that is refused, or an integer that overflows, is told to the caller, who holds the
data; the batch it is in leaves no trace. Where even that must not be seen (`on_invalid="skip"`), updates are left out
and integers wrap around, which noise modulo 2^b hides as well.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.id_arrays import as_text
from hushrank.data.rows.reading import read_rows
from hushrank.data.updates.source import UpdateChunk, Updates, has_user
from hushrank.estimators.turnstile.batches import Rounding, bound_updates
from hushrank.estimators.turnstile.sparse_signs import Integers
from hushrank.estimators.turnstile.state import SketchState
from hushrank.estimators.turnstile.user_totals import UserTotals
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.quantize import quantize_rows
from hushrank.privacy.mechanisms.sketch import SketchLattice

log = logging.getLogger("hushrank")

MOST_UPDATES = 2**22
"""Updates of a batch: many, so that those which go to one part of a large state are near each other when sorted."""

LARGEST_UPDATE, _LARGEST_PRODUCT = 2**36, 2**62
"""Lattice units of one update, at most; fewer where times an entry of an operator they would not fit int64."""

STEEP_BITS = 40
"""The largest magnitudes of several states are summed up in units of 2^40: whether a sum of int64 may have wrapped."""

_OWNER = "TurnstileSketch"
_ROWS_AT_ONCE = 1024
_ID_TYPES = (pa.int64(), pa.uint64(), pa.large_string(), pa.null())  # those of an `UpdateChunk`


class Intake:
    """The state of a sketch and the one way into it.

    Parameters
    ----------
    lattice : SketchLattice
    state : SketchState
    shape : pair of int
    clip : float or None
        Largest magnitude of an update, and norm of a row that is added as a whole.
    counts_users : bool
        Whether the total of each user is bounded.
    toward_zero : bool
        Whether updates are rounded toward zero, so that a promised total holds for them as well.
    skips : bool
        Whether invalid updates are left out rather than refused; may be set.
    """

    def __init__(
        self,
        lattice: SketchLattice,
        state: SketchState,
        shape: tuple[int, int],
        *,
        clip: float | None,
        counts_users: bool,
        toward_zero: bool = False,
        skips: bool = False,
    ) -> None:
        self.state, self._shape, self._clip, self.skips = state, shape, clip, skips
        per_unit = lattice.units / lattice.bound
        most = min(LARGEST_UPDATE, _LARGEST_PRODUCT // state.layout.largest_entry)
        largest = most if clip is None else max(round(clip * per_unit), 1)
        self._rounding = Rounding(per_unit, min(largest, most), toward_zero)
        self.totals = UserTotals(lattice.units) if counts_users else None
        self.is_whole = True

    def add_all(self, updates: Updates, most: int = MOST_UPDATES) -> None:
        """Add updates, or refuse them: all of them at once, where they can be read twice."""
        if updates.can_repeat and not self.skips:
            for chunk in updates.chunks(most):
                self._refuse_invalid(*self._bounded(chunk)[1:])
        n_outside = n_not_finite = 0
        for chunk in updates.chunks(most):
            outside, not_finite = self.add(chunk)
            n_outside, n_not_finite = n_outside + outside, n_not_finite + not_finite
        self._tell(n_outside, n_not_finite)

    def add(self, chunk: UpdateChunk) -> tuple[int, int]:
        """Add one batch; how many of its updates were left out because they are outside, or not finite."""
        self._check_users(chunk.users)
        integers, n_outside, n_not_finite = self._bounded(chunk)
        self._refuse_invalid(n_outside, n_not_finite)
        self._add_integers(*self._usable(chunk, integers, n_outside + n_not_finite))
        return n_outside, n_not_finite

    def absorb(self, chunk: UpdateChunk, *, to_state: bool = True) -> NDArray[np.int64]:
        """Add one batch for whoever sums up several states and decides then: nothing is refused, sums wrap around.

        Returns how many updates were outside, how many not finite, whether a sum wrapped around, and 0. Without
        `to_state`, updates count in the totals of users alone.
        """
        self._check_users(chunk.users)
        integers, n_outside, n_not_finite = self._bounded(chunk)
        rows, columns, allowed, users = self._usable(chunk, integers, n_outside + n_not_finite)
        if self.totals is not None:
            codes = self.totals.codes(as_text(users))
            allowed = self.totals.limit(codes, allowed)
            self.totals.take(codes, allowed)
        wrapped = to_state and self.state.add_wrapping(rows, columns, allowed)
        return np.array([n_outside, n_not_finite, wrapped, 0], np.int64)

    def take(self, arrays: list[Integers], counts: Integers, totals: Sequence[tuple[pa.Array, Integers]]) -> None:
        """Add states that others summed up from updates, or refuse all of them.

        `counts` are those of `absorb`, summed up; the last is a bound on what the sums of int64 may have reached.
        """
        n_outside, n_not_finite, n_wrapped, steep = (int(count) for count in counts)
        self._refuse_invalid(n_outside, n_not_finite)
        may_have_wrapped = n_wrapped > 0 or steep >= 2 ** (62 - STEEP_BITS)
        with self.changing():
            if (may_have_wrapped and not self.skips) or not self.state.merge(arrays, wraps=self.skips):
                raise self._overflow("nothing was added")
            for ids, spent in totals:
                assert self.totals is not None
                self.totals.load(ids, spent)
        self._tell(n_outside, n_not_finite)

    def add_rows(self, rows: NDArray[np.int64], X: Any, users: Any, *, as_wholes: bool) -> None:
        """Add rows of numbers to rows of the matrix, each shortened to the clip as a whole, or entry by entry.

        A row of which an entry is not finite is invalid as a whole.
        """
        source = read_rows(X, owner=_OWNER)
        if source.n_features != self._shape[1] or source.n_samples != len(rows) or not source.can_repeat:
            requirement = f"{len(rows)} rows of {self._shape[1]} columns, one for each index"
            raise InvalidParameter(_OWNER, "X", requirement, f"{source.n_samples} rows of {source.n_features}")
        is_inside = (rows >= 0) & (rows < self._shape[0])
        if users is not None:
            is_inside &= has_user(users)
        if not self.skips:
            not_finite = sum(int((~np.isfinite(block).all(axis=1)).sum()) for block in source.blocks(_ROWS_AT_ONCE))
            self._refuse_invalid(int((~is_inside).sum()), not_finite)
        start = 0
        for block in source.blocks(_ROWS_AT_ONCE):
            part = slice(start, start + len(block))
            start += len(block)
            usable = is_inside[part] & np.isfinite(block).all(axis=1)
            kept = np.where(usable[:, None], block, 0.0)
            if as_wholes and self._clip is not None:
                per_unit, largest, _ = self._rounding  # the lattice of single updates, where a clip may lie between
                integers = quantize_rows(kept, largest / per_unit, largest**2)
                own, columns = _places(integers)
                self._add_integers(rows[part][own], columns, integers[own, columns].astype(np.int64), None)
            else:
                own, columns = _places(kept)
                theirs = None if users is None else users[part].take(own)
                self.add(UpdateChunk(rows[part][own], columns, kept[own, columns], theirs))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Arrays and counters belong together: if a change of them is interrupted half way, they are not used again.

        A refusal is no interruption: whoever raises it has put everything back.
        """
        self.is_whole = False
        try:
            yield
        except InvalidParameter:
            self.is_whole = True
            raise
        self.is_whole = True

    def _add_integers(self, rows: Integers, columns: Integers, integers: Integers, users: Any) -> None:
        if self.totals is None or users is None:
            with self.changing():
                self._add_to_state(rows, columns, integers)
            return
        codes = self.totals.codes(as_text(users))  # 7 and "7" are one user, whatever a reader makes of a column
        allowed = self.totals.limit(codes, integers)
        with self.changing():
            self._add_to_state(rows, columns, allowed)
            self.totals.take(codes, allowed)

    def _check_users(self, users: Any) -> None:
        """Refuse updates whose users are not counted though they should be, or are not looked at."""
        if self.totals is None and users is not None:
            raise InvalidParameter(_OWNER, "users", "None, because no totals are counted", "ids")
        if self.totals is not None and (users is None or users.type not in _ID_TYPES):
            requirement = "int64, uint64 or str ids, one for each update"
            raise InvalidParameter(_OWNER, "users", requirement, None if users is None else str(users.type))

    def _add_to_state(self, rows: Integers, columns: Integers, integers: Integers) -> None:
        if not self.state.add(rows, columns, integers, wraps=self.skips):
            raise self._overflow("this batch was not added")

    def _overflow(self, consequence: str) -> InvalidParameter:
        kind = self.state.arrays[0].dtype.name
        requirement = f"updates whose sums fit the {kind} of the state; {consequence}"
        return InvalidParameter(_OWNER, "deltas", requirement, "an overflow")

    def _usable(
        self, chunk: UpdateChunk, integers: Integers, n_invalid: int
    ) -> tuple[Integers, Integers, Integers, Any]:
        """Rows, columns, lattice integers and users of the valid updates."""
        if not n_invalid:
            return chunk.rows, chunk.columns, integers, chunk.users
        kept = np.flatnonzero(self._is_valid(chunk))
        users = None if chunk.users is None else chunk.users.take(kept)
        return chunk.rows[kept], chunk.columns[kept], integers[kept], users

    def _tell(self, n_outside: int, n_not_finite: int) -> None:
        """Tell the data holder what was left out."""
        if n_outside or n_not_finite:
            message = "Not private: %s updates outside the matrix or without a user and %s not finite were left out."
            log.info(message, f"{n_outside:,}", f"{n_not_finite:,}")

    def _bounded(self, chunk: UpdateChunk) -> tuple[Integers, int, int]:
        """Lattice integers, and how many updates are outside or without a user, and not finite."""
        integers = np.empty(len(chunk), np.int64)
        terms = (*self._shape, self._rounding)
        n_outside, n_not_finite = bound_updates(chunk.rows, chunk.columns, chunk.deltas, *terms, integers)
        if chunk.users is not None:
            n_outside = max(len(chunk) - int(np.count_nonzero(self._is_valid(chunk))) - n_not_finite, n_outside)
        return integers, n_outside, n_not_finite

    def _is_valid(self, chunk: UpdateChunk) -> NDArray[np.bool_]:
        n_rows, n_columns = self._shape
        inside = (chunk.rows >= 0) & (chunk.rows < n_rows) & (chunk.columns >= 0) & (chunk.columns < n_columns)
        valid: NDArray[np.bool_] = inside & np.isfinite(chunk.deltas)
        return valid if chunk.users is None else valid & has_user(chunk.users)

    def _refuse_invalid(self, n_outside: int, n_not_finite: int) -> None:
        if self.skips or not (n_outside or n_not_finite):
            return
        n_rows, n_columns = self._shape
        if n_outside:
            inside = f"integers from 0 to {n_rows - 1}, with cols from 0 to {n_columns - 1}"
            users = " and a user for each" if self.totals is not None else ""
            got = f"{n_outside} others"
            raise InvalidParameter(_OWNER, "rows", f"{inside}{users}; nothing was added", got)
        raise InvalidParameter(_OWNER, "deltas", "finite; nothing was added", f"{n_not_finite} that are not")


def _places(block: NDArray[Any]) -> tuple[Integers, Integers]:
    """Rows and columns of entries that are not zero; those of NumPy are strided."""
    own, columns = np.nonzero(block)
    return np.ascontiguousarray(own), np.ascontiguousarray(columns)
