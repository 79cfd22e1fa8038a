"""Options that say where a command computes."""

import json
import os
import subprocess
import sys

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from hushrank.cli.engines import ENGINE_OPTIONS, make_engine
from hushrank.engine.local import LocalEngine


def test_threads_are_of_this_machine():
    assert make_engine(3, None) == LocalEngine(3) and make_engine(None, None) == LocalEngine()


def test_a_cluster_has_threads_of_its_own():
    with pytest.raises(click.UsageError, match="--threads and --cluster exclude each other"):
        make_engine(3, "processes")


def test_both_are_options():
    @click.command()
    @ENGINE_OPTIONS
    def command(threads, cluster):
        click.echo(f"{threads} {cluster}")

    assert CliRunner().invoke(command, ["--cluster", "tcp://a:1"]).output == "None tcp://a:1\n"
    assert CliRunner().invoke(command, ["--threads", "2"]).output == "2 None\n"


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame(np.arange(60.0).reshape(20, 3), columns=list("abc")).to_csv(path, index=False)
    return f"pca {path} --components 1 --row-norm 50 --epsilon 1 --seed 1 --json --quiet"


def run(line):
    """The command in a process of its own, which waits for no scheduler."""
    environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "0.2s"}
    command = [sys.executable, "-m", "hushrank", *line.split()]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_cluster_gives_what_this_machine_gives(rows, cluster):
    here, there = (run(f"{rows} {more}") for more in ("", f"--cluster {cluster.scheduler.address}"))
    assert (here.returncode, there.returncode) == (0, 0) and json.loads(here.stdout) == json.loads(there.stdout)


def test_a_cluster_of_its_own_says_nothing_of_its_steps(rows):
    pytest.importorskip("distributed", reason="needs the extra dask")
    here, there = (run(f"{rows} {more}") for more in ("", "--cluster threads"))
    assert there.returncode == 0 and there.stdout == here.stdout and there.stderr == ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nonsense", "--cluster must be the address of a Dask scheduler, such as tcp://host:8786, or 'processes'"),
        ("tcp://127.0.0.1:9", "--cluster must be a Dask scheduler that answers; got 'tcp://127.0.0.1:9'."),
    ],
)
def test_what_is_no_cluster_is_one_line_and_exit_code_2(rows, given, message):
    pytest.importorskip("distributed", reason="needs the extra dask")
    ended = run(f"{rows} --cluster {given}")
    assert ended.returncode == 2 and message in ended.stderr and len(ended.stderr.splitlines()) == 1
