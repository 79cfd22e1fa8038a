"""`hushrank ledger`: set up budgets on disk, look at them, check that nobody changed them."""

import json
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hushrank.cli.accounts import COMMANDS_OF_UNITS
from hushrank.cli.groups import HelpfulGroup
from hushrank.cli.options import BUDGET_OPTIONS, JSON_OPTION, UNIT_OPTION
from hushrank.privacy.cautions import cap_cautions
from hushrank.privacy.ledger import Account, Ledger
from hushrank.privacy.ledger.currency import Amount
from hushrank.privacy.ledger.words import more_like, say_left, say_number

WHERE = click.argument("where", metavar="FILE_OR_URL", type=click.Path())
_BESIDE_A_NAME = 56  # letters of a table that the other columns take, with their words on several lines


@click.group(cls=HelpfulGroup)
def command() -> None:
    """Set up, show and verify privacy budgets on disk.

    FILE_OR_URL is a SQLite file or postgresql://user@host/database.

    \b
    Examples:
      hushrank ledger create budget.db patients-2026 --epsilon 3 --delta 1e-6
      hushrank ledger create budget.db ratings-2026 --epsilon 6 --delta 1e-6 --unit user
      hushrank ledger create budget.db visits-2026 --epsilon 3 --delta 1e-6 --pure 1
      hushrank ledger show budget.db
      hushrank ledger verify budget.db
    """


_ABOUT_CREATE = """Set up a data set; its budget, relation and unit are fixed for life.

The file is made if there is none. A command charges only a data set of its own unit:

\b
""" + "\n".join(f"  {unit + ':':<10} {commands}" for unit, commands in COMMANDS_OF_UNITS.items())


@command.command(help=_ABOUT_CREATE, short_help="Set up a data set with its budget.")
@WHERE
@click.argument("name")
@BUDGET_OPTIONS
@UNIT_OPTION
@click.option(
    "--pure",
    type=float,
    default=0.0,
    show_default=True,
    help="Part of epsilon that is reserved for pure releases; the rest, at delta, is for Gaussian ones.",
)
@JSON_OPTION
def create(where: str, name: str, as_json: bool, **budget: Any) -> None:
    with Ledger(where) as ledger:
        account = ledger.create(name, **budget)
        for caution in cap_cautions(account.budget):
            click.echo(f"hushrank: {caution}", err=True)
        if as_json:
            click.echo(json.dumps({name: describe(account)}))
            return
        for line in say_created(where, account):
            click.echo(line)


@command.command()
@WHERE
@click.argument("name", required=False)
@JSON_OPTION
def show(where: str, name: str | None, as_json: bool) -> None:
    """Caps, what was spent and what is left, of one data set or of all."""
    with Ledger(where) as ledger:
        found = {chosen: describe(ledger[chosen]) for chosen in chosen_names(ledger, name)}
    if as_json:
        click.echo(json.dumps(found))
        return
    table = Table()
    table.add_column("data set", no_wrap=True)
    for title in ("unit, relation", "epsilon", "spent", "left", "charges"):
        table.add_column(title, justify="right" if title == "charges" else "left")
    for dataset, values in found.items():
        delta = f" at delta {say_number(values['cap']['delta'])}" if values["cap"]["delta"] else ""
        delta += f", pure {values['cap']['pure']:.4g} of it" if "pure" in values["cap"] else ""
        spent, left = (_say_part(values[part]) for part in ("spent", "left"))
        counted = f"{values['unit']}, {values['neighbors'].replace('_', ' or ')}"
        table.add_row(
            escape(dataset), counted, f"{values['cap']['epsilon']:.4g}{delta}", spent, left, str(values["charges"])
        )
    console = console_for(found)
    console.print(table)
    for dataset, values in found.items():
        console.print(f"{escape(dataset)}: {values['left_in_words']}", soft_wrap=True)
    if any(values["currency"] == "gdp" for values in found.values()):
        console.print(
            "Where delta > 0, mu^2 adds up and epsilon does not: spent and left are what each would be worth alone."
        )


