"""The page of a private recommender of somebody's own: popular and well rated items, factors, and what is noise."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.item_marks import are_own
from hushrank.report.marks import NOISE
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, figure, make_page, paragraph, table
from hushrank.report.promise import ALONE, Beside, promised, sections_beside
from hushrank.report.strengths import (
    floor_chart,
    mark_of_strength,
    say_above,
    say_strength,
    shorten,
    strength_bars,
    strengths_of,
)

SHOWN_ITEMS, SHOWN_FACTORS, ENDS = 10, 20, 3
_FALSE_ALARMS = 0.05  # probability that noise alone has a count that is not called noise, over all items
_APART = 1.96 * math.sqrt(2.0)  # deviations: two numbers with noise that differ by more are in the right order, at 95 %


@dataclass(frozen=True, slots=True)
class Order:
    """Items in the order of a number: its title, its name, the items' positions, the numbers, which are noise, and how
    far from the truth each may be."""

    title: str
    number: str
    positions: NDArray[np.int64]
    values: NDArray[np.float64]
    is_noise: NDArray[np.bool_]
    deviations: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor: its number, its strength if known, its mark, and positions of the items at its two ends."""

    number: int
    strength: float | None
    mark: str
    low: list[int]
    high: list[int]


def item_names(model: Any, titles: Sequence[str] | None = None) -> list[str]:
    """Titles of the items, or their ids."""
    return [str(item) for item in model.items_.tolist()] if titles is None else [str(title) for title in titles]


def read_orders(model: Any) -> Iterator[Order]:
    """Orders of the items by released numbers; without those that say nothing."""
    n_items = len(model.items_)
    deviation = getattr(model, "count_deviation_", 0.0)
    # The first of many counts is a large one even if all of them are noise.
    is_unclear = model.item_counts_ < NormalDist().inv_cdf(1.0 - _FALSE_ALARMS / (n_items + 1)) * deviation
    if np.ptp(model.item_counts_) > 0:
        yield _to_order("most popular", "weighted ratings", model.item_counts_, is_unclear, deviation)
    if model.feedback == "explicit" and np.ptp(model.item_means_) > 0:
        is_noise, deviations = np.zeros(n_items, np.bool_), 0.0
        if hasattr(model, "mean_deviation_"):
            # How sure a mean is depends on the count, which may be noise itself.
            is_noise = is_unclear | ~are_own(model.mean_deviation_, model._half_range)
            deviations = model.mean_deviation_
        yield _to_order("highest mean", "mean", model.item_means_, is_noise, deviations)


def _to_order(title: str, number: str, values: Any, is_noise: Any, deviations: Any) -> Order:
    order = np.argsort(-values, kind="stable")
    return Order(title, number, order, values, is_noise, np.broadcast_to(deviations, len(values)))


def say_orders(model: Any, n_shown: int = SHOWN_ITEMS) -> Iterator[str]:
    """Orders whose first `n_shown` items are not sure: of many items that are alike, noise makes some the first."""
    for order in read_orders(model):
        first = [j for j in order.positions[:n_shown] if not order.is_noise[j]]
        least = _APART * math.sqrt(float(np.mean(order.deviations[first] ** 2))) if first else 0.0
        if len(first) < 2 or order.values[first[0]] - order.values[first[-1]] >= least:
            continue
        yield (
            f"{order.title}: neither is the order of the first {len(first)} sure, nor that they are the first; that of "
            f"two items is where they differ by {least:.3g} or more"
        )


def read_factors(model: Any) -> list[Factor]:
    """All factors that were kept."""
    strengths = strengths_of(model)
    found = []
    for k in np.flatnonzero(model.item_factors_.any(axis=0)):
        order = np.argsort(model.item_factors_[:, k], kind="stable")
        strength = None if strengths is None else strengths[k]
        low = [int(j) for j in order[:ENDS] if model.item_factors_[j, k] < 0]
        high = [int(j) for j in order[::-1][:ENDS] if model.item_factors_[j, k] > 0]
        found.append(Factor(int(k) + 1, strength, "" if strength is None else mark_of_strength(strength), low, high))
    return found


def say_factors(model: Any) -> str:
    """How many factors there are, and how many of them are more than noise."""
    rank = model.item_factors_.shape[1]
    strengths = strengths_of(model)
    if strengths is None:
        return f"{model.n_factors_} of at most {rank} factors were kept; nothing tells how far they are above the noise"
    if not model.n_significant_:
        return (
            "this model has no factors above the noise: everybody is told the same order of the items, but for own "
            "offsets and slopes"
        )
    return say_above(model.n_significant_, rank, "factor")


