"""Integer Gram matrices against clipping and a float product: time, peak memory and rounding error.

Both paths run on one thread, in turn, on the same rows; the float path is the faster of the whole-array and the
blocked version. Run `python benchmarks/bench_lattice.py`.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import time  # noqa: E402  (the thread counts must be set before NumPy is imported)
import tracemalloc  # noqa: E402
from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from hushrank.linalg.lattice import integer_gram  # noqa: E402

SHAPES = ((20_000, 1_000), (200_000, 100))
SQUARED_BOUND = 4**18
ROWS_PER_BLOCK = (512, 2048, 8192)
REPETITIONS = 7

Gram = Callable[[np.ndarray, float], np.ndarray]


def clip(X: np.ndarray, norm_bound: float) -> np.ndarray:
    """Rows scaled down to `norm_bound` in floating point."""
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    return X * np.minimum(1.0, norm_bound / norms)[:, np.newaxis]


def whole_float_gram(X: np.ndarray, norm_bound: float) -> np.ndarray:
    """Clip the whole array, then multiply once."""
    clipped = clip(X, norm_bound)
    return clipped.T @ clipped


def blocked_float_gram(rows: int) -> Gram:
    """Clip and multiply `rows` rows at a time."""

    def gram(X: np.ndarray, norm_bound: float) -> np.ndarray:
        total = np.zeros((X.shape[1], X.shape[1]))
        for start in range(0, len(X), rows):
            total += whole_float_gram(X[start : start + rows], norm_bound)
        return total

    return gram


def blocked_integer_gram(rows: int) -> Gram:
    """Quantize and multiply at most `rows` rows at a time."""
    return lambda X, norm_bound: integer_gram(X, norm_bound, SQUARED_BOUND, rows_per_block=rows)


def median_times(grams: dict[str, Gram], X: np.ndarray, norm_bound: float) -> dict[str, float]:
    """Median CPU seconds of each function, taken in turn so that a slow spell of the machine hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in grams}
    for _ in range(REPETITIONS):
        for name, gram in grams.items():
            start = time.process_time()
            gram(X, norm_bound)
            seconds[name].append(time.process_time() - start)
    return {name: float(np.median(taken)) for name, taken in seconds.items()}


def peak_megabytes(gram: Gram, X: np.ndarray, norm_bound: float) -> float:
    """Largest memory in use during a call beyond what was there before."""
    tracemalloc.start()
    gram(X, norm_bound)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def largest_error(X: np.ndarray, norm_bound: float) -> float:
    """Largest entry of integer minus float Gram matrix, in units of norm_bound^2 per row."""
    integer = integer_gram(X, norm_bound, SQUARED_BOUND) * (norm_bound**2 / SQUARED_BOUND)
    return float(np.abs(integer - whole_float_gram(X, norm_bound)).max() / (len(X) * norm_bound**2))


def run() -> list[str]:
    """Measure every shape and return a Markdown table."""
    lines = [
        "| rows x columns | path | CPU s | ratio | peak MB | largest error / (n B^2) |",
        "|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        X = np.random.default_rng(0).standard_normal(shape)
        norm_bound = float(np.sqrt(shape[1]))  # about half of the rows are clipped
        floats = {"float, whole": whole_float_gram}
        floats |= {f"float, blocks of {rows}": blocked_float_gram(rows) for rows in ROWS_PER_BLOCK}
        integers = {f"integer, blocks of {rows}": blocked_integer_gram(rows) for rows in ROWS_PER_BLOCK}
        with threadpool_limits(limits=1):
            for gram in (floats | integers).values():
                gram(X[:100], norm_bound)  # compile and warm up
            taken = median_times(floats | integers, X, norm_bound)
        reference = min(taken[name] for name in floats)
        error = f"{largest_error(X, norm_bound):.1e}"
        for name, gram in (floats | integers).items():
            memory = f"{peak_megabytes(gram, X, norm_bound):.0f}"
            ratio = f"{taken[name] / reference:.2f}"
            cells = (f"{shape[0]} x {shape[1]}", name, f"{taken[name]:.3f}", ratio, memory)
            lines.append(f"| {' | '.join(cells)} | {error if name in integers else ''} |")
    return lines


if __name__ == "__main__":
    print("\n".join(run()))
