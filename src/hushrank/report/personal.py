"""The page of one person: what a public private model and the person's own records say, and who may see it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hushrank.evaluation.held_out import Quality
from hushrank.privacy.events import Gaussian
from hushrank.privacy.figures import at_least, at_most
from hushrank.privacy.guarantee import Guarantee, Neighbors
from hushrank.report.charts import WIDTH, Axis, draw
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, figure, make_page, paragraph, table
from hushrank.report.recommender import attack_bound

SHOWN_PREDICTIONS = 50
_LONGEST_NAME = 50  # characters, so that it stays inside the chart
_ROW = 42.0  # height of a bar with its name


@dataclass(frozen=True, slots=True)
class Prediction:
    """What is predicted for one new record; None where a number of the record is missing.

    Attributes
    ----------
    value : float, int or None
        An answer, or a label 0 or 1.
    probability : float or None
        Of the label 1; None for answers.
    """

    value: float | int | None
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Personal:
    """Everything the page shows: the person's own, and what is public.

    Attributes
    ----------
    user : id, or None for a file that names nobody
    n_features, n_directions : int
    is_logistic : bool
    is_learned : bool
        Whether heads stood above the noise in the public model.
    guarantee : Guarantee
        Of the public model.
    n_left_out : int
        Own records that were not used, because a number of theirs is missing or not finite.
    quality : Quality
    coefficients : sequence of pairs (feature, number)
        The largest, in falling order of their size.
    predictions : sequence of Prediction, or None
        Of all new records, in their order; None if nobody asked.
    """

    user: Any
    n_features: int
    n_directions: int
    is_logistic: bool
    is_learned: bool
    guarantee: Guarantee
    n_left_out: int
    quality: Quality
    coefficients: Sequence[tuple[str, float]]
    predictions: Sequence[Prediction] | None


def personal_page(personal: Personal) -> str:
    """The page as HTML; the same values give the same bytes."""
    whose = "you" if personal.user is None else f"user {personal.user}"
    lead = (
        f"Made for {whose} alone: from {_count(personal.quality.n_records, 'own record')}, and from a model that is "
        "public and hardly depends on any one person. Only the model may be seen by everybody; this page is private."
    )
    sections = [
        ("How well your records are predicted", _quality(personal)),
        ("Your largest coefficients", _coefficients(personal)),
        *([] if personal.predictions is None else [("Predictions", _predictions(personal.predictions))]),
        ("What the model promises", _promised(personal.guarantee)),
        ("Who sees what", _seen()),
        ("Limits", _limits(personal)),
    ]
    return make_page("Predictions for one person", lead, sections, "Made by hushrank predict.")


def guess_bound(guarantee: Guarantee) -> float:
    """Largest probability of guessing right which of two neighboring data sets, equally likely, was used."""
    if isinstance(guarantee.event, Gaussian):
        return attack_bound(guarantee)
    if guarantee.epsilon > 700.0:  # beyond the range of exp
        return 1.0
    factor = math.exp(guarantee.epsilon)
    return min(1.0, (factor + guarantee.delta) / (1.0 + factor))


def guess_in_words(given: Guarantee) -> str:
    """How often a guess about one unit can be right, and why that is less than the factor allows."""
    is_replaced = given.neighbors is Neighbors.REPLACE
    guess = "which of two possibilities it was" if is_replaced else "whether it was there"
    odds = 1.0 / (1.0 + math.exp(-min(given.epsilon, 700.0)))
    by_noise = (
        f" The factor alone would allow {_percent(odds)}; with this noise hardly any result comes near it."
        if guess_bound(given) < odds - 0.01
        else ""
    )
    return (
        f"So somebody who knows all the rest, sees the result and has to guess {guess}, equally likely before, is "
        f"right in at most {_percent(guess_bound(given))} of the cases.{by_noise} Tossing a coin gives 50\u00a0%."
    )


def _percent(share: float) -> str:
    """A share as people read it, rounded up: it bounds what somebody may learn."""
    return f"{math.ceil(1000 * share) / 10:.1f}\u00a0%"


def guarantee_table(given: Guarantee) -> Markup:
    """A guarantee in numbers, for readers who know no epsilon."""
    factor = at_most(math.exp(given.epsilon), 3) if given.epsilon < 25 else f"e^{at_most(given.epsilon)}"
    guess = f"{math.ceil(1000 * guess_bound(given)) / 10:.1f} %"
    within = "" if given.bound is None else f", bound {at_least(given.bound)}"
    return table(
        f"Neighbors: {given.neighbors} one {given.unit}{within}; arithmetic: {given.numerics}",
        ("epsilon", "delta", "e^epsilon", "right guess, at most"),
        [(at_most(given.epsilon), at_most(given.delta), factor, guess)],
    )


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def _quality(personal: Personal) -> list[Markup]:
    quality, is_logistic = personal.quality, personal.is_logistic
    parts = []
    if personal.n_left_out:
        count = _count(personal.n_left_out, "record")
        parts.append(paragraph(f"{count} of yours could not be used: a number is missing, or not finite."))
    if not quality.n_records:
        return [*parts, paragraph("There is no own record to try it on: you get the mean of all people.")]
    rows = [
        ("the model and your other records", quality.own),
        ("the model alone, as for somebody without records", quality.shared),
        ("your more frequent label" if is_logistic else "the mean of your answers", quality.plain),
    ]
    unit = "Share of wrong labels" if is_logistic else "Root mean squared error of a prediction"
    shown = [(name, f"{error:.1%}" if is_logistic else f"{error:.4g}") for name, error in rows]
    return [
        *parts,
        paragraph("Each of your records was predicted without its own answer, and then compared with it."),
        table(f"{unit}, over {_count(quality.n_records, 'record')}", ("predicted from", "error"), shown),
    ]


def _coefficients(personal: Personal) -> list[Markup]:
    shown = personal.coefficients
    kind = "the log odds of the label 1 change" if personal.is_logistic else "the prediction changes"
    caption = (
        f"By how much {kind} when a feature grows by one: the largest of {personal.n_features:,}, with their sign."
    )
    whence = (
        "They come from your records and from what people have in common, "
        f"{_count(personal.n_directions, 'direction')} of the public model."
        if personal.is_learned
        else "Nothing stood above the noise of the public model: they come from your own records alone."
    )
    listed = ", ".join(f"{name} {number:+.3g}" for name, number in shown)
    return [paragraph(whence), figure(signed_chart("coefficients", "Largest coefficients", listed, shown), caption)]


def signed_chart(key: str, title: str, description: str, bars: Sequence[tuple[str, float]]) -> Markup:
    """Bars to the right or to the left of zero, each below its name."""
    largest = max((abs(number) for _, number in bars), default=0.0) or 1.0
    length = Axis(-largest, largest, 0.0, float(WIDTH))
    zero, parts = length.place(0.0), []
    for i, (name, number) in enumerate(bars):
        top, end = i * _ROW, length.place(number)
        short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}\u2026"
        parts.append(element("text", short, x=0, y=top + 15))
        parts.append(element("text", f"{number:+.3g}", x=WIDTH, y=top + 15, text_anchor="end"))
        parts.append(element("rect", x=0, y=top + 21, width=WIDTH, height=9, rx=3, class_="rest"))
        start, width = min(zero, end), abs(end - zero)
        parts.append(element("rect", x=start, y=top + 21, width=width, height=9, class_="share"))
        parts.append(element("line", x1=zero, x2=zero, y1=top + 18, y2=top + 33, class_="axis"))
    return draw(key, title, description, len(bars) * _ROW, *parts)


def _predictions(predictions: Sequence[Prediction]) -> list[Markup]:
    if not predictions:
        return [paragraph("There was no new record.")]
    first = predictions[:SHOWN_PREDICTIONS]
    has_labels = any(prediction.probability is not None for prediction in predictions)
    names = ("new record", "label", "probability of 1") if has_labels else ("new record", "prediction")
    rows = []
    for place, prediction in enumerate(first):
        cells = ["no number" if prediction.value is None else f"{prediction.value:.6g}"]
        if has_labels:
            cells.append("" if prediction.probability is None else f"{prediction.probability:.3f}")
        rows.append((place + 1, *cells))
    caption = "In the order of the file"
    if len(first) < len(predictions):
        caption += f": the first {len(first)} of {len(predictions):,}"
    return [table(caption, names, rows)]


def _promised(guarantee: Guarantee) -> list[Markup]:
    change = (
        "Take anybody, and replace all records of this person by any others."
        if guarantee.neighbors is Neighbors.REPLACE
        else "Take anybody, and add or remove this person with all records."
    )
    beyond = f", up to delta = {guarantee.delta:g}" if guarantee.delta else ""
    parts = [
        paragraph(
            f"{change} The probability of every possible public model then changes by at most a factor of e^epsilon"
            f"{beyond}. So somebody who knows all other records, sees the model and has to guess which of two possible "
            "histories a person has, equally likely before, is right with a probability of at most that in the last "
            "column. Tossing a coin gives 50 %.",
        ),
        guarantee_table(guarantee),
    ]
    if guarantee.reproducible:
        parts.append(paragraph("The noise of this model came from a seed: it is for tests, and promises nothing."))
    return parts


def _seen() -> list[Markup]:
    return [
        paragraph(
            "Predictions for you have to depend on your records, or they would be useless. Joint differential privacy "
            "asks for the rest: all that anybody else sees is private in your records.",
        ),
        table(
            "Nothing was learned from your records to make this page, and no budget was charged",
            ("what", "seen by"),
            [
                ("the public model", "everybody"),
                ("your records", "you, and who collected them"),
                ("your coefficients and predictions, this page", "you"),
                ("coefficients and predictions of others", "each of them"),
            ],
        ),
    ]


def _limits(personal: Personal) -> list[Markup]:
    lines = [
        "The page is private only as long as nobody else sees it: it can tell much about your records.",
        "A prediction is a product of the features with your coefficients. What is not of this form is not found.",
        "An error from few records is itself uncertain.",
    ]
    if not personal.is_learned:
        lines.append("The public model adds nothing to your records here: there were too few people for its budget.")
    return [bullets(*lines)]
