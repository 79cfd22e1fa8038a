"""Private PCA of other libraries, as published and with their sampler put right, beside ours at one guarantee.

diffprivlib and OpenDP both follow Amin, Dick, Kulesza, Munoz Medina & Vassilvitskii (2019), Differentially private
covariance estimation: the eigenvalues get Laplace noise; the vectors are k draws in turn from the Bingham law
exp(epsilon_j / 4 u^T M u / row_norm^2), each in the complement of those before. Neither draws from that law. The
proposals have a density proportional to (u^T Omega u)^(-d/2), so the accept probability must multiply by
(u^T Omega u)^(d/2); diffprivlib 0.6.6 (mechanisms/bingham.py, `randomise`) and OpenDP 0.16.0
(extras/sklearn/_make_eigenvector, `function`) divide by it. What comes out is more concentrated than the law that their
epsilon stands for, so their captured variance is not that of the guarantee: by quadrature, at d = 10 and epsilon_j = 1,
the density of one vector changes by a factor of exp(1.22) between two neighbors. And the number of proposals grows so
fast with d that a fit does not end, which is measured in a process with a limit on CPU time.

Neighbors: replace one row, all rows clipped to row_norm, the origin known (no budget for a mean).

- diffprivlib: `epsilon` is for one replaced row (eigenvalue sensitivity 2). Each vector gets epsilon / (k + 1), the
  eigenvalues one such share too; for k = d the last vector is free.
- OpenDP: the metric counts an addition and a removal, so one replaced row is a distance of 2 and `unit_epsilon` of
  `make_private_pca` is for that distance. Its class `PCA(epsilon=e)` is not: there one replaced row costs 2 e. Half
  goes to the eigenvalues, half to the vectors in equal shares.
- Both could take epsilon_j / 2 in the exponent where they take epsilon_j / 4, as u^T M u changes by at most row_norm^2
  if one row is replaced. The corrected law below keeps their 1/4: it stands for what they mean to do.
"""

import io
import json
import signal
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from measure import table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
from scipy.optimize import brentq

from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.evaluation.metrics import captured_variance
from hushrank.evaluation.synthetic import power_law_rows
from hushrank.linalg.spectral import top_eigenpairs

# diffprivlib 0.6.6 does not import beside scikit-learn 1.9, so the peers have an environment of their own.
PYTHON = Path(__file__).parent.parent / ".venv-peers" / "bin" / "python"
WORKER = Path(__file__).parent / "peer_worker.py"
PEERS = ("diffprivlib", "opendp")
CPU_SECONDS = 15.0
PEER_FITS, OWN_FITS = 5, 100
N_SAMPLES, N_COMPONENTS, EPSILON, ROW_NORM = 2000, 2, 1.0, 1.0


class Fit(NamedTuple):
    """One finished fit: its CPU time, and ndarray of shape (n_components, n_features)."""

    seconds: float
    components: np.ndarray


class Run(NamedTuple):
    """The version of a peer and the fits that it finished in time."""

    version: str
    fits: list[Fit]


def run_published(
    peer: str, X: np.ndarray, row_norm: float, epsilon: float, n_components: int, fits: int = 1
) -> Run | None:
    """Fits of a peer as it is published within CPU_SECONDS in all; None if .venv-peers is not there."""
    if not PYTHON.exists():
        return None
    rows = io.BytesIO()
    np.save(rows, X)
    arguments = [peer, row_norm, epsilon, n_components, fits, CPU_SECONDS]
    command = [str(word) for word in (PYTHON, WORKER, *arguments)]
    done = subprocess.run(command, input=rows.getvalue(), capture_output=True, check=False)
    if done.returncode not in (0, -signal.SIGPROF):  # an error, not the end of its time
        raise RuntimeError(f"{peer} failed: {done.stderr.decode().strip()}")
    version, *finished = (json.loads(line) for line in done.stdout.splitlines())
    return Run(version, [Fit(seconds, np.array(components)) for seconds, components in finished])


def published(peer: str, X: np.ndarray, row_norm: float, epsilon: float, n_components: int) -> np.ndarray | None:
    """Components of one fit of a peer; None if it is not installed or does not finish within CPU_SECONDS."""
    run = run_published(peer, X, row_norm, epsilon, n_components)
    return run.fits[0].components if run is not None and run.fits else None


def vector_epsilon(peer: str, epsilon: float, n_components: int, n_features: int) -> float:
    """What a peer spends on each vector; the rest goes to the eigenvalues, which the vectors do not depend on."""
    if peer == "diffprivlib":
        return epsilon / (n_components + (n_components != n_features))
    return epsilon / 2 / min(n_components, n_features - 1)


