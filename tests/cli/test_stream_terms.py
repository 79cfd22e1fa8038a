"""What is refused about a run of `hushrank stream` before anything is read, and which input is which."""

import os
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from hushrank.cli import stream_terms
from hushrank.cli.stream_terms import Terms
from hushrank.exceptions import ModelFileError

NOTHING = {
    "source": "updates.csv", "out": Path("out"), "report": None, "checkpoint": None, "checkpoint_every": None,
    "resume": False, "continues": False, "key_file": None, "no_factorize": False, "again": False,
    "ledger_address": None, "dataset": None, "seed": None, "quiet": False, "verbose": False, "as_json": False,
}  # fmt: skip
STATE = {"checkpoint": Path("state")}
COLLECTS = {"no_factorize": True, "out": None}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("updates.csv", "updates.PARQUET", "updates.npz", "old.state", "parts.txt", "key", "budget.db"):
        (tmp_path / name).write_text("")
    (tmp_path / "parts").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"source": "-"},
        {"source": "updates.PARQUET"},
        {"source": "parts"},
        {"out": None, "as_json": True, "report": Path("page.html")},
        {**STATE, "checkpoint_every": 5, "key_file": Path("key")},
        {"checkpoint": Path("old.state"), "resume": True},
        {"checkpoint": Path("old.state"), "resume": True, "continues": True, "source": "parts"},
        {**STATE, **COLLECTS},
        {"ledger_address": "budget.db", "dataset": "x"},
    ],
)
def test_what_goes_together_is_accepted(folder, changes):
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    Terms(**{**NOTHING, **changes}).check()
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before  # trial files are gone


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": "x"}, "--ledger and --dataset go together"),
        ({"ledger_address": "budget.db"}, "--ledger and --dataset go together"),
        ({"resume": True}, "need --checkpoint FILE"),
        ({"checkpoint_every": 5}, "need --checkpoint FILE"),
        ({"key_file": Path("key")}, "need --checkpoint FILE"),
        ({**STATE, "continues": True}, "--continues needs --resume"),
        ({"out": None}, "Say where the result goes"),
        ({"out": None, "report": Path("page.html")}, "Say where the result goes"),
        ({**STATE, "no_factorize": True}, "has no result for --out"),
        ({**STATE, **COLLECTS, "as_json": True}, "has no result for --out"),
        ({**STATE, **COLLECTS, "report": Path("page.html")}, "has no result for --out"),
        (COLLECTS, "--no-factorize needs --checkpoint FILE, or nothing is kept"),
        ({**STATE, "source": "parts", "checkpoint_every": 5}, "--checkpoint-every is not for Parquet files"),
        (
            {"checkpoint": Path("old.state"), "resume": True, "source": "parts"},
            "With --continues all of INPUT is added",
        ),
        ({"checkpoint": Path("old.state")}, "old.state would be overwritten: --resume goes on with it"),
        ({"source": "updates.npz"}, "INPUT updates.npz must be a file ending in .csv, .parquet, .pq"),
        ({"source": "parts.txt"}, "INPUT parts.txt must be a file ending in"),
        ({"source": "u.csv.gz"}, "a folder of Parquet or CSV files, or - (zcat u.csv.gz | hushrank stream -)."),
        ({"source": "none.csv"}, "INPUT none.csv does not exist"),
        ({"source": "none.parquet"}, "INPUT none.parquet does not exist"),
        ({"out": Path("updates.csv")}, "--out updates.csv would overwrite the data, the ledger or the key"),
        ({"source": "parts", "out": Path("parts/model")}, "--out parts/model would overwrite"),
        ({"report": Path("./updates.csv")}, "--report updates.csv would overwrite"),
        ({**STATE, "key_file": Path("key"), "out": Path("key")}, "--out key would overwrite"),
        ({"ledger_address": "budget.db", "dataset": "x", "report": Path("budget.db")}, "--report budget.db would"),
        ({"checkpoint": Path("updates.csv"), "resume": True}, "--checkpoint updates.csv would overwrite"),
        ({"report": Path("./out")}, "--out, --report and --checkpoint are different files"),
        ({"checkpoint": Path("out")}, "--out, --report and --checkpoint are different files"),
    ],
)
def test_what_does_not_go_together_is_refused(folder, changes, message):
    with pytest.raises(click.UsageError) as refusal:
        Terms(**{**NOTHING, **changes}).check()
    assert message in refusal.value.message and "\n" not in refusal.value.message


@pytest.mark.parametrize("place", ["out", "report", "checkpoint"])
def test_a_place_where_nothing_can_be_written_is_refused(folder, place):
    with pytest.raises(ModelFileError, match="No such file"):
        Terms(**{**NOTHING, place: Path("no/such/folder")}).check()


@pytest.mark.parametrize(
    ("source", "is_terminal", "is_refused"), [(None, True, True), (None, False, False), ("-", True, False)]
)
def test_a_terminal_is_read_only_if_asked_for(folder, monkeypatch, source, is_terminal, is_refused):
    monkeypatch.setattr(stream_terms, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: is_terminal)))
    terms = Terms(**{**NOTHING, "source": source})
    if is_refused:
        with pytest.raises(click.UsageError, match="Give INPUT"):
            terms.check()
    else:
        terms.check()


def test_inputs_are_told_apart(folder):
    os.mkfifo("pipe")
    Terms(**{**NOTHING, "source": "pipe"}).check()
    for source, path, has_tables in [
        (None, None, False),
        ("-", None, False),
        ("updates.csv", Path("updates.csv"), False),
        ("pipe", Path("pipe"), False),
        ("parts", Path("parts"), True),
        ("updates.PARQUET", Path("updates.PARQUET"), True),
        ("x.pq", Path("x.pq"), True),
    ]:
        terms = Terms(**{**NOTHING, "source": source})
        assert (terms.path, terms.has_tables) == (path, has_tables)


def test_what_lies_elsewhere_is_added_as_a_whole(folder):
    terms = Terms(**{**NOTHING, "source": "s3://bucket/updates.csv"})
    terms.check()
    assert terms.has_tables and terms.path is None
    assert Terms(**{**NOTHING, "source": f"file://{folder}/updates.csv"}).path == folder / "updates.csv"
    with pytest.raises(click.UsageError, match="--resume cannot tell"):
        Terms(**{**NOTHING, "source": "s3://bucket/x", "checkpoint": Path("old.state"), "resume": True}).check()
