"""`hushrank stream`: a private factorization of a matrix from a stream of its updates, through crashes."""

import io
import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.markup import escape

from hushrank.archive.file_lock import sole_run
from hushrank.cli.fit import LEDGER_OPTIONS, SEED_AND_QUIET_OPTIONS, show_notes
from hushrank.cli.main import INTERRUPTED, fail
from hushrank.cli.options import JSON_OPTION, options, table_options
from hushrank.cli.stream_terms import Terms
from hushrank.cli.tables import make_table
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param
from hushrank.registry import find, planner

if TYPE_CHECKING:
    from hushrank.cli.stream_run import Keeper, StopSignals

CHECKPOINT_EVERY = 1_000_000
_LABEL = "reading updates"
MAY_CHANGE = "on_invalid"
"""The one parameter that a resumed run may have another value of: nothing that was added depends on it."""

TABLE: dict[str, Param] = planner("TurnstileSketch").parameter_table()


def _as_option(line: Param) -> Param:
    """A line whose option may be left out; that it is needed without a checkpoint is checked by the command."""
    return replace(line, default=None, help=f"{line.help} Needed unless --resume.") if line.default is ... else line


def _file(name: str, text: str) -> Any:
    return click.option(name, type=click.Path(dir_okay=False, path_type=Path), help=text)


PARAMETER_OPTIONS = table_options({name: _as_option(line) for name, line in TABLE.items()})
CHECKPOINT_OPTIONS = options(
    _file("--checkpoint", "File for the state, to go on from after a crash. IT IS A SECRET, as the data are."),
    click.option(
        "--checkpoint-every",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Updates between checkpoints, at least; not for Parquet. Default: {CHECKPOINT_EVERY:,}.",
    ),
    click.option("--resume", is_flag=True, help="Go on from the checkpoint, after what is in it of INPUT."),
    click.option("--continues", is_flag=True, help="With --resume: nothing of INPUT is in the checkpoint, all is new."),
    _file("--key-file", "Key of the checkpoint's seal. Default: your own, made when it is first needed."),
)
RUN_OPTIONS = options(
    _file("--out", "Factorization to write."),
    _file("--report", "HTML page to write about it."),
    click.option("--no-factorize", is_flag=True, help="Only collect, for a later run; nothing is released."),
    click.option("--again", is_flag=True, help="Release again, though nothing new was read since the last time."),
    LEDGER_OPTIONS,
    SEED_AND_QUIET_OPTIONS,
    click.option(
        "--verbose",
        is_flag=True,
        help="Notes for the data holder on stderr: how many updates there are, and how many were left out. NOT "
        "PRIVATE: do not publish them.",
    ),
    JSON_OPTION,
)


