"""The names under which plans and checks tell what a fit will take, the same for all jobs.

Each job has its lines in its own `resources`: simple ones through measured CPU times of one thread and data in memory,
with the arrays that the code allocates. They are good to a factor of two or so on one machine, for the sizes that
benchmarks/bench_fit_times.py measures. Files must be parsed besides, and the first fit after an installation compiles.
"""

CPU_TIME = "CPU time, about (s)"
MEMORY = "memory beyond the rows (MB)"

MICRO, NUMBER_BYTES = 1e-6, 8.0


def tell_resources(*, seconds: float | None = None, n_bytes: float | None = None) -> dict[str, float]:
    """What is known of both, in the order in which it is printed.

    Examples
    --------
    >>> tell_resources(seconds=0.25, n_bytes=3e6), tell_resources()
    ({'memory beyond the rows (MB)': 3.0, 'CPU time, about (s)': 0.25}, {})
    """
    memory = {} if n_bytes is None else {MEMORY: n_bytes / 1e6}
    return memory | ({} if seconds is None else {CPU_TIME: seconds})
