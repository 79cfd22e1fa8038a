"""The last look at a fit: does it predict better than an intercept alone, and where do its residuals lie?

Releases   how large residuals are, with the matrix and without it (two searches); how far those with the matrix reach,
           and their mean, which the intercept makes up for; then the records' votes between the matrix, half of it and
           none, and gains of squares, in one sum.
Choice     the matrix, half of it, or zero where neither votes nor squares stand above their noise and above what a fit
           to noise would get: a fit has seen the records that vote. A vote tells small differences better than a mean
           square does, and squares tell what votes cannot where most answers are equal.
Privacy    docs/privacy/trace.md, Lemmas 1 (searches), 2 (mean) and 4 (votes).
"""

import logging
import math
from dataclasses import replace
from typing import NamedTuple

from hushrank.estimators.searches import Searches, octaves
from hushrank.estimators.trace.means import Residuals, find_mean, find_reach
from hushrank.estimators.trace.record_sums import N_CHECKED, Candidates, count_residuals, sum_check
from hushrank.linalg.quantize import FloatArray
from hushrank.privacy.adaptive import AdaptiveReleases

LEAST_VOTE, LEAST_GAIN, CLEAR_GAIN = 3.0, 1.5, 3.0  # deviations above zero, of votes and of gains of squares
OPTIMISM = 0.4  # votes that a fit to noise gets, in roots of parameters over records
_BELOW, _ABOVE = 10.0, 2.0  # octaves that residuals are searched for about the spread of the answers
_REACH_SHARE, _MEAN_SHARE = 0.1, 0.35  # of what is left for the check


log = logging.getLogger("hushrank")


class Check(NamedTuple):
    """What the check has found.

    Attributes
    ----------
    scale : float
        Of the matrix: 1, 1/2 or 0.
    intercept : float
    gain : float
        Share of records that the matrix predicts better than an intercept alone, less that of those it predicts worse.
    deviation : float
        Of the noise of the gain.
    residual, spread : float
        Median size of a residual of what was chosen, and of the intercept alone.
    """

    scale: float
    intercept: float
    gain: float
    deviation: float
    residual: float
    spread: float


def check_fit(
    releases: AdaptiveReleases,
    searches: Searches,
    candidates: Candidates,
    *,
    spread: float,
    reach: float,
    n_parameters: int,
    shifts: bool,
) -> Check:
    """Spend what is left on the choice; `spread` is that of the answers, and `reach` how far they reach."""
    grid = searches.grid(octaves(spread, _BELOW, _ABOVE), is_long=True)
    alone, half, whole = releases.total(count_residuals, (candidates, grid))
    size, residual = searches.read(alone, grid, 0.5), searches.read(whole, grid, 0.5)
    left = releases.spendable(releases.left - searches.cost(grid))
    if shifts:
        own = Residuals(candidates.design, candidates.coef, candidates.intercept)
        far = min(find_reach(releases, own, spread, left * _REACH_SHARE), reach)
        mean = find_mean(releases, own, far, left * _MEAN_SHARE)
        candidates = replace(candidates, intercept=candidates.intercept + mean)
    lattice = releases.vector_lattice(math.sqrt(N_CHECKED), releases.left - searches.cost(grid))
    found = releases.release(releases.total(sum_check, (candidates, reach, lattice)), lattice) / releases.n_people
    deviation = lattice.scale / releases.n_people
    scale = choose_scale(found[:3], found[3:], deviation, math.sqrt(n_parameters / releases.n_people))
    intercept, gain = (candidates.alone if scale == 0.0 else candidates.intercept), float(found[0])
    if scale == 0.5:
        gain, residual = float(found[1]), searches.read(half, grid, 0.5)
    n_usable = int(whole.sum())
    log.info("Not private: %s records had finite numbers and could be used.", f"{n_usable:,}")
    return Check(scale, intercept, gain, deviation, residual if scale else size, size)


def choose_scale(votes: FloatArray, gains: FloatArray, deviation: float, chance: float) -> float:
    """The scale of the matrix that votes speak for and squares not against, or squares clearly; 0 where none is.

    `votes` and `gains`, of squares of all and of half of the matrix, are those of `sum_check`; `chance` is the root of
    parameters over records.

    Examples
    --------
    >>> import numpy as np
    >>> votes, gains = np.array([0.3, 0.4, 0.2]), np.array([0.1, 0.1])
    >>> choose_scale(votes, 0.2 * gains, 0.01, 0.05), choose_scale(0.01 * votes, 0.2 * gains, 0.01, 0.05)
    (1.0, 0.0)
    >>> choose_scale(votes, np.array([-0.2, 0.1]), 0.01, 0.05), choose_scale(votes, -gains, 0.01, 0.05)
    (0.5, 0.0)
    >>> choose_scale(np.array([-0.3, -0.3, 0.0]), gains, 0.01, 0.05)
    1.0
    """
    least, clear = LEAST_VOTE * deviation + OPTIMISM * chance, CLEAR_GAIN * deviation + chance**2
    is_good = [
        bool((vote > least and gain > LEAST_GAIN * deviation) or gain > clear)
        for vote, gain in zip(votes[:2], gains, strict=True)
    ]
    is_half_better = min(float(votes[2]), float(gains[0] - gains[1])) < -LEAST_VOTE * deviation
    if is_good[0] and not (is_good[1] and is_half_better):
        return 1.0
    return 0.5 if is_good[1] else 0.0
