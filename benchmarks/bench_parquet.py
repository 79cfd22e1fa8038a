"""A folder of Parquet files larger than the memory allowed: peak memory, time and rate of private PCA.

The folder is written to a temporary directory and deleted afterwards. It is written in one process and read in another,
whose peak is VmHWM; ru_maxrss would be inherited from the process that starts it.
"""

import json
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
from hushrank.estimators.second_moment.pca import PrivatePCA

TITLE = "Private PCA of a Parquet folder of 5 GB in under 1 GB of memory"
N_FILES, ROWS_PER_FILE, N_FEATURES = 5, 1_300_000, 100
ROWS_PER_GROUP = 650_000  # 520 MB: a reader of whole row groups would need the memory of several
ROWS_PER_WRITE = 65_000
THREADS = 2
ROW_NORM = 10.0  # about half of the rows are longer


def write_folder(folder: str) -> None:
    """Random rows in several files with large row groups; run in a process of its own."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(N_FEATURES)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    for i in range(N_FILES):
        with pq.ParquetWriter(Path(folder) / f"part-{i}.parquet", schema) as writer:
            for _ in range(ROWS_PER_FILE // ROWS_PER_GROUP):
                writes = range(ROWS_PER_GROUP // ROWS_PER_WRITE)
                columns = [rng.standard_normal((N_FEATURES, ROWS_PER_WRITE)) for _ in writes]
                chunks = [pa.table(list(part), schema=schema) for part in columns]
                writer.write_table(pa.concat_tables(chunks), row_group_size=ROWS_PER_GROUP)


def peak_resident_megabytes() -> float:
    """Largest resident memory of this process so far, as Linux counts it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e6


def read_folder(folder: str) -> dict[str, Any]:
    """Fit on the folder, with a private center, so that it is read twice; run in a process of its own."""
    before = peak_resident_megabytes()
    start = time.perf_counter()
    terms = {"row_norm": ROW_NORM, "radius": "public", "center": "private", "epsilon": 1.0}
    pca = PrivatePCA(5, **terms, engine=LocalEngine(THREADS)).fit(folder)
    seconds = time.perf_counter() - start
    return {
        "rows": pca.n_,
        "before": before,
        "peak": peak_resident_megabytes(),
        "seconds": seconds,
    }


def run() -> list[str]:
    """Write, read, delete; return a Markdown table."""
    with tempfile.TemporaryDirectory(prefix="hushrank-bench-") as folder:
        in_process("--write", folder)
        on_disk = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        seen = json.loads(in_process("--read", folder))
    # Rates count both passes over the data.
    as_floats = 8 * seen["rows"] * N_FEATURES / 1e6
    header = ("rows x columns", "as float64 MB", "on disk MB", "RSS after imports MB", "peak RSS MB", "s", "MB/s")
    measured = (as_floats, on_disk, seen["before"], seen["peak"], seen["seconds"], 2 * as_floats / seen["seconds"])
    return table(header, [(f"{seen['rows']} x {N_FEATURES}", *(f"{value:.0f}" for value in measured))])


def in_process(task: str, folder: str) -> str:
    """Output of this file, run with a task of its own."""
    return subprocess.run([sys.executable, __file__, task, folder], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write_folder(sys.argv[2])
    elif sys.argv[1:2] == ["--read"]:
        print(json.dumps(read_folder(sys.argv[2])))
    else:
        print("\n".join(run()))
