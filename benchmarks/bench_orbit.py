"""Exact draws of the exponential mechanism: time beside one eigendecomposition, and where they beat additive noise.

A release needs the eigenvectors of M anyway, so a draw is timed without them, but with the product that takes it back
from the eigenbasis. The hole is where laws are neither flat nor concentrated: the fast samplers accept nothing there.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from measure import median_seconds, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)
from hushrank.linalg.spectral import top_eigenpairs
from hushrank.orbit.dispatch import attempts, draw_orbit
from hushrank.orbit.law import OrbitLaw
from hushrank.privacy.events import Pure
from hushrank.privacy.mechanisms.wishart import release_wishart, wishart_lattice
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.source import NoiseSource
from recorded import save

TITLE = "Exact draws of the exponential mechanism"
LARGE = 1000  # columns of the matrix whose eigendecomposition is the unit of time
FAST, SLOW = 0.1, 100.0  # largest allowed ratios to it
SPIKE_COLUMNS, SPIKE_DRAWS = 200, 400
STRENGTHS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)


class Case(NamedTuple):
    """A law, the sampler that is timed, and the largest allowed ratio."""

    name: str
    law: OrbitLaw
    method: str
    limit: float


def harmonic_tilts(d: int, concentration: float) -> np.ndarray:
    """c gamma_i for eigenvalues gamma_i = 1/i, with c gamma_1 = concentration d."""
    return concentration * d / np.arange(1, d + 1)


def fast_cases() -> list[Case]:
    """Laws of 1000 columns that the fast samplers serve."""
    cases = []
    for concentration in (0.3, 1.0, 3.0, 30.0):
        for field in ("real", "complex"):
            law = OrbitLaw(harmonic_tilts(LARGE, concentration), [1.0], field == "complex")
            cases.append(Case(f"{field}, c gamma_1 = {concentration:g} d", law, "auto", FAST))
    for k in (5, 20):
        tilts = 40.0 * LARGE * np.append(np.linspace(3, 2, k), np.linspace(1, 0, LARGE - k))
        law = OrbitLaw(tilts, np.ones(k), is_complex=True)
        cases.append(Case("complex projection, gaps of 40 d", law, "auto", FAST))
    return cases


def slow_cases() -> list[Case]:
    """Complex laws in the hole, c gamma_1 = 2 d."""
    cases = []
    for d, k in ((50, 5), (50, 10), (100, 5), (200, 5)):
        law = OrbitLaw(harmonic_tilts(d, 2.0), np.ones(k), is_complex=True)
        cases += [Case("complex projection, the hole", law, method, SLOW) for method in ("coupling", "rows")]
    for d, k, ways in ((50, 10, ("auto", "rows")), (50, 50, ("auto",))):
        law = OrbitLaw(harmonic_tilts(d, 2.0), 1.0 / np.arange(1, k + 1), is_complex=True)
        cases += [Case("levels 1/j, the hole", law, method, SLOW) for method in ways]
    return cases


def draw(case: Case, basis: np.ndarray) -> np.ndarray:
    """One draw in the coordinates of the rows."""
    return basis @ draw_orbit(case.law, Keystream(), method=case.method).factor


def speed() -> list[str]:
    """Median CPU time of a draw; fast and slow laws each in one run with the eigendecomposition."""
    rng, rows = np.random.default_rng(0), []
    G = rng.standard_normal((LARGE, LARGE))
    M = G @ G.T
    bases = {d: np.linalg.qr(rng.standard_normal((d, d)))[0] for d in (50, 100, 200, LARGE)}
    for cases, repetitions in ((fast_cases(), 15), (slow_cases(), 5)):
        calls: dict[str, Callable[[], object]] = {"eigh": partial(np.linalg.eigh, M)}
        calls |= {str(i): partial(draw, case, bases[case.law.dimension]) for i, case in enumerate(cases)}
        seconds = median_seconds(calls, repetitions)
        rows.append((f"real eigh, d = {LARGE}", "", "", "", f"{seconds['eigh']:.4f}", "1", ""))
        for i, case in enumerate(cases):
            tried = " then ".join(attempt.sampler for attempt in attempts(case.law))
            ratio = seconds[str(i)] / seconds["eigh"]
            size = f"{case.law.dimension}, {case.law.rank}"
            times = (f"{seconds[str(i)]:.4f}", f"{ratio:.3g}", f"{case.limit:g}")
            rows.append((case.name, size, case.method, tried, *times))
    return table(("law", "d, k", "sampler", "what auto tries", "CPU s a draw", "ratio", "allowed ratio"), rows)


def spike_by_draw(strength: float, d: int) -> float:
    """|<u, e_1>|^2 of an exact real draw at epsilon = 1, for one eigenvalue strength d above the others."""
    tilts = np.append(0.5 * strength * d, np.zeros(d - 1))  # rate epsilon / 2: replace one row
    return float(draw_orbit(OrbitLaw(tilts, [1.0], is_complex=False), Keystream()).factor[0, 0] ** 2)


def spike_by_wishart(strength: float, d: int) -> float:
    """The same of the top eigenvector after two-sided Wishart noise."""
    lattice = wishart_lattice(1.0, Pure(1.0))
    secret = np.zeros((d, d), np.int64)
    secret[0, 0] = round(strength * d * lattice.squared_bound)  # rows of norm at most 1
    released = release_wishart(secret, lattice, NoiseSource())
    return float(top_eigenpairs(released, 1)[1][0, 0] ** 2)


def crossover() -> list[str]:
    """Captured share of a spike against r = epsilon (gamma_1 - gamma_2) / d."""
    mechanisms = {"exponential": spike_by_draw, "two-sided Wishart": spike_by_wishart}
    series, cells = [], [[f"{r:g}" for r in STRENGTHS]]
    for name, spike in mechanisms.items():
        found = np.array([[spike(r, SPIKE_COLUMNS) for _ in range(SPIKE_DRAWS)] for r in STRENGTHS])
        means, errors = found.mean(axis=1), found.std(axis=1, ddof=1) / math.sqrt(SPIKE_DRAWS)
        cells.append([f"{mean:.3f} +- {error:.3f}" for mean, error in zip(means, errors, strict=True)])
        points = {"strength": STRENGTHS, "mean": means.round(5).tolist(), "standard_error": errors.round(5).tolist()}
        series.append({"method": name, "d": SPIKE_COLUMNS, "draws": SPIKE_DRAWS, **points})
    cells.insert(2, [f"{1 - 1 / r:.3f}" for r in STRENGTHS])
    cells.append([f"{max(0.0, 1 - 2 / r**2):.3f}" for r in STRENGTHS])
    save("crossover", series)
    header = (f"spike, d = {SPIKE_COLUMNS}, r", "exponential, real", "1 - 1/r", "two-sided Wishart", "1 - 2/r^2")
    return table(header, zip(*cells, strict=True))


def run() -> list[str]:
    """Measure and return Markdown."""
    return [*speed(), "", *crossover()]


if __name__ == "__main__":
    print("\n".join(run()))
