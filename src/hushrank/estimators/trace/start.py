"""Where a fit starts: the nearest matrix of low rank to the mean of measurements times answers.

Release    the sum of (y - intercept) L X R, each shortened to a quantile of their norms.
Post       for isotropic measurements its mean is the matrix itself; singular values are shrunk by the noise, that of
           the release and that of the sample, which the rest of the spectrum shows.
Privacy    docs/privacy/trace.md, Lemmas 1 (search) and 2 (sum).
"""

import math

import numpy as np

from hushrank.estimators.searches import Searches, octaves
from hushrank.estimators.trace.designs import Design
from hushrank.estimators.trace.record_sums import StartState, count_start_norms, sum_start
from hushrank.linalg.fixed_rank import FixedRank, nearest_of_rank, shrink_singular_values
from hushrank.linalg.quantize import FloatArray
from hushrank.privacy.adaptive import AdaptiveReleases

BELOW, ABOVE = 8.0, 6.0
"""Octaves that the norm of a gradient is searched for, about what the spread of the answers makes likely."""


def learn_start(
    releases: AdaptiveReleases,
    searches: Searches,
    state: StartState,
    *,
    rank: int,
    spread: float,
    level: float,
    share: float,
) -> FixedRank:
    """The first matrix, in whitened coordinates; `spread` is that of the answers."""
    design = state.design
    window = octaves(spread * measurement_size(design), BELOW, ABOVE)
    bound = searches.find(count_start_norms, state, window, level, is_long=True)
    lattice = releases.vector_lattice(bound, share)
    total = releases.total(sum_start, (state, lattice))
    mean = releases.release(total, lattice) / (level * releases.n_people)
    return leading_part(mean, rank, lattice.scale / (level * releases.n_people))


def measurement_size(design: Design) -> float:
    """Norm of a whitened measurement, about."""
    return math.sqrt(design.shape[0] * design.shape[1])


def leading_part(mean: FloatArray, rank: int, scale: float) -> FixedRank:
    """The part of rank `rank` of a matrix with independent noise of at least this scale, without that noise."""
    (d1, d2), point = mean.shape, nearest_of_rank(mean, rank)
    rest = max(float(np.sum(mean * mean)) - float(np.sum(point.s**2)), 0.0)
    if min(d1, d2) > rank:
        scale = max(scale, math.sqrt(rest / ((d1 - rank) * (d2 - rank))))
    return point._replace(s=shrink_singular_values(point.s, (d1, d2), scale))
