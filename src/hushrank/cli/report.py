"""`hushrank report`: one self-contained page about a model file."""

import json
from pathlib import Path
from typing import Any

import click

from hushrank.cli.accounts import LOOK_OPTIONS, ledger_files, open_account
from hushrank.cli.descriptions import titles_for
from hushrank.cli.options import GIVEN_FILES, JSON_OPTION, options
from hushrank.cli.rating_columns import ITEM_COLUMN_OPTION
from hushrank.cli.titles import TITLE_OPTIONS, given_titles
from hushrank.cli.writing import FORCE_OPTION, check_place, write_result
from hushrank.registry import find

DEFAULT_OUT = "report.html"


@click.command("report")
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
    LOOK_OPTIONS,
    click.option(
        "--people",
        type=click.IntRange(min=1),
        help="Public number of rows, users or records, for the forecast. Default: what the model knows.",
    ),
    JSON_OPTION,
)
def command(
    path: Path,
    out: Path,
    force: bool,
    ledger_address: str | None,
    dataset: str | None,
    people: int | None,
    as_json: bool,
) -> None:
    """Write a page about a model file, with its guarantee in words.

    MODEL is a file that any command has written with --out, or a model has saved. The page is one HTML file that loads
    nothing from elsewhere: what was learned and how far it stands above the noise, the guarantee in words and numbers,
    with --ledger and --dataset what is spent and left of the budget, and what was forecast. Nothing is charged, and
    nothing is read but these files: whoever may see the model may see its page.

    \b
    Examples:
      hushrank report pca.hush --out pca.html
      hushrank report model.hush --titles items.csv --ledger budget.db --dataset ratings-2026 --people 6040
    """
    from hushrank.report.models import model_page
    from hushrank.report.promise import Beside

    given = click.get_current_context().meta.get(GIVEN_FILES, [])
    kept = [Path(place) for place in (path, *ledger_files(ledger_address), *given) if place is not None]
    check_place("--out", out, kept, "the model, the titles or the ledger", force=force)
    account = open_account(ledger_address, dataset, None)
    model = find("load")(path)
    if account is not None:
        check_account(account, model.privacy_)
    page = model_page(model, Beside(titles_for(model, given_titles()), account, people))
    write_result(page, out, force=force)
    click.echo(json.dumps({"report": str(out)}) if as_json else f"report written to {out}")


def check_account(account: Any, given: Any) -> None:
    """Refuse an account that cannot have paid for a model; say so on stderr where it has not."""
    from hushrank.report.promise import is_charged, say_not_charged

    fixed, made = (f"unit {terms.unit}, neighbors {terms.neighbors}" for terms in (account.budget, given))
    if fixed != made:
        raise click.UsageError(f"data set {account.name!r} is for {fixed}, and this model for {made}: not its budget.")
    if not is_charged(account, given.event):
        click.echo(f"hushrank: {say_not_charged(account.name)}", err=True)
