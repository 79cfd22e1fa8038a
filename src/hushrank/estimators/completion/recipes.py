"""Shares of the budget and constants of private matrix completion, a record for each recipe.

Every number that was tuned, or could be, stands here once, with what it was tuned on. Shares are fractions of mu^2 of
the whole fit. All are public. Constants for ratings were chosen by held-out error on MovieLens-1M (splits 0, 4 and 5)
and MovieLens-100K (splits 0, 4, 5 and 6). Errors were measured on other splits of the same users, so they are mildly
optimistic. Constants for matrices were chosen on synthetic draws 0 to 16; draws 20 to 29 were kept for measuring.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.histogram import geometric_grid

FloatArray = NDArray[np.float64]
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Prior:
    """Variances of a rating model, in half ranges squared: where estimation starts, for any data.

    From the first prototype of the method. They are starting points that released moments move, but for `item`.

    Attributes
    ----------
    noise : of a rating about its prediction
    offset, slope, popularity : of the users' three coefficients
    item : of an item mean about its line
    features : of the users' slopes on public features, one by one; none before they are estimated
    """

    noise: float = 0.2
    offset: float = 0.05
    slope: float = 0.2
    popularity: float = 0.0075
    item: float = 0.0375
    features: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemMeansRecipe:
    """Who rates what, and item means: the first releases for ratings, and for implicit feedback but for the means.

    Tuned with the rating recipe, on MovieLens-1M and MovieLens-100K. A larger share for the counts, releasing the
    factor of clipping, and averaging rounds by precision helped there; stronger or weaker shaping did not. The prior of
    the line that item means are drawn towards was added later, and what it was tuned on was not recorded.

    Attributes
    ----------
    quantile_share, counts_share, center_share, clip_share : float
        Of the quantile of the numbers of ratings, of the counts of the items, of the mean of all ratings, and of each
        mean factor by which contributions were shortened.
    grid_points : int
        Of the grid on which the quantile is searched.
    low_quantile : float
        The quantile: users with more ratings are weighted down to the influence of a user at it.
    least_count, new_count : float
        Lowest count of an item, in deviations of its noise, and that of a new item as a part of it.
    weight_power : float
        Contributions to an item are weighted by counts^-weight_power: rare items get less noise, popular ones more.
    clip : float
        Bound on a user's residuals, in units of the norm to expect.
    least_kept : float
        Lowest mean factor of clipping that is believed.
    center_variance : float
        Prior variance of the mean of all ratings, in half ranges squared.
    line_variances : pair of floats
        Prior variances of the level and the slope of the line that item means are drawn towards.
    """

    quantile_share: float = 0.01
    counts_share: float = 0.08
    center_share: float = 0.005
    clip_share: float = 0.002
    grid_points: int = 128
    low_quantile: float = 0.25
    least_count: float = 0.5
    new_count: float = 1e-3
    weight_power: float = 0.25
    clip: float = 0.7
    least_kept: float = 0.2
    center_variance: float = 0.09
    line_variances: Range = (0.05, 0.02)


@dataclass(frozen=True, slots=True)
class RatingsRecipe:
    """Ratings with item means and users' slopes; all methods share the means, the variances and the final check.

    Tuned on MovieLens-1M and MovieLens-100K at rank 8. With `top_items_per_user` the first eigenvalue on MovieLens is
    about twice the noise edge. Empirical Bayes and the final check are insurance: each cost up to 0.0005 of error.

    Attributes
    ----------
    means_share, spectral_share, moments_share, check_share : float
        Of the item means where there are factors, of the second moment, of each estimate of the variances, and of the
        final check. EM steps have what is left.
    mean_rounds, em_rounds : int
    top_items_per_user : float
        Items that can have factors, as a multiple of n_users mu sqrt(spectral_share).
    fewest_top_items : int
    least_cover, least_edges : float
        Share of the ratings that these items must carry; noise edges that a factor of all of their variance must reach.
    rounds, cut : int, float
        Of the imputation of the diagonal; eigenvalues are kept from so many noise edges on.
    row_power, density_power : float
        Rows of the second moment are scaled by popularity^-row_power; their constant falls as the share of the items
        that people rate rises, by this power.
    least_told : float
        Part of the constant from which on the direction of popularity is projected out.
    factor_variance, largest_factor : float
        Variance of factors at the start, and their largest entry in deviations.
    step_size, factor_step_variance, mean_step_part : float
        Of an EM step: its length, and the prior variances of what it still has to find, for factors as such and for
        means as a part of that of item means.
    moment_norm, moment_trust, least_moment : float
        Bound on a user's moments for each number; variance of their noise over which they are believed; lowest mean.
    ratios, coefficient_ratios, noise_ratios : pairs of floats
        Limits of the ratios that correct variances: of sums, then, after their powers, by kind.
    check_norm, check_deviations : float
        Bound on a user's differences of errors, and by how many deviations of the noise a variant must win.
    variant_ridges, variant_scales : tuples of floats
        Ridges, the model's own first, and scales of the variance of factors that are compared.
    """

    means_share: float = 0.30
    spectral_share: float = 0.22
    moments_share: float = 0.01
    check_share: float = 0.02
    mean_rounds: int = 4
    em_rounds: int = 2
    top_items_per_user: float = 0.13
    fewest_top_items: int = 100
    least_cover: float = 0.4
    least_edges: float = 1.5
    rounds: int = 3
    cut: float = 1.1
    row_power: float = 0.25
    density_power: float = 3.0
    least_told: float = 0.1
    factor_variance: float = 0.005
    largest_factor: float = 3.0
    step_size: float = 0.7
    factor_step_variance: float = 0.003
    mean_step_part: float = 0.25
    moment_norm: float = 2.0
    moment_trust: float = 0.1
    least_moment: float = 0.02
    ratios: Range = (0.1, 10.0)
    coefficient_ratios: Range = (0.2, 5.0)
    noise_ratios: Range = (0.3, 2.5)
    check_norm: float = 0.25
    check_deviations: float = 1.5
    variant_ridges: tuple[float, ...] = (1.0, 0.6, 1.6)
    variant_scales: tuple[float, ...] = (0.5, 2.0)

    def shares(self, first: ItemMeansRecipe) -> dict[str, float]:
        """What a fit with factors spends its budget on, in the order of the releases; the shares add up to 1."""
        about_ratings = first.quantile_share + first.counts_share + first.center_share
        variances = 3 * self.moments_share + self.check_share
        before = about_ratings + self.means_share + self.spectral_share
        return {
            "who rates how much, how popular items are": about_ratings,
            "item means": self.means_share,
            "start of the factors: a second moment": self.spectral_share,
            "improving means and factors (EM steps)": 1.0 - (before + variances),
            "variances, and a check against overfitting": variances,
        }


@dataclass(frozen=True, slots=True)
class MatrixRecipe:
    """A matrix of low rank without offsets; all methods share the description of the entries and the noise.

    Tuned on synthetic matrices (5000 rows, 100 columns, rank 5, noisy, epsilon 2): low quantiles of the norm won, a
    spectral share of 0.45 or 0.75 was worse than 0.6, a clip of 1.0 worse than 0.7. What the rule for small noise was
    tuned on was not recorded.

    Attributes
    ----------
    fraction_share, norm_share, squares_share, spectral_share, noise_share, counts_share : float
        Of the share of entries observed, of the quantile of the norms, of each of two sums of squares, of the second
        moment, of each estimate of the noise, and of the counts, which are released only where there are more items
        than the second moment may have. EM steps have what is left.
    grid_points, smallest_norm : int, float
        Of the grid on which the quantile is searched: how many, and the smallest as a part of the largest.
    norm_quantile : float
        The quantile: longer rows are shortened to it.
    least_square, least_clipped : float
        Lowest mean squares that are believed, of all rows and of clipped ones.
    stretches : pair of floats
        Limits of the factor that undoes the clipping of rows.
    rounds, cut : int, float
        Of the imputation of the diagonal; eigenvalues are kept from so many noise edges on.
    least_start_noise, least_noise : float
        Lowest variance of the noise, as parts of the second moment of an entry: at the start, and ever.
    noise_ratios : pair of floats
        Limits of the ratio that corrects the variance of the noise.
    freedom_norm, least_freedom : float
        Bound on the two numbers that a user gives for it, and the lowest mean of the second that is believed.
    clip : float
        Bound on a user's EM step, in units of the norm to expect.
    most_steps, step_share, stalled : int, float, float
        EM steps: at most so many, each with this share of what is left, until the noise stays above this part of it.
    small_noise, small_stalled, small_last_steps : float, float, int
        The same where the noise is smaller than this part of the signal, and how many steps then still follow.
    least_signal : float
        Squared length of a direction of the factors over that of the noise in it, below which it is dropped.
    """

    fraction_share: float = 0.005
    norm_share: float = 0.01
    squares_share: float = 0.005
    spectral_share: float = 0.6
    noise_share: float = 0.005
    counts_share: float = 0.03
    grid_points: int = 128
    smallest_norm: float = 2.0**-10
    norm_quantile: float = 0.4
    least_square: float = 0.05
    least_clipped: float = 0.2
    stretches: Range = (1.0, 4.0)
    rounds: int = 30
    cut: float = 1.0
    least_start_noise: float = 0.02
    least_noise: float = 1e-5
    noise_ratios: Range = (0.02, 3.0)
    freedom_norm: float = 2.0
    least_freedom: float = 0.2
    clip: float = 0.7
    most_steps: int = 8
    step_share: float = 0.25
    stalled: float = 0.75
    small_noise: float = 0.1
    small_stalled: float = 0.9
    small_last_steps: int = 3
    least_signal: float = 6.0

    def norm_grid(self, n_items: int) -> FloatArray:
        """Norms of rows among which a low quantile is searched."""
        longest = math.sqrt(n_items)
        return geometric_grid(self.smallest_norm * longest, longest, self.grid_points)


@dataclass(frozen=True, slots=True)
class AlsRecipe:
    """Alternating least squares: what its options do not say. What the share was tuned on was not recorded."""

    unobserved_share: float = 0.05
    """For implicit feedback, of the share of the matrices, for that of all items."""


@dataclass(frozen=True, slots=True)
class FactoredGradientRecipe:
    """Factored gradient descent: what its options do not say. What the shares were tuned on was not recorded.

    Attributes
    ----------
    density_share : float
        Of the share of ratings that exist.
    max_start_items : int
        Most items of a private start, which holds several square matrices of this size.
    least_eigenvalue : float
        Of a private start, as a part of the largest one.
    """

    density_share: float = 0.005
    max_start_items: int = 4096
    least_eigenvalue: float = 1e-4


ITEM_MEANS = ItemMeansRecipe()
RATINGS = RatingsRecipe()
MATRIX = MatrixRecipe()
ALS = AlsRecipe()
FACTORED_GRADIENT = FactoredGradientRecipe()
