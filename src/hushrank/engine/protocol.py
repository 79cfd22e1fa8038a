"""What a sum over people is, wherever it is computed: engines, kernels, and kernels whose totals are shared.

A kernel maps a block of data and public state to int64 arrays; an engine adds them up modulo 2^64. Kernels and public
states are plain functions and records that can be pickled, without locks or threads: those belong to the engine.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hushrank.data.source import Piece, Source

IntegerArray = NDArray[np.int64]
Totals = TypeVar("Totals", bound=IntegerArray | tuple[IntegerArray, ...])
Kernel = Callable[[Any, Any], Totals]


@runtime_checkable
class SharedKernel(Protocol):
    """A kernel that adds to totals of which there is one set for all threads, because one each would not fit.

    The totals fall into parts. An engine prepares a block once and then adds it to one part after the other; it never
    lets two threads add to the same part at a time.
    """

    def new_totals(self, public_state: Any) -> tuple[IntegerArray, ...]:
        """Zeros of the right shapes."""

    def n_parts(self, public_state: Any) -> int:
        """Into how many parts the totals fall; at least 1."""

    def prepare(self, block: Any, public_state: Any) -> Any:
        """What the block contributes, bounded and rounded; touches no total."""

    def add(self, prepared: Any, public_state: Any, totals: tuple[IntegerArray, ...], part: int) -> None:
        """Add it to this part of the totals, and write to no other."""


@runtime_checkable
class Engine(Protocol):
    """Where a sum over people is computed. Every engine gives the same bits."""

    def total(
        self,
        source: Source,
        kernel: Kernel[Totals] | SharedKernel,
        public_state: Any,
        *,
        verbose: int = 0,
        label: str = "",
    ) -> Totals:
        """Sum of kernel(block, public_state) over all blocks, modulo 2^64."""


@runtime_checkable
class PlacingEngine(Engine, Protocol):
    """An engine that does not read the data where the fit was called."""

    def place(self, source: Source, owner: str = "") -> Source:
        """A source of the same data for `total`; refuses what it cannot reach, before the charge, and reads nothing."""


@runtime_checkable
class FoldingEngine(Protocol):
    """An engine that lets others read whole pieces of data, for sums that need more than one block at a time."""

    def check(self, owner: str) -> None:
        """Refuse to compute where nobody is there, or somebody who would compute something else."""

    def group(self, grouping: Any, pieces: list[Piece]) -> Any:
        """Bring people together, see `hushrank.data.regrouping`."""

    def fold(self, source: Source, work: Any, state: Any, *, once_a_worker: bool) -> tuple[IntegerArray, ...] | None:
        """Sums of work(source of some pieces, state, threads), tuples of int64 arrays; None without any pieces."""

    def each(self, source: Source, work: Any, state: Any) -> list[Any]:
        """What `work` gives for every piece."""
