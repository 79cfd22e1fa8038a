"""Measurements in blocks that somebody else makes: tuples (X, y), where X may be a pair, or tables.

The first block is looked at before the data are charged for. A stream that can be read only once is kept, see
`spooling`.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from hushrank.data.records.columns import ONE_A_PERSON, Roles
from hushrank.data.records.features import Features, PairFeatures
from hushrank.data.records.in_memory import MemoryOrigin, read_answers
from hushrank.data.records.loose_cells import loose_numbers
from hushrank.data.records.origins import Origin
from hushrank.data.records.pairs import Names, check_two, join_pair, read_pair
from hushrank.data.records.record_streams import StreamOrigin
from hushrank.exceptions import InvalidParameter


class MeasurementStream(StreamOrigin):
    """Records of a stream of blocks, one a person, whose X may be a pair.

    Parameters
    ----------
    source, y, features, owner : as of `StreamOrigin`
    part_axes : int or None
        Axes of the parts of a pair, see `read_pair`; None if X of a block is no pair.

    Examples
    --------
    >>> blocks = iter([(([[1.0]], [[2.0, 3.0]]), [0.5]), (([[4.0]], [[5.0, "x"]]), [1.5])])
    >>> stream = MeasurementStream(blocks, None, None, 2, "example")
    >>> stream.parts, [batch.X.tolist() for batch in stream.batches(100, stream.dtype)]
    ((1, 2), [[[1.0, 2.0, 3.0]], [[4.0, 5.0, nan]]])
    """

    def __init__(
        self, source: Any, y: Any, features: Sequence[Hashable] | None, part_axes: int | None, owner: str
    ) -> None:
        self._part_axes = part_axes
        super().__init__(source, y, ONE_A_PERSON, features, owner)

    def _maker(self) -> Callable[[Any], Origin]:
        features = None if self.parts else self._features  # the tables of a pair have theirs in every first block
        terms: dict[str, Any] = {"y": self._y, "features": features, "part_axes": self._part_axes}
        return partial(MeasurementStream, **terms, owner=self._owner)

    def _read(self, block: Any) -> MemoryOrigin:
        X, y, _ = self._parts(block)
        if not self._is_pair(X):
            return super()._read(block)
        assert self._part_axes is not None
        pair, names = read_pair(X, self._part_axes, self._owner, self._names())
        roles = None if names is None else Roles((*names[0], *names[1]), None, None)
        return MemoryOrigin(pair, read_answers(y, len(pair), self._owner), None, roles)

    def _loose_features(self, X: Any) -> Features | PairFeatures:
        if not self._is_pair(X):
            return super()._loose_features(X)
        assert self._part_axes is not None
        check_two(X, self._part_axes, self._owner)
        names, parts = self._names() or (None, None), []
        for part, columns in zip(X, names, strict=True):
            numbers = loose_numbers(part, "X", self._owner, columns)
            if numbers.ndim != self._part_axes:
                requirement = f"parts of {self._part_axes} axes in every block"
                raise InvalidParameter(self._owner, "X", requirement, f"{numbers.ndim} axes")
            parts.append(Features(numbers.reshape(len(numbers), math.prod(numbers.shape[1:]))))
        return join_pair(parts[0], parts[1], self._part_axes, self._owner)

    def _is_pair(self, X: Any) -> bool:
        return self._part_axes is not None and isinstance(X, tuple)

    def _names(self) -> tuple[Names, Names] | None:
        """Columns of the tables of a pair, as in the first block; None before it was read, and for arrays."""
        if self.parts is None or self._features is None:
            return None
        names = tuple(self._features)
        return names[: self.parts[0]], names[self.parts[0] :]
