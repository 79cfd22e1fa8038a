"""`hushrank report`: one self-contained page about a model file."""

import json
from pathlib import Path

import click

from hushrank.cli.descriptions import TITLES_OPTION, titles_for
from hushrank.cli.fit import LEDGER_OPTIONS, check_place, write_page
from hushrank.cli.options import JSON_OPTION, options
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
    TITLES_OPTION,
    LEDGER_OPTIONS,
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
    titles_path: Path | None,
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

    if (ledger_address is None) != (dataset is None):
        raise click.UsageError("--ledger and --dataset go together.")
    kept = [path, titles_path, ledger_address]
    check_place(
        "--out", out, [Path(place) for place in kept if place is not None], "the model, the titles or the ledger"
    )
    model = find("load")(path)
    account = None if ledger_address is None else find("Ledger")(ledger_address)[dataset]
    write_page(out, model_page(model, Beside(titles_for(model, titles_path), account, people)))
    click.echo(json.dumps({"report": str(out)}) if as_json else f"report written to {out}")
