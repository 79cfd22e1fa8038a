"""Run every benchmark and write benchmarks/RESULTS.md, of which only the section of `make bench-scale` is kept."""

import importlib
import time

import bench_scale
from measure import RESULTS, versions

NAMES = (
    "bench_start",
    "bench_noise",
    "bench_wishart",
    "bench_lattice",
    "bench_pca",
    "bench_second_moment",
    "bench_orbit",
    "bench_parquet",
    "bench_csv",
    "bench_completion",
    "bench_movielens",
    "bench_item_features",
    "bench_recommend",
    "bench_web",
    "bench_forecast",
    "bench_als",
    "bench_personalization",
    "bench_turnstile",
    "bench_trace",
    "bench_marks",
    "bench_fit_times",
)


def main() -> None:
    """Collect the tables of all benchmarks."""
    lines = ["# Benchmark results", "", f"Made by `make bench` with {versions()}. CPU times; read them as ratios.", ""]
    for name in NAMES:
        module = importlib.import_module(name)
        start = time.perf_counter()
        print(f"{name} ...", flush=True)
        result = module.run()
        print("\n".join(result), f"\n{time.perf_counter() - start:.0f} s", flush=True)
        lines += [f"## {module.TITLE}", "", f"`python benchmarks/{name}.py`", "", *result, ""]
    kept = RESULTS.read_text().partition(f"## {bench_scale.TITLE}\n") if RESULTS.exists() else ("", "", "")
    RESULTS.write_text("\n".join(lines) + (f"\n{kept[1]}{kept[2]}" if kept[1] else ""))


if __name__ == "__main__":
    main()