@click.command("stream")
@click.argument("source", metavar="[INPUT]", required=False)
@PARAMETER_OPTIONS
@CHECKPOINT_OPTIONS
@RUN_OPTIONS
@click.pass_context
def command(context: click.Context, /, source: str | None, **values: Any) -> None:
    """Private factorization of a matrix from a stream of its updates.

    INPUT is a CSV file or, if it is - or left out, standard input, with a line row,column,delta (and user, for --unit
    user) for every update, after a line of these names. Rows and columns count from 0. Updates are read as they come,
    nothing of them is kept but a sketch of fixed size, and a private factorization of their sum is released at the
    end. A Parquet file or a folder of them is added as a whole. Large updates are clipped, see --clip.

    With --checkpoint a run that is stopped or killed can be gone on with: the same command with --resume, which needs
    no parameters again, reads INPUT from its start and passes over what is in the checkpoint. With --resume
    --continues INPUT has only what is new, such as the file of another day or the rest of a queue; an empty one
    (< /dev/null) releases what was collected. Each release costs anew, and the guarantee counts all of one checkpoint.

    \b
    Examples:
      producer | hushrank stream --shape 50000 20000 --rank 10 --epsilon 1 --delta 1e-6 --out factors.hush
      hushrank stream day1.csv --shape 50000 20000 --rank 10 --epsilon 1 --delta 1e-6 \\
               --checkpoint state.hck --no-factorize
      hushrank stream day2.csv --resume --continues --checkpoint state.hck --out factors.hush --report page.html
      hushrank stream clicks/ --shape 9000 800 --rank 5 --unit user --epsilon 2 --delta 1e-6 --json

    \b
    What it will cost, before any data are read: hushrank plan stream --help
    """
    parameters = {name: values.pop(name) for name in TABLE if name in values}
    terms = Terms(source, **values)
    terms.check()
    level = show_notes(terms.quiet, terms.verbose)
    given = [name for name in parameters if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    with sole_run(terms.checkpoint):
        found = run(terms, open_sketch(terms, parameters, given), level)
    if found is None:
        click.echo(f"updates collected in {terms.checkpoint}, a SECRET as the data are: --resume goes on with it")
    elif terms.as_json:
        click.echo(json.dumps(to_json(found)))
    else:
        console = Console(highlight=False)
        for part in describe(found):
            console.print(part)
        console.print(f"[bold]guarantee[/bold]: {escape(str(found.privacy_))}", soft_wrap=True)
        for name, place in (("factorization", terms.out), ("report", terms.report)):
            if place is not None:
                console.print(f"{name} written to {escape(str(place))}", soft_wrap=True)


def open_sketch(terms: Terms, parameters: dict[str, Any], given: list[str]) -> Any:
    """A new sketch, or that of the checkpoint, whose parameters must not contradict those that were given."""
    kind = find("TurnstileSketch")
    account = None if terms.ledger_address is None else find("Ledger")(terms.ledger_address)[terms.dataset]
    if terms.resume:
        sketch = kind.load(terms.checkpoint, key=terms.key_file)
        seed = {} if terms.seed is None else {"random_state": terms.seed}
        for name, value in {**{name: parameters[name] for name in given}, **seed}.items():
            _take_over(sketch, name, value)
        sketch.ledger = account
        if sketch.is_charged and account is None and not terms.no_factorize:
            raise click.UsageError("The checkpoint was charged to a ledger: give --ledger and --dataset again.")
    else:
        for name, value in parameters.items():
            if value is None and TABLE[name].default is ...:
                raise click.MissingParameter(param_hint=f"'--{name}'", param_type="option")
        sketch = kind(**parameters, random_state=terms.seed, ledger=account)
    event = sketch.plan().guarantee.event  # checks all parameters
    if account is not None and not terms.no_factorize and not sketch.pan_private:  # which is charged before it reads
        check_affordable(sketch, account, event)
    return sketch


def _take_over(sketch: Any, name: str, value: Any) -> None:
    if name == MAY_CHANGE:
        sketch.on_invalid = value
    elif TABLE[name].to_json(value) != TABLE[name].to_json(getattr(sketch, name)):
        option = "--seed" if name == "random_state" else f"--{name.replace('_', '-')}"
        raise click.UsageError(f"{option} contradicts the checkpoint. Leave it out: --resume knows all parameters.")


def check_affordable(sketch: Any, account: Any, event: Any) -> None:
    """Refuse a release that the ledger will refuse, before hours of reading; what is spent meanwhile nobody knows."""
    for name in ("neighbors", "unit"):
        fixed = getattr(account.budget, name)
        if fixed != getattr(sketch, name):
            requirement = f"{fixed.value!r}, for which data set {account.name!r} was created"
            raise InvalidParameter("TurnstileSketch", name, requirement, getattr(sketch, name))
    account.terms.total_after(account.last().spent, account.terms.cost(event))


def run(terms: Terms, sketch: Any, level: int) -> Any:
    """Collect, then release unless that was not asked for; what was written to the places of `terms` is returned."""
    from hushrank.archive.seal_keys import load_key
    from hushrank.cli.stream_run import Checkpoint, Keeper, Position, Refused, Stopped, StopSignals

    checkpoint = None
    if terms.checkpoint is not None:
        load_key(terms.key_file)  # or a refusal, before anything is read
        checkpoint = Checkpoint(terms.checkpoint, terms.key_file, terms.checkpoint_every or CHECKPOINT_EVERY)
    keeper = Keeper(sketch, Position.from_dict(sketch.position), checkpoint)
    try:
        with StopSignals() as stop:
            _collect(terms, keeper, stop, min(level, 1))
            keeper.tell()
            stop.check()
            if terms.no_factorize:
                return None
            if sketch.n_releases and not keeper.has_news and not terms.again:
                raise click.UsageError("Nothing new was read since the last release. To pay for another: --again.")
            found = keeper.factorize(stop)
            _write(terms, found)
            return found
    except Stopped:
        keeper.tell()
        fail(f"stopped; {_kept(terms)}", INTERRUPTED)
    except Refused as refusal:
        keeper.tell()
        advice = "--on-invalid skip leaves out what is outside of the matrix or not finite"
        raise click.ClickException(f"{refusal}; {_kept(terms)} ({advice})") from refusal


def _collect(terms: Terms, keeper: "Keeper", stop: "StopSignals", level: int) -> None:
    """Add all updates of the input."""
    from hushrank.cli.stream_run import add_tables, check_not_read, open_stream, read_stream, read_tables
    from hushrank.engine.progress import show_progress

    path = terms.path
    if path is not None and terms.has_tables:
        updates = read_tables(path, keeper)
        with show_progress(updates.n_samples, _LABEL, level) as advance:
            add_tables(updates, keeper, stop, advance)
        return
    if path is not None and terms.continues:
        stop.during(lambda: check_not_read(path, keeper.position))
    with stop.during(lambda: _open(path)) as file:
        if terms.continues and not stop.during(lambda: file.peek(1)):
            return  # nothing new
        replays = terms.resume and not terms.continues
        live = stop.during(lambda: open_stream(file, keeper, replays))
        if not replays:
            keeper.begin(live.offset)
        with show_progress(_size_of(file), _LABEL, level) as advance:
            read_stream(live, keeper, stop, advance)


def _open(path: Path | None) -> AbstractContextManager[io.BufferedReader]:
    """A file of bytes; standard input is left open behind it."""
    if path is not None:
        try:
            return path.open("rb")
        except OSError as error:
            raise click.ClickException(f"cannot read {path}: {error.strerror}.") from error
    file: Any = getattr(sys.stdin, "buffer", None)
    if file is None:
        raise click.UsageError("Standard input is closed. Give INPUT.")
    return nullcontext(file if hasattr(file, "peek") else io.BufferedReader(file))


def _size_of(file: io.BufferedReader) -> int | None:
    """Bytes of an ordinary file, None of what only its end tells."""
    try:
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _kept(terms: Terms) -> str:
    """Where the updates are that were read, for somebody whose run has ended before its time."""
    if terms.has_tables or terms.checkpoint is None or not terms.checkpoint.exists():
        return "nothing of INPUT was kept"
    return (
        f"{terms.checkpoint} has the updates before that: --resume goes on, with INPUT from its start again or, with "
        "--continues, from there"
    )


def _write(terms: Terms, found: Any) -> None:
    from hushrank.report.factorization import factorization_page

    if terms.out is not None:
        found.save(terms.out)
    if terms.report is not None:
        terms.report.write_text(factorization_page(found), encoding="utf-8")


def to_json(found: Any) -> dict[str, Any]:
    """All of a factorization, by the names of its attributes."""
    arrays = {name: getattr(found, name).tolist() for name in ("U", "s", "Vt", "levels_")}
    numbers = {name: getattr(found, name) for name in ("n_above_noise", "n_significant_", "noise_", "release_")}
    return {**arrays, "strength_": found.strength_.tolist(), **numbers, "privacy_": found.privacy_.to_dict()}


def describe(found: Any, titles: Sequence[str] | None = None) -> Iterator[Any]:
    """What a factorization is, and its singular values; with titles, the columns that lead each component."""
    from hushrank.report.factorization import leading_columns, say_floor, stands_out
    from hushrank.report.strengths import say_strength

    stands = stands_out(found)
    n_rows, n_columns = found.shape
    above = f"{stands.sum()} of {found.rank} components stand above the noise"
    yield f"private factorization of a {n_rows} x {n_columns} matrix: {above}"
    yield say_floor(found)
    if found._clip is not None:
        yield f"every update counted for at most {found._clip:g}"
    leads = [] if titles is None else ["leading columns"]
    table = make_table("component", "singular value", "strength", *leads, texts=("leading columns",))
    for i, (value, is_above) in enumerate(zip(found.s, stands, strict=True)):
        told = [f"{value:.4g}", say_strength(found.strength_[i])] if is_above else ["noise", "-"]
        named = [] if titles is None else [escape(leading_columns(found, i, titles)) if is_above else ""]
        table.add_row(str(i + 1), *told, *named, style=None if is_above else "dim")
    yield table
    if found.release_ > 1:
        yield f"release {found.release_} of one sketch: the guarantee is that of all of them together"
