"""Run every benchmark of `make bench` and put its section into benchmarks/RESULTS.md; other sections stay."""

import importlib
import time

from measure import RESULTS, replace_section, versions

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
    """Run all benchmarks, and put each section in the place of its older one."""
    head = f"# Benchmark results\n\nMade by `make bench` with {versions()}. CPU times; read them as ratios.\n"
    _, found, sections = (RESULTS.read_text() if RESULTS.exists() else "").partition("\n## ")
    RESULTS.write_text(f"{head}{found}{sections}")
    for name in NAMES:
        module = importlib.import_module(name)
        start = time.perf_counter()
        print(f"{name} ...", flush=True)
        result = module.run()
        print("\n".join(result), f"\n{time.perf_counter() - start:.0f} s", flush=True)
        replace_section(module.TITLE, f"python benchmarks/{name}.py", result)


if __name__ == "__main__":
    main()
