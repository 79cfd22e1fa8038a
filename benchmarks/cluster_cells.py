"""One fit on a Dask cluster in a process of its own: its time by passes and its memory, beside what `plan` forecasts.

`python benchmarks/cluster_cells.py FOLDER JOB WORKERS` prints what `measure` returns as JSON. The first fit, of few
data, loads what was compiled and is not counted. Workers have one thread each.
"""

import argparse
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_parquet import peak_resident_megabytes
from bench_scale import N_ITEMS, write_ratings

import numpy as np  # isort: skip  (after bench_scale, which fixes the threads)
import pyarrow as pa
import pyarrow.parquet as pq

import hushrank as hr

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
N_FILES, FEW = 8, 20_000
FEATURES = [f"x{j}" for j in range(20)]
SHAPE = (100_000, 50_000)


@dataclass(frozen=True)
class Job:
    """A fit: its data, and what it is fitted with.

    Attributes
    ----------
    size : int
        Rows, ratings, records or updates.
    write : callable
        (path, number of rows, seed) -> None, one file.
    make : callable
        (engine) -> what has `fit(folder)` and `plan`.
    sizes : dict
        What `plan` takes.
    """

    size: int
    write: Callable[[Path, int, int], None]
    make: Callable[[Any], Any]
    sizes: dict[str, Any]


def write_rows(path: Path, n: int, seed: int) -> None:
    """Rows of 50 columns."""
    X = np.random.default_rng(seed).standard_normal((n, 50)) * (np.arange(50) + 1.0) ** -0.7
    pq.write_table(pa.table({f"c{j:02d}": X[:, j] for j in range(50)}), path)


