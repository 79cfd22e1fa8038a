"""Shares of the budget and constants of private personalization: all numbers that were tuned, or could be.

Shares are fractions of mu^2: those of searches of the whole, all others of what the searches leave. All are public.
"""

from dataclasses import dataclass

from hushrank.estimators.searches import FEW_SEARCHES, SEARCHES, SearchRecipe
from hushrank.privacy.adaptive import AdaptiveReleases


@dataclass(frozen=True, slots=True)
class GradientRecipe:
    """The default method.

    Shares, levels and steps come from a prototype that was tuned on planted data and on School (139 users). Chosen
    later, and while these were looked at: the check (shares, deviations, optimism) on School, under about a dozen
    settings, on hopeless planted data and on labels of 50 to 1000 users; the step of EM for the prior on the planted
    data with five components. Errors on School are therefore no unseen test, and mildly optimistic. Shares of the
    start, levels of the clip bounds and the number of steps hardly matter; whitening, shrinking steps by their noise
    and precise searches do.

    Attributes
    ----------
    searches, few_searches : SearchRecipe
        The second where there are few people for the budget.
    few_people : float
        Where n mu is below it there are few: two steps instead of `steps`.
    few_steps : int
    whitening_share, start_share, prior_share, check_share, most_check_share : float
        Of what the searches leave; steps have the rest in equal parts.
    check_deviation : float
        Of the noise of a gain, for which the share of the check is made larger, up to the most, where people are few.
    normalizer_share : float
        Of the share of a step.
    moment_level, product_level, square_level, noise_level, gradient_level, normalizer_level : float
        Levels of the quantiles that are searched for.
    step_octaves, last_octaves : float
        How far the variance of the noise is searched below the last one: it falls fast while the subspace improves.
    scales, label_scales : tuple of floats
        Of the covariance of heads, among which the last check chooses; the first if it is about as good.
    least_gain, better_gain : float
        Deviations of the noise by which a gain must stand above zero, and above that of the first scale.
    optimism, label_optimism : float
        Gain of each number of the subspace for each user that counts as nothing: users who taught it are a little
        better explained by it than others, which shows where there are few of them and the noise is small.
    """

    searches: SearchRecipe = SEARCHES
    few_searches: SearchRecipe = FEW_SEARCHES
    few_people: float = 150.0
    few_steps: int = 2
    whitening_share: float = 0.08
    start_share: float = 0.25
    prior_share: float = 0.03
    check_share: float = 0.03
    most_check_share: float = 0.06
    check_deviation: float = 0.03
    normalizer_share: float = 0.04
    moment_level: float = 0.6
    product_level: float = 0.5
    square_level: float = 0.6
    noise_level: float = 0.6
    gradient_level: float = 0.6
    normalizer_level: float = 0.9
    step_octaves: float = 9.0
    last_octaves: float = 3.0
    scales: tuple[float, ...] = (1.0, 1 / 2, 1 / 4, 1 / 16, 2.0)
    label_scales: tuple[float, ...] = (1.0, 1 / 2, 1 / 4, 2.0, 4.0)
    least_gain: float = 3.0
    better_gain: float = 3.0
    optimism: float = 0.1
    label_optimism: float = 0.25


GRADIENT = GradientRecipe()


@dataclass(frozen=True, slots=True)
class AltminRecipe:
    """Alternating minimization beside its options. From the prototype; the shares were not tuned.

    Attributes
    ----------
    whitening_share, prior_share : float
        Of what the searches leave; steps have what these, start and check leave, half for each side of the equations.
    level : float
        Level of the quantiles to which users are bounded.
    octaves : float
        Searches for these bounds cover factors of 2^-octaves to 2^octaves.
    """

    whitening_share: float = 0.08
    prior_share: float = 0.03
    level: float = 0.6
    octaves: float = 20.0


ALTMIN = AltminRecipe()
# Orders of magnitude by which x_scale and y_scale may be wrong: searches cover factors of 2^-SCALE to 2^SCALE.
X_OCTAVES, Y_OCTAVES = 8, 10


@dataclass(frozen=True, slots=True)
class Spending:
    """How a fit of so many people spends its budget; made from public or released numbers.

    Attributes
    ----------
    steps : int
    searches : SearchRecipe
    comparison : float
        Share of the whole for one comparison of a search.
    rest : float
        Share of the whole that searches leave.
    check_share : float
        Of the rest, for the last check.
    """

    steps: int
    searches: SearchRecipe
    comparison: float
    rest: float
    check_share: float


def plan_spending(
    releases: AdaptiveReleases, steps: int, *, long: int, long_a_step: int = 0, short_a_step: int, n_parts: int = 1
) -> Spending:
    """Spending of a fit with so many long searches, more long and short ones in every step, and a short one at the end.

    All that is left of the budget is planned with. Of several parts of the people, each is searched by itself.
    """
    people = releases.n_people * releases.mu / n_parts
    has_few = people < GRADIENT.few_people
    searches = GRADIENT.few_searches if has_few else GRADIENT.searches
    steps = min(steps, GRADIENT.few_steps) if has_few else steps
    count = searches.long * (long + steps * long_a_step) + searches.short * (steps * short_a_step + 1)
    whole = releases.spendable(None)
    comparison = searches.comparison_share(people, whole, count)
    check_share = (2.0 / (GRADIENT.check_deviation * people * n_parts)) ** 2
    check_share = min(max(check_share, GRADIENT.check_share), GRADIENT.most_check_share)
    return Spending(steps, searches, comparison, whole - comparison * count, check_share)


@dataclass(frozen=True, slots=True)
class LocalRecipe:
    """Priors that a user's own regression is averaged over, by the evidence of the user's own records.

    Ratios are those of a prototype. Three weights were tried for priors that do not know the subspace, on School and on
    planted data. A user who has enough records leaves the subspace; where it is right, the average cost up to 1.2 %
    more than heads in it on planted data (condition number 10), and less than 1 % on most.

    Attributes
    ----------
    ratios : tuple of floats
        Variance of coefficients outside of the subspace, as a ratio to the mean square of the answers over that of the
        records.
    weights : tuple of floats
        Prior weight of each.
    is_shared : tuple of bools
        Whether it knows the subspace; the others guard against one that came out wrong.
    """

    ratios: tuple[float, ...] = (0.0, 0.01, 0.1, 1.0, 0.01, 0.1, 1.0)
    weights: tuple[float, ...] = (0.694, 0.1, 0.1, 0.1, 0.002, 0.002, 0.002)
    is_shared: tuple[bool, ...] = (True, True, True, True, False, False, False)


LOCAL = LocalRecipe()
# Where nothing was learned: a user's own regression, or none.
ALONE = LocalRecipe((0.0, 0.01, 0.1, 1.0), (0.25, 0.25, 0.25, 0.25), (False, False, False, False))
