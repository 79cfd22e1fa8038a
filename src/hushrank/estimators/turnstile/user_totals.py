"""A counter for every user: the magnitudes of a user's updates, over the whole stream, never exceed the bound.

Updates count in the order in which they come; one that would exceed the bound is shortened to what is left, and those
after it are nothing. What a user's updates become depends on that user's updates alone.
"""

import numpy as np
import pyarrow as pa

from hushrank.data.identifiers import IdTable
from hushrank.estimators.turnstile.sparse_signs import Integers
from hushrank.linalg.quantize import compiled


class UserTotals:
    """How much of the bound each user has used.

    Parameters
    ----------
    bound : int
        In lattice units.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._table = IdTable()
        self._ids: list[pa.Array] = []
        self._spent = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._table)

    def codes(self, users: pa.Array) -> Integers:
        """A number for each update's user, -1 where there is none."""
        before = len(self._table)
        codes = self._table.add(users).astype(np.int64)
        if len(self._table) > before:
            _, first = np.unique(np.where(codes >= before, codes, -1), return_index=True)
            self._ids.append(users.take(pa.array(first[-(len(self._table) - before) :])))
        if len(self._table) > len(self._spent):
            grown = np.zeros(max(len(self._table), 2 * len(self._spent)), np.int64)
            grown[: len(self._spent)] = self._spent
            self._spent = grown
        return codes

    def limit(self, codes: Integers, integers: Integers) -> Integers:
        """The updates as far as their users' bounds allow; `take` must follow once they are added."""
        allowed = integers.copy()
        if len(codes) < len(self._spent):  # a small batch of many users is not to copy them all
            users, codes = np.unique(codes, return_inverse=True)
            _limit(codes, allowed, self._spent[users], self._bound)
        else:
            _limit(codes, allowed, self._spent.copy(), self._bound)
        return allowed

    def take(self, codes: Integers, allowed: Integers) -> None:
        """Book what was added."""
        np.add.at(self._spent, codes, np.abs(allowed))

    def fits(self, other: "UserTotals") -> bool:
        """Whether no user would exceed the bound by the updates of both."""
        ids, spent = other.content()
        codes = self._table.find(ids) if len(ids) and len(self) else np.full(len(ids), -1)
        mine = np.where(codes >= 0, np.append(self._spent, 0)[codes], 0)
        return bool(np.all(mine + spent <= self._bound))

    def merge(self, other: "UserTotals") -> None:
        """Add the counters of another stream that `fits`."""
        ids, spent = other.content()
        self.load(ids, spent)

    def content(self) -> tuple[pa.Array, Integers]:
        """All ids and what they have used, in the order in which they came."""
        ids = pa.concat_arrays(self._ids) if self._ids else pa.array([], pa.large_string())
        return ids, self._spent[: len(self)].copy()

    def load(self, ids: pa.Array, spent: Integers) -> None:
        """Add what these users have used."""
        if len(ids):
            self.take(self.codes(ids), spent)


@compiled
def _limit(codes: Integers, integers: Integers, spent: Integers, bound: int) -> None:
    """Shorten updates in their order; `spent` is a scratch copy, and codes are places in it."""
    for e in range(len(codes)):
        size = min(abs(integers[e]), max(bound - spent[codes[e]], 0))
        spent[codes[e]] += size
        integers[e] = size if integers[e] > 0 else -size
