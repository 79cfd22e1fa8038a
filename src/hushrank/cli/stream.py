"""`hushrank stream`: a private factorization of a matrix from a stream of its updates, through crashes."""

import io
import os
import stat
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hushrank.archive.file_lock import sole_run
from hushrank.cli.accounts import (
    LEDGER_OPTIONS,
    choose_delta,
    open_account,
    saying_spent,
    tell_account,
    telling_warnings,
)
from hushrank.cli.checking import CHECK_OPTION
from hushrank.cli.fit import SEED_AND_QUIET_OPTIONS, show_notes
from hushrank.cli.groups import HelpWhenBare
from hushrank.cli.main import INTERRUPTED, fail
from hushrank.cli.messages import about_file
from hushrank.cli.options import DELTA_OF_ACCOUNT, JSON_OPTION, may_be_left_out, options, table_options
from hushrank.cli.stream_results import publish
from hushrank.cli.stream_terms import Terms
from hushrank.cli.writing import FORCE_OPTION
from hushrank.exceptions import BudgetExceeded
from hushrank.parameters import Param
from hushrank.privacy.cautions import warn_before_charge
from hushrank.registry import find, planner

if TYPE_CHECKING:
    from hushrank.cli.stream_run import Keeper, StopSignals

CHECKPOINT_EVERY = 1_000_000
_LABEL = "reading updates"
MAY_CHANGE = "on_invalid"
"""The one parameter that a resumed run may have another value of: nothing that was added depends on it."""

TABLE: dict[str, Param] = planner("TurnstileSketch").parameter_table()


def _as_option(name: str, line: Param) -> Param:
    """A line whose option may be left out; that it is needed without a checkpoint is checked by the command."""
    if name == "delta":
        return may_be_left_out(line, DELTA_OF_ACCOUNT)
    return may_be_left_out(line, "Needed unless --resume.") if line.default is ... else line


def _file(name: str, text: str) -> Any:
    return click.option(name, type=click.Path(dir_okay=False, path_type=Path), help=text)


PARAMETER_OPTIONS = table_options({name: _as_option(name, line) for name, line in TABLE.items()})
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
    CHECK_OPTION,
    _file("--out", "Factorization to write."),
    _file("--report", "HTML page to write about it."),
    FORCE_OPTION,
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


@click.command("stream", cls=HelpWhenBare)
@click.argument("source", metavar="[INPUT]", type=click.Path(), required=False)
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
    What it would do to a file of updates, before anything is charged: --check
    """
    parameters = {name: values.pop(name) for name in TABLE if name in values}
    if values.pop("is_check"):
        from hushrank.cli.stream_check import check_stream

        return check_stream(source, parameters, values)
    terms = Terms(source, **values)
    terms.check()
    level = show_notes(terms.quiet, terms.verbose)
    given = [name for name in parameters if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    with sole_run(terms.checkpoint), telling_warnings(terms.quiet):
        sketch = open_sketch(terms, parameters, given)
        found = run(terms, sketch, level)
    if found is None:
        click.echo(f"updates collected in {terms.checkpoint}, a SECRET as the data are: --resume goes on with it")
    if sketch.ledger is not None and sketch.ledger.has_charged:
        tell_account(sketch.ledger, as_json=terms.as_json, quiet=terms.quiet)


def open_sketch(terms: Terms, parameters: dict[str, Any], given: list[str]) -> Any:
    """A new sketch, or that of the checkpoint, whose parameters must not contradict those that were given."""
    kind = find("TurnstileSketch")
    account = open_account(terms.ledger_address, terms.dataset, terms.note)
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
        if account is not None:
            parameters["delta"] = choose_delta(parameters["delta"], account)
        sketch = kind(**parameters, random_state=terms.seed, ledger=account)
    sketch.plan()  # checks all parameters
    is_noisy_start = sketch.pan_private and not terms.resume  # which is charged before anything is read
    if account is not None and (is_noisy_start or not terms.no_factorize):
        check_affordable(sketch, terms.resume)
    return sketch


def _take_over(sketch: Any, name: str, value: Any) -> None:
    if name == MAY_CHANGE:
        sketch.on_invalid = value
    elif TABLE[name].to_json(value) != TABLE[name].to_json(getattr(sketch, name)):
        option = "--seed" if name == "random_state" else f"--{name.replace('_', '-')}"
        raise click.UsageError(f"{option} contradicts the checkpoint. Leave it out: --resume knows all parameters.")


def check_affordable(sketch: Any, resumes: bool) -> None:
    """Refuse a release that the ledger will refuse, before hours of reading; what is spent meanwhile nobody knows."""
    try:
        sketch._check_payable()
    except BudgetExceeded as refusal:
        warn_before_charge(sketch._check_parameters())  # as it is where the release itself is refused
        if not resumes:
            raise
        words, _, _ = refusal.words.partition("; accepted: ")  # a checkpoint has its epsilon for life
        raise BudgetExceeded(refusal.asked, refusal.left, refusal.currency, words) from None


def run(terms: Terms, sketch: Any, level: int) -> Any:
    """Collect, then release unless that was not asked for; what was written and printed is returned."""
    from hushrank.archive.seal_keys import load_key
    from hushrank.cli.stream_run import Checkpoint, Keeper, Position, Refused, Stopped, StopSignals

    checkpoint = None
    if terms.checkpoint is not None:
        load_key(terms.key_file)  # or a refusal, before anything is read
        checkpoint = Checkpoint(terms.checkpoint, terms.key_file, terms.checkpoint_every or CHECKPOINT_EVERY)
    keeper = Keeper(sketch, Position.from_dict(sketch.position), checkpoint)
    try:
        with StopSignals() as stop, saying_spent(sketch.ledger):
            with about_file(None if terms.source == "-" else terms.source):
                _collect(terms, keeper, stop, min(level, 1))
            keeper.tell()
            stop.check()
            if terms.no_factorize:
                return None
            if sketch.n_releases and not keeper.has_news and not terms.again:
                raise click.UsageError("Nothing new was read since the last release. To pay for another: --again.")
            found = keeper.factorize(stop)
            publish(terms, found)
            return found
    except Stopped as stopped:
        keeper.tell()
        fail(f"stopped; {terms.kept()}", INTERRUPTED, stopped)
    except Refused as refusal:
        keeper.tell()
        advice = "--on-invalid skip leaves out what is outside of the matrix or not finite"
        raise click.ClickException(f"{refusal}; {terms.kept()} ({advice})") from refusal


def _collect(terms: Terms, keeper: "Keeper", stop: "StopSignals", level: int) -> None:
    """Add all updates of the input."""
    from hushrank.cli.stream_run import add_tables, check_not_read, open_stream, read_stream, read_tables
    from hushrank.engine.progress import show_progress

    path = terms.path
    if terms.has_tables:
        updates = read_tables(str(terms.source), keeper)
        with show_progress(updates.n_samples if terms.verbose else None, _LABEL, level) as advance:
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
        with show_progress(_size_of(file) if terms.verbose else None, _LABEL, level) as advance:
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
