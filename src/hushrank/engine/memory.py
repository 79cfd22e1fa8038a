"""How much memory there is, and a refusal before anything is charged where a release would not fit into it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hushrank.engine.local import LocalEngine, available_cores
from hushrank.exceptions import InvalidParameter

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_AVAILABLE = Path("/proc/meminfo")


def memory_limit() -> float:
    """Bytes that this machine, or the container around this process, has in all; infinite where nothing tells."""
    found = [_machine_bytes()]
    for path in _LIMITS:
        try:
            found.append(float(path.read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return min(found)


def _machine_bytes() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def check_memory(needed: float, owner: str, limit: float | None = None) -> None:
    """Refuse with InvalidParameter a release that needs more bytes than there are."""
    there = memory_limit() if limit is None else limit
    if needed > there:
        requirement = f"of fewer columns: a fit would need about {needed / 1e9:.3g} GB of memory"
        raise InvalidParameter(owner, "X", requirement, f"{there / 1e9:.3g} GB on this machine")


def memory_cautions(needed: float, free: float | None = None) -> Iterator[str]:
    """A sentence about a release that the machine could hold, were it not for what else runs on it."""
    there = free_memory() if free is None else free
    if needed > there:
        held = f"and {there / 1e9:.3g} GB are free now: the process may be stopped after its charge"
        yield f"a fit needs about {needed / 1e9:.3g} GB of memory beside the data, {held}"


def free_memory() -> float:
    """Bytes that a process can have now without harm to others; infinite where nothing tells."""
    try:
        lines = _AVAILABLE.read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return float("inf")


def threads_of(engine: Any) -> int:
    """Threads that keep totals of their own."""
    if not isinstance(engine, LocalEngine):
        return 1
    return available_cores() if engine.threads is None else int(engine.threads)
