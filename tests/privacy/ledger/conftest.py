"""Places for ledgers, and crowds of processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ledger_support import postgres_server, postgres_url, sqlite_path, where

__all__ = ["charging", "postgres_server", "postgres_url", "sqlite_path", "where"]


@pytest.fixture
def charging():
    """Runs charging.py in a process of its own and returns its result."""

    def run(*arguments):
        command = [sys.executable, str(Path(__file__).with_name("charging.py")), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
