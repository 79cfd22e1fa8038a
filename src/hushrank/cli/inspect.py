"""`hushrank inspect`: what the data holder should know before a fit, to find mistakes and not bounds."""

import json
from typing import Any

import click

from hushrank.cli.messages import about_file
from hushrank.cli.options import COLUMNS_OPTION, JSON_OPTION, Vector
from hushrank.registry import find


@click.command()
@click.argument("source", metavar="INPUT", type=click.Path())
@click.option("--row-norm", type=float, help="The bound you chose: how many rows are longer?")
@click.option("--center", type=Vector(), help="Numbers separated by commas, or an .npy file: subtracted first.")
@COLUMNS_OPTION
@JSON_OPTION
def command(source: str, row_norm: float | None, center: Any, columns: list[str] | None, as_json: bool) -> None:
    """Look at a table before a fit. The numbers are not private.

    INPUT is a Parquet file, a CSV file with a header, a folder of them, or an .npy or .npz array,
    which may be complex. Printed are the numbers of rows that would count as zero and the lengths of rows.

    \b
    What you may look for:    mistakes, such as broken cells, wrong columns or wrong units.
    What you may not do:      publish these numbers, or choose bounds, centers or scales by them. That is a use
                              of the data that no guarantee covers.
    Where bounds come from:   public knowledge (a codebook, a law, a unit), or the fit finds them privately:
                              --radius private, the default, with a loose --row-norm.
    """
    with about_file(source):
        report = find("inspect")(source, row_norm=row_norm, center=center, columns=columns)
    click.echo(json.dumps(report.to_dict()) if as_json else str(report))
