"""One fit in a process of its own: its CPU time and its peak memory, beside what `check` forecasts for its data.

`python benchmarks/fit_cells.py JSON` prints what `measure` returns for a cell, given as its JSON.
"""

import ctypes
import gc
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench_parquet import peak_resident_megabytes

import numpy as np  # isort: skip  (after bench_parquet, which fixes the threads)

import hushrank as hr
from hushrank.evaluation.synthetic import power_law_rows, shared_representation, synthetic_ratings
from hushrank.evaluation.trace_data import trace_records

ONE_THREAD = {"engine": hr.LocalEngine(threads=1)}
APPROXIMATE = {"epsilon": 2.0, "delta": 1e-6}
PURE = {"epsilon": 2.0, "delta": 0.0}


@dataclass(frozen=True)
class Cell:
    """A fit: which job, of which sizes, with which parameters beside those of the job."""

    job: str
    sizes: dict[str, int]
    terms: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """CPU seconds and megabytes of a fit, and the resources that a check forecasts."""

    seconds: float
    megabytes: float
    forecast: dict[str, float]


def completion(sizes: dict[str, int], terms: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """A recommender, with features of the items where there is a size of them."""
    drawn = synthetic_ratings(sizes["users"], sizes["items"], seed=1, ratings_per_user=sizes["each"])
    given = {"rating_range": (1, 5), "items": sizes["items"], **APPROXIMATE, **terms, **ONE_THREAD}
    if sizes.get("features"):
        mixed = drawn.item_tastes @ np.random.default_rng(2).standard_normal(
            (drawn.item_tastes.shape[1], sizes["features"])
        )
        given["item_features"] = (mixed > 0.5).astype(float)
    if given.get("feedback") == "implicit":
        given["rating_range"] = None
    return hr.PrivateCompletion(sizes["rank"], **given), (drawn.table(),)


def representation(sizes: dict[str, int], terms: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """A shared representation."""
    rank, is_logistic = sizes["rank"], terms.get("loss") == "logistic"
    drawn = shared_representation(
        sizes["users"], sizes["columns"], rank, n_records=sizes["each"], noise=0.3, seed=1, labels=is_logistic
    )
    budget = PURE if terms.get("method") == "exponential" else APPROXIMATE
    return hr.PrivateRepresentation(rank, **budget, **terms, **ONE_THREAD), (drawn.X, drawn.y, drawn.users)


def trace(sizes: dict[str, int], terms: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """A trace regression."""
    shape, rank = (sizes["side"], sizes.get("other", sizes["side"])), sizes["rank"]
    drawn = trace_records(
        sizes["records"], shape, rank, seed=1, design=terms["design"], noise=0.5,
        singular_values=tuple(2.0 / (1 + i) for i in range(rank)),
    )  # fmt: skip
    return hr.PrivateTraceRegression(rank, shape=shape, **APPROXIMATE, **terms, **ONE_THREAD), (drawn.X, drawn.y)


def second_moment(kind: str) -> Callable[..., Any]:
    """Principal components, a covariance or an approximation of low rank."""

    def make(sizes: dict[str, int], terms: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        rank = (
            {} if kind == "PrivateCovariance" else {"n_components" if kind == "PrivatePCA" else "rank": sizes["rank"]}
        )
        given = {"row_norm": 2.0, **rank, **(PURE if terms.get("mechanism") else APPROXIMATE), **terms, **ONE_THREAD}
        return getattr(hr, kind)(**given), (power_law_rows(sizes["rows"], sizes["columns"], seed=1),)

    return make


class _Stream:
    """A sketch as a fit: an empty one takes the updates and is factorized."""

    def __init__(self, **terms: Any) -> None:
        self._terms = terms

    def fit(self, *updates: Any) -> None:
        """Open, update, factorize."""
        self._sketch = hr.TurnstileSketch(**self._terms)
        self._sketch.update(*updates[:3], users=updates[3] if len(updates) > 3 else None).factorize()

    def check(self, *updates: Any) -> Any:
        """As that of the sketch."""
        return hr.TurnstileSketch(**self._terms).check(*updates[:3], users=updates[3] if len(updates) > 3 else None)


def turnstile(sizes: dict[str, int], terms: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """A stream of updates and one factorization."""
    rng, n = np.random.default_rng(1), sizes["updates"]
    rows, columns = rng.integers(0, sizes["rows"], n), rng.integers(0, sizes["columns"], n)
    updates = [rows, columns, rng.choice([-1.0, 1.0], n)]
    if terms.get("unit") == "user":
        updates.append(rng.integers(0, max(n // 20, 1), n))
    shape = (sizes["rows"], sizes["columns"])
    return _Stream(shape=shape, rank=sizes["rank"], **{**APPROXIMATE, **terms}), tuple(updates)


JOBS: dict[str, Callable[..., Any]] = {
    "completion": completion,
    "representation": representation,
    "trace": trace,
    "turnstile": turnstile,
    **{name: second_moment(name) for name in ("PrivatePCA", "PrivateCovariance", "PrivateLowRank")},
}


def measure(cell: Cell) -> Measured:
    """Fit twice: the first fit compiles, or loads what was compiled. The second starts with an empty heap."""
    model, data = JOBS[cell.job](cell.sizes, cell.terms)
    start = time.process_time()
    model.fit(*data)
    first = time.process_time() - start
    forecast = dict(model.check(*data).resources)
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is resident now
    before, start = peak_resident_megabytes(), time.process_time()
    model.fit(*data)
    seconds = min(first, time.process_time() - start)
    return Measured(seconds, peak_resident_megabytes() - before, forecast)


def measure_in_process(cells: Sequence[Cell]) -> list[Measured]:
    """What `measure` returns for each of them, from one process of their own."""
    command = [sys.executable, "-W", "ignore", __file__, json.dumps([asdict(cell) for cell in cells])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [Measured(**json.loads(line)) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    for described in json.loads(sys.argv[1]):
        print(json.dumps(asdict(measure(Cell(**described)))), flush=True)
