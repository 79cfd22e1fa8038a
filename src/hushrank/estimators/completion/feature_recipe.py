"""Shares of the budget and constants of public item features, for ratings and for implicit feedback.

Chosen by held-out error on MovieLens-1M (splits 41 to 43) with genres and years, shuffled ones and random columns
beside; measured on other splits.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FeatureRecipe:
    """Public item features: a prior of item means, and columns that every user has own slopes on.

    Attributes
    ----------
    most_slopes : int
        Columns that users regress on; more features are compressed to so many.
    start_variance : float
        Of a user's slopes together at the start, for a typical rating: as much as an offset has.
    line_variances : tuple of floats
        Prior variances of item means along the features, of which the one of largest evidence is taken; 0 leaves the
        features out.
    least_popularity : float
        In deviations over ratings: slopes on popularity are not followed further down.
    more_rounds, clip : int, float
        Rounds of item means after the first, where users have slopes; bound on a user's residuals then, in units of the
        norm to expect: slopes leave less of them.
    check_share, relevance_share : float
        Of the check whether slopes help, and of the question which of many features tell about users.
    check_norm : float
        Bound on a user's difference of errors, in variances of the noise.
    relevance_norm : float
        Bound on a user's relevances, for each root of their number.
    relevance_deviations : float
        Deviations of the noise by which the relevance of a feature must stand out.
    """

    most_slopes: int = 32
    start_variance: float = 0.05
    line_variances: tuple[float, ...] = (0.0, *(0.05 * 4.0**k for k in range(-3, 3)))
    least_popularity: float = 1.0
    more_rounds: int = 2
    clip: float = 0.5
    check_share: float = 0.02
    relevance_share: float = 0.05
    check_norm: float = 0.25
    relevance_norm: float = 1.5
    relevance_deviations: float = 2.0


FEATURES = FeatureRecipe()
