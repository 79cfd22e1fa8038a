"""Memory and time of a completion, for who holds the ratings, whose number no plan knows.

Lines through fits of 2000 to 20,000 users, 200 to 2500 items, 80,000 to 600,000 ratings, rank 4 to 16 and up to 100
public features that tell about tastes. Whether there are factors is guessed as a fit would decide it. A fit drops
features that tell nothing, and then may take less than a third of this.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.options import (
    AlternatingLeastSquares,
    FactoredGradient,
    MethodOptions,
    Spectral,
)
from hushrank.estimators.completion.recipes import RATINGS
from hushrank.estimators.fit_times import MICRO, NUMBER_BYTES, tell_resources

# A rating while ratings are grouped by user: three records of 16 bytes, codes and keys; and once they are grouped.
_GROUPING_BYTES, _GROUPED_BYTES = 75.0, 8.0
_FEW_BYTES = 2e6
_OWN_COLUMNS = 3  # of every item, for the users' offsets and slopes
_QUIET = 0.45  # ratings of a user at the low quantile, over the mean


class Line(NamedTuple):
    """Microseconds of what a fit does, and matrices of items x items that it holds at once.

    Attributes
    ----------
    user, rating : float
        Of each of them, in all passes over the ratings.
    factor, slope : float
        More of a rating, for each factor, and for each column of public features that users have slopes on.
    square : float
        Of an entry of the second moment of items: its sums, its noise, and eigenvectors.
    item, pair : float
        Of an item, for each product of two factors, and for each user.
    matrices : float
    """

    user: float
    rating: float
    factor: float
    slope: float
    square: float = 0.0
    item: float = 0.0
    pair: float = 0.0
    matrices: float = 0.0


RATED = Line(user=32.0, rating=0.03, factor=0.055, slope=0.07, square=0.3, matrices=2.0)
WITHOUT_FACTORS = Line(user=12.0, rating=0.4, factor=0.0, slope=0.07)
CHOSEN = Line(user=27.0, rating=0.2, factor=0.017, slope=0.05, square=0.22, pair=0.012, matrices=2.0)
MATRIX = Line(user=28.0, rating=0.1, factor=0.007, slope=0.0, square=3.0, matrices=2.0)  # 30 rounds of eigenvectors
ALS = Line(user=42.0, rating=0.0, factor=0.13, slope=0.15, item=0.5)
GRADIENT = Line(user=35.0, rating=0.37, factor=0.21, slope=0.17, square=0.32, matrices=6.5)


@dataclass(frozen=True, slots=True)
class RatingWork:
    """What a fit computes.

    Attributes
    ----------
    n_users, n_items, n_ratings, rank : int
    n_features : int
        Columns of public features.
    mu : float
        Of Gaussian DP, for the whole budget: it says how many items can have factors.
    options : MethodOptions
    has_offsets, is_implicit : bool
    """

    n_users: int
    n_items: int
    n_ratings: int
    rank: int
    n_features: int
    mu: float
    options: MethodOptions
    has_offsets: bool = True
    is_implicit: bool = False

    @property
    def n_slopes(self) -> int:
        """Columns that users may have slopes on."""
        return min(self.n_features, FEATURES.most_slopes)

    @property
    def line(self) -> Line | None:
        """That of the method, and for the default one of the kind of data; None where nobody measured the method."""
        if isinstance(self.options, AlternatingLeastSquares):
            return ALS
        if isinstance(self.options, FactoredGradient):
            return GRADIENT
        if not isinstance(self.options, Spectral):
            return None
        if self.is_implicit or not self.has_offsets:
            return CHOSEN if self.is_implicit else MATRIX
        return RATED if self.n_top else WITHOUT_FACTORS

    @property
    def repeats(self) -> float:
        """Sweeps or steps over those of the default, with which the lines were measured."""
        if isinstance(self.options, AlternatingLeastSquares):
            return self.options.sweeps / AlternatingLeastSquares().sweeps
        return self.options.steps / FactoredGradient().steps if isinstance(self.options, FactoredGradient) else 1.0

    @property
    def n_top(self) -> int:
        """Items of a second moment, at most."""
        if isinstance(self.options, FactoredGradient):
            return self.n_items if self.options.start == "private" else 0
        if not isinstance(self.options, Spectral):
            return 0
        most = min(self.n_items, self.options.top_items)
        if not (self.has_offsets or self.is_implicit):
            return most
        if self.is_implicit:
            return int(min(max(IMPLICIT.top_items_per_user * self.n_users * self.mu, IMPLICIT.fewest_top_items), most))
        mu = self.mu * math.sqrt(RATINGS.spectral_share)
        top = int(min(max(RATINGS.top_items_per_user * self.n_users * mu, RATINGS.fewest_top_items), most))
        # As `spectral_ratings.items_with_factors` decides, where these items carry all ratings.
        edges = _QUIET * self.n_ratings / top / (2.0 * math.sqrt(top) / mu)
        return top if edges >= RATINGS.least_edges else 0


def fit_resources(work: RatingWork) -> dict[str, float]:
    """What `check` states; nothing where nobody measured the method."""
    line = work.line
    return {} if line is None else tell_resources(seconds=_seconds(work, line), n_bytes=_bytes(work, line))


def _seconds(work: RatingWork, line: Line) -> float:
    """CPU time of a fit."""
    repeats = work.repeats
    a_rating = line.rating + repeats * (line.factor * work.rank + line.slope * work.n_slopes)
    an_item = repeats * line.item * work.rank**2 + line.pair * work.n_users
    by_item = line.square * work.n_top**2 + an_item * work.n_items
    return MICRO * (line.user * work.n_users + a_rating * work.n_ratings + by_item)


def _bytes(work: RatingWork, line: Line) -> float:
    """Peak memory beyond the table of ratings: while they are grouped, or while items are summed, if that is more."""
    columns = _OWN_COLUMNS + work.n_features + work.n_slopes + work.rank
    products = work.rank * (work.rank + 1) / 2 if isinstance(work.options, AlternatingLeastSquares) else 0.0
    sums = NUMBER_BYTES * (line.matrices * work.n_top**2 + 3.0 * work.n_items * (columns + products))
    return _FEW_BYTES + max(_GROUPING_BYTES * work.n_ratings, _GROUPED_BYTES * work.n_ratings + sums)