def say_means(model: Any) -> str | None:
    """Of how many items the mean is noise; None where there is nothing to say."""
    orders = {order.number: order for order in read_orders(model)}
    if "mean" not in orders or not orders["mean"].is_noise.any():
        return None
    n, n_all = int(orders["mean"].is_noise.sum()), len(model.items_)
    what = "item has" if n == 1 else "items have"
    return f"{n:,} of {n_all:,} {what} a mean that is mostly noise: it tells what items as popular as that have"


def say_counts(model: Any) -> str | None:
    """Of how many items the count is noise; None where there is nothing to say."""
    orders = {order.number: order for order in read_orders(model)}
    if "weighted ratings" not in orders or not orders["weighted ratings"].is_noise.any():
        return None
    n, n_all = int(orders["weighted ratings"].is_noise.sum()), len(model.items_)
    what = "item has" if n == 1 else "items have"
    return f"{n:,} of {n_all:,} {what} a count that is mostly noise (its deviation is {model.count_deviation_:.3g})"


def rating_model_page(model: Any, beside: Beside = ALONE) -> str:
    """The page as HTML; the same model gives the same bytes."""
    names, factors = item_names(model, beside.titles), read_factors(model)
    told = say_factors(model)
    lead = (
        f"A recommender of {len(names):,} items, learned from the ratings of people none of whom it shows: {told}. The "
        "page shows nothing that is not in the model, and may be seen by everybody who may see that."
    )
    sections = [
        ("Items", _items(model, names)),
        ("Factors and the noise", _factors(model, factors, names)),
        ("What is promised", promised(model.privacy_)),
        *sections_beside(model, beside),
        ("Limits", [bullets(*_limits(model))]),
    ]
    return make_page("A private recommender", lead, sections, "Made by hushrank.")


def _items(model: Any, names: Sequence[str]) -> list[Markup]:
    parts = []
    for order in read_orders(model):
        first = order.positions[:SHOWN_ITEMS]
        rows = []
        for place, j in enumerate(first):
            cells = (str(place + 1), shorten(names[j]), f"{order.values[j]:.4g}", NOISE if order.is_noise[j] else "")
            rows.append([element("span", cell, class_="dim") for cell in cells] if order.is_noise[j] else list(cells))
        parts.append(table(order.title.capitalize(), ("", "item", order.number, ""), rows))
    said = (say_means(model), say_counts(model), *say_orders(model))
    parts += [paragraph(f"{told[:1].upper()}{told[1:]}.") for told in said if told]
    return parts or [paragraph("No means and no counts of items were released.")]


def _factors(model: Any, factors: Sequence[Factor], names: Sequence[str]) -> list[Markup]:
    told = say_factors(model)
    parts = [paragraph(f"{told[:1].upper()}{told[1:]}.")]
    strengths = strengths_of(model)
    if strengths is not None and any(strengths):
        caption = "How far factors stand above the noise; the line is what noise alone exceeds in 5 % of fits."
        chart = floor_chart("strengths", "Strength of the factors", strength_bars(strengths, "factor"), 1.0, "noise")
        parts.append(figure(chart, caption))
    rows = []
    for factor in [factor for factor in factors if factor.mark != NOISE][:SHOWN_FACTORS]:
        ends = [", ".join(shorten(names[j]) for j in end) for end in (factor.low, factor.high)]
        shown = "" if factor.strength is None else say_strength(factor.strength)
        rows.append((factor.number, shown, factor.mark, *ends))
    if rows:
        parts.append(table("Items at the ends", ("factor", "strength", "", "one end", "other end"), rows))
    n_noise = sum(factor.mark == NOISE for factor in factors)
    if n_noise:
        parts.append(paragraph(f"{n_noise} factors that were kept are noise. Their items mean nothing here."))
    return parts


def _limits(model: Any) -> Iterator[str]:
    yield "The sign of a factor is arbitrary, and so is which end is which."
    yield "Recommendations to a person are computed from this model and the person's own ratings, and are theirs."
    if model.feedback == "implicit":
        yield "That somebody did not choose an item is weak evidence only."
    yield "Counts are weighted: very active people count for less than one a rating."
