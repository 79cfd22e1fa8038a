"""The last look at a fit: does it predict better than an intercept alone, and where do its residuals lie?

Releases   how large residuals are, with the matrix and without it (two searches); then the records' votes between
           the matrix, half of it and none, the means of the shortened residuals and of gains of squares, in one sum.
Choice     the matrix, half of it, or zero where no vote stands above its noise and above what a fit to noise would
           get: a fit has seen the records that vote. A vote tells small differences better than a mean square does.
Privacy    docs/privacy/trace.md, Lemmas 1 (searches) and 4 (votes).
"""

import logging
import math
from typing import NamedTuple

from hushrank.estimators.searches import Searches, octaves
from hushrank.estimators.trace.record_sums import N_CHECKED, Candidates, count_residuals, sum_check
from hushrank.linalg.quantize import FloatArray
from hushrank.privacy.adaptive import AdaptiveReleases

LEAST_VOTE, LEAST_GAIN = 3.0, 1.5  # deviations above zero, of votes and of gains of squares
OPTIMISM = 0.4  # votes that a fit to noise gets, in roots of parameters over records
_BELOW, _ABOVE = 10.0, 2.0  # octaves that residuals are searched for about the spread of the answers
_PRIOR_MEAN = 0.2  # deviation of the mean of shortened residuals that is expected
_SIZES = 3.0  # median residuals at which a residual is shortened


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
    n_parameters: int,
    shifts: bool,
) -> Check:
    """Spend what is left on the choice; `spread` is that of the answers."""
    window = octaves(spread, _BELOW, _ABOVE)
    grid = searches.grid(window, is_long=True)
    alone, half, whole = releases.total(count_residuals, (candidates, grid))
    size, residual = searches.read(alone, grid, 0.5), searches.read(whole, grid, 0.5)
    bounds = _SIZES * max(size, spread), _SIZES * residual  # half of all answers may be equal
    lattice = releases.vector_lattice(math.sqrt(N_CHECKED), releases.left - searches.cost(grid))
    found = releases.release(releases.total(sum_check, (candidates, bounds, lattice)), lattice) / releases.n_people
    deviation = lattice.scale / releases.n_people
    scale = choose_scale(found[:3], found[5:], deviation, math.sqrt(n_parameters / releases.n_people))
    where, gain = (0 if scale == 0.0 else 1), float(found[0])
    intercept = (candidates.alone, candidates.intercept)[where]
    if shifts:
        intercept += bounds[where] * shrink_mean(float(found[3 + where]), deviation)
    if scale == 0.5:
        gain, residual = float(found[1]), searches.read(half, grid, 0.5)
    n_usable = int(whole.sum())
    log.info("Not private: %s records had finite numbers and could be used.", f"{n_usable:,}")
    return Check(scale, intercept, gain, deviation, residual if where else size, size)


def shrink_mean(mean: float, deviation: float) -> float:
    """A mean of numbers in [-1, 1] without what its noise adds; zero where that is all of it.

    What is left after James and Stein is weighed against a prior: after all steps a mean is not far from zero.

    Examples
    --------
    >>> round(shrink_mean(0.5, 0.01), 3), shrink_mean(-0.05, 0.1), abs(shrink_mean(300.0, 100.0)) < 1e-5
    (0.499, 0.0, True)
    """
    if abs(mean) <= deviation:
        return 0.0
    kept = min(max(mean * (1.0 - (deviation / mean) ** 2), -1.0), 1.0)
    return kept / (1.0 + (deviation / _PRIOR_MEAN) ** 2)


def choose_scale(votes: FloatArray, gains: FloatArray, deviation: float, chance: float) -> float:
    """The scale of the matrix that the votes speak for and squares not against; 0 where none stands out.

    `votes` are those of `sum_check`, `gains` the gains of squares of all and of half of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> votes, gains = np.array([0.3, 0.4, 0.2]), np.array([0.1, 0.1])
    >>> choose_scale(votes, gains, 0.01, 0.05), choose_scale(0.01 * votes, gains, 0.01, 0.05)
    (1.0, 0.0)
    >>> choose_scale(votes, np.array([-0.2, 0.1]), 0.01, 0.05), choose_scale(votes, -gains, 0.01, 0.05)
    (0.5, 0.0)
    """
    least = LEAST_VOTE * deviation + OPTIMISM * chance
    is_good = [
        bool(vote > least and gain > LEAST_GAIN * deviation) for vote, gain in zip(votes[:2], gains, strict=True)
    ]
    if is_good[0] and not (is_good[1] and votes[2] < -LEAST_VOTE * deviation):
        return 1.0
    return 0.5 if is_good[1] else 0.0
