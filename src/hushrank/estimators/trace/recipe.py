"""Shares of the budget and constants of private trace regression: all numbers that were tuned, or could be.

Shares are fractions of mu^2: those of searches and of the mean of the answers of the whole, all others of what these
leave. All are public. Those of the mean and the numbers for tied answers were chosen on some forty generated cells: 0
and 1, counts, spending, skewed noise, answers far from zero, 100 to 15000 records, epsilon .05 to 20.
"""

import math
from dataclasses import dataclass, replace

from hushrank.estimators.searches import FEW_SEARCHES, SEARCHES, SearchRecipe
from hushrank.privacy.adaptive import AdaptiveReleases

_FEW_SEARCHES = replace(FEW_SEARCHES, most_share=0.12)  # more of the budget is for the mean


@dataclass(frozen=True, slots=True)
class TraceRecipe:
    """One design.

    Attributes
    ----------
    level : float
        Quantile of the norms of gradients to which records are shortened: the noise is proportional to the bound over
        the level, so that for Gaussian measurements it is least at about .3, and what clipping costs otherwise at 1.
    searches, few_searches : SearchRecipe
        The second where there are few people for the budget: where n mu is below `few_people`.
    few_people : float
    answers_share, bound_share, mean_share : float
        Largest shares of the searches for where the answers lie and how far they reach, and of their mean.
    few_answers_share, few_bound_share, few_mean_share : float
        The same where there are few people: what a matrix is compared with comes first.
    whitening_share, start_share, check_share, few_check_share : float
    first_share : float
        Of each first step; they are taken while they help.
    first_steps, most_steps, few_steps : int
        Least and largest number of first steps, and the largest where there are few people.
    helps, harms : float
        A step has helped if it made the clip bound smaller than this fraction of the one before, and harmed if it made
        it larger than that.
    retries : int
        How often in all a step that harmed is tried again with a quarter of its length.
    last_shares : tuple of floats
        Of the last steps, as fractions of what is left when they begin; 1 in all.
    guard : float
        Singular values below this multiple of the edge of the last noise become zero.
    """

    level: float
    searches: SearchRecipe = SEARCHES
    few_searches: SearchRecipe = _FEW_SEARCHES
    few_people: float = 150.0
    answers_share: float = 0.12
    bound_share: float = 0.08
    mean_share: float = 0.06
    few_answers_share: float = 0.25
    few_bound_share: float = 0.15
    few_mean_share: float = 0.3
    whitening_share: float = 0.05
    start_share: float = 0.25
    check_share: float = 0.04
    few_check_share: float = 0.2
    first_share: float = 0.06
    first_steps: int = 1
    most_steps: int = 8
    few_steps: int = 2
    helps: float = 0.95
    harms: float = 2.0
    retries: int = 3
    last_shares: tuple[float, ...] = (0.3, 0.7)
    guard: float = 1.3


RECIPES: dict[str, TraceRecipe] = {
    "dense": TraceRecipe(level=0.5),
    "rank_one": TraceRecipe(level=0.8),
    "entry": TraceRecipe(level=0.9, start_share=0.15, first_share=0.035, first_steps=15, most_steps=15),
}

X_OCTAVES, Y_OCTAVES = 8, 10
"""Orders of magnitude by which x_scale and y_scale may be wrong: searches cover factors of 2^-these to 2^these."""


@dataclass(frozen=True, slots=True)
class AnswerSearches:
    """Comparisons of searches among the answers, of which there are two each time: for a low and a high quantile.

    Attributes
    ----------
    answers, residuals : int
    """

    answers: int = 12
    residuals: int = 6


ANSWERS = AnswerSearches()
FEW_ANSWERS = AnswerSearches(answers=8, residuals=4)
# Deviations of a comparison: above the first, quartiles of answers are not searched for but medians, which are twice as
# far from where a search runs off; above the second, nothing is.
_ROUGH, _BLIND = 0.06, 0.17

BOUND_COMPARISONS = 6
"""Of a search for how far answers or residuals reach."""