@command.command()
@WHERE
@click.argument("name")
@JSON_OPTION
def history(where: str, name: str, as_json: bool) -> None:
    """Every charge of a data set, in order.

    With --json also the event, key and hash of each.
    """
    with Ledger(where) as ledger:
        account = ledger[name]
        entries = account.history()
    if as_json:
        click.echo(json.dumps({"dataset": name, "entries": [entry.to_dict() for entry in entries]}))
        return
    terms = account.terms
    table = Table()
    for title in ("", "date", "epsilon", "total"):
        table.add_column(title, justify="left" if title == "date" else "right", no_wrap=True)
    table.add_column("note", overflow="fold")
    for entry in entries:
        parts = [
            values_of(terms.spent_amount(sums.main, sums.pure), bool(terms.pure)) for sums in (entry.paid, entry.total)
        ]
        note = "created" if entry.event is None else escape(entry.note)
        table.add_row(str(entry.number), entry.time[:10], *map(_say_part, parts), note)
    console = console_for(())
    console.print(table)
    if terms.budget.delta:
        at = f"epsilon and total are at delta = {say_number(terms.budget.delta)}"
        console.print(f"{at}, where mu^2 adds up and epsilon does not.", soft_wrap=True)


@command.command()
@WHERE
@click.argument("name", required=False)
@click.option("--head", help="A hash noted earlier; it must still occur in the history of NAME.")
def verify(where: str, name: str | None, head: str | None) -> None:
    """Recompute histories and print the hash of the last entry of each.

    Keep the hashes elsewhere: entries cut off the end of a history are noticed only by --head.
    """
    if head is not None and name is None:
        raise click.UsageError("--head needs the NAME of a data set.")
    with Ledger(where) as ledger:
        heads = ledger.verify() if name is None else {name: ledger[name].verify(head)}
        for chosen, newest in heads.items():
            click.echo(f"{newest}  {chosen}")


def say_created(where: str, account: Account) -> Iterator[str]:
    """What was created, what it is good for, and what its head is for."""
    budget, pure = account.budget, account.terms.pure
    delta = f" at delta = {say_number(budget.delta)}" if budget.delta else ", pure releases only"
    reserved = f", epsilon = {say_number(pure)} of it reserved for pure releases" if pure else ""
    yield f"created data set {account.name!r}: epsilon = {say_number(budget.epsilon)}{delta}{reserved}"
    yield f"  unit {budget.unit}, neighbors {budget.neighbors}; for {COMMANDS_OF_UNITS[budget.unit]}"
    yield "  others need a data set of another unit (hushrank ledger create --help lists them)"
    yield f"head {account.last().hash}"
    yield "  Keep it elsewhere: it shows later whether the history was cut or exchanged, by"
    yield f"  {shlex.join(['hushrank', 'ledger', 'verify', where, account.name, '--head', 'HEAD'])}"


def console_for(names: Iterable[str]) -> Console:
    """Where a table is printed: as wide as the terminal, or wider where a name would be cut."""
    console = Console(highlight=False)
    needed = max(map(cell_len, names), default=0) + _BESIDE_A_NAME
    return console if needed <= console.width else Console(highlight=False, width=needed)


def chosen_names(ledger: Ledger, name: str | None) -> list[str]:
    """The data set that was named, or all of them."""
    return ledger.names() if name is None else [name]


def describe(account: Account) -> dict[str, Any]:
    """Caps, spent and left at one moment, safe for JSON."""
    newest, terms, budget = account.last(), account.terms, account.budget
    total, has_pure = newest.total, bool(terms.pure)
    reserved = {"pure": terms.pure} if has_pure else {}
    return {
        "neighbors": str(budget.neighbors),
        "unit": str(budget.unit),
        "currency": account.currency,
        "cap": {"epsilon": budget.epsilon, "delta": budget.delta, "amount": float(terms.cap), **reserved},
        "spent": values_of(terms.spent_amount(total.main, total.pure), has_pure),
        "left": values_of(terms.left_amount(total.main, total.pure), has_pure),
        "left_in_words": say_left(terms, newest),
        "more_like_last": None if newest.event is None else more_like(terms, total, newest.event),
        "charges": newest.number,
        "head": newest.hash,
    }


def values_of(amount: Amount, has_pure: bool) -> dict[str, float]:
    """Numbers of an amount, without its currency; of the reserved part where there is one."""
    values = {"epsilon": amount.epsilon, "delta": amount.delta, "amount": amount.amount}
    return {**values, "pure": amount.pure} if has_pure else values


def _say_part(values: dict[str, float]) -> str:
    main, pure = f"{values['epsilon']:.4g}", f"pure {values.get('pure', 0.0):.4g}"
    if not values.get("pure"):
        return main
    return f"{main} + {pure}" if values["epsilon"] else pure
