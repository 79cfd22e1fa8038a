"""CPU seconds of one Cholesky iteration of implicit's alternating least squares, in an interpreter of its own.

Runs with the packages of .venv-peers: benchmarks/bench_als.py starts it and writes a sparse matrix of users and items,
as an npz file, to its standard input. Prints one JSON document: version, rank, and the seconds of each repetition.
"""

import importlib.metadata
import io
import json
import sys
import time
import warnings

import scipy.sparse


def main() -> None:
    """Arguments: rank, repetitions."""
    rank, repetitions = int(sys.argv[1]), int(sys.argv[2])
    warnings.simplefilter("ignore")  # of the peer, which is not ours to mend
    from implicit.als import AlternatingLeastSquares

    ratings = scipy.sparse.load_npz(io.BytesIO(sys.stdin.buffer.read())).tocsr().astype("float32")

    def seconds(iterations: int) -> float:
        options = {"use_cg": False, "use_gpu": False, "num_threads": 1, "random_state": 1}
        model = AlternatingLeastSquares(factors=rank, iterations=iterations, **options)
        start = time.process_time()
        model.fit(ratings, show_progress=False)
        return time.process_time() - start

    seconds(1)
    taken = [(seconds(4) - seconds(1)) / 3 for _ in range(repetitions)]
    print(json.dumps({"version": importlib.metadata.version("implicit"), "seconds": taken}))


if __name__ == "__main__":
    main()
