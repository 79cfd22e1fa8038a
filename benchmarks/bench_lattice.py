"""Integer Gram matrices against clipping and a float product: time, peak memory and rounding error.

Both paths run in turn on the same rows; the reference is the fastest float version, whole or blocked.
"""

import functools
from collections.abc import Callable

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from hushrank.linalg.integer_sums import integer_gram

TITLE = "Quantizing and integer Gram against clipping and float Gram"
SHAPES = ((20_000, 1_000), (200_000, 100))
SQUARED_BOUND = 4**18
ROWS_PER_BLOCK = (512, 2048, 8192)

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


def largest_error(X: np.ndarray, norm_bound: float) -> float:
    """Largest entry of integer minus float Gram matrix, in units of norm_bound^2 per row."""
    integer = integer_gram(X, norm_bound, SQUARED_BOUND) * (norm_bound**2 / SQUARED_BOUND)
    return float(np.abs(integer - whole_float_gram(X, norm_bound)).max() / (len(X) * norm_bound**2))


def run() -> list[str]:
    """Measure every shape and return a Markdown table."""
    rows = []
    for shape in SHAPES:
        X = np.random.default_rng(0).standard_normal(shape)
        norm_bound = float(np.sqrt(shape[1]))  # about half of the rows are clipped
        floats = {"float, whole": whole_float_gram}
        floats |= {f"float, blocks of {size}": blocked_float_gram(size) for size in ROWS_PER_BLOCK}
        integers = {f"integer, blocks of {size}": blocked_integer_gram(size) for size in ROWS_PER_BLOCK}
        both = (floats | integers).items()
        calls = {name: functools.partial(gram, X, norm_bound) for name, gram in both}
        seconds = median_seconds(calls, 7)
        reference = min(seconds[name] for name in floats)
        error = f"{largest_error(X, norm_bound):.1e}"
        for name, call in calls.items():
            memory, ratio = f"{peak_megabytes(call):.0f}", f"{seconds[name] / reference:.2f}"
            size = f"{shape[0]} x {shape[1]}"
            rows.append((size, name, f"{seconds[name]:.3f}", ratio, memory, error if name in integers else ""))
    return table(("rows x columns", "path", "CPU s", "ratio", "peak MB", "largest error / (n B^2)"), rows)


if __name__ == "__main__":
    print("\n".join(run()))
