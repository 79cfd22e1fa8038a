"""Which engine a parameter names."""

from typing import Any

from hushrank.engine.local import LocalEngine
from hushrank.engine.protocol import FoldingEngine
from hushrank.exceptions import InvalidParameter


def find_engine(engine: Any) -> Any:
    """The engine that was given, all cores of this machine for None, and a Dask cluster for "dask".

    Examples
    --------
    >>> find_engine(None)
    LocalEngine(threads=None, block_rows=8192)
    """
    if engine == "dask":
        from hushrank.engine.dask import DaskEngine  # half a second, and an extra package

        return DaskEngine()
    return LocalEngine() if engine is None else engine


def find_folding_engine(engine: Any, owner: str) -> FoldingEngine | None:
    """An engine that lets others read whole pieces, None for threads of this machine; anything else is refused."""
    found = find_engine(engine)
    if isinstance(found, FoldingEngine):
        return found
    if not isinstance(found, LocalEngine):
        raise InvalidParameter(owner, "engine", "a DaskEngine, 'dask' or None", engine)
    return None
