"""A privacy statement as a page for readers who are no experts: what was published, what is promised, how to check it.

It is made from the statement alone, so that a statement that was filled in by hand has its page as well.
"""

import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from hushrank.privacy.figures import at_most
from hushrank.privacy.guarantee import Guarantee, Unit
from hushrank.privacy.ledger.currency import Cost
from hushrank.privacy.ledger.words import say_cost
from hushrank.privacy.words import factor_in_words, unit_in_words
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, definitions, make_page, paragraph, table
from hushrank.report.personal import guess_bound, guess_in_words
from hushrank.report.statement import Statement, describe_unit
from hushrank.report.statement_fields import NOT_STATED
from hushrank.report.statement_ledger import LedgerRecord
from hushrank.report.statement_record import ModelRecord

SHOWN_CHARGES = 200
APPROVED = "It says of itself that the registry has approved it: only the registry can tell."

_LARGEST_FACTOR_EPSILON = 25.0
_NAMES = ("charge", "date", "epsilon", "note")
_PROTECTED = {
    Unit.ROW: "one row of the data",
    Unit.USER: "one user and everything that comes from this user",
    Unit.RECORD: "one record",
    Unit.LABEL: "the answer in one record, and nothing else of it",
}
_NOT_PROMISED = (
    "That nothing can be learned about a person. What the result says about people in general may apply to anybody, "
    "also to somebody who is not in the data.",
    "Anything about other releases from the same people: what each of them reveals adds up.",
    "That the data themselves are kept safe. The promise is about what was published.",
    "That the result is accurate.",
)


def statement_page(statement: Statement, name: str = "statement.yaml") -> str:
    """The page as HTML; the same statement gives the same bytes. `name` is that of the file for machines."""
    fields = statement.fields["deployment"]
    about = fields["short_name"]
    title = "Privacy statement" if about in ("", NOT_STATED) else f"Privacy statement: {about}"
    sections = [
        ("What was published", _published(fields, statement.fields)),
        ("What is promised", _promised(statement)),
        *([("What was spent", _charges(statement.record))] if isinstance(statement.record, LedgerRecord) else []),
        ("What is protected, and what is not", _protected(statement.guarantee, fields)),
        ("What is not promised", [bullets(*_limits(statement.guarantee))]),
        ("How it was done", [definitions(_how(fields))]),
        ("How to check it", _checked(statement, name)),
    ]
    lead = (
        "Something was computed from data about people, and made public. This page says in plain words what that can "
        "reveal about any one of them, and what it cannot."
    )
    return make_page(title, lead, sections, "Made by hushrank from a privacy statement.")


def _published(fields: Mapping[str, Any], whole: Mapping[str, Any]) -> list[Markup]:
    names = {
        "What it is": "data_product_description",
        "Sort": "data_product_type",
        "What for": "intended_use",
        "Published by": "data_curator",
        "Date": "publication_date",
        "More about it": "additional_information_url",
    }
    pairs = [(name, _say(fields.get(field, ""))) for name, field in names.items()]
    return [definitions([*pairs, ("Statement by", _say(whole["registry_author"]))])]


def _promised(statement: Statement) -> list[Markup]:
    given = statement.guarantee
    factor = factor_in_words(given.epsilon)
    beyond = ""
    if given.delta:
        one_in = 1.0 / given.delta
        beyond = (
            f" Delta, {at_most(given.delta)}, is what the factor leaves out: a chance of at most 1 in {one_in:,.0f}, "
            "roughly said, that a result reveals more."
        )
    return [
        *map(paragraph, statement.sentences()),
        paragraph(
            f"Epsilon, here {at_most(given.epsilon)}, says how much: whatever the odds of a guess about {_one(given)} "
            f"were before, seeing the result changes them by at most a factor of {factor}. The smaller epsilon is, the "
            f"more private; at 0.1 the factor is 1.11, at 1 it is 2.72, at 5 it is 149.{beyond}"
        ),
        paragraph(guess_in_words(given)),
        _numbers(given),
    ]


def _numbers(given: Guarantee) -> Markup:
    is_short = given.epsilon <= _LARGEST_FACTOR_EPSILON
    factor = at_most(math.exp(given.epsilon), 3) if is_short else f"e^{at_most(given.epsilon)}"
    guess = f"{math.ceil(1000 * guess_bound(given)) / 10:.1f} %"
    row = (at_most(given.epsilon), at_most(given.delta), factor, guess)
    return table("The promise in numbers", ("epsilon", "delta", "factor", "right guess, at most"), [row])


