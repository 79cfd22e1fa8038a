"""The constants of `hushrank.estimators.cluster_times`, and what `plan(..., workers=k)` forecasts beside fits.

Data are Parquet files, in the cache of the system; every fit is a fresh process with a fresh cluster of one or two
workers. Constants of single steps are measured in this process, those of moving people by the fits on one worker.
None of the fits is one of those that set the seconds of sums in the `resources` of each job.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cluster_cells
from bench_parquet import peak_resident_megabytes
from cluster_cells import FEW, JOBS, N_FILES
from measure import replace_section, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
import pyarrow as pa

import hushrank as hr
from hushrank.data.parcels import PACKED_ROWS, pack, unpack
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.ratings.regrouping import RatingGrouping
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.estimators.cluster_times import CALLER_MEMORY, TIMES, WORKER_MEMORY, time_with
from hushrank.estimators.completion.parameters import build_catalogue
from hushrank.linalg.scatter import IntegerRows, add_row_products

TITLE = "Constants of clusters, and forecasts beside them"
LIMIT = 2.0
RATINGS, LONG, ROWS, RECORDS = list(JOBS)[:4]
MATRIX = 8192
PLACES = (64, 4096)


class Zeros:
    """A shared kernel of a large matrix to which nobody adds."""

    def new_totals(self, state: int) -> tuple[Any, ...]:
        """The matrix, with every page of it in use."""
        return (np.full((state, state), 1, np.int64),)

    def n_parts(self, state: int) -> int:
        """One."""
        return 1

    def prepare(self, block: Any, state: int) -> None:
        """Nothing."""

    def add(self, prepared: None, state: int, totals: tuple[Any, ...], part: int) -> None:
        """Nothing."""


def count_rows(block: Any, state: Any) -> Any:
    """The smallest kernel."""
    return np.array([len(block)], np.int64)


def seconds_of(call: Callable[[], object], repetitions: int = 3) -> float:
    """The least of some runs."""
    taken = []
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def measure_reading(folder: Path) -> dict[str, float]:
    """Rows of one and of all 50 columns."""
    few, many = (
        seconds_of(lambda names=names: [None for _ in read_rows(folder, owner="bench", columns=names).blocks()])
        for names in (["c00"], [f"c{j:02d}" for j in range(50)])
    )
    n = JOBS[ROWS].size
    number = (many - few) / (49 * n)
    return {"read_row": few / n - number, "read_number": number}


def measure_packing() -> dict[str, float]:
    """What one more place costs those who pack."""
    rng = np.random.default_rng(0)
    numbers = [rng.integers(20_000, size=PACKED_ROWS, dtype=np.int32), rng.random(PACKED_ROWS, dtype=np.float32)]
    rows, found = (pa.array(rng.integers(10**6, size=PACKED_ROWS)), numbers), {}
    for places in PLACES:
        seconds = seconds_of(lambda places=places: pack([rows], places))
        found[places] = seconds, sum(map(len, pack([rows], places)[0]))
    (few, small), (many, large) = found.values()
    n = PLACES[1] - PLACES[0]
    return {"parcel": (many - few) / n, "parcel_bytes": (large - small) / n}


def measure_joining() -> dict[str, float]:
    """Peak of the memory while the ratings of one place are joined, with the parcels that came, for a small place."""
    rng, n, found = np.random.default_rng(0), PACKED_ROWS, {}
    grouping = RatingGrouping(cluster_cells.N_ITEMS, (1.0, 5.0))
    for n_parcels in (1, 4, 32):  # the first one loads what was compiled
        n_users, parcels = n_parcels * n // 100, []
        for _ in range(n_parcels):
            items = rng.integers(cluster_cells.N_ITEMS, size=n, dtype=np.int32)
            ratings = rng.integers(1, 6, size=n).astype(np.float32)
            parcels += pack([(pa.array(rng.integers(n_users, size=n)), [items, ratings])], 1)[0]
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what is resident now
        before = peak_resident_megabytes()
        part = grouping.join((rows for parcel in parcels for rows in unpack(parcel)), 0)
        peak = 1e6 * (peak_resident_megabytes() - before) + sum(map(len, parcels))
        found |= {f"joined, 2^{20 + n_parcels.bit_length() - 1} rows": peak / (n_parcels * n)} if n_parcels > 1 else {}
        found["held"] = part.n_bytes / (n_parcels * n)
        found["sent"] = sum(map(len, parcels)) / (n_parcels * n)
        del part, parcels
    return found


def measure_sums() -> dict[str, float]:
    """Blocks of large sums, and products of a second moment of items, in stripes as a fit adds them."""
    source = read_rows(np.zeros((64, 1)), owner="bench")
    size = 10**7
    engine = LocalEngine(1, block_rows=1)
    cleared = seconds_of(lambda: engine.total(source, lambda block, state: np.zeros(size, np.int64), None), 1)
    rng, n_users, k = np.random.default_rng(0), 1000, 1000
    columns = np.concatenate([np.sort(rng.choice(MATRIX, k, replace=False)) for _ in range(n_users)]).astype(np.int32)
    starts = np.arange(n_users + 1, dtype=np.int64) * k
    rows, total = IntegerRows(starts, columns, np.ones(n_users * k, np.int64)), np.zeros((MATRIX, MATRIX), np.int64)
    edges = [MATRIX * part // 64 for part in range(65)]
    add_row_products(rows, 0, 1, 1, total)

    def add() -> None:
        for first, stop in itertools.pairwise(edges):
            add_row_products(rows, first, stop, 1, total)

    return {"block_byte": cleared / (64 * 8 * size), "product": seconds_of(add) / (n_users * k * (k - 1) / 2)}


def _few(folder: Path) -> Any:
    items = build_catalogue(cluster_cells.N_ITEMS, "bench")
    return read_ratings(folder, owner="bench", items=items, rating_range=(1, 5))


def measure_passes(folder: Path) -> dict[str, float]:
    """Of sums of next to nothing: for few and many places on two workers, and of a large matrix."""
    with cluster_cells.local_cluster(2) as client:
        found = []
        for place_rows in (FEW, FEW // 500):
            engine = hr.DaskEngine(client, place_rows=place_rows)
            source = engine.place(_few(folder))
            engine.total(source, count_rows, None)
            n_places = len(source.pieces())
            found.append((n_places, seconds_of(lambda e=engine, s=source: e.total(s, count_rows, None))))
        engine = hr.DaskEngine(client)
        source = engine.place(_few(folder))
        engine.total(source, Zeros(), 16)
        large = seconds_of(lambda: engine.total(source, Zeros(), MATRIX))
    (few, short), (many, long) = found
    task = (long - short) / (many - few)
    # Two matrices, one of which goes to the other worker; then their sum comes back.
    return {"task": task, "sum_pass": short - few * task, "sum_byte": large / (2 * 8 * MATRIX**2)}


def measure_fit(folder: Path, job: str, workers: int) -> dict[str, Any]:
    """A fresh process."""
    command = [sys.executable, str(Path(cluster_cells.__file__)), str(folder), job, str(workers)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    print(job, workers, printed.splitlines()[-1], file=sys.stderr)
    return found


def grouping_of(found: dict[str, Any]) -> float:
    """Seconds in which people were brought together."""
    return sum(seconds for label, seconds in found["log"] if label == "grouping")


def moving_of(found: dict[str, Any], job: str) -> float:
    """Of a row, beyond what next to nothing takes."""
    few = sum(seconds for label, seconds in found["small log"] if label == "grouping")
    return (grouping_of(found) - few) / JOBS[job].size


def moving(found: dict[tuple[str, int], dict[str, Any]], constants: dict[str, float]) -> dict[str, float]:
    """From ratings (7 bytes) and records (172 bytes), both on one worker."""
    row, number = constants["read_row"], constants["read_number"]
    a_rating = moving_of(found[RATINGS, 1], RATINGS) - row - 3 * number
    a_record = moving_of(found[RECORDS, 1], RECORDS) - row - 22 * number
    byte = (a_record - a_rating) / (172 - 7)
    return {"move_row": a_rating - 7 * byte, "move_byte": byte}


def run(place: Path | None = None) -> list[str]:
    """Measure and return Markdown."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir=place) as made:
        for number, (name, job) in enumerate(JOBS.items()):
            folder = Path(made, str(number))
            cluster_cells.write(folder, job)
            for workers in (1, 2):
                found[name, workers] = measure_fit(folder, name, workers)
            if name == ROWS:
                constants = measure_reading(folder / "all")
        constants |= measure_packing() | measure_joining() | measure_sums() | measure_passes(Path(made, "0", "few"))
    constants |= moving(found, constants)
    constants["fit"] = found[RATINGS, 2]["small"] - 10 * (constants["sum_pass"] + 8 * constants["task"])
    small = [one for (name, _), one in found.items() if name in (RATINGS, ROWS, RECORDS)]  # a sketch has a state
    constants["worker_bytes"] = 1e9 * max(one["base"] for one in small)
    constants["caller_bytes"] = 1e9 * max(one["caller base"] for one in small)
    lines = [(name, f"{value:.3g}", _in_use(name)) for name, value in constants.items()]
    return [*table(("constant", "measured", "in use"), lines), "", *passes_table(found), "", *forecast_table(found)]