def write_records(path: Path, n: int, seed: int) -> None:
    """Records of users in no order, ten each, of 20 features."""
    rng = np.random.default_rng(seed)
    X, users = rng.standard_normal((n, 20)), rng.integers(max(n * N_FILES // 10, 1), size=n)
    y = X[:, 0] * np.cos(users) + X[:, 1] * np.sin(users) + 0.3 * rng.standard_normal(n)
    columns = {"user": users, "answer": y, **{name: X[:, j] for j, name in enumerate(FEATURES)}}
    pq.write_table(pa.table(columns), path)


def write_updates(path: Path, n: int, seed: int) -> None:
    """Updates of users in no order, a hundred each."""
    rng = np.random.default_rng(seed)
    columns = {
        "row": rng.integers(SHAPE[0], size=n),
        "column": rng.integers(SHAPE[1], size=n),
        "delta": rng.choice([-0.01, 0.01], n),
        "user": rng.integers(max(n * N_FILES // 100, 1), size=n),
    }
    pq.write_table(pa.table(columns), path)


def ratings_of(n_users: int, rank: int, epsilon: float) -> Job:
    """Twenty million ratings of so many users; few users have factors at a large epsilon only."""

    def write(path: Path, n: int, seed: int) -> None:
        write_ratings(path, n, n_users if n > FEW else 1000, seed=seed + 1)

    def make(engine: Any) -> Any:
        return hr.PrivateCompletion(
            rank, rating_range=(1, 5), items=N_ITEMS, epsilon=epsilon, delta=1e-6, engine=engine
        )

    guesses = {"ratings_per_user": 2e7 / n_users}
    return Job(20_000_000, write, make, {"n_users": n_users, "n_items": N_ITEMS, "guesses": guesses})


class Stream:
    """A sketch as a fit: an empty one takes the updates and is factorized."""

    def __init__(self, engine: Any, **terms: Any) -> None:
        self._engine, self._terms = engine, {"shape": SHAPE, "rank": 10, **BUDGET, **terms}

    def fit(self, folder: Path) -> None:
        """Open, update, factorize."""
        sketch = hr.TurnstileSketch(**self._terms)
        sketch.update(folder, engine=self._engine).factorize()

    def plan(self, **sizes: Any) -> Any:
        """That of the sketch."""
        return hr.TurnstileSketch(**self._terms).plan(**sizes)


class Representation:
    """A representation of records in files."""

    def __init__(self, engine: Any) -> None:
        self._model = hr.PrivateRepresentation(2, **BUDGET, engine=engine)
        self.plan = self._model.plan

    def fit(self, folder: Path) -> None:
        """With the columns of the files."""
        self._model.fit(folder, "answer", users="user")


JOBS = {
    "ratings, 100 a user, rank 8": ratings_of(200_000, 8, 1.0),
    "ratings, 1000 a user, rank 8": ratings_of(20_000, 8, 8.0),
    "rows of 50 columns": Job(
        1_000_000, write_rows, lambda engine: hr.PrivatePCA(5, row_norm=10.0, **BUDGET, engine=engine),
        {"n_samples": 1_000_000, "n_features": 50},
    ),
    "records of 20 features": Job(
        1_000_000, write_records, Representation,
        {"n_users": 100_000, "n_features": 20, "guesses": {"records_per_user": 10.0}},
    ),
    "updates": Job(10_000_000, write_updates, Stream, {"n_updates": 10_000_000}),
    "updates of counted users": Job(
        10_000_000, write_updates, lambda engine: Stream(engine, unit="user"), {"n_updates": 10_000_000}
    ),
}  # fmt: skip


def write(folder: Path, job: Job) -> None:
    """Files of a job, and few of them for the first fit."""
    for name, size in (("all", job.size), ("few", FEW)):
        folder.joinpath(name).mkdir(parents=True)
        for number in range(N_FILES):
            job.write(folder / name / f"part-{number}.parquet", size // N_FILES, number)


def measure(folder: Path, name: str, workers: int) -> dict[str, Any]:
    """Seconds of a fit, of bringing people together and of each pass; GB of the caller and of the largest worker."""
    with local_cluster(workers) as client:
        engine = timed_engine(client)
        model = JOBS[name].make(engine)
        model.fit(folder / "few")
        few = {"base": max(client.run(gigabytes).values()), "caller base": gigabytes()}
        engine.log.clear()
        start = time.perf_counter()
        model.fit(folder / "all")
        seconds = time.perf_counter() - start
        memory, log = {"worker": max(client.run(gigabytes).values()), "caller": gigabytes()}, list(engine.log)
        engine.log.clear()
        start = time.perf_counter()
        model.fit(folder / "few")
        small = time.perf_counter() - start
    resources = model.plan(**JOBS[name].sizes, workers=workers).resources
    return {
        "seconds": seconds,
        "small": small,
        **few,
        **memory,
        "log": log,
        "small log": engine.log,
        "forecast": resources,
    }


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """A client of so many processes of one thread each, with memory as clusters of `DaskEngine` have it."""
    import dask
    from distributed import Client, LocalCluster

    from hushrank.engine.dask_clusters import MEMORY_SETTINGS

    terms = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set(MEMORY_SETTINGS),
        LocalCluster(n_workers=workers, **terms) as cluster,
        Client(cluster) as client,
    ):
        yield client


def timed_engine(client: Any) -> Any:
    """An engine that notes how long everything takes; people are brought together when they are placed."""

    class Timed(hr.DaskEngine):
        log: list[tuple[str, float]] = []  # noqa: RUF012  (one engine in a process)

        def group(self, *terms: Any, **options: Any) -> Any:
            groups = super().group(*terms, **options)
            self._note("grouping", groups.n_people)
            return groups

        def total(self, source: Any, kernel: Any, state: Any, **options: Any) -> Any:
            label, run = options.get("label", ""), super().total
            return self._note(label, lambda: run(source, kernel, state, **options))

        def fold(self, *args: Any, **options: Any) -> Any:
            run = super().fold
            return self._note("updates", lambda: run(*args, **options))

        def each(self, *args: Any) -> Any:
            run = super().each
            return self._note("totals of users", lambda: run(*args))

        def _note(self, label: str, action: Any) -> Any:
            start = time.perf_counter()
            result = action()
            self.log.append((label, time.perf_counter() - start))
            return result

    return Timed(client)


def gigabytes() -> float:
    """Most memory that this process has had; what `getrusage` says begins with that of whoever started it."""
    return peak_resident_megabytes() / 1e3


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("workers", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    print(json.dumps(measure(options.folder, options.job, options.workers)))