def _charges(record: LedgerRecord) -> list[Markup]:
    n = len(record.rows) - 1
    worth = f"{n:,} were charged, which are worth {say_cost(record.terms, record.spent)}" if n else "none was charged"
    parts = [
        paragraph(
            f"This is a statement about the budget of the data set {record.dataset}: all releases that are ever "
            f"charged to it keep the promise above together. Until now {worth}."
        )
    ]
    if n:
        at = f"; each epsilon is what it is worth alone, at delta = {at_most(record.budget.delta)}"
        more = f"; the last {SHOWN_CHARGES} of {n:,}" if n > SHOWN_CHARGES else ""
        caption = f"Charges, in their order{at if record.budget.delta else ''}{more}"
        parts.append(table(caption, _NAMES if record.has_notes else _NAMES[::2], _rows(record), words=["note"]))
    return parts


def _rows(record: LedgerRecord) -> list[tuple[object, ...]]:
    """Number, date, worth and note of the last charges; number and worth alone where the others were left out."""
    shown = list(zip(record.rows[1:], record.costs, strict=True))[-SHOWN_CHARGES:]
    lines = [(row.number, row.time[:10], _worth(record, cost), row.note) for row, cost in shown]
    return [line if record.has_notes else line[::2] for line in lines]


def _worth(record: LedgerRecord, cost: Cost) -> str:
    amount = record.terms.spent_amount(cost.main, cost.pure)
    parts = [at_most(amount.epsilon, 3)] if cost.main or not cost.pure else []
    return " + ".join([*parts, *([f"pure {at_most(amount.pure, 3)}"] if cost.pure else [])])


def _protected(given: Guarantee, fields: Mapping[str, Any]) -> list[Markup]:
    unit = fields["privacy_loss"].get("privacy_unit_description", "").strip() or describe_unit(given)
    return [
        paragraph(element("strong", f"Protected is {_one(given)}. "), unit),
        definitions(
            [
                ("Not protected", _say(fields["dp_flavor"]["unprotected_quantities"])),
                ("Which data", _say(fields["dp_flavor"]["data_domain"])),
            ]
        ),
    ]


def _limits(given: Guarantee) -> Iterator[str]:
    if given.unit is not Unit.USER:
        yield f"That a person is hidden who is in the data more than once: protected is {_one(given)}."
    if given.premise:
        yield f"Anything at all, unless {given.premise}: this is taken for granted, and no program can check it."
    yield from _NOT_PROMISED


def _how(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    model, done = fields["model"], fields["implementation"]
    yield "Noise", _say(done["mechanisms"])
    yield "How releases add up", _say(fields["additional_dp_information"]["composition"])
    yield "What was computed afterwards", _say(fields["additional_dp_information"]["post_processing"])
    yield "Who is trusted", _say(model.get("actors", ""))
    yield "What was done before", _say(done["pre_processing_eda_hyperparameter_tuning"])
    yield "Why so", _say(done["justification"])


def _checked(statement: Statement, name: str) -> list[Markup]:
    hashes = [
        ("SHA-256 of all fields of the statement", statement.fields_sha256),
        ("SHA-256 of its numbers and its record alone", statement.sha256),
    ]
    if isinstance(statement.record, ModelRecord) and statement.record.file_sha256:
        hashes.insert(0, ("SHA-256 of the model file", statement.record.file_sha256))
    if statement.head is not None:
        hashes.append(("Head of the chain of charges", statement.head))
    source = "LEDGER" if isinstance(statement.record, LedgerRecord) else "MODEL"
    approved = [paragraph(APPROVED)] if statement.fields["approved"] else []
    return [
        *approved,
        paragraph(
            f"This page was made from a file for machines, the statement in YAML ({name}). It holds the exact numbers, "
            "under a hash. A program reads it, computes the hash and the promise again, and refuses a file in "
            "which they disagree:"
        ),
        paragraph(element("code", f"hushrank statement {shlex.quote(f'./{name}' if name.startswith('-') else name)}")),
        paragraph(
            "A hash inside a file shows damage and careless edits. Somebody who makes up a whole statement can make up "
            "its hash as well. So compare the hash with one that the publisher has shown elsewhere, or the statement "
            "with what it is about, by ",
            element("code", "--against HASH", class_="whole"),
            " or ",
            element("code", f"--against {source}", class_="whole"),
            ". And no file can prove that noise was drawn: that rests on whoever holds the data.",
        ),
        definitions(hashes),
    ]


def _one(given: Guarantee) -> str:
    is_whole = given.unit in _PROTECTED and (given.bound is None or given.unit is Unit.USER)
    return _PROTECTED[given.unit] if is_whole else unit_in_words(given.unit, given.bound).rstrip(",")


def _say(text: str) -> str:
    return text if text.strip() else NOT_STATED
