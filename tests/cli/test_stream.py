"""`hushrank stream`: inputs of every kind, options that reach the sketch, resuming, and what is printed and written."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.archive.seal_keys import make_key_file
from hushrank.cli import stream, stream_run
from hushrank.cli.main import INTERRUPTED
from hushrank.cli.stream import TABLE, command
from hushrank.engine import progress
from hushrank.estimators.turnstile.factorization import Factorization
from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.exceptions import BudgetExceeded, CheckpointError, InvalidParameter, LedgerError
from hushrank.privacy.ledger import Ledger
from option_support import Reached, defaults_in, misplaced_options, required_words, with_options, written

SHAPE, N = (40, 30), 3000
RNG = np.random.default_rng(1)
ROWS, COLUMNS = (np.where(np.arange(N) % 2, RNG.integers(0, 6, N), RNG.integers(0, size, N)) for size in SHAPE)
DELTAS = np.where(np.arange(N) % 2, 1.0, np.round(RNG.uniform(-0.1, 0.1, N), 3))  # a block of about 40 in each entry
USERS = [f"u{e % 700}" for e in range(N)]
UPDATES = pa.table({"user": USERS, "delta": DELTAS, "column": COLUMNS, "row": ROWS})
FEW = "--shape 40 30 --rank 2 --epsilon 4 --delta 1e-6 --kind full --quiet"
HEADER = b"row,column,delta\n"
BY_HAND = {
    "--check",
    "--out", "--report", "--no-factorize", "--again", "--checkpoint", "--checkpoint-every", "--resume", "--continues",
    "--key-file", "--ledger", "--dataset", "--note", "--force", "--seed", "--quiet", "--verbose", "--json",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "keys"))
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # handlers would outlive the test
    pa.csv.write_csv(UPDATES, "updates.csv")
    pq.write_table(UPDATES, "updates.parquet")
    (tmp_path / "parts").mkdir()
    pq.write_table(UPDATES.slice(0, 1000), "parts/a.parquet")
    pq.write_table(UPDATES.slice(1000), "parts/b.parquet")
    return tmp_path


def run(line, given=None):
    return CliRunner().invoke(command, line.split(), input=given)


def rows(output):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]


def expected(seed=5, **terms):
    given = {"shape": SHAPE, "rank": 2, "epsilon": 4.0, "delta": 1e-6, "kind": "full", "random_state": seed, **terms}
    users = USERS if terms.get("unit") == "user" else None
    return TurnstileSketch(**given).update(ROWS, COLUMNS, DELTAS, users=users).factorize()


def found_in(result):
    assert result.exit_code == 0, result.exception or result.output
    return json.loads(result.stdout)


# Inputs.


@pytest.mark.parametrize(
    "source", ["updates.csv", "updates.parquet", "parts", "local://updates.csv", "file://updates.csv", "-", ""]
)
@pytest.mark.parametrize("unit", ["entry", "user"])
def test_every_kind_of_input_gives_the_factorization_of_the_library(folder, source, unit):
    given = (folder / "updates.csv").read_bytes() if source in ("-", "") else None
    found, wanted = found_in(run(f"{source} {FEW} --unit {unit} --seed 5 --json", given)), expected(unit=unit)
    for name in ("U", "s", "Vt", "levels_"):
        assert found[name] == getattr(wanted, name).tolist()
    assert found["privacy_"] == wanted.privacy_.to_dict() and found["privacy_"]["unit"] == unit
    assert (found["n_significant_"], found["release_"]) == (wanted.n_significant_, 1)


def test_a_named_pipe_is_a_stream(folder):
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes((folder / "updates.csv").read_bytes()))
    writer.start()
    assert found_in(run(f"pipe {FEW} --seed 5 --json"))["s"] == expected().s.tolist()
    writer.join()


@pytest.mark.parametrize(
    "text",
    [
        b"row,column,delta\n1,2,0.5\n3,4,-1\n",
        b"row,column,delta\r\n1,2,0.5\r\n3,4,-1\r\n",
        b"row,column,delta\n1,2,0.5\n3,4,-1",
        b'\xef\xbb\xbf"delta",note,row,col\n0.5,"a\nb, ""c""\n",1,2\n-1,,"3",4\n',
        b'note,row,column,delta\n"line\r\nbreak",1,2,5e-1\n,3,4,-1.0\n',
    ],
)
def test_lines_may_be_written_in_many_ways(folder, text):
    found = found_in(run(f"{FEW} --seed 5 --json", text))
    wanted = TurnstileSketch(shape=SHAPE, rank=2, epsilon=4.0, delta=1e-6, kind="full", random_state=5)
    assert found["s"] == wanted.update([1, 3], [2, 4], [0.5, -1.0]).factorize().s.tolist()


def test_only_a_header_is_a_matrix_of_zeros(folder):
    found = found_in(run(f"{FEW} --seed 5 --json", HEADER))
    wanted = TurnstileSketch(shape=SHAPE, rank=2, epsilon=4.0, delta=1e-6, kind="full", random_state=5).factorize()
    assert found["s"] == wanted.s.tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"", "X of TurnstileSketch must be a CSV file with a header line"),
        (b"1,2,0.5\n", "X of TurnstileSketch must be a CSV file with a header line of names"),
        (b"row,column\n1,2\n", "updates of TurnstileSketch must be a table with the columns row, column, delta"),
    ],
)
def test_a_stream_without_its_header_is_refused_and_leaves_nothing(folder, given, message):
    result = run(f"{FEW} --out found --checkpoint state", given)
    assert isinstance(result.exception, InvalidParameter) and message in str(result.exception)
    assert not (folder / "found").exists() and not (folder / "state").exists()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"40,1,1", "rows of INPUT must be integers from 0 to 39, with cols from 0 to 29"),
        (b"1,-1,1", "rows of INPUT must be integers from 0 to 39, with cols from 0 to 29"),
        (b"1,1,inf", "deltas of INPUT must be finite"),
        (b"1,1,", "deltas of INPUT must be finite"),
        (b"1,1", "rows of INPUT must be integers from 0 to 39"),  # as a stream that was cut has it
    ],
)
def test_an_update_that_cannot_be_added_is_told_without_numbers(folder, bad, reason):
    result = run(f"{FEW} --out found --checkpoint state", HEADER + b"1,1,0.12345\n" * 50 + bad)
    assert result.exit_code != 0
    line = " ".join(result.output.split())
    assert reason in line and "got" not in line and "0.12345" not in line and "1 other" not in line
    assert "state has the updates before that: --resume goes on" in line and "--on-invalid skip leaves out" in line
    assert not (folder / "found").exists() and (folder / "state").exists()
    found = found_in(run("--resume --checkpoint state --on-invalid skip --json", HEADER + b"1,1,0.12345\n" * 50 + bad))
    assert found["release_"] == 1


def test_without_a_checkpoint_nothing_is_kept_of_what_is_refused(folder):
    result = run(f"{FEW} --json", HEADER + b"40,1,1\n")
    assert result.exit_code != 0 and "nothing of INPUT was kept" in " ".join(result.output.split())


# Options.


def misplaced(given):
    return misplaced_options(given, [TABLE], BY_HAND)


def test_options_are_those_of_the_table():
    assert command.name == "stream" and misplaced(command) == set()
    planted = click.Command("stream", params=[*command.params, click.Option(["--gap"], type=float)])
    assert misplaced(planted) == {"--gap"}
    planted = click.Command("stream", params=[param for param in command.params if param.name != "bound"])
    assert misplaced(planted) == {"--bound"}


def test_every_parameter_reaches_the_sketch(folder, monkeypatch):
    def stop(**parameters):
        raise Reached(parameters)

    monkeypatch.setattr(stream, "find", lambda name: stop)
    needed = ["updates.csv", *required_words(TABLE), "--json"]
    found = CliRunner().invoke(command, needed).exception.values
    assert {key: found[key] for key in defaults_in(TABLE)} == defaults_in(TABLE)
    for key, line in with_options(TABLE).items():
        for words, value in written(key, line):
            assert CliRunner().invoke(command, [*needed, *words]).exception.values[key] == value
    found = CliRunner().invoke(command, [*needed, "--seed", "4"]).exception.values
    assert found["random_state"] == 4 and found["ledger"] is None


@pytest.mark.parametrize("name", ["shape", "rank", "epsilon"])
def test_parameters_are_needed_unless_a_checkpoint_has_them(folder, name):
    words = {"shape": "--shape 40 30", "rank": "--rank 2", "epsilon": "--epsilon 4"}
    line = " ".join(text for key, text in words.items() if key != name)
    result = run(f"updates.csv {line} --json")
    assert result.exit_code == 2 and f"Missing option '--{name}'" in result.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{FEW} --epsilon 0", "epsilon of TurnstileSketch"),
        (f"{FEW} --rank 31", "rank of TurnstileSketch must be at most 30"),
        (f"{FEW} --memory 10", "memory of TurnstileSketch"),
        (f"{FEW} --seed -1", "random_state of TurnstileSketch"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_read(folder, monkeypatch, line, message):
    monkeypatch.setattr(stream, "_open", lambda path: pytest.fail("it was opened"))
    result = run(f"{line} --out found --checkpoint state", HEADER)
    assert isinstance(result.exception, InvalidParameter) and message in str(result.exception)
    assert not (folder / "state").exists()


def test_a_missing_key_is_refused_before_anything_is_read(folder, monkeypatch):
    monkeypatch.setattr(stream, "_open", lambda path: pytest.fail("it was opened"))
    result = run(f"{FEW} --out found --checkpoint state --key-file none", HEADER)
    assert isinstance(result.exception, CheckpointError) and "no key file" in str(result.exception)


def test_help_says_what_is_secret_and_how_to_go_on():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    for part in (
        "IT IS A SECRET, as the data are", "NOT PRIVATE: do not publish them", "hushrank plan stream --help",
        "Components of a factorization. Needed unless --resume.", "not for Parquet", "the same command with --resume",
    ):  # fmt: skip
        assert part in text, part


# Results.


def test_what_is_printed_and_written_is_the_factorization(folder):
    result = run(f"updates.csv {FEW} --out found[1].hush --report page[1].html")
    assert result.exit_code == 0, result.exception
    found, text = hushrank.load("found[1].hush"), " ".join(result.output.split())
    assert isinstance(found, Factorization) and found.s[0] > 100
    assert f"private factorization of a 40 x 30 matrix: {found.n_significant_} of 2 components stand" in text
    assert [row[:2] for row in rows(result.output)] == [[str(i + 1), f"{value:.4g}"] for i, value in enumerate(found.s)]
    assert f"{int(100 * found.strength_[0]) / 100:.2f}" == rows(result.output)[0][2]
    assert "delta=1e-06, neighbors=add_remove, unit=entry" in text and "release 2" not in text
    assert "factorization written to found[1].hush" in text and "report written to page[1].html" in text
    page = (folder / "page[1].html").read_text()
    assert "A private factorization" in page and f"{found.s[0]:.3g}" in page


def test_components_below_the_noise_are_called_noise(folder):
    result = run(f"{FEW} --epsilon 0.1 --seed 5 --out found", HEADER)
    assert result.exit_code == 0, result.exception
    values = hushrank.load("found").s
    assert [row[1:] for row in rows(result.output)] == [["0", "-", "noise"]] * 2
    assert not values.any() and "0 of 2 components" in " ".join(result.output.split())


def test_the_premise_is_printed(folder):
    line = f"updates.csv {FEW} --unit user --user-totals promised --out found"
    assert "PROVIDED THAT the caller keeps the L1 total" in " ".join(run(line).output.split())


def test_the_ledger_is_charged_once_and_refuses_before_reading(folder, monkeypatch):
    with Ledger("budget.db") as ledger:
        ledger.create("updates", epsilon=5.0, delta=1e-6, neighbors="add_remove", unit="entry")
        line = f"updates.csv {FEW} --out found --ledger budget.db --dataset updates"
        assert run(line).exit_code == 0 and len(ledger["updates"].history()) == 2
        before = (folder / "found").read_bytes()
        monkeypatch.setattr(stream, "_open", lambda path: pytest.fail("it was opened"))
        assert "--out found exists already. --force replaces it." in run(line).output
        line = f"{line} --force"
        assert isinstance(run(line).exception, BudgetExceeded)
        assert (folder / "found").read_bytes() == before and len(ledger["updates"].history()) == 2
        result = run(f"{line} --unit user")
        assert isinstance(result.exception, InvalidParameter) and "'entry', for which data set" in str(result.exception)
        result = run(f"{line} --dataset others")
        assert isinstance(result.exception, LedgerError)


@pytest.fixture
def account(folder):
    with Ledger("budget.db") as ledger:
        yield ledger.create("updates", epsilon=9.0, delta=1e-7, neighbors="add_remove", unit="entry")


CHARGED = "--shape 40 30 --rank 2 --epsilon 1 --ledger budget.db --dataset updates"


def test_the_account_brings_its_delta_and_keeps_a_note(account, capsys):
    command.main(f"updates.csv {CHARGED} --note monday --json".split(), standalone_mode=False)
    out, err = capsys.readouterr()
    assert json.loads(out)["privacy_"]["delta"] == 1e-7 and account.last().note.endswith("; monday")
    assert err.startswith("hushrank: budget spent: epsilon = 1 at delta = 1e-7 of 'updates'; left: at most epsilon = ")
    given = json.loads(run(f"updates.csv {CHARGED} --delta 1e-8 --json --quiet").stdout)["privacy_"]["delta"]
    assert given == 1e-8
    result = run(f"updates.csv {CHARGED} --out found")
    assert "budget spent: epsilon = 1 at delta = 1e-7" in result.output


@pytest.mark.parametrize("error", [stream_run.Stopped(), CheckpointError("no disk"), MemoryError()])
def test_an_end_after_the_charge_says_what_was_spent(account, folder, monkeypatch, capsys, error):
    def fail(*_, **__):
        raise error

    if isinstance(error, CheckpointError):  # the release was made, and nobody may see it
        monkeypatch.setattr(stream_run.Keeper, "save", lambda self: fail() if self.sketch.n_releases else None)
    else:
        monkeypatch.setattr(TurnstileSketch, "_learn", fail)
    try:
        command.main(f"updates.csv {CHARGED} --out found".split(), standalone_mode=False)
        pytest.fail("it went on")
    except BaseException as raised:
        out, err = capsys.readouterr()
        said = err if isinstance(error, stream_run.Stopped) else "\n".join(raised.__notes__)
        assert (getattr(raised, "code", None) == 130) == isinstance(error, stream_run.Stopped)
    assert account.last().number == 1 and not (folder / "found").exists()
    assert "budget was spent: epsilon = 1 at delta = 1e-7 of 'updates'; left: at most " in said and out == ""


def test_a_factorization_that_cannot_be_written_is_written_elsewhere(account, folder, monkeypatch, capsys):
    (folder / "gone").mkdir()
    real = TurnstileSketch._learn
    monkeypatch.setattr(TurnstileSketch, "_learn", lambda *given: ((folder / "gone").rmdir(), real(*given))[1])
    with pytest.raises(click.ClickException, match="THE FACTORIZATION IS IN") as raised:
        command.main(f"updates.csv {CHARGED} --out gone/found --json".split(), standalone_mode=False)
    assert "found-2" in raised.value.format_message() and hushrank.load("found-2").release_ == 1
    assert json.loads(capsys.readouterr().out)["release_"] == 1


def test_a_state_with_noise_is_charged_when_it_starts(folder):
    with Ledger("budget.db") as ledger:
        ledger.create("updates", epsilon=9.0, delta=1e-6, neighbors="add_remove", unit="entry")
        line = f"updates.csv {FEW} --pan-private --checkpoint state --ledger budget.db --dataset updates"
        assert run(f"{line} --no-factorize").exit_code == 0 and len(ledger["updates"].history()) == 2
        assert run(f"{line} --resume --out found").exit_code == 0 and len(ledger["updates"].history()) == 3


# Checkpoints.


def test_collect_day_by_day_and_release(folder):
    pa.csv.write_csv(UPDATES.slice(0, 1800), "day1.csv")
    pa.csv.write_csv(UPDATES.slice(1800, 700), "day2.csv")
    pq.write_table(UPDATES.slice(2500), "day3.parquet")
    make_key_file("key")
    result = run(f"day1.csv {FEW} --seed 5 --no-factorize --checkpoint state --checkpoint-every 500 --key-file key")
    assert result.exit_code == 0 and "updates collected in state, a SECRET as the data are" in result.output
    line = "--resume --checkpoint state --key-file key --quiet"
    assert run(f"day2.csv {line} --continues --no-factorize").exit_code == 0
    assert run(f"day2.csv {line} --no-factorize").exit_code == 0  # given again, it adds nothing
    assert run(f"day3.parquet {line} --continues --no-factorize").exit_code == 0
    found = found_in(run(f"{line} --continues --json", b""))
    assert found["s"] == expected().s.tolist() and found["U"] == expected().U.tolist()
    assert TurnstileSketch.load("state", key="key").position == {"n_updates": N, "offset": None}
    with pytest.raises(CheckpointError):
        TurnstileSketch.load("state")


def test_each_release_of_one_checkpoint_counts_all(folder):
    line = "--checkpoint state --quiet --json"
    first = found_in(run(f"updates.csv {FEW} {line}"))
    refused = run(f"updates.csv --resume {line}")
    assert refused.exit_code == 2 and "Nothing new was read since the last release" in refused.output
    second = found_in(run(f"updates.csv --resume --again {line}"))
    assert (first["release_"], second["release_"]) == (1, 2)
    assert second["privacy_"]["epsilon"] > first["privacy_"]["epsilon"]
    result = run("updates.csv --resume --again --checkpoint state --out found --quiet")
    assert "release 3 of one sketch: the guarantee is that of all of them together" in result.output


@pytest.mark.parametrize("place", ["--out", "--report", "--json"])
def test_nothing_is_shown_before_the_checkpoint_counts_it(folder, monkeypatch, place):
    save = TurnstileSketch.save

    def full(self, *args, **terms):
        if self._held is not None and self._held.n_releases:
            raise CheckpointError("cannot write state: No space left on device.")
        save(self, *args, **terms)

    monkeypatch.setattr(TurnstileSketch, "save", full)
    places = {"--out": "--out found", "--report": "--out found --report page", "--json": "--json"}
    result = run(f"updates.csv {FEW} --checkpoint state {places[place]}")
    assert isinstance(result.exception, CheckpointError) and result.stdout == ""
    assert not (folder / "found").exists() and not (folder / "page").exists()


def test_parameters_of_a_checkpoint_cannot_be_contradicted(folder):
    assert run(f"updates.csv {FEW} --seed 5 --checkpoint state --no-factorize").exit_code == 0
    line = "updates.csv --resume --checkpoint state --no-factorize --quiet"
    for same in ("--shape 40 30 --rank 2", "--epsilon 4.0", "--seed 5", "--on-invalid skip", "--no-pan-private", FEW):
        assert run(f"{line} {same}").exit_code == 0, same
    for other in ("--shape 40 31", "--rank 3", "--epsilon 4.5", "--seed 6", "--unit user", "--sketch-sizes 5 6",
                  "--pan-private", "--memory 1000000", "--neighbors replace", "--bound 2"):  # fmt: skip
        result = run(f"{line} {other}")
        assert result.exit_code == 2 and f"{other.split()[0]} contradicts the checkpoint" in result.output
    result = run("updates.csv --resume --checkpoint none --json")
    assert isinstance(result.exception, CheckpointError) and "No such file" in str(result.exception)


def test_a_checkpoint_is_not_overwritten_and_another_input_is_noticed(folder):
    assert run(f"updates.csv {FEW} --checkpoint state --no-factorize").exit_code == 0
    before = (folder / "state").read_bytes()
    for line, message in [
        (f"updates.csv {FEW} --checkpoint state --no-factorize", "would be overwritten: --resume goes on with it"),
        ("updates.csv --resume --continues --checkpoint state --json", "is in the checkpoint: without --continues"),
        ("- --resume --checkpoint state --json", "INPUT is not the one that the checkpoint was made from"),
        ("updates.parquet --resume --checkpoint state --json", "With --continues all of INPUT is added"),
    ]:
        result = run(line, HEADER + b"1,1,1\n" * N)
        assert result.exit_code == 2 and message in " ".join(result.output.split()), line
    assert (folder / "state").read_bytes() == before


def test_a_checkpoint_of_tables_goes_on_with_another_input_only(folder):
    assert run(f"parts {FEW} --checkpoint state --no-factorize").exit_code == 0
    line = "updates.csv --resume --checkpoint state --no-factorize --quiet"
    assert "is not from a stream" in " ".join(run(line).output.split())
    assert run(f"{line} --continues").exit_code == 0
    assert TurnstileSketch.load("state").position["n_updates"] == 2 * N
    assert run(line).exit_code == 0  # now it is the last input
    assert TurnstileSketch.load("state").position["n_updates"] == 2 * N


# Notes, progress and signals.


@pytest.mark.parametrize(("flag", "level"), [("", 1), ("--quiet", 0), ("--verbose", 1)])
@pytest.mark.parametrize(("source", "total"), [("updates.csv", "bytes"), ("parts", N), ("-", None)])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_is_for_terminals_and_has_no_numbers(folder, monkeypatch, flag, level, source, total, is_terminal):
    seen, show = [], progress.show_progress
    monkeypatch.setattr(stream, "show_notes", lambda quiet, verbose: is_terminal * (0 if quiet else 1 + verbose))

    def watched(*terms):
        seen.append(terms)
        return show(terms[0], terms[1], 0)

    monkeypatch.setattr(progress, "show_progress", watched)
    words = FEW.replace("--quiet", flag)
    assert run(f"{source} {words} --out found", HEADER + b"1,1,1\n").exit_code == 0
    n_bytes = (folder / "updates.csv").stat().st_size
    known = (n_bytes if total == "bytes" else total) if flag == "--verbose" else None  # how many there are is secret
    assert seen == [(known, "reading updates", level * is_terminal)]


def test_numbers_are_for_those_who_ask_and_are_marked(folder, caplog):
    caplog.set_level(logging.INFO, logger="hushrank")
    given = HEADER + b"1,1,1\n" * 1234 + b"99,1,1\n" * 56
    result = run(f"{FEW} --on-invalid skip --out found", given)
    assert result.exit_code == 0 and "1,290" not in result.output
    assert [record.getMessage() for record in caplog.records] == [
        "Not private: 1,290 updates were read so far; 56 of this run were left out."
    ]


def test_a_signal_leaves_a_checkpoint_and_a_line_how_to_go_on(folder, monkeypatch):
    original, calls = TurnstileSketch.update_chunk, []

    def interrupted(self, chunk):
        calls.append(len(chunk))
        if len(calls) == 3:
            signal.raise_signal(signal.SIGTERM)
        return original(self, chunk)

    monkeypatch.setattr(TurnstileSketch, "update_chunk", interrupted)
    result = run(f"updates.csv {FEW} --seed 5 --checkpoint state --checkpoint-every 400 --out found")
    assert result.exit_code == INTERRUPTED and not (folder / "found").exists()
    assert result.output.startswith("hushrank: stopped; state has the updates before that: --resume goes on")
    assert TurnstileSketch.load("state").position["n_updates"] == sum(calls) == 1200
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "keys"))
    assert found_in(run(f"{folder}/updates.csv --resume --checkpoint {folder}/state --json"))["s"] == (
        expected().s.tolist()
    )


@pytest.mark.parametrize("source", ["parts", "updates.csv"])
def test_a_signal_without_a_checkpoint_keeps_nothing(folder, monkeypatch, source):
    monkeypatch.setattr(TurnstileSketch, "update_chunk", lambda self, chunk: signal.raise_signal(signal.SIGINT))
    result = run(f"{source} {FEW} --out found")
    assert result.exit_code == INTERRUPTED and result.output == "hushrank: stopped; nothing of INPUT was kept\n"


def test_an_input_that_cannot_be_read_is_one_line(folder, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(folder), "open", refuse)
    result = run(f"updates.csv {FEW} --out found")
    assert result.exit_code != 0 and "cannot read updates.csv: Permission denied" in result.output


# As a process.


def in_a_process(folder, line, **terms):
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "keys")}
    command_line = [sys.executable, "-m", "hushrank", "stream", *line.split()]
    return subprocess.run(command_line, cwd=folder, env=environment, capture_output=True, check=False, **terms)


def test_exit_codes_and_single_lines(folder):
    with Ledger("budget.db") as ledger:
        ledger.create("updates", epsilon=1.0, delta=1e-6, neighbors="add_remove", unit="entry")
    few = FEW.replace("--quiet", "")
    for line, code, given, message in [
        (f"updates.csv {few} --json --ledger budget.db --dataset updates", 3, b"", b"budget exceeded"),
        (f"{few} --json", 2, HEADER + b"99,1,1\n", b"rows of INPUT must be integers from 0 to 39"),
    ]:
        done = in_a_process(folder, line, input=given)
        assert (done.returncode, done.stdout) == (code, b"")
        assert message in done.stderr and done.stderr.count(b"\n") == 1 and done.stderr.startswith(b"hushrank: ")
    done = in_a_process(folder, f"{few} --json --seed 5 --verbose", input=(folder / "updates.csv").read_bytes())
    assert done.returncode == 0 and json.loads(done.stdout)["s"] == expected().s.tolist()
    assert done.stderr == b"Not private: 3,000 updates were read so far; 0 of this run were left out.\n"


def test_a_closed_standard_input_is_one_line(folder):
    done = in_a_process(folder, f"{FEW} --json", preexec_fn=lambda: os.close(0))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"hushrank: Standard input is closed. Give INPUT.") and done.stderr.count(b"\n") == 1


def test_a_terminal_shows_a_bar_without_numbers_of_updates(folder):
    ours, theirs = os.openpty()
    line = f"updates.csv {FEW.replace('--quiet', '')} --checkpoint state --no-factorize"
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "keys"), "TERM": "xterm", "COLUMNS": "100"}
    command_line = [sys.executable, "-m", "hushrank", "stream", *line.split()]
    done = subprocess.run(command_line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    shown = b""
    while piece := _read_terminal(ours):
        shown += piece
    os.close(ours)
    assert b"reading updates" in shown and b"%" not in shown  # how many there are is secret
    assert b"3000" not in shown and b"3,000" not in shown and b"updates collected" in done.stdout


def _read_terminal(descriptor):
    try:
        return os.read(descriptor, 2**16)
    except OSError:  # the other end is closed
        return b""
