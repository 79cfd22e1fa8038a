"""What `check` forecasts of the CPU time and the memory of a fit, beside what a fit takes, for every method.

None of these sizes was used to set the constants in the `resources` of each job: where a first run led to corrections,
of features and of streams, its sizes were replaced by others. One thread, data in memory; one process for each job, in
which the peak of the resident memory is set back before a fit. Features tell about tastes.
"""

from pathlib import Path
from typing import Any

from fit_cells import Cell, Measured, measure_in_process
from measure import replace_section, table

from hushrank.estimators.fit_times import CPU_TIME, MEMORY  # isort: skip  (after measure, which fixes the threads)

TITLE = "Forecasts of time and memory"
LIMIT = 2.0
LEAST_MEGABYTES = 5.0  # below it, what a process keeps for itself is seen more than the arrays of a fit

METHODS: tuple[dict[str, Any], ...] = ({"method": "spectral"}, {"method": "als"}, {"method": "factored_gradient"})
IMPLICIT: tuple[dict[str, Any], ...] = tuple({"feedback": "implicit", **method} for method in METHODS[:2])
WITHOUT_OFFSETS: tuple[dict[str, Any], ...] = tuple({"offsets": False, **method} for method in METHODS)
SQUARED: tuple[dict[str, Any], ...] = ({"method": "gradient"}, {"method": "altmin"}, {"method": "exponential"})
LOGISTIC: tuple[dict[str, Any], ...] = ({"method": "gradient", "loss": "logistic"},)
CHOICE: tuple[dict[str, Any], ...] = ({"method": "exponential", "loss": "logistic"},)
SKETCHES: tuple[dict[str, Any], ...] = (
    {}, {"unit": "user"}, {"unit": "frobenius"}, {"operator": "srht"}, {"integers": "int32"}, {"delta": 0.0},
    {"kind": "three_sketch"}, {"kind": "three_sketch", "unit": "frobenius"}, {"kind": "figure1"}, {"kind": "figure3"},
)  # fmt: skip


def cells(job: str, terms: tuple[dict[str, Any], ...], **sizes: int) -> list[Cell]:
    """A cell for each of the terms."""
    return [Cell(job, sizes, own) for own in terms]


GRID: dict[str, list[Cell]] = {
    "completion": [
        *cells("completion", METHODS, users=5000, items=800, each=45, rank=6),
        *cells("completion", METHODS, users=12_000, items=400, each=80, rank=12),
        *cells("completion", METHODS, users=3500, items=1200, each=65, rank=7, features=12),
        *cells("completion", IMPLICIT, users=5000, items=800, each=45, rank=6),
        *cells("completion", IMPLICIT, users=3500, items=1200, each=65, rank=7, features=12),
        *cells(
            "completion", tuple({"offsets": False, **own} for own in METHODS), users=6000, items=350, each=50, rank=5
        ),
        *cells("completion", ({"epsilon": 8.0},), users=10_000, items=2000, each=100, rank=8),
    ],
    "representation": [
        *cells("representation", SQUARED, users=3000, columns=16, each=12, rank=3),
        *cells("representation", SQUARED[:2] + LOGISTIC, users=6000, columns=40, each=20, rank=2),
        *cells("representation", CHOICE, users=150, columns=12, each=10, rank=2),
    ],
    "trace": [
        *cells("trace", ({"design": "dense"},), records=20_000, side=20, other=35, rank=3),
        *cells("trace", ({"design": "rank_one"},), records=30_000, side=100, other=80, rank=3),
        *cells("trace", ({"design": "entry"},), records=100_000, side=900, other=700, rank=3),
    ],
    "turnstile": [
        *cells("turnstile", SKETCHES, rows=12_000, columns=4000, updates=800_000, rank=12),
        *cells("turnstile", ({"kind": "full"},), rows=3000, columns=2500, updates=600_000, rank=15),
    ],
    "second moments": [
        *cells("PrivatePCA", ({}, {"center": "private"}), rows=40_000, columns=300, rank=5),
        *cells("PrivateCovariance", ({}, {"delta": 0.0}), rows=40_000, columns=300, rank=5),
        *cells("PrivateLowRank", ({}, {"mechanism": "exponential"}), rows=40_000, columns=300, rank=1),
    ],
}


def run() -> list[str]:
    """Measure everything and return Markdown."""
    measured = [pair for group in GRID.values() for pair in zip(group, measure_in_process(group), strict=True)]
    rows = [row(cell, found) for cell, found in measured]
    worst = {name: worst_ratio(ratios(found)[name] for _, found in measured) for name in (CPU_TIME, MEMORY)}
    within = "within" if max(worst.values()) <= LIMIT else "NOT within"
    told = f"All forecasts are {within} a factor of {LIMIT:g}; the worst are off by {worst[CPU_TIME]:.2f} in time and"
    header = ("fit", "sizes", "forecast s", "measured s", "ratio", "forecast MB", "measured MB", "ratio")
    small = f"Memory is compared from {LEAST_MEGABYTES:g} MB on; ratios are forecasts over what was measured."
    return [f"{told} {worst[MEMORY]:.2f} in memory. {small}", "", *table(header, rows)]


def ratios(found: Measured) -> dict[str, float]:
    """Forecasts over what was measured; of small memory 1."""
    is_small = max(found.megabytes, found.forecast[MEMORY]) < LEAST_MEGABYTES
    memory = 1.0 if is_small else found.forecast[MEMORY] / max(found.megabytes, LEAST_MEGABYTES)
    return {CPU_TIME: found.forecast[CPU_TIME] / found.seconds, MEMORY: memory}


def worst_ratio(values: Any) -> float:
    """The largest factor, in either direction."""
    return max(max(value, 1.0 / value) for value in values)


def row(cell: Cell, found: Measured) -> tuple[str, ...]:
    """One line of the table."""
    own = ratios(found)
    terms = ", ".join(value if isinstance(value, str) else f"{name} {value}" for name, value in cell.terms.items())
    sizes = ", ".join(f"{size} {name}" for name, size in cell.sizes.items())
    numbers = (found.forecast[CPU_TIME], found.seconds, own[CPU_TIME])
    memory = (f"{found.forecast[MEMORY]:.0f}", f"{found.megabytes:.0f}", f"{own[MEMORY]:.2f}")
    return (f"{cell.job} {terms}".strip(), sizes, *(f"{number:.2f}" for number in numbers), *memory)


if __name__ == "__main__":
    lines = run()
    print("\n".join(lines))
    replace_section(TITLE, f"python benchmarks/{Path(__file__).name}", lines)
