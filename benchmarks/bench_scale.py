"""Private recommenders of growing size from Parquet: time and memory as users grow, 20000 items, 100 ratings a user.

`make bench-scale` runs it; rows come in no order, so users are grouped out of core. Each size is one fresh process,
whose largest resident memory counts. Slopes are those of log CPU time over log ratings, between one size and the next
and of the line through all of them. The last decade is steeper than linear because more users support a second moment
of more items: it grows from about 1400 to its cap of 8192.
"""

import argparse
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import replace_section, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
import pyarrow as pa
import pyarrow.parquet as pq

TITLE = "Private recommenders as users grow"
N_ITEMS, RATINGS_PER_USER, RANK, CHUNK = 20_000, 100, 8, 1_000_000
SIZES = (10**5, 10**6, 10**7, 10**8)
LIMIT_GIGABYTES, LIMIT_SLOPE = 4.0, 1.1


def write_ratings(path: Path, n_ratings: int, n_users: int | None = None, seed: int = 0) -> None:
    """Ratings in no order: items by a power law, with qualities, tastes and generous users; a chunk at a time.

    Files of other seeds have other ratings of the same users and items.
    """
    rng = np.random.default_rng(0)
    n_users = n_ratings // RATINGS_PER_USER if n_users is None else n_users
    cumulated = np.cumsum(1.0 / (np.arange(N_ITEMS) + 50.0))
    quality, taste = 0.4 * rng.standard_normal(N_ITEMS), rng.standard_normal((N_ITEMS, 3))
    mixing = rng.standard_normal((16, 3))  # a user's generosity and tastes follow from the id
    rng = np.random.default_rng(seed) if seed else rng
    schema = pa.schema([("user", pa.int64()), ("item", pa.int32()), ("rating", pa.float32())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_ratings, CHUNK):
            n = min(CHUNK, n_ratings - start)
            users = rng.integers(n_users, size=n)
            items = np.searchsorted(cumulated, rng.random(n) * cumulated[-1])
            bits = np.where((users[:, None] >> np.arange(16)) & 1, 0.25, -0.25)
            raw = 3.5 + quality[items] + bits[:, :4].sum(axis=1) + 0.5 * ((bits @ mixing) * taste[items]).sum(axis=1)
            ratings = np.clip(np.rint(raw + 0.7 * rng.standard_normal(n)), 1, 5)
            columns = [pa.array(users), pa.array(items.astype(np.int32)), pa.array(ratings.astype(np.float32))]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def fit(path: Path) -> None:
    """One fit, in a process of its own; prints seconds, CPU seconds, gigabytes and the number of factors."""
    import logging

    from hushrank.engine.local import LocalEngine
    from hushrank.estimators.completion.estimator import PrivateCompletion

    logging.getLogger("hushrank").setLevel(logging.ERROR)
    wall, cpu = time.perf_counter(), time.process_time()
    model = PrivateCompletion(
        RANK, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=N_ITEMS, engine=LocalEngine(threads=1)
    ).fit(path)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    print(*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, model.n_factors_)


def run(sizes: tuple[int, ...] = SIZES) -> list[str]:
    """Measure and return Markdown."""
    rows, cpu_seconds = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ratings.parquet")
        write_ratings(path, 1000)
        _measure(path)  # compile
        for n_ratings in sizes:
            write_ratings(path, n_ratings)
            wall, cpu, gigabytes, factors = _measure(path)
            cpu_seconds.append(cpu)
            slope = ""
            if len(cpu_seconds) > 1:
                ratio = sizes[len(cpu_seconds) - 1] / sizes[len(cpu_seconds) - 2]
                slope = f"{math.log(cpu / cpu_seconds[-2]) / math.log(ratio):.2f}"
            rows.append((f"{n_ratings:.0e}", f"{wall:.1f}", f"{cpu:.1f}", slope, f"{gigabytes:.2f}", int(factors)))
            print(rows[-1], flush=True)
    header = (
        "ratings",
        "s",
        "CPU s",
        f"slope (at most {LIMIT_SLOPE})",
        f"peak GB (at most {LIMIT_GIGABYTES:g})",
        "factors",
    )
    return table(header, rows)


def _measure(path: Path) -> list[float]:
    worker = subprocess.run([sys.executable, __file__, "--fit", path], capture_output=True, text=True, check=True)
    return [float(number) for number in worker.stdout.split()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fit", type=Path)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    arguments = parser.parse_args()
    if arguments.fit is not None:
        fit(arguments.fit)
    else:
        measured = run(tuple(size for size in SIZES if size <= arguments.most))
        print("\n".join(measured))
        if arguments.most == SIZES[-1]:
            replace_section(TITLE, "make bench-scale", measured)
