"""One run of `hushrank stream`: a checkpoint holds the updates before its position, whatever ends the run."""

import io
import logging
import os
import signal
import threading

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hushrank.cli import stream as stream_command
from hushrank.cli import stream_run
from hushrank.cli.stream_run import (
    Checkpoint,
    Keeper,
    Position,
    Refused,
    Stopped,
    StopSignals,
    add_tables,
    check_not_read,
    open_stream,
    read_stream,
    read_tables,
)
from hushrank.data.updates.offsets import Offset
from hushrank.data.updates.source import UpdateChunk
from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.exceptions import BudgetExceeded, CheckpointError, InvalidParameter
from hushrank.privacy.ledger import Ledger

SHAPE, N = (30, 20), 500
RNG = np.random.default_rng(0)
ROWS, COLUMNS, DELTAS = RNG.integers(0, 30, N), RNG.integers(0, 20, N), np.round(RNG.standard_normal(N), 3)
LINES = ["row,column,delta", *(f"{i},{j},{d}" for i, j, d in zip(ROWS, COLUMNS, DELTAS, strict=True)), ""]
TEXT = "\n".join(LINES).encode()
BAD = {200: b"30,1,1", 300: b"1,1,nan"}  # updates that cannot be added


def new_sketch(**terms):
    return TurnstileSketch(shape=SHAPE, rank=2, epsilon=1.0, delta=1e-6, random_state=4, **terms)


def arrays_of(sketch):
    return sketch._held.intake.state.arrays


def same(sketch, other):
    return all(np.array_equal(a, b) for a, b in zip(arrays_of(sketch), arrays_of(other), strict=True))


def after(n_updates, **terms):
    """A sketch of the first updates."""
    return new_sketch(**terms).update(ROWS[:n_updates], COLUMNS[:n_updates], DELTAS[:n_updates])


def with_bad_line(number):
    lines = TEXT.split(b"\n")
    return b"\n".join([*lines[: number + 1], BAD[number], *lines[number + 1 :]])


class Pieces(io.RawIOBase):
    """Bytes that come a few at a time; a function in the place of some is called when they are asked for."""

    def __init__(self, *pieces):
        self._pieces = list(pieces)

    def readable(self):
        return True

    def readinto(self, buffer):
        while self._pieces and callable(self._pieces[0]):
            self._pieces.pop(0)()
        piece = self._pieces.pop(0) if self._pieces else b""
        taken = piece[: len(buffer)]
        if piece[len(taken) :]:
            self._pieces.insert(0, piece[len(taken) :])
        buffer[: len(taken)] = taken
        return len(taken)


def stream(*pieces):
    return io.BufferedReader(Pieces(*pieces))


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "keys"))
    return Checkpoint(tmp_path / "state", None, 100)


def load(checkpoint):
    sketch = TurnstileSketch.load(checkpoint.path)
    return sketch, Position.from_dict(sketch.position)


def read(file, keeper, stop=None, replays=False, advance=lambda n_bytes: None):
    live = open_stream(file, keeper, replays)
    if not replays:
        keeper.begin(live.offset)
    read_stream(live, keeper, stop or StopSignals(), advance)


# Signals.


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_somebody_checks(number):
    before = signal.getsignal(number)
    with StopSignals() as stop:
        stop.check()
        signal.raise_signal(number)
        with pytest.raises(Stopped):
            stop.check()
        with pytest.raises(Stopped):
            stop.during(lambda: pytest.fail("it began though it was asked to stop"))
    assert signal.getsignal(number) is before


def test_work_that_may_be_left_is_left_at_once():
    done = []

    def work():
        signal.raise_signal(signal.SIGTERM)
        done.append("after")

    with StopSignals() as stop:
        with pytest.raises(Stopped):
            stop.during(work)
        assert done == []
        signal.raise_signal(signal.SIGTERM)  # behind it, a signal waits again


def test_a_signal_ends_waiting_for_a_pipe():
    reading, writing = os.pipe()
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with StopSignals() as stop, open(reading, "rb") as file:
        timer.start()
        with pytest.raises(Stopped):
            stop.during(lambda: file.read1(10))
    os.close(writing)
    timer.join()


def test_other_threads_have_no_handlers_and_work():
    seen = []

    def work():
        with StopSignals() as stop:
            seen.append(stop.during(lambda: 5))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [5]


def test_stopped_is_not_an_error_about_the_input():
    assert not issubclass(Stopped, Exception)


# Positions.


