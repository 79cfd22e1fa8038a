"""`hushrank inspect`: what the data holder should know before a fit."""

import json
from typing import Any

import click

from hushrank.cli.options import COLUMNS_OPTION, JSON_OPTION, Vector
from hushrank.registry import find


@click.command()
@click.argument("source", metavar="INPUT", type=click.Path())
@click.option("--row-norm", type=float, help="A bound to try: how many rows are longer?")
@click.option("--center", type=Vector(), help="Numbers separated by commas, or an .npy file: subtracted first.")
@COLUMNS_OPTION
@JSON_OPTION
def command(source: str, row_norm: float | None, center: Any, columns: list[str] | None, as_json: bool) -> None:
    """Look at a table before a fit. The numbers are not private.

    INPUT is a Parquet file, a folder of Parquet files, a CSV file with a header, or an .npy or .npz array,
    which may be complex. Printed are the numbers of rows that would count as zero and the lengths of rows, to choose
    --row-norm by. They are for the data holder and must not be published.
    """
    report = find("inspect")(source, row_norm=row_norm, center=center, columns=columns)
    click.echo(json.dumps(report.to_dict()) if as_json else str(report))
