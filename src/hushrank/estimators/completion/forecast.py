"""What error to expect of private matrix completion, from public numbers and stated guesses alone."""

import math
from collections.abc import Mapping

from hushrank.estimators.completion.error_model import Outlook, expect_error, factor_shares
from hushrank.estimators.completion.guesses import GUESSES, MATRIX_GUESSES, RatingGuesses, default_guesses
from hushrank.estimators.completion.recipes import MATRIX
from hushrank.estimators.user_budget import SharedBudget

MODEL_ERROR = 0.055
"""Half of the band, as a logarithm, where every guess is right: nearly all calibration data lie within it."""
MOST_ERROR = 0.122
"""Half of any band, as a logarithm: it is narrower than a quarter of its middle."""


def expect_ratings(
    releases: SharedBudget, n_users: int, n_items: int, rank: int, guesses: Mapping[str, float]
) -> Outlook:
    """Error in half ranges and number of factors, for ratings with offsets; guesses that are not given are defaults."""
    values = {**default_guesses(n_items), **guesses}
    mu = 1.0 / releases.event.noise_multiplier
    return expect_error(mu, releases.neighbors, n_users, n_items, rank, RatingGuesses(**values))


def forecast_ratings(
    releases: SharedBudget, n_users: int, n_items: int, rank: int, half_range: float, guesses: Mapping[str, float]
) -> dict[str, float]:
    """A band of root mean squared errors, in the units of the ratings, for ratings with offsets.

    Its middle is the error at the guesses. Around it are the error of the model itself and, for every guess that
    nobody stated, how far the forecast moves within its range: the root of the sum of their squares.
    """

    def log_error(**others: float) -> float:
        return math.log(expect_ratings(releases, n_users, n_items, rank, {**guesses, **others}).error)

    middle, defaults = log_error(), default_guesses(n_items)
    down, up = [-MODEL_ERROR], [MODEL_ERROR]
    for name, guess in GUESSES.items():
        if name not in guesses and guess.low < guess.high:
            moved = [log_error(**{name: defaults[name] * end / guess.default}) for end in (guess.low, guess.high)]
            down.append(min(0.0, *(value - middle for value in moved)))
            up.append(max(0.0, *(value - middle for value in moved)))
    low, high = (min(math.hypot(*parts), MOST_ERROR) for parts in (down, up))
    return {
        "root mean squared error, from": half_range * math.exp(middle - low),
        "root mean squared error, to": half_range * math.exp(middle + high),
    }


def forecast_matrix(
    releases: SharedBudget, n_users: int, n_items: int, guesses: Mapping[str, float]
) -> dict[str, float]:
    """Share of the variance of an entry that a factor must explain to stand above the noise, without offsets."""
    return {"share of an entry's variance a factor needs": _needed_share(releases, n_users, n_items, guesses)}


def expect_matrix_factors(
    releases: SharedBudget, n_users: int, n_items: int, rank: int, guesses: Mapping[str, float]
) -> int:
    """Number of factors that explain more than that, if theirs fall like 1, 1/2, 1/3, ..."""
    values = {**default_guesses(n_items, MATRIX_GUESSES), **guesses}
    shares = values["factor_share"] * factor_shares(values["factors"])
    needed = _needed_share(releases, n_users, n_items, guesses)
    return int((shares[:rank] > needed).sum())


def _needed_share(releases: SharedBudget, n_users: int, n_items: int, guesses: Mapping[str, float]) -> float:
    """Noise edge of the second moment over the sum of the variances of all entries of a row."""
    mu = 1.0 / releases.event.noise_multiplier
    per_user = {**default_guesses(n_items, MATRIX_GUESSES), **guesses}["ratings_per_user"]
    p = min(per_user / n_items, 1.0)
    by_privacy = 1.0 / (mu * math.sqrt(MATRIX.spectral_share) * n_users * p)
    by_sampling = 1.0 / (n_items * p * math.sqrt(n_users))
    return 2 * math.sqrt(n_items) * math.hypot(by_privacy, by_sampling)
