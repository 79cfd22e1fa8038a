"""What each release of a fit with a private radius may cost, and at which levels radii are searched for.

All of it follows from public numbers and, where the number of rows is secret, from its released count.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE, RECIPE, RadiusRecipe
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.first_above import first_above_margin

N_GRID = 128  # points of a search: seven comparisons
_RANK_DEVIATIONS = 7.1  # of a Gaussian search: a rank error that is exceeded with probability .05
_PARTS = 1000
_CLEAR = 5.0  # times what a direction needs to show: a mean that shows less clearly is left where it is


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a fit is asked for beside the second moment.

    Attributes
    ----------
    center, scales, columns : bool
        Whether a mean, scales of the columns, or a choice of columns are to be bought.
    clipped : float
        Rows to shorten, over the Frobenius norm of the noise at radius 1.
    mean : bool
        Whether the mean matters even where no center is bought, as for a matrix of covariances.
    """

    center: bool
    scales: bool
    columns: bool
    clipped: float
    mean: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """The public numbers that shares and levels follow from.

    Attributes
    ----------
    event : Gaussian or Pure
        The whole budget.
    neighbors : Neighbors
    n_samples : int
        Public, or a released count.
    n_features : int
        Columns of the second moment; complex ones count once.
    is_complex : bool
    """

    event: Gaussian | Pure
    neighbors: Neighbors
    n_samples: int
    n_features: int
    is_complex: bool = False

    @property
    def is_pure(self) -> bool:
        """Whether shares are of epsilon, and not of mu^2."""
        return isinstance(self.event, Pure)

    def strength(self, share: Fraction | float = 1) -> float:
        """Epsilon, or mu, of a share of the whole."""
        if isinstance(self.event, Pure):
            return self.event.epsilon * float(share)
        return math.sqrt(share) / self.event.noise_multiplier

    def center_error(self, share: Fraction | float) -> float:
        """Root mean square error of a mean that is bought for this share, in radii."""
        d = self.n_features * (2 if self.is_complex else 1)
        change = 1.0 if self.neighbors is Neighbors.ADD_REMOVE else 2.0
        numbers = math.sqrt(2) * RADIUS_RECIPE.flatness * d if self.is_pure else math.sqrt(d)
        return change * numbers / (self.strength(share) * self.n_samples)

    def length_error(self, share: Fraction | float) -> float:
        """Root mean square error of the length of the mean that is bought for this share, in radii."""
        change = 1.0 if self.neighbors is Neighbors.ADD_REMOVE else 2.0
        return change * (math.sqrt(2) if self.is_pure else 1.0) / (self.strength(share) * self.n_samples)

    def noise_norm(self, share: Fraction | float) -> float:
        """Frobenius norm of the noise of a second moment of rows of norm 1."""
        d, change = self.n_features, 0.5 if self.neighbors is Neighbors.ADD_REMOVE else 1.0
        if self.is_pure:
            return change * math.sqrt(8.0 if self.is_complex else 2.0) * math.pow(d, 1.5) / self.strength(share)
        return math.sqrt(change * (2.0 if self.is_complex else 1.0)) * d / self.strength(share)

    def is_sure(self, share: Fraction | float) -> bool:
        """Whether a search for this share hardly ever goes astray."""
        least = RADIUS_RECIPE.sure_pure if self.is_pure else RADIUS_RECIPE.sure_gaussian
        return self.n_samples * self.strength(share) >= least

    def needed(self, ratio: float, least: Fraction, most: Fraction) -> Fraction:
        """Share at which a strength is `ratio` times that of the whole, in thousandths, within limits."""
        share = Fraction(math.ceil(_PARTS * min(1.0, ratio if self.is_pure else ratio**2)), _PARTS)
        return min(max(share, least), most)

    def sure_share(self, least: Fraction, most: Fraction) -> Fraction:
        """Share of a search that hardly ever goes astray, within limits."""
        strength = RADIUS_RECIPE.sure_pure if self.is_pure else RADIUS_RECIPE.sure_gaussian
        return self.needed(strength / (self.n_samples * self.strength()), least, most)

    def margin(self, share: Fraction | float) -> float:
        """Error of a rank in a search for this share that is exceeded with probability .05."""
        if self.is_pure:
            return first_above_margin(Pure(self.strength(share)), N_GRID)
        return _RANK_DEVIATIONS / self.strength(share)


@dataclass(frozen=True, slots=True)
class Spending:
    """Shares of the whole by release, 0 for one that is not made; the second moment has the rest.

    Attributes
    ----------
    count, columns_radius, columns, center_radius, length, sum_radius, center, scales_radius, scales, radius : Fraction
    """

    count: Fraction = Fraction(0)
    columns_radius: Fraction = Fraction(0)
    columns: Fraction = Fraction(0)
    center_radius: Fraction = Fraction(0)
    length: Fraction = Fraction(0)
    sum_radius: Fraction = Fraction(0)
    center: Fraction = Fraction(0)
    scales_radius: Fraction = Fraction(0)
    scales: Fraction = Fraction(0)
    radius: Fraction = Fraction(0)

    @property
    def matrix(self) -> Fraction:
        """What is left for the second moment."""
        return 1 - sum((getattr(self, name) for name in self.__slots__), Fraction(0))

    def named(self) -> dict[str, float]:
        """Shares of what is released, in the order of the releases, for people."""
        shares = {words: float(getattr(self, name)) for name, words in _WORDS.items()}
        return {words: share for words, share in shares.items() if share}


