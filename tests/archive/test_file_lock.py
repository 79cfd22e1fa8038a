"""The lock of a file: one process at a time, freed by any end of it, and a clear line for the second."""

import signal
import subprocess
import sys

import pytest

from hushrank.archive.file_lock import lock_beside, sole_run
from hushrank.exceptions import CheckpointError

HOLD = """
import sys, time
from pathlib import Path
from hushrank.archive.file_lock import sole_run
with sole_run(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_run_is_refused_until_the_first_ends(tmp_path):
    path = tmp_path / "state"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(CheckpointError, match=r"state is in use by another run: wait for its end\.$"), sole_run(path):
        raise AssertionError("not reached")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with sole_run(path):
        assert lock_beside(path).stat().st_mode & 0o077 == 0


def test_the_lock_is_free_after_use_and_after_an_error(tmp_path):
    path = tmp_path / "state"
    with pytest.raises(ZeroDivisionError), sole_run(path):
        raise ZeroDivisionError
    for _ in range(2):
        with sole_run(path):
            assert not path.exists()  # the file itself is not touched


def test_without_a_file_nothing_is_locked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sole_run(None):
        assert not any(tmp_path.iterdir())


def test_a_folder_that_is_missing_or_a_link_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"^cannot lock .*: No such file"), sole_run(tmp_path / "none" / "state"):
        raise AssertionError("not reached")
    lock_beside(tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match=r"^cannot lock "), sole_run(tmp_path / "state"):
        raise AssertionError("not reached")
    assert not (tmp_path / "elsewhere").exists()
