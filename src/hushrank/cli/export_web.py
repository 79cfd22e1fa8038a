"""`hushrank export-web`: a private recommender as one page that computes recommendations on the visitor's device."""

import json
from pathlib import Path

import click

from hushrank.cli.descriptions import titles_for
from hushrank.cli.options import GIVEN_FILES, JSON_OPTION, options
from hushrank.cli.rating_columns import ITEM_COLUMN_OPTION
from hushrank.cli.titles import TITLE_OPTIONS, given_titles
from hushrank.cli.writing import FORCE_OPTION, check_place, write_result
from hushrank.registry import find

DEFAULT_OUT = "recommender.html"
LARGE = 20 * 2**20
"""Bytes of a page, from which on phones may be slow."""


@click.command("export-web")
@click.argument("path", metavar="MODEL", type=click.Path(path_type=Path))
@options(
    click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        default=DEFAULT_OUT,
        show_default=True,
        help="HTML page to write.",
    ),
    FORCE_OPTION,
    TITLE_OPTIONS,
    ITEM_COLUMN_OPTION,
    click.option("--name", default=None, metavar="TEXT", help="Heading of the page.  [default: A private recommender]"),
    click.option(
        "--precision",
        type=click.Choice(["float16", "int8"]),
        default="float16",
        show_default=True,
        help="Of item features and factors: two bytes a number, or one for a smaller page.",
    ),
    JSON_OPTION,
)
def command(path: Path, out: Path, force: bool, name: str | None, precision: str, as_json: bool) -> None:
    """Write a recommender as one page that works on the visitor's device.

    MODEL is a file that hushrank complete wrote. The page holds the private model: visitors search and rate items, and
    their own browsers compute what they are recommended and why. Ratings stay in the page, which sends nothing to
    anybody; it opens from a disk, without a server. Whoever may see the model may see the page. Nothing is charged.

    \b
    Examples:
      hushrank export-web model.hush --titles items.csv --out page.html
      hushrank export-web model.hush --titles movies.csv --item-col movieId --name "Films" --precision int8
    """
    from hushrank.privacy.figures import at_most
    from hushrank.report.rating_model import say_factors
    from hushrank.web.model_data import has_tastes
    from hushrank.web.page import DEFAULT_NAME, make_web_page, to_bytes  # --help needs none of it

    given = click.get_current_context().meta.get(GIVEN_FILES, [])
    check_place("--out", out, [path, *map(Path, given)], "the model or the titles", force=force)
    model = find("load")(path)
    if type(model).__name__ != "PrivateCompletion":
        raise click.UsageError(
            f"export-web is for recommenders of hushrank complete, not for a {type(model).__name__}."
        )
    found = given_titles()
    if found is not None and not found.note_missing(model.items_.tolist()):
        raise click.UsageError("no item has a title: a page of ids is made without --titles.")
    titles = titles_for(model, found)
    page = make_web_page(model, titles=titles, name=name or DEFAULT_NAME, precision=precision)
    write_result(page.html, out, force=force)
    size, rounding = len(to_bytes(page.html)), page.rounding
    if as_json:
        click.echo(
            json.dumps(
                {
                    "page": str(out),
                    "bytes": size,
                    "precision": precision,
                    "rounding": rounding._asdict(),
                    "has_tastes": has_tastes(model),
                }
            )
        )
        return
    moved = f"for {rounding.visitors} made-up visitors by at most {at_most(rounding.largest, 2)}"
    click.echo(f"page written to {out}: {size / 2**20:.2f} MB; rounding moved predictions {moved}")
    if not has_tastes(model):
        click.echo(f"hushrank: {say_factors(model)}; the page says so", err=True)
    if size > LARGE:
        click.echo("hushrank: so large a page is slow on phones; --precision int8 makes it smaller.", err=True)
