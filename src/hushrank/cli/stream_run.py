"""One run of `hushrank stream`: from an input into a sketch, with checkpoints that can be gone on from.

Position   every checkpoint says where in the input its updates end, and holds those before that place and no others:
           both are one file, written between two batches. A run that is killed loses what came after its checkpoint,
           and the next one reads on from there, so that no update is lost or counts twice.
Stopping   SIGINT and SIGTERM are met between two batches, or at once while nothing is done but waiting for input.
Releases   the checkpoint counts a release before its factors are written or shown: whoever goes on from it knows of
           every release that anybody can have seen. A run that is killed before has shown nothing.
"""

import io
import logging
import signal
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click
import numpy as np

from hushrank.data.updates.live import LiveUpdates
from hushrank.data.updates.offsets import Offset
from hushrank.data.updates.reading import read_updates
from hushrank.data.updates.source import MOST_UPDATES, UpdateChunk, Updates, has_user
from hushrank.estimators.turnstile.factorization import Factorization
from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.exceptions import InvalidParameter

log = logging.getLogger("hushrank")

Result = TypeVar("Result")
Advance = Callable[[int], None]

_PIECE = 2**20  # bytes


class Refused(Exception):
    """Updates that cannot be added, and why, without a number or value of theirs."""


class Stopped(BaseException):
    """Somebody asked for an end. Not an Exception: readers turn those into errors about the input."""


class StopSignals:
    """SIGINT and SIGTERM as a request that is met where nothing is half done."""

    def __init__(self) -> None:
        self._is_asked = self._may_raise = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():  # others cannot have handlers
            self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise Stopped if somebody asked for it."""
        if self._is_asked:
            raise Stopped

    def during(self, work: Callable[[], Result]) -> Result:
        """Do work that may be left by Stopped at any moment; the caller forgets all that it changed."""
        self._may_raise = True
        try:
            self.check()  # after the line above, so that no request falls between the two
            return work()
        finally:
            self._may_raise = False

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._is_asked = True
        if self._may_raise:
            raise Stopped


@dataclass(frozen=True, slots=True)
class Position:
    """Where the updates end that are in a sketch.

    Attributes
    ----------
    n_updates : int
        Read from all inputs so far, valid or not.
    offset : Offset or None
        In the last input, if that was a stream of bytes; None behind Parquet files and folders, which are added whole.
    """

    n_updates: int
    offset: Offset | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"n_updates": self.n_updates, "offset": None if self.offset is None else self.offset.to_dict()}

    @classmethod
    def from_dict(cls, stored: dict[str, Any] | None) -> "Position":
        """The position in a checkpoint; of one that was not written here nothing is known."""
        if stored is None or set(stored) != {"n_updates", "offset"}:
            return cls(0, None)
        return cls(stored["n_updates"], None if stored["offset"] is None else Offset.from_dict(stored["offset"]))

    def at(self, offset: Offset) -> "Position":
        """A later position in the same input."""
        return Position(self.n_updates + offset.records - (self.offset or Offset()).records, offset)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file for the state of a sketch.

    Attributes
    ----------
    path : Path
    key : Path or None
        File with the key of its seal; None is the holder's own.
    every : int
        Updates from one checkpoint to the next, at least.
    """

    path: Path
    key: Path | None
    every: int


class Keeper:
    """A sketch, the position of what is in it, and its checkpoint if there is one.

    Parameters
    ----------
    sketch : TurnstileSketch
    position : Position
    checkpoint : Checkpoint or None
    """

    def __init__(self, sketch: TurnstileSketch, position: Position, checkpoint: Checkpoint | None) -> None:
        self.sketch, self.position, self.checkpoint = sketch, position, checkpoint
        self._begun, self._saved, self._n_left_out = position, position, 0

    @property
    def has_news(self) -> bool:
        """Whether this run has added updates."""
        return self.position.n_updates > self._begun.n_updates

    @property
    def terms(self) -> dict[str, Any]:
        """What readers of updates need to know."""
        needs_users = self.sketch.unit == "user" and self.sketch.user_totals == "counted"
        return {"owner": "TurnstileSketch", "shape": self.sketch.shape, "needs_users": needs_users}

    def add(self, chunk: UpdateChunk, position: Position) -> None:
        """Add updates that end at a position: all of them or, with Refused, none."""
        try:
            self.sketch.update_chunk(chunk)
        except InvalidParameter as error:
            raise Refused(f"{error.name} of INPUT must be {error.requirement.partition(';')[0]}") from error
        self.position = position
        if log.isEnabledFor(logging.INFO):
            self._n_left_out += _count_invalid(chunk, self.sketch.shape)

    def save(self) -> None:
        """Write the checkpoint, if there is one."""
        if self.checkpoint is not None:
            position = self.position.to_dict()
            self.sketch.save(self.checkpoint.path, key=self.checkpoint.key, position=position)
        self._saved = self.position

    def save_after(self, n_updates: int) -> None:
        """Write the checkpoint if there is something new, of at least so many updates."""
        if self._saved != self.position and self.position.n_updates >= self._saved.n_updates + n_updates:
            self.save()

    def begin(self, offset: Offset) -> None:
        """Begin another stream; whatever happens from here on, the run can be resumed."""
        self.position = Position(self.position.n_updates, offset)
        self.save()

    def factorize(self, stop: StopSignals) -> Factorization:
        """A factorization that the checkpoint counts; nobody sees it if the checkpoint cannot be written."""
        found = stop.during(self.sketch.factorize)
        self.save()
        return found

    def tell(self) -> None:
        """Numbers for the data holder who asks."""
        numbers = (f"{self.position.n_updates:,}", f"{self._n_left_out:,}")
        log.info("Not private: %s updates were read so far; %s of this run were left out.", *numbers)


