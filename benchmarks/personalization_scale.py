"""Private representations as users grow, 10 records of 50 features each: time and memory, from arrays and from Parquet.

A part of bench_personalization.py that runs on its own as well. Every fit is a process of its own with two threads,
whose peak is VmHWM; rows are float32 and not counted as memory of a fit that has them in an array. A fit reads its data
many times: a pass is one sum over all users. The time of reading is that of pyarrow for one pass over the columns.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
import pyarrow as pa
import pyarrow.parquet as pq

from hushrank.engine.local import LocalEngine

N_FEATURES, N_COMPONENTS, N_RECORDS, THREADS = 50, 2, 10, 2
SIZES, STREAMED = (10**4, 10**5, 10**6), (10**5, 10**6)
LIMIT_SECONDS, LIMIT_GIGABYTES, LIMIT_SLOPE = 90, 3.0, 1.1  # seconds, and memory from Parquet, at 1e6 users
ROWS_PER_WRITE = 500_000


class CountingEngine:
    """An engine that counts how often it was asked for a sum over all people."""

    def __init__(self, threads: int) -> None:
        self.engine, self.passes = LocalEngine(threads), 0

    def total(self, *arguments: Any, **options: Any) -> Any:
        """The sum, counted."""
        self.passes += 1
        return self.engine.total(*arguments, **options)


def write(folder: Path, n_users: int) -> None:
    """Records of users one after the other, as arrays and as one Parquet file."""
    from hushrank.evaluation.synthetic import shared_representation

    terms = {"n_records": N_RECORDS, "noise": 0.01, "seed": 0, "n_fresh": 1, "dtype": np.float32}
    data = shared_representation(n_users, N_FEATURES, N_COMPONENTS, **terms)
    for name, array in (("X", data.X), ("y", data.y), ("users", data.users)):
        np.save(folder / f"{name}.npy", array)
    names = [f"x{j}" for j in range(N_FEATURES)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("target", pa.float32()), ("user", pa.int64())])
    with pq.ParquetWriter(folder / "records.parquet", schema) as writer:
        for start in range(0, len(data.y), ROWS_PER_WRITE):
            part = slice(start, start + ROWS_PER_WRITE)
            columns = [np.ascontiguousarray(column) for column in data.X[part].T]
            writer.write_table(pa.table([*columns, data.y[part], data.users[part]], schema=schema))


def fit(folder: Path, kind: str) -> dict[str, float]:
    """One fit; `kind` is "arrays" or "parquet"."""
    import logging

    from hushrank.estimators.personalization.estimator import PrivateRepresentation

    logging.getLogger("hushrank").setLevel(logging.ERROR)
    engine = CountingEngine(THREADS)
    data: tuple[Any, ...] = (folder / "records.parquet",)
    if kind == "arrays":
        data = tuple(np.load(folder / f"{name}.npy") for name in ("X", "y", "users"))
    before, wall, cpu = peak_gigabytes(), time.perf_counter(), time.process_time()
    PrivateRepresentation(N_COMPONENTS, epsilon=1.0, delta=1e-6, engine=engine).fit(*data)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    memory = {"before": before, "peak": peak_gigabytes()}
    return {"seconds": seconds[0], "cpu": seconds[1], "passes": engine.passes, **memory}


def read(folder: Path) -> dict[str, float]:
    """Seconds of reading all columns of the file once."""
    start = time.perf_counter()
    for batch in pq.ParquetFile(folder / "records.parquet").iter_batches(use_threads=True):
        del batch
    return {"seconds": time.perf_counter() - start}


def peak_gigabytes() -> float:
    """Largest resident memory of this process so far, as Linux counts it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e9


def run(sizes: tuple[int, ...] = SIZES) -> list[str]:
    """Measure and return Markdown."""
    rows, cpu = [], {}
    with tempfile.TemporaryDirectory(prefix="hushrank-bench-") as name:
        folder = Path(name)
        in_process("--write", folder, "200")
        in_process("--fit", folder, "arrays")  # compile
        for n in sizes:
            in_process("--write", folder, str(n))
            seen = json.loads(in_process("--fit", folder, "arrays"))
            cpu[n] = seen["cpu"]
            slope = math.log(cpu[n] / cpu[n // 10]) / math.log(10) if n // 10 in cpu else math.nan
            rows.append((f"{n:.0e}, arrays", *shown(seen), f"{slope:.2f}" if slope == slope else "", ""))
            if n in STREAMED:
                reading = json.loads(in_process("--read", folder))["seconds"]
                streamed = json.loads(in_process("--fit", folder, "parquet"))
                times = f"{streamed['seconds'] / (reading * max(streamed['passes'], 1)):.2f}"
                rows.append((f"{n:.0e}, Parquet", *shown(streamed), "", f"{reading:.2f}: {times}"))
    header = (
        "users, 10 records of 50 features", f"s (at most {LIMIT_SECONDS} at 1e6)", "CPU s", "passes",
        f"GB beyond the start (Parquet: at most {LIMIT_GIGABYTES:g})", f"slope (at most {LIMIT_SLOPE})",
        "s of reading once: fit over reading in every pass",
    )  # fmt: skip
    return table(header, rows)


def shown(seen: dict[str, float]) -> tuple[str, ...]:
    """Cells of one fit."""
    memory = seen["peak"] - seen["before"]
    return f"{seen['seconds']:.1f}", f"{seen['cpu']:.1f}", f"{seen['passes']:.0f}", f"{memory:.2f}"


def in_process(task: str, folder: Path, *arguments: str) -> str:
    """Output of this file, run with a task of its own."""
    command = [sys.executable, __file__, task, str(folder), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--fit"]:
        print(json.dumps(fit(Path(sys.argv[2]), sys.argv[3])))
    elif sys.argv[1:2] == ["--read"]:
        print(json.dumps(read(Path(sys.argv[2]))))
    else:
        print("\n".join(run()))
