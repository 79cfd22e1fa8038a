"""Benchmarks of several parts: all of them in one section of RESULTS.md, or one of them in its place there."""

import argparse
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from measure import data_folder, replace_part, replace_section


class Part(NamedTuple):
    """A part of the results: its heading, and what gives its lines for a folder of data or None."""

    heading: str
    measure: Callable[[Path | None], list[str]]


def run_parts(parts: Mapping[str, Part]) -> list[str]:
    """Measure everything and return Markdown."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    folder = data_folder()
    lines = [line for part in parts.values() for line in (f"### {part.heading}", "", *part.measure(folder), "")]
    return lines[:-1]


def main(title: str, command: str, parts: Mapping[str, Part]) -> None:
    """Measure all parts, or that of --only NAME, print them and write them to RESULTS.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=parts)
    only = parser.parse_known_args()[0].only
    if only is None:
        lines = run_parts(parts)
        replace_section(title, command, lines)
    else:
        lines = run_parts({only: parts[only]})[2:]
        replace_part(title, parts[only].heading, lines)
    print("\n".join(lines))
