"""The page of a private factorization: which components stand above the noise, what they are, and what is promised."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.turnstile.factorization import Factorization
from hushrank.estimators.turnstile.layout import AS_PRINTED
from hushrank.estimators.turnstile.sketch_plan import smallest_value
from hushrank.privacy.figures import at_least, at_most
from hushrank.privacy.guarantee import Guarantee, Neighbors, Unit
from hushrank.report.marks import NOISE
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, figure, make_page, paragraph, table
from hushrank.report.personal import guarantee_table
from hushrank.report.promise import ALONE, Beside, sections_beside
from hushrank.report.strengths import Bar, floor_chart, mark_of_strength, say_above

SHOWN_COMPONENTS, SHOWN_VALUES, LEADING = 20, 50, 5
UNTESTED = "untested"  # the mark of a component whose decoder does not tell it from noise
_LONGEST_TITLE = 40  # characters

_PARTS = {
    Unit.ENTRY: "any part of the stream that changes entries by at most {bound} in total, such as one update",
    Unit.USER: "all updates of any one user, which change entries by at most {bound} in total",
    Unit.ROW: "any part of the stream that changes one row, by a vector of norm at most {bound}",
    Unit.RANK1: "any part of the stream that adds a matrix of rank one and of Frobenius norm at most {bound}",
    Unit.FROBENIUS: "any part of the stream that adds a matrix of Frobenius norm at most {bound}",
}


def noise_floor(found: Factorization) -> float:
    """Components of the matrix above this come out clearly, as the plan says before."""
    n_rows, n_columns = found.shape
    return smallest_value(found.noise_, (n_rows, n_columns), is_full=found.kind == "full")


def say_floor(found: Factorization) -> str:
    """What the noise lets through, in words."""
    floor = noise_floor(found)
    clear = (
        f"components of the matrix above {floor:.4g} come out clearly, weaker ones shrunk, those below half of it not"
    )
    if found.kind == "full":
        return clear
    return (
        f"{clear}; a narrow sketch also mixes up the rest of the matrix, which counts as noise here: larger "
        "--sketch-sizes or --kind full show more of it"
    )


def marks_of(found: Factorization) -> list[str]:
    """The mark of every component: "noise", "weak" or none, by its strength; "untested" where no strength is known."""
    if found.kind in AS_PRINTED:
        return [UNTESTED] * found.rank
    return [mark_of_strength(strength) for strength in found.strength_]


def is_finding(mark: str) -> bool:
    """Whether a component with this mark stands above the noise."""
    return mark not in (NOISE, UNTESTED)


def say_findings(found: Factorization) -> str:
    """How many components stand above the noise, and what of the others is not zero, in words."""
    if found.kind in AS_PRINTED:
        return f"{found.rank} components, untested: --kind {found.kind} does not tell components from noise"
    said = say_above(found.n_significant_, found.rank, "component")
    more = found.n_above_noise - found.n_significant_
    if more <= 0:
        return said
    named = "1 more has a singular value" if more == 1 else f"{more} more have singular values"
    return f"{said}; {named} above zero that noise explains: no finding"


def stream_page(found: Factorization, beside: Beside = ALONE) -> str:
    """The page with what is shown beside; titles are those of the columns."""
    return factorization_page(found, None, beside.titles, beside)


def factorization_page(
    found: Factorization,
    row_titles: Sequence[str] | None = None,
    column_titles: Sequence[str] | None = None,
    beside: Beside = ALONE,
) -> str:
    """The page as HTML; the same factorization gives the same bytes.

    Parameters
    ----------
    found : Factorization
    row_titles, column_titles : sequence of str, optional
        What rows and columns are called, public; their numbers if not given.
    beside : Beside
        What else is shown.
    """
    n_rows, n_columns = found.shape
    lead = (
        f"A matrix of {n_rows:,} rows and {n_columns:,} columns, known by its updates alone, as a sum of components: "
        f"{say_findings(found)}. The page shows nothing that is not in the factorization, "
        "and may be seen by everybody who may see that."
    )
    sections = [
        ("Singular values and the noise", _values(found)),
        ("Components", _components(found, row_titles, column_titles)),
        ("What is promised", _promised(found)),
        *sections_beside(found, beside),
        ("Limits", _limits(found)),
    ]
    return make_page("A private factorization", lead, sections, "Made by hushrank stream.")


def _values(found: Factorization) -> list[Markup]:
    floor, marks = noise_floor(found), marks_of(found)
    values = [Bar(f"component {i + 1}", float(found.s[i]), mark) for i, mark in enumerate(marks)]
    shown = values[:SHOWN_VALUES]
    said = say_floor(found)
    caption = f"Singular values, shrunk by what noise may have added, and the floor (the line): {said}."
    if len(shown) < len(values):
        caption += f" The first {len(shown)} of {len(values)}."
    parts = [figure(floor_chart("values", "Singular values and the noise floor", shown, floor, "the floor"), caption)]
    if NOISE in marks and not any(map(is_finding, marks)):
        parts.append(paragraph("Nothing stands above the noise: of this matrix, this budget shows nothing."))
    return parts


def _components(
    found: Factorization, row_titles: Sequence[str] | None, column_titles: Sequence[str] | None
) -> list[Markup]:
    marks = marks_of(found)
    above = [k for k, mark in enumerate(marks) if mark != NOISE]
    parts = []
    for k in above[:SHOWN_COMPONENTS]:
        sides = (_leading(found.U[:, k], "row", row_titles), _leading(found.Vt[k], "column", column_titles))
        rows = [(*left, *right) for left, right in zip(*_same_length(*sides), strict=True)]
        mark = f" ({marks[k]})" if marks[k] else ""
        caption = f"Component {k + 1}{mark}: the largest entries of its vectors"
        parts.append(table(caption, ("row", "entry", "column", "entry"), rows))
    if len(above) > SHOWN_COMPONENTS:
        parts.append(paragraph(f"The first {SHOWN_COMPONENTS} of {len(above)} components are shown."))
    if found.rank > len(above):
        below = f"{found.rank - len(above)} of {found.rank} components"
        parts.append(paragraph(f"{below} are noise. Their vectors mean nothing, and are not shown."))
    return parts


def _leading(vector: NDArray[np.float64], kind: str, titles: Sequence[str] | None) -> list[tuple[str, str]]:
    """Names and values of the largest entries."""
    order = np.argsort(-abs(vector), kind="stable")[:LEADING]
    return [(_shorten(f"{kind} {j}" if titles is None else str(titles[j])), f"{vector[j]:+.3f}") for j in order]


def leading_columns(found: Factorization, component: int, titles: Sequence[str]) -> str:
    """Columns with the largest entries in the vector of a component, in one line."""
    return ", ".join(f"{name} ({entry})" for name, entry in _leading(found.Vt[component], "column", titles)[:3])


def _shorten(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}\u2026"


def _same_length(
    left: list[tuple[str, str]], right: list[tuple[str, str]]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Both with as many pairs as the longer one; a matrix may have fewer rows than are shown."""
    n_lines = max(len(left), len(right))
    return tuple([*side, *[("", "")] * (n_lines - len(side))] for side in (left, right))  # type: ignore[return-value]


