"""The report of a private recommender, learned at several guarantees from ratings that may be shown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtr

from hushrank.estimators.completion.recipes import ITEM_MEANS, RATINGS
from hushrank.privacy.figures import at_most
from hushrank.privacy.guarantee import Guarantee
from hushrank.privacy.planning import Plan
from hushrank.report.charts import Band, Series, line_chart, share_chart
from hushrank.report.markup import Markup
from hushrank.report.page import bullets, definitions, figure, make_page, paragraph, table
from hushrank.report.picture import draw_joint_privacy


@dataclass(frozen=True, slots=True)
class Fit:
    """One private fit: what it promises, the forecast band of its error, and measured errors.

    Attributes
    ----------
    epsilon : float
        As asked for.
    guarantee : Guarantee
    forecast : pair of floats
    error : float
        Root mean squared error of predictions.
    means_error : float
        The same for the released item means alone, without anything about users.
    n_factors : int
    """

    epsilon: float
    guarantee: Guarantee
    forecast: tuple[float, float]
    error: float
    means_error: float
    n_factors: int


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the example: own ratings, what is recommended, and held-out ratings with their predictions."""

    ratings: Sequence[tuple[Any, float]]
    recommended: Sequence[tuple[Any, float]]
    held_out: Sequence[tuple[Any, float, float]]


@dataclass(frozen=True, slots=True)
class Results:
    """Everything the report shows.

    Attributes
    ----------
    n_users, n_items, n_ratings, n_held_out, rank : int
    fits : sequence of Fit, epsilon rising
    constant_error, reference_error : float
        Errors of one number for everything and of the same model without privacy.
    shown : Fit
        The one that the plan, the items and the person belong to.
    plan : Plan
    popular, best : sequences of pairs (item, number)
        Items with the highest released counts and means.
    person : Person
    """

    n_users: int
    n_items: int
    n_ratings: int
    n_held_out: int
    rank: int
    fits: Sequence[Fit]
    constant_error: float
    reference_error: float
    shown: Fit
    plan: Plan
    popular: Sequence[tuple[Any, float]]
    best: Sequence[tuple[Any, float]]
    person: Person


def recommender_page(results: Results) -> str:
    """The report as one HTML page; the same results give the same bytes."""
    lead = (
        f"A recommender was learned from {results.n_ratings:,} made-up ratings of {results.n_items:,} items by "
        f"{results.n_users:,} users. What it publishes hardly depends on any one of them, and it is compared here "
        "with the same model learned without privacy."
    )
    sections = [
        ("What was learned", _learned(results)),
        ("What is promised", _promised(results)),
        ("Who sees what", _seen()),
        ("What privacy costs", _costs(results)),
        ("How the budget was planned", _planned(results)),
        ("Recommendations for one user", _recommended(results)),
        ("Limits", _limits()),
    ]
    return make_page("A private recommender", lead, sections, "Made by hushrank demo.")


def attack_bound(guarantee: Guarantee) -> float:
    """Largest probability of guessing right which of two neighboring data sets, equally likely, was used.

    The releases together are as hard to tell apart as two normal distributions mu = 1 / noise multiplier apart.
    """
    mu = 1.0 / guarantee.event.noise_multiplier  # type: ignore[union-attr]  # one Gaussian event, see SharedBudget
    return float(ndtr(mu / 2))


def budget_shares() -> list[tuple[str, float]]:
    """What a fit with factors spends its budget on; shares of mu^2."""
    return list(RATINGS.shares(ITEM_MEANS).items())


def _learned(results: Results) -> list[Markup]:
    shown = results.shown
    rows = [
        (place + 1, popular, f"{count:,.0f}", best, f"{mean:.2f}")
        for place, ((popular, count), (best, mean)) in enumerate(zip(results.popular, results.best, strict=True))
    ]
    names = ("", "most popular item", "weighted ratings", "best rated item", "mean")
    return [
        paragraph(
            "For every item a mean and a few factors, which say whose taste it meets. At epsilon = ",
            f"{shown.epsilon:g}, {shown.n_factors} of at most {results.rank} factors stood out from the noise and were "
            "kept. No factor of a user and no rating is part of the model.",
        ),
        table(f"From the released model at epsilon = {shown.epsilon:g}", names, rows),
    ]


def _promised(results: Results) -> list[Markup]:
    guarantee = results.shown.guarantee
    return [
        paragraph(
            "Take any user, and replace all ratings of this user by any others. The probability of every possible "
            f"published model then changes by at most a factor of e^epsilon, up to delta = {guarantee.delta:g}. That "
            "is differential privacy with the user as its unit and replacement as its relation. It holds for every "
            "data set, whatever else somebody knows.",
        ),
        paragraph(
            "In other words: somebody who knows all other ratings, sees the published model and has to guess which of "
            "two possible histories a user has, equally likely before, is right with a probability of at most that in "
            "the last column. Tossing a coin gives 50 %.",
        ),
        table(
            f"Neighbors: {guarantee.neighbors} one {guarantee.unit}; delta = {guarantee.delta:g}; arithmetic: "
            f"{guarantee.numerics}",
            ("epsilon", "e^epsilon", "right guess, at most"),
            [(f"{fit.epsilon:g}", _factor(fit.epsilon), _percent(fit.guarantee)) for fit in results.fits],
        ),
        paragraph(
            "Arithmetic is exact: contributions are integers and noise is drawn from its exact law, so the promise "
            "covers the bits of the computer as well. Each line is a promise for one model; somebody who sees several "
            "of them learns more, and a ledger would add them up.",
        ),
    ]


