"""What workers of a cluster do: read pieces and sum them up; `dask_sums` adds the sums of others.

Tasks return what went wrong instead of raising it: Dask would write the task and the error to the log of the worker,
and those may show what nobody asked to see. No task changes what another one returned, so that a task which runs twice
counts once.
"""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import version
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

import numpy as np

from hushrank.data.source import MAX_BLOCK_ROWS, Source
from hushrank.engine.local import LocalEngine
from hushrank.engine.protocol import SharedKernel
from hushrank.exceptions import HushrankError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Read = Callable[..., Source]
Work = Callable[[Source, Any, int], Any]

_PACKAGES = ("hushrank", "numpy", "numba")


def own_versions() -> tuple[str, ...]:
    """What must be the same everywhere for sums to have the same bits."""
    return tuple(f"{name} {version(name)}" for name in _PACKAGES)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Failure:
    """What a task raised."""

    error: Exception


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frozen:
    """What all tasks of a pass need, on its way to the workers."""

    pickled: bytes


def thaw(frozen: Frozen) -> Any:
    """What it was."""
    return pickle.loads(frozen.pickled)


Sums = list[Any]
"""What a task has added up: whether a kernel gives a tuple of arrays, and a number of this run; then the arrays.

A plain list: Dask sends arrays in it several times as fast as those of an object.
"""


def to_sums(result: Any) -> Sums:
    """The result of a kernel, on its way; `uuid4` names a run, and no noise comes of it."""
    is_tuple = isinstance(result, tuple)
    parts = result if is_tuple else (result,)
    arrays = [np.require(part, requirements="C") if isinstance(part, np.ndarray) else part for part in parts]
    return [(is_tuple, uuid4().int >> 64), *arrays]


def from_sums(sums: Sums) -> Any:
    """The result in the form of the kernel; arrays that came over a network are brought into the form of others."""
    (is_tuple, _), *parts = sums
    arrays = [_as_made_here(part) if isinstance(part, np.ndarray) else part for part in parts]
    return tuple(arrays) if is_tuple else arrays[0]


def _as_made_here(array: Any) -> Any:
    """Kernels are compiled anew for arrays that are read only."""
    return np.require(array, requirements=["C", "A", "W"])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Job:
    """What is done with data, the same for every piece; public, and sent to each worker once.

    Attributes
    ----------
    work : callable
        (source, state, threads) -> int64 array or tuple of them.
    state : object
    uses_all_threads : bool
        Whether one task has a worker for itself.
    versions : tuple of str
        Of whoever asks.
    """

    work: Work
    state: Any
    uses_all_threads: bool
    versions: tuple[str, ...]

    def run(self, source: Source) -> Sums:
        """Sums over a source."""
        return to_sums(self.work(source, self.state, _worker_threads() if self.uses_all_threads else 1))


def sum_blocks(source: Source, kernel_and_state: tuple[Any, Any], threads: int) -> Any:
    """The sum of a kernel, as one machine computes it."""
    return LocalEngine(threads).total(source, *kernel_and_state)


def kernel_job(kernel: Any, public_state: Any) -> Job:
    """The job of a kernel; one whose totals are shared has one set of them on every worker."""
    return Job(sum_blocks, (kernel, public_state), isinstance(kernel, SharedKernel), own_versions())


def telling(function: Callable[Arguments, Result]) -> Callable[Arguments, Result | Failure]:
    """A task that returns what it raises."""

    @wraps(function)
    def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result | Failure:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return Failure(_portable(error))

    return guarded


@telling
def sum_pieces(job: Job, reads: Sequence[Read], numbers: Sequence[int], values: Sequence[Sequence[Any]]) -> Any:
    """Sums over some pieces, which are read one after the other."""
    check_versions(job.versions)
    failed = next((value for needs in values for value in needs if isinstance(value, Failure)), None)
    return failed or job.run(Chain([(reads[number], needs) for number, needs in zip(numbers, values, strict=True)]))


def check_versions(theirs: tuple[str, ...]) -> None:
    """Refuse to compute for somebody who would compute something else."""
    mine = own_versions()
    if mine != theirs:
        told = " and ".join(
            f"{one} instead of {other}" for one, other in zip(mine, theirs, strict=True) if one != other
        )
        raise HushrankError(f"a worker of the cluster has {told}: sums might have other bits.")


class Chain(Source):
    """Pieces as one source: each is opened when its turn comes.

    Parameters
    ----------
    pieces : list of pairs
        What reads a piece, and the values that it needs; at least one.
    """

    def __init__(self, pieces: list[tuple[Read, Sequence[Any]]]) -> None:
        super().__init__(None)
        self._pieces = pieces

    @property
    def sizes(self) -> Mapping[str, int]:
        """Nothing: whoever has all pieces knows them."""
        return {}

    def sources(self) -> Iterator[Source]:
        """One piece after the other."""
        return (read(*needs) for read, needs in self._pieces)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """The blocks of all pieces."""
        for source in self.sources():
            yield from source.blocks(max_rows)

    def empty_block(self) -> Any:
        """That of the first piece."""
        return next(self.sources()).empty_block()


class HeldBlocks(Source):
    """Blocks that somebody else has read."""

    def __init__(self, blocks: Sequence[Any], empty: Any) -> None:
        super().__init__(sum(map(len, blocks)))
        self._blocks, self._empty = blocks, empty

    @property
    def sizes(self) -> Mapping[str, int]:
        """Nothing: whoever has read them knows them."""
        return {}

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """The blocks as they were read."""
        return iter(self._blocks)

    def empty_block(self) -> Any:
        """A block without entries."""
        return self._empty


def _worker_threads() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def _portable(error: Exception) -> Exception:
    """An error that can be sent; of one that cannot, the kind."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return HushrankError(f"a worker of the cluster raised {type(error).__name__}.")
    return error
