"""`hushrank stream` is killed, at any moment, and goes on: no update is lost or counts twice, no release is forgotten.

Processes are real ones, ended by SIGKILL while they add updates, while they write a checkpoint and while they release.
After every kill the checkpoint is compared, bit for bit, with a sketch of exactly the updates that it says it has.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.archive.file_lock import lock_beside
from hushrank.cli.stream import command
from hushrank.estimators.turnstile.sketch import TurnstileSketch

SEED, PATIENCE = 11, 60.0  # seconds, after which a process that does nothing fails the test
SMALL = {"shape": (700, 500), "rank": 3}
LARGE = {"shape": (30000, 15000), "rank": 3, "sketch_sizes": (64, 128)}  # 31 MB, which takes a while to write


def updates_of(shape, n_updates):
    rng = np.random.default_rng(2)
    rows, columns = (rng.integers(0, size, n_updates) for size in shape)
    return rows, columns, np.round(rng.standard_normal(n_updates), 3)


class Stream:
    """Updates as a text and as vectors, and a sketch of the first ones of them."""

    def __init__(self, terms, n_updates):
        self.terms, self.n_updates = terms, n_updates
        self.updates = updates_of(terms["shape"], n_updates)
        lines = (f"{i},{j},{delta}" for i, j, delta in zip(*self.updates, strict=True))
        self.lines = [line.encode() for line in ("row,column,delta", *lines)]

    def text(self, start=0, stop=None):
        """A stream of some updates, with its header."""
        return b"\n".join([self.lines[0], *self.lines[1:][start:stop], b""])

    def sketch(self, n_updates):
        sketch = TurnstileSketch(**self.terms, epsilon=1.0, delta=1e-6, random_state=SEED)
        return sketch.update(*(vector[:n_updates] for vector in self.updates))

    def position(self):
        """That of a run that was never interrupted."""
        text = self.text()
        offset = {"bytes": len(text), "records": self.n_updates, "checksum": zlib.crc32(text)}
        return {"n_updates": self.n_updates, "offset": offset}

    def options(self):
        """The parameters on a command line."""
        words = ["--epsilon", "1", "--delta", "1e-6", "--seed", str(SEED)]
        for name, value in self.terms.items():
            words += [f"--{name.replace('_', '-')}", *(map(str, value) if isinstance(value, tuple) else [str(value)])]
        return words


def check_state(path, stream):
    """The number of updates in a checkpoint, which has exactly these."""
    saved = TurnstileSketch.load(path)
    n_updates = saved.position["n_updates"]
    wanted = stream.sketch(n_updates)._held.intake.state.arrays
    for mine, other in zip(saved._held.intake.state.arrays, wanted, strict=True):
        assert np.array_equal(mine, other)
    return n_updates


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "keys"))  # processes inherit it
    return tmp_path


@contextmanager
def running(folder, *words):
    """A process of `hushrank stream` that reads a pipe; it is gone at the end."""
    line = [sys.executable, "-m", "hushrank", "stream", *map(str, words)]
    process = subprocess.Popen(line, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def fed(process, data, pause=0.0):
    """Write in pieces from another thread, and leave the pipe open behind them, until the process has ended."""

    def write():
        with suppress(BrokenPipeError):
            for start in range(0, len(data), 20_000):
                process.stdin.write(data[start : start + 20_000])
                process.stdin.flush()
                time.sleep(pause)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        process.kill()
        thread.join()


def wait_until(happens, process):
    """Look again and again, so often that a moment is met which passes quickly."""
    end = time.monotonic() + PATIENCE
    while not happens():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.0005)


def kill(process):
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def finish(folder, data, *words):
    with running(folder, *words) as process:
        _, errors = process.communicate(data, timeout=PATIENCE)
        assert (process.returncode, errors) == (0, b"")


def mark_of(path):
    """Changes with every checkpoint."""
    return path.stat().st_mtime_ns if path.exists() else None


def kill_after_checkpoints(folder, words, data, n_checkpoints, delay):
    state = folder / "state"
    with running(folder, *words) as process, fed(process, data, pause=0.004):
        for _ in range(n_checkpoints):
            before = mark_of(state)
            wait_until(lambda before=before: mark_of(state) != before, process)
        time.sleep(delay)
        kill(process)


def test_killed_while_it_adds_updates(folder):
    stream, rng = Stream(SMALL, 60_000), np.random.default_rng()
    most = stream.text(stop=55_000)  # no run can end before it is killed
    words, seen = ["--checkpoint", "state", "--checkpoint-every", 1500, "--no-factorize", "--quiet"], [0]
    for n_checkpoints in (3, 4):
        more = ["--resume"] if len(seen) > 1 else stream.options()
        kill_after_checkpoints(folder, [*words, *more], most, n_checkpoints, rng.uniform(0, 0.02))
        seen.append(check_state(folder / "state", stream))
    assert seen == sorted(set(seen)) and seen[-1] < stream.n_updates, "every run came further, and none to the end"
    finish(folder, stream.text(), *words, "--resume")
    assert check_state(folder / "state", stream) == stream.n_updates
    assert TurnstileSketch.load(folder / "state").position == stream.position()


def test_killed_and_given_only_what_comes_after(folder):
    stream, rng = Stream(SMALL, 30_000), np.random.default_rng()
    words = ["--checkpoint", "state", "--checkpoint-every", 1000, "--no-factorize", "--quiet"]
    kill_after_checkpoints(folder, [*words, *stream.options()], stream.text(stop=29_000), 4, rng.uniform(0, 0.02))
    n_first = check_state(folder / "state", stream)
    assert 0 < n_first < stream.n_updates
    finish(folder, stream.text(start=n_first), *words, "--resume", "--continues")
    assert check_state(folder / "state", stream) == stream.n_updates


def unfinished(folder):
    """Bytes of files that are being written to become the checkpoint, by name."""
    found = {}
    for path in set(folder.glob(".state.*")) - {lock_beside(folder / "state")}:
        with suppress(FileNotFoundError):
            found[path.name] = path.stat().st_size
    return found


def test_killed_while_it_writes_a_checkpoint(folder):
    stream, state = Stream(LARGE, 40_000), folder / "state"
    words = ["--checkpoint", "state", "--checkpoint-every", 4000, "--no-factorize", "--quiet"]
    n_bytes = 8 * sum(array.size for array in stream.sketch(0)._held.intake.state.arrays)
    left_behind = set()
    # The first checkpoint is that of the empty sketch. A delay of a few ms may hit what comes after writing.
    for n_checkpoints, delay in ((1, 0.0), (3, 0.0), (2, np.random.default_rng().uniform(0, 0.05))):
        more = ["--resume"] if state.exists() else stream.options()
        with running(folder, *words, *more) as process, fed(process, stream.text(stop=38_000)):
            for _ in range(n_checkpoints - 1):
                before = mark_of(state)
                wait_until(lambda before=before: mark_of(state) != before, process)
            old = set(unfinished(folder))
            wait_until(
                lambda old=old: any(size > n_bytes / 4 for name, size in unfinished(folder).items() if name not in old),
                process,
            )
            time.sleep(delay)
            kill(process)
        left_behind |= set(unfinished(folder))
        if state.exists():
            assert check_state(state, stream) < stream.n_updates
    assert left_behind, "no checkpoint was being written when a process was killed"
    finish(folder, stream.text(), *words, *(["--resume"] if state.exists() else stream.options()))
    assert check_state(state, stream) == stream.n_updates
    assert TurnstileSketch.load(state).position == stream.position()


def test_stopped_while_it_waits_for_input(folder):
    stream = Stream(SMALL, 10_000)
    words = ["--checkpoint", "state", "--checkpoint-every", 1000, "--no-factorize"]
    with running(folder, *words, *stream.options()) as process, fed(process, stream.text(stop=8000)):
        wait_until((folder / "state").exists, process)
        wait_until(lambda: TurnstileSketch.load(folder / "state").position["n_updates"] >= 7000, process)
        time.sleep(0.5)  # it has read all of the rest, and nothing but the signal can wake it
        process.terminate()
        assert process.wait(PATIENCE) == 130
        errors = process.stderr.read()
        assert errors.startswith(b"hushrank: stopped; state has the updates before that: --resume goes on")
        assert errors.count(b"\n") == 1
    assert 7000 <= check_state(folder / "state", stream) <= 8000
    assert unfinished(folder) == {}


# A process that kills itself where no other could hit: arguments are the name of what is replaced, and the command.
KILLED_AMID = """
import os, signal, sys
from hushrank.cli.main import cli
from hushrank.estimators.turnstile.factorization import Factorization
from hushrank.estimators.turnstile.sketch import TurnstileSketch
kind = {"TurnstileSketch": TurnstileSketch, "Factorization": Factorization}[sys.argv[1]]
save = kind.save
def killed(self, *args, **terms):
    if isinstance(self, Factorization) or (self._held is not None and self._held.n_releases):
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, *args, **terms)
kind.save = killed
cli.main(sys.argv[2:], prog_name="hushrank", standalone_mode=False)
"""


@pytest.mark.parametrize(
    ("kind", "n_counted"),
    [("TurnstileSketch", 0), ("Factorization", 1)],
    ids=["before it is counted", "before it is written"],
)
def test_a_release_is_counted_or_nobody_has_seen_it(folder, monkeypatch, kind, n_counted):
    monkeypatch.chdir(folder)
    stream = Stream({"shape": (40, 30), "rank": 2}, 500)
    (folder / "updates.csv").write_bytes(stream.text())
    parameters = ["--shape", "40", "30", "--rank", "2", "--epsilon", "1", "--delta", "1e-6"]  # no seed: two releases
    line = ["stream", "updates.csv", *parameters, "--checkpoint", "state", "--out", "found", "--report", "page"]
    done = subprocess.run([sys.executable, "-c", KILLED_AMID, kind, *line], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
    assert not os.path.exists("found") and not os.path.exists("page")
    line = "updates.csv --resume --checkpoint state --out found --quiet".split()
    if n_counted:  # it is paid for, and lost: another one must be asked for
        assert CliRunner().invoke(command, line).exit_code == 2 and not os.path.exists("found")
        line.append("--again")
    result = CliRunner().invoke(command, line)
    assert result.exit_code == 0, result.exception
    found = hushrank.load("found")
    assert found.release_ == n_counted + 1 and (found.privacy_.epsilon > 1.0) == (n_counted > 0)
