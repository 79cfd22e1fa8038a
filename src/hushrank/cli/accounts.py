"""The account that a command charges: its options, the delta that it brings, and what is said about it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from hushrank.cli.options import Decorator, options
from hushrank.privacy.charging import SPENT
from hushrank.registry import find


def _account_options(help: str) -> Decorator:
    return options(
        click.option("--ledger", "ledger_address", type=click.Path(), help=help),
        click.option("--dataset", help="Name of the data set in the ledger."),
    )


LOOK_OPTIONS = _account_options("Ledger to look at: a file or a database URL. Needs --dataset.")
LEDGER_OPTIONS = options(
    _account_options("Ledger to charge: a file or a database URL. Needs --dataset."),
    click.option("--note", metavar="TEXT", help="What the release is for; kept in the history of the ledger."),
)


COMMANDS_OF_UNITS = {
    "row": "pca, covariance, lowrank, stream --unit row --kind full",
    "user": "complete, personalize, evaluate, stream --unit user",
    "record": "trace",
    "label": "trace --privacy label",
    "entry": "stream",
    "rank1": "stream --unit rank1 --kind full",
    "frobenius": "stream --unit frobenius --kind full",
}
"""Which commands charge a data set of each unit; the cost of a random sketch is no sum, so that no ledger has it."""


def check_ledger_options(address: str | None, dataset: str | None, note: str | None) -> None:
    """Refuse options that do not go together."""
    if (address is None) != (dataset is None):
        raise click.UsageError("--ledger and --dataset go together.")
    if note is not None and address is None:
        raise click.UsageError("--note is kept in a ledger: give --ledger and --dataset as well.")


def open_account(address: str | None, dataset: str | None, note: str | None) -> Any:
    """The account to charge, which keeps the note; None without a ledger."""
    check_ledger_options(address, dataset, note)
    if address is None:
        return None
    account = find("Ledger")(address)[dataset]
    return account if note is None else account.with_note(note)


def ledger_files(address: str | None) -> list[Path]:
    """Files that a ledger lives in, which no result may overwrite: none without a ledger, or on a server."""
    if address is None:
        return []
    from hushrank.privacy.ledger.address import open_store  # SQLAlchemy, which a command without a ledger does not need

    place = open_store(address).address
    return [] if "://" in place else [Path(f"{place}{suffix}") for suffix in ("", "-journal", "-wal", "-shm")]


def is_given(name: str) -> bool:
    """Whether an option of the running command was written down, and is no default."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def choose_delta(delta: float | None, account: Any) -> float:
    """The delta that was given, or that of the account, or the default; click.MissingParameter where there is none."""
    if account is not None and not is_given("delta"):
        return float(account.budget.delta)
    if delta is None:
        raise click.MissingParameter(
            ctx=click.get_current_context(silent=True), param_hint="'--delta'", param_type="option"
        )
    return delta


def tell_account(account: Any, *, as_json: bool, quiet: bool) -> None:
    """One line about what this run has spent and what is left: on stdout, or on stderr where that is for machines."""
    if account is None:
        return
    line = f"budget spent: {account.say_spent()}"
    if not as_json:
        click.echo(line)
    elif not quiet:
        click.echo(f"hushrank: {line}", err=True)


@contextmanager
def saying_spent(account: Any) -> Iterator[None]:
    """Let whatever ends the body say what this run has spent, unless it says so already."""
    try:
        yield
    except BaseException as error:
        if account is not None and account.has_charged and not spent_notes(error):
            error.add_note(f"{SPENT}{account.say_spent()}")
        raise


def spent_notes(error: BaseException | None) -> list[str]:
    """What an error, or one that it came from, says about budget that was spent before it."""
    found: list[str] = []
    while error is not None:
        found += [note for note in getattr(error, "__notes__", ()) if note.startswith("budget ") and note not in found]
        error = error.__cause__ or error.__context__
    return found


@contextmanager
def telling_warnings(quiet: bool) -> Iterator[None]:
    """Show warnings as lines on stderr at once: one about a charge is read before that is made."""

    def tell(message: Any, *_: Any, **__: Any) -> None:
        if not quiet:
            click.echo(f"hushrank: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell
        yield
