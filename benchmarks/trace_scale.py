"""Private trace regression from a disk: 1e6 dense records of 50 x 50 numbers in one npy file of 10 GB.

A part of bench_trace.py that runs on its own as well: `python benchmarks/trace_scale.py 1e5` takes fewer records. The
fit is a process of its own with two threads, whose peak is VmHWM, interpreter and libraries included. A pass is one sum
over all records. It is compared with reading the file once for each pass, by one thread into one buffer, in blocks of
the size that a fit has: first after the file was dropped from the page cache, then again, as the fit finds it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import table
from personalization_scale import CountingEngine, peak_gigabytes

import numpy as np  # isort: skip  (after measure, which fixes the threads)

SIDE, RANK, NOISE, THREADS = 50, 2, 0.5, 2
VALUES = (2.0, 1.0)
SIZES = (10**6,)
LIMIT_GIGABYTES, LIMIT_RATIO = 2.0, 2.5
RECORD_BYTES = 4 * SIDE * SIDE
RECORDS_PER_WRITE, FEW = 10_000, 2_000
X_FILE, Y_FILE, TRUTH_FILE = "measurements.npy", "answers.npy", "truth.npy"


def write(folder: Path, n: int) -> None:
    """Gaussian measurements, answers and the truth, some records at a time."""
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((SIDE, RANK)))[0] for _ in range(2))
    truth, y = (U * VALUES) @ V.T, np.empty(n)
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False}
    with (folder / X_FILE).open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (n, SIDE, SIDE)})
        for start in range(0, n, RECORDS_PER_WRITE):
            part = slice(start, min(start + RECORDS_PER_WRITE, n))
            X = rng.standard_normal((part.stop - start, SIDE * SIDE), np.float32)
            y[part] = X @ truth.ravel() + NOISE * rng.standard_normal(len(X))
            file.write(X.data)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    np.save(folder / Y_FILE, y)
    np.save(folder / TRUTH_FILE, truth)


def read(folder: Path) -> list[float]:
    """Seconds of reading all of the file, twice."""
    from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS

    records = min(MAX_BLOCK_ROWS, MAX_BLOCK_BYTES // (8 * SIDE * SIDE))  # of a block of a fit
    buffer, taken = memoryview(bytearray(records * RECORD_BYTES)), []
    for _ in range(2):
        start = time.perf_counter()
        with (folder / X_FILE).open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
        taken.append(time.perf_counter() - start)
    return taken


def fit(folder: Path) -> dict[str, float]:
    """One fit from the file."""
    import logging

    from hushrank.estimators.trace.estimator import PrivateTraceRegression

    logging.getLogger("hushrank").setLevel(logging.ERROR)
    engine, truth = CountingEngine(THREADS), np.load(folder / TRUTH_FILE)
    before, wall, cpu = peak_gigabytes(), time.perf_counter(), time.process_time()
    model = PrivateTraceRegression(RANK, epsilon=1.0, delta=1e-5, engine=engine).fit(folder / X_FILE, folder / Y_FILE)
    seconds = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    error = float(np.linalg.norm(model.coef_ - truth) / np.linalg.norm(truth))
    return {**seconds, "passes": engine.passes, "before": before, "peak": peak_gigabytes(), "error": error}


def measure(n: int) -> tuple[str, ...]:
    """Cells of one size."""
    with tempfile.TemporaryDirectory(prefix="hushrank-bench-") as name:
        folder = Path(name)
        free, needed = shutil.disk_usage(folder).free, 1.1 * n * RECORD_BYTES
        if free < needed:
            words = f"not measured: {free / 1e9:.1f} GB are free, {needed / 1e9:.1f} are needed"
            return (f"{n:.0e}", words, *("",) * 7)
        in_process("--write", folder, str(FEW))
        in_process("--fit", folder)  # compile
        in_process("--write", folder, str(n))
        first, second = json.loads(in_process("--read", folder))
        seen = json.loads(in_process("--fit", folder))
    reads = [f"{one:.2f}: {seen['seconds'] / (seen['passes'] * one):.2f}" for one in (first, second)]
    numbers = f"{seen['seconds']:.1f}", f"{seen['cpu']:.1f}", f"{seen['passes']}"
    memory = f"{seen['peak']:.2f}", f"{seen['before']:.2f}"
    return f"{n:.0e}", *numbers, *memory, *reads, f"{seen['error']:.4f}"


def run(sizes: tuple[int, ...] = SIZES) -> list[str]:
    """Measure and return Markdown."""
    header = (
        "records of 50 x 50 float32, npy file", "s", "CPU s", "passes", f"peak GB (below {LIMIT_GIGABYTES:g})",
        "of which before the fit", "s of first reading: fit over reading in every pass",
        f"s of second reading: the same (at most {LIMIT_RATIO:g})", "relative error",
    )  # fmt: skip
    return table(header, [measure(n) for n in sizes])


def in_process(task: str, folder: Path, *arguments: str) -> str:
    """Output of this file, run with a task of its own."""
    command = [sys.executable, __file__, task, str(folder), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--fit"]:
        print(json.dumps(fit(Path(sys.argv[2]))))
    elif sys.argv[1:2] == ["--read"]:
        print(json.dumps(read(Path(sys.argv[2]))))
    else:
        print("\n".join(run(tuple(int(float(size)) for size in sys.argv[1:]) or SIZES)))
