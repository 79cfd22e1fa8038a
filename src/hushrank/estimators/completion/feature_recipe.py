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
    line_variances, line_evidence : tuple of floats, float
        Prior variances of item means along the features, of which the one of largest evidence is taken; 0 leaves the
        features out, and is taken unless another has so much more evidence.
    least_popularity : float
        In deviations over ratings: slopes on popularity are not followed further down.
    common_share, common_norm : float
        Of the mean of the users' slopes; bound on a user's part, for each root of the number of slopes.
    least_told : float
        Lowest mean of how far ratings tell a slope that is believed, for mean slopes and for variances.
    common_parts, common_variances, common_evidence : tuples of floats, float
        Shares of the slopes that have a mean, and variances of these means over that of the users' own, of which those
        of largest evidence are taken, if that is so much above the evidence of no mean slopes at all.
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
    line_evidence: float = 5.0
    least_popularity: float = 1.0
    common_share: float = 0.02
    common_norm: float = 0.5
    least_told: float = 0.05
    common_variances: tuple[float, ...] = tuple(4.0**k for k in range(-4, 2))
    common_parts: tuple[float, ...] = (0.1, 0.3, 0.9)
    common_evidence: float = 4.0
    more_rounds: int = 1
    clip: float = 0.5
    check_share: float = 0.04
    relevance_share: float = 0.045
    check_norm: float = 0.25
    relevance_norm: float = 1.5
    relevance_deviations: float = 2.0


FEATURES = FeatureRecipe()