def _promised(found: Factorization) -> list[Markup]:
    given: Guarantee = found.privacy_
    part = _PARTS[given.unit].format(bound=at_least(found.bound))
    is_replaced = given.neighbors is Neighbors.REPLACE
    instead = "another of this kind had been in its place" if is_replaced else "it had not been there"
    beyond = f", up to delta = {at_most(given.delta)}" if given.delta else ""
    parts = [
        paragraph(
            f"Take {part}, and suppose {instead}. The probability of every possible factorization then changes by at "
            f"most a factor of e^epsilon{beyond}. So somebody who knows all the rest, sees the factorization and has "
            "to guess which of the two was the case, equally likely before, is right with a probability of at most "
            "that in the last column. Tossing a coin gives 50 %."
        ),
        guarantee_table(given),
    ]
    if found.release_ > 1:
        parts.append(paragraph(f"It is release {found.release_} of one sketch: these numbers are for all of them."))
    if given.premise:
        parts.append(paragraph(element("strong", "Provided that "), given.premise, "."))
    if given.reproducible:
        parts.append(paragraph("The noise came from a seed: this is for tests, and promises nothing."))
    return parts


def _limits(found: Factorization) -> list[Markup]:
    clip = found._clip
    lines = [
        "Updates were not clipped. Of one that is larger than the bound, only a part is hidden."
        if clip is None
        else f"Every update was clipped to {clip:g} in size, alone. What larger ones had beyond that is lost.",
        "The sign of a component is arbitrary: both of its vectors may be turned together.",
        "Numbers of rows and columns are public, and were given, not learned.",
    ]
    if found.kind != "full":
        lines.append(
            "A sketch was kept, not the matrix: beside the noise there is an error that wider sketches reduce."
        )
    if found.kind in AS_PRINTED:
        lines.append("This kind of sketch is decoded as printed in a paper, which does not tell components from noise.")
    return [bullets(*lines)]
