"""Run every benchmark and write benchmarks/RESULTS.md; `make bench` calls this."""

import importlib
import pathlib
import time

from measure import versions

NAMES = (
    "bench_noise",
    "bench_wishart",
    "bench_lattice",
    "bench_pca",
    "bench_orbit",
    "bench_parquet",
    "bench_completion",
    "bench_movielens",
    "bench_als",
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
    pathlib.Path(__file__).with_name("RESULTS.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
