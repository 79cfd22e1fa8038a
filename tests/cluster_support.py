"""Clusters of processes for tests, kernels that workers can import, and folders of files."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hushrank.engine.dask_tasks import to_sums
from hushrank.linalg.threads import one_blas_thread  # noqa: F401  (BLAS is looked up before workers start)

NEEDS_DASK = "needs the extra dask"


@contextmanager
def processes(n_workers=2, threads=1):
    """A client of a cluster on this machine, each worker a process of its own."""
    from distributed import Client, LocalCluster

    terms = {"processes": True, "threads_per_worker": threads, "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with LocalCluster(n_workers=n_workers, **terms) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@contextmanager
def cluster_elsewhere():
    """The address of such a cluster that is all in processes of its own.

    It lives long: its scheduler must not take time and memory of tests that have nothing to do with it.
    """
    terms = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, __file__], **terms) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()  # it ends then, and also where this process ends without a word


def write_parts(folder, table, n_files=3, row_group_size=50):
    """A table as a folder of Parquet files; the path as text."""
    folder = Path(folder)
    folder.mkdir()
    table = table if isinstance(table, pa.Table) else pa.table(table)
    rows = -(-max(len(table), 1) // n_files)
    for number in range(n_files):
        part = table.slice(number * rows, rows)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=row_group_size)
    return str(folder)


def sum_rows(block, factor):
    """Sums of columns of integers."""
    return factor * block.astype(np.int64).sum(axis=0)


def sums_of_my_port():
    """Sums that tell where they were made."""
    from distributed import get_worker

    return to_sums(np.array([int(get_worker().address.rsplit(":", 1)[1])]))


def sum_and_count(block, factor):
    """The same, and the number of rows."""
    return sum_rows(block, factor), np.array(len(block))


def fail(block, message):
    """A kernel with a bug."""
    raise ZeroDivisionError(message)


def tell_process(block, folder):
    """Leave a trace of who computed how many rows, and count them."""
    with open(os.path.join(folder, f"{os.getpid()}.log"), "a") as file:
        file.write(f"{len(block)}\n")
    return np.array(len(block))


class SharedGram:
    """X^T X in two halves; leaves a trace where totals are made."""

    def new_totals(self, folder):
        with open(os.path.join(folder, f"{os.getpid()}.totals"), "a") as file:
            file.write("made\n")
        return (np.zeros((2, 2), np.int64),)

    def n_parts(self, folder):
        return 2

    def prepare(self, block, folder):
        return block.astype(np.int64)

    def add(self, prepared, folder, totals, part):
        totals[0][part] += prepared[:, part] @ prepared


def wait_at(block, folder):
    """Count rows; whoever has a row 99 waits until a file says go. Leaves a trace of every run."""
    import time

    first = int(block[-1, 0])
    with open(os.path.join(folder, f"piece-{first}.log"), "a") as file:
        file.write(f"{os.getpid()}\n")
    while first == 99 and not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.02)
    return np.array([len(block), int(block.sum())])


if __name__ == "__main__":
    with processes() as started:
        print(started.scheduler.address, flush=True)
        sys.stdin.read()
