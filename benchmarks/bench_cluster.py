"""Private recommenders from a folder of Parquet files on Dask clusters of one and two workers, beside the local engine.

`make bench-cluster` runs it: 2e8 ratings in no order, 20000 items, 100 ratings a user. Each way is a fresh process; a
worker is a process of one thread that Dask ends if it takes more than 4 GB, and then there is no result. Times are
those of `fit`: reading, bringing users together, all passes, noise and post-processing. Clusters are measured twice, in
turn, and the shorter time counts: other work on a machine only adds to it. All ways must give the same bits. Dask
alone, without privacy: its own shuffle of the same ratings by user, and the mean rating of every item.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_scale import N_ITEMS, RANK, write_ratings
from measure import replace_section, table

TITLE = "Dask clusters beside the local engine"
N_RATINGS, N_FILES = 200_000_000, 40
WORKER_GIGABYTES = 4.0
LEAST_SPEEDUP, MOST_OVERHEAD = 1.6, 1.25
WAYS = ("local, 1 thread", "local, 2 threads", "Dask, 1 worker", "Dask, 2 workers", "Dask alone, 2 workers")
TWICE = WAYS[2:4]


def write_folder(folder: Path, n_ratings: int) -> None:
    """Files of ratings of the same users; each has its own noise and order."""
    for number in range(N_FILES):
        write_ratings(folder / f"part-{number:03d}.parquet", n_ratings // N_FILES, n_ratings // 100, seed=number)


def fit(folder: Path, way: str) -> None:
    """One way, in a process of its own; prints seconds, gigabytes of this process and of each worker, and a digest."""
    kind, *_, count, _ = way.split()
    if kind == "local,":
        from hushrank.engine.local import LocalEngine

        print(json.dumps(_private(folder, LocalEngine(int(count)))))
        return
    import dask
    from distributed import Client, LocalCluster

    from hushrank.engine.dask_clusters import MEMORY_SETTINGS

    dask.config.set(MEMORY_SETTINGS)
    terms = {"threads_per_worker": 1, "memory_limit": f"{WORKER_GIGABYTES}GB", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=int(count), **terms) as cluster, Client(cluster) as client:
        workers = set(client.run(os.getpid).values())
        if "alone" in way:
            found = _plain(folder)
        else:
            from hushrank.engine.dask import DaskEngine

            found = _private(folder, DaskEngine(client))
        if set(client.run(os.getpid).values()) != workers:
            raise SystemExit("a worker was lost")
        print(json.dumps({**found, "workers": sorted(client.run(_gigabytes).values())}))


def _gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _model(engine):
    from hushrank.estimators.completion.estimator import PrivateCompletion

    # A seed, for the comparison of bits alone.
    terms = {"epsilon": 1.0, "delta": 1e-6, "rating_range": (1, 5), "items": N_ITEMS, "random_state": 1}
    return PrivateCompletion(RANK, **terms, engine=engine)


def _warm_up(engine) -> None:
    """Load compiled kernels: a worker lives longer than a fit."""
    with tempfile.TemporaryDirectory() as folder:
        write_ratings(Path(folder, "few.parquet"), 100_000, 1000, seed=0)
        _model(engine).fit(folder)


def _private(folder: Path, engine) -> dict:
    _warm_up(engine)
    start = time.perf_counter()
    model = _model(engine).fit(folder)
    seconds = time.perf_counter() - start
    digest = hashlib.sha256(model.item_factors_.tobytes() + model.item_means_.tobytes()).hexdigest()[:16]
    return {"seconds": seconds, "gigabytes": _gigabytes(), "digest": digest, "factors": model.n_factors_}


def _plain(folder: Path) -> dict:
    """What Dask takes to read, to bring users together and for one mean of each item, without any privacy."""
    import dask.dataframe as dd

    start = time.perf_counter()
    ratings = dd.read_parquet(folder)
    by_user = ratings.shuffle("user", npartitions=48, shuffle_method="p2p")
    means = by_user.groupby("item")["rating"].mean().compute()
    seconds = time.perf_counter() - start
    assert len(means) == N_ITEMS
    return {"seconds": seconds, "gigabytes": _gigabytes()}


def measure(folder: Path, way: str) -> dict:
    """A fresh process."""
    command = [sys.executable, __file__, "--fit", str(folder), "--way", way]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(printed.splitlines()[-1])


def _together(rounds: list[dict]) -> dict:
    """The shortest time, the most memory; a digest, if all rounds have the same."""
    memory = {"gigabytes": max(one["gigabytes"] for one in rounds)}
    if "workers" in rounds[0]:
        memory["workers"] = [max(peaks) for peaks in zip(*(one["workers"] for one in rounds), strict=True)]
    digests = {one.get("digest") for one in rounds}
    digest = digests.pop() if len(digests) == 1 else "differs"
    return {"seconds": min(one["seconds"] for one in rounds), **memory, "digest": digest}


def run(n_ratings: int = N_RATINGS, place: Path | None = None) -> list[str]:
    """Measure and return Markdown."""
    with tempfile.TemporaryDirectory(dir=place) as made:
        folder = Path(made)
        write_folder(folder, n_ratings)
        rounds: dict[str, list[dict]] = {way: [] for way in WAYS}
        for way in (*WAYS, *TWICE):
            rounds[way].append(measure(folder, way))
            print(way, rounds[way][-1], file=sys.stderr)
    found = {way: _together(one) for way, one in rounds.items()}
    rows = []
    for way, one in found.items():
        workers = ", ".join(f"{gigabytes:.2f}" for gigabytes in one.get("workers", []))
        same = "" if one["digest"] is None else "yes" if one["digest"] == found[WAYS[0]]["digest"] else "NO"
        rows.append([way, f"{one['seconds']:.0f}", f"{one['gigabytes']:.2f}", workers, same])
    speedup = found[WAYS[2]]["seconds"] / found[WAYS[3]]["seconds"]
    overheads = [found[WAYS[2 + k]]["seconds"] / found[WAYS[k]]["seconds"] for k in range(2)]
    header = ["way", "seconds of a fit", "peak GB of the caller", "of each worker", "same bits as local"]
    return [
        *table(header, rows),
        "",
        f"{n_ratings:.0e} ratings in {N_FILES} files; clusters are measured twice, and the shorter time counts. Two "
        f"workers are {speedup:.2f} times as fast as one (at least {LEAST_SPEEDUP}). Time over that of the local "
        f"engine with as many threads: {overheads[0]:.2f} with one worker (at most {MOST_OVERHEAD}), "
        f"{overheads[1]:.2f} with two.",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fit", type=Path)
    parser.add_argument("--way")
    parser.add_argument("--ratings", type=float, default=N_RATINGS)
    parser.add_argument("--place", type=Path, help="where the ratings are written; some GB")
    options = parser.parse_args()
    if options.fit:
        fit(options.fit, options.way)
    else:
        lines = run(int(options.ratings), options.place)
        print("\n".join(lines))
        if options.ratings == N_RATINGS:
            replace_section(TITLE, "make bench-cluster", lines)
