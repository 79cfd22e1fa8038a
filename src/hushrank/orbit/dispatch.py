"""Which sampler draws from a law: fast ones first, and one that always ends last.

All samplers of a law have the same law, and a rejection sampler that gave up after so many proposals says nothing about
the draw that another makes, so trying several in turn draws from exactly this law. The choice may therefore look at the
tilts, which are private: it changes the time of a draw and nothing else. Choosing between *mechanisms* by the data
would not be private.

| law                                     | samplers, in order                                     |
|-----------------------------------------|--------------------------------------------------------|
| rank 1                                  | sphere: about sqrt(d) proposals for every law          |
| complex projection, flat tilts          | stiefel: proposals are nearly uniform                  |
| complex projection, gaps of several d   | ball: accepts at once                                  |
| complex projection, between             | rows (few levels, many dimensions) or coupling         |
| complex, levels that differ             | vertex where they are far apart, else rows or coupling |
| real projection of rank 2 or more       | stiefel, or SamplingFailed                             |
| real, levels that differ                | none: draw a complex H and keep its real part          |
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

import numpy as np

from hushrank.exceptions import InvalidParameter, SamplingFailed
from hushrank.orbit.differences import flint_is_available, spread_of
from hushrank.orbit.law import Draw, OrbitLaw
from hushrank.privacy.noise.keystream import Keystream

# Above this mean square (rank 3, equal gaps) the ball accepts one try in 20 for 10 columns, one in 1000 for 50.
_BALL_LIMIT = 1.5
# Name -> module whose `draw` it is.
SAMPLERS = {
    "sphere": "sphere",
    "stiefel": "stiefel",
    "ball": "ball",
    "vertex": "vertex",
    "coupling": "coupling",
    "rows": "row_draws",
}


class Sampler(Protocol):
    """The interface of every sampler."""

    def __call__(self, law: OrbitLaw, stream: Keystream, *, limit: int | None = ...) -> Draw:
        """One draw, or SamplingFailed once the limit is spent."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sampler to try, the work it may spend (None: until it ends), and why it stands here."""

    sampler: str
    limit: int | None
    reason: str


def sampler(name: str) -> Sampler:
    """The `draw` of a sampler's module."""
    if name not in SAMPLERS:
        raise InvalidParameter("draw_orbit", "method", f"'auto' or one of {', '.join(SAMPLERS)}", name)
    return cast(Sampler, import_module(f"hushrank.orbit.{SAMPLERS[name]}").draw)


def attempts(law: OrbitLaw) -> tuple[Attempt, ...]:
    """Samplers to try in turn, the last one until it ends."""
    if law.rank == 1:
        return (Attempt("sphere", None, "rank 1: about sqrt(d) proposals, whatever the tilts"),)
    if not law.is_complex:
        if not law.is_projection:
            raise SamplingFailed("auto", "real levels that differ have no exact sampler: draw a complex law instead")
        return (Attempt("stiefel", 10**5, "real and of equal levels: efficient where the tilts are flat"),)
    found = []
    if not law.is_projection:
        found.append(Attempt("vertex", 50, "levels that differ: accepts where they are far apart"))
    elif law.costs[-1] < law.dimension:
        found.append(Attempt("stiefel", 1000, "flat: nearly uniform"))
    if law.is_projection and _mean_square(law) < _BALL_LIMIT:
        found.append(Attempt("ball", 20, "gaps of several d: accepts at once"))
    # Neither of these may be given up: whether they are slow depends on the draw, and so would what is kept.
    if flint_is_available() and _rows_are_fast(law):
        return (*found, Attempt("rows", None, "few levels in many dimensions: ball arithmetic is faster"))
    return (*found, Attempt("coupling", None, "whatever the law: always ends"))


def _rows_are_fast(law: OrbitLaw) -> bool:
    """Whether the rows sampler is expected to need less time than the coupling (benchmarks/RESULTS.md)."""
    d, falls = law.dimension, -np.diff(law.levels)
    is_small = d >= max(100, 20 * law.rank) and spread_of(law) <= min(10 * d, 10_000)
    return is_small and bool((falls[falls > 0] > 1e-6 * law.levels[0]).all())  # near ties need many digits


def _mean_square(law: OrbitLaw) -> float:
    """Mean squared length of the last column of the matrix-ball chart, were it not cut off at 1."""
    k = law.rank
    if k == law.dimension:
        return 0.0
    gaps = law.costs[k:] - law.costs[k - 1]
    return float(np.sum(1.0 / np.maximum(gaps, 1e-3)))


def draw_orbit(law: OrbitLaw, stream: Keystream, *, method: str = "auto") -> Draw:
    """One draw of the law.

    Parameters
    ----------
    law : OrbitLaw
    stream : Keystream
    method : str, default "auto"
        "auto" tries the samplers of `attempts` in turn; the name of one uses that one, with its own limit.

    Raises
    ------
    SamplingFailed
        If no sampler serves the law: real laws of rank 2 or more that are not flat. Complex laws always end.

    Examples
    --------
    >>> law = OrbitLaw([30.0, 10.0, 1.0, 0.0], [1.0, 1.0], is_complex=True)
    >>> draw = draw_orbit(law, Keystream())
    >>> draw.factor.shape, bool(np.allclose(draw.factor.conj().T @ draw.factor, np.eye(2)))
    ((4, 2), True)
    """
    if method != "auto":
        return sampler(method)(law, stream)
    *first, last = attempts(law)
    for attempt in first:
        try:
            return sampler(attempt.sampler)(law, stream, limit=attempt.limit)
        except SamplingFailed:
            continue
    return sampler(last.sampler)(law, stream, limit=last.limit)
