"""Memory and time of a completion, for who holds the ratings, whose number no plan knows.

Lines through fits of 2000 to 20,000 users, 200 to 2500 items, 80,000 to 600,000 ratings, rank 4 to 16 and up to 100
public features that tell about tastes. Whether there are factors is guessed as a fit would decide it. A fit drops
features that tell nothing, and then may take less than a third of this.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from hushrank.estimators.cluster_times import TIMES, ClusterWork, Grouped
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
_NARROW_USERS, _NARROW_ITEMS = 2**31, 2**15  # ids and positions below these take half as much on their way
_BLOCK_USERS, _BLOCK_RATINGS = 8192, 2**22  # most of a block
_OWN_COLUMNS = 3  # of every item, for the users' offsets and slopes
_PLAIN_SUMS = 5  # in which every item has one number
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
    passes, item_passes : int
        Sums over all users, and those of them in which every item has a number for each factor; beside sweeps or steps.
    """

    user: float
    rating: float
    factor: float
    slope: float
    square: float = 0.0
    item: float = 0.0
    pair: float = 0.0
    matrices: float = 0.0
    passes: int = 10
    item_passes: int = 0


RATED = Line(user=32.0, rating=0.03, factor=0.055, slope=0.07, square=0.3, matrices=2.0, passes=14, item_passes=2)
WITHOUT_FACTORS = Line(user=12.0, rating=0.4, factor=0.0, slope=0.07)
CHOSEN = Line(user=27.0, rating=0.2, factor=0.017, slope=0.05, square=0.22, pair=0.012, matrices=2.0, passes=4)
MATRIX = Line(28.0, 0.1, 0.007, 0.0, square=3.0, matrices=2.0, passes=11, item_passes=2)  # 30 rounds of eigenvectors
ALS = Line(user=42.0, rating=0.0, factor=0.13, slope=0.15, item=0.5)
GRADIENT = Line(user=35.0, rating=0.37, factor=0.21, slope=0.17, square=0.32, matrices=6.5, passes=12)


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
    def n_repeats(self) -> int:
        """Sweeps or steps, each with a sum over all users."""
        if isinstance(self.options, AlternatingLeastSquares):
            return self.options.sweeps
        return self.options.steps if isinstance(self.options, FactoredGradient) else 0

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
    return {} if line is None else tell_resources(seconds=sum(_seconds(work, line)), n_bytes=_bytes(work, line))


def cluster_work(work: RatingWork) -> ClusterWork | None:
    """What workers share, where ratings lie with them by user; None where nobody measured the method."""
    line = work.line
    if line is None:
        return None
    shared, alone = _seconds(work, line)
    per_item, is_als = NUMBER_BYTES * work.n_items, isinstance(work.options, AlternatingLeastSquares)
    is_wide = isinstance(work.options, FactoredGradient) or line.item_passes > 0
    totals = per_item * ((1 + work.rank) if is_wide else 1)
    n_wide = line.item_passes + (0 if is_als else work.n_repeats)
    matrix = per_item * _n_products(work) if is_als else NUMBER_BYTES * work.n_top**2
    n_matrices = work.n_repeats if is_als else float(work.n_top > 0)
    passes = line.passes + work.n_repeats
    return ClusterWork(
        n_rows=work.n_ratings,
        n_numbers=2 if work.is_implicit else 3,
        passes=passes,
        shared=shared + _product_seconds(work),
        alone=alone,
        totals=totals,
        summed=totals * n_wide + per_item * _PLAIN_SUMS,
        blocks=max(work.n_users / _BLOCK_USERS, work.n_ratings / _BLOCK_RATINGS),
        matrix=matrix,
        n_matrices=n_matrices,
        state=per_item * _n_columns(work) * passes,
        block=2.0 * totals,
        caller=_FEW_BYTES + _sum_bytes(work, line),
        grouped=Grouped(
            _sent_bytes(work), _GROUPING_BYTES, _GROUPED_BYTES + NUMBER_BYTES * work.n_users / work.n_ratings
        ),
    )


def _sent_bytes(work: RatingWork) -> float:
    """Of a rating on its way, where ids are integers and ratings small ones; texts and fractions take more."""
    user = 4.0 if work.n_users < _NARROW_USERS else 8.0
    return user + (2.0 if work.n_items < _NARROW_ITEMS else 4.0) + (0.0 if work.is_implicit else 1.0)


def _product_seconds(work: RatingWork) -> float:
    """Of a second moment: every pair of a user's ratings of its items is an entry of it.

    Items are taken to be rated as often as their rank by popularity says, the second half as often as the first. The
    lines are of users with few ratings.
    """
    on_top = work.n_ratings / work.n_users * math.log1p(work.n_top) / math.log1p(work.n_items)
    return TIMES.product * work.n_users * min(on_top, float(work.n_top)) ** 2 / 2.0


def _seconds(work: RatingWork, line: Line) -> tuple[float, float]:
    """CPU time of a fit: of sums over users, and of what follows from them."""
    repeats = work.repeats
    a_rating = line.rating + repeats * (line.factor * work.rank + line.slope * work.n_slopes)
    a_user = line.user + line.pair * work.n_items
    by_item = line.square * work.n_top**2 + repeats * line.item * work.rank**2 * work.n_items
    return MICRO * (a_user * work.n_users + a_rating * work.n_ratings), MICRO * by_item


def _bytes(work: RatingWork, line: Line) -> float:
    """Peak memory beyond the table of ratings: while they are grouped, or while items are summed, if that is more."""
    grouped = _GROUPED_BYTES * work.n_ratings + _sum_bytes(work, line)
    return _FEW_BYTES + max(_GROUPING_BYTES * work.n_ratings, grouped)


def _sum_bytes(work: RatingWork, line: Line) -> float:
    """Of sums with their noise, and of what is known about items."""
    numbers = 3.0 * work.n_items * (_n_columns(work) + _n_products(work))
    return NUMBER_BYTES * (line.matrices * work.n_top**2 + numbers)


def _n_columns(work: RatingWork) -> int:
    """Numbers of an item."""
    return _OWN_COLUMNS + work.n_features + work.n_slopes + work.rank


def _n_products(work: RatingWork) -> float:
    """Of an item, in normal equations."""
    return work.rank * (work.rank + 1) / 2 if isinstance(work.options, AlternatingLeastSquares) else 0.0
