"""Measure the figures of docs/guide/streams.md into benchmarks/results.json; `make figures` draws them.

Errors are ratios to that of the best matrix of rank 10, for a planted matrix of rank 10 with noise and a matrix of
counts, both 2000 x 1500; a change of Frobenius norm 1 is hidden at delta = 1e-6. The graph is that of
examples/graph_stream.py. Nothing here is private: only the holder of the data can compare a release with the truth.
"""

import math
import statistics
from collections.abc import Iterator
from typing import Any

import measure  # noqa: F401  (before NumPy: it fixes the threads)

import numpy as np  # isort: skip
import scipy.sparse
from sklearn.cluster import KMeans

from hushrank.bounds.turnstile import predicted_error
from hushrank.estimators.turnstile.factorization import Factorization
from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.evaluation.turnstile_baselines import best_rank_error, factorization_error
from hushrank.evaluation.turnstile_matrices import count_matrix, directed_graph, planted_matrix
from recorded import save

SHAPE, RANK, DELTA, DRAWS = (2000, 1500), 10, 1e-6, 5
WIDTHS = (20, 32, 64, 128, 256)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SIZES = {"two_sketch": (64, 128), "three_sketch": (68, 272), "figure3": (64, 128), "figure1": (68, 272)}
"""About 320,000 words each."""


def matrices() -> dict[str, np.ndarray]:
    """Data by their names in the figures."""
    return {
        "planted, rank 10": 5.0 * planted_matrix(*SHAPE, rank=RANK, noise=0.2, seed=3),
        "counts": 4.0 * count_matrix(*SHAPE, rank=RANK, total=300_000, seed=3),
    }


def sizes_of(kind: str, t: int) -> dict[str, Any]:
    """Parameters of a sketch of this width."""
    return {"kind": kind, "sketch_sizes": (t, 4 * t if kind in ("three_sketch", "figure1") else 2 * t)}


def measured(A: np.ndarray, epsilon: float, terms: dict[str, Any]) -> dict[str, float]:
    """Mean error over draws of operators and noise, its standard error, and the forecast where there is one."""
    rows, columns = np.nonzero(A)
    best, found = best_rank_error(A, RANK), []
    for _ in range(DRAWS):
        sketch = TurnstileSketch(SHAPE, RANK, epsilon=epsilon, delta=DELTA, unit="frobenius", **terms)
        factors = sketch.update(rows, columns, A[rows, columns]).factorize()
        found.append(factorization_error(A, factors.U, factors.s, factors.Vt) / best)
    spread = statistics.stdev(found) / math.sqrt(DRAWS)
    return {"mean": statistics.mean(found), "standard_error": spread, **_predicted(sketch, best)}


def _predicted(sketch: TurnstileSketch, best: float) -> dict[str, float]:
    """The forecast of two sketches, against the error of the best matrix."""
    if sketch.kind != "two_sketch":
        return {}
    noise = sketch.plan().steps[0].scales["standard deviation of an entry"]
    return {"predicted": predicted_error(best, noise, *SHAPE, RANK, sketch.sketch_sizes) / best}


def words_of(terms: dict[str, Any]) -> int:
    """Integers of the state."""
    if terms["kind"] == "full":
        return SHAPE[0] * SHAPE[1]
    t, v = terms["sketch_sizes"]
    return SHAPE[0] * t + SHAPE[1] * v if terms["kind"] in ("two_sketch", "figure3") else sum(SHAPE) * t + v * v


def series(name: str, A: np.ndarray, points: list[tuple[float, float, dict[str, Any]]], x: str) -> dict[str, Any]:
    """One curve: points are (x, epsilon, terms)."""
    cells = [measured(A, epsilon, terms) for _, epsilon, terms in points]
    columns = {key: [round(cell[key], 4) for cell in cells] for key in cells[0]}
    zero = round(float(np.linalg.norm(A)) / best_rank_error(A, RANK), 4)
    return {"data": name, "kind": points[0][2]["kind"], x: [point[0] for point in points], **columns, "zero": zero}


def space_series() -> Iterator[dict[str, Any]]:
    """Error against space at epsilon = 1."""
    for name, A in matrices().items():
        for kind in SIZES:
            terms = [sizes_of(kind, t) for t in WIDTHS]
            yield series(name, A, [(words_of(own), 1.0, own) for own in terms], "words")
        full: dict[str, Any] = {"kind": "full"}
        yield series(name, A, [(words_of(full), 1.0, full)], "words")


def epsilon_series() -> Iterator[dict[str, Any]]:
    """Error against epsilon at 320,000 words, and with the whole matrix."""
    kinds = {kind: {"kind": kind, "sketch_sizes": sizes} for kind, sizes in SIZES.items()} | {"full": {"kind": "full"}}
    for name, A in matrices().items():
        for terms in kinds.values():
            yield series(name, A, [(epsilon, epsilon, terms) for epsilon in EPSILONS], "epsilon")


def graph_series() -> dict[str, Any]:
    """The graph of the example: densities of blocks of nodes, and true and private numbers of edges to some nodes."""
    n_nodes, n_communities, n_blocks = 2000, 6, 40
    graph = directed_graph(n_nodes, n_communities, degree=400, n_hubs=20, seed=0)
    A = scipy.sparse.csr_matrix((graph.deltas, (graph.rows, graph.columns)), (n_nodes, n_nodes)).toarray()
    terms: dict[str, dict[str, Any]] = {"full": {"kind": "full"}, "two_sketch": {"sketch_sizes": (256, 512)}}
    found: dict[str, Factorization] = {}
    for name, own in terms.items():
        sketch = TurnstileSketch(A.shape, RANK, epsilon=1.0, **own)
        found[name] = sketch.update(graph.rows, graph.columns, graph.deltas).factorize()
    f, size = found["two_sketch"], n_nodes // n_blocks
    features = np.hstack([f.U * f.s, f.Vt.T * f.s])
    order = np.argsort(KMeans(n_communities, n_init=4, random_state=0).fit_predict(features), kind="stable")
    shown = np.concatenate([graph.hubs, np.random.default_rng(0).choice(n_nodes, 80, replace=False)])

    def densities(B: np.ndarray) -> list[list[float]]:
        means: list[list[float]] = B.reshape(n_blocks, size, n_blocks, size).mean(axis=(1, 3)).round(2).tolist()
        return means

    return {
        "unsorted": densities(A),
        "sorted": densities(A[order][:, order]),
        "in_degrees": A.sum(axis=0)[shown].astype(int).tolist(),
        **{name: ((f.U.sum(axis=0) * f.s) @ f.Vt)[shown].round().astype(int).tolist() for name, f in found.items()},
    }


def main() -> None:
    """Measure and record everything."""
    save("stream_graph", [graph_series()])
    save("stream_space", list(space_series()))
    save("stream_epsilon", list(epsilon_series()))


if __name__ == "__main__":
    main()
