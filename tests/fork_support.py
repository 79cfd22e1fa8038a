"""Work in a forked child, and what became of it."""

import os
import select
import signal
import warnings

PATIENCE = 60


def fork():
    """os.fork, also where Python 3.12 warns of threads: those of a test runner hold no lock that a child needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def start_child(work):
    """Process id of a child that runs `work`, and the end of a pipe that will tell its outcome."""
    reader, report = os.pipe()
    child = fork()
    if child:
        os.close(report)
        return child, reader
    try:
        try:
            outcome = f"returned {work()!r}"
        except BaseException as error:
            outcome = f"{type(error).__name__}: {error}"
        os.write(report, outcome.encode())
    finally:
        os._exit(0)  # none of the parent's clean-up, and no tests


def outcome_of(child, reader):
    """What a child reported; one that hangs is ended and reported nothing."""
    try:
        told, _, _ = select.select([reader], [], [], PATIENCE)
        if not told:
            os.kill(child, signal.SIGKILL)
        return os.read(reader, 1 << 16).decode() if told else "hung"
    finally:
        os.close(reader)
        os.waitpid(child, 0)


def in_child(work):
    """Outcome of `work` in a forked child: "returned ..." or the name and message of its exception."""
    return outcome_of(*start_child(work))
