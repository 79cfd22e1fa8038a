"""PrivatePCA and PrivateCovariance with a private radius, beside the same with a public one, at fixed guarantees.

Neighbors: replace one row; one thread. `python benchmarks/bench_second_moment.py --data FOLDER` puts the results into
RESULTS.md; with `--only NAME`, one of its parts: limits, tables, scales, sure, wide or times. Without a folder MNIST,
school and KOS are left out. What is measured stands in the modules of the parts.
"""

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from measure import data_folder, replace_part, replace_section

import second_moment_accuracy  # isort: skip  (after measure, which fixes the threads)
import second_moment_scales
import second_moment_sure
import second_moment_wide

TITLE = "Private second moments with a private radius"


class Part(NamedTuple):
    """A part of the results: its heading, and what gives its lines for a folder of data or None."""

    heading: str
    measure: Callable[[Path | None], list[str]]


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
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    folder = data_folder()
    lines = [line for part in PARTS.values() for line in (f"### {part.heading}", "", *part.measure(folder), "")]
    return lines[:-1]


def main() -> None:
    """Measure, print and write to RESULTS.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_known_args()[0].only
    if only is None:
        lines = run()
        replace_section(TITLE, f"python benchmarks/{Path(__file__).name}", lines)
    else:
        logging.getLogger("hushrank").setLevel(logging.ERROR)
        lines = PARTS[only].measure(data_folder())
        replace_part(TITLE, PARTS[only].heading, lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