# Deviations that are enough where the budget allows them: of a comparison of that search, and of a mean over its bound.
_BOUND_DEVIATION, _MEAN_DEVIATION = 0.02, 0.015
_LEAST = 0.003  # share of each of them, however many people there are: a mean is published

TIED, TIED_LEVEL, TIED_CHECK = 32.0, 0.9, 0.15
"""Answers that reach so many times as far as their quartiles are apart are mostly equal; the level of their clip, and
the share of their check, which rests on squares: votes see nothing in them."""


@dataclass(frozen=True, slots=True)
class Spending:
    """How a fit of so many people spends its budget; made from public or released numbers.

    Attributes
    ----------
    recipe : TraceRecipe
    searches : SearchRecipe
    answers : AnswerSearches
    comparison : float
        Share of the whole for one comparison of a search.
    answer_comparison : float
        The same of searches for where the answers lie.
    bound_share, mean_share : float
        Of the whole, for how far the answers reach and for their mean.
    most_steps : int
        Largest number of first steps.
    rest : float
        Share of the whole that searches and the mean of the answers leave.
    check_share : float
        Of the rest.
    deviation, answer_deviation : float
        Of the count in a comparison, as a fraction of the people; of one of searches for where the answers lie.
    """

    recipe: TraceRecipe
    searches: SearchRecipe
    answers: AnswerSearches
    comparison: float
    answer_comparison: float
    bound_share: float
    mean_share: float
    most_steps: int
    rest: float
    check_share: float
    deviation: float
    answer_deviation: float

    @property
    def is_rough(self) -> bool:
        """Whether there are too few people to search for quartiles of answers."""
        return self.answer_deviation > _ROUGH

    @property
    def is_blind(self) -> bool:
        """Whether there are too few people to search for where the answers lie."""
        return self.answer_deviation > _BLIND

    @property
    def for_answers(self) -> "Spending":
        """That of searches for where the answers lie."""
        return replace(self, comparison=self.answer_comparison)

    @property
    def for_ties(self) -> "Spending":
        """That of a fit to answers of which most are equal: their quartiles say nothing about the others."""
        recipe = replace(self.recipe, level=TIED_LEVEL)
        return replace(self, recipe=recipe, check_share=max(self.check_share, TIED_CHECK))

    @property
    def look(self) -> float:
        """Share of the searches before a step: for its clip bound, and for the intercept."""
        return self.comparison * (self.searches.short + 2 * self.answers.residuals)


def plan_spending(releases: AdaptiveReleases, recipe: TraceRecipe, *, sizes: int) -> Spending:
    """Spending of a fit that searches for so many sizes of measurements; all that is left of the budget is planned."""
    people = releases.n_people * releases.mu
    has_few = people < recipe.few_people
    searches, answers = (recipe.few_searches, FEW_ANSWERS) if has_few else (recipe.searches, ANSWERS)
    steps = min(recipe.most_steps, recipe.few_steps) if has_few else recipe.most_steps
    looks = steps + recipe.retries + len(recipe.last_shares)
    # Long ones: of sizes, of the start, of the first gradient, and of the residuals without, with half and with all.
    count = searches.long * (sizes + 5) + looks * (searches.short + 2 * answers.residuals)
    whole = releases.spendable(None)
    comparison = searches.comparison_share(people, whole, count)
    most = (recipe.answers_share, recipe.bound_share, recipe.mean_share, recipe.check_share)
    if has_few:
        most = (recipe.few_answers_share, recipe.few_bound_share, recipe.few_mean_share, recipe.few_check_share)
    own = replace(searches, most_share=most[0]).comparison_share(people, whole, 2 * answers.answers)
    bound_share = min(max(BOUND_COMPARISONS / (_BOUND_DEVIATION * people) ** 2, _LEAST), most[1]) * whole
    mean_share = min(max((2.0 / (_MEAN_DEVIATION * people)) ** 2, _LEAST), most[2]) * whole
    rest = whole - comparison * count - own * 2 * answers.answers - bound_share - mean_share
    deviations = [1.0 / (people * math.sqrt(one)) for one in (comparison, own)]
    return Spending(
        recipe, searches, answers, comparison, own, bound_share, mean_share, steps, rest, most[3], *deviations
    )
