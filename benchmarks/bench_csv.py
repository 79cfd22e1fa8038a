"""Reading CSV files beside Arrow and pandas: rows of numbers, ratings, and ratings with quoted texts of several lines.

Peers read the same columns into memory; ours gives blocks of rows, or ratings grouped by user. CPU seconds, one thread.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from hushrank.data.ratings.reading import read_ratings
from hushrank.data.rows.reading import read_rows

TITLE = "CSV files beside Arrow and pandas"
N_ROWS, N_RATINGS, N_USERS, N_ITEMS = 500_000, 4_000_000, 100_000, 20_000
REPETITIONS = 3
NUMBERS = [f"x{j}" for j in range(10)]
TRIPLET = ["user", "item", "rating"]


def write_files(folder: Path) -> dict[str, tuple[Path, list[str]]]:
    """Files by what they hold, with the columns that are read."""
    rng = np.random.default_rng(0)
    rows = {name: rng.standard_normal(N_ROWS) for name in NUMBERS}
    ids = {"user": rng.integers(0, N_USERS, N_RATINGS), "item": rng.integers(0, N_ITEMS, N_RATINGS)}
    ratings = {**ids, "rating": rng.integers(1, 6, N_RATINGS).astype(float)}
    texts = np.array(["plain", "two\nlines", 'a "word", and more', ""], object)
    quoted = {name: column[: N_RATINGS // 4] for name, column in ratings.items()}
    quoted["review"] = texts[rng.integers(0, len(texts), N_RATINGS // 4)]
    files = {"rows": (rows, NUMBERS), "ratings": (ratings, TRIPLET), "ratings with quoted texts": (quoted, TRIPLET)}
    written = {}
    for name, (columns, wanted) in files.items():
        path = folder / f"{name.replace(' ', '_')}.csv"
        pd.DataFrame(columns).to_csv(path, index=False)
        written[name] = (path, wanted)
    return written


def reader(name: str, path: Path) -> Callable[[], object]:
    """Our reading of a file from the first byte to what a kernel sees."""
    if name == "rows":
        return lambda: sum(len(block) for block in read_rows(path, owner="bench").blocks())
    return lambda: read_ratings(path, owner="bench", items=N_ITEMS, rating_range=(1, 5)).n_users


def arrow_reader(path: Path, wanted: list[str]) -> Callable[[], object]:
    """Arrow on one thread, with types that are known."""
    types = csv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.float64()))
    options = csv.ReadOptions(use_threads=False), csv.ParseOptions(newlines_in_values=True), types
    return lambda: csv.read_csv(path, *options)


def run() -> list[str]:
    """A Markdown table of times and their ratios."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="hushrank-bench-") as folder:
        for name, (path, wanted) in write_files(Path(folder)).items():
            ours = reader(name, path)
            calls = {
                "ours": ours,
                "arrow": arrow_reader(path, wanted),
                "pandas": lambda path=path, wanted=wanted: pd.read_csv(path, usecols=wanted),
            }
            taken = median_seconds(calls, REPETITIONS)
            megabytes = path.stat().st_size / 1e6
            ratios = (f"{taken['ours'] / taken[peer]:.2f}" for peer in ("arrow", "pandas"))
            rate, peak = f"{megabytes / taken['ours']:.0f}", f"{peak_megabytes(ours):.0f}"
            lines.append((name, f"{megabytes:.0f}", f"{taken['ours']:.2f}", rate, *ratios, peak))
    return table(("file", "MB", "s", "MB/s", "time / Arrow", "time / pandas", "peak MB"), lines)


if __name__ == "__main__":
    print("\n".join(run()))
