"""Sections that every page of a model has: what is promised, what is left of the budget, and what was forecast."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Event, leaves
from hushrank.privacy.guarantee import Guarantee
from hushrank.privacy.words import sentences
from hushrank.report.markup import Markup
from hushrank.report.page import definitions, paragraph, table
from hushrank.report.personal import guarantee_table, guess_in_words

Section = tuple[str, Sequence[Markup]]

_PEOPLE = ("n_samples", "n_users", "n_updates")  # sizes of plans that are no shape of what is learned


@dataclass(frozen=True, slots=True)
class Beside:
    """What a page shows beside its model.

    Attributes
    ----------
    titles : sequence of str or None
        Public names of items or columns, in their order.
    account : Account or None
        Of a ledger, whose budget is shown.
    n_people : int or None
        Public number of rows, users or records, for the forecast.
    """

    titles: Sequence[str] | None = None
    account: Any = None
    n_people: int | None = None


ALONE = Beside()


def promised(given: Guarantee) -> list[Markup]:
    """A guarantee in words, and in numbers."""
    return [*map(paragraph, sentences(given)), paragraph(guess_in_words(given)), guarantee_table(given)]


def sections_beside(model: Any, beside: Beside) -> Iterator[Section]:
    """The budget and the forecast, as far as they are known."""
    if beside.account is not None:
        yield "The budget", budget(beside.account, model.privacy_.event)
    told = forecast(model, beside.n_people)
    if told:
        yield "What was forecast", told


def is_charged(account: Any, event: Event) -> bool:
    """Whether the charges of an account hold the event of a model, which several may have paid for together."""
    paid: Counter[Event] = Counter()
    for entry in account.history():
        paid.update({} if entry.event is None else leaves(entry.event))
    return all(paid[leaf] >= n for leaf, n in leaves(event).items())


def say_not_charged(dataset: str) -> str:
    """That a model was not paid for by the account beside it."""
    return f"this model is not among the charges of data set {dataset!r}: its budget is not the one shown"


def budget(account: Any, event: Event | None = None) -> list[Markup]:
    """What is spent and what is left of an account, and whether the event of a model is among its charges."""
    newest, terms, cap = account.last(), account.terms, account.budget
    total = newest.total
    spent, left = terms.spent_amount(total.main, total.pure), terms.left_amount(total.main, total.pure)
    beyond = f", delta = {cap.delta:g}" if cap.delta else ""
    rows = [
        ("cap", f"epsilon = {cap.epsilon:.4g}{beyond}"),
        ("spent", f"epsilon = {spent.epsilon:.4g}"),
        ("left", f"epsilon = {left.epsilon:.4g}"),
        ("charges", f"{newest.number:,}"),
    ]
    if terms.pure:
        parts_of_it = f"epsilon = {terms.pure:.4g}, spent {spent.pure:.4g}, left {left.pure:.4g}"
        rows.insert(1, ("of it reserved for pure releases", parts_of_it))
    parts = [table(f"Data set {account.name} of the ledger, all releases together", ("", "worth"), rows)]
    if event is not None and not is_charged(account, event):
        said = say_not_charged(account.name)
        parts.insert(0, paragraph(f"{said[0].upper()}{said[1:]}."))
    if cap.delta:
        parts.append(paragraph("These do not add up as epsilons do: each number is what its part is worth alone."))
    return parts


def forecast(model: Any, n_people: int | None) -> list[Markup]:
    """What a plan says for the sizes that the model and the reader know; nothing where a size is missing."""
    sizes = known_sizes(model, n_people)
    missing = [name for name in model.size_table() if name not in sizes]
    if missing:
        return []
    try:
        plan = model.plan(**sizes)
    except (InvalidParameter, TypeError, ValueError):  # a file does not hold all that was given, such as a function
        return []
    told = {name: value for name, value in plan.forecast.items() if isinstance(value, int | float)}
    if not told:
        return []
    assumed = ", ".join(f"{name} = {value:,}" for name, value in sizes.items())
    return [
        paragraph(f"What hushrank plan says before any data are read, for {assumed}:"),
        definitions((name.strip(), f"{value:.4g}") for name, value in told.items()),
    ]


def known_sizes(model: Any, n_people: int | None) -> dict[str, int]:
    """Public sizes of a plan by name: of the columns, and of the people where they were told."""
    names = model.size_table()
    sizes = {size: int(getattr(model, name)) for name, size in model._schema.items() if size in names}
    sizes |= {name: size for name, size in model._known_sizes().items() if name in names}
    people = next(name for name in _PEOPLE if name in names)
    told = sizes.get(people, getattr(model, "n_", None)) if n_people is None else n_people
    if told is not None and int(told) >= 1:  # a noisy count may be below
        sizes[people] = int(told)
    return sizes
