"""The page of a private matrix from measurements: its singular values, its entries, which of them are noise."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hushrank.report.marks import NOISE
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, figure, make_page, paragraph, table
from hushrank.report.promise import ALONE, Beside, promised, sections_beside
from hushrank.report.strengths import floor_chart, say_above, shorten, strength_bars, strengths_of

SHOWN_ENTRIES = 10
MOST_NOISE = 0.3  # of a gain, which is at most 1
CLEAR = 3.0  # deviations of a gain
_CLEAR_ENTRY = 2.0  # deviations of the noise of a coefficient


class TraceEntry(NamedTuple):
    """One coefficient: names of its row and column, its own name if it has one, value, deviation if known, mark."""

    row: str
    column: str
    name: str | None
    value: float
    deviation: float | None
    mark: str


def say_gain(model: Any) -> str:
    """Whether the matrix stands above the noise, in words."""
    shown = f"gain {model.gain_:.3g} of at most 1, its noise {model.gain_deviation_:.2g}"
    if not model.coef_.any():
        learned = "only the intercept was learned" if model.intercept == "private" else "nothing was learned"
        return f"nothing stood above the noise: {learned}, and every prediction is {model.intercept_:.4g} ({shown})"
    if model.gain_ <= CLEAR * model.gain_deviation_:
        return f"the matrix stands above the noise by squared errors alone, as where most answers are equal ({shown})"
    # The gain is the share of records that are predicted better, less that of those predicted worse.
    better = round(50.0 * (1.0 + min(max(float(model.gain_), 0.0), 1.0)))
    shares = f"about {better} % of the records better than the intercept alone and {100 - better} % worse"
    return f"the matrix stands above the noise: it predicts {shares} ({shown})"


def say_values(model: Any) -> str | None:
    """How many singular values stand above the noise; None for a model of an older version."""
    strengths = strengths_of(model)
    return None if strengths is None else say_above(model.n_significant_, len(strengths), "singular value")


def read_entries(model: Any, count: int) -> list[TraceEntry]:
    """The largest coefficients, with the names of what they belong to."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    n_rows, n_columns = model.coef_.shape
    rows, columns = [str(i) for i in range(n_rows)], [str(j) for j in range(n_columns)]
    own = names if model.design == "dense" else []
    if names and model.design == "rank_one":
        rows, columns = names[:n_rows], names[n_rows:]
    found = []
    for place in np.argsort(-abs(model.coef_), axis=None, kind="stable")[:count]:
        i, j = divmod(int(place), n_columns)
        value, deviation = float(model.coef_[i, j]), None
        if hasattr(model, "coef_deviation_"):
            deviation = float(model.coef_deviation_[i, j])
        mark = NOISE if deviation is not None and abs(value) < _CLEAR_ENTRY * deviation else ""
        found.append(TraceEntry(rows[i], columns[j], own[place] if own else None, value, deviation, mark))
    return found


def trace_page(model: Any, beside: Beside = ALONE) -> str:
    """The page as HTML; the same model gives the same bytes."""
    n_rows, n_columns = model.coef_.shape
    told = say_values(model) or say_gain(model)
    lead = (
        f"A matrix of {n_rows:,} rows and {n_columns:,} columns behind answers to measurements of it: {told}. The page "
        "shows nothing that is not in the model, and may be seen by everybody who may see that."
    )
    sections = [
        ("Singular values and the noise", _values(model)),
        *([("Largest entries", _entries(model))] if model.coef_.any() else []),
        ("What is promised", promised(model.privacy_)),
        *sections_beside(model, beside),
        ("Limits", [bullets(*_limits(model))]),
    ]
    return make_page("A private matrix from measurements", lead, sections, "Made by hushrank.")


def _values(model: Any) -> list[Markup]:
    gain, strengths = say_gain(model), strengths_of(model)
    parts = [paragraph(f"{gain[:1].upper()}{gain[1:]}.")]
    if strengths is not None and any(strengths):
        caption = (
            "Singular values over what noise alone exceeds in 5 % of fits (the line), where measurements vary alike in "
            "all directions."
        )
        bars = strength_bars(strengths, "singular value")
        parts.append(figure(floor_chart("strengths", "Strength of singular values", bars, 1.0, "noise"), caption))
    rows = [(i + 1, f"{value:.4g}" if value else "none") for i, value in enumerate(model.singular_values_)]
    numbers = f"Intercept {model.intercept_:.4g}; median error {model.residual_:.3g}, {model.spread_:.3g} without it"
    return [*parts, table(numbers, ("", "singular value"), rows)]


def _entries(model: Any) -> list[Markup]:
    rows = []
    for entry in read_entries(model, SHOWN_ENTRIES):
        deviation = "-" if entry.deviation is None else f"{entry.deviation:.2g}"
        names = [shorten(entry.row), shorten(entry.column), *([] if entry.name is None else [shorten(entry.name)])]
        cells = [*names, f"{entry.value:.4g}", deviation, entry.mark]
        rows.append([element("span", cell, class_="dim") for cell in cells] if entry.mark == NOISE else cells)
    heads = ("row", "column", *(["name"] if len(rows[0]) == 6 else []), "entry", "deviation", "")
    return [table("The largest entries, and the deviation of their noise", heads, rows)]


def _limits(model: Any) -> Iterator[str]:
    yield "Where rows or columns were rarely measured, their entries are known less well."
    yield "Records were shortened where they are far out: what they had beyond that is lost."
    if model.privacy == "label":
        yield "Answers alone are hidden: measurements are taken for public, and the result may show them."