def test_positions_survive_the_file():
    for position in (Position(7, None), Position(12, Offset(100, 5, 77))):
        assert Position.from_dict(position.to_dict()) == position
    assert Position.from_dict(None) == Position.from_dict({"line": 5}) == Position(0, None)


def test_positions_count_all_inputs_and_the_place_in_the_last():
    position = Position(12, Offset(100, 5, 77)).at(Offset(200, 9, 88))
    assert position == Position(16, Offset(200, 9, 88))
    assert Position(12, None).at(Offset(50, 3, 1)) == Position(15, Offset(50, 3, 1))


# Streams and checkpoints.


@pytest.mark.parametrize("piece", [7, 333, 10**6])
def test_every_checkpoint_has_the_updates_before_its_position(checkpoint, monkeypatch, piece):
    sketch, seen, save = new_sketch(), [], TurnstileSketch.save

    def watched(self, path, *, key, position):
        save(self, path, key=key, position=position)
        seen.append(load(checkpoint))

    monkeypatch.setattr(TurnstileSketch, "save", watched)
    pieces = [TEXT[i : i + piece] for i in range(0, len(TEXT), piece)]
    read(stream(*pieces), Keeper(sketch, Position(0, None), checkpoint))
    counts = [position.n_updates for _, position in seen]
    assert counts[0] == 0 and counts[-1] == N and len(counts) >= 5
    assert min(np.diff(counts[:-1])) >= checkpoint.every
    for saved, position in seen:
        whole = TEXT[: position.offset.bytes]
        assert whole.count(b"\n") == position.n_updates + 1 and whole.endswith(b"\n")
        assert same(saved, after(position.n_updates))


def test_bytes_are_told_for_progress_and_what_was_read_before_as_well(checkpoint):
    told = []
    read(stream(TEXT), Keeper(new_sketch(), Position(0, None), checkpoint), advance=told.append)
    assert sum(told) == len(TEXT) and len(told) > 3
    told.clear()
    sketch, position = load(checkpoint)
    read(stream(TEXT), Keeper(sketch, position, checkpoint), replays=True, advance=told.append)
    assert told == [len(TEXT)]


@pytest.mark.parametrize("n_first", [0, 1, 237, N])
def test_a_stream_that_is_given_again_is_read_on(checkpoint, n_first):
    start = b"\n".join([*TEXT.split(b"\n")[: n_first + 1], b""])
    read(stream(start), Keeper(new_sketch(), Position(0, None), checkpoint))
    sketch, position = load(checkpoint)
    assert position.n_updates == n_first
    read(stream(TEXT), Keeper(sketch, position, checkpoint), replays=True)
    sketch, position = load(checkpoint)
    assert same(sketch, after(N)) and position.n_updates == N and position.offset.bytes == len(TEXT)


def test_another_stream_is_added_and_may_be_given_again_alone(checkpoint):
    lines = TEXT.split(b"\n")
    first, second = b"\n".join(lines[:201]), b"\n".join([lines[0], *lines[201:]])
    read(stream(first), Keeper(new_sketch(), Position(0, None), checkpoint))
    sketch, position = load(checkpoint)
    read(stream(b"\n".join(second.split(b"\n")[:51])), Keeper(sketch, position, checkpoint))
    sketch, position = load(checkpoint)
    assert (position.n_updates, position.offset.records) == (250, 50)
    read(stream(second), Keeper(sketch, position, checkpoint), replays=True)
    sketch, position = load(checkpoint)
    assert same(sketch, after(N)) and (position.n_updates, position.offset.records) == (N, N - 200)


def test_without_a_checkpoint_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(TurnstileSketch, "save", lambda *_, **__: pytest.fail("it was saved"))
    keeper = Keeper(new_sketch(), Position(0, None), None)
    read(stream(TEXT), keeper)
    assert same(keeper.sketch, after(N)) and keeper.position.n_updates == N


def test_nothing_is_written_where_nothing_is_new(checkpoint, monkeypatch):
    read(stream(TEXT), Keeper(new_sketch(), Position(0, None), checkpoint))
    sketch, position = load(checkpoint)
    monkeypatch.setattr(TurnstileSketch, "save", lambda *_, **__: pytest.fail("it was saved"))
    read(stream(TEXT), Keeper(sketch, position, checkpoint), replays=True)


