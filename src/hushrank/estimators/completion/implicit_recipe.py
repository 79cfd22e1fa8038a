"""Shares of the budget and constants of implicit feedback: popularity, public features, factors and their check.

Chosen by recall at 20 on MovieLens-1M (ratings of 4 and 5, splits 71 to 73, genres and years for features) and on
generated choices (draws 100 to 107 and 200 to 247), where not said otherwise; measured on other splits and draws.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImplicitRecipe:
    """Implicit feedback: popularity and, where that costs popularity next to nothing, factors.

    Factors have what is left after counts and check.

    Attributes
    ----------
    more_counts_shares : tuple of floats
        Shares by which counts may be bought again where there are factors, rising: the first that is enough is taken.
    check_share : float
        Of the check by recall.
    most_lost, featured_lost : float
        Of all choices, the part that lists by popularity may miss because factors were bought instead of counts, and
        that lists by popularity and features may.
    visible_deviations : float
        By how many deviations of its noise an estimate of the first eigenvalue of the second moment must stand above
        the edge of the noise of that.
    top_items_per_user : float
        Items that can have factors, as a multiple of n_users mu: so few that several eigenvalues stand above the noise.
        What it was tuned on was not recorded, nor for the next one.
    fewest_top_items : int
    rounds, cut : int, float
        Of the imputation of the diagonal; eigenvalues are kept from so many noise edges on.
    fewest_factors : int
        With less than two of them there is nothing but popularity again.
    weakest_noise : float
        Lowest noise of a user's coefficient that is believed, over its signal.
    popularity_weight : float
        So small that popularity decides only where factors do not: among items without factors, and for users without
        history.
    unit_ridge : float
        Of a user's regression on factors of other methods than the spectral one.
    feature_scale : float
        Length of the columns of features: the shorter, the more a ridge of 1 draws users' slopes to zero.
    least_popularity : float
        Lowest count, in deviations of its noise, of an item that features tell about.
    list_length, list_part : int, float
        Items on the lists of the check, and at most this part of the catalogue.
    list_reach, featured_reach, reach_part : float
        How far down the catalogue, in lengths, lists by popularity reach, since users have much of what is most
        popular, and those by popularity and features; at most this part of the catalogue.
    new_item_ridge : float
        Of the regression of factors on public features by which new items have some, over the mean square of a column.
    check_norm, check_deviations : float
        Bound on a user's differences of recall for each root of their number, and by how many deviations of the noise
        the best must win.
    most_listed : int
        Items that can be on a list beside those with factors.
    most_products, fewest_asked : float, int
        Multiplications of the check, about, beyond which not all users are asked, and how many are even then.
    """

    more_counts_shares: tuple[float, ...] = (0.0, 0.1, 0.2, 0.35, 0.5)
    check_share: float = 0.03
    most_lost: float = 0.0025
    featured_lost: float = 0.0065
    visible_deviations: float = 4.0
    top_items_per_user: float = 0.06
    fewest_top_items: int = 100
    rounds: int = 3
    cut: float = 0.95
    fewest_factors: int = 2
    weakest_noise: float = 1e-6
    popularity_weight: float = 1e-3
    unit_ridge: float = 1.0
    feature_scale: float = 0.7
    least_popularity: float = 0.01
    list_length: int = 20
    list_part: float = 0.2
    list_reach: float = 3.0
    featured_reach: float = 10.0
    reach_part: float = 0.5
    new_item_ridge: float = 0.01
    check_norm: float = 0.25
    check_deviations: float = 1.0
    most_listed: int = 8192
    most_products: float = 4e10
    fewest_asked: int = 4000

    def length_of_list(self, n_items: int) -> int:
        """Items on the lists of the check in a catalogue of this size."""
        return max(min(self.list_length, int(self.list_part * n_items)), 1)

    def limits_of_lists(self, n_items: int, has_features: bool) -> tuple[tuple[float, float], ...]:
        """How many items lists reach, and what these may lose: by popularity and, if there are, by features."""
        length, most = self.length_of_list(n_items), self.reach_part * n_items
        limits = ((self.list_reach, self.most_lost), (self.featured_reach, self.featured_lost))
        return tuple((min(reach * length, most), lost) for reach, lost in limits[: 1 + has_features])


IMPLICIT = ImplicitRecipe()