_WORDS = {
    "count": "number of rows",
    "columns_radius": "radius for the choice of columns",
    "columns": "choice of columns",
    "center_radius": "radius for the center",
    "length": "length of the mean",
    "sum_radius": "radius for the sum of the rows",
    "center": "center",
    "scales_radius": "radius for the scales of columns",
    "scales": "scales of columns",
    "radius": "radius",
    "matrix": "second moment",
}


def spend(setting: Setting, wanted: Wanted, recipe: RadiusRecipe = RADIUS_RECIPE) -> Spending:
    """Shares of all releases; `setting` has the columns that are left after a choice."""
    none = Fraction(0)
    first = setting.sure_share(recipe.least_first, recipe.most_first)
    center = center_share(setting, recipe) if wanted.center else none
    length = setting.needed(setting.length_error(1) / recipe.length_error, recipe.least_length, recipe.most_length)
    # A pure length takes a sum of its own: not worth a pass over very many rows where the mean costs least anyway.
    is_cheap = setting.is_pure and center == recipe.least_center and setting.n_samples >= recipe.many_rows
    has_length = bool(center) and not is_cheap and setting.length_error(length) <= recipe.unsure_length
    return Spending(
        count=RECIPE.count if setting.neighbors is Neighbors.ADD_REMOVE else none,
        columns_radius=first if wanted.columns else none,
        columns=recipe.columns if wanted.columns else none,
        center_radius=first if center and (has_length or not setting.is_pure) else none,
        length=length if has_length else none,
        sum_radius=first if center and setting.is_pure else none,
        center=center,
        scales_radius=recipe.radius / 2 if wanted.scales else none,
        scales=recipe.scales if wanted.scales else none,
        radius=recipe.radius if setting.is_sure(recipe.radius) else recipe.wide_radius,
    )


def center_share(setting: Setting, recipe: RadiusRecipe = RADIUS_RECIPE) -> Fraction:
    """Share of a mean with the error that is asked for, within limits; 0 where it, or a radius for it, is hopeless."""
    is_astray = setting.sure_share(Fraction(0), Fraction(1)) > recipe.hopeless_first
    if is_astray or setting.center_error(recipe.most_center) > recipe.hopeless_center:
        return Fraction(0)
    return setting.needed(setting.center_error(1) / recipe.center_error, recipe.least_center, recipe.most_center)


def is_center_worth(
    setting: Setting, spending: Spending, squared_length: float, recipe: RadiusRecipe = RADIUS_RECIPE
) -> bool:
    """Whether a center makes the second moment less noisy; `squared_length` is that of the mean, in squared radii.

    Around a center of error e the rows have squared norms of about 1 - s^2 + e^2 s^2 / (s^2 + e^2), which the noise is
    proportional to; what the center costs makes the noise larger.
    """
    s2, e2 = min(squared_length, 1.0), setting.center_error(spending.center) ** 2
    left = 1.0 - s2 + e2 * s2 / max(s2 + e2, 1e-300)
    price = float((spending.matrix + spending.center + spending.sum_radius) / spending.matrix)
    dearer = (price if setting.is_pure else math.sqrt(price)) * (1.0 + recipe.offset**2)
    return left * dearer < recipe.worth


def without_center(spending: Spending) -> Spending:
    """The shares where the length of the mean said that it is not worth its price."""
    return replace(spending, center=Fraction(0), sum_radius=Fraction(0))


def shows_mean(setting: Setting, spending: Spending, squared_length: float) -> bool:
    """Whether the mean would clearly come out as a component of the second moment; lengths in radii.

    Then rows are augmented, and what the augmented rows tell of the mean is subtracted.
    """
    threshold = setting.noise_norm(spending.matrix) / math.sqrt(setting.n_features) * (2.0 if setting.is_pure else 1.0)
    return squared_length * setting.n_samples > _CLEAR * threshold


def first_level(setting: Setting, share: Fraction, recipe: RadiusRecipe = RADIUS_RECIPE) -> float:
    """Level of a radius that bounds rows before anything is known of them."""
    return max(recipe.middle, min(recipe.first_level, 1.0 - setting.margin(share) / setting.n_samples))


def radius_level(setting: Setting, spending: Spending, wanted: Wanted, recipe: RadiusRecipe = RADIUS_RECIPE) -> float:
    """Level of the clipping radius: all rows but as many as the noise is worth.

    The sum of (|x|^2 - radius^2)_+ and kappa radius^2 is least where kappa rows are longer than the radius.
    """
    shortened = max(wanted.clipped * setting.noise_norm(spending.matrix), setting.margin(spending.radius))
    return max(recipe.middle, 1.0 - shortened / setting.n_samples)
