"""Small data of measurements of a matrix with an answer each, one record a person, for the conformance suite."""

import math
from typing import Any, Self

import numpy as np

from hushrank.checks.samples import HUGE, ODD, Array, Sample
from hushrank.privacy.guarantee import Neighbors

_LEAST_PEOPLE = 1000  # so many that they stand above the noise of other releases
_FEWER = 7


class MeasurementSample(Sample):
    """Measurements and answers: `fit(X, y)`.

    Parameters
    ----------
    X : ndarray
        Of shape (n_samples, n_rows, n_columns), or one row of numbers for each record.
    y : ndarray of shape (n_samples,)
    shape : tuple of int, optional
        Rows and columns of the matrix, where X does not have them.
    is_entry : bool
        Whether X holds indices, which are not stretched: there is no entry beyond the matrix.
    """

    def __init__(self, X: Array, y: Array, shape: tuple[int, int] | None = None, is_entry: bool = False) -> None:
        super().__init__(X, y)
        self.shape: tuple[int, int] = X.shape[1:] if shape is None else shape
        self.is_entry = is_entry

    @property
    def sizes(self) -> dict[str, Any]:
        """Records, and the shape of the matrix."""
        return {"n_samples": len(self.data[1]), "n_rows": self.shape[0], "n_columns": self.shape[1]}

    def copy(self) -> Self:
        """The same numbers in other memory."""
        return self._with(*(np.array(part) for part in self.data))

    def people(self, chosen: Any) -> Self:
        """Records."""
        return self._with(*(part[chosen] for part in self.data))

    def other(self) -> Self:
        """Seven records fewer, with other answers."""
        X, y = (part[: len(self.data[1]) - _FEWER] for part in self.data)
        return self._with(X, 1.0 - 2.0 * y)

    def spoiled(self) -> Self:
        """Four records of odd numbers and answers."""
        X, y = (part.astype(np.float64) for part in self.data)
        for record, number in enumerate(ODD):
            X[record], y[record] = number, number
        return self._with(X, y)

    def extreme_neighbors(self, neighbors: str) -> tuple[Self, Self]:
        """Huge records with huge answers; the first is huge everywhere, or is gone, or has the opposite answer."""
        repeat = -(-_LEAST_PEOPLE // len(self.data[1]))
        X, y = (np.concatenate([part.astype(np.float64)] * repeat) for part in self.data)
        X, y = X if self.is_entry else HUGE * X, HUGE * y
        X[0], y[0] = 0.0 if self.is_entry else HUGE, HUGE
        with_person = self._with(X, y)
        if neighbors == Neighbors.ADD_REMOVE:
            return with_person, self._left(with_person)
        return with_person, self._with(X, np.append(-HUGE, y[1:]))

    def _left(self, sample: Self) -> Self:
        """The sample after its first person has left."""
        return sample.people(slice(1, None))

    def _with(self, X: Array, y: Array) -> Self:
        return type(self)(X, y, self.shape, self.is_entry)


class AnswerSample(MeasurementSample):
    """The same where answers alone are private: neighbors have the same measurements, and who left has no answer."""

    def other(self) -> Self:
        """Seven answers fewer, and others."""
        X, y = self.data
        return self._with(X, np.append(1.0 - 2.0 * y[:-_FEWER], np.full(_FEWER, math.nan)))

    def _left(self, sample: Self) -> Self:
        X, y = sample.data
        return self._with(X, np.append(math.nan, y[1:]))
