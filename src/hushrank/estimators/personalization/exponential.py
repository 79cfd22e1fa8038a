"""A representation chosen by the exponential mechanism from public candidates, in rounds that zoom in.

Statistic  in each round, for each candidate the sum over users of the loss that it explains, in [0, range_bound].
Release    one candidate a round, with probability proportional to exp(rate score); the last one is the result.
Privacy    docs/privacy/selection.md, Theorems 2 and 4: pure epsilon, which is the sum over the rounds.

Algorithm 4 of the paper draws once from a net of all subspaces, which has too many points to be visited. Here every
round has few candidates, and later ones lie around the choice before. The paper's exponent is four times too small.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hushrank.estimators.personalization.candidate_scores import CandidateState, score_candidates
from hushrank.estimators.personalization.candidates import nearby_candidates, spread_candidates
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.head_prior import HeadPrior
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.quantize import FloatArray
from hushrank.parameters import DEFAULT_N_MAX, check_real
from hushrank.privacy.events import Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.selection import release_choice, selection_lattice
from hushrank.privacy.noise.source import NoiseSource

Total = Callable[[Callable[..., Any], Any], Any]


def learn_exponential(
    total: Total,
    noise: NoiseSource,
    events: Sequence[Pure],
    neighbors: Neighbors | str,
    n_max: int = DEFAULT_N_MAX,
    *,
    shape: tuple[int, int],
    options: ExponentialSelection,
    loss: str = "squared",
    x_scale: float = 1.0,
    y_scale: float = 1.0,
) -> HeadPrior:
    """Choose a representation, with one release for each of the events, which `round_events` makes.

    Parameters
    ----------
    total : callable
        total(kernel, state) is the exact sum of a kernel over all users.
    noise : NoiseSource
    events : sequence of Pure, one a round
    neighbors : "replace" or "add_remove"
    n_max : int
        Public bound on the number of users.
    shape : (n_features, rank)
    options : ExponentialSelection
    loss : {"squared", "logistic"}
    x_scale, y_scale : float > 0
        Public orders of magnitude of a feature and of an answer.

    Returns
    -------
    HeadPrior
        The choice, and a prior of heads that is public: see `public_prior`.
    """
    owner, is_logistic = "learn_exponential", loss == "logistic"
    options.check_size(*shape)
    if loss not in options.losses:
        raise InvalidParameter(owner, "loss", " or ".join(map(repr, options.losses)), loss)
    scales = check_real(x_scale, "x_scale", owner, above=0), check_real(y_scale, "y_scale", owner, above=0)
    if len(events) != options.rounds:
        raise InvalidParameter(owner, "events", f"{options.rounds} events, one for each round", tuple(events))
    bound = score_bound(options, is_logistic=is_logistic)
    lattices = [selection_lattice(bound, event, neighbors, n_max=n_max) for event in events]  # before any release
    U = np.eye(*shape)
    for number, lattice in enumerate(lattices):
        candidates = round_candidates(U, options, number)
        norms = options.row_norm, options.head_norm
        state = CandidateState(candidates, lattice, is_logistic, options.ridge, *scales, *norms)
        U = candidates[release_choice(total(score_candidates, state), lattice, noise)].copy()
    return public_prior(U, options, scales, is_logistic=is_logistic)


def score_bound(options: ExponentialSelection, *, is_logistic: bool) -> float:
    """Largest score of a user: that of the options, and for the logistic loss no more than it can explain anyway."""
    if not is_logistic:
        return options.range_bound
    return min(options.range_bound, math.log(2.0), options.row_norm * options.head_norm)


def round_candidates(last: FloatArray, options: ExponentialSelection, number: int) -> FloatArray:
    """Candidates of a round, which know no more of the data than the choice before; the first round ignores `last`."""
    if number == 0:
        return spread_candidates(options.candidates, (last.shape[0], last.shape[1]))
    return nearby_candidates(last, options.candidates, options.radius(number), number)


def public_prior(
    U: FloatArray, options: ExponentialSelection, scales: tuple[float, float], *, is_logistic: bool
) -> HeadPrior:
    """A prior of heads from public numbers alone: this method releases nothing but U.

    The mean is 0. For answers, heads explain y_scale^2 for features of size x_scale, the same in all k directions, and
    the noise is `ridge` times the variance of a head in these units, so that a user's posterior mean is the regression
    of the scores. For labels, heads have half of the largest norm.
    """
    k, (x_scale, y_scale) = U.shape[1], scales
    size = options.head_norm / 2 if is_logistic else y_scale
    noise = 1.0 if is_logistic else options.ridge * y_scale**2 / k
    return HeadPrior(U, np.zeros(k), np.eye(k) * (size / x_scale) ** 2 / k, noise)