def bingham(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One unit vector with density proportional to exp(u^T A u), exact up to rounding.

    Rejection from the angular central Gaussian law (Kent, Ganeiber & Mardia 2018), with logarithms throughout.
    """
    eigenvalues, basis = np.linalg.eigh(A)
    rates, d = eigenvalues[-1] - eigenvalues, len(A)
    b = brentq(lambda b: np.sum(1.0 / (b + 2.0 * rates)) - 1.0, 1.0, d)
    log_bound = -(d - b) / 2 + d / 2 * np.log(d / b)
    while True:
        z = rng.standard_normal(d) / np.sqrt(1.0 + 2.0 * rates / b)
        u = z / np.linalg.norm(z)
        rate = rates @ u**2
        # The factor (u^T Omega u)^(d/2) multiplies: it is the sign of this logarithm that the peers have wrong.
        if rng.standard_exponential() > log_bound + rate - d / 2 * np.log1p(2.0 * rate / b):
            return basis @ u


def sequential_corrected(
    gram: np.ndarray, row_norm: float, epsilon: float, n_components: int, rng: np.random.Generator, *, split: str
) -> np.ndarray:
    """Components of the law that both peers mean to draw from, with the budget split of one of them."""
    share = vector_epsilon(split, epsilon, n_components, len(gram))
    score = share / 4 * gram / row_norm**2
    found, complement = np.empty((0, len(gram))), np.eye(len(gram))
    for _ in range(n_components):
        found = np.vstack((found, complement @ bingham(complement.T @ score @ complement, rng)))
        complement = np.linalg.qr(found.T, mode="complete")[0][:, len(found) :]
    return found


def published_wishart(
    gram: np.ndarray, row_norm: float, epsilon: float, n_components: int, rng: np.random.Generator
) -> np.ndarray:
    """Components of "Wishart as published (not private)": M + Wishart(d + 1, 3 / (2 epsilon) row_norm^2 I).

    Jiang, Xie & Zhang (2016), Wishart mechanism for differentially private principal components analysis. Not
    epsilon-private for any epsilon: the noise is positive definite, so which matrices can come out depends on M. One
    more row of full length makes a share 1 - exp(-epsilon / 3) of the outputs impossible. A reference, not a rival.
    """
    d = len(gram)
    G = rng.standard_normal((d, d + 1))
    return top_eigenpairs(gram + 1.5 * row_norm**2 / epsilon * (G @ G.T), n_components)[1]


def own_fits(call: Callable[[], np.ndarray]) -> list[Fit]:
    """OWN_FITS fits after one that compiles and warms up."""
    call()
    fits = []
    for _ in range(OWN_FITS):
        start = time.process_time()
        components = call()
        fits.append(Fit(time.process_time() - start, components))
    return fits


def cells(fits: list[Fit], asked: int, gram: np.ndarray) -> tuple[str, str, str]:
    """Finished fits, median CPU seconds and mean captured variance."""
    if not fits:
        return f"0 of {asked}", f"> {CPU_SECONDS:.0f}", "-"
    shares = np.array([captured_variance(fit.components, gram) for fit in fits])
    seconds = statistics.median(fit.seconds for fit in fits)
    spread = f" +- {shares.std(ddof=1) / len(fits) ** 0.5:.4f}" if len(fits) > 1 else ""
    return f"{len(fits)} of {asked}", f"{seconds:.2g}", f"{shares.mean():.4f}{spread}"


def private_pca(X: np.ndarray, row_norm: float, epsilon: float, n_components: int) -> np.ndarray:
    """Components of one fit of ours."""
    terms = {"row_norm": row_norm, "radius": "public", "epsilon": epsilon, "engine": LocalEngine(threads=1)}
    return PrivatePCA(n_components, **terms).fit(X).components_


def peers_table() -> list[str]:
    """Markdown of captured variance and time for growing d; a peer has CPU_SECONDS for all of its fits together."""
    rng, rows = np.random.default_rng(0), []
    budget = (ROW_NORM, EPSILON, N_COMPONENTS)
    for d in (6, 10, 14, 20):
        X = power_law_rows(N_SAMPLES, d, seed=0)
        gram = X.T @ X
        with ThreadPoolExecutor() as pool:  # side by side: their limit is on CPU time
            runs = list(pool.map(lambda peer, X=X: run_published(peer, X, *budget, fits=PEER_FITS), PEERS))
        for peer, run in zip(PEERS, runs, strict=True):
            measured = ("not installed", "-", "-") if run is None else cells(run.fits, PEER_FITS, gram)
            version = "" if run is None else f" {run.version}"
            rows.append((d, f"{peer}{version} as published (wrong law)", *measured))
        calls: dict[str, Callable[[], np.ndarray]] = {
            f"{peer}'s law, sampler corrected": partial(sequential_corrected, gram, *budget, rng, split=peer)
            for peer in PEERS
        }
        calls["Wishart as published (not private)"] = partial(published_wishart, gram, *budget, rng)
        calls["hushrank PrivatePCA (two-sided Wishart)"] = partial(private_pca, X, *budget)
        rows += [(d, name, *cells(own_fits(call), OWN_FITS, gram)) for name, call in calls.items()]
    method = f"method; epsilon = {EPSILON:g}, n = {N_SAMPLES}"
    finished = f"fits finished in {CPU_SECONDS:.0f} s"
    return table(("d", method, finished, "CPU s per fit", f"top-{N_COMPONENTS} variance captured"), rows)


if __name__ == "__main__":
    print("\n".join(peers_table()))
