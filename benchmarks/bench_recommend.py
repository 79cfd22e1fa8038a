"""Recommendations for many users from a large catalogue: time on the wall, CPU time of all threads, and memory.

Random parameters stand for a model: what a query takes does not depend on what was learned. With item features a user
has 33 slopes more. Beside it stands the plain way of NumPy: all scores of 256 users, and a partial sort of them.
Each run is a process of its own, whose peak is VmHWM, libraries and model included; its items are compared.
"""

import argparse
import hashlib
import subprocess
import sys
import time

from bench_parquet import peak_resident_megabytes
from measure import replace_section, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from hushrank.data.ratings.grouping import UserBlock
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.top_items import Predictor, best_items
from hushrank.linalg.threads import one_blas_thread

TITLE = "Recommendations for 4,000 users from 340,000 items"
N_USERS, N_ITEMS, RANK, TOP, N_SEEN = 4000, 340_000, 16, 10, 100
MODELS = {"no features": 3, "item features": 36}  # columns beside the factors
THREADS, UNITS, AT_ONCE = 2, (3.0, 2.0), 256
LIMIT_SECONDS, LIMIT_MEGABYTES = 5, 1000


def make_model(n_columns: int) -> CompletionModel:
    """Random parameters of all items."""
    rng = np.random.default_rng(0)
    columns, factors = (0.1 * rng.standard_normal((N_ITEMS, width)) for width in (n_columns, RANK))
    return CompletionModel(rng.uniform(-1, 1, N_ITEMS), columns, factors, 1.0, np.ones(N_ITEMS))


def make_users() -> UserBlock:
    """Ratings of random items."""
    rng = np.random.default_rng(1)
    items = np.sort(
        rng.integers(0, N_ITEMS // N_SEEN, (N_USERS, N_SEEN)) + N_ITEMS // N_SEEN * np.arange(N_SEEN), axis=1
    )
    indptr = np.arange(0, items.size + 1, N_SEEN, np.int64)
    return UserBlock(indptr, items.ravel().astype(np.int32), rng.uniform(-1, 1, items.size).astype(np.float32))


def ours(model: CompletionModel, users: UserBlock) -> np.ndarray:
    """As `PrivateCompletion.recommend` does it."""
    return best_items(Predictor(model.base, model.W, UNITS), model.fold_in(users), TOP, users, THREADS)[0]


def plain(model: CompletionModel, users: UserBlock) -> np.ndarray:
    """All scores of some users at a time, and a partial sort of them."""
    coefficients, found = model.fold_in(users), []
    for start in range(0, N_USERS, AT_ONCE):
        part = coefficients[start : start + AT_ONCE]
        with one_blas_thread():
            scores = UNITS[0] + UNITS[1] * (model.base + part @ model.W.T)
        seen = users.items.reshape(N_USERS, N_SEEN)[start : start + AT_ONCE]
        np.put_along_axis(scores, seen.astype(np.int64), -np.inf, axis=1)
        best = np.sort(np.argpartition(-scores, TOP - 1, axis=1)[:, :TOP], axis=1)
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        found.append(np.take_along_axis(best, order, axis=1))
    return np.concatenate(found)


def measure(way: str, kind: str) -> None:
    """Print seconds, CPU seconds, peak memory and a digest of the items; run in a process of its own."""
    model, users, recommend = make_model(MODELS[kind]), make_users(), {"ours": ours, "plain": plain}[way]
    best_items(Predictor(model.base[:100], model.W[:100], UNITS), np.zeros((1, model.W.shape[1])), 1)  # compile
    model.fold_in(UserBlock(np.zeros(2, np.int64), users.items[:0], users.values[:0]))
    start, cpu = time.perf_counter(), time.process_time()
    items = recommend(model, users)
    print(time.perf_counter() - start, time.process_time() - cpu, peak_resident_megabytes(), end=" ")
    print(hashlib.sha256(items.tobytes()).hexdigest())


def run() -> list[str]:
    """Measure and return Markdown."""
    rows = []
    for kind in MODELS:
        digests = set()
        for way in ("ours", "plain"):
            command = [sys.executable, __file__, "--way", way, "--kind", kind]
            *numbers, digest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            wall, cpu, peak = map(float, numbers)
            digests.add(digest)
            rows.append((kind, way, f"{wall:.1f}", f"{cpu:.1f}", f"{peak:.0f}"))
        rows[-1] = (*rows[-1], "yes" if len(digests) == 1 else "no")
    header = ("model", "way", f"seconds, {THREADS} threads (ours at most {LIMIT_SECONDS})", "CPU seconds")
    header += (f"peak MB (ours at most {LIMIT_MEGABYTES})", "same items")
    return table(header, [(*row, "")[: len(header)] for row in rows])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--way", choices=["ours", "plain"])
    parser.add_argument("--kind", choices=list(MODELS))
    arguments = parser.parse_args()
    if arguments.way is not None:
        measure(arguments.way, arguments.kind)
    else:
        measured = run()
        print("\n".join(measured))
        replace_section(TITLE, "python benchmarks/bench_recommend.py", measured)
