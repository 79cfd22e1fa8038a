"""Measured series in benchmarks/results.json: the benchmarks write them, benchmarks/figures.py draws them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")


def load() -> dict[str, list[dict[str, Any]]]:
    """All recorded series by the name of their figure."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def save(figure: str, series: Sequence[dict[str, Any]]) -> None:
    """Replace the series of one figure; one series a line, so that changes are easy to read."""
    recorded = load() | {figure: list(series)}
    parts = (f"{json.dumps(name)}: [\n{_lines(recorded[name])}\n]" for name in sorted(recorded))
    RESULTS.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def _lines(series: Iterable[dict[str, Any]]) -> str:
    return ",\n".join(json.dumps(entry) for entry in series)
