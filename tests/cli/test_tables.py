"""Tables of results: numbers and texts, odd ids, and files of both kinds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from hushrank.cli.tables import OUT_SUFFIXES, SHOWN_LINES, make_table, printable, say_more_records, write_table


def test_texts_stand_on_the_left_and_numbers_on_the_right():
    table = make_table("user", "n", texts=("user", "other"), title="all of them")
    table.add_row("ann", "1")
    table.add_row("bartholomew", "1000")
    console = Console(width=60)
    with console.capture() as seen:
        console.print(table)
    title, *lines = seen.get().splitlines()
    assert title.strip() == "all of them"
    assert [line for line in lines if line.startswith("│")] == ["│ ann         │    1 │", "│ bartholomew │ 1000 │"]


def test_any_text_can_be_printed_as_it_is():
    console = Console(width=60)
    with console.capture() as seen:
        console.print(printable("[red]a[/x] \udcff \u00fc"))
    assert seen.get() == "[red]a[/x] \\udcff \u00fc\n"


def test_no_name_steers_the_terminal():
    shown = printable("dose\x1b[2J\n\x07")
    assert shown.isprintable() and shown.startswith("dose\\x1b") and shown.endswith("\\n\\x07")


def test_records_that_are_not_shown_are_counted():
    assert list(say_more_records(SHOWN_LINES, None)) == []
    assert list(say_more_records(SHOWN_LINES + 3, None)) == [
        "and 3 more records: --out FILE writes all, --json shows all"
    ]
    assert list(say_more_records(SHOWN_LINES + 3, Path("out.csv"))) == []


@pytest.mark.parametrize("suffix", [*OUT_SUFFIXES, ".CSV"])
def test_the_suffix_tells_the_kind_of_file(tmp_path, suffix):
    table = pa.table({"user": ["ann", "bob", "eve"], "prediction": [1.5, None, -2.0]})
    write_table(table, tmp_path / f"found{suffix}")
    read = pa.csv.read_csv if suffix.lower() == ".csv" else pq.read_table
    assert read(tmp_path / f"found{suffix}").equals(table)


@pytest.mark.parametrize("suffix", OUT_SUFFIXES)
def test_a_column_that_stands_alone_keeps_its_missing_numbers(tmp_path, suffix):
    """An empty line would be passed over, and all predictions after it would be those of somebody else."""
    write_table(pa.table({"prediction": [1.5, None, -2.0]}), tmp_path / f"found{suffix}")
    read = pd.read_csv if suffix == ".csv" else pd.read_parquet
    np.testing.assert_array_equal(read(tmp_path / f"found{suffix}")["prediction"], [1.5, np.nan, -2.0])
