"""What `hushrank stream` writes and prints of a factorization."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from hushrank.cli.stream_terms import Terms
from hushrank.cli.tables import make_table
from hushrank.cli.writing import Writer, write_text
from hushrank.privacy.words import in_words


def publish(terms: Terms, found: Any) -> None:
    """Write and print a factorization; what fails is an error at the end."""
    writer, console = Writer(terms.force), Console(highlight=False)
    places = _write(terms, found, writer)
    place = places.get("factorization")
    if terms.as_json or place is None:  # stdout is the last place for it
        unwritten = found.save if place is None else None
        writer.echo(json.dumps(to_json(found)), "factorization.hush", unwritten)
    else:
        for part in describe(found):
            console.print(part)
        console.print(f"[bold]promise[/bold]: {escape(in_words(found.privacy_))}", soft_wrap=True)
        console.print(f"[bold]guarantee[/bold]: {escape(str(found.privacy_))}", soft_wrap=True)
        for name, place in places.items():
            if place is not None:
                console.print(f"{name} written to {escape(str(place))}", soft_wrap=True)
    writer.finish()


def _write(terms: Terms, found: Any, writer: Writer) -> dict[str, Path | None]:
    """Where the results are, by what they are; the budget is spent, and no failure keeps back what it bought."""
    from hushrank.report.factorization import factorization_page

    places: dict[str, Path | None] = {}
    if terms.out is not None:
        places["factorization"] = writer.write("factorization", terms.out, found.save)
    if terms.report is not None:
        places["report"] = writer.write("report", terms.report, partial(write_text, factorization_page(found)))
    return places


def to_json(found: Any) -> dict[str, Any]:
    """All of a factorization, by the names of its attributes, and the mark of every component."""
    from hushrank.report.factorization import marks_of

    arrays = {name: getattr(found, name).tolist() for name in ("U", "s", "Vt", "levels_")}
    numbers = {name: getattr(found, name) for name in ("n_significant_", "n_above_noise", "noise_", "release_")}
    told = {"strength_": found.strength_.tolist(), "marks": marks_of(found)}
    return {**arrays, **told, **numbers, "privacy_": found.privacy_.to_dict()}


def describe(found: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """What a factorization is, and its singular values; with titles, the columns that lead each component."""
    from hushrank.report.factorization import is_finding, leading_columns, marks_of, say_findings, say_floor
    from hushrank.report.marks import NOISE
    from hushrank.report.strengths import say_strength

    n_rows, n_columns = found.shape
    yield f"private factorization of a {n_rows} x {n_columns} matrix: {say_findings(found)}"
    yield say_floor(found)
    if found._clip is not None:
        yield f"every update counted for at most {found._clip:g}"
    leads = [] if titles is None else ["leading columns"]
    table = make_table("component", "singular value", "strength", *leads, "", texts=("leading columns", ""))
    strengths = found.strength_
    for i, mark in enumerate(marks_of(found)):
        told = [f"{found.s[i]:.4g}", say_strength(strengths[i]) if strengths[i] else "-"]
        named = [] if titles is None else ["-" if mark == NOISE else escape(leading_columns(found, i, titles))]
        table.add_row(str(i + 1), *told, *named, mark, style=None if is_finding(mark) else "dim")
    yield table
    if found.release_ > 1:
        yield f"release {found.release_} of one sketch: the guarantee is that of all of them together"
