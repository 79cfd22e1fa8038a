"""Made-up matrices and graphs that are known by their updates, for demonstrations, tests and benchmarks."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from hushrank.parameters import check_integer
from hushrank.privacy.noise.continuous import normals, uniforms
from hushrank.privacy.noise.keystream import Keystream

FloatArray = NDArray[np.float64]
Nodes = NDArray[np.int64]

_GAMMA_SHAPE = 0.3  # of the factors of counts: most are small, few are large


def planted_matrix(n_rows: int, n_columns: int, *, rank: int, noise: float, seed: int) -> FloatArray:
    """A dense matrix of this rank with entries of variance 1, plus normal noise of this standard deviation.

    The weights of components fall evenly from 1 to 1/3, those of their squares from 1 to 1/9.

    Examples
    --------
    >>> A = planted_matrix(40, 30, rank=2, noise=0.0, seed=0)
    >>> A.shape, int(np.linalg.matrix_rank(A))
    ((40, 30), 2)
    """
    stream = seeded_stream("planted matrix", seed)
    weights = np.linspace(1.0, 1.0 / 3.0, rank)
    left, right = normals((n_rows, rank), stream), normals((rank, n_columns), stream)
    planted: FloatArray = (left * weights) @ right / np.sqrt(np.sum(weights**2))
    return planted + noise * normals((n_rows, n_columns), stream) if noise else planted


def count_matrix(n_rows: int, n_columns: int, *, rank: int, total: int, seed: int) -> FloatArray:
    """Counts of `total` events whose chances are a nonnegative matrix of this rank with large and small rows.

    The chance of row i and column j is proportional to the sum over c of p_ic q_jc / sqrt(i j), p and q of a gamma law.

    Examples
    --------
    >>> A = count_matrix(40, 30, rank=2, total=500, seed=0)
    >>> A.shape, float(A.sum()), float(A.min())
    ((40, 30), 500.0, 0.0)
    """
    stream = seeded_stream("count matrix", seed)
    left, right = (
        gammaincinv(_GAMMA_SHAPE, uniforms((rank, n), stream)) * np.arange(1, n + 1) ** -0.5
        for n in (n_rows, n_columns)
    )
    components = _draw(left.sum(axis=1) * right.sum(axis=1), uniforms(total, stream))
    places = np.empty(total, np.int64)
    for c in range(rank):
        is_own = components == c
        n_own = int(is_own.sum())
        rows, columns = (_draw(side[c], uniforms(n_own, stream)) for side in (left, right))
        places[is_own] = rows * n_columns + columns
    return np.bincount(places, minlength=n_rows * n_columns).reshape(n_rows, n_columns).astype(np.float64)


@dataclass(frozen=True)
class GraphStream:
    """A directed graph as a stream: edges are inserted (+1), some by mistake, and those are deleted (-1) later.

    Attributes
    ----------
    rows, columns : ndarray of shape (n_updates,)
        From which node an edge leads to which.
    deltas : ndarray of shape (n_updates,)
        +1 or -1.
    communities : ndarray of shape (n_nodes,)
        The community of every node.
    hubs : ndarray of shape (n_hubs,)
        Nodes to which many edges of all communities lead, in rising order.
    """

    rows: Nodes
    columns: Nodes
    deltas: FloatArray
    communities: Nodes
    hubs: Nodes


def directed_graph(
    n_nodes: int, n_communities: int, *, degree: int, n_hubs: int, share_within: float = 0.8, seed: int
) -> GraphStream:
    """A graph of communities and hubs.

    Every node has `degree` edges, `share_within` of them into its own community and the others anywhere, and an edge
    to each hub with probability 1/2; edges that coincide are one. A fifth as many are inserted by mistake, and deleted
    after all insertions.

    Examples
    --------
    >>> graph = directed_graph(50, 3, degree=4, n_hubs=2, seed=0)
    >>> counts = np.zeros((50, 50))
    >>> np.add.at(counts, (graph.rows, graph.columns), graph.deltas)
    >>> sorted(set(counts.ravel().tolist())), len(graph.hubs), int(graph.communities.max())
    ([0.0, 1.0], 2, 2)
    """
    stream = seeded_stream("directed graph", seed)
    communities, hubs = _integers(n_communities, n_nodes, stream), _order(n_nodes, stream)[:n_hubs]
    members, sizes = np.argsort(communities, kind="stable"), np.bincount(communities, minlength=n_communities)
    sources = np.repeat(np.arange(n_nodes), degree)
    own = communities[sources]
    inside = members[(np.cumsum(sizes) - sizes)[own] + (uniforms(len(own), stream) * sizes[own]).astype(np.int64)]
    is_inside = uniforms(len(own), stream) < share_within
    targets = np.where(is_inside, inside, _integers(n_nodes, len(own), stream))
    followers, followed = np.nonzero(uniforms((n_nodes, n_hubs), stream) < 0.5)
    places = np.unique(np.concatenate([sources * n_nodes + targets, followers * n_nodes + hubs[followed]]))
    mistakes = _integers(n_nodes**2, len(places) // 5, stream)
    inserted = np.concatenate([places, mistakes])
    inserted, deleted = inserted[_order(len(inserted), stream)], mistakes[_order(len(mistakes), stream)]
    rows, columns = np.divmod(np.concatenate([inserted, deleted]), n_nodes)
    deltas = np.repeat([1.0, -1.0], [len(inserted), len(deleted)])
    return GraphStream(rows, columns, deltas, communities, np.sort(hubs))


def seeded_stream(purpose: str, seed: int) -> Keystream:
    """Words that depend on a purpose and a seed alone; for data that are made up, never for noise."""
    number = check_integer(seed, "seed", purpose, minimum=0)
    return Keystream.from_key(hashlib.sha256(f"hushrank {purpose} {number}".encode()).digest())


def _draw(weights: FloatArray, chances: FloatArray) -> Nodes:
    """Places with probability proportional to weights, one for each uniform number."""
    ends = np.cumsum(weights)
    places: Nodes = np.searchsorted(ends, chances * ends[-1], side="right").astype(np.int64)
    return np.minimum(places, len(weights) - 1)


def _integers(n: int, size: int, stream: Keystream) -> Nodes:
    return (uniforms(size, stream) * n).astype(np.int64)


def _order(n: int, stream: Keystream) -> Nodes:
    return np.argsort(uniforms(n, stream), kind="stable").astype(np.int64)
