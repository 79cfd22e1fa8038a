"""How much memory there is, and a refusal before anything is charged where a release would not fit into it."""

import os
from pathlib import Path
from typing import Any

from hushrank.engine.local import LocalEngine, available_cores
from hushrank.exceptions import InvalidParameter

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


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


def threads_of(engine: Any) -> int:
    """Threads that keep totals of their own."""
    if not isinstance(engine, LocalEngine):
        return 1
    return available_cores() if engine.threads is None else int(engine.threads)
