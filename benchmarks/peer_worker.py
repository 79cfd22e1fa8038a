"""Fit one peer's published PCA again and again in an interpreter of its own, until done or out of CPU time.

Runs with the packages of .venv-peers, never with hushrank's: benchmarks/peers.py starts it, writes the rows to its
standard input and reads one JSON document per line: the version of the peer, then every finished fit. Neither sampler
can be interrupted from within, so the timer's signal is left to end the process.
"""

import importlib.metadata
import io
import json
import signal
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

Components = Callable[[np.ndarray], np.ndarray]


def diffprivlib_components(row_norm: float, epsilon: float, n_components: int) -> Components:
    """Its PCA without the private mean, for which it would take half of epsilon."""
    from diffprivlib.models import PCA

    return lambda X: PCA(n_components, epsilon=epsilon, centered=True, data_norm=row_norm).fit(X.copy()).components_


def opendp_components(n: int, d: int, row_norm: float, epsilon: float, n_components: int) -> Components:
    """Its PCA around a known origin, so that no budget goes to the mean; two changes are one replaced row."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    domain = dp.numpy.array2_domain(num_columns=d, size=n, T=float, norm=row_norm, p=2, origin=np.zeros(d))
    measurement = dp.sklearn.decomposition.make_private_pca(
        domain, dp.symmetric_distance(), epsilon, num_components=n_components
    )
    if not np.isclose(measurement.map(2), epsilon):
        raise ValueError(f"OpenDP asks {measurement.map(2)} for one replaced row; expected {epsilon}")
    return lambda X: measurement(X).Vt[:n_components]


def main() -> None:
    """Arguments: peer, row_norm, epsilon, n_components, fits, CPU seconds for all of them."""
    peer, row_norm, epsilon = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    n_components, fits, seconds = int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6])
    X = np.load(io.BytesIO(sys.stdin.buffer.read()))
    warnings.simplefilter("ignore")  # of the peers, which is not ours to mend
    if peer == "diffprivlib":
        components = diffprivlib_components(row_norm, epsilon, n_components)
    else:
        components = opendp_components(*X.shape, row_norm, epsilon, n_components)
    print(json.dumps(importlib.metadata.version(peer)), flush=True)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # CPU time from here on: imports are not counted, nor a busy machine
    for _ in range(fits):
        start = time.process_time()
        V = components(X)
        print(json.dumps((time.process_time() - start, V.tolist())), flush=True)


if __name__ == "__main__":
    main()
