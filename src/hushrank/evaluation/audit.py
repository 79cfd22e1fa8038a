"""What outputs prove about a privacy claim: lower bounds that hold with a stated confidence, from event counts.

Run a mechanism many times on two neighboring data sets and count how often an event chosen beforehand occurs. If the
lower bound exceeds the claim, the claim is false (up to the confidence); if not, nothing is proved.
"""

import math

from scipy import stats


def epsilon_lower_bound(hits: int, trials: int, other_hits: int, other_trials: int, *, confidence: float) -> float:
    """Lower bound on the epsilon of a pure guarantee, log(P(event) / P'(event)), never below 0.

    Both probabilities are replaced by their Clopper-Pearson bounds, each failing with half of 1 - confidence.

    Examples
    --------
    >>> round(epsilon_lower_bound(5000, 10_000, 2000, 10_000, confidence=0.99), 3)
    0.839
    """
    low, high = _bounds(hits, trials, other_hits, other_trials, confidence)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def delta_lower_bound(
    hits: int, trials: int, other_hits: int, other_trials: int, epsilon: float, *, confidence: float
) -> float:
    """Lower bound on delta at `epsilon`, P(event) - e^epsilon P'(event), never below 0."""
    low, high = _bounds(hits, trials, other_hits, other_trials, confidence)
    return max(0.0, low - math.exp(epsilon) * high)


def _bounds(hits: int, trials: int, other_hits: int, other_trials: int, confidence: float) -> tuple[float, float]:
    """Clopper-Pearson lower bound of the first probability and upper bound of the second."""
    level = (1 - confidence) / 2
    low = float(stats.beta.ppf(level, hits, trials - hits + 1)) if hits else 0.0
    misses = other_trials - other_hits
    high = float(stats.beta.isf(level, other_hits + 1, misses)) if misses else 1.0
    return low, high
