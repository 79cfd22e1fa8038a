"""One sweep of private alternating least squares beside one Cholesky iteration of implicit: CPU time on one thread.

A sweep is everything between two sets of item factors: all user regressions, the exact integer sums for all items, the
noise, the projections and the item regressions. An iteration of implicit solves users and items in float32 without
privacy. Both are differences of runs of four and of one. The data are MovieLens-1M with --data FOLDER, and otherwise
random ratings of its size.
"""

import io
import json
import statistics
import subprocess
import time
from functools import partial

from measure import data_folder, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
import scipy.sparse

from hushrank.data.ratings.reading import read_ratings
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.als import learn_als
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.options import AlternatingLeastSquares
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.noise.source import NoiseSource
from peers import PYTHON
from rating_data import RANGE, load_movielens

TITLE = "One sweep of private alternating least squares"
RANKS, REPETITIONS, EPSILON, DELTA = (8, 32, 64), 5, 20.0, 1e-6


def ratings() -> scipy.sparse.csr_array:
    """About a million ratings of 6040 users and 3706 items."""
    folder = data_folder()
    if folder is not None:
        data = load_movielens(folder, "ml1m")
        return scipy.sparse.csr_array((data.ratings, (data.users, data.items)), shape=(data.n_users, data.n_items))
    rng = np.random.default_rng(0)
    popularity = np.cumsum(1.0 / (np.arange(3706) + 20.0))
    items = np.searchsorted(popularity, rng.random(1_000_000) * popularity[-1])
    pairs = np.unique(np.column_stack([rng.integers(6040, size=len(items)), items]), axis=0)
    values = rng.integers(1, 6, size=len(pairs)).astype(np.float64)
    return scipy.sparse.csr_array((values, pairs.T), shape=(6040, 3706))


def seconds_of_sweeps(matrix: scipy.sparse.csr_array, rank: int, sweeps: int) -> float:
    """CPU time of `learn_als`, everything else prepared."""
    rows = read_ratings(matrix, owner="bench", rating_range=RANGE)
    budget, n_items = Budget(EPSILON, DELTA, "replace", "user"), matrix.shape[1]
    total = partial(LocalEngine(threads=1).total, rows)
    terms = (calibrate(budget), budget.neighbors, 2**26, NoiseSource(), total)
    releases = RatingReleases(*terms, n_people=rows.n_users, n_items=n_items)
    counts = np.bincount(matrix.indices, minlength=n_items).astype(np.float64)
    nothing = np.zeros((n_items, 0))
    model = CompletionModel(np.zeros(n_items), nothing, nothing, 0.2, counts)
    start = time.process_time()
    learn_als(releases, rank, model, AlternatingLeastSquares(sweeps=sweeps))
    return time.process_time() - start


def peer_seconds(matrix: scipy.sparse.csr_array, rank: int) -> tuple[str, list[float]]:
    """Version of implicit, and CPU seconds of its iterations."""
    buffer = io.BytesIO()
    scipy.sparse.save_npz(buffer, scipy.sparse.csr_matrix(matrix))
    worker = [PYTHON, "benchmarks/implicit_worker.py", str(rank), str(REPETITIONS)]
    answer = json.loads(subprocess.run(worker, input=buffer.getvalue(), capture_output=True, check=True).stdout)
    return answer["version"], answer["seconds"]


def run() -> list[str]:
    """Measure and return Markdown."""
    matrix, rows = ratings(), []
    for rank in RANKS:
        seconds_of_sweeps(matrix, rank, 1)  # compile
        own = [
            (seconds_of_sweeps(matrix, rank, 4) - seconds_of_sweeps(matrix, rank, 1)) / 3 for _ in range(REPETITIONS)
        ]
        version, other = peer_seconds(matrix, rank)
        mine, theirs = statistics.median(own), statistics.median(other)
        rows.append((rank, f"{mine:.3f}", f"{theirs:.3f}", f"{mine / theirs:.2f}"))
    size = f"{matrix.shape[0]} users, {matrix.shape[1]} items, {matrix.nnz} ratings"
    header = ("rank", "private sweep, CPU s", f"implicit {version}, CPU s", "ratio (at most 1 at rank 32)")
    return [size, "", *table(header, rows)]


if __name__ == "__main__":
    print("\n".join(run()))
