"""Files that workers read by themselves must be those that the caller has looked at."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from hushrank.data.source import Piece
from hushrank.engine.dask_clusters import Cluster
from hushrank.exceptions import InvalidParameter

_SEEN = "files that every worker sees under the same path"


def check_paths(cluster: Cluster, pieces: Iterable[Piece], owner: str) -> None:
    """Refuse files that a worker does not see, or that are of another size there; storage elsewhere is not asked."""
    paths = sorted({str(piece.path) for piece in pieces if isinstance(piece.path, Path)})
    if not paths:
        return
    mine = sizes_of(paths)
    for worker, theirs in cluster.again(lambda: cluster.client.run(sizes_of, paths), lambda: None).items():
        odd = next((path for path, one, other in zip(paths, mine, theirs, strict=True) if one != other), None)
        if odd is not None:
            raise InvalidParameter(owner, "X", _SEEN, f"{odd}, which is not so on {worker}")


def sizes_of(paths: Sequence[str]) -> list[int]:
    """Bytes of files; -1 of what is not there."""
    return [os.stat(path).st_size if os.path.isfile(path) else -1 for path in paths]