def test_another_input_is_refused(checkpoint):
    read(stream(TEXT), Keeper(new_sketch(), Position(0, None), checkpoint))
    before, (sketch, position) = checkpoint.path.read_bytes(), load(checkpoint)
    for other in (TEXT.replace(b"\n", b"\r\n"), TEXT[:200], TEXT[:-9] + b"1" + TEXT[-8:]):
        with pytest.raises(click.UsageError, match="INPUT is not the one that the checkpoint was made from"):
            open_stream(stream(other), Keeper(sketch, position, checkpoint), True)
    with pytest.raises(
        InvalidParameter, match="updates of TurnstileSketch must be a table with the columns row, column, delta"
    ):
        open_stream(stream(b"a,b\n"), Keeper(sketch, position, checkpoint), False)
    with pytest.raises(click.UsageError, match="is not from a stream"):
        open_stream(stream(TEXT), Keeper(sketch, Position(5, None), checkpoint), True)
    assert checkpoint.path.read_bytes() == before


@pytest.mark.parametrize(("number", "reason"), [(200, "rows of INPUT must be integers from 0 to 29"), (300, "finite")])
def test_refused_updates_leave_all_batches_before(checkpoint, number, reason):
    text = with_bad_line(number)
    with pytest.raises(Refused) as refusal:
        read(
            stream(*(text[i : i + 500] for i in range(0, len(text), 500))),
            Keeper(new_sketch(), Position(0, None), checkpoint),
        )
    assert reason in str(refusal.value) and "got" not in str(refusal.value) and ";" not in str(refusal.value)
    sketch, position = load(checkpoint)
    assert number - 50 < position.n_updates <= number and same(sketch, after(position.n_updates))
    sketch.on_invalid = "skip"
    read(stream(text), Keeper(sketch, position, checkpoint), replays=True)
    sketch, position = load(checkpoint)
    assert same(sketch, after(N)) and position.n_updates == N + 1


def test_a_stop_leaves_a_checkpoint(checkpoint):
    with StopSignals() as stop, pytest.raises(Stopped):
        pieces = [TEXT[:3000], lambda: signal.raise_signal(signal.SIGTERM), TEXT[3000:]]
        read(stream(*pieces), Keeper(new_sketch(), Position(0, None), checkpoint), stop)
    sketch, position = load(checkpoint)
    assert position.n_updates == TEXT[:3000].count(b"\n") - 1 and same(sketch, after(position.n_updates))
    read(stream(TEXT), Keeper(sketch, position, checkpoint), replays=True)
    assert same(load(checkpoint)[0], after(N))


@pytest.mark.parametrize("where", ["update_chunk", "save"])
def test_a_signal_amid_a_batch_or_a_checkpoint_waits_for_its_end(checkpoint, monkeypatch, where):
    original = getattr(TurnstileSketch, where)

    def interrupted(self, *args, **terms):
        result = original(self, *args, **terms)
        if self._held.intake.state.arrays[0].any():
            signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(TurnstileSketch, where, interrupted)
    with StopSignals() as stop, pytest.raises(Stopped):
        read(stream(TEXT), Keeper(new_sketch(), Position(0, None), checkpoint), stop)
    sketch, position = load(checkpoint)
    assert position.n_updates == checkpoint.every and same(sketch, after(position.n_updates))


def test_a_batch_that_may_be_half_done_is_not_saved(checkpoint, monkeypatch):
    def broken(self, chunk):
        if self._held.intake.state.arrays[0].any():
            raise MemoryError
        return original(self, chunk)

    original = TurnstileSketch.update_chunk
    monkeypatch.setattr(TurnstileSketch, "update_chunk", broken)
    terms = Checkpoint(checkpoint.path, None, 10**6)
    with pytest.raises(MemoryError):
        read(stream(TEXT[:3000], TEXT[3000:]), Keeper(new_sketch(), Position(0, None), terms))
    assert load(checkpoint)[1].n_updates == 0


def test_users_are_read_where_they_are_counted(checkpoint):
    terms = {"unit": "user"}
    lines = [b"row,column,delta,user", *(line + b",u%d" % (e % 9) for e, line in enumerate(TEXT.split(b"\n")[1:-1]))]
    keeper = Keeper(new_sketch(**terms), Position(0, None), checkpoint)
    read(stream(b"\n".join(lines)), keeper)
    expected = new_sketch(**terms).update(ROWS, COLUMNS, DELTAS, users=[f"u{e % 9}" for e in range(N)])
    assert same(keeper.sketch, expected) and not same(keeper.sketch, after(N))
    with pytest.raises(InvalidParameter, match="user"):
        open_stream(stream(TEXT), keeper, False)
    assert not Keeper(new_sketch(unit="user", user_totals="promised"), Position(0, None), None).terms["needs_users"]


