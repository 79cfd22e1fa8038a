"""Private PCA of wide sparse rows with a choice of columns, and time and memory of private PCA beside scikit-learn.

Wide: KOS, 3430 documents x 6906 words, log(1 + count), rows of norm 1; second moment around the origin. Memory is that
of one fit in a process of its own, above what imports and data take: what Python allocated, and what Linux counts as
resident. `python benchmarks/second_moment_wide.py FOLDER --full` shows the release of all columns, which takes > 1 GB.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
import pyarrow.parquet as pq
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.evaluation.synthetic import power_law_rows
from means import mean_of, verdict

LIMITS = {1.0: 0.55, 5.0: 0.86, 20.0: 0.95}
SECONDS_LIMIT, MEGABYTES_LIMIT = 2.0, 300.0
FITS, N_COMPONENTS, FULL_EPSILON = 20, 5, 5.0
ENGINE = LocalEngine(threads=1)
# Rows x columns, and limits on the time over that of scikit-learn: private radius, private center as well.
TIME_LIMITS = {(200_000, 100): (1.35, 1.8), (20_000, 1000): (1.2, 1.2)}
REPETITIONS, MEAN_LENGTH = 9, 3.0


def load_documents(folder: Path) -> csr_array:
    """Documents as rows of norm 1."""
    read = pq.read_table(folder / "kos_docterm.parquet")
    documents, words, counts = (read[name].to_numpy() for name in ("doc", "term", "count"))
    X = csr_array((np.log1p(counts.astype(np.float64)), (documents, words)))
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return csr_array(X.multiply(1 / np.where(norms > 0, norms, 1.0)[:, np.newaxis]))


def fit(X: csr_array, epsilon: float, **options: Any) -> PrivatePCA:
    """One private fit."""
    return PrivatePCA(N_COMPONENTS, row_norm=1.0, epsilon=epsilon, delta=1e-6, engine=ENGINE, **options).fit(X)


def run(folder: Path | None) -> list[str]:
    """Captured, time and memory of the choice of columns."""
    if folder is None:
        return ["Not measured: name a folder with kos_docterm.parquet by --data."]
    X, rows = load_documents(folder), []
    best = float((svds(X, N_COMPONENTS, return_singular_vectors=False) ** 2).sum())
    for epsilon, limit in LIMITS.items():
        seconds: list[float] = []
        kept: list[int] = []
        share = mean_of(partial(_captured, X, epsilon, best, seconds, kept), FITS)
        peak, resident = _memory(folder, epsilon)
        slowest = max(seconds)
        checks = (
            f"{share} (>= {limit:g}) {verdict(share.value >= limit)}",
            f"{statistics.median(seconds):.2f}, {slowest:.2f} (< {SECONDS_LIMIT:g}) {verdict(slowest < SECONDS_LIMIT)}",
            f"{peak:.0f}, {resident:.0f} (< {MEGABYTES_LIMIT:g}) {verdict(max(peak, resident) < MEGABYTES_LIMIT)}",
        )
        rows.append(("{} x {}".format(*X.shape), f"{epsilon:g}", f"{statistics.median(kept):.0f}", *checks, FITS))
    header = (
        "words of documents, delta 1e-6", "epsilon", "columns kept, median", "second moment captured",
        "CPU s, median and largest", "MB of one fit, allocated and resident", "fits",
    )  # fmt: skip
    return table(header, rows)


def _captured(
    X: csr_array, epsilon: float, best: float, seconds: list[float], kept: list[int], **options: Any
) -> float:
    """Share of the second moment along the components of one fit; time and chosen columns are added to the lists."""
    start = time.process_time()
    model = fit(X, epsilon, **(options or {"select_columns": "private"}))
    seconds.append(time.process_time() - start)
    kept.append(len(getattr(model, "selected_columns_", model.components_.T)))
    return float(np.linalg.norm(X @ model.components_.T) ** 2) / best


def _memory(folder: Path, epsilon: float) -> list[float]:
    """Megabytes of one fit in a process of its own: allocated by Python, and resident."""
    command = [sys.executable, __file__, str(folder), "--epsilon", str(epsilon)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_memory(folder: Path, epsilon: float) -> list[float]:
    """The same, in this process. The resident peak is started anew once the data are there."""
    X = load_documents(folder)
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    fit(X, epsilon, select_columns="private")
    resident = _resident("VmHWM") - before
    return [peak_megabytes(partial(fit, X, epsilon, select_columns="private")), resident]


def _resident(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024 / 1e6


def full(folder: Path) -> list[str]:
    """One fit of all columns."""
    X = load_documents(folder)
    best = float((svds(X, N_COMPONENTS, return_singular_vectors=False) ** 2).sum())
    before, seconds = _resident("VmRSS"), []
    share = _captured(X, FULL_EPSILON, best, seconds, [], select_columns=None)
    cells = (f"{FULL_EPSILON:g}", f"{share:.3f}", f"{seconds[0]:.1f}", f"{_resident('VmHWM') - before:.0f}")
    return table(("all columns, epsilon", "captured, one fit", "CPU s", "resident MB"), [cells])


def times(folder: Path | None) -> list[str]:
    """CPU time of one fit over that of scikit-learn, taken in turn, and peak memory."""
    from sklearn.decomposition import PCA

    rows = []
    for (n, d), limits in TIME_LIMITS.items():
        X = power_law_rows(n, d, seed=1) + MEAN_LENGTH / np.sqrt(d)
        terms = {"row_norm": 10.0, "epsilon": 1.0, "engine": ENGINE}
        calls = {
            "scikit-learn PCA(covariance_eigh)": lambda X=X: PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(X)
        }
        allowed: dict[str, float] = {}
        for kind, delta in (("Gaussian", 1e-6), ("pure", 0.0)):
            ways = {"public radius": {"radius": "public"}, "private radius": {}, "and center": {"center": "private"}}
            for (words, options), limit in zip(ways.items(), (None, *limits), strict=True):
                model = PrivatePCA(N_COMPONENTS, delta=delta, **terms, **options)
                calls[f"{kind}, {words}"] = partial(model.fit, X)
                if limit is not None:
                    allowed[f"{kind}, {words}"] = limit
        seconds = median_seconds(calls, REPETITIONS)
        first = next(iter(seconds.values()))
        for name, call in calls.items():
            ratio, limit = seconds[name] / first, allowed.get(name)
            kept = ("", "") if limit is None else (limit, verdict(ratio <= limit))
            rows.append(
                (f"{n} x {d}", name, f"{seconds[name]:.3f}", f"{ratio:.2f}", *kept, f"{peak_megabytes(call):.0f}")
            )
    words = f"One thread, median of {REPETITIONS} fits taken in turn, rows around a mean of length {MEAN_LENGTH:g}."
    return [*table(("rows x columns", "method", "CPU s", "ratio", "limit", "", "peak MB"), rows), "", words]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", type=float)
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    if arguments.full:
        print("\n".join(full(arguments.folder)))
    else:
        print(json.dumps(measure_memory(arguments.folder, arguments.epsilon)))
