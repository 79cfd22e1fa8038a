"""What error to expect of private matrix completion, from public numbers and stated assumptions alone."""

import math

import numpy as np

from hushrank.estimators.completion.recipes import ITEM_MEANS, MATRIX, Prior
from hushrank.privacy.events import Gaussian

# Two kinds of rating data that most others lie between: ratings per user, how fast popularity falls with the rank of an
# item (a power law), and the variance of a rating about the best prediction, in half ranges squared.
FAVORABLE, ADVERSE = (150.0, 1.0, 0.12), (40.0, 0.5, 0.26)

_LOW_QUANTILE = 0.3  # of the numbers of ratings, over their mean
_MEANS_SHARE = 0.5
_MATRIX_RATINGS = 50.0


def forecast_completion(
    event: Gaussian, n_users: int, n_items: int, half_range: float, *, has_offsets: bool
) -> dict[str, float]:
    """Forecast by name.

    With offsets, a band of root mean squared errors, in the units of the ratings. Without, the share of the variance of
    an entry that a factor must explain to stand above the noise, at 50 ratings per user or all items if they are fewer.
    """
    mu = 1.0 / event.noise_multiplier
    if not has_offsets:
        return {"share of an entry's variance a factor needs": _needed_share(mu, n_users, n_items)}
    low, high = (half_range * _rmse(mu, n_users, n_items, *kind) for kind in (FAVORABLE, ADVERSE))
    return {"root mean squared error, from": low, "root mean squared error, to": high}


def _rmse(mu: float, n_users: int, n_items: int, n_ratings: float, power: float, noise: float) -> float:
    """Error of item means with noise, shrunk as in `item_means`, and of a perfect rest of the model."""
    prior, n_ratings = Prior(), min(n_ratings, float(n_items))
    popularity = np.arange(1, n_items + 1) ** -power
    popularity /= popularity.sum()
    counts = n_users * np.minimum(n_ratings * popularity, 1.0) * math.sqrt(_LOW_QUANTILE)
    shape = counts**-ITEM_MEANS.weight_power
    shape /= math.sqrt(float((popularity * shape**2).sum()))
    bound = ITEM_MEANS.clip * math.sqrt(_LOW_QUANTILE * n_ratings * prior.noise)
    deviations = 2 * bound / (mu * math.sqrt(_MEANS_SHARE)) / shape
    variances = (deviations / counts) ** 2 + prior.noise / counts
    errors = prior.item * variances / (prior.item + variances)
    return math.sqrt(noise + float((popularity * errors).sum()))


def _needed_share(mu: float, n_users: int, n_items: int) -> float:
    """Noise edge of the second moment over the sum of the variances of all entries of a row."""
    p = min(_MATRIX_RATINGS / n_items, 1.0)
    by_privacy = 1.0 / (mu * math.sqrt(MATRIX.spectral_share) * n_users * p)
    by_sampling = 1.0 / (n_items * p * math.sqrt(n_users))
    return 2 * math.sqrt(n_items) * math.hypot(by_privacy, by_sampling)