# A file that is begun twice.


def test_a_file_whose_beginning_was_read_is_not_begun_again(checkpoint, tmp_path, monkeypatch):
    path = tmp_path / "day.csv"
    path.write_bytes(TEXT)
    monkeypatch.setattr(stream_run, "_PIECE", 1000)
    read(stream(TEXT[: TEXT.index(b"\n", 2500) + 1]), Keeper(new_sketch(), Position(0, None), checkpoint))
    _, position = load(checkpoint)
    with pytest.raises(click.UsageError, match="is in the checkpoint: without --continues, reading goes on after it"):
        check_not_read(path, position)
    path.write_bytes(TEXT[:2400])  # shorter
    check_not_read(path, position)
    path.write_bytes(TEXT.replace(b"1", b"2", 1))
    check_not_read(path, position)
    path.write_bytes(TEXT)
    check_not_read(path, Position(5, None))
    check_not_read(path, Position(0, Offset(17, 0, 0)))  # only the header was read, which other files may have as well
    check_not_read(tmp_path, position)


# Parquet files.


@pytest.fixture
def table(tmp_path):
    pq.write_table(pa.table({"row": ROWS, "col": COLUMNS, "delta": DELTAS}), tmp_path / "updates.parquet")
    return tmp_path / "updates.parquet"


def test_tables_are_added_with_one_checkpoint_at_the_end(checkpoint, table, monkeypatch):
    told, saved = [], []
    save = TurnstileSketch.save
    monkeypatch.setattr(TurnstileSketch, "save", lambda *a, **k: (saved.append(k["position"]), save(*a, **k)))
    keeper = Keeper(new_sketch(), Position(0, None), checkpoint)
    add_tables(read_tables(table, keeper), keeper, StopSignals(), told.append)
    sketch, position = load(checkpoint)
    assert same(sketch, after(N)) and position == Position(N, None) and sum(told) == N and len(saved) == 1
    keeper = Keeper(sketch, position, checkpoint)
    add_tables(read_tables(table, keeper), keeper, StopSignals(), told.append)
    assert load(checkpoint)[1] == Position(2 * N, None)


def test_a_folder_of_csv_files_is_a_table(checkpoint, tmp_path):
    (tmp_path / "parts").mkdir()
    for k, part in enumerate((slice(0, 7), slice(7, None))):
        lines = [f"{r},{c},{d!r}" for r, c, d in zip(ROWS[part], COLUMNS[part], DELTAS[part].tolist(), strict=True)]
        (tmp_path / "parts" / f"{k}.csv").write_text("\n".join(["row,column,delta", *lines]))
    keeper = Keeper(new_sketch(), Position(0, None), checkpoint)
    add_tables(read_tables(tmp_path / "parts", keeper), keeper, StopSignals(), lambda _: None)
    assert same(load(checkpoint)[0], after(N)) and load(checkpoint)[1] == Position(N, None)


def test_of_tables_that_end_before_nothing_is_kept(checkpoint, table):
    keeper = Keeper(new_sketch(), Position(0, None), checkpoint)
    with StopSignals() as stop, pytest.raises(Stopped):
        add_tables(read_tables(table, keeper), keeper, stop, lambda _: signal.raise_signal(signal.SIGINT))
    assert not checkpoint.path.exists()
    bad = DELTAS.copy()
    bad[-1] = np.nan
    pq.write_table(pa.table({"row": ROWS, "column": COLUMNS, "delta": bad}), table)
    keeper = Keeper(new_sketch(), Position(0, None), checkpoint)
    with pytest.raises(Refused, match="deltas of INPUT must be finite"):
        add_tables(read_tables(table, keeper), keeper, StopSignals(), lambda _: None)
    assert not checkpoint.path.exists()


# Releases.


def test_the_checkpoint_counts_a_release_before_anybody_has_it(checkpoint):
    sketch = TurnstileSketch(shape=SHAPE, rank=2, epsilon=1.0, delta=1e-6).update(ROWS, COLUMNS, DELTAS)
    keeper = Keeper(sketch, Position(N, None), checkpoint)
    first = keeper.factorize(StopSignals())
    again = Keeper(*load(checkpoint), checkpoint).factorize(StopSignals())
    assert (first.release_, again.release_) == (1, 2) and again.privacy_.epsilon > first.privacy_.epsilon


