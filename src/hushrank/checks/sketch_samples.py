"""Small streams of updates for sketches, which are told of updates and release factorizations later."""

from typing import Any, ClassVar, Self

import numpy as np

from hushrank.checks.samples import HUGE, MANY_RECORDS, ODD, Array, UpdateSample
from hushrank.privacy.events import Event, Repeated
from hushrank.privacy.guarantee import Neighbors


class SketchSample(UpdateSample):
    """The same for sketches: `update(...)`, then `factorize()`."""

    releases_by: ClassVar[str] = "factorize"

    def charges(self, planned: Event, n_releases: int) -> list[Event]:
        """A state that is private itself is charged for its noise when it is opened, then for each release."""
        if isinstance(planned, Repeated):
            return [planned.event] * (1 + n_releases)
        return super().charges(planned, n_releases)


class UserSketchSample(SketchSample):
    """Rows, columns and deltas of updates, the shape of their matrix, and whose they are: `update(..., users=...)`."""

    def run(self, model: Any, *data: Any) -> Any:
        """Update and release; updates of nobody in particular are of one user each."""
        model.update(*data[:3], users=data[4] if len(data) > 4 else np.arange(len(data[0])))
        return self.release_again(model)

    @property
    def n_people(self) -> int:
        """Users."""
        return len(np.unique(self.data[4]))

    def people(self, chosen: Any) -> Self:
        """All updates of the chosen users, in the order of the users."""
        users = self.data[4]
        kept = [np.flatnonzero(users == user) for user in np.unique(users)[chosen]]
        return self._updates(np.concatenate([np.empty(0, np.int64), *kept]))

    def other(self) -> Self:
        """Seven users fewer, with updates of other sizes."""
        rows, columns, deltas, shape, users = self.people(slice(None, self.n_people - 7)).data
        return type(self)(rows, columns, 2.0 * deltas + 1.0, shape, users)

    def spoiled(self) -> Self:
        """Four users with odd updates."""
        rows, columns, deltas, shape, users = self.data
        deltas = deltas.astype(np.float64)
        for user, number in zip(np.unique(users), ODD, strict=False):
            deltas[users == user] = number
        return type(self)(rows, columns, deltas, shape, users)

    def extreme_neighbors(self, neighbors: str) -> tuple[Self, Self]:
        """The first user has very many huge updates, or none, or one that is nearly nothing."""
        users = self.data[4]
        first, others = np.unique(users)[0], self.people(slice(1, None))
        places = np.resize(np.flatnonzero(users == first), MANY_RECORDS)
        rows, columns = self._updates(places).data[:2]
        own = (rows, columns, np.full(MANY_RECORDS, HUGE), np.full(MANY_RECORDS, first))
        if neighbors == Neighbors.ADD_REMOVE:
            return others._with(*own), others
        return others._with(*own), others._with(rows[:1], columns[:1], np.full(1, 1.0 / HUGE), own[3][:1])

    def _updates(self, chosen: Array) -> Self:
        rows, columns, deltas, shape, users = self.data
        return type(self)(rows[chosen], columns[chosen], deltas[chosen], shape, users[chosen])

    def _with(self, *updates: Array) -> Self:
        """These updates, then all others."""
        rows, columns, deltas, shape, users = self.data
        parts = zip(updates, (rows, columns, deltas, users), strict=True)
        rows, columns, deltas, users = (np.concatenate(pair) for pair in parts)
        return type(self)(rows, columns, deltas, shape, users)
