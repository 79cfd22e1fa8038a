"""The page of a private representation: directions that users share, which of them are noise, and what is promised."""

from collections.abc import Iterator
from typing import Any

from hushrank.report.marks import NOISE, column_names, largest_loadings
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, figure, make_page, paragraph, table
from hushrank.report.promise import ALONE, Beside, promised, sections_beside
from hushrank.report.strengths import (
    floor_chart,
    mark_of_strength,
    say_above,
    say_strength,
    strength_bars,
    strengths_of,
)

LEADING = 3


def say_gain(model: Any) -> str:
    """Whether heads stand above the noise, in words."""
    if not hasattr(model, "gains_"):
        return "how well heads predict was not checked: a pure choice releases the directions alone"
    gain, noise = float(model.gains_.max()), float(model.gain_deviation_)
    shown = f"largest gain {gain:.3g} of at most 1, its noise {noise:.2g}"
    if not model.head_covariance_.any():
        return f"nothing stood above the noise: users rely on their own records ({shown})"
    return f"heads stand above the noise: they predict a user's records better than the user's mean answer ({shown})"


def say_directions(model: Any) -> str | None:
    """How many directions stand above the noise; None for a pure choice, which tells nothing about it."""
    strengths = strengths_of(model)
    return None if strengths is None else say_above(model.n_significant_, len(strengths), "direction")


def direction_rows(model: Any) -> Iterator[tuple[str, list[str]]]:
    """The mark of every direction, and its cells: number, mean and deviation of heads, strength, leading features."""
    found, names, strengths = model._directions, column_names(model), strengths_of(model)
    for k, vector in enumerate(found.vectors.T):
        mark = "" if strengths is None else mark_of_strength(strengths[k])
        leading = "" if mark == NOISE else ", ".join(largest_loadings(vector, names, LEADING))
        strength = "-" if strengths is None else say_strength(strengths[k])
        numbers = [str(k + 1), f"{found.means[k]:.4g}", f"{found.deviations[k]:.4g}", strength]
        yield mark, [*numbers, leading, mark]


def representation_page(model: Any, beside: Beside = ALONE) -> str:
    """The page as HTML; the same model gives the same bytes."""
    n_features, n_directions = model.embedding_.shape
    told = say_directions(model) or say_gain(model)
    lead = (
        f"A representation of {n_features:,} features in {n_directions} directions that users share: {told}. The page "
        "shows nothing that is not in the model, and may be seen by everybody who may see that."
    )
    sections = [
        ("Directions and the noise", _directions(model)),
        ("What is promised", promised(model.privacy_)),
        *sections_beside(model, beside),
        ("Limits", [bullets(*_limits(model))]),
    ]
    return make_page("A private representation", lead, sections, "Made by hushrank.")


def _directions(model: Any) -> list[Markup]:
    gain, strengths = say_gain(model), strengths_of(model)
    parts = [paragraph(f"{gain[:1].upper()}{gain[1:]}.")]
    if strengths is not None and any(strengths):
        caption = (
            "What each direction adds to the gain, over what is told from noise (the line): three deviations of its "
            "noise, and at least .02."
        )
        chart = floor_chart("strengths", "Strength of directions", strength_bars(strengths, "direction"), 1.0, "noise")
        parts.append(figure(chart, caption))
    rows = []
    for mark, cells in direction_rows(model):
        rows.append([element("span", cell, class_="dim") for cell in cells] if mark == NOISE else cells)
    names = ("direction", "mean of heads", "deviation", "strength", "leading features", "")
    parts.append(table("Turned so that heads vary independently along each", names, rows))
    return parts


def _limits(model: Any) -> Iterator[str]:
    yield "The sign of a direction is arbitrary, and directions along which heads vary alike may be turned together."
    yield "A person's head is computed from this model and the person's own records, and is that person's."
    yield "What is not a product of features with coefficients is not found."
    if not hasattr(model, "gains_"):
        yield "A pure choice does not say how sure its directions are."