def _in_use(name: str) -> str:
    return f"{getattr(TIMES, name):.3g}" if hasattr(TIMES, name) else ""


def passes_table(found: dict[tuple[str, int], dict[str, Any]]) -> list[str]:
    """Where the time of a recommender goes: kinds of passes, on one worker."""
    rows = []
    for name in (RATINGS, LONG):
        seconds: dict[str, list[float]] = {}
        for label, taken in found[name, 1]["log"]:
            seconds.setdefault(label.partition(": ")[2].rpartition(" (")[0] or label, []).append(taken)
        rows += [(name, label, len(taken), f"{sum(taken):.1f}") for label, taken in seconds.items() if sum(taken) > 0.5]
    return table(("20 million ratings on one worker", "pass", "times", "seconds together"), rows)


def forecast_table(found: dict[tuple[str, int], dict[str, Any]]) -> list[str]:
    """Forecasts over what was measured."""
    rows, worst = [], 1.0
    for (name, workers), one in found.items():
        told = one["forecast"]
        pairs = (
            (told[time_with(workers)], one["seconds"]),
            (told[WORKER_MEMORY], one["worker"]),
            (told[CALLER_MEMORY], one["caller"]),
        )
        ratios = [forecast / measured for forecast, measured in pairs]
        worst = max(worst, *ratios, *(1.0 / ratio for ratio in ratios))
        cells = [f"{forecast:.3g} / {measured:.3g} = {forecast / measured:.2f}" for forecast, measured in pairs]
        rows.append((f"{JOBS[name].size:.0e} {name}", workers, f"{grouping_of(one):.1f}", *cells))
    header = ("fit", "workers", "s of grouping", "forecast / measured s", "GB of a worker", "GB of the caller")
    within = "within" if worst <= LIMIT else "NOT within"
    about = f"All forecasts are {within} a factor of {LIMIT:g}; the worst is off by {worst:.2f}."
    return [*table(header, rows), "", f"{about} {N_FILES} files each."]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--place", type=Path, help="where files are written; 1 GB")
    lines = run(parser.parse_args().place)
    print("\n".join(lines))
    replace_section(TITLE, "make bench-cluster", lines)
