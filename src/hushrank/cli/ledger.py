"""`hushrank ledger`: set up budgets on disk, look at them, check that nobody changed them."""

import json
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hushrank.cli.groups import HelpfulGroup
from hushrank.cli.options import BUDGET_OPTIONS, JSON_OPTION, UNIT_OPTION
from hushrank.privacy.ledger import Account, Ledger
from hushrank.privacy.ledger.currency import Amount
from hushrank.privacy.ledger.words import more_like, say_left

WHERE = click.argument("where", metavar="FILE_OR_URL", type=click.Path())


@click.group(cls=HelpfulGroup)
def command() -> None:
    """Set up, show and verify privacy budgets on disk.

    FILE_OR_URL is a SQLite file or postgresql://user@host/database.

    \b
    Examples:
      hushrank ledger create budget.db patients-2026 --epsilon 3 --delta 1e-6
      hushrank ledger create budget.db visits-2026 --epsilon 3 --delta 1e-6 --pure 1
      hushrank ledger show budget.db
      hushrank ledger verify budget.db
    """


@command.command()
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
    """Set up a data set; its budget, relation and unit are fixed for life.

    The file is made if there is none.
    """
    with Ledger(where) as ledger:
        account = ledger.create(name, **budget)
        if as_json:
            click.echo(json.dumps({name: describe(account)}))
            return
        click.echo(f"created {account}")
        click.echo(f"head {account.last().hash}")


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
    for title in ("data set", "relation", "unit", "cap", "spent", "left", "charges"):
        table.add_column(title, justify="right" if title == "charges" else "left", overflow="fold")
    for dataset, values in found.items():
        delta = f", delta {values['cap']['delta']:g}" if values["cap"]["delta"] else ""
        spent, left = (_say_part(values[part]) for part in ("spent", "left"))
        cap = f"epsilon {values['cap']['epsilon']:.4g}"
        delta += f", pure {values['cap']['pure']:.4g} of it" if "pure" in values["cap"] else ""
        relation = values["neighbors"].replace("_", " or ")
        table.add_row(escape(dataset), relation, values["unit"], cap + delta, spent, left, str(values["charges"]))
    console = Console(highlight=False)
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
    """Every charge of a data set, in order."""
    with Ledger(where) as ledger:
        account = ledger[name]
        entries = account.history()
    if as_json:
        click.echo(json.dumps({"dataset": name, "entries": [entry.to_dict() for entry in entries]}))
        return
    unit = {"gdp": "mu^2", "pure": "epsilon"}[account.currency]
    sums = {unit: "cost", "total": "spent"}
    if account.terms.pure:
        sums |= {"pure epsilon": "pure_cost", "pure total": "pure_spent"}
    table = Table()
    for title in ("", "time (UTC)", "event", *sums, "key", "note"):
        table.add_column(title, justify="right" if title in ("", *sums) else "left", overflow="fold")
    for entry in entries:
        event = "created" if entry.event is None else str(entry.event)
        numbers = [f"{float(getattr(entry, name)):.6g}" for name in sums.values()]
        texts = [escape(text) for text in (entry.key or "", entry.note)]
        table.add_row(str(entry.number), entry.time[:19].replace("T", " "), escape(event), *numbers, *texts)
    Console(highlight=False).print(table)


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
    pure = f" + pure {values['pure']:.4g}" if "pure" in values else ""
    return f"epsilon {values['epsilon']:.4g}{pure}"
