"""Small data of every kind for the conformance suite: what it does with people's data, in the terms of each kind.

A new kind of data joins with one class here, or in the tests of who needs it: how a model learns from them, and how
people are picked, spoiled and made extreme.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Neighbors

Array = NDArray[Any]

HUGE = 1e9  # beyond every bound, so that no noisy center or scale moves a contribution
_LEAST_PEOPLE = 1000  # so many that they stand above the noise of other releases
MANY_RECORDS = 300  # of the extreme user, beside one: a bound for each record is no bound for a user
ODD = (math.nan, math.inf, -1.7e308, 5e-324)


class Sample(ABC):
    """Data of some people.

    Attributes
    ----------
    data : tuple
        What a model is given to learn from.
    reads_late : bool
        Whether the data are read after the charge, as `fit` does; objects that are updated read them before.
    """

    reads_late: ClassVar[bool] = True

    def __init__(self, *data: Any) -> None:
        self.data = data

    def learn(self, model: Any) -> Any:
        """The model, or what it returns, after it has learned from the data and released its result."""
        return self.run(model, *self.data)

    def run(self, model: Any, *data: Any) -> Any:
        """The same with other data of this kind, such as those of a noise probe."""
        return model.fit(*data)

    def release_again(self, model: Any) -> Any:
        """Another release without new data: another fit, or whatever releases what an object has been told."""
        return self.learn(model)

    def charges(self, planned: Event, n_releases: int) -> list[Event]:
        """What so many releases of one object are charged with, given the event of its plan."""
        return [planned] * n_releases

    def copy(self) -> Self:
        """The same data in other memory."""
        return type(self)(*(np.array(part) for part in self.data))

    def is_equal(self, other: Self) -> bool:
        """Whether the data have the same bits."""
        pairs = zip(self.data, other.data, strict=True)
        return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in pairs)

    @property
    @abstractmethod
    def sizes(self) -> dict[str, Any]:
        """What `plan` is given; the first is the number of people."""

    @property
    def n_people(self) -> int:
        """How many there are."""
        return int(next(iter(self.sizes.values())))

    @abstractmethod
    def people(self, chosen: Any) -> Self:
        """Some of the people, or all in another order; `chosen` is a slice or an array of their numbers."""

    @abstractmethod
    def other(self) -> Self:
        """Data of fewer people, with other numbers."""

    @abstractmethod
    def spoiled(self) -> Self:
        """The same with NaN, infinities, huge and tiny numbers in the data of four people."""

    @abstractmethod
    def extreme_neighbors(self, neighbors: str) -> tuple[Self, Self]:
        """Two neighboring data sets: one person has the largest numbers everywhere, or is missing or nearly silent."""


class RowSample(Sample):
    """Rows of numbers, one a person: `fit(X)`."""

    @property
    def sizes(self) -> dict[str, Any]:
        """Rows and columns."""
        n_samples, n_features = self.data[0].shape
        return {"n_samples": n_samples, "n_features": n_features}

    def people(self, chosen: Any) -> Self:
        """Rows."""
        return type(self)(*(part[chosen] for part in self.data))

    def other(self) -> Self:
        """Seven rows fewer, stretched and moved."""
        X = self.data[0]
        return type(self)(2.0 * X[: len(X) - 7] + 1.0, *(part[: len(X) - 7] for part in self.data[1:]))

    def spoiled(self) -> Self:
        """Four rows of odd numbers."""
        X = self.data[0].astype(np.float64)
        for row, number in enumerate(ODD):
            X[row] = number
        return type(self)(X, *self.data[1:])

    def extreme_neighbors(self, neighbors: str) -> tuple[Self, Self]:
        """Huge rows; the first has the largest numbers, or is gone, or has hardly any."""
        repeat = -(-_LEAST_PEOPLE // len(self.data[0]))
        X, *others = (np.concatenate([part] * repeat) for part in self.data)
        X = HUGE * X.astype(np.float64)
        X[0] = HUGE
        with_person = type(self)(X, *others)
        if neighbors == Neighbors.ADD_REMOVE:
            return with_person, with_person.people(slice(1, None))
        without = X.copy()
        without[0] = np.where(np.arange(X[0].size).reshape(X[0].shape) % 2, math.nan, 1.0 / HUGE)
        return with_person, type(self)(without, *others)


class RatingSample(RowSample):
    """An array of ratings with a row for each user: `fit(X)`."""

    @property
    def sizes(self) -> dict[str, Any]:
        """Users and items."""
        n_users, n_items = self.data[0].shape
        return {"n_users": n_users, "n_items": n_items}


class RecordSample(RowSample):
    """Records with an answer, one a person: `fit(X, y)`."""

    def spoiled(self) -> Self:
        """Four records of odd numbers and answers."""
        X, y = super().spoiled().data
        y = y.astype(np.float64)
        y[: len(ODD)] = ODD
        return type(self)(X, y)

    def extreme_neighbors(self, neighbors: str) -> tuple[Self, Self]:
        """Huge records with huge answers; the first has the largest, or is gone, or has hardly any."""
        (X, y), (without, others) = (sample.data for sample in super().extreme_neighbors(neighbors))
        y, others = (HUGE * part.astype(np.float64) for part in (y, others))
        y[0] = HUGE
        if neighbors != Neighbors.ADD_REMOVE:
            others[0] = math.nan
        return type(self)(X, y), type(self)(without, others)


class UserRecordSample(Sample):
    """Records with an answer, several a user: `fit(X, y, users)`."""

    @property
    def sizes(self) -> dict[str, Any]:
        """Users and columns."""
        X, _, users = self.data
        return {"n_users": len(np.unique(users)), "n_features": X.shape[1]}

    def people(self, chosen: Any) -> Self:
        """All records of the chosen users, in the order of the users."""
        X, y, users = self.data
        kept = [np.flatnonzero(users == user) for user in np.unique(users)[chosen]]
        rows = np.concatenate([np.empty(0, np.int64), *kept])
        return type(self)(X[rows], y[rows], users[rows])

    def other(self) -> Self:
        """Seven users fewer, with other answers."""
        fewer = self.people(slice(None, self.n_people - 7))
        X, y, users = fewer.data
        return type(self)(2.0 * X + 1.0, 1.0 - y, users)

    def spoiled(self) -> Self:
        """Four users with odd numbers."""
        X, y, users = (np.array(part) for part in self.data)
        X, y = X.astype(np.float64), y.astype(np.float64)
        for user, number in zip(np.unique(users), ODD, strict=False):
            X[users == user], y[users == user] = number, number
        return type(self)(X, y, users)

    def extreme_neighbors(self, neighbors: str) -> tuple[Self, Self]:
        """Huge records; the first user has very many of the largest, or is gone, or has one with hardly any numbers."""
        X, y, users = self.data
        repeat, known = -(-_LEAST_PEOPLE // self.n_people), np.unique(users)
        codes = np.searchsorted(known, users)
        users = np.concatenate([codes + copy * len(known) for copy in range(repeat)])
        X, y = HUGE * np.tile(X, (repeat, 1)), HUGE * np.tile(y, repeat)
        others = type(self)(X, y, users).people(slice(1, None))
        first, zeros = np.full((MANY_RECORDS, X.shape[1]), HUGE), np.zeros(MANY_RECORDS, users.dtype)
        with_person = others._with(first, np.full(MANY_RECORDS, HUGE), zeros)
        if neighbors == Neighbors.ADD_REMOVE:
            return with_person, others
        return with_person, others._with(first[:1] / HUGE**2, np.full(1, math.nan), zeros[:1])

    def _with(self, *records: Array) -> Self:
        """These records, then all others."""
        return type(self)(*(np.concatenate(pair) for pair in zip(records, self.data, strict=True)))


class UpdateSample(Sample):
    """Rows, columns and deltas of updates, and the shape of their matrix: `update(...)`, then `release()`.

    Attributes
    ----------
    releases_by : str
        The method that releases.
    """

    reads_late: ClassVar[bool] = False
    releases_by: ClassVar[str] = "release"

    def run(self, model: Any, *data: Any) -> Any:
        """Update and release."""
        model.update(*data[:3])
        return self.release_again(model)

    def release_again(self, model: Any) -> Any:
        """Without an update in between."""
        return getattr(model, self.releases_by)()

    @property
    def sizes(self) -> dict[str, Any]:
        """Updates, and the shape of the matrix."""
        n_rows, n_columns = (int(size) for size in self.data[3])
        return {"n_updates": len(self.data[0]), "n_rows": n_rows, "n_columns": n_columns}

    def people(self, chosen: Any) -> Self:
        """Updates."""
        return type(self)(*(part[chosen] for part in self.data[:3]), self.data[3])

    def other(self) -> Self:
        """Seven updates fewer, of other sizes."""
        fewer = self.people(slice(None, self.n_people - 7))
        return type(self)(*fewer.data[:2], 2.0 * fewer.data[2] + 1.0, self.data[3])

    def spoiled(self) -> Self:
        """Four odd updates."""
        deltas = self.data[2].astype(np.float64)
        deltas[: len(ODD)] = ODD
        return type(self)(*self.data[:2], deltas, self.data[3])

    def extreme_neighbors(self, neighbors: str) -> tuple[Self, Self]:
        """The first update is huge, or missing, or nearly nothing."""
        deltas = self.data[2].astype(np.float64)
        deltas[0] = HUGE
        with_person = type(self)(*self.data[:2], deltas, self.data[3])
        if neighbors == Neighbors.ADD_REMOVE:
            return with_person, with_person.people(slice(1, None))
        deltas = deltas.copy()
        deltas[0] = 1.0 / HUGE
        return with_person, type(self)(*self.data[:2], deltas, self.data[3])


def to_sample(data: Any) -> Sample:
    """A sample, or the sample of an array of rows."""
    return data if isinstance(data, Sample) else RowSample(np.asarray(data))
