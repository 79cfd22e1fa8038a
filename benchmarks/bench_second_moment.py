"""PrivatePCA and PrivateCovariance with a private radius, beside the same with a public one, at fixed guarantees.

Neighbors: replace one row; one thread. `python benchmarks/bench_second_moment.py --data FOLDER` puts the results into
RESULTS.md; with `--only NAME`, one of its parts: limits, tables, scales, sure, wide or times. Without a folder MNIST,
school and KOS are left out. What is measured stands in the modules of the parts.
"""

from pathlib import Path

from parts import Part, main, run_parts

import second_moment_accuracy  # isort: skip  (after parts, which fixes the threads)
import second_moment_scales
import second_moment_sure
import second_moment_wide

TITLE = "Private second moments with a private radius"


PARTS = {
    "limits": Part("What components must capture", second_moment_accuracy.limits),
    "tables": Part("All tables, captured variance and covariance", second_moment_accuracy.tables),
    "scales": Part("Columns of different units", second_moment_scales.run),
    "sure": Part("How sure components are", second_moment_sure.run),
    "wide": Part("Wide sparse rows", second_moment_wide.run),
    "times": Part("Time and memory of private PCA", second_moment_wide.times),
}


def run() -> list[str]:
    """Measure everything and return Markdown."""
    return run_parts(PARTS)


if __name__ == "__main__":
    main(TITLE, f"python benchmarks/{Path(__file__).name}", PARTS)
