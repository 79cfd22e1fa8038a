"""The page of a private factorization: which components stand above the noise, what they are, and what is promised."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.turnstile.factorization import Factorization
from hushrank.estimators.turnstile.sketch_plan import smallest_value
from hushrank.privacy.guarantee import Guarantee, Neighbors, Unit
from hushrank.report.charts import WIDTH, Axis, draw
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, figure, make_page, paragraph, table
from hushrank.report.personal import guarantee_table
from hushrank.report.promise import ALONE, Beside, sections_beside

SHOWN_COMPONENTS, SHOWN_VALUES, LEADING = 20, 50, 5
_AS_PRINTED = ("figure1", "figure3")  # decoders that do not tell components from noise
_LONGEST_TITLE = 40  # characters
_ROW = 42.0  # height of a bar with its name

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
    return f"{clear}; narrow sketches may show some that are not there, which vanish with larger sketch_sizes"


def stands_out(found: Factorization) -> NDArray[np.bool_]:
    """Which components stand above the noise: those that the decoder kept or, if it keeps all, those above the floor.

    Singular values that were kept are shrunk by what noise adds to them, and may be below the floor.
    """
    return np.asarray(found.s > (noise_floor(found) if found.kind in _AS_PRINTED else 0.0))


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
    n_above = int(stands_out(found).sum())
    lead = (
        f"A matrix of {n_rows:,} rows and {n_columns:,} columns, known by its updates alone, as a sum of components: "
        f"{n_above} of {found.rank} stand above the noise. The page shows nothing that is not in the factorization, "
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
    floor, stands = noise_floor(found), stands_out(found)
    values = [(float(value), bool(is_above)) for value, is_above in zip(found.s, stands, strict=True)]
    shown = values[:SHOWN_VALUES]
    listed = ", ".join(f"{value:.4g}" if is_above else "noise" for value, is_above in shown)
    said = say_floor(found)
    caption = f"Singular values, shrunk by what noise may have added, and the floor (the line): {said}."
    if len(shown) < len(values):
        caption += f" The first {len(shown)} of {len(values)}."
    parts = [figure(_value_chart(shown, floor, listed), caption)]
    if not stands.any():
        parts.append(paragraph("Nothing stands above the noise: of this matrix, this budget shows nothing."))
    return parts


def _value_chart(values: Sequence[tuple[float, bool]], floor: float, listed: str) -> Markup:
    """A bar for every value, below its number, and the floor as a line through all of them."""
    length = Axis(0.0, max([floor, *(value for value, _ in values)]), 0.0, WIDTH - 1.0)
    parts = []
    for i, (value, is_above) in enumerate(values):
        top = i * _ROW
        parts.append(element("text", f"component {i + 1}", x=0, y=top + 15))
        text = f"{value:.4g}" if is_above else "noise"
        parts.append(element("text", text, x=WIDTH, y=top + 15, text_anchor="end"))
        parts.append(element("rect", x=0, y=top + 21, width=WIDTH, height=9, rx=3, class_="rest"))
        width = length.place(value) if is_above else 0.0
        parts.append(element("rect", x=0, y=top + 21, width=width, height=9, rx=3, class_="share"))
        at = length.place(floor)
        parts.append(element("line", x1=at, x2=at, y1=top + 18, y2=top + 33, class_="axis"))
    return draw("values", "Singular values and the noise floor", listed, len(values) * _ROW, *parts)


def _components(
    found: Factorization, row_titles: Sequence[str] | None, column_titles: Sequence[str] | None
) -> list[Markup]:
    above = np.flatnonzero(stands_out(found))
    parts = []
    for k in above[:SHOWN_COMPONENTS]:
        sides = (_leading(found.U[:, k], "row", row_titles), _leading(found.Vt[k], "column", column_titles))
        rows = [(*left, *right) for left, right in zip(*_same_length(*sides), strict=True)]
        caption = f"Component {k + 1}: the largest entries of its vectors"
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
    part = _PARTS[given.unit].format(bound=f"{found.bound:g}")
    is_replaced = given.neighbors is Neighbors.REPLACE
    instead = "another of this kind had been in its place" if is_replaced else "it had not been there"
    beyond = f", up to delta = {given.delta:g}" if given.delta else ""
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
    if found.kind in _AS_PRINTED:
        lines.append("This kind of sketch is decoded as printed in a paper, which does not tell components from noise.")
    return [bullets(*lines)]