def _count_invalid(chunk: UpdateChunk, shape: tuple[int, int]) -> int:
    valid = np.isfinite(chunk.deltas)
    for indices, size in zip((chunk.rows, chunk.columns), shape, strict=True):
        valid &= (indices >= 0) & (indices < size)
    if chunk.users is not None:
        valid &= has_user(chunk.users)
    return len(chunk) - int(np.count_nonzero(valid))


def open_stream(file: io.BufferedReader, keeper: Keeper, replays: bool) -> LiveUpdates:
    """Updates of a stream: of another one, or of one that `replays` what is in the sketch, after that."""
    offset = keeper.position.offset if replays else None
    if replays and offset is None:
        raise click.UsageError(
            "What is in the checkpoint is not from a stream, so INPUT cannot be compared with it. With --continues "
            "INPUT is added."
        )
    try:
        return LiveUpdates(file, **keeper.terms, offset=offset)
    except InvalidParameter as error:
        if error.name != "offset":
            raise
        raise click.UsageError(
            "INPUT is not the one that the checkpoint was made from. Give that again, from its start, or with "
            "--continues what comes after it."
        ) from error


def check_not_read(path: Path, position: Position) -> None:
    """Refuse a file whose beginning is in the sketch: if it were begun, that would count twice."""
    offset = position.offset
    if offset is None or not offset.records or not path.is_file():
        return
    left, checksum = offset.bytes, 0
    with path.open("rb") as file:
        while left and (piece := file.read(min(left, _PIECE))):
            left, checksum = left - len(piece), zlib.crc32(piece, checksum)
    if not left and checksum == offset.checksum:
        message = f"The beginning of {path} is in the checkpoint: without --continues, reading goes on after it."
        raise click.UsageError(message)


def read_stream(live: LiveUpdates, keeper: Keeper, stop: StopSignals, advance: Advance) -> None:
    """Add all updates of a stream, with checkpoints; `advance` is called with numbers of bytes.

    Of what ends before, by Stopped or Refused, all batches before that are in the checkpoint.
    """
    every = MOST_UPDATES if keeper.checkpoint is None else keeper.checkpoint.every
    chunks, n_bytes = live.chunks(min(every, MOST_UPDATES)), live.offset.bytes
    advance(n_bytes)
    try:
        while (found := stop.during(lambda: next(chunks, None))) is not None:
            chunk, offset = found
            keeper.add(chunk, keeper.position.at(offset))
            keeper.save_after(every)
            advance(offset.bytes - n_bytes)
            n_bytes = offset.bytes
    except (Stopped, Refused, InvalidParameter):  # any other may have left a batch half done
        keeper.save_after(0)
        raise
    keeper.save_after(0)


def add_tables(updates: Updates, keeper: Keeper, stop: StopSignals, advance: Advance) -> None:
    """Add all updates of Parquet files or of a folder and write the checkpoint then: all of them or none are in it.

    `advance` is called with numbers of updates.
    """
    for chunk in updates.chunks():
        stop.check()
        keeper.add(chunk, Position(keeper.position.n_updates + len(chunk), None))
        advance(len(chunk))
    stop.check()
    keeper.save()


def read_tables(source: str | Path, keeper: Keeper) -> Updates:
    """Updates of a Parquet file, a folder or an address; columns and types are checked, values not looked at."""
    return read_updates(str(source), **keeper.terms)