def test_no_factors_without_a_checkpoint_that_counts_them(checkpoint, monkeypatch):
    keeper = Keeper(after(N), Position(N, None), checkpoint)

    def full(*_, **__):
        raise CheckpointError("cannot write it: No space left on device.")

    monkeypatch.setattr(TurnstileSketch, "save", full)
    with pytest.raises(CheckpointError):
        keeper.factorize(StopSignals())


def test_a_factorization_may_be_left(checkpoint, monkeypatch):
    keeper = Keeper(after(N), Position(N, None), checkpoint)
    keeper.save()
    before = checkpoint.path.read_bytes()
    monkeypatch.setattr(TurnstileSketch, "factorize", lambda self: signal.raise_signal(signal.SIGTERM))
    with StopSignals() as stop, pytest.raises(Stopped):
        keeper.factorize(stop)
    assert checkpoint.path.read_bytes() == before


# Notes.


def test_numbers_are_counted_for_those_who_listen(caplog):
    ids = pa.array(["a", None, " ", "b", "c"], pa.large_string())
    rows, columns = np.array([0, 1, 2, 30, 4]), np.array([0, 0, 0, 0, -1])
    chunk = UpdateChunk(rows, columns, np.array([1.0, 1.0, 1.0, 1.0, np.nan]), ids)
    for level, n_left_out in ((logging.INFO, 4), (logging.WARNING, 0)):
        caplog.set_level(level, logger="hushrank")
        keeper = Keeper(new_sketch(unit="user", on_invalid="skip"), Position(1200, None), None)
        keeper.add(chunk, Position(1205, None))
        caplog.clear()
        caplog.set_level(logging.INFO, logger="hushrank")
        keeper.tell()
        assert f"Not private: 1,205 updates were read so far; {n_left_out} of this run" in caplog.text


# A ledger that cannot pay.


PAID = "updates.csv --shape 30 20 --rank 2 --ledger budget.db --dataset updates"


def run(line):
    return CliRunner().invoke(stream_command.command, line.split())


@pytest.fixture
def account(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "keys"))
    (tmp_path / "updates.csv").write_bytes(TEXT)
    with Ledger("budget.db") as ledger:
        yield ledger.create("updates", epsilon=4.0, delta=1e-6, neighbors="add_remove", unit="entry")


@pytest.mark.parametrize("end", ["--out found", "--checkpoint state --no-factorize"])
def test_a_private_state_whose_release_cannot_be_paid_for_costs_nothing(account, tmp_path, monkeypatch, end):
    monkeypatch.setattr(stream_command, "_open", lambda path: pytest.fail("it was opened"))
    refusal = run(f"{PAID} --epsilon 4.6 --pan-private {end}").exception
    assert isinstance(refusal, BudgetExceeded) and "asked for epsilon = 4.6 at delta = 1e-6 of" in str(refusal)
    assert "; accepted: epsilon = 3.99 or less" in str(refusal)
    assert account.last().number == 0 and not (tmp_path / "found").exists() and not (tmp_path / "state").exists()


def test_a_private_state_is_paid_for_in_two_charges(account):
    assert run(f"{PAID} --epsilon 3.9 --pan-private --out found").exit_code == 0
    first, second = account.history()[1:]
    assert first.event == second.event and account.spent().epsilon == pytest.approx(3.9, rel=1e-3)


@pytest.mark.parametrize("state", ["", "--pan-private"])
def test_a_refusal_before_reading_has_the_words_of_one_after_it(account, state):
    result = run(f"{PAID} --epsilon 50 {state} --json")
    assert isinstance(result.exception, BudgetExceeded) and "accepted: epsilon = 3.99 or less" in str(result.exception)
    assert result.output.count("epsilon = 50 promises next to nothing") == 1 and account.last().number == 0


def test_a_resumed_run_is_refused_before_it_reads_and_offered_no_other_epsilon(account, monkeypatch):
    """Of a private state only the release is to be paid for, whatever its noise has cost."""
    assert run(f"{PAID} --epsilon 3.9 --pan-private --checkpoint state --no-factorize").exit_code == 0
    again = "updates.csv --resume --checkpoint state --ledger budget.db --dataset updates"
    assert run(f"{again} --out found").exit_code == 0 and account.last().number == 2
    monkeypatch.setattr(stream_command, "_open", lambda path: pytest.fail("it was opened"))
    refusal = run(f"{again} --again --out other").exception
    assert isinstance(refusal, BudgetExceeded) and "accepted" not in str(refusal)
    assert "asked for epsilon = 2.66 at delta = 1e-6, a part of epsilon = 3.9, of 'updates'" in str(refusal)
    assert account.last().number == 2