def _factor(epsilon: float) -> str:
    """e^epsilon, rounded up where it is a number to read."""
    if epsilon > 25:
        return f"e^{epsilon:g}"
    factor = math.exp(epsilon)
    return at_most(factor, 3) if factor < 100 else f"{math.ceil(factor):,}"


def _percent(guarantee: Guarantee) -> str:
    """The bound on an attack, rounded up."""
    return f"{math.ceil(1000 * attack_bound(guarantee)) / 10:.1f} %"


def _seen() -> list[Markup]:
    caption = (
        "Your ratings enter your own recommendations, which only you see, and the published model, which hardly "
        "depends on them. Recommendations to others are made from that model and their own ratings, so they are "
        "private in yours as well, even if all others compare notes."
    )
    return [
        paragraph(
            "A recommendation to you has to depend on your ratings, or it would be useless. Joint differential privacy "
            "asks for the rest: all that anybody else sees is private in your ratings.",
        ),
        figure(draw_joint_privacy("seen"), caption),
    ]


def _costs(results: Results) -> list[Markup]:
    reference = results.reference_error
    rows = [
        (f"{fit.epsilon:g}", fit.n_factors, f"{fit.forecast[0]:.2f}-{fit.forecast[1]:.2f}", f"{fit.means_error:.3f}",
         f"{fit.error:.3f}", f"{fit.error / reference:.3f}")
        for fit in results.fits
    ]  # fmt: skip
    caption = (
        f"Root mean squared error on {results.n_held_out:,} ratings that were held out, on a scale from 1 to 5. Every "
        "point is one fit with fresh noise."
    )
    return [
        figure(_chart(results), caption),
        table(
            f"Errors, and their ratio to {reference:.3f} without privacy",
            ("epsilon", "factors", "forecast", "means", "private", "ratio"),
            rows,
        ),
        paragraph(
            "The forecast needs no data: it is the error at public guesses about ratings of usual kinds, and the band "
            "is how far it moves where these are off.",
        ),
    ]


def _chart(results: Results) -> Markup:
    """Errors over epsilon."""
    fits, reference, constant = results.fits, results.reference_error, results.constant_error
    epsilons = [fit.epsilon for fit in fits]
    ends = (epsilons[0], epsilons[-1])
    series = [
        Series("private recommender", [(fit.epsilon, fit.error) for fit in fits], "private", is_labeled=True),
        Series("private item means alone", [(fit.epsilon, fit.means_error) for fit in fits], "means"),
        Series(f"without privacy: {reference:.3f}", [(epsilon, reference) for epsilon in ends], "reference"),
        Series(f"one number for everything: {constant:.3f}", [(epsilon, constant) for epsilon in ends], "nothing"),
    ]
    band = Band("forecast, before any data are read", [(fit.epsilon, *fit.forecast) for fit in fits], "forecast")
    description = (
        f"Root mean squared error of the private recommender: {fits[0].error:.3f} at epsilon {epsilons[0]:g}, "
        f"{fits[-1].error:.3f} at epsilon {epsilons[-1]:g}. Without privacy it is {reference:.3f}, with one number "
        f"for everything {constant:.3f}."
    )
    labels = ("epsilon (more privacy to the left)", "error of a predicted rating")
    return line_chart("costs", "Error over epsilon", description, labels, series, band, epsilons)


def _planned(results: Results) -> list[Markup]:
    caption = "Shares of the budget (of mu squared) where the data support factors; what is saved goes to the EM steps."
    shares = budget_shares()
    listed = ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares)
    return [
        paragraph(
            "The whole budget is one release of Gaussian noise on paper, fixed before any data are read. A filter "
            "hands out shares of it. What they are spent on may depend on what was released before, and on nothing "
            "else: if no factor stands out, the rest goes to the item means.",
        ),
        figure(share_chart("shares", "Shares of the budget", listed, shares), caption),
        paragraph(f"The plan at epsilon = {results.shown.epsilon:g}:"),
        definitions((name.strip(), value) for name, value in results.plan.lines()),
    ]


def _recommended(results: Results) -> list[Markup]:
    person, epsilon = results.person, results.shown.epsilon
    return [
        paragraph(
            f"One of the made-up users, who rated {len(person.ratings)} items. The model at epsilon = {epsilon:g} is "
            "public; with the user's own ratings it gives the recommendations below. Ratings are shown only because "
            "nobody gave them.",
        ),
        table(
            "Recommended",
            ("item", "predicted rating"),
            [(f"item {item}", f"{s:.2f}") for item, s in person.recommended],
        ),
        table(
            "Ratings of this user that were held out",
            ("item", "predicted", "given"),
            [(f"item {item}", f"{predicted:.2f}", f"{given:g}") for item, predicted, given in person.held_out],
        ),
    ]


def _limits() -> list[Markup]:
    return [
        bullets(
            "The ratings are made up by a model of the kind that is fitted. Real ratings are harder to predict.",
            "The curator sees all ratings. The promise is about everybody else.",
            "Recommendations to you are private only as long as nobody else sees them.",
            "A large epsilon is a weak promise: look at the last column of the guarantees.",
            "The number of users, the catalogue of items and the range of ratings are public here.",
            "Every number in this report that compares with held-out ratings is itself not private. It may be shown "
            "because the data are made up.",
        )
    ]
